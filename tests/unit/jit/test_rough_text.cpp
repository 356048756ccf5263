// Words and lines of texts, and what names of files say.
#include "jit/rough_text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "jit/source_suffix.h"

namespace tarsia::jit {
namespace {

TEST(RoughText, words_are_identifiers) {
  std::vector<std::string> words;
  for_each_word("int a1 = 12u; // _b\n\"c\"", [&](std::string_view word) { words.emplace_back(word); });
  EXPECT_EQ(words, (std::vector<std::string>{"int", "a1", "_b", "c"}));
}

TEST(RoughText, a_backslash_before_a_newline_joins_lines) {
  const auto line = [](const std::string& text) { return text.substr(0, end_of_line(text, 0)); };
  EXPECT_EQ(line("a b\nc"), "a b");
  EXPECT_EQ(line("a \\ b\nc"), "a \\ b");
  EXPECT_EQ(line("a\\\nb\nc"), "a\\\nb");
  EXPECT_EQ(line("a\\\r\nb\nc"), "a\\\r\nb");
  EXPECT_EQ(line("a\\\\\nb\nc"), "a\\\\\nb");  // behind another backslash, too
  EXPECT_EQ(line("a\\"), "a\\");
  EXPECT_EQ(line(""), "");
  EXPECT_EQ(end_of_line("a\nb\nc", 2), 3u);
}

TEST(SourceSuffix, names_say_languages) {
  EXPECT_EQ(language_of_name("a.c"), Language::c);
  for (const char* name : {"a.cc", "a.cpp", "a.cxx", "a.c++", "a.C", "a.CPP", "dir.cu/a.cc"})
    EXPECT_EQ(language_of_name(name), Language::cxx) << name;
  EXPECT_EQ(language_of_name("a.b.cu"), Language::cuda);
  for (const char* name : {"a", "v1.2/kernel", "dir.cc/op", "a.h", "a.Cu", "cu", ""})
    EXPECT_EQ(language_of_name(name), std::nullopt) << name;
}

}  // namespace
}  // namespace tarsia::jit
