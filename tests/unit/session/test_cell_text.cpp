// The texts of cells, read without a compiler.
#include "session/cell_text.h"

#include <gmock/gmock.h>

namespace tarsia::session {
namespace {

constexpr char k_items[] = R"({"items": [
  {"begin": 0, "end": 27, "kind": "function", "names": ["f"], "symbols": ["_Z1fi"], "later": "int f(int a);"},
  {"begin": 28, "end": 33, "kind": "statement", "names": [], "symbols": [], "later": ""},
  {"begin": 34, "end": 46, "kind": "type", "names": ["S"], "symbols": [], "later": null}]})";

CellText compiled() {
  CellText cell("cell 1", "int f(int a) {\n return a; }\nf(1);\nstruct S {};");
  cell.take_items(k_items);
  return cell;
}

TEST(CellText, a_value_is_shown_where_no_semicolon_follows) {
  EXPECT_TRUE(CellText("c", "x").shows_value());
  EXPECT_TRUE(CellText("c", "x // ;").shows_value());
  EXPECT_TRUE(CellText("c", "f(\";\")").shows_value());
  EXPECT_FALSE(CellText("c", "x; // x").shows_value());
  EXPECT_FALSE(CellText("c", "x; /* \" */ ").shows_value());
  EXPECT_TRUE(CellText("c", " // x\n /* y */").is_empty());
}

TEST(CellText, statements_that_begin_with_a_sign_stand_in_brackets) {
  EXPECT_EQ(CellText("c", "-x").code(), "(-x)\n;\n");
  EXPECT_EQ(CellText("c", "int x = 1; -x; // ;\n{ -x; } +x;").code(),
            "int x = 1; (-x); // ;\n{ -x; } (+x);\n");
  EXPECT_EQ(CellText("c", "#define A \\\n -1\n--x").code(), "#define A \\\n -1\n--x\n;\n");
  EXPECT_EQ(CellText("c", "- [] { return 1; }()").code(), "(- [] { return 1; }())\n;\n");
  EXPECT_EQ(CellText("c", "-1 // one").code(), "(-1) // one\n;\n");
}

TEST(CellText, a_sign_behind_a_braced_initialiser_is_an_operator) {
  for (const char* text : {"V{5} - 2", "int x = int{3} - int{1}", "std::string{\"a\"} + \"b\"",
                           "(float2){1, 2} - y", "decltype(x){1} + 2", "f(V{1}) + V{2} - V{3}", "a = {1}",
                           "x = b ? V{1}\n- 1 : V{2}\n+ 2", "auto f = [](int a) { return a; }\n+ 1",
                           "return V{1} - 1", "a[1] = V{1} - 2", "std::vector<int>{1} + 1"})
    EXPECT_EQ(CellText("c", text).code(), text + std::string("\n;\n"));
}

TEST(CellText, a_sign_behind_a_block_begins_a_statement) {
  for (const char* block :
       {"{ f(); }", "if (a) { f(); }", "if constexpr (V{1} > 2) { f(); }", "for (int i : {1, 2}) { }",
        "while (a) { }", "if (a) { } else { }", "int f(int a) { return a; }", "void f() noexcept { }",
        "template <class T> T f(T a) { return a; }", "namespace a { int b; }", "namespace { int b; }",
        "extern \"C\" { int b; }", "try { } catch (...) { }", "do { } while (a);", "struct S { int a; };",
        "int S::f() const { return a; }"})
    EXPECT_EQ(CellText("c", block + std::string("\n-x")).code(), block + std::string("\n(-x)\n;\n"));
}

TEST(CellText, conditions_that_end_within_an_item_end_for_later_cells_too) {
  const std::string text = "#if 0\nint f(char a) { return a;\n#elif 1\nint // \nf(int a) {\n#endif\n}";
  CellText cell("cell 1", text);
  const std::size_t begin = text.find("int //");
  cell.take_items(
      (R"({"items": [{"begin": )" + std::to_string(begin) + R"(, "end": )" + std::to_string(text.size()) +
       R"(, "kind": "function", "names": ["f"], "symbols": ["_Z1fi"], "later": "int f(int a);"}]})")
          .c_str());
  EXPECT_EQ(cell.later_text(), "#if 0\nint f(char a) { return a;\n#elif 1\nint f(int a);\n#endif\n\n\n;\n");
  cell.drop(0);
  EXPECT_EQ(cell.later_text(), "#if 0\nint f(char a) { return a;\n#elif 1\n\n#endif\n\n\n;\n");
}

TEST(CellText, includes_move_to_the_front_unless_something_may_change_what_they_say) {
  CellText cell("c",
                "#include <a>\n// #include <b>\n#if 1\n#include <c>\n#endif\n# include <d> // d\n#define "
                "D\n#include <e>\n");
  cell.move_includes();
  EXPECT_THAT(cell.includes(),
              testing::ElementsAre(testing::Pair("#include <a>", 1), testing::Pair("#include <d>", 6)));
  EXPECT_EQ(cell.code().find("<a>"), std::string::npos);
  EXPECT_NE(cell.code().find("<e>"), std::string::npos);
  EXPECT_TRUE(cell.has_macros());
}

TEST(CellText, later_cells_read_declarations_on_the_same_lines) {
  CellText cell = compiled();
  EXPECT_EQ(cell.later_text(), "int f(int a);\n\n\nstruct S {};\n");
  EXPECT_EQ(cell.item_at(4, 1), 2u);
  EXPECT_EQ(cell.item_at(1, 5), 0u);
  EXPECT_EQ(cell.item_at(3, 1), std::nullopt);
  cell.drop(cell.item_named("f").value());
  EXPECT_EQ(cell.later_text(), "\n\n\nstruct S {};\n");
  EXPECT_EQ(cell.item_at(4, 1), 2u);
  EXPECT_EQ(cell.item_named("f"), std::nullopt);
}

TEST(CellText, members_and_values_go_alone) {
  CellText cell("cell 1", "namespace n {\nint f() { return 1; } struct S {};\n}\nenum { A, B = A };");
  cell.take_items(R"({"items": [
    {"begin": 0, "end": 50, "kind": "declaration", "names": ["n"], "later": null},
    {"begin": 14, "end": 35, "outer": 0, "kind": "function", "names": ["n::f"], "symbols": ["_ZN1n1fEv"], "later": "int f();"},
    {"begin": 36, "end": 48, "outer": 0, "kind": "type", "names": ["n::S"], "later": null},
    {"begin": 51, "end": 69, "kind": "type", "names": ["A", "B"], "values": ["A", "B"], "later": null}]})");
  EXPECT_EQ(cell.later_text(), "namespace n {\nint f(); struct S {};\n}\nenum { A, B = A };\n");
  EXPECT_EQ(cell.item_at(2, 5), 1u);
  EXPECT_EQ(cell.item_at(2, 12), 2u);
  EXPECT_EQ(cell.item_at(1, 11), 0u);
  cell.drop(1);
  cell.hide(3, "A");
  EXPECT_EQ(cell.later_text(), "namespace n {\n struct S {};\n}\nenum { A_of_cell_1, B = A_of_cell_1 };\n");
  EXPECT_EQ(cell.item_at(2, 3), 2u);
  cell.drop(0);
  EXPECT_TRUE(cell.items()[2].dropped);
  EXPECT_EQ(cell.item_at(4, 8), 3u);
}

TEST(CellText, a_macro_that_a_cell_replaces_is_taken_away_before_it) {
  CellText one("cell 1", "#define N 4"), two("cell 2", "int N;");
  two.undefine("N");
  const auto source = compose({std::make_shared<const CellText>(one)}, two, {});
  EXPECT_TRUE(
      source.files.front().text.ends_with("#include \"earlier cells\"\n#undef N\n#include \"cell 2\"\n"))
      << source.files.front().text;
}

TEST(CellText, damaged_members_stand_in_items_before_them) {
  CellText cell("c", "int x;");
  cell.take_items(R"({"items": [{"begin": 0, "end": 6, "outer": 5}, {"begin": 0, "end": 6, "outer": 1}]})");
  EXPECT_EQ(cell.items()[0].outer, std::nullopt);
  EXPECT_EQ(cell.items()[1].outer, std::nullopt);
}

TEST(CellText, what_is_defined_again_is_marked) {
  CellText cell = compiled(), other("cell 2", "int f(int b) { return b; }");
  EXPECT_FALSE(cell.is_replaced_by(other));
  other.take_items(
      R"({"items": [{"begin": 0, "end": 26, "kind": "function", "names": ["f"], "symbols": ["_Z1fi"], "later": "int f(int b);"}]})");
  EXPECT_TRUE(cell.is_replaced_by(other));
  cell.mark_replaced_by(other);
  EXPECT_TRUE(cell.items()[0].replaced);
  EXPECT_FALSE(cell.is_replaced_by(other));
}

TEST(CellText, damaged_items_are_kept_within_the_text) {
  CellText cell("c", "int x;");
  cell.take_items(R"({"items": [{"begin": 99, "end": 3}, 7]})");
  cell.take_items("no JSON");
  EXPECT_TRUE(cell.items().empty());
  EXPECT_EQ(cell.later_text(), "int x;\n");
}

TEST(CellText, a_diagnostic_of_a_moved_include_has_its_place) {
  CellText one("cell 1", "#include <a>\n"), two("cell 2", "\n#include <b>\n");
  one.move_includes();
  two.move_includes();
  Diagnostic diagnostic{k_main_name, 4, 10, Severity::error, "not found"};
  place_includes(diagnostic, {std::make_shared<const CellText>(one)}, two);
  EXPECT_EQ(diagnostic.file, "cell 2");
  EXPECT_EQ(diagnostic.line, 2);
}

}  // namespace
}  // namespace tarsia::session
