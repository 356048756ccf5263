// Slices compiled by NVRTC: cubins, names, headers, precompiled headers, errors.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>

#include "base/cuda/cubin.h"
#include "base/error.h"
#include "nvrtc_for_tests.h"

namespace tarsia::jit {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

class DeviceCompilerTest : public NvrtcTest {
 protected:
  static const Diagnostic& first_error(const DeviceResult& result) {
    static const Diagnostic none{.message = "no error"};
    for (const Diagnostic& diagnostic : result.diagnostics)
      if (diagnostic.severity >= Severity::error) return diagnostic;
    return none;
  }
};

TEST_F(DeviceCompilerTest, kernels_become_a_cubin) {
  DeviceRequest asked = request("namespace ns { template <class T> __global__ void k(T *x) { *x = 1; } }\n");
  asked.expressions = {"ns::k<float>", "ns::k<int>"};
  DeviceResult got = compile(asked);
  ASSERT_TRUE(got.ok) << format(got.diagnostics);
  EXPECT_THAT(got.lowered, ElementsAre("_ZN2ns1kIfEEvPT_", "_ZN2ns1kIiEEvPT_"));
  ASSERT_EQ(got.images.size(), 1u);
  EXPECT_EQ(got.images[0].arch, "sm_90");
  EXPECT_TRUE(is_cubin(got.images[0].bytes));
  EXPECT_TRUE(got.diagnostics.empty());
}

TEST_F(DeviceCompilerTest, the_same_request_gives_the_same_bytes) {
  const DeviceRequest asked =
      request("namespace { __global__ void k(int *x) { *x = 1; } }\n__device__ int v;\n");
  const DeviceResult first = compile(asked), second = DeviceCompiler().compile(asked);
  ASSERT_TRUE(first.ok && second.ok);
  EXPECT_EQ(first.images[0].bytes, second.images[0].bytes);
}

TEST_F(DeviceCompilerTest, overloads_are_told_apart_by_casts) {
  DeviceRequest asked =
      request("__global__ void f(int *x) { *x = 1; }\n__global__ void f(float *x, int n) { *x = n; }\n");
  asked.expressions = {"(void (*)(int *))&f", "(void (*)(float *, int))&f"};
  DeviceResult got = compile(asked);
  ASSERT_TRUE(got.ok) << format(got.diagnostics);
  EXPECT_THAT(got.lowered, ElementsAre("_Z1fPi", "_Z1fPfi"));
}

TEST_F(DeviceCompilerTest, names_of_std_do_not_hide_the_users) {
  DeviceRequest asked = request(
      "#include <tuple>\nusing namespace std;\n__global__ void apply(int *x) { tuple<int> t(1); *x = "
      "get<0>(t); }\n"
      "__constant__ int ignore[2];\n");
  asked.expressions = {"apply", "&ignore"};
  DeviceResult got = compile(asked);
  ASSERT_TRUE(got.ok) << format(got.diagnostics);
  EXPECT_THAT(got.lowered, ElementsAre("_Z5applyPi", "ignore"));
}

TEST_F(DeviceCompilerTest, several_architectures_and_ptx) {
  DeviceRequest asked = request("__global__ void k(int *x) { *x = __CUDA_ARCH__; }\n");
  asked.archs = {"sm_80", "sm_90"};
  asked.ptx = true;
  DeviceResult got = compile(asked);
  ASSERT_TRUE(got.ok) << format(got.diagnostics);
  ASSERT_EQ(got.images.size(), 3u);
  EXPECT_TRUE(is_cubin(got.images[0].bytes) && is_cubin(got.images[1].bytes));
  EXPECT_NE(got.images[0].bytes, got.images[1].bytes);
  EXPECT_EQ(got.images[2].arch, "compute_90");
  EXPECT_THAT(got.images[2].bytes, HasSubstr(".target sm_90"));
  const std::string fatbin = make_fatbin(got.images);
  EXPECT_EQ(fatbin.substr(0, 4), std::string("\x50\xed\x55\xba"));
}

TEST_F(DeviceCompilerTest, managed_and_static_variables_are_found) {
  DeviceRequest asked = request(
      "__managed__ int m; namespace ns { static __managed__ float s[3]; namespace { __managed__ int a; "
      "__constant__ int c; } }\n"
      "static __device__ int d;\n__global__ void k() { m = ns::a + ns::c + d; ns::s[1] = 2; }\n");
  asked.managed = {"m", "ns::s", "ns::a", "ns::(anonymous namespace)::a", "absent"};
  asked.expressions = {"&d", "&ns::c"};
  DeviceResult got = compile(asked);
  ASSERT_TRUE(got.ok) << format(got.diagnostics);
  const std::vector<CubinSymbol> symbols = cubin_symbols(got.images[0].bytes);
  auto find = [&](const std::string& name) {
    auto at =
        std::find_if(symbols.begin(), symbols.end(), [&](const CubinSymbol& s) { return s.name == name; });
    return at == symbols.end() ? CubinSymbol{} : *at;
  };
  EXPECT_EQ(got.managed[0], "m");
  EXPECT_EQ(find(got.managed[1]).bytes, 12u);
  EXPECT_TRUE(find(got.managed[1]).managed);
  EXPECT_EQ(got.managed[2], got.managed[3]);
  EXPECT_NE(got.managed[2], "");
  EXPECT_EQ(got.managed[4], "");
  EXPECT_EQ(find(got.lowered[0]).bytes, 4u);
  EXPECT_EQ(find(got.lowered[1]).kind, CubinSymbol::Kind::variable);
  EXPECT_FALSE(find(got.lowered[1]).managed);
}

TEST_F(DeviceCompilerTest, errors_have_the_places_of_the_users_text) {
  DeviceResult got =
      compile("__global__ void k(float *x) {\n  float y = x[0];\n  x[1] = y + undefined_name;\n}\n");
  EXPECT_FALSE(got.ok);
  EXPECT_EQ(format(first_error(got)), "kernels.cu:3:14: error: identifier \"undefined_name\" is undefined");
  EXPECT_TRUE(got.images.empty());
}

TEST_F(DeviceCompilerTest, errors_in_the_users_headers_name_them) {
  DeviceRequest asked = request("#include \"inc/a.cuh\"\n__global__ void k(int *x) { *x = twice(1); }\n");
  asked.headers = {{"inc/a.cuh", "#include \"b.cuh\"\n"},
                   {"inc/b.cuh", "\n__device__ int twice(int x) { return x * two }\n"}};
  EXPECT_THAT(format(first_error(compile(asked))), StartsWith("inc/b.cuh:2:"));
}

TEST_F(DeviceCompilerTest, line_directives_are_respected) {
  EXPECT_THAT(format(first_error(compile("#line 70 \"other.cu\"\n__device__ int f() { return q; }\n"))),
              StartsWith("other.cu:70:29: error"));
}

TEST_F(DeviceCompilerTest, instantiations_are_noted) {
  DeviceRequest asked = request("template <class T> __global__ void k(T *x) {\n  x->foo();\n}\n");
  asked.expressions = {"k<int>"};
  DeviceResult got = compile(asked);
  EXPECT_EQ(first_error(got).line, 2);
  EXPECT_TRUE(std::any_of(got.diagnostics.begin(), got.diagnostics.end(), [](const Diagnostic& d) {
    return d.severity == Severity::note && d.message.find("instantiation") != std::string::npos;
  }));
}

TEST_F(DeviceCompilerTest, errors_in_inline_assembly_have_a_line) {
  DeviceResult got =
      compile("__global__ void k(int *x) {\n  int y;\n  asm(\"bogus.u32 %0;\" : \"=r\"(y));\n  *x = y;\n}\n");
  EXPECT_FALSE(got.ok);
  EXPECT_EQ(first_error(got).file, "kernels.cu");
  EXPECT_EQ(first_error(got).line, 3);
  EXPECT_THAT(first_error(got).message, HasSubstr("bogus"));
}

TEST_F(DeviceCompilerTest, too_much_shared_memory_names_the_kernel) {
  DeviceResult got = compile(
      "__global__ void big(int *x) { __shared__ int a[100000]; a[threadIdx.x] = 1; __syncthreads(); *x = "
      "a[3]; }\n");
  EXPECT_THAT(first_error(got).message, HasSubstr("big(int*)"));
}

TEST_F(DeviceCompilerTest, warnings_come_with_success) {
  DeviceResult got = compile("__global__ void k(unsigned *x) {\n  unsigned u = -1;\n  *x = u;\n}\n");
  ASSERT_TRUE(got.ok);
  ASSERT_EQ(got.diagnostics.size(), 1u);
  EXPECT_EQ(got.diagnostics[0].severity, Severity::warning);
  EXPECT_EQ(got.diagnostics[0].line, 2);
}

TEST_F(DeviceCompilerTest, an_expression_that_names_nothing_is_an_error_of_the_source) {
  DeviceRequest asked = request("__global__ void k() {}\n");
  asked.expressions = {"gone<int>"};
  EXPECT_THAT(first_error(compile(asked)).message, HasSubstr("'gone<int>'"));
}

TEST_F(DeviceCompilerTest, unknown_architectures_are_refused_with_the_known_ones) {
  for (const char* arch : {"sm_35", "sm_90x", "compute_90", "90", ""}) {
    DeviceRequest asked = request("__global__ void k() {}\n");
    asked.archs = {"sm_90", arch};
    DeviceResult got = compile(asked);
    EXPECT_FALSE(got.ok) << arch;
    EXPECT_THAT(first_error(got).message, HasSubstr("sm_90")) << arch;
    EXPECT_TRUE(got.images.empty());
  }
}

TEST_F(DeviceCompilerTest, a_missing_nvrtc_says_what_to_install) {
  DeviceRequest asked = request("__global__ void k() {}\n");
  asked.cuda.nvrtc.clear();
  EXPECT_THROW(
      try { compile(asked); } catch (const LoadError& error) {
        EXPECT_THAT(error.what(), HasSubstr("pip install nvidia-cuda-nvrtc"));
        throw;
      },
      LoadError);
  asked.cuda.nvrtc = "/nowhere/libnvrtc.so.13";
  EXPECT_THROW(compile(asked), LoadError);
}

TEST_F(DeviceCompilerTest, launches_in_device_code_are_an_error) {
  DeviceResult got =
      compile("__global__ void child() {}\n__global__ void parent() {\n  child<<<1, 1>>>();\n}\n");
  EXPECT_FALSE(got.ok);
  EXPECT_EQ(first_error(got).line, 3);
  EXPECT_THAT(first_error(got).message, HasSubstr("launch"));
}

TEST_F(DeviceCompilerTest, curands_tables_are_there_for_who_needs_them) {
  const std::string text =
      "#include <curand_kernel.h>\n"
      "__global__ void k(STATE* s, unsigned* y) { curand_init(1, threadIdx.x, 2, s); *y = curand(s); }\n";
  for (const char* state : {"curandStatePhilox4_32_10_t", "curandStateMRG32k3a", "curandState"}) {
    DeviceRequest hidden = request(text), named = request("typedef " + std::string(state) + " S;\n" + text);
    named.main.text = "#include <curand_kernel.h>\n" + named.main.text;
    hidden.defines = {{"STATE", state}};
    named.defines = {{"STATE", "S"}};
    const DeviceResult got = compile(hidden), wanted = compile(named);
    ASSERT_TRUE(got.ok && wanted.ok) << state << format(got.diagnostics) << format(wanted.diagnostics);
    const bool needs_tables = std::string(state) == "curandState";
    EXPECT_EQ(got.keyed, !needs_tables) << state;  // else the full plan had to do it
    EXPECT_TRUE(wanted.keyed) << state;
    const bool has_tables = got.images[0].bytes.find("precalc_xorwow") != std::string::npos;
    EXPECT_EQ(has_tables, needs_tables) << state;
    EXPECT_EQ(wanted.images[0].bytes.find("precalc_xorwow") != std::string::npos, needs_tables) << state;
  }
}

TEST_F(DeviceCompilerTest, what_the_light_plan_lacks_the_full_one_brings) {
  // A macro hides the name from the look over the text.
  DeviceRequest asked = request(
      "#define GLUE(a, b) a##b\n__global__ void k(GLUE(cu, daTextureObject_t) t, float *x) { *x = GLUE(tex2, "
      "D)<float>(t, 0, 0); }\n");
  ASSERT_THAT(plan_device(asked).options, testing::Contains("-minimal"));
  DeviceResult got = compile(asked);
  EXPECT_TRUE(got.ok) << format(got.diagnostics);
  EXPECT_FALSE(got.keyed);
}

TEST_F(DeviceCompilerTest, line_information_and_debug_code_can_be_asked_for) {
  DeviceRequest asked = request("__global__ void k(int *x) {\n  *x = 1;\n}\n");
  const size_t plain = compile(asked).images.at(0).bytes.size();
  asked.lineinfo = true;
  const std::string lines = compile(asked).images.at(0).bytes;
  EXPECT_NE(cubin_section(lines, ".debug_line"), "");
  asked.debug = true;
  const std::string debug = compile(asked).images.at(0).bytes;
  EXPECT_NE(cubin_section(debug, ".debug_info"), "");
  EXPECT_LT(plain, lines.size());
}

TEST_F(DeviceCompilerTest, line_information_names_the_copy_and_messages_name_the_text) {
  DeviceRequest asked = request("#define ONE 1\n__global__ void k(int *x) {\n  *x = ONE;\n}\n");
  asked.lineinfo = true;
  asked.source_dir = "/cache/a b";
  const DeviceResult good = compile(asked);
  ASSERT_TRUE(good.ok) << format(good.diagnostics);
  const std::string table = cubin_section(good.images.at(0).bytes, ".debug_line");
  // As a whole or as a folder and a file.
  EXPECT_NE(table.find("/cache/a b"), std::string::npos);
  EXPECT_NE(table.find(asked.main.name), std::string::npos);
  asked.main.text = "__global__ void k(int *x) {\n  *x = nowhere;\n}\n";
  const DeviceResult bad = compile(asked);
  ASSERT_FALSE(bad.diagnostics.empty());
  EXPECT_EQ(bad.diagnostics[0].file, asked.main.name);
  EXPECT_EQ(bad.diagnostics[0].line, 2);
  for (const char* folder : {"/cache/a\"b", "/cache/a\\b"}) {
    asked.main.text = "__global__ void k(int *x) {\n  *x = 1;\n}\n";
    asked.source_dir = folder;
    EXPECT_TRUE(compile(asked).ok) << folder;
  }
}

TEST_F(DeviceCompilerTest, defines_and_fast_math_reach_the_code) {
  DeviceRequest asked = request(
      "#if VALUE != 3\n#error VALUE\n#endif\n__global__ void k(float *x) { *x = x[1] / x[2] + sinf(x[3]); "
      "}\n");
  asked.defines = {{"VALUE", "3"}};
  const DeviceResult exact = compile(asked);
  ASSERT_TRUE(exact.ok) << format(exact.diagnostics);
  asked.fast_math = true;
  EXPECT_LT(compile(asked).images.at(0).bytes.size(), exact.images[0].bytes.size());
}

TEST_F(DeviceCompilerTest, every_language_version_compiles_with_all_of_std) {
  for (const char* std : {"c++11", "c++14", "c++17", "c++20", "gnu++17"}) {
    DeviceRequest asked = request(
        "__global__ void k(int *x) {\n  std::pair<int, float> p = std::make_pair(1, 2.0f);\n  "
        "std::tuple<int, char> t(1, 'c');\n"
        "  std::array<int, 2> a = {{1, 2}};\n  std::complex<double> z(1, 2);\n  std::get<0>(t) = "
        "std::get<0>(p) + std::get<1>(a);\n"
        "  *x = std::get<0>(t) + (int)std::norm(z * z) + std::plus<int>()(1, std::max(2, a[0])) + "
        "std::numeric_limits<int>::max() +\n"
        "       std::is_same<std::decay<const int &>::type, int>::value + (int)std::abs(-1.0f) + "
        "(int)std::strlen(\"abc\");\n}\n");
    asked.std = std;
    DeviceResult got = compile(asked);
    EXPECT_TRUE(got.ok) << std << "\n" << format(got.diagnostics);
  }
}

TEST_F(DeviceCompilerTest, headers_of_the_users_from_disk_have_all_of_std) {
  const std::string dir = testing::TempDir() + "tarsia-foreign";
  std::filesystem::create_directories(dir);
  {
    std::ofstream header(dir + "/foreign.cuh");
    header << "#pragma once\n#include <algorithm>\n#include <vector>\n__device__ inline int low(int a, int "
              "b) { return std::min(a, b); }\n";
  }
  DeviceRequest asked = request("#include <foreign.cuh>\n__global__ void k(int *x) { *x = low(1, 2); }\n");
  asked.include_dirs = {dir};
  DeviceResult got = compile(asked);
  EXPECT_TRUE(got.ok) << format(got.diagnostics);
  EXPECT_TRUE(std::any_of(got.dependencies.begin(), got.dependencies.end(),
                          [&](const Dependency& d) { return d.path == dir + "/foreign.cuh"; }));
  std::filesystem::remove_all(dir);
}

TEST_F(DeviceCompilerTest, nothing_of_a_refused_file_is_told) {
  const std::string secret = testing::TempDir() + "tarsia-secret";
  {
    std::ofstream(secret) << "planted_secret\n";
  }
  for (std::string text : {"#include \"" + secret + "\"\n", "#define F \"" + secret + "\"\n#include F\n",
                           "#define S(x) #x\n#include S(" + secret + ")\n"}) {
    DeviceResult got = compile(text + "__global__ void k() {}\n");
    EXPECT_FALSE(got.ok) << text;
    EXPECT_THAT(format(got.diagnostics), testing::Not(HasSubstr("planted_secret")));
    EXPECT_THAT(format(got.diagnostics), StartsWith("kernels.cu:"));
  }
  std::filesystem::remove(secret);
}

TEST_F(DeviceCompilerTest, a_cancelled_compile_ends_without_a_word) {
  DeviceRequest asked = request("__global__ void k(int *x) { *x = 1; }\n");
  const std::atomic<bool> cancelled = true;
  DeviceResult got = compiler.compile(asked, plan_device(asked), &cancelled);
  EXPECT_FALSE(got.ok);
  EXPECT_TRUE(got.diagnostics.empty()) << format(got.diagnostics);
}

TEST_F(DeviceCompilerTest, compiles_in_two_threads_do_not_disturb_each_other) {
  auto work = [&](std::string value) {
    DeviceCompiler own;
    for (int i = 0; i < 3; ++i) {
      DeviceResult got = own.compile(request("__global__ void k(int *x) { *x = " + value + "; }\n"));
      EXPECT_TRUE(got.ok) << format(got.diagnostics);
    }
  };
  std::thread other(work, "1");
  work("2");
  other.join();
}

class DeviceHeadersTest : public DeviceCompilerTest {
 protected:
  void SetUp() override {
    NvrtcTest::SetUp();
    DevicePlan plan = plan_device(request("#include <cuda/std/limits>\n"));
    if (!IsSkipped() && plan.dependencies.empty()) GTEST_SKIP() << "CCCL is not installed here";
  }
  static DeviceRequest limits(std::string type) {
    return request("#include <cuda/std/limits>\n__global__ void k(" + type +
                   " *x) { *x = cuda::std::numeric_limits<" + type + ">::max(); }\n");
  }
};

TEST_F(DeviceHeadersTest, precompiled_headers_give_the_same_code_for_other_kernels) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer takes the addresses that NVRTC maps precompiled headers at";
#endif
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer may take the addresses that NVRTC maps precompiled headers at";
#endif
  const DeviceResult plain_int = compile(limits("int")), plain_float = compile(limits("float"));
  EXPECT_EQ(compiler.headers_used(), 0u);
  compiler.precompile_headers();
  compiler.wait_for_headers();
  const DeviceResult quick_int = compile(limits("int")), quick_float = compile(limits("float"));
  ASSERT_TRUE(plain_int.ok && plain_float.ok && quick_int.ok && quick_float.ok)
      << format(quick_int.diagnostics);
  EXPECT_EQ(plain_int.images[0].bytes, quick_int.images[0].bytes);
  EXPECT_EQ(plain_float.images[0].bytes, quick_float.images[0].bytes);
  EXPECT_EQ(compiler.headers_used(), 2u);
  EXPECT_TRUE(quick_float.diagnostics.empty()) << format(quick_float.diagnostics);
}

TEST_F(DeviceHeadersTest, errors_under_a_precompiled_header_keep_their_places) {
  ASSERT_TRUE(compile(limits("int")).ok);
  compiler.precompile_headers();
  compiler.wait_for_headers();
  DeviceRequest asked = limits("int");
  asked.main.text += "__device__ int f() { return nothing; }\n";
  EXPECT_EQ(format(first_error(compile(asked))),
            "kernels.cu:3:29: error: identifier \"nothing\" is undefined");
}

TEST_F(DeviceHeadersTest, a_compile_does_not_wait_for_a_header_in_the_making) {
  ASSERT_TRUE(compile(limits("int")).ok);
  compiler.precompile_headers();
  EXPECT_TRUE(compile(limits("float")).ok);
  compiler.wait_for_headers();
  EXPECT_TRUE(compile(limits("float")).ok);
}

TEST_F(DeviceHeadersTest, nothing_of_them_stays_on_disk) {
  const std::string dir = testing::TempDir() + "tarsia-pch-test";
  std::filesystem::create_directories(dir + "/tarsia-pch-999999999-abcdef");
  {
    std::ofstream(dir + "/tarsia-pch-999999999-abcdef/headers.pch") << "of a worker that was killed";
  }
  const char* before = std::getenv("TMPDIR");
  const std::string kept = before ? before : "";
  ::setenv("TMPDIR", dir.c_str(), 1);
  {
    DeviceCompiler own;
    ASSERT_TRUE(own.compile(limits("int")).ok);
    own.precompile_headers();
    own.wait_for_headers();
    EXPECT_TRUE(own.compile(limits("float")).ok);
  }
  before ? ::setenv("TMPDIR", kept.c_str(), 1) : ::unsetenv("TMPDIR");
  EXPECT_TRUE(std::filesystem::is_empty(dir));
  std::filesystem::remove_all(dir);
}

}  // namespace
}  // namespace tarsia::jit
