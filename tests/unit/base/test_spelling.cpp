// How far words are apart, for suggestions.
#include "base/spelling.h"

#include <gtest/gtest.h>

namespace tarsia {
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

}  // namespace
}  // namespace tarsia
