// Cells of sessions in this process: the items that a cell has, and what later cells read of them.
#include "jit/worker/cell/cell_items.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/unit/worker/compile_fixture.h"

namespace tarsia::jit {
namespace {

class CellItemsTest : public CompileTest {
 protected:
  CompileRequest cell(const std::string& text, const std::string& name = "session.cc") {
    CompileRequest made = request(name, "#include \"cell 1\"\n#include \"cell 2\"\n");
    made.headers.push_back({"cell 1", "int earlier(int a);\nextern int x;\n"});
    made.headers.push_back({"cell 2", text + "\n;\n"});
    made.options.functions.emplace();
    made.options.cell = "cell 2";
    return made;
  }

  /// What the module says of the cell's items.
  nlohmann::json items(const std::string& text, const std::string& name = "session.cc") {
    const CompileResult result = compile(cell(text, name));
    EXPECT_TRUE(result.ok) << errors(result);
    const std::size_t begin = result.module.find("{\"items\":");
    if (begin == result.module.npos) return {};
    return nlohmann::json::parse(result.module.c_str() + begin)["items"];
  }

  /// What later cells read in the place of a cell's only item: "same" if it stays.
  std::string later(const std::string& text, const std::string& name = "session.cc") {
    const nlohmann::json all = items(text, name);
    if (all.size() != 1) return std::to_string(all.size()) + " items";
    return all[0]["later"].is_null() ? "same" : all[0]["later"].get<std::string>();
  }
};

TEST_F(CellItemsTest, functions_become_declarations_and_variables_extern_ones) {
  EXPECT_EQ(later("int f(int a, int b = 2) { return a + b; }"), "int f(int a, int b = 2);");
  EXPECT_EQ(later("auto d = 2.5;"), "extern double d;");
  EXPECT_EQ(later("thread_local int t = 3;"), "extern thread_local int t;");
  EXPECT_EQ(later("__thread int t = 3;"), "extern __thread int t;");
  EXPECT_EQ(later("struct S { void f(); };\nvoid S::f() {}"), "2 items");
}

TEST_F(CellItemsTest, what_cannot_be_declared_stays) {
  for (const char* text :
       {"struct S { int a; };", "template <class T> T f(T a) { return a; }", "inline int f() { return 1; }",
        "constexpr int f() { return 1; }", "auto f() { return 1; }", "auto g = [](int a) { return a; };",
        "const int n = 3;", "static int s = 3;", "using I = int;", "enum E { one };", "namespace n { }"})
    EXPECT_EQ(later(text), "same") << text;
}

TEST_F(CellItemsTest, what_is_declared_together_is_an_item_each) {
  const nlohmann::json all =
      items("int a = 3, *b = &a, (*f)(int, int) = 0, c[2] = {1, 2}; const int d(3), e{4};");
  ASSERT_EQ(all.size(), 6u);
  const char* const later[] = {"extern int a;", "extern int *b;", "extern int (*f)(int, int);",
                               "extern int c[2];"};
  const char* const alone[] = {"int a = 3;",         "int *b = &a;",    "int (*f)(int, int) = 0;",
                               "int c[2] = {1, 2};", "const int d(3);", "const int e{4};"};
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(all[i]["alone"], alone[i]);
    if (i < 4)
      EXPECT_EQ(all[i]["later"], later[i]);
    else
      EXPECT_TRUE(all[i]["later"].is_null());
  }
  const nlohmann::json tag = items("struct P { int x; } p{7}, *q = &p;");
  ASSERT_EQ(tag.size(), 3u);
  EXPECT_EQ(tag[0]["alone"], "struct P { int x; };");
  EXPECT_EQ(tag[2]["alone"], "P *q = &p;");
}

TEST_F(CellItemsTest, members_of_a_namespace_stand_behind_it) {
  const nlohmann::json all =
      items("namespace n { int f() { return 1; } int x = 1, y; namespace m::l { struct S {}; } }");
  ASSERT_EQ(all.size(), 6u);
  EXPECT_FALSE(all[0].contains("outer"));
  EXPECT_EQ(all[1]["later"], "int f();");
  EXPECT_EQ(all[2]["names"], nlohmann::json({"n::x"}));
  EXPECT_EQ(all[4]["outer"], 0);
  EXPECT_EQ(all[5]["outer"], 4);
  EXPECT_EQ(all[5]["names"], nlohmann::json({"n::m::l::S"}));
}

TEST_F(CellItemsTest, an_enumeration_names_its_values) {
  EXPECT_EQ(items("enum E { A, B };")[0]["names"], nlohmann::json({"E", "A", "B"}));
  EXPECT_EQ(items("enum class E { A, B };")[0]["names"], nlohmann::json({"E"}));
}

TEST_F(CellItemsTest, statements_become_nothing) {
  EXPECT_EQ(later("x = earlier(x)"), "");
  EXPECT_EQ(later("for (int i = 0; i < 3; i++) x += i;"), "");
  EXPECT_EQ(later("{ int local = 1; x = local; }"), "");
}

TEST_F(CellItemsTest, what_conditions_leave_out_is_no_part_of_an_item) {
  const std::string text =
      "#ifdef NOT_SO\nint e = 1;\n#else\nint e = 2;\n#endif\n#ifndef G\n#define G\nint g() { return 2; "
      "}\n#endif";
  const nlohmann::json all = items(text);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0]["begin"], text.find("int e = 2"));
  EXPECT_EQ(all[0]["end"], text.find("#endif") - 1);
  EXPECT_EQ(all[1]["begin"], text.find("int g"));
  EXPECT_EQ(all[1]["end"], text.rfind("#endif") - 1);
}

TEST_F(CellItemsTest, an_unnamed_namespace_is_an_item) {
  const nlohmann::json all = items("namespace { int h() { return 1; } }\nh()");
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0]["end"], 35);
  EXPECT_EQ(all[1]["outer"], 0);
  EXPECT_EQ(all[2]["kind"], "expression");
}

TEST_F(CellItemsTest, a_statement_whose_body_is_missing_is_an_error) {
  for (const char* text : {"for (int i = 0; i < 3; ++i)", "if (true)", "while (false)", "if (x) 1; else",
                           "int a[2]; for (int i : a)", "switch (x)", "if (x) while (false)"}) {
    CompileRequest made = cell(text);
    made.options.cell_shows = true;
    const CompileResult result = compile(made);
    EXPECT_FALSE(result.ok) << text;
    EXPECT_THAT(errors(result), testing::HasSubstr("the cell ends before the body")) << text;
    made.headers.back().text = std::string(text) + ";\n";
    made.options.cell_shows = false;
    EXPECT_TRUE(compile(made).ok) << text;
  }
}

TEST_F(CellItemsTest, an_item_names_what_it_declares) {
  const nlohmann::json all = items("// first\nint f(double) { return 1; }\n#define A 1\nint y = A; y + 1");
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0]["names"], nlohmann::json({"f"}));
  EXPECT_EQ(all[0]["symbols"], nlohmann::json({"_Z1fd"}));
  EXPECT_EQ(all[0]["begin"], 9);
  EXPECT_EQ(all[1]["kind"], "variable");
  EXPECT_EQ(all[2]["kind"], "expression");
}

TEST_F(CellItemsTest, later_cells_read_no_body_of_a_kernel) {
  if (!have_nvrtc()) GTEST_SKIP() << "there is no NVRTC";
  EXPECT_EQ(later("__global__ void k(float* x, int n = {3}) { if (n) { x[0] = 1; } }", "session.cu"),
            "__global__ void k(float* x, int n = {3});");
  EXPECT_EQ(later("template <class T> __global__ void f(T* x) { x[0] = 1; }", "session.cu"), "same");
  EXPECT_EQ(later("__device__ float g(float x) { return x; }", "session.cu"), "same");
  const nlohmann::json all = items(
      "__global__ void __launch_bounds__(64) a(int* x) { x[0] = 1; }\nint b;\n"
      "template <class T> __global__ void c(T* x) { }\nvoid d() { }",
      "session.cu");
  ASSERT_EQ(all.size(), 4u);
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(all[std::size_t(i)]["names"], nlohmann::json({std::string(1, char('a' + i))}));
}

TEST_F(CellItemsTest, modules_name_the_functions_and_variables_of_other_cells) {
  const CompileResult result = compile(cell("int mine(int a) { return earlier(a) + x; }"));
  ASSERT_TRUE(result.ok) << errors(result);
  for (const char* symbol : {"_Z4minei", "_Z7earlieri", "int (int)", "tarsia_cell_table"})
    EXPECT_NE(result.module.find(symbol), result.module.npos) << symbol;
}

TEST_F(CellItemsTest, an_open_brace_ends_the_compile_with_its_place) {
  const CompileResult result = compile(cell("int f() {\n  if (x) {\n  return 1;"));
  ASSERT_FALSE(result.ok);
  ASSERT_EQ(result.diagnostics.size(), 2u) << errors(result);
  EXPECT_EQ(result.diagnostics[0].message, "expected '}'");
  EXPECT_EQ(result.diagnostics[0].line, 3);
  EXPECT_EQ(result.diagnostics[1].line, 2);
}

}  // namespace
}  // namespace tarsia::jit
