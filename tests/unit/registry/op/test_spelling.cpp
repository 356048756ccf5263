// How far words are apart, for suggestions.
#include <gtest/gtest.h>
#include <tarsia/detail/spelling.h>

namespace tarsia::detail {
namespace {

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
