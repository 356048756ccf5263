// The split: what stays for the device, at which lines.
#include <gmock/gmock.h>

#include <fstream>
#include <set>

#include "jit/worker/host/host_compiler.h"
#include "jit/worker/prelude/child_writer.h"
#include "jit/worker/prelude/leading_text.h"
#include "tests/unit/base/temporary_dir.h"
#include "tests/unit/worker/compile_fixture.h"

namespace tarsia::jit {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class SplitTest : public CompileTest {
 protected:
  void SetUp() override {
    if (!have_cuda_headers())
      GTEST_SKIP() << "no CUDA headers on this machine (pip install nvidia-cuda-runtime)";
  }
  // Parses the text and returns the slice. A text that begins with includes is parsed once more behind those
  // of another text, as children of a held parse do it; and, if they are of folders, on top of their
  // precompiled form. The slice must be the same.
  DeviceSlice split(const std::string& text, const std::vector<SourceFile>& headers = {},
                    const std::vector<std::string>& include_dirs = {}) {
    const std::size_t leading = end_of_leading_includes(text);
    if (leading == 0) return split_behind(0, text, headers, include_dirs);
    const std::vector<std::string> held = texts_of(split_behind(leading, text, headers, include_dirs));
    DeviceSlice slice = split_behind(0, text, headers, include_dirs);
    EXPECT_EQ(held, texts_of(slice));
    if (!include_dirs.empty() && headers.empty()) compare_on_top(slice, text, include_dirs);
    return slice;
  }
  static std::vector<std::string> texts_of(const DeviceSlice& slice) {
    std::vector<std::string> all;
    for (const SourceFile& file : slice.files) all.push_back(file.name + "\n" + file.text);
    for (const auto& file : slice.host_texts) {
      const std::string digest(file->digest.begin(), file->digest.end());
      all.push_back(file->name + "\n" + digest);
    }
    for (const Doubt& doubt : slice.doubts)
      all.push_back(doubt.file + ":" + std::to_string(doubt.first_line) + "-" +
                    std::to_string(doubt.last_line));
    for (const HostName& one : slice.refused) all.push_back(one.file + ": " + one.name);
    std::set<std::string> names;
    for (const auto& names_of_file : slice.host_names)
      for (const HostName& one : *names_of_file) names.insert(one.file + ": " + one.name);
    all.insert(all.end(), names.begin(), names.end());
    return all;
  }
  static std::vector<std::string> descriptions(const DeviceSlice& slice) {
    std::vector<std::string> all;
    for (const KernelUse& one : slice.kernels)
      all.push_back(one.name + " " + one.mangled + " " + one.signature + " " + one.location +
                    (one.overloaded ? " o" : "") + (one.defined ? " d" : ""));
    for (const KernelTemplate& one : slice.templates)
      all.push_back(one.name + " " + one.signature + " " + one.location);
    return all;
  }
  // `slice` is that of the text.
  void compare_on_top(const DeviceSlice& slice, const std::string& text,
                      const std::vector<std::string>& include_dirs) {
    const DeviceSlice other = split_on_top(end_of_leading_includes(text), text, include_dirs);
    if (m_pch.empty()) return;  // the headers have variables of the device
    EXPECT_FALSE(m_needs_headers);
    EXPECT_EQ(texts_of(other), texts_of(slice));
    EXPECT_EQ(kernels(other), kernels(slice));
    EXPECT_EQ(other.takes_from_headers, slice.takes_from_headers);
    EXPECT_EQ(other.has_header_kernels, slice.has_header_kernels);
    EXPECT_EQ(descriptions(other), descriptions(slice));
  }
  // The leading includes are precompiled when another text is parsed.
  DeviceSlice split_on_top(std::size_t leading, const std::string& text,
                           const std::vector<std::string>& include_dirs) {
    if (m_precompiled != text.substr(0, leading)) precompile(leading, text, include_dirs);
    if (m_pch.empty()) return {};
    m_covered = leading;
    DeviceSlice slice = split_behind(0, text, {}, include_dirs);
    m_covered = 0;
    return slice;
  }
  void precompile(std::size_t leading, const std::string& text,
                  const std::vector<std::string>& include_dirs) {
    ChildWriter writer;
    m_on_leading = [&](const LeadingParse& parse) {
      parse.prepare();
      writer.start([&] {
        const LeadingContent content = parse.write();
        if (content.pch.empty()) return std::string();
        return std::to_string(content.headers.size()) + " " + content.headers + content.pch + '\0';
      });
    };
    split_behind(leading, text, {}, include_dirs);
    m_on_leading = nullptr;
    const std::optional<std::string> made = writer.finish();
    m_pch.clear();
    if (!made) return;
    const std::size_t size = std::stoul(*made), at = made->find(' ') + 1;
    const auto bytes = std::make_shared<const std::string>(made->substr(at, size));
    const auto items = HeaderItems::parse(*bytes, bytes);
    ASSERT_TRUE(items);
    m_headers = std::make_shared<const HeaderItems>(*items);
    m_pch = made->substr(at + size, made->size() - at - size);
    m_precompiled = text.substr(0, leading);
  }
  // `leading`: so much of the text is read before the rest is there.
  DeviceSlice split_behind(std::size_t leading, const std::string& text,
                           const std::vector<SourceFile>& headers,
                           const std::vector<std::string>& include_dirs) {
    m_request = request("a.cu", text);
    m_request.headers = headers;
    m_request.options.include_dirs = include_dirs;
    auto files = llvm::makeIntrusiveRefCnt<SourceFileSystem>(test_pack());
    for (const auto* group : {&m_request.files, &m_request.headers})
      for (const SourceFile& file : *group)
        files->add_text(std::string(k_source_dir) + "/" + file.name, file.text);
    for (const HostHeader& header : host_headers())
      files->add_text(std::string(k_host_headers_dir) + "/" + header.name, header.text);
    for (const std::string& root : readable_roots(m_request)) files->allow_root(root);
    files->set_cuda_dirs(m_request.cuda_parts.include_dirs);
    HostUnit unit;
    unit.request = &m_request;
    unit.file = &m_request.files[0];
    unit.language = Language::cuda;
    unit.writes_leading = bool(m_on_leading);
    if (m_covered > 0) {
      unit.prelude = "/tarsia/leading.pch";
      files->add_text(unit.prelude, std::string_view(m_pch).substr(0, m_pch.size() - 1));
      unit.covered = m_covered;
      unit.headers = m_headers;
    }
    DeviceSlice slice;
    HostHooks hooks;
    hooks.on_split = [&](DeviceSlice&& made) { slice = std::move(made); };
    bool replaced = leading == 0;
    if (leading > 0) {
      unit.leading = leading;
      m_request.files[0].text = text.substr(0, leading) + "__global__ void tarsia_other();\n";
      hooks.on_leading = [&](const LeadingParse& parse) {
        if (m_on_leading)
          m_on_leading(parse);
        else
          parse.prepare();
        m_request.files[0].text = text;
        return replaced = parse.show();
      };
    }
    HostResult result = compile_host(unit, files, hooks);
    for (const Diagnostic& d : result.diagnostics)
      EXPECT_LT(int(d.severity), int(Severity::error)) << d.line << ": " << d.message;
    EXPECT_TRUE(replaced);
    m_needs_headers = result.needs_headers;
    return slice;
  }
  // How often the host's half of `before` and then of `after` is compiled.
  int host_compiles(const std::string& before, const std::string& after) {
    for (const std::string& text : {before, after}) {
      CompileResult result = compile(request("a.cu", text));
      EXPECT_TRUE(result.ok) << errors(result);
      if (!result.ok) return -1;
    }
    return parts.kept[PartKind::host];
  }
  static std::string text_of(const DeviceSlice& slice, const std::string& name = "a.cu") {
    for (const SourceFile& file : slice.files)
      if (file.name == name) return file.text;
    return "(no such file)";
  }
  static std::vector<std::string> kernels(const DeviceSlice& slice) {
    std::vector<std::string> names;
    for (const KernelUse& kernel : slice.kernels) names.push_back(kernel.name);
    return names;
  }
  CompileRequest m_request;
  std::function<void(const LeadingParse&)> m_on_leading;
  std::string m_precompiled, m_pch;  ///< what was, and its form, with a NUL
  std::shared_ptr<const HeaderItems> m_headers;
  std::size_t m_covered = 0;
  bool m_needs_headers = false;
};

TEST_F(SplitTest, host_functions_go_and_lines_stay) {
  DeviceSlice slice = split(
      "void before() {\n  int x = 1;\n  (void)x;\n}\n"
      "__global__ void k(float* x) { x[0] = 1; }\n"
      "int main() { k<<<1, 1>>>(nullptr); }\n");
  EXPECT_EQ(text_of(slice),
            "               \n            \n          \n \n__global__ void k(float* x) { x[0] = 1; }\n" +
                std::string(36, ' ') + "\n");
  EXPECT_THAT(kernels(slice), ElementsAre("k"));
}

TEST_F(SplitTest, an_include_at_the_end_of_the_text_stays) {
  const std::vector<SourceFile> headers = {{"launch.cuh",
                                            "template <class T> __global__ void r(T* x) { *x = 2; }\n"
                                            "void run(float* x) { r<float><<<1, 1>>>(x); }\n"}};
  for (const char* before :
       {"void host() {\n}\n", "struct H { void f() {} };\n", "namespace n {\nvoid host() {}\n}\n"}) {
    const DeviceSlice slice =
        split("__global__ void k(float* x) { *x = 1; }\n" + std::string(before) + "#include \"launch.cuh\"\n",
              headers);
    EXPECT_THAT(texts_of(slice).front(), HasSubstr("\n#include \"launch.cuh\"")) << before;
  }
}

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

TEST_F(SplitTest, types_and_constants_that_the_device_names_stay) {
  DeviceSlice slice = split(
      "typedef float real;\nstruct Used { real a; };\nstruct Unused { int b; };\nstatic const int N = 4;\n"
      "static const int M = 5;\nconstexpr int twice(int x) { return 2 * x; }\nint host_global = 3;\n"
      "enum { RED, GREEN };\n"
      "__global__ void k(Used u, real* x) { x[N] = u.a + twice(N) + GREEN; }\n");
  std::string text = text_of(slice);
  for (const char* kept : {"typedef float real;", "struct Used", "int N = 4", "twice(int x)", "GREEN"})
    EXPECT_THAT(text, HasSubstr(kept));
  for (const char* gone : {"Unused", "int M", "host_global"}) EXPECT_THAT(text, Not(HasSubstr(gone)));
}

// Which functions of a header's classes device code may call follows from declarations that stand in both
// the header and the text.
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
    const DeviceSlice slice = split_behind(0, begin + text, {}, {folder.path()});
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
    const DeviceSlice slice = split_behind(0, begin + text, {}, {folder.path()});
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
  EXPECT_EQ(split_on_top(begin.size(), text, {folder.path()}).files.size(), 2u);
  EXPECT_FALSE(m_needs_headers);
  const HeaderItems whole = *m_headers;
  for (std::size_t left : {std::size_t(0), whole.files.size() / 2, whole.files.size() - 1}) {
    HeaderItems damaged = whole;
    damaged.files = whole.files.substr(0, left);
    m_headers = std::make_shared<const HeaderItems>(damaged);
    EXPECT_TRUE(split_on_top(begin.size(), text, {folder.path()}).files.empty());
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
    const DeviceSlice slice = split_behind(0, begin + text, {}, {folder.path()});
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

TEST_F(SplitTest, macros_make_kernels) {
  DeviceSlice slice = split(
      "#define MAKE(name, op) __global__ void name(float* x) { x[0] = x[0] op 2; }\n"
      "MAKE(mul, *)\nMAKE(add, +)\nvoid f() { mul<<<1, 1>>>(0); }\n");
  EXPECT_THAT(text_of(slice), HasSubstr("MAKE(mul, *)\nMAKE(add, +)\n"));
  EXPECT_THAT(kernels(slice), ElementsAre("mul", "add"));
}

TEST_F(SplitTest, instantiations_that_host_templates_launch_are_found) {
  DeviceSlice slice = split(
      "template <typename T, int N> __global__ void k(T* x) { x[N] = N; }\n"
      "template <typename T> void launch(T* x) { k<T, 7><<<1, 1>>>(x); }\n"
      "template void launch<float>(float*);\n"
      "void run() { launch<double>(nullptr); k<int, 1><<<1, 1>>>(nullptr); }\n");
  EXPECT_THAT(kernels(slice), testing::UnorderedElementsAre("k<float, 7>", "k<double, 7>", "k<int, 1>"));
  EXPECT_THAT(text_of(slice), Not(HasSubstr("launch")));
}

TEST_F(SplitTest, functors_named_in_kernel_arguments_alone_stay) {
  DeviceSlice slice = split(
      "namespace ns { struct Twice { float s; }; }\n"
      "template <class F> __global__ void map(float* x, F f) { x[0] *= f.s; }\n"
      "void run() { map<<<1, 1>>>(nullptr, ns::Twice{2}); }\n");
  EXPECT_THAT(text_of(slice), HasSubstr("struct Twice"));
  EXPECT_THAT(kernels(slice), ElementsAre("map<ns::Twice>"));
}

TEST_F(SplitTest, host_members_of_a_shared_class_are_thinned_out) {
  DeviceSlice slice = split(
      "#include <string>\n"
      "struct P {\n  float b;\n  P(float x) : b(x) { cudaFree(0); }\n  std::string name() const { return "
      "\"p\"; }\n"
      "  __device__ float get() const { return b; }\n};\n"
      "__global__ void k(P p, float* x) { x[0] = p.get(); }\nvoid f() { k<<<1, 1>>>(P(1), nullptr); }\n");
  std::string text = text_of(slice);
  EXPECT_THAT(text, HasSubstr("P(float x) ;"));
  EXPECT_THAT(text, HasSubstr("__device__ float get() const { return b; }"));
  EXPECT_THAT(text, Not(HasSubstr("name()")));
  EXPECT_THAT(text, Not(HasSubstr("cudaFree")));
}

TEST_F(SplitTest, a_class_that_only_the_hosts_members_refer_to_is_declared) {
  const std::string host =
      "struct Base { int b; };\n"
      "class Host : public Base { public: int n; Host(int x) : n(x) {} };\n"
      "template <class T> struct View : Base { T* p; };\nusing Alias = Host;\n"
      "struct Params {\n  int n;\n  Params(const Host& h) : n(h.n) {}\n  Params(View<Host>* v) : n(v->p->n) "
      "{}\n"
      "  void set(Host* h) { n = h->n; }\n  void take(Host h);\n  friend class Maker;\n};\n"
      "class Maker : Base {};\n";
  const DeviceSlice slice = split(host + "__global__ void k(Params p, int* x) { *x = p.n; }\n");
  const std::string text = text_of(slice);
  for (const char* kept : {"class Host", "struct View", "Params(const Host& h)", "void set(Host* h)"})
    EXPECT_THAT(text, HasSubstr(kept));
  for (const char* gone : {"Base", "Host(int", "T* p", "Alias", "void take(Host h) {"})
    EXPECT_THAT(text, Not(HasSubstr(gone)));
  // What device code itself names is there as a whole.
  EXPECT_THAT(text_of(split(host + "__global__ void k(Params p, Host* x) { x->n = p.n; }\n")),
              HasSubstr("Base"));
  if (!have_nvrtc()) return;
  const CompileResult result =
      compile(request("a.cu", host + "__global__ void k(Params p, int* x) { *x = p.n; }\n"));
  EXPECT_TRUE(result.ok) << errors(result);
}

TEST_F(SplitTest, a_specialisation_comes_with_its_arguments) {
  const std::string types =
      "template <class T> struct Limit { static constexpr int value = 1; };\nstruct Big { int b; };\n"
      "template <> struct Limit<Big> { static constexpr int value = 2; };\n"
      "template <class T> struct Wrap { T t; };\n"
      "template <class T> struct Limit<Wrap<T>> { static constexpr int value = 3; };\n";
  const std::string plain = text_of(split(types + "__global__ void k(int* x) { *x = Limit<int>::value; }\n"));
  for (const char* gone : {"Big", "Wrap"}) EXPECT_THAT(plain, Not(HasSubstr(gone)));
  const std::string big =
      text_of(split(types + "__global__ void k(int* x, Big b) { *x = Limit<decltype(b)>::value; }\n"));
  EXPECT_THAT(big, HasSubstr("Limit<Big>"));
  EXPECT_THAT(big, Not(HasSubstr("Wrap")));
  const std::string wrapped =
      text_of(split(types + "template <class T> __device__ int limit() { return Limit<T>::value; }\n"
                            "__global__ void k(int* x) { *x = limit<Wrap<float>>(); }\n"));
  EXPECT_THAT(wrapped, HasSubstr("Limit<Wrap<T>>"));
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

TEST_F(SplitTest, conditionals_inside_host_code_go_on_holding) {
  DeviceSlice slice = split(
      "void host() {\n#ifdef FOO\n  int a;\n#else\n#define LATER 3\n  int b;\n#endif\n}\n"
      "__global__ void k(int* x) { x[0] = LATER; }\n");
  EXPECT_THAT(text_of(slice), HasSubstr("#ifdef FOO\n"));
  EXPECT_THAT(text_of(slice), HasSubstr("#define LATER 3\n"));
  EXPECT_THAT(text_of(slice), Not(HasSubstr("int b")));
}

TEST_F(SplitTest, device_bodies_need_not_parse_as_host_code) {
  DeviceSlice slice = split(
      "__device__ int lane() { int r; asm(\"mov.u32 %0, %laneid;\" : \"=r\"(r)); return r; }\n"
      "__global__ void k(int* x) { x[threadIdx.x] = lane() + __shfl_sync(~0u, 1, 0) + "
      "no_such_thing_on_the_host; }\n");
  EXPECT_THAT(text_of(slice), HasSubstr("laneid"));
}

TEST_F(SplitTest, variables_are_listed) {
  DeviceSlice slice = split(
      "__constant__ float coef[16];\n__device__ int counter;\nnamespace ns { __managed__ double m; }\n"
      "__global__ void k(float* x) { x[0] = coef[1] + counter + ns::m; }\n"
      "double host() { ns::m = 3; return ns::m; }\n");
  ASSERT_EQ(slice.variables.size(), 3u);
  EXPECT_EQ(slice.variables[0].bytes, 64u);
  EXPECT_TRUE(slice.variables[0].constant);
  EXPECT_FALSE(slice.variables[1].managed);
  EXPECT_TRUE(slice.variables[2].managed);
  EXPECT_EQ(slice.variables[2].name, "::ns::m");
}

TEST_F(SplitTest, an_edit_of_a_kernel_leaves_the_hosts_text) {
  std::string host = "void run(float* x) { k<<<1, 1>>>(x); }\n";
  DeviceSlice before = split("__global__ void k(float* x) { x[0] = 1; }\n" + host);
  DeviceSlice after = split("__global__ void k(float* x) { x[0] = 2; }\n" + host);
  ASSERT_FALSE(before.host_texts.empty());
  EXPECT_EQ(before.host_texts.back()->text, after.host_texts.back()->text);
  EXPECT_NE(text_of(before), text_of(after));
}

TEST_F(SplitTest, wherever_the_kernel_stands_and_however_long_it_becomes) {
  const std::string first = "int f(int x) { return x; }\n", last = "void run(float* x) { k<<<1, 1>>>(x); }\n";
  auto host = [&](const std::string& body) {
    DeviceSlice slice = split(first + "__global__ void k(float* x) { " + body + " }\n" + last);
    std::string text = slice.host_texts.empty() ? "" : slice.host_texts.back()->text;
    std::erase(text, k_device_byte);
    return text;
  };
  EXPECT_EQ(host("x[0] = 1;"), host("x[0] = 1; if (x[1] > 3) { x[2] = 44; }"));
  EXPECT_TRUE(host("x[0] = 1;").starts_with(first + "__global__ void k(float* x) \n" + last));
}

TEST_F(SplitTest, an_edit_of_a_kernel_leaves_the_hosts_object_unless_lines_move) {
  if (!have_nvrtc()) GTEST_SKIP() << "no CUDA headers or no NVRTC";
  const std::string ending = "\n}\nint after() { return 1; }\nvoid run(float* x) { k<<<1, 1>>>(x); }\n";
  const std::string first = "__global__ void k(float* x) {\n  x[0] = 1;" + ending;
  EXPECT_EQ(host_compiles(first, "__global__ void k(float* x) {\n  x[0] = 123456; x[1] = 7;" + ending), 1);
  // Line tables tell where `after` is.
  EXPECT_EQ(host_compiles(first, "__global__ void k(float* x) {\n  x[0] = 1;\n  x[1] = 1;\n" + ending), 2);
  EXPECT_EQ(host_compiles(first, "__global__ void k(float* x) {\n  x[0] = 1;\n  x[1] = 1;\n" + ending), 2);
}

TEST_F(SplitTest, functions_tell_their_new_lines_when_a_kernel_grows) {
  if (!have_nvrtc()) GTEST_SKIP() << "no CUDA headers or no NVRTC";
  for (const int lines : {0, 3}) {
    CompileResult result =
        compile(request("a.cu", "__global__ void k(float* x) {" + std::string(lines, '\n') +
                                    " x[0] = 1; }\nint after() { return 1; }\n"));
    ASSERT_TRUE(result.ok) << errors(result);
    Opened opened(result.module);
    ASSERT_NE(opened.function("after"), nullptr);
    EXPECT_EQ(opened.function("after")->location, "a.cu:" + std::to_string(2 + lines));
  }
}

TEST_F(SplitTest, host_code_that_asks_for_its_line_is_compiled_when_the_line_changes) {
  if (!have_nvrtc()) GTEST_SKIP() << "no CUDA headers or no NVRTC";
  for (const std::string asks :
       {"__LINE__", "(int)std::source_location::current().line()", "__builtin_LINE()"}) {
    parts.kept.clear();
    const std::string first = "#include <source_location>\n__global__ void k(float* x) {",
                      last = " x[0] = 1; }\nint after() { return " + asks + "; }\n";
    EXPECT_EQ(host_compiles(first + last, first + "\n\n" + last), 2) << asks;
    EXPECT_EQ(host_compiles(first + last, first + "\n\n" + last), 2) << asks;  // both are kept
  }
}

TEST_F(SplitTest, what_one_macro_makes_for_both_sides_counts_for_the_host) {
  std::string macro = "#define MAKE(n) __global__ void k(float* x) { x[0] = n; } int host() { return n; }\n";
  DeviceSlice before = split(macro + "MAKE(1)\n"), after = split(macro + "MAKE(2)\n");
  ASSERT_FALSE(before.host_texts.empty());
  EXPECT_NE(before.host_texts.back()->text, after.host_texts.back()->text);
}

TEST_F(SplitTest, the_devices_text_is_plain) {
  DeviceSlice slice =
      split("\xEF\xBB\xBF// \xFF\r__global__ void k(float* x) { register int i = 0; x[i] = 1; }");
  EXPECT_EQ(text_of(slice), "   // ?\n__global__ void k(float* x) {          int i = 0; x[i] = 1; }");
}

TEST_F(SplitTest, what_stays_for_its_name_alone_is_a_doubt) {
  DeviceSlice slice = split(
      "const int width =\n#define W 4\n  W;\n"
      "__global__ void k(int* x) { int width = 2; x[0] = width; }\n");
  ASSERT_EQ(slice.doubts.size(), 1u);
  const Doubt& doubt = slice.doubts[0];
  EXPECT_EQ(doubt.file, "a.cu");
  EXPECT_EQ(doubt.first_line, 1);
  EXPECT_EQ(doubt.last_line, 3);
  std::string text = text_of(slice), left_out;
  for (auto [begin, end] : doubt.ranges) left_out += text.substr(begin, end - begin);
  EXPECT_EQ(left_out, "const int width =\n\n  W;");
}

TEST_F(SplitTest, the_word_host_goes_with_the_body) {
  DeviceSlice slice = split(
      "#define HOST __host__\n"
      "struct T {\n  int n;\n  __host__ int size() const { return n; }\n  HOST int again() const { return n; "
      "}\n"
      "  __host__ T() = default;\n  __host__ constexpr int four() const { return 4; }\n"
      "  __host__ __device__ int get() const { return n; }\n};\n"
      "__global__ void k(T t, int* x) { *x = t.get(); }\n");
  const std::string text = text_of(slice);
  EXPECT_THAT(text, HasSubstr("           int size() const {asm volatile("));
  EXPECT_THAT(text, HasSubstr("       int again() const {asm volatile("));
  EXPECT_THAT(text, HasSubstr("         T() = default;"));
  EXPECT_THAT(text, HasSubstr("         constexpr int four() const { return 4; }"));
  EXPECT_THAT(text, HasSubstr("__host__ __device__ int get() const { return n; }"));
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

TEST_F(SplitTest, traits_made_of_functions_without_bodies_stay) {
  DeviceSlice slice = split(
      "template <int> struct No { static constexpr int v = 0; };\n"
      "template <class T> auto size_of(T*) -> No<T::size>;\nauto size_of(...) -> No<0>;\n"
      "int defined(int);\nint elsewhere(int);\n"
      "template <class T> struct Size : decltype(size_of((T*)0)) {};\n"
      "int defined(int x) { return x; }\n"
      "__global__ void k(int* x) { decltype(defined(1)) elsewhere = Size<int>::v; *x = elsewhere; }\n");
  const std::string text = text_of(slice);
  EXPECT_THAT(text, HasSubstr("auto size_of(T*) -> No<T::size>;\nauto size_of(...) -> No<0>;\n"));
  EXPECT_THAT(text, Not(HasSubstr("int defined(int")));
  EXPECT_THAT(text, Not(HasSubstr("int elsewhere(int")));
}

TEST_F(SplitTest, deleted_templates_of_functions_stay_deleted) {
  DeviceSlice slice = split(
      "template <class T> __host__ __device__ constexpr int stride(T const& x) = delete;\n"
      "template <class T> __host__ __device__ decltype(auto) size(T const& x) { return x.stride; }\n"
      "struct S { int stride; };\n__global__ void k(S s, int* x) { *x = size(s); }\n");
  EXPECT_THAT(text_of(slice), HasSubstr("constexpr int stride(T const& x) = delete;\n"));
}

TEST_F(SplitTest, namespaces_that_a_macro_opens_stay_open) {
  DeviceSlice slice = split(
      "#define OPEN namespace a { namespace b {\n#define CLOSE }}\nOPEN\n__device__ int f() { return 1; "
      "}\nCLOSE\n"
      "__global__ void k(int* x) { *x = a::b::f(); }\n");
  EXPECT_THAT(text_of(slice), HasSubstr("OPEN\n__device__ int f() { return 1; }\nCLOSE\n"));
}

TEST_F(SplitTest, the_brackets_of_an_initial_value_stay) {
  DeviceSlice slice =
      split("constexpr unsigned n(4);\nconst int m(int(5) + 1);\n__global__ void k(int* x) { x[n] = m; }\n");
  EXPECT_THAT(text_of(slice), HasSubstr("constexpr unsigned n(4);\nconst int m(int(5) + 1);\n"));
}

TEST_F(SplitTest, compound_literals_lose_their_brackets) {
  DeviceSlice slice = split(
      "template <class T> struct Two { T a, b; __device__ Two operator+(Two) { return *this; } };\n"
      "__device__ int sum(int2 v) { return v.x + v.y; }\n"
      "__global__ void k(int2* x, int i) {\n  *x = (int2){1, 2};\n  i = sum((struct int2){3, 4});\n"
      "  auto t = (Two<int>){1, 2};\n  if (i) { x->x = (i); }\n  auto f = [](int i) { return i; };\n}\n");
  const std::string text = text_of(slice);
  EXPECT_THAT(
      text, HasSubstr("*x =  int2 {1, 2};\n  i = sum(        int2 {3, 4});\n  auto t =  Two<int> {1, 2};\n"));
  EXPECT_THAT(text, HasSubstr("operator+(Two) { return *this; }"));
  EXPECT_THAT(text, HasSubstr("if (i) { x->x = (i); }\n  auto f = [](int i) { return i; };"));
}

TEST_F(SplitTest, constexpr_functions_trap_where_they_throw) {
  DeviceSlice slice = split(
      "#include <stdexcept>\nconstexpr int size(int i) { return i < 0 ? throw std::runtime_error(\"no\") : "
      "i; }\n"
      "__global__ void k(int* x) { *x = size(3); }\n");
  EXPECT_THAT(text_of(slice), HasSubstr("return i < 0 ? tarsia_thrown()"));
  EXPECT_THAT(text_of(slice), Not(HasSubstr("runtime_error")));
}

TEST_F(SplitTest, members_of_the_hosts_types_leave_the_others_where_they_are) {
  DeviceSlice slice = split(
      "#include <string>\n#include <vector>\nstruct P { std::vector<int> v; int n; std::string a, b; };\n"
      "__global__ void k(decltype(P::n)* x) { *x = 1; }\n");
  EXPECT_THAT(text_of(slice), HasSubstr("struct P { alignas(8) char v[24]; int n; alignas(8) char a[32]; "
                                        "alignas(8) char b[32]; };\n__global__ void k(decltype(P::n)* x)"));
}

TEST_F(SplitTest, includes_made_by_macros_are_named) {
  DeviceSlice slice = split(
      "#define STR(x) #x\n#define INC(x) STR(x.h)\n#include INC(lib)\n#if 0\n#include INC(none)\n#endif\n"
      "__global__ void k(int* x) { *x = LIB; }\n",
      {{"lib.h", "#define LIB 3\n"}});
  EXPECT_THAT(text_of(slice), HasSubstr("#include \"lib.h\" \n#if 0\n"));
  EXPECT_THAT(text_of(slice), Not(HasSubstr("INC(none)")));
  EXPECT_EQ(text_of(slice, "lib.h"), "#define LIB 3\n");
}

TEST_F(SplitTest, constexpr_device_functions_may_call_constexpr_functions_of_the_host) {
  DeviceSlice slice = split(
      "constexpr int host(int i) { return i + 1; }\n"
      "struct C { static __device__ constexpr int f() { return host(1); } };\n"
      "__device__ auto deduced() { return host(2); }\n"
      "__global__ void k(int* x) { *x = C::f() + deduced(); }\nint after() { return host(3); }\n");
  EXPECT_THAT(text_of(slice), HasSubstr("constexpr int host"));
  EXPECT_THAT(kernels(slice), ElementsAre("k"));
}

}  // namespace
}  // namespace tarsia::jit
