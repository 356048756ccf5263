// The split: what stays for the device, at which lines.
#include <gmock/gmock.h>

#include "jit/worker/host/host_compiler.h"
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
  // Parses the text and returns the slice.
  DeviceSlice split(const std::string& text, std::vector<SourceFile> headers = {}) {
    m_request = request("a.cu", text);
    m_request.headers = std::move(headers);
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
    DeviceSlice slice;
    HostHooks hooks;
    hooks.on_split = [&](DeviceSlice&& made) { slice = std::move(made); };
    HostResult result = compile_host(unit, files, hooks);
    for (const Diagnostic& d : result.diagnostics)
      EXPECT_LT(int(d.severity), int(Severity::error)) << d.line << ": " << d.message;
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
  EXPECT_EQ(before.host_texts.back().text, after.host_texts.back().text);
  EXPECT_NE(text_of(before), text_of(after));
}

TEST_F(SplitTest, wherever_the_kernel_stands_and_however_long_it_becomes) {
  const std::string first = "int f(int x) { return x; }\n", last = "void run(float* x) { k<<<1, 1>>>(x); }\n";
  auto host = [&](const std::string& body) {
    DeviceSlice slice = split(first + "__global__ void k(float* x) { " + body + " }\n" + last);
    std::string text = slice.host_texts.empty() ? "" : slice.host_texts.back().text;
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
  EXPECT_NE(before.host_texts.back().text, after.host_texts.back().text);
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

}  // namespace
}  // namespace tarsia::jit
