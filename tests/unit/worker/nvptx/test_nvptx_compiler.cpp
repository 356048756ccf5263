// Device code by Clang: PTX, symbols, errors, and what ends up in modules.
#include "jit/worker/nvptx/nvptx_compiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/cuda/cubin.h"
#include "jit/worker/compile.h"
#include "jit/worker/nvptx/nvptx_setup.h"
#include "tests/unit/base/temporary_dir.h"
#include "tests/unit/worker/compile_fixture.h"

namespace tarsia::jit {
namespace {

using testing::Contains;
using testing::HasSubstr;

class NvptxTest : public CompileTest {
 protected:
  void SetUp() override {
    if (!have_cuda_headers()) GTEST_SKIP() << "the CUDA headers are not installed here";
  }
  static MakeFiles maker_of(const CompileRequest& asked) {
    return [&asked] { return files_of(asked); };
  }
  NvptxResult device(const CompileRequest& asked, std::set<std::string> kernels = {}) {
    return compile_nvptx({&asked, &asked.files[0], std::move(kernels), preludes}, maker_of(asked), parts);
  }
  DevicePreludes* preludes = nullptr;
  NvptxResult device(const std::string& text) { return device(request("a.cu", text)); }
};

TEST_F(NvptxTest, a_kernel_becomes_ptx_and_a_cubin) {
  CompileRequest asked =
      request("a.cu", "__global__ void k(float* x) { x[threadIdx.x] = fmaf(x[0], 2.f, 1.f); }\n");
  asked.options.ptx = true;
  const NvptxResult result = device(asked);
  ASSERT_TRUE(result.device.ok) << errors(result.device.diagnostics);
  EXPECT_THAT(result.symbols, testing::ElementsAre("_Z1kPf"));
  EXPECT_THAT(result.ptx, HasSubstr(".target sm_90"));
  EXPECT_THAT(result.ptx, HasSubstr("fma.rn.f32"));
  EXPECT_EQ(result.device.images.back().arch, "compute_90");
  if (!asked.cuda_parts.nvjitlink.empty()) {
    EXPECT_TRUE(is_cubin(result.device.images.front().bytes));
  }
}

TEST_F(NvptxTest, without_nvjitlink_the_driver_gets_ptx) {
  CompileRequest asked = request("a.cu", "__global__ void k(float* x) { *x = 1; }\n");
  asked.cuda_parts.nvjitlink.clear();
  const NvptxResult result = device(asked);
  ASSERT_TRUE(result.device.ok) << errors(result.device.diagnostics);
  ASSERT_EQ(result.device.images.size(), 1u);
  EXPECT_EQ(result.device.images[0].arch, "compute_90");
}

TEST_F(NvptxTest, without_libdevice_what_needs_it_says_so) {
  CompileRequest asked = request("a.cu", "__global__ void k(float* x) { *x = sinf(*x); }\n");
  asked.cuda_parts.libdevice.clear();
  const NvptxResult result = device(asked);
  EXPECT_FALSE(result.device.ok);
  EXPECT_THAT(errors(result.device.diagnostics), HasSubstr("pip install nvidia-nvvm"));
  asked.files[0].text = "__global__ void k(float* x) { *x = *x + 1; }\n";
  EXPECT_TRUE(device(asked).device.ok);
}

TEST_F(NvptxTest, variables_have_symbols_also_if_they_are_static_or_managed) {
  const NvptxResult result = device(
      "static __device__ float hidden[2];\nnamespace { __constant__ int inner; }\n"
      "namespace a { __managed__ int shared = 3; }\n__global__ void k(int* x) { *x = a::shared; }\n");
  ASSERT_TRUE(result.device.ok) << errors(result.device.diagnostics);
  EXPECT_THAT(result.symbols, Contains("_ZL6hidden"));
  EXPECT_THAT(result.symbols, Contains("_ZN12_GLOBAL__N_15innerE"));
  EXPECT_THAT(result.symbols, Contains("_ZN1a6sharedE"));
  EXPECT_THAT(result.ptx, HasSubstr(".attribute(.managed)"));
}

TEST_F(NvptxTest, templates_may_be_static_behind_their_declaration) {
  const NvptxResult result = device(
      "template <class T> __device__ T twice(T x);\ntemplate <class T> __global__ void k(T* x);\n"
      "void launch(float* x) { k<<<1, 1>>>(x); }\n"
      "template <class T> static __device__ T twice(T x) { return 2 * x; }\n"
      "template <class T> static __global__ void k(T* x) { *x = twice(*x); }\n");
  ASSERT_TRUE(result.device.ok) << errors(result.device.diagnostics);
  EXPECT_THAT(result.symbols, testing::ElementsAre("_Z1kIfEvPT_"));
}

TEST_F(NvptxTest, constants_that_are_not_marked_for_the_device_have_no_symbols) {
  const NvptxResult result = device(
      "template <int N> inline constexpr int v = N;\nstruct S { static constexpr int n = v<2>; };\n"
      "constexpr int plain = 3;\n__constant__ constexpr int marked = 4;\n"
      "__global__ void k(int* x) { *x = v<1> + S::n + plain; }\n");
  ASSERT_TRUE(result.device.ok) << errors(result.device.diagnostics);
  EXPECT_THAT(result.symbols, testing::UnorderedElementsAre("_Z1kPi", HasSubstr("marked")));
}

TEST_F(NvptxTest, nothing_is_made_of_kernels_that_are_left_out) {
  const CompileRequest asked =
      request("a.cu",
              "__device__ void nowhere();\ninline __device__ int inner() { nowhere(); return 7; }\n"
              "__global__ void left(int* x) { *x = inner(); }\n"
              "template <class T> __global__ void instance(T* x) { *x = inner(); }\n"
              "template __global__ void instance<int>(int*);\n"
              "void launch(float* x) { instance<<<1, 1>>>(x); }\n"
              "template <class T> __global__ void kept(T* x) { *x = 2; }\n"
              "template __global__ void kept<int>(int*);\n");
  const std::set<std::string> all;
  NvptxUnit unit{&asked, &asked.files[0], all, preludes, [] {
                   return std::set<std::string>{"_Z4leftPi", "_Z8instanceIiEvPT_", "_Z8instanceIfEvPT_"};
                 }};
  const NvptxResult result = compile_nvptx(unit, maker_of(asked), parts);
  ASSERT_TRUE(result.device.ok) << errors(result.device.diagnostics);
  EXPECT_THAT(result.symbols, testing::ElementsAre("_Z4keptIiEvPT_"));
  unit.left_out = [] { return std::set<std::string>(); };
  const NvptxResult refused = compile_nvptx(unit, maker_of(asked), parts);
  EXPECT_THAT(errors(refused.device.diagnostics), HasSubstr("nowhere"));
}

TEST_F(NvptxTest, names_of_registers_need_no_second_percent_sign) {
  CompileRequest asked =
      request("a.cu", "__global__ void k(int* x) { asm volatile(\"mov.u32 %0, %laneid;\" : \"=r\"(*x)); }\n");
  asked = prepared(asked, /*marks_lambdas=*/true);
  const NvptxResult result = device(asked);
  ASSERT_TRUE(result.device.ok) << errors(result.device.diagnostics);
  EXPECT_THAT(result.ptx, HasSubstr(", %laneid;"));
}

TEST_F(NvptxTest, wanted_kernels_are_alone) {
  CompileRequest asked = request(
      "a.cu", "__global__ void one(int* x) {}\ntemplate <class T> __global__ void two(T* x) { *x = 1; }\n");
  asked.options.kernels = {"two<double>"};
  const NvptxResult result = device(asked, {"_Z3twoIdEvPT_"});
  ASSERT_TRUE(result.device.ok) << errors(result.device.diagnostics);
  EXPECT_THAT(result.symbols, testing::ElementsAre("_Z3twoIdEvPT_"));
  EXPECT_THAT(result.ptx, testing::Not(HasSubstr("_Z3onePi")));
}

TEST_F(NvptxTest, errors_have_places) {
  const NvptxResult result = device("__global__ void k(float* x) {\n  *x = nothing;\n}\n");
  EXPECT_FALSE(result.device.ok);
  ASSERT_FALSE(result.device.diagnostics.empty());
  EXPECT_EQ(result.device.diagnostics[0].file, "a.cu");
  EXPECT_EQ(result.device.diagnostics[0].line, 2);
}

TEST_F(NvptxTest, an_unknown_architecture_is_an_error) {
  CompileRequest asked = request("a.cu", "");
  asked.options.archs = {"sm_99"};
  EXPECT_THAT(errors(device(asked).device.diagnostics), HasSubstr("'sm_99' is not known to Clang"));
  for (const char* arch : {"sm_75", "sm_90a", "sm_100", "sm_120"}) EXPECT_EQ(fault_of_arch(arch), "");
}

TEST_F(NvptxTest, a_compile_that_is_cancelled_says_nothing) {
  const CompileRequest asked = request("a.cu", "__global__ void k() { error }\n");
  const std::atomic<bool> cancelled = true;
  const NvptxResult result = compile_nvptx({&asked, &asked.files[0]}, maker_of(asked), parts, &cancelled);
  EXPECT_FALSE(result.device.ok);
  EXPECT_TRUE(result.device.diagnostics.empty());
}

TEST_F(NvptxTest, a_cubin_is_kept_under_its_ptx) {
  const CompileRequest asked = request("a.cu", "__global__ void k(float* x) { *x = 1; }\nint a;\n");
  if (asked.cuda_parts.nvjitlink.empty()) GTEST_SKIP() << "nvJitLink is not installed here";
  ASSERT_TRUE(device(asked).device.ok);
  EXPECT_EQ(parts.kept[PartKind::device], 1);
  ASSERT_TRUE(device("__global__ void k(float* x) { *x = 1; }\nint b = 2;\n").device.ok);
  EXPECT_EQ(parts.hits[PartKind::device], 1);
}

TEST_F(NvptxTest, a_prelude_changes_nothing_but_the_time) {
  DevicePreludes kept;
  const std::string text =
      "#include <cuda_fp16.h>\n// a comment\n#include <vector>\n#include "
      "<cub/block/block_reduce.cuh>\nstatic __device__ int n;\n"
      "template <class T> __global__ void k(T* x) { *x = T(sinf(float(*x)) + n); }\n"
      "void run(__half* x) { k<<<1, 1>>>(x); }\n";
  const NvptxResult plain = device(text);
  ASSERT_TRUE(plain.device.ok) << errors(plain.device.diagnostics);
  preludes = &kept;
  const auto uses_one = [](const NvptxResult& result) {
    return std::ranges::any_of(result.device.timings,
                               [](const auto& one) { return one.first == "clang prelude"; });
  };
  for (int time = 0; time < 3; ++time) {
    const NvptxResult result = device(text);
    ASSERT_TRUE(result.device.ok) << errors(result.device.diagnostics);
    EXPECT_EQ(uses_one(result), time > 0);
    EXPECT_EQ(result.ptx, plain.ptx);
    EXPECT_EQ(result.symbols, plain.symbols);
    EXPECT_EQ(result.device.dependencies.size(), plain.device.dependencies.size());
  }
  EXPECT_FALSE(uses_one(device("#include <cuda_bf16.h>\n" + text)));
}

TEST_F(NvptxTest, a_prelude_of_the_users_headers_is_kept_for_other_workers) {
  const TemporaryDir folder;
  std::ofstream(folder / "twice.h") << "inline __device__ float twice(float x) { return FACTOR * x; }\n";
  const std::string text =
      "#define FACTOR 2\n#include \"twice.h\"\n#include <cuda_fp16.h>\n"
      "__global__ void k(float* x) { *x = twice(*x); }\nvoid run(float* x) { k<<<1, 1>>>(x); }\n";
  CompileRequest asked = request("a.cu", text);
  asked.options.include_dirs = {folder.path()};
  const auto uses_one = [](const NvptxResult& result) {
    return std::ranges::any_of(result.device.timings,
                               [](const auto& one) { return one.first == "clang prelude"; });
  };
  std::string ptx;
  for (int time = 0; time < 4; ++time) {
    DevicePreludes of_another_worker;
    preludes = &of_another_worker;
    const NvptxResult result = device(asked);
    ASSERT_TRUE(result.device.ok) << errors(result.device.diagnostics);
    EXPECT_EQ(uses_one(result), time > 0);
    if (time == 0) ptx = result.ptx;
    EXPECT_EQ(result.ptx, ptx);
  }
  EXPECT_EQ(parts.kept[PartKind::prelude], 2);  // that it was asked for, and the prelude
  std::ofstream(folder / "twice.h") << "inline __device__ float twice(float x) { return 3 * FACTOR * x; }\n";
  DevicePreludes fresh;
  preludes = &fresh;
  EXPECT_NE(device(asked).ptx, ptx);
  // An error names its line in the text.
  asked.files[0].text += "__global__ void wrong() { undeclared; }\n";
  const NvptxResult wrong = device(asked);
  ASSERT_FALSE(wrong.device.ok);
  EXPECT_EQ(wrong.device.diagnostics[0].line, 6);
}

TEST_F(NvptxTest, headers_that_name_the_time_have_no_prelude) {
  const TemporaryDir folder;
  std::ofstream(folder / "now.h") << "inline __device__ int when() { return __TIME__[7]; }\n";
  CompileRequest asked = request("a.cu", "#include \"now.h\"\n__global__ void k(int* x) { *x = when(); }\n");
  asked.options.include_dirs = {folder.path()};
  DevicePreludes kept;
  preludes = &kept;
  for (int time = 0; time < 3; ++time)
    for (const auto& [step, took] : device(asked).device.timings) EXPECT_NE(step, "clang prelude");
}

TEST_F(NvptxTest, a_header_that_was_wrong_gets_a_prelude_when_it_is_right) {
  const TemporaryDir folder;
  CompileRequest asked = request("a.cu", "#include \"f.h\"\n__global__ void k(int* x) { *x = f(); }\n");
  asked.options.include_dirs = {folder.path()};
  DevicePreludes kept;
  preludes = &kept;
  std::ofstream(folder / "f.h") << "inline __device__ int f() { return }\n";
  for (int time = 0; time < 2; ++time) EXPECT_FALSE(device(asked).device.ok);
  std::ofstream(folder / "f.h") << "inline __device__ int f() { return 1; }\n";
  const NvptxResult result = device(asked);
  EXPECT_TRUE(result.device.ok) << errors(result.device.diagnostics);
  EXPECT_TRUE(std::ranges::any_of(result.device.timings,
                                  [](const auto& one) { return one.first == "clang prelude"; }));
}

TEST_F(NvptxTest, variables_of_headers_have_symbols_with_a_prelude_too) {
  const TemporaryDir folder;
  std::ofstream(folder / "table.h") << "static __device__ int table[4] = {1, 2, 3, 4};\n";
  CompileRequest asked = request("a.cu", "#include \"table.h\"\n__global__ void k(int* x) { *x = 1; }\n");
  asked.options.include_dirs = {folder.path()};
  DevicePreludes kept;
  preludes = &kept;
  const NvptxResult first = device(asked);
  ASSERT_TRUE(first.device.ok) << errors(first.device.diagnostics);
  EXPECT_FALSE(first.symbols.empty());
  for (int time = 0; time < 3; ++time) {
    parts.kept[PartKind::prelude] = 0;
    EXPECT_EQ(device(asked).symbols, first.symbols);
    EXPECT_EQ(parts.kept[PartKind::prelude], time == 0 ? 1 : 0);  // that none can be made
  }
}

/// Which compiler took the only file, by the module's own table.
std::string compiler_of(const CompileResult& result) {
  const Opened opened(result.module);
  return opened.module && opened.module->n_images ? opened.module->images[0].compiler : "none";
}

class DeviceChoiceTest : public NvptxTest {
 protected:
  void SetUp() override {
    if (!have_nvrtc()) GTEST_SKIP() << "NVRTC is not installed here";
  }
};

TEST_F(DeviceChoiceTest, nvrtc_is_asked_first_and_alone) {
  const CompileResult result = compile(request("a.cu", "__global__ void k(float* x) { *x = 1; }\n"));
  ASSERT_TRUE(result.ok) << errors(result);
  EXPECT_EQ(compiler_of(result), "nvrtc");
  for (const auto& [step, time] : result.timings) EXPECT_THAT(step, testing::Not(HasSubstr("clang")));
}

TEST_F(DeviceChoiceTest, a_kernel_over_a_local_type_goes_to_clang) {
  const CompileResult result = compile(
      request("a.cu",
              "template <class T> __global__ void k(T t, float* x) { *x = t(); }\nvoid run(float* x) {\n"
              "  struct Three { __device__ float operator()() const { return 3; } };\n  k<<<1, 1>>>(Three{}, "
              "x);\n}\n"));
  ASSERT_TRUE(result.ok) << errors(result);
  EXPECT_THAT(compiler_of(result), HasSubstr("clang: NVRTC refused"));
}

// A host's constant of a name that a kernel has, too, is a doubt. NVRTC tells a hundred errors at a time.
TEST_F(DeviceChoiceTest, a_text_that_has_hundreds_of_errors_for_nvrtc_goes_to_clang) {
  for (const auto& [n, compiler] : {std::pair(250, "nvrtc"), std::pair(450, "clang: NVRTC refused")}) {
    std::string constants = "#include <string>\n", locals;
    for (int i = 0; i < n; ++i) {
      constants += "const int w" + std::to_string(i) + " = std::stoi(\"1\");\n";
      locals += "{ int w" + std::to_string(i) + " = 1; *x += w" + std::to_string(i) + "; }\n";
    }
    const CompileResult result =
        compile(request("a.cu", constants + "__global__ void k(int* x) {\n" + locals + "}\n"));
    ASSERT_TRUE(result.ok) << errors(result);
    EXPECT_THAT(compiler_of(result), HasSubstr(compiler)) << n;
  }
}

TEST_F(DeviceChoiceTest, an_edit_below_headers_that_nvrtc_refused_goes_to_clang_at_once) {
  const TemporaryDir folder;
  const auto write = [&](const char* more) {
    std::ofstream(folder / "last.h") << "#pragma once\n#include <iterator>\n"
                                     << "inline __device__ int f() { int a[2] = {1, 2}; return "
                                        "*std::move_iterator<int*>(a + 1); }\n"
                                     << more;
  };
  write("");
  const auto asks_nvrtc = [&](int value) {
    CompileRequest asked = request("a.cu", "#include \"last.h\"\n__global__ void k(int* x) { *x = f() + " +
                                               std::to_string(value) + "; }\n");
    asked.options.include_dirs = {folder.path()};
    const CompileResult result = compile(asked);
    EXPECT_TRUE(result.ok) << errors(result);
    EXPECT_THAT(compiler_of(result), HasSubstr("clang: NVRTC refused"));
    return std::ranges::any_of(result.timings,
                               [](const auto& one) { return one.first.starts_with("device nvrtc"); });
  };
  EXPECT_TRUE(asks_nvrtc(1));
  EXPECT_FALSE(asks_nvrtc(2));
  write("#define MORE 1\n");  // another header, which it may take
  EXPECT_TRUE(asks_nvrtc(3));
}

TEST_F(DeviceChoiceTest, an_instance_that_nvrtc_refused_says_nothing_of_the_header) {
  const TemporaryDir folder;
  std::ofstream(folder / "last.h") << "#pragma once\n#include <iterator>\n"
                                   << "template <class T> __device__ auto f(T t) { return t.last(); }\n";
  const auto asks_nvrtc = [&](const std::string& body) {
    CompileRequest asked = request("a.cu",
                                   "#include \"last.h\"\n#include <iterator>\nstruct A { __device__ int "
                                   "last() { int a[2] = {1, 2}; return "
                                   "*std::move_iterator<int*>(a + 1); } };\n"
                                   "__global__ void k(int* x) { *x = " +
                                       body + "; }\n");
    asked.options.include_dirs = {folder.path()};
    const CompileResult result = compile(asked);
    EXPECT_TRUE(result.ok) << errors(result);
    return std::ranges::any_of(result.timings,
                               [](const auto& one) { return one.first.starts_with("device nvrtc"); });
  };
  EXPECT_TRUE(asks_nvrtc("f(A())"));
  EXPECT_TRUE(asks_nvrtc("f(A()) + 1"));
}

TEST_F(DeviceChoiceTest, a_users_error_is_not_compiled_again) {
  const CompileResult result =
      compile(request("a.cu", "__global__ void k(float* x) {\n  *x = nothing;\n  *x = 1 +;\n}\n"));
  EXPECT_FALSE(result.ok);
  EXPECT_THAT(errors(result), HasSubstr("identifier \"nothing\" is undefined"));
  for (const auto& [step, time] : result.timings) EXPECT_THAT(step, testing::Not(HasSubstr("clang")));
}

TEST_F(DeviceChoiceTest, nvrtc_takes_gnus_spellings) {
  for (const std::string body :
       {"int r; __asm__ __volatile__(\"mov.u32 %0, %%laneid;\" : \"=r\"(r)); *x = r;",
        "int r; asm __volatile(\"mov.u32 %0, %%laneid;\" : \"=r\"(r)); *x = r;",
        "__const int a = 3; __signed__ char b = a; *x = b + __alignof__(double);",
        "*x = __INT_MAX__ + __CHAR_BIT__ - __SIZEOF_LONG__;",
        "__UINT64_TYPE__ a = 1; __SIZE_TYPE__ b = a; *x = b;", "*x = __FLT_MAX__ + __DBL_EPSILON__;",
        "int* q = __null; if (!q) *x = 1;",
        "_Static_assert(sizeof(int) == 4, \"size\"); __extension__ long long q = 1; *x = q;",
        "float f; __builtin_memcpy(&f, x, 4); *x = f;", "*x = __builtin_bswap32(int(*x));",
        "if (*x == 7) __builtin_trap(); *x = 1;"}) {
    const CompileResult result = compile(request("a.cu", "__global__ void k(float* x) { " + body + " }\n"));
    ASSERT_TRUE(result.ok) << body << errors(result);
    EXPECT_EQ(compiler_of(result), "nvrtc") << body;
  }
}

TEST_F(DeviceChoiceTest, nvrtc_knows_the_platform_as_the_host_does) {
  for (const std::string include :
       {"", "cuda_fp16.h", "cooperative_groups.h", "cuda/std/array", "cub/block/block_reduce.cuh"})
    for (const std::string condition :
         {"__GNUC__ >= 4 && __GNUG__ == __GNUC__ && __GNUC_MINOR__ == 2", "__linux__ && __unix && linux",
          "__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && __BYTE_ORDER__ != __ORDER_BIG_ENDIAN__",
          "__x86_64__ && __amd64 && _LP64 && __ELF__", "__SIZEOF_INT128__ == 16 && __NVCC__"}) {
      const std::string asserted = " { static_assert(" + condition + "); ";
      CompileRequest asked = request("a.cu", (include.empty() ? "" : "#include <" + include + ">\n") +
                                                 "__global__ void k(float* x)" + asserted +
                                                 "*x = 1; }\nvoid f()" + asserted + "}\n");
      asked.options.device_compiler = "nvrtc";
      const CompileResult result = compile(asked);
      EXPECT_TRUE(result.ok) << include << condition << errors(result);
    }
}

TEST_F(DeviceChoiceTest, gnus_names_that_nvrtc_lacks_go_to_clang) {
  for (const std::string body :
       {"__typeof__(*x) a = 1; *x = a;", "*x = __COUNTER__;", "typeof(*x) a = 1; *x = a;",
        "__sync_synchronize(); *x = 1;", "__builtin_prefetch(x); *x = 1;"}) {
    const CompileResult result = compile(request("a.cu", "__global__ void k(float* x) { " + body + " }\n"));
    ASSERT_TRUE(result.ok) << body << errors(result);
    EXPECT_THAT(compiler_of(result), HasSubstr("clang: NVRTC refused line 1")) << body;
  }
  // What neither knows is told in NVRTC's words.
  const CompileResult result =
      compile(request("a.cu", "__global__ void k(float* x) { *x = __no_such__(); }\n"));
  EXPECT_FALSE(result.ok);
  EXPECT_THAT(errors(result), HasSubstr("identifier \"__no_such__\" is undefined"));
}

TEST_F(DeviceChoiceTest, nvrtc_alone_is_told_what_helps) {
  CompileRequest asked = request("a.cu",
                                 "template <class F> __global__ void k(F f) { f(); }\n"
                                 "void run() { k<<<1, 1>>>([] __device__ () {}); }\n");
  ASSERT_TRUE(compile(asked).ok);
  asked.options.device_compiler = "nvrtc";
  const CompileResult result = compile(asked);
  EXPECT_EQ(result.stage, Stage::split);
  EXPECT_THAT(errors(result), HasSubstr("device_compiler='auto'"));
}

TEST_F(DeviceChoiceTest, a_lambda_may_use_the_functions_of_the_device) {
  const CompileResult result = compile(request(
      "a.cu",
      "#include <type_traits>\ntemplate <class F> __global__ void k(float* x, F f) { x[0] = f(x[0]); }\n"
      "template <class F> void each(float* x, F f) {\n"
      "  static_assert(std::is_same<decltype(f(1.f)), float>::value, \"\");\n  k<<<1, 1>>>(x, f);\n}\n"
      "__device__ float twice(float x) { return 2 * x; }\n"
      "void run(float* x, int* n) {\n"
      "  each(x, [=] __device__ (float v) { atomicAdd(n, 1); return twice(v) + threadIdx.x + __expf(v); });\n"
      "  each(x, [=]__device__(auto v) { __syncthreads(); return __shfl_down_sync(~0u, v, 1); });\n}\n"));
  ASSERT_TRUE(result.ok) << errors(result);
}

TEST_F(DeviceChoiceTest, lambdas_and_types_within_main_have_one_name_on_both_sides) {
  for (const std::string head : {"int main()", "int main(int argc, char** argv)"}) {
    const CompileResult result =
        compile(request("a.cu",
                        "#define BOTH __host__ __device__\n"
                        "template <class F> __global__ void k(float* x, F f) { x[0] = f(x[0]); }\n"
                        "template <class F> void each(float* x, F f) { k<<<1, 1>>>(x, f); }\n" +
                            head +
                            " {\n"
                            "  struct Twice { BOTH float operator()(float v) const { return 2 * v; } };\n"
                            "  float* x = nullptr;\n  each(x, [] BOTH (float v) { return v + 1; });\n  "
                            "each(x, Twice());\n}\n"));
    EXPECT_TRUE(result.ok) << errors(result);
  }
}

TEST_F(NvptxTest, a_type_without_typename_is_taken_where_nvcc_takes_it) {
  const std::string head =
      "struct A { template <class T, int n> __device__ int make() { return n * sizeof(T); }\n"
      "template <int n> __device__ int make() { return n; } };\n"
      "template <class A> struct rt { using T = short; };\ntemplate <class R> __device__ int f(const R&) {";
  const std::string tail = "\n}\n__global__ void k(int* x) { *x = f(rt<float>()); }\n";
  NvptxResult result =
      device(head + "static_assert(sizeof(R::T) != 1); return sizeof(R::T) + 40 * sizeof(R::T);" + tail);
  ASSERT_TRUE(result.device.ok) << errors(result.device.diagnostics);
  EXPECT_THAT(result.ptx, HasSubstr(", 82;"));
  EXPECT_TRUE(result.device.diagnostics.empty());
  // Clang makes no code of these as they are.
  for (const std::string body :
       {"return R::T(82);", "return 80 + sizeof(R::T) + R::T(0);", "return 78 + sizeof(R::T[2]);",
        "return A().make<R::T, 41>();", "\n#define TAKE(x) x::T(82)\n return TAKE(R);"}) {
    result = device(head + body + tail);
    ASSERT_TRUE(result.device.ok) << body << errors(result.device.diagnostics);
    EXPECT_THAT(result.ptx, HasSubstr(", 82;")) << body;
    EXPECT_TRUE(result.device.diagnostics.empty()) << body;
  }
  // Another error stands where it is.
  result = device(head + "int a = R::T(3); return a + R::T(4) + none();" + tail);
  EXPECT_FALSE(result.device.ok);
  EXPECT_THAT(errors(result.device.diagnostics), HasSubstr("a.cu:4:86: use of undeclared identifier 'none'"));
}

TEST_F(NvptxTest, a_header_of_the_users_may_lack_typename_too) {
  TemporaryDir dir;
  std::ofstream(dir.path() + "/size.h") << "#pragma once\ntemplate <class R> __device__ int size_of() {\n"
                                           "return R::T(3) + sizeof(typename R::T); }\n";
  CompileRequest asked = request("a.cu",
                                 "#include \"size.h\"\nstruct S { using T = int; };\n"
                                 "__global__ void k(int* x) { *x = size_of<S>(); }\n");
  asked.options.include_dirs = {dir.path()};
  const NvptxResult result = device(asked);
  ASSERT_TRUE(result.device.ok) << errors(result.device.diagnostics);
  EXPECT_THAT(result.ptx, HasSubstr(", 7;"));
}

TEST_F(NvptxTest, a_template_without_template_is_taken_where_nvcc_takes_it) {
  const std::string head =
      "template <int n> struct V { int z; __device__ V* self() { return this; }\n"
      "template <int i> __device__ int add(int x) const { return x + n + i; }\n"
      "template <class T, int i> __device__ static int size() { return sizeof(T) * i; } };\n"
      "#define ADD(a, i) a.add<i>(35)\n"
      "template <int n> __global__ void k(int* x) { constexpr int four = 4; V<n> v; auto w = v; (void)four; ";
  const std::string tail = " }\ntemplate __global__ void k<7>(int*);\n";
  NvptxResult result =
      device(head +
             "x[0] = v.add<3>(32); x[1] = w.add<four>(v.add<4>(21)); x[2] = (&v)->add<four>(33);"
             "x[3] = 43 + V<n>::size<short, 1>(); x[4] = ADD(v, four);" +
             tail);
  ASSERT_TRUE(result.device.ok) << errors(result.device.diagnostics);
  for (int value = 42; value <= 46; ++value)
    EXPECT_THAT(result.ptx, HasSubstr(", " + std::to_string(value) + ";"));
  EXPECT_TRUE(result.device.diagnostics.empty()) << errors(result.device.diagnostics);
  // Another error stands where it is, and a member that is no template stays one.
  result = device(head + "*x = v.add<four>(31) + none; *x = v.self < (void*)x;" + tail);
  EXPECT_FALSE(result.device.ok);
  EXPECT_THAT(errors(result.device.diagnostics),
              HasSubstr("a.cu:5:125: use of undeclared identifier 'none'"));
  EXPECT_THAT(errors(result.device.diagnostics), HasSubstr("non-static member function must be called"));
}

TEST_F(NvptxTest, a_text_with_a_prelude_and_the_preludes_headers_may_lack_template_too) {
  const TemporaryDir dir;
  std::ofstream(dir / "add.h") << "#pragma once\ntemplate <class V> __device__ int sum(V v) {\n"
                                  "constexpr int three = 3; return v.add<three>(30) + three; }\n";
  const auto text = [](const std::string& call) {
    return "#include \"add.h\"\nstruct V { template <int i> __device__ int add(int x) { return x + i; } };\n"
           "template <class T> __global__ void k(int* x, T v) { constexpr int two = 2; *x = two + " +
           call + "; }\ntemplate __global__ void k<V>(int*, V);\n";
  };
  DevicePreludes some;
  preludes = &some;
  // The text's own, twice, for the prelude to be made, and then the prelude's.
  const std::pair<std::string, std::string> calls[] = {
      {"v.add<two>(30)", "34"}, {"v.add<two>(31)", "35"}, {"sum(v)", "38"}};
  for (const auto& [call, value] : calls) {
    CompileRequest asked = request("a.cu", text(call));
    asked.options.include_dirs = {dir.path()};
    const NvptxResult result = device(asked);
    ASSERT_TRUE(result.device.ok) << call << errors(result.device.diagnostics);
    EXPECT_THAT(result.ptx, HasSubstr(", " + value + ";")) << call;
    const bool has_prelude = std::ranges::any_of(
        result.device.timings, [](const auto& one) { return one.first == "clang prelude"; });
    EXPECT_EQ(has_prelude, call != calls[0].first) << call;
  }
}

TEST_F(NvptxTest, what_is_no_device_code_is_not_judged) {
  const std::string text =
      "template <class T> struct S { T t; int run() {\n"
      "#ifdef __CUDA_ARCH__\n  using ::nowhere;\n#endif\n  return t; } };\n"
      "template <class T> __device__ int f(T t) { return none(3) + t; }\n"
      "__device__ S<int> operator+(S<int> a, S<int> b);\n"  // the host has its own
      "int on_the_host() { return S<int>().run() + (S<int>() + S<int>()).t; }\n"
      "__global__ void k(int* x) { S<int> s{42}; *x = s.t; }\n";
  NvptxResult result = device(text);
  ASSERT_TRUE(result.device.ok) << errors(result.device.diagnostics);
  EXPECT_THAT(result.ptx, HasSubstr(", 42;"));
  EXPECT_TRUE(result.device.diagnostics.empty()) << errors(result.device.diagnostics);
  result = device(text + "__global__ void use(int* x) { *x = f(1); }\n");
  EXPECT_FALSE(result.device.ok);
  EXPECT_THAT(errors(result.device.diagnostics), HasSubstr("a.cu:6:51: use of undeclared identifier 'none'"));
  result = device(text + "__host__ __device__ int use() { return none(1); }\n");
  EXPECT_FALSE(result.device.ok);
  EXPECT_THAT(errors(result.device.diagnostics),
              HasSubstr("a.cu:10:40: use of undeclared identifier 'none'"));
  result = device(text +
                  "template <class F> __global__ void call(F f) { f(); }\n"
                  "void launch() { call<<<1, 1>>>([] __device__ () { none(2); }); }\n");
  EXPECT_FALSE(result.device.ok);
  EXPECT_THAT(errors(result.device.diagnostics),
              HasSubstr("a.cu:11:51: use of undeclared identifier 'none'"));
}

TEST_F(NvptxTest, the_drivers_header_is_read_where_it_is_included_alone) {
  const std::string kernel = "__global__ void k(int* x) { *x = VALUE; }\n";
  NvptxResult result = device("#ifdef CUDA_VERSION\n#define VALUE 1\n#else\n#define VALUE 42\n#endif\n" +
                              kernel + "enum CUresult { cuda_success };\n");
  ASSERT_TRUE(result.device.ok) << errors(result.device.diagnostics);
  EXPECT_THAT(result.ptx, HasSubstr(", 42;"));
  result = device(
      "#include <cuda.h>\n#if CUDA_VERSION >= 13000\n#define VALUE (42 + CUDA_SUCCESS)\n#endif\n" + kernel);
  ASSERT_TRUE(result.device.ok) << errors(result.device.diagnostics);
  EXPECT_THAT(result.ptx, HasSubstr(", 42;"));
}

}  // namespace
}  // namespace tarsia::jit
