// Entries: damage of any sort is found, and no size is believed.
#include "cache/entry.h"

#include <gtest/gtest.h>

#include "base/file.h"

namespace tarsia::cache {
namespace {

const Key k_key = hash_bytes("key");

std::string entry_bytes(std::string_view payload = "payload \x7f bytes", std::string_view meta = "meta") {
  return std::string(payload) + std::string(meta) + make_footer(Kind::module, k_key, payload, meta);
}

ReadStatus read(const std::string& bytes, Kind kind = Kind::module, const Key& key = k_key,
                Entry* out = nullptr, bool keep_payload = true) {
  const UniqueFd fd = make_memfd("entry", bytes);
  Entry entry;
  return read_entry(fd.get(), bytes.size(), kind, key, keep_payload, out ? *out : entry);
}

TEST(Entry, what_was_written_is_read) {
  Entry entry;
  EXPECT_EQ(read(entry_bytes(), Kind::module, k_key, &entry), ReadStatus::ok);
  EXPECT_EQ(entry.payload, "payload \x7f bytes");
  EXPECT_EQ(entry.meta, "meta");
  EXPECT_EQ(read(entry_bytes(), Kind::module, k_key, &entry, false), ReadStatus::ok);
  EXPECT_EQ(entry.payload, "");
  EXPECT_EQ(entry.payload_size, 15u);
  EXPECT_EQ(entry.meta, "meta");
  EXPECT_EQ(read(entry_bytes("", "")), ReadStatus::ok);
}

TEST(Entry, large_payloads_are_verified_in_pieces) {
  const std::string payload(1'000'003, 'p');
  std::string bytes = entry_bytes(payload, "m");
  EXPECT_EQ(read(bytes, Kind::module, k_key, nullptr, false), ReadStatus::ok);
  bytes[999'999] ^= 1;
  EXPECT_EQ(read(bytes, Kind::module, k_key, nullptr, false), ReadStatus::corrupt);
}

TEST(Entry, the_footer_is_as_long_as_it_says) {
  EXPECT_EQ(make_footer(Kind::host, k_key, "p", "m").size(), k_footer_size);
}

TEST(Entry, cut_at_every_length_is_corrupt) {
  const std::string bytes = entry_bytes();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(read(bytes.substr(0, size)), ReadStatus::corrupt) << size;
  }
}

TEST(Entry, every_bit_flipped_in_turn_is_corrupt) {
  const std::string bytes = entry_bytes();
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] ^= static_cast<char>(1 << bit % 8);
    EXPECT_EQ(read(damaged), ReadStatus::corrupt) << bit;
    EXPECT_EQ(read(damaged, Kind::module, k_key, nullptr, false), ReadStatus::corrupt) << bit;
  }
}

TEST(Entry, bytes_added_anywhere_are_corrupt) {
  const std::string bytes = entry_bytes();
  for (std::size_t at = 0; at <= bytes.size(); ++at) {
    std::string longer = bytes;
    longer.insert(at, 1, 'x');
    EXPECT_EQ(read(longer), ReadStatus::corrupt) << at;
  }
}

TEST(Entry, of_another_key_or_kind_is_corrupt) {
  EXPECT_EQ(read(entry_bytes(), Kind::module, hash_bytes("other")), ReadStatus::corrupt);
  EXPECT_EQ(read(entry_bytes(), Kind::manifest), ReadStatus::corrupt);
}

TEST(Entry, sizes_that_claim_gigabytes_allocate_nothing) {
  // payload_size = 2^64 - 1 and meta_size so that the sum wraps around to the right one.
  std::string bytes = entry_bytes("", "");
  for (int i = 0; i < 8; ++i) bytes[16 + i] = '\xff';
  bytes[24] = 1;
  EXPECT_EQ(read(bytes), ReadStatus::corrupt);
  // A file that shrank after its size was asked for.
  const UniqueFd fd = make_memfd("entry", entry_bytes());
  Entry entry;
  EXPECT_EQ(read_entry(fd.get(), std::uint64_t{1} << 32, Kind::module, k_key, true, entry),
            ReadStatus::corrupt);
  EXPECT_EQ(read_entry(fd.get(), std::uint64_t{1} << 30, Kind::module, k_key, true, entry),
            ReadStatus::corrupt);
}

TEST(Entry, an_error_of_reading_is_no_corruption) {
  Entry entry;
  EXPECT_EQ(read_entry(-1, 1000, Kind::module, k_key, true, entry), ReadStatus::failed);
}

}  // namespace
}  // namespace tarsia::cache
