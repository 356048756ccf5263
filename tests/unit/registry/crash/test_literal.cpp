// Texts that are string literals in Python files.
#include "registry/crash/literal.h"

#include <gtest/gtest.h>

namespace tarsia::registry {
namespace {

using Lines = std::vector<std::uint32_t>;

TEST(Literal, a_raw_literal_of_several_lines_is_found) {
  EXPECT_EQ(lines_of_literal("import x\ns = r\"\"\"\nint f() {\n  return '\\n';\n}\n\"\"\"\n",
                             "\nint f() {\n  return '\\n';\n}\n", 1),
            (Lines{2, 3, 4, 5, 6}));
}

TEST(Literal, escapes_count_as_what_they_stand_for) {
  EXPECT_EQ(lines_of_literal("f('''a\\\\n\\'b\n c\\td''')", "a\\n'b\n c\td", 1), (Lines{1, 2}));
  EXPECT_EQ(lines_of_literal("f('a\\nb\\nc')", "a\nb\nc", 1), (Lines{1, 1, 1}));
  EXPECT_EQ(lines_of_literal("f('\\w \\x09 bcd')", "\\w \t bcd", 1), (Lines{1}));
  EXPECT_EQ(lines_of_literal("f(r'a\\'b')", "a\\'b", 1), (Lines{1}));
}

TEST(Literal, a_joined_line_belongs_to_where_it_begins) {
  EXPECT_EQ(lines_of_literal("f('''\\\nint a;\nint b;\\\n int c;\n''')", "int a;\nint b; int c;\n", 1),
            (Lines{2, 3, 5}));
}

TEST(Literal, strings_side_by_side_are_one) {
  EXPECT_EQ(lines_of_literal("f('int a;\\n'  # one\n  r\"int b;\"\n  '\\n')", "int a;\nint b;\n", 1),
            (Lines{1, 2, 3}));
}

TEST(Literal, the_nearest_of_several_counts) {
  const std::string file = "f('x;')\n\n\nf('x;')\n\n\nf('x;')\n";
  EXPECT_EQ(lines_of_literal(file, "x;", 1), Lines{1});
  EXPECT_EQ(lines_of_literal(file, "x;", 5), Lines{4});
  EXPECT_EQ(lines_of_literal(file, "x;", 99), Lines{7});
}

TEST(Literal, what_is_no_such_literal_is_not_found) {
  EXPECT_EQ(lines_of_literal("f('int a; ')", "int a;", 1), Lines());
  EXPECT_EQ(lines_of_literal("f('int a;')", "int a; ", 1), Lines());
  EXPECT_EQ(lines_of_literal("int a;", "int a;", 1), Lines());
  EXPECT_EQ(lines_of_literal("f(f'int a;')", "int a;", 1), Lines());
  EXPECT_EQ(lines_of_literal("f('int a;", "int a;", 1), Lines());
  EXPECT_EQ(lines_of_literal("f('int\n a;')", "int\n a;", 1), Lines()) << "one quote does not go over lines";
  EXPECT_EQ(lines_of_literal("f('\\u0041')", "A", 1), Lines());
  EXPECT_EQ(lines_of_literal("", "x", 1), Lines());
  EXPECT_EQ(lines_of_literal("f('')", "", 1), Lines());
}

TEST(Literal, files_with_carriage_returns_are_read_as_python_reads_them) {
  EXPECT_EQ(lines_of_literal("\r\nf('''a\r\nb''')\r\n", "a\nb", 1), (Lines{2, 3}));
}

}  // namespace
}  // namespace tarsia::registry
