// Host compiles in this process: where diagnostics point, which files are read, what code is made.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "tests/unit/base/temporary_dir.h"
#include "tests/unit/worker/compile_fixture.h"

namespace tarsia::jit {
namespace {

using testing::HasSubstr;

class HostCompilerTest : public CompileTest {};

TEST_F(HostCompilerTest, errors_name_the_users_file_line_and_column) {
  CompileResult result = compile(request("a.cc", "int f() {\n  return undeclared;\n}\n"));
  ASSERT_FALSE(result.ok);
  ASSERT_EQ(result.diagnostics.size(), 1u) << errors(result);
  EXPECT_EQ(result.diagnostics[0].file, "a.cc");
  EXPECT_EQ(result.diagnostics[0].line, 2);
  EXPECT_EQ(result.diagnostics[0].column, 10);
}

TEST_F(HostCompilerTest, a_missing_brace_is_reported_inside_the_users_text) {
  CompileResult result = compile(request("a.cc", "int f() {\n  return 1;\n"));
  ASSERT_FALSE(result.ok);
  ASSERT_FALSE(result.diagnostics.empty());
  for (const Diagnostic& d : result.diagnostics) EXPECT_LE(d.line, 2) << errors(result);
}

TEST_F(HostCompilerTest, a_brace_missing_in_a_kernel_is_an_error) {
  if (!have_cuda_headers()) GTEST_SKIP() << "no CUDA headers";
  for (const char* text :
       {"int h() { return 1; }\n__global__ void k(int* p) {\n  p[0] = 1;\nint main() { return 0; }",
        "\n__device__ void d(int x) {\n  if (x) {\n}\n__global__ void k(int* p) {}"}) {
    CompileResult result = compile(request("a.cu", text));
    ASSERT_FALSE(result.ok);
    ASSERT_EQ(result.diagnostics.size(), 2u) << errors(result);
    EXPECT_EQ(result.diagnostics[0].message, "expected '}'");
    EXPECT_GE(result.diagnostics[0].line, 4);
    EXPECT_GT(result.diagnostics[0].column, 1);
    EXPECT_EQ(result.diagnostics[1].line, 2);
  }
}

TEST_F(HostCompilerTest, instantiations_that_the_prelude_brings_while_code_is_made_are_emitted) {
  if (!have_nvrtc()) GTEST_SKIP() << "no CUDA headers or no NVRTC";
  CompileResult result = compile(request("a.cu", R"(
#include <iostream>
#include <map>
#include <string>
std::string f() { return "a"; }
static int size_of(const std::string& s) { return s.size(); }
int g(int i) { std::map<std::string, int> m; m["abc"] = i; return m["abc"] + size_of("abcd"); }
__global__ void k() {}
)"));
  ASSERT_TRUE(result.ok) << errors(result);
}

TEST_F(HostCompilerTest, builtins_are_known_with_a_prelude_and_without) {
  const std::string text = "int f(int a) { return __builtin_popcount(a) + (int)__builtin_llabs(-3); }\n";
  for (const char* standard : {"c++14", "c++17", "c++20", "c++23"})
    for (const char* includes :
         {"", "#include <cstdlib>\n", "#include <vector>\n", "#include <tarsia/op.h>\n"})
      for (const char* name : {"a.cc", "a.cu"}) {
        if (name == std::string("a.cu") && !have_cuda_headers()) continue;
        CompileRequest asked = request(name, includes + text);
        asked.options.std = standard;
        const CompileResult result = compile(asked);
        EXPECT_TRUE(result.ok) << name << " " << standard << " " << includes << errors(result);
      }
  const CompileResult result = compile(request("a.c", "#include <stdlib.h>\n" + text));
  EXPECT_TRUE(result.ok) << errors(result);
}

TEST_F(HostCompilerTest, unknown_include) {
  CompileResult result = compile(request("a.cc", "#include <nowhere.h>\nint f() { return 1; }\n"));
  ASSERT_FALSE(result.ok);
  EXPECT_THAT(errors(result),
              HasSubstr("a.cc:1:10: 'nowhere.h' file not found; give its folder in include_dirs or its text "
                        "in headers"));
  EXPECT_THAT(errors(result), testing::Not(HasSubstr("host_headers")));
}

TEST_F(HostCompilerTest, headers_of_nvidias_libraries_name_their_wheels) {
  CompileRequest asked = request("a.cc", "#include <cublas_v2.h>\nint f() { return 1; }\n");
  asked.cuda_parts = {};
  EXPECT_THAT(errors(compile(asked)), HasSubstr("'cublas_v2.h' file not found; it is cuBLAS's: `pip install "
                                                "nvidia-cublas`, or give its folder in include_dirs"));
  asked.cuda_parts.major = 12;
  EXPECT_THAT(errors(compile(asked)), HasSubstr("`pip install nvidia-cublas-cu12`"));
  asked = request("a.cc", "#include <cudnn.h>\nint f() { return 1; }\n");
  asked.cuda_parts = {};
  EXPECT_THAT(
      errors(compile(asked)),
      HasSubstr("it is cuDNN's: `pip install nvidia-cudnn-cu13` puts it into nvidia/cudnn/include; give "
                "that folder in include_dirs"));
}

TEST_F(HostCompilerTest, what_tarsia_does_not_bring_is_the_machines) {
  CompileRequest asked = request("a.cc",
                                 "#include <zstd.h>\n#include <stdlib.h>\n"
                                 "int f() { return ZSTD_VERSION_MAJOR; }\n");
  const CompileResult result = compile(asked);
  ASSERT_TRUE(result.ok) << errors(result);
  ASSERT_FALSE(result.dependencies.empty());
  for (const Dependency& one : result.dependencies) {
    if (one.absent) continue;
    EXPECT_THAT(one.path, HasSubstr("zstd"));
  }
}

TEST_F(HostCompilerTest, cuda_sources_may_have_a_lerp_of_their_own) {
  if (!have_nvrtc()) GTEST_SKIP() << "no CUDA headers or no NVRTC";
  CompileResult result = compile(request("a.cu", R"(
#include <cmath>
inline __device__ __host__ float lerp(float a, float b, float t) { return a + t * (b - a); }
__global__ void k(float* x) { *x = lerp(0.0f, 1.0f, 0.25f); }
double f(double x) { return std::lerp(1.0, 2.0, x) + lerp(0.0f, 1.0f, float(x)) + sin(x) + ::floor(x); }
)"));
  EXPECT_TRUE(result.ok) << errors(result);
}

TEST_F(HostCompilerTest, files_outside_the_allowed_folders_are_not_read) {
  CompileResult result = compile(request("a.cc", "#include \"/etc/passwd\"\n"));
  ASSERT_FALSE(result.ok);
  EXPECT_THAT(errors(result), HasSubstr("file not found"));
  EXPECT_THAT(errors(result), testing::Not(HasSubstr("root:")));
}

TEST_F(HostCompilerTest, files_on_disk_may_include_what_lies_beside_their_folder) {
  TemporaryDir dir;
  std::filesystem::create_directories(dir / "inc/sub");
  std::filesystem::create_directories(dir / "other");
  auto write = [&](const std::string& name, const std::string& text) { std::ofstream(dir / name) << text; };
  write("inc/sub/a.h", "#include \"../../other/b.h\"\n");
  write("other/b.h", "#include \"c.h\"\n");
  write("other/c.h", "#define C 3\n");
  write("other/secret.h", "#error secret\n");
  for (const std::string name : {"a.cc", "a.cu"}) {
    if (name == "a.cu" && !have_nvrtc()) continue;
    CompileRequest asked =
        request(name, "#include \"sub/a.h\"\nint f() { return C; }\n" +
                          std::string(name == "a.cu" ? "__global__ void k(int* x) { *x = C; }" : ""));
    asked.options.include_dirs = {dir / "inc"};
    CompileResult result = compile(asked);
    ASSERT_TRUE(result.ok) << errors(result);
    std::set<std::string> read;
    for (const Dependency& one : result.dependencies)
      if (!one.absent) read.insert(one.path);
    EXPECT_THAT(read, testing::IsSupersetOf({dir / "other/b.h", dir / "other/c.h"}));
  }
  for (const std::string include : {"../other/secret.h", "sub/../../other/secret.h"}) {
    CompileRequest asked = request("a.cc", "#include \"" + include + "\"\n#include \"sub/a.h\"\n");
    asked.options.include_dirs = {dir / "inc"};
    CompileResult result = compile(asked);
    EXPECT_THAT(errors(result), HasSubstr("file not found; "));
    EXPECT_THAT(errors(result), testing::Not(HasSubstr("secret\n")));
  }
}

TEST_F(HostCompilerTest, undefined_symbols_are_errors_of_the_link) {
  CompileResult result =
      compile(request("a.cc", "int elsewhere(int);\nint f(int x) { return elsewhere(x); }\n"));
  ASSERT_FALSE(result.ok);
  EXPECT_EQ(result.stage, Stage::link);
  EXPECT_THAT(errors(result), HasSubstr("elsewhere(int)"));
  EXPECT_THAT(errors(result), HasSubstr("a.cc"));
}

TEST_F(HostCompilerTest, what_nothing_reaches_is_dropped_before_it_is_optimised) {
  CompileRequest asked = request("a.cc", "#include \"b.h\"\nint f(int x) { return reached(x); }\n");
  asked.headers = {{"b.h",
                    "inline int unreached(int x) { return x; }\ninline int reached(int x) { return x; }\n"
                    "struct Error { virtual int what() const; };\n"
                    "inline int Error::what() const { return unreached(1); }\n"}};
  asked.options.functions = {"f"};
  asked.options.opt = 0;
  asked.options.cflags = {"-emit-llvm"};
  const CompileResult result = compile(asked);
  ASSERT_TRUE(result.ok) << errors(result);
  EXPECT_NE(result.module.find("@_Z7reachedi"), std::string::npos);
  EXPECT_EQ(result.module.find("@_Z9unreachedi"), std::string::npos);
}

TEST_F(HostCompilerTest,
       long_chains_of_equalities_become_a_switch_and_functions_with_others_are_not_optimised) {
  std::string warnings;
  const auto ir_of = [&](int tests, const std::string& comparison) {
    std::string text = "int f(int x) {\n";
    for (int i = 0; i < tests; ++i)
      text += "if (x " + comparison + " " + std::to_string(3 * i) + ") return " +
              std::to_string(i * 7919 % 10007) + ";\nelse ";
    CompileRequest asked = request("a.cc", text + "return -1;\n}\n");
    asked.options.cflags = {"-emit-llvm"};
    const CompileResult result = compile(asked);
    EXPECT_TRUE(result.ok) << errors(result);
    warnings.clear();
    for (const Diagnostic& one : result.diagnostics)
      warnings += one.file + ":" + std::to_string(one.line) + ": " + one.message + "\n";
    tarsia_value argument{.kind = TARSIA_KIND_INT}, out = {};
    argument.i = 9;
    EXPECT_EQ(Opened(result.module).function("f")->call(&argument, 1, &out), 0);
    EXPECT_EQ(out.i, (comparison == "==" ? 3 : 4) * 7919 % 10007);
    const size_t name = result.module.find("@_Z1fi(");
    const size_t begin = result.module.rfind("; Function Attrs:", name);
    return result.module.substr(begin, result.module.find("\n}", name) - begin);
  };
  EXPECT_NE(ir_of(1500, "==").find("switch i32"), std::string::npos);
  EXPECT_EQ(ir_of(1500, "==").find(" optnone"), std::string::npos);
  EXPECT_EQ(warnings, "");
  EXPECT_NE(ir_of(1500, "<").find(" optnone"), std::string::npos);
  EXPECT_THAT(warnings, HasSubstr("a.cc:1: 'f(int)' is not optimised"));
  EXPECT_EQ(ir_of(500, "<").find(" optnone"), std::string::npos);
  EXPECT_EQ(warnings, "");
}

TEST_F(HostCompilerTest, a_long_chain_whose_conditions_are_joined_is_not_optimised_either) {
  const auto compiled = [&](int tests, const std::string& first, const std::string& joint,
                            const std::string& second) {
    std::string text = "int f(int x, int y) {\nint r = -1;\n";
    for (int i = 0; i < tests; ++i)
      text += "if (x " + first + " " + std::to_string(3 * i) + joint + "y " + second + " " +
              std::to_string(5 * i) + ") r = " + std::to_string(i * 7919 % 10007) + ";\nelse ";
    return compile(request("a.cc", text + "r = -2;\nreturn r;\n}\n"));
  };
  const auto is_warned_of = [](const CompileResult& result) {
    EXPECT_TRUE(result.ok) << errors(result);
    return std::ranges::any_of(result.diagnostics, [](const Diagnostic& one) {
      return one.message.find("'f(int, int)' is not optimised") != std::string::npos;
    });
  };
  EXPECT_TRUE(is_warned_of(compiled(1500, "==", " && ", ">")));
  EXPECT_TRUE(is_warned_of(compiled(1500, "==", " || ", ">")));
  EXPECT_TRUE(is_warned_of(compiled(1500, ">", " && ", "<")));
  EXPECT_FALSE(is_warned_of(compiled(500, "==", " && ", ">")));
  const CompileResult result = compiled(1500, "==", " && ", ">");
  tarsia_value arguments[2] = {{.kind = TARSIA_KIND_INT}, {.kind = TARSIA_KIND_INT}}, out = {};
  arguments[0].i = 9, arguments[1].i = 16;
  EXPECT_EQ(Opened(result.module).function("f")->call(arguments, 2, &out), 0);
  EXPECT_EQ(out.i, 3 * 7919 % 10007);
}

TEST_F(HostCompilerTest, a_long_chain_of_any_conditions_is_not_optimised) {
  const auto is_warned_of = [&](int tests, const std::string& begin, const auto& branch,
                                const std::string& end) {
    std::string text = begin;
    for (int i = 0; i < tests; ++i) text += branch(std::to_string(i));
    const CompileResult result = compile(request("a.cc", text + end));
    EXPECT_TRUE(result.ok) << errors(result);
    return std::ranges::any_of(result.diagnostics, [](const Diagnostic& one) {
      return one.message.find("' is not optimised, since a thousand ifs or more follow one another") !=
             std::string::npos;
    });
  };
  const auto text = [](const std::string& i) {
    return "if (!strcmp(a, \"k" + i + "\")) return " + i + ";\nelse ";
  };
  const std::string of_text = "#include <cstring>\nint f(const char* a) {\n";
  EXPECT_TRUE(is_warned_of(2100, of_text, text, "return -1;\n}\n"));
  EXPECT_FALSE(is_warned_of(1500, of_text, text, "return -1;\n}\n"));
  const auto sets = [](const std::string& i) {
    return "if (h(a + " + i + ") == " + i + ") r = " + i + ";\nelse ";
  };
  const std::string of_calls = "int h(int x) { return x * 7 % 5; }\nint f(int a) {\nint r = 0;\n";
  EXPECT_TRUE(is_warned_of(2100, of_calls, sets, "r = -1;\nreturn r;\n}\n"));
  const auto objects = [](const std::string& i) { return "if (a == \"k" + i + "\") return " + i + ";\n"; };
  EXPECT_TRUE(
      is_warned_of(2100, "#include <string>\nint f(const std::string& a) {\n", objects, "return -1;\n}\n"));
  // Ifs that follow one another without an else, and checks that throw.
  const auto adds = [](const std::string& i) {
    return "if (h(a + " + i + ") == " + i + ") r += " + i + ";\n";
  };
  EXPECT_FALSE(is_warned_of(2100, of_calls, adds, "return r;\n}\n"));
  const auto checks = [](const std::string& i) { return "if (h(a + " + i + ") == 9) throw " + i + ";\n"; };
  EXPECT_FALSE(is_warned_of(2100, of_calls, checks, "return r;\n}\n"));
  const auto equal = [](const std::string& i) { return "if (a == " + i + ") return h(" + i + ");\nelse "; };
  EXPECT_FALSE(is_warned_of(2100, of_calls, equal, "return -1;\n}\n"));
  const auto cases = [](const std::string& i) { return "case " + i + ": return h(" + i + ");\n"; };
  EXPECT_FALSE(is_warned_of(2100, of_calls + "switch (a) {\n", cases, "}\nreturn -1;\n}\n"));
}

TEST_F(HostCompilerTest, static_objects_are_destroyed_when_the_module_goes) {
  CompileResult result = compile(request("a.cc",
                                         "#include <string>\nstatic std::string s(100, 'x');\n"
                                         "int length() { return int(s.size()); }\n"));
  ASSERT_TRUE(result.ok) << errors(result);
  for (int round = 0; round < 3; ++round) {
    Opened library(result.module);
    tarsia_value out = {};
    library.function("length")->call(nullptr, 0, &out);
    EXPECT_EQ(out.i, 100);
  }
}

TEST_F(HostCompilerTest, main_returns_zero_by_itself_and_exit_ends_the_call_alone) {
  CompileResult result = compile(request("a.cc",
                                         "#include <cstdlib>\n#include <cstring>\n"
                                         "int main(int argc, char** argv) {\n"
                                         "  if (argc > 1) exit(int(strlen(argv[1])));\n}\n"));
  ASSERT_TRUE(result.ok) << errors(result);
  Opened library(result.module);
  const tarsia_function* main = library.function("main");
  ASSERT_NE(main, nullptr);
  EXPECT_TRUE(main->flags & TARSIA_FUNCTION_MAIN);
  tarsia_value words[2] = {}, list = {}, out = {};
  words[0].s = "a";
  words[0].size = 1;
  words[1].s = "seven..";
  words[1].size = 7;
  list.v = words;
  list.size = 1;
  ASSERT_EQ(main->call(&list, 1, &out), 0);
  EXPECT_EQ(out.i, 0);
  list.size = 2;
  ASSERT_EQ(main->call(&list, 1, &out), 0);
  EXPECT_EQ(out.i, 7);
}

TEST_F(HostCompilerTest, several_files_and_headers_make_one_module) {
  CompileRequest asked = request("a.cc", "#include \"h.h\"\nint f() { return c_part() + VALUE; }\n");
  asked.files.push_back({"b.c", "int c_part(void) { int class = 2; return class; }\n"});
  asked.headers.push_back({"h.h", "#define VALUE 40\nextern \"C\" int c_part(void);\n"});
  CompileResult result = compile(asked);
  ASSERT_TRUE(result.ok) << errors(result);
  Opened library(result.module);
  tarsia_value out = {};
  library.function("f")->call(nullptr, 0, &out);
  EXPECT_EQ(out.i, 42);
}

TEST_F(HostCompilerTest, constant_expressions_may_name_unknown_references_as_for_gcc) {
  const std::string text =
      "#include <iterator>\nstruct S { static constexpr int k = 5; int n; };\nstruct T { S s; };\n"
      "template <class A> int count(const A& a) { constexpr int n = std::size(a); return n; }\n"
      "int f(T t) { const S& s = t.s; constexpr int k = s.k; const int a[3] = {}; return k + count(a) + "
      "__cplusplus; "
      "}\n";
  CompileRequest asked = request("a.cc", text);
  asked.options.std = "c++17";
  const CompileResult result = compile(asked);
  ASSERT_TRUE(result.ok) << errors(result);
  EXPECT_TRUE(result.diagnostics.empty()) << errors(result);
  // What no standard takes is told as before.
  const CompileResult wrong =
      compile(request("a.cc", "int f(const int& x) { constexpr int n = x; return n; }\n"));
  EXPECT_THAT(errors(wrong), HasSubstr("must be initialized by a constant expression"));
}

TEST_F(HostCompilerTest, a_header_of_cuda_that_the_request_lacks_says_how_to_install_it) {
  const CompileResult result = compile(request("a.cc", "#include <cuda_runtime_api.h>\nint f();\n"));
  EXPECT_THAT(errors(result), HasSubstr("it is CUDA's: `pip install nvidia-cuda-runtime"));
}

TEST_F(HostCompilerTest, what_gcc_takes_and_clang_does_not_has_a_remedy) {
  for (const auto& [text, says] : {
           std::pair{"int g(int n) { int a[n] = {}; return a[0]; }\n", "declare it without an initializer"},
           std::pair{"struct F { int d; operator unsigned() const { return d; } };\n"
                     "unsigned operator%(unsigned n, const F& f) { return n % f.d; }\n"
                     "unsigned g(int t) { F n{3}; return t % n; }\n",
                     "cast an operand to the type that is meant"},
       })
    EXPECT_THAT(errors(compile(request("a.cc", text))), HasSubstr(says));
}

TEST_F(HostCompilerTest, a_template_may_be_static_behind_its_declaration_as_for_gcc) {
  CompileRequest asked = request("a.cc",
                                 "#include \"h.h\"\nint f() { return g<3>(1); }\n"
                                 "template <int n> static int g(int x) { return n * x; }\n");
  asked.headers.push_back({"h.h", "template <int n> int g(int x);\n"});
  const CompileResult result = compile(asked);
  ASSERT_TRUE(result.ok) << errors(result);
  EXPECT_TRUE(result.diagnostics.empty()) << errors(result);
  Opened library(result.module);
  tarsia_value out = {};
  library.function("f")->call(nullptr, 0, &out);
  EXPECT_EQ(out.i, 3);
  // g++ refuses it of functions that are no templates.
  const CompileResult wrong = compile(request("a.cc", "int g();\nstatic int g() { return 1; }\n"));
  EXPECT_THAT(errors(wrong), HasSubstr("static declaration of 'g' follows non-static declaration"));
}

TEST_F(HostCompilerTest, a_prelude_is_made_once_and_changes_nothing) {
  std::string text =
      "#include <vector>\n#include <map>\nstd::vector<int> f(std::vector<int> v) { return v; }\n";
  CompileResult first = compile(request("a.cc", text));
  ASSERT_TRUE(first.ok) << errors(first);
  CompileResult second = compile(request("a.cc", text + "int g() { return 1; }\n"));
  ASSERT_TRUE(second.ok) << errors(second);
  EXPECT_LE(parts.kept[PartKind::prelude], 1);
  // Names that the source did not include remain free.
  CompileResult free_names = compile(request("a.cc", "double y1;\nint map(int x) { return x; }\n"));
  EXPECT_TRUE(free_names.ok) << errors(free_names);
}

}  // namespace
}  // namespace tarsia::jit
