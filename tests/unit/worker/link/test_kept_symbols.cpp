// What a module shows to others, and functions of the CUDA driver in it.
#include "jit/worker/link/kept_symbols.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "jit/worker/link/driver_stubs.h"
#include "jit/worker/link/link_messages.h"
#include "tests/unit/base/temporary_dir.h"
#include "tests/unit/worker/compile_fixture.h"

namespace tarsia::jit {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class KeptSymbolsTest : public CompileTest {
 protected:
  KeptSymbols kept(const std::string& text, const std::vector<std::string>& exports) {
    std::vector<LinkInput> inputs = host_objects(request("a.cc", text));
    return keep_symbols(inputs, exports);
  }
};

TEST_F(KeptSymbolsTest, templates_of_std_are_not_kept) {
  EXPECT_THAT(kept("#include <map>\n#include <string>\nint f() { std::map<std::string, int> m; m[\"a\"] = 1; "
                   "return m.size(); }\n",
                   {})
                  .names,
              IsEmpty());
}

TEST_F(KeptSymbolsTest, a_qualified_name_means_all_overloads) {
  EXPECT_THAT(
      kept("namespace n { int f(int x) { return x; } int f() { return 1; } int g() { return 2; } }", {"n::f"})
          .names,
      ElementsAre("_ZN1n1fEi", "_ZN1n1fEv"));
}

TEST_F(KeptSymbolsTest, a_name_that_is_not_there_is_refused) {
  const KeptSymbols none = kept("int f() { return 1; }", {"g"});
  ASSERT_TRUE(none.refused);
  EXPECT_THAT(none.refused->message, HasSubstr("defines no function or variable 'g'"));
}

TEST(DriverStubs, know_the_drivers_functions_by_their_names) {
  EXPECT_TRUE(is_of_driver("cuInit"));
  EXPECT_TRUE(is_of_driver("cuMemcpyAsync_v2_ptsz"));
  for (const char* other :
       {"cudaMalloc", "cublasCreate_v2", "curandGenerate", "cu", "cuI", "custom", "cuFoo(int)"})
    EXPECT_FALSE(is_of_driver(other)) << other;
}

TEST(LinkMessages, undefined_symbols_are_errors_save_pythons_and_the_drivers) {
  const LinkMessages read = read_messages(
      "ld.lld: warning: undefined symbol: PyLong_FromLong\n>>> referenced by a.cc\n>>>   a.o:(f)\n\n"
      "ld.lld: warning: undefined symbol: cuInit\n>>> referenced by a.cc\n\n"
      "ld.lld: warning: undefined symbol: n::f(int)\n>>> referenced by /proc/self/fd/7:(g)\n",
      {{"/proc/self/fd/7", "a.cc"}});
  ASSERT_EQ(read.diagnostics.size(), 1u);
  EXPECT_EQ(read.diagnostics[0].severity, Severity::error);
  EXPECT_EQ(read.diagnostics[0].file, "a.cc");
  EXPECT_THAT(read.diagnostics[0].message, HasSubstr("undefined symbol: n::f(int); define it"));
  EXPECT_THAT(read.of_driver, ElementsAre("cuInit"));
}

TEST(LinkMessages, say_whose_a_symbol_is_if_its_library_is_known) {
  const auto message = [](const std::string& symbol) {
    const LinkMessages read =
        read_messages("ld.lld: warning: undefined symbol: " + symbol + "\n>>> referenced by a.cc:1\n", {});
    return read.diagnostics.empty() ? "" : read.diagnostics[0].message;
  };
  EXPECT_THAT(message("at::relu(at::Tensor const&)"), HasSubstr("**tarsia.torch.options()"));
  EXPECT_THAT(message("c10::UndefinedTensorImpl::_singleton"), HasSubstr("of PyTorch"));
  EXPECT_THAT(message("TVMFFIErrorSetRaised"), HasSubstr("**tarsia.tvm_ffi.options()"));
  EXPECT_THAT(message("cublasCreate_v2"), HasSubstr("libraries=['cublas']"));
  EXPECT_THAT(message("cublasLtMatmul"), HasSubstr("libraries=['cublasLt']"));
  EXPECT_THAT(message("ncclAllReduce"), HasSubstr("libraries=['nccl']"));
  for (const char* other : {"attic::f()", "cublasx", "my_at::f()"})
    EXPECT_THAT(message(other), HasSubstr("; define it")) << other;
}

TEST(LinkMessages, say_which_line_refers_to_a_symbol) {
  const LinkMessages read = read_messages(
      "ld.lld: warning: undefined symbol: g()\n>>> referenced by a.cc:12\n>>>               a.cc:(f(int))\n\n"
      "ld.lld: warning: undefined symbol: blockIdx\n>>> referenced by a.cc:3\n",
      {});
  ASSERT_EQ(read.diagnostics.size(), 2u);
  EXPECT_EQ(read.diagnostics[0].file, "a.cc");
  EXPECT_EQ(read.diagnostics[0].line, 12);
  EXPECT_THAT(read.diagnostics[0].message, HasSubstr("in `libraries`\nin f(int)"));
  EXPECT_EQ(read.diagnostics[1].line, 3);
  EXPECT_EQ(read.diagnostics[1].severity, Severity::error);
  EXPECT_THAT(read.diagnostics[1].message, HasSubstr("'blockIdx' has a value in kernels"));
}

TEST(LinkMessages, say_of_cudas_device_functions_that_host_code_calls_them) {
  const TemporaryDir cuda;
  std::filesystem::create_directory(cuda.path() + "/crt");
  std::ofstream(cuda.path() + "/crt/device_functions.h")
      << " * __other(int) is like ::__popc(x)\n__DEVICE_FUNCTIONS_DECL__ __device_builtin__ int   "
         "__popc(unsigned x);\n";
  const LinkMessages read = read_messages(
      "ld.lld: warning: undefined symbol: __popc\n>>> referenced by a.cu:3\n\n"
      "ld.lld: warning: undefined symbol: __other\n>>> referenced by a.cu:4\n\n"
      "ld.lld: warning: undefined symbol: __pop\n>>> referenced by a.cu:5\n",
      {}, {"/no/such/folder", cuda.path()});
  ASSERT_EQ(read.diagnostics.size(), 3u);
  EXPECT_THAT(read.diagnostics[0].message, HasSubstr("'__popc' is a function of the device"));
  EXPECT_EQ(read.diagnostics[0].line, 3);
  EXPECT_EQ(read.diagnostics[0].severity, Severity::error);
  for (int i : {1, 2}) EXPECT_THAT(read.diagnostics[i].message, HasSubstr("define it")) << i;
}

TEST(LinkMessages, name_functions_as_the_user_does) {
  const LinkMessages read = read_messages(
      "ld.lld: warning: undefined symbol: g()\n>>> referenced by a.cc:12\n>>>               a.cc:(f(int) "
      "(.of0))\n>>> referenced by a.cc:14\n>>>               a.cc:(h(int) (.of12))\n\n",
      {});
  ASSERT_EQ(read.diagnostics.size(), 1u);
  EXPECT_THAT(read.diagnostics[0].message, HasSubstr("\nin f(int)\n"));
  EXPECT_EQ(read.diagnostics[0].message.find(".of"), std::string::npos) << read.diagnostics[0].message;
}

TEST(LinkMessages, guess_at_no_short_name_and_at_no_function_that_refers_to_it) {
  const auto message = [](const std::string& undefined, const std::string& in, const std::string& guess) {
    return read_messages("ld.lld: warning: undefined symbol: " + undefined +
                             "\n>>> referenced by a.cc:3\n>>>               a.cc:(" + in +
                             ")\n>>> did you mean: " + guess + "\n>>> defined in: a.o\n",
                         {})
        .diagnostics.at(0)
        .message;
  };
  EXPECT_EQ(message("g()", "f()", "f()").find("did you mean"), std::string::npos);
  EXPECT_EQ(message("g()", "other()", "f()").find("did you mean"), std::string::npos);
  EXPECT_EQ(message("g()", "other()", "f()").find("defined in"), std::string::npos);
  EXPECT_EQ(message("computf(int)", "compute(int)", "compute(int)").find("did you mean"), std::string::npos);
  EXPECT_THAT(message("computf(int)", "f()", "compute(int)"), HasSubstr("did you mean: compute(int)"));
  EXPECT_THAT(message("g()", "f()", "g(int)"), HasSubstr("did you mean: g(int)"));
}

}  // namespace
}  // namespace tarsia::jit
