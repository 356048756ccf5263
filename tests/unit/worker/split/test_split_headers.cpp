// The split of headers: what stays of them for the device, and under which names.
#include <gmock/gmock.h>

#include <fstream>

#include "tests/unit/base/temporary_dir.h"
#include "tests/unit/worker/split/split_fixture.h"

namespace tarsia::jit {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST_F(SplitTest, files_included_amid_a_declaration_stay_or_go_with_it) {
  const std::vector<SourceFile> headers = {
      {"members.cuh",
       "__device__ static int twice(int x) {\n  if (x > helper()) return 2;\n  return 2 * x;\n}\n"
       "#include \"leads.cuh\"\n"},
      {"more.cuh",
       "__device__ static int thrice(int x) {\n  if constexpr (N > 1) return 3 * x;\n  else return N;\n}\n"},
      {"host.cuh", "int unused() { return sizeof(twice); }\nint twice;\n"},
      {"values.inc", "1, 2, 3\n"},
      {"leads.cuh", "// Nothing but an include.\n#include \"more.cuh\"\n"}};
  const std::string text =
      "__device__ int helper() { return 1; }\n"
      "template <int N> struct Group {\n#include \"members.cuh\"\n};\n"
      "struct OnlyHost {\n#include \"host.cuh\"\n};\n"
      "__constant__ int values[] = {\n#include \"values.inc\"\n};\n"
      "__global__ void k(int* x) { *x = Group<2>::twice(3) + Group<2>::thrice(4) + values[1]; }\n";
  const std::vector<std::string> texts = texts_of(split(text, headers));
  const auto text_of = [&](const std::string& name) {
    for (const std::string& one : texts)
      if (one.starts_with(name + "\n")) return one.substr(name.size() + 1);
    return std::string();
  };
  EXPECT_EQ(text_of("members.cuh").substr(0, headers[0].text.size()), headers[0].text);
  EXPECT_EQ(text_of("more.cuh").substr(0, headers[1].text.size()), headers[1].text);
  EXPECT_EQ(text_of("values.inc").substr(0, headers[3].text.size()), headers[3].text);
  EXPECT_THAT(text_of("host.cuh"), Not(HasSubstr("twice")));
}

// As CuTe does it: one header decides what the others are to NVRTC.
TEST_F(SplitTest, regions_under_a_macro_that_another_header_defines_for_the_device_stay) {
  TemporaryDir folder;
  std::ofstream(folder.path() + "/config.h") << "#pragma once\n#ifdef __CUDA_ARCH__\n#define LIB_DEVICE 1\n"
                                                "#endif\n#if defined(LIB_DEVICE)\n#define LIB_FAST\n#endif\n";
  std::ofstream(folder.path() + "/lib.h")
      << "#pragma once\n#include \"config.h\"\n#ifdef LIB_FAST\n__device__ inline int fast() { return 1; }\n"
         "#else\n__host__ __device__ inline int slow() { return 2; }\n#endif\n"
         "#ifdef NOBODYS\n__device__ inline int fast_not() { return 1; }\n#endif\n";
  const std::string begin = "#include <cuda_runtime.h>\n#include \"lib.h\"\n";
  const std::string kernels =
      "#if defined(LIB_DEVICE)\n__device__ int own() { return fast(); }\n#endif\n"
      "__global__ void k(int* x) {\n#ifdef LIB_FAST\n  *x = own();\n#endif\n}\n";
  const DeviceSlice slice = split_behind({}, begin + kernels, {}, {folder.path()});
  const std::string lib = text_of(slice, folder.path() + "/lib.h");
  EXPECT_THAT(lib, HasSubstr("int fast()"));
  EXPECT_THAT(lib, Not(HasSubstr("fast_not")));
  EXPECT_THAT(text_of(slice), HasSubstr("int own()"));
  compare_on_top(slice, begin + kernels, {folder.path()});
  EXPECT_FALSE(m_pch.empty());
}

TEST_F(SplitTest, members_of_precompiled_headers_are_told_apart) {
  TemporaryDir folder;
  std::ofstream(folder.path() + "/shape.h")
      << "#pragma once\n#include <vector>\nnamespace lib {\ninline int host(int x) { return x; }\n"
         "struct Shape {\n  int n;\n  int refused() const { return n; }\n  int called() const { return n; }\n"
         "  operator int() const { return n; }\n  int operator()(int x) const { return x; }\n"
         "  __host__ __device__ int size() const { return called(); }\n  std::vector<int> all;\n};\n"
         "template <class T> struct Trait { static constexpr int value = 1; };\n"
         "template <> struct Trait<Shape> { static constexpr int value = 2; };\n"
         "template <class T> __host__ __device__ int of(const T& x) { return x.called() + x(1) + host(2); }\n"
         "}\n";
  const std::string begin = "#include <cuda_runtime.h>\n#include \"shape.h\"\n";
  for (const char* text :
       {"__global__ void k(int* x, lib::Shape* s) { x[0] = s->size(); }\n",
        "__global__ void k(int* x) { x[0] = lib::Trait<lib::Shape>::value; }\n",
        "__global__ void k(int* x) { x[0] = lib::Trait<int>::value; }\n",
        "__global__ void k(int* x, lib::Shape* s) { x[0] = lib::of(*s); }\n",
        "__host__ __device__ inline int own(const lib::Shape& s) { return s.refused() + lib::host(1); }\n"
        "__global__ void k(int* x, lib::Shape* s) { x[0] = own(*s); }\n",
        "struct Own {};\ntemplate <> struct lib::Trait<Own> { static constexpr int value = 3; };\n"
        "__global__ void k(int* x) { x[0] = lib::Trait<Own>::value; }\n"}) {
    SCOPED_TRACE(text);
    const DeviceSlice slice = split_behind({}, begin + text, {}, {folder.path()});
    EXPECT_TRUE(slice.takes_from_headers);
    compare_on_top(slice, begin + text, {folder.path()});
    EXPECT_FALSE(m_pch.empty());
  }
}

TEST_F(SplitTest, kernels_of_precompiled_headers_are_as_in_headers_that_were_read) {
  TemporaryDir folder;
  std::ofstream(folder.path() + "/kernels.h")
      << "#pragma once\n#include <vector>\nnamespace deep { __device__ int twice(int x) { return 2 * x; }\n"
         "template <class T> struct Box { T v; }; }\nusing namespace deep;\n"
         "__global__ void plain(int* x) { *x = twice(3); }\n"
         "__global__ void plain(float* x) { *x = 1; }\n"
         "static __global__ void hidden(int* x);\n"
         "static __global__ void hidden(int* x) { *x = 2; }\n"
         "namespace { __global__ void unnamed(int* x) { *x = 3; } }\n"
         "#ifdef __CUDA_ARCH__\n__device__ int only_device() { return 1; }\n#endif\n"
         "namespace of {\ntemplate <class T, int N = 4> __global__ void pattern(T* x) { x[N] = T(1); }\n"
         "template <class T> __global__ void idle(T* x) { *x = T(1); }\n"
         "template __global__ void pattern<char, 3>(char*);\n}\n"
         "template <class T> void run_pattern(T* x) { of::pattern<T><<<1, 1>>>(x); }\n"
         "inline void run(int* x) { plain<<<1, 1>>>(x); hidden<<<1, 1>>>(x); unnamed<<<1, 1>>>(x); "
         "run_pattern(x); }\n";
  const std::string begin = "#include <cuda_runtime.h>\n#include \"kernels.h\"\n";
  for (const char* text :
       {"__global__ void k(int* x) { *x = 1; }\n", "void f(int* x) { run(x); }\n",
        "void f(double* x) { run_pattern(x); }\n__global__ void k(int* x) { *x = twice(1); }\n",
        "template <> __global__ void of::pattern<long, 1>(long* x) { *x = 1; }\n"
        "void f(long* x) { of::pattern<long, 1><<<1, 1>>>(x); }\n",
        "void f(Box<int>* x) { of::idle<Box<int>><<<1, 1>>>(x); }\n",
        "__global__ void plain(double* x) { *x = 1; }\n"}) {
    SCOPED_TRACE(text);
    const DeviceSlice slice = split_behind({}, begin + text, {}, {folder.path()});
    EXPECT_THAT(kernels(slice), Not(testing::IsEmpty()));
    compare_on_top(slice, begin + text, {folder.path()});
    EXPECT_FALSE(m_pch.empty());
  }
}

TEST_F(SplitTest, damaged_items_of_headers_are_not_taken) {
  TemporaryDir folder;
  std::ofstream(folder.path() + "/size.h") << "#pragma once\nconstexpr int size = 4;\n";
  const std::string begin = "#include <cuda_runtime.h>\n#include \"size.h\"\n";
  const std::string text = begin + "__global__ void k(int* x) { x[0] = size; }\n";
  EXPECT_EQ(split_on_top({begin.size(), {}}, text, {folder.path()}).files.size(), 2u);
  EXPECT_FALSE(m_needs_headers);
  const HeaderItems whole = *m_headers;
  for (std::size_t left : {std::size_t(0), whole.files.size() / 2, whole.files.size() - 1}) {
    HeaderItems damaged = whole;
    damaged.files = whole.files.substr(0, left);
    m_headers = std::make_shared<const HeaderItems>(damaged);
    EXPECT_TRUE(split_on_top({begin.size(), {}}, text, {folder.path()}).files.empty());
    EXPECT_TRUE(m_needs_headers) << left << " bytes are left";
  }
}

TEST_F(SplitTest, headers_on_disk_are_named_or_not) {
  TemporaryDir folder;
  std::ofstream(folder.path() + "/box.h")
      << "#pragma once\n#include <vector>\n#include <cuda_fp16.h>\n#define CHECK(x) if (!(x)) throw 1\n"
         "#define SIZE 4\nnamespace lib {\nstruct Box { float v; };\nconstexpr int twice(int x) { return 2 * "
         "x; }\n"
         "inline int host(std::vector<int> v) { return int(v.size()); }\n"
         "__host__ __device__ inline Box operator+(Box a, Box b) { return {a.v + b.v}; }\n}\n"
         "enum Colour { RED };\ntemplate <class T> __device__ T last(T x) { return x; }\n";
  const std::string begin = "#include <cuda_runtime.h>\n#define ABOVE 1\n#include \"box.h\"\n";
  const auto takes = [&](const std::string& text) {
    const DeviceSlice slice = split_behind({}, begin + text, {}, {folder.path()});
    compare_on_top(slice, begin + text, {folder.path()});
    EXPECT_FALSE(m_pch.empty());
    return slice.takes_from_headers;
  };
  const std::string plain =
      "__global__ void k(float* x, int n) { int i = threadIdx.x; if (i < n) x[i] = ABOVE; }\n";
  EXPECT_FALSE(takes(plain));
  EXPECT_FALSE(
      takes(plain + "#define CHECK_INPUT(x) CHECK((x) > 0)\nint f(int x) { CHECK_INPUT(x); return x; }\n"));
  EXPECT_FALSE(
      takes(plain + "int f() { return lib::host({1, 2}); }\nlib::Box g(lib::Box b) { return b + b; }\n"));
  EXPECT_FALSE(takes("namespace own { struct Box {}; __device__ int twice(Box); }\n" + plain));
  for (const char* kernel :
       {"__global__ void k(lib::Box* x) { x[0] = x[1]; }\n",
        "__global__ void k(int* x) { x[0] = lib::twice(1); }\n",
        "__global__ void k(int* x) { x[0] = SIZE; }\n", "__global__ void k(int* x) { x[0] = RED; }\n",
        "__global__ void k(int* x) { x[0] = last(1); }\n",
        "namespace lib { __global__ void k(int* x) { x[0] = twice(1); } }\n",
        "#define MY_SIZE SIZE\n__global__ void k(int* x) { x[0] = MY_SIZE; }\n",
        "__global__ void k(float* x) { x[0] = __half2float(__half(1)); }\n",
        "#ifdef SIZE\n__global__ void k(int* x) { x[0] = 1; }\n#endif\n"})
    EXPECT_TRUE(takes(kernel)) << kernel;
}

TEST_F(SplitTest, headers_are_sliced_under_the_names_they_are_included_by) {
  DeviceSlice slice = split("#include \"sub/h.cuh\"\n__global__ void k(float* x) { x[0] = twice(TWO); }\n",
                            {{"sub/h.cuh",
                              "#include \"consts.h\"\n#include <vector>\nvoid host(std::vector<int>) {}\n"
                              "__device__ float twice(float x) { return 2 * x; }\n"},
                             {"sub/consts.h", "#define TWO 2\n"}});
  EXPECT_THAT(text_of(slice, "sub/h.cuh"), HasSubstr("__device__ float twice"));
  EXPECT_THAT(text_of(slice, "sub/h.cuh"), Not(HasSubstr("host(")));
  EXPECT_EQ(text_of(slice, "sub/consts.h"), "#define TWO 2\n");
}

TEST_F(SplitTest, what_no_kernel_reaches_in_a_header_goes) {
  TemporaryDir folder;
  auto write = [&](const std::string& name, const std::string& text) {
    std::ofstream(folder / name) << text;
  };
  write("theirs.h",
        "#include \"idle.h\"\n#include \"macros.h\"\n#include \"leads.h\"\n"
        "namespace theirs {\nstruct size { int n; DEVICE int get() const { return n; } };\n"
        "inline DEVICE int data(size s) { return s.get(); }\n}\n"
        "namespace ours {\nstruct Box { int n; DEVICE Box operator+(Box) const; };\n"
        "inline DEVICE Box Box::operator+(Box b) const { return {n + b.n}; }\n"
        "inline DEVICE bool operator==(Box a, Box b) { return a.n == b.n; }\n}\n"
        "template <class T> __global__ void unused(T x) {}\n");
  write("idle.h", "#pragma once\nstruct Idle { int n; };\n");
  write("macros.h", "#define DEVICE __device__\n");
  write("leads.h", "#pragma once\n#include \"far.h\"\n#include \"idle.h\"\n#define NOBODYS 1\n");
  write("far.h", "#pragma once\nconstexpr int far() { return 4; }\n");
  DeviceSlice slice = split(
      "#include \"theirs.h\"\n"
      "__global__ void k(int* x) { int size = 3, data = 4; *x = (ours::Box{size} + ours::Box{data}).n + "
      "far(); }\n",
      {}, {folder.path()});
  const std::string text = text_of(slice, folder.path() + "/theirs.h");
  for (const char* kept : {"struct Box", "Box::operator+", "operator==", "#include \"macros.h\""})
    EXPECT_THAT(text, HasSubstr(kept));
  for (const char* gone : {"struct size", "data(", "unused", "idle.h"})
    EXPECT_THAT(text, Not(HasSubstr(gone)));
  EXPECT_EQ(text_of(slice, folder.path() + "/idle.h"), "(no such file)");
  EXPECT_EQ(text_of(slice, folder.path() + "/leads.h"), "#pragma once\n#include \"far.h\"\n");
  EXPECT_THAT(text_of(slice, folder.path() + "/far.h"), HasSubstr("int far()"));
}

TEST_F(SplitTest, what_a_header_includes_for_nvrtc_alone_stays) {
  TemporaryDir folder;
  std::ofstream(folder / "macros.h") << "#pragma once\n#define HEADER(x) <cuda/std/x>\n";
  std::ofstream(folder / "theirs.h") << "#pragma once\n#include \"macros.h\"\n"
                                        "#if defined(__CUDACC_RTC__)\n#include HEADER(type_traits)\n"
                                        "#include <cuda/std/limits>\nstruct Unused { int n; };\n"
                                        "#if 0\n#include \"never.h\"\n#endif\n"
                                        "#else\n#include <type_traits>\n#endif\n"
                                        "inline __device__ int f() { return 1; }\n";
  DeviceSlice slice =
      split("#include \"theirs.h\"\n__global__ void k(int* x) { *x = f(); }\n", {}, {folder.path()});
  const std::string text = text_of(slice, folder.path() + "/theirs.h");
  EXPECT_THAT(text, HasSubstr("#if defined(__CUDACC_RTC__)\n#include HEADER(type_traits)\n"
                              "#include <cuda/std/limits>\n"));
  EXPECT_THAT(text, Not(HasSubstr("Unused")));
  EXPECT_THAT(text_of(slice, folder.path() + "/macros.h"), HasSubstr("#define HEADER(x)"));
}

TEST_F(SplitTest, functions_of_the_host_that_are_of_both_sides_to_nvrtc_stay) {
  TemporaryDir folder;
  std::ofstream(folder / "config.h") << "#pragma once\n#define ONLY_HOST __host__ inline\n"
                                        "#if defined(__CUDACC_RTC__)\n#define BOTH __host__ __device__\n"
                                        "#else\n#define BOTH ONLY_HOST\n#endif\n";
  std::ofstream(folder / "theirs.h") << "#pragma once\n#include \"config.h\"\n"
                                        "ONLY_HOST auto never(int x) { return x; }\n"
                                        "template <class T> BOTH auto make(T x) { return x; }\n";
  DeviceSlice slice =
      split("#include \"theirs.h\"\n__global__ void k(int* x) { decltype(make(3)) never = 1; *x = never; }\n",
            {}, {folder.path()});
  const std::string text = text_of(slice, folder.path() + "/theirs.h");
  EXPECT_THAT(text, HasSubstr("template <class T> BOTH auto make(T x) { return x; }\n"));
  EXPECT_THAT(text, Not(HasSubstr("auto never")));
}

TEST_F(SplitTest, functions_of_the_host_that_a_region_keeps_from_nvrtc_stay_if_their_type_is_asked_for) {
  TemporaryDir folder;
  std::ofstream(folder / "makers.h") << "#pragma once\n"
                                        "#if !defined(__CUDACC_RTC__)\n"
                                        "template <class T> __host__ auto make(T x) { return x; }\n"
                                        "__host__ inline int never(int x) { return x; }\n"
                                        "#endif\n";
  DeviceSlice slice = split(
      "#include \"makers.h\"\ntemplate <class T> struct Asks { using Made = decltype(make(T())); };\n"
      "__global__ void k(int* x, Asks<int>* asks) { *x = 1; }\n",
      {}, {folder.path()});
  const std::string text = text_of(slice, folder.path() + "/makers.h");
  EXPECT_THAT(text, HasSubstr("#if 1"));
  EXPECT_THAT(text, HasSubstr("auto make(T x) {for(;;)__trap();}"));
  EXPECT_THAT(text, Not(HasSubstr("never")));
}

TEST_F(SplitTest, a_region_stays_closed_to_nvrtc_where_the_file_has_another_for_it) {
  TemporaryDir folder;
  std::ofstream(folder / "dim.h")
      << "#pragma once\n#ifndef __CUDACC_RTC__\n"
         "struct Dim { int x; };\ninline int size(Dim d) { return d.x + 1; }\n#endif\n"
         "#ifdef __CUDACC_RTC__\nstruct Dim { int x; };\n#endif\n";
  DeviceSlice slice = split(
      "#include \"dim.h\"\ntemplate <class T> struct Asks { using Size = decltype(size(T())); };\n"
      "__global__ void k(int* x, Dim d, Asks<Dim>*) { *x = d.x; }\n",
      {}, {folder.path()});
  EXPECT_THAT(text_of(slice, folder.path() + "/dim.h"), HasSubstr("#ifndef __CUDACC_RTC__\n"));
}

TEST_F(SplitTest,
       functions_of_the_host_stay_away_whose_names_are_those_of_members_or_that_take_the_hosts_types) {
  TemporaryDir folder;
  std::ofstream(folder / "load.h")
      << "#pragma once\n#include <memory>\n"
         "template <class T> T load(const T* x) { return *x; }\n"
         "template <class T, class A = std::allocator<T>> T save(T x) { return x; }\n";
  DeviceSlice slice = split(
      "#include \"load.h\"\n"
      "template <class C> struct ValueOf { using type = decltype(C().load()); using other = "
      "decltype(save(C())); };\n"
      "__global__ void k(int* x, ValueOf<int>*) { *x = 1; }\n",
      {}, {folder.path()});
  for (const auto& file : slice.files) EXPECT_THAT(file.text, Not(HasSubstr("T load(")));
  for (const auto& file : slice.files) EXPECT_THAT(file.text, Not(HasSubstr("T save(")));
}

TEST_F(SplitTest, headers_come_in_the_order_in_which_the_host_enters_them) {
  TemporaryDir folder;
  std::ofstream(folder / "base.h") << "#pragma once\nstruct Base { int n; };\n";
  std::ofstream(folder / "leads.h") << "#pragma once\n#include \"base.h\"\n";
  std::ofstream(folder / "uses.h") << "#pragma once\n#include \"leads.h\"\n"
                                      "struct Uses { Base base; };\n";
  DeviceSlice slice = split(
      "#include \"uses.h\"\n#include \"base.h\"\n__global__ void k(Uses u, int* x) { *x = u.base.n; }\n", {},
      {folder.path()});
  EXPECT_THAT(text_of(slice, folder.path() + "/uses.h"), HasSubstr("#include \"leads.h\""));
  EXPECT_THAT(text_of(slice, folder.path() + "/leads.h"), HasSubstr("#include \"base.h\""));
}

TEST_F(SplitTest, headers_lead_to_others_where_nvrtc_sees_it) {
  TemporaryDir folder;
  std::ofstream(folder / "base.h") << "#pragma once\nstruct Base { int n; };\n";
  std::ofstream(folder / "first.h")
      << "#pragma once\n#if !defined(__CUDACC_RTC__)\n#include \"base.h\"\n#endif\n"
         "struct First { int n; };\n";
  std::ofstream(folder / "second.h") << "#pragma once\n#include \"base.h\"\n";
  DeviceSlice slice = split(
      "#include \"first.h\"\n#include \"second.h\"\n"
      "__global__ void k(First f, Base b, int* x) { *x = f.n + b.n; }\n",
      {}, {folder.path()});
  EXPECT_THAT(text_of(slice), HasSubstr("#include \"second.h\""));
  EXPECT_THAT(text_of(slice, folder.path() + "/second.h"), HasSubstr("#include \"base.h\""));
}

TEST_F(SplitTest, headers_that_nvrtc_has_built_in_are_left_out) {
  DeviceSlice slice = split(
      "#include <cuda_bf16.h>\n#include <cuda_bf16.hpp>\n#include <cuda_fp16.h>\n#include <cuda_fp16.hpp>\n"
      "__global__ void k(__nv_bfloat16* x, __half* y) { x[1] = x[0]; y[1] = y[0]; }\n");
  EXPECT_THAT(text_of(slice), HasSubstr("#include <cuda_bf16.h>\n"));
  EXPECT_THAT(text_of(slice), HasSubstr("#include <cuda_fp16.h>\n"));
  EXPECT_THAT(text_of(slice), Not(HasSubstr(".hpp")));
}

TEST_F(SplitTest, types_of_the_driver_come_through_headers_of_which_nothing_stays) {
  TemporaryDir folder;
  std::ofstream(folder / "all.h") << "#pragma once\n#include <cuda.h>\n#include <string>\n"
                                     "#include \"map.h\"\ninline std::string host() { return \"\"; }\n";
  std::ofstream(folder / "map.h") << "#pragma once\nstruct Map { CUtensorMap map; };\n";
  DeviceSlice slice =
      split("#include \"all.h\"\n__global__ void k(Map const* m, void const** x) { *x = &m->map; }\n", {},
            {folder.path()});
  EXPECT_EQ(text_of(slice, folder.path() + "/all.h"),
            "#pragma once\n#include <cuda.h>\n#include \"map.h\"\n");
}

}  // namespace
}  // namespace tarsia::jit
