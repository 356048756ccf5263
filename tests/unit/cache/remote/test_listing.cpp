// Listings: a list and the module that was sent last, in one entry.
#include "cache/remote/listing.h"

#include <gtest/gtest.h>

namespace tarsia::cache {
namespace {

Manifest two_sets() {
  Manifest list;
  list.add({hash_bytes("older"), {{"/a.h", hash_bytes("a"), false, {}}}});
  list.add({hash_bytes("newer"), {}});
  return list;
}

TEST(Listing, brings_back_its_list_and_its_module) {
  const auto alone = Listing::parse(listing_of(two_sets()));
  ASSERT_TRUE(alone);
  EXPECT_EQ(alone->list.serialise(), two_sets().serialise());
  EXPECT_FALSE(alone->newest);
  for (const std::string& payload : {std::string(), std::string("\x7f"
                                                                "ELF\0 and more",
                                                                14)}) {
    const auto both = Listing::parse(listing_of(two_sets(), hash_bytes("newer"), "meta", payload));
    ASSERT_TRUE(both);
    EXPECT_EQ(both->list.serialise(), two_sets().serialise());
    ASSERT_TRUE(both->newest);
    EXPECT_EQ(both->newest->key, hash_bytes("newer"));
    EXPECT_EQ(both->newest->meta, "meta");
    EXPECT_EQ(both->newest->payload, payload);
  }
}

TEST(Listing, refuses_what_is_cut_off_within_the_list_the_key_or_the_meta) {
  const std::string alone = listing_of(two_sets()),
                    whole = listing_of(two_sets(), hash_bytes("newer"), "meta", "");
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_EQ(Listing::parse(whole.substr(0, size)).has_value(), size == alone.size()) << size;
}

TEST(Listing, refuses_a_list_alone) {
  EXPECT_FALSE(Listing::parse(two_sets().serialise()));
}

}  // namespace
}  // namespace tarsia::cache
