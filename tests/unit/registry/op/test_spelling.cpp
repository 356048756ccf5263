// What words are made of, and how far they are apart, for suggestions.
#include <gtest/gtest.h>
#include <tarsia/detail/spelling.h>

#include <clocale>
#include <string>

namespace tarsia::detail {
namespace {

TEST(Spelling, identifiers_are_of_ascii) {
  for (const char* text : {"x", "_", "x2", "X_9"}) EXPECT_TRUE(is_identifier(text)) << text;
  for (const char* text : {"", "2x", "x y", "x-y", "\xe9", "x\xc3\xa9"})
    EXPECT_FALSE(is_identifier(text)) << text;
  EXPECT_TRUE(is_identifier_part('7'));
  EXPECT_FALSE(is_identifier_start('7'));
  EXPECT_FALSE(is_letter('_'));
}

TEST(Spelling, the_locale_of_the_process_changes_nothing) {
  // In Latin-1, 0xe9 is a letter and 0xa0 a space: bytes that UTF-8 has within characters.
  const char* const before = std::setlocale(LC_CTYPE, nullptr);
  const std::string kept = before ? before : "C";
  for (const char* name : {"en_US.ISO-8859-1", "de_DE.ISO-8859-1", "C.UTF-8"}) {
    if (!std::setlocale(LC_CTYPE, name)) continue;
    for (int c = 128; c < 256; ++c) {
      EXPECT_FALSE(is_identifier_part(static_cast<char>(c))) << name << " " << c;
      EXPECT_FALSE(is_space(static_cast<char>(c))) << name << " " << c;
    }
  }
  std::setlocale(LC_CTYPE, kept.c_str());
  for (const char c : {' ', '\t', '\n', '\v', '\f', '\r'}) EXPECT_TRUE(is_space(c));
  EXPECT_FALSE(is_space('\0'));
}

TEST(Spelling, an_edit_adds_drops_changes_or_swaps_a_letter) {
  EXPECT_EQ(edit_distance("run", "run"), 0u);
  EXPECT_EQ(edit_distance("rn", "run"), 1u);
  EXPECT_EQ(edit_distance("runn", "run"), 1u);
  EXPECT_EQ(edit_distance("ran", "run"), 1u);
  EXPECT_EQ(edit_distance("rnu", "run"), 1u);
  EXPECT_EQ(edit_distance("", "run"), 3u);
  EXPECT_EQ(edit_distance("hlep", "help"), 1u);
}

TEST(Spelling, short_words_are_suggested_for_near_ones_alone) {
  EXPECT_EQ(suggestion_reach("run"), 1u);
  EXPECT_EQ(suggestion_reach("bench"), 2u);
  EXPECT_EQ(suggestion_reach("-funroll-loops"), 3u);
}

TEST(Spelling, the_nearest_of_the_known_words_is_found) {
  NearestWord nearest("bnech");
  for (const char* known : {"run", "bench", "beach"}) nearest.compare(known);
  EXPECT_EQ(nearest.found(), "bench");
  NearestWord none("xyz");
  none.compare("run");
  EXPECT_EQ(none.found(), "");
}

}  // namespace
}  // namespace tarsia::detail
