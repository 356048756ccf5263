// Where the leading includes of a text end.
#include "jit/worker/prelude/leading_text.h"

#include <gtest/gtest.h>

#include "jit/worker/source/main_text.h"

namespace tarsia::jit {
namespace {

std::string leading(const std::string& text) {
  return text.substr(0, end_of_leading_includes(text));
}

TEST(LeadingTextTest, the_last_include_before_a_declaration_ends_them) {
  EXPECT_EQ(leading("#include <a>\n#include \"b\"\nint x;\n#include <c>\n"),
            "#include <a>\n#include \"b\"\n");
  EXPECT_EQ(leading("int x;\n#include <c>\n"), "");
  EXPECT_EQ(leading(""), "");
  EXPECT_EQ(leading("#define X 1\nint x;\n"), "");
}

TEST(LeadingTextTest, macros_comments_and_pragmas_may_stand_between_them) {
  EXPECT_EQ(
      leading("// one\n#define X \\\n 1\n#pragma once\n/* two\nlines */ # include <a>\n#define Y\n\nint x;"),
      "// one\n#define X \\\n 1\n#pragma once\n/* two\nlines */ # include <a>\n");
  EXPECT_EQ(leading("#include <a> // b\nint x;\n"), "#include <a> // b\n");
}

TEST(LeadingTextTest, a_conditional_counts_as_a_whole) {
  EXPECT_EQ(leading("#ifdef X\n#include <a>\n#endif\nint x;\n"), "#ifdef X\n#include <a>\n#endif\n");
  EXPECT_EQ(leading("#include <a>\n#ifdef X\n#include <b>\nint x;\n#endif\n"), "#include <a>\n");
  EXPECT_EQ(leading("#include <a>\n#endif\n#include <b>\n"), "#include <a>\n");
}

TEST(LeadingTextTest, other_names_of_lines_end_them) {
  EXPECT_EQ(leading("#include <a>\n#line 7\n#include <b>\n"), "#include <a>\n");
  EXPECT_EQ(leading("#include <a>\n# 7 \"b.cu\"\n#include <b>\n"), "#include <a>\n");
}

TEST(LeadingTextTest, a_line_that_does_not_end_or_ends_in_a_comment_is_left_to_the_rest) {
  EXPECT_EQ(leading("#include <a>\n#include <b>"), "#include <a>\n");
  EXPECT_EQ(leading("#include <a>\n#include <b> /* c\n */\nint x;\n"), "#include <a>\n");
}

TEST(MainTextTest, what_stands_behind_the_includes_may_be_replaced) {
  SourceFile file{"a.cu", "#include <a>\nint x;\n"};
  MainText text(file, 13, "END");
  const llvm::StringRef bytes = text.bytes();
  EXPECT_EQ(bytes.rtrim(' '), "#include <a>\n#pragma tarsia leading\n");
  text.show_all();
  EXPECT_EQ(bytes.rtrim(' '), "#include <a>\nint x;\nEND");
  file.text += "int longer;\n";
  text.show_all();
  EXPECT_EQ(bytes.rtrim(' '), "#include <a>\nint x;\nint longer;\nEND");
  file.text = "#include <a>\n;";
  text.show_all();
  EXPECT_EQ(bytes.rtrim(' '), "#include <a>\n;END");
  EXPECT_EQ(text.size(), 14u);
}

}  // namespace
}  // namespace tarsia::jit
