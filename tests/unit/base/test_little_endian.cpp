// Numbers and texts as bytes, there and back.
#include "base/little_endian.h"

#include <gtest/gtest.h>

namespace tarsia {
namespace {

std::string sample() {
  std::string bytes;
  LittleWriter(bytes)
      .number(std::uint8_t{0xfe})
      .number(std::uint16_t{0x0102})
      .number(std::uint32_t{0xfffefdfc})
      .number(std::uint64_t{0x8000000000000001})
      .text("ab")
      .raw(std::array<unsigned char, 3>{7, 8, 255});
  return bytes;
}

TEST(LittleEndian, the_least_byte_comes_first) {
  EXPECT_EQ(sample(),
            std::string("\xfe\x02\x01\xfc\xfd\xfe\xff\x01\0\0\0\0\0\0\x80\x02\0\0\0ab\x07\x08\xff", 24));
}

TEST(LittleEndian, what_was_written_is_read) {
  const std::string bytes = sample();
  LittleReader in(bytes);
  EXPECT_EQ(in.number<std::uint8_t>(), 0xfe);
  EXPECT_EQ(in.number<std::uint16_t>(), 0x0102);
  EXPECT_EQ(in.number<std::uint32_t>(), 0xfffefdfcu);
  EXPECT_EQ(in.number<std::uint64_t>(), 0x8000000000000001u);
  EXPECT_EQ(in.text(), "ab");
  EXPECT_FALSE(in.at_end());
  EXPECT_EQ(in.raw<3>(), (std::array<unsigned char, 3>{7, 8, 255}));
  EXPECT_TRUE(in.good() && in.at_end());
}

TEST(LittleEndian, missing_bytes_are_noticed_and_give_nothing) {
  const std::string bytes = sample();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    LittleReader in(std::string_view(bytes).substr(0, size));
    in.number<std::uint8_t>();
    in.number<std::uint16_t>();
    in.number<std::uint32_t>();
    in.number<std::uint64_t>();
    in.text();
    EXPECT_EQ(in.raw<3>(), (std::array<unsigned char, 3>{})) << size;
    EXPECT_FALSE(in.good()) << size;
  }
  LittleReader lies(
      std::string_view("\xff\xff\xff\xff"
                       "ab",
                       6));
  EXPECT_EQ(lies.text(), "");
  EXPECT_FALSE(lies.good());
  EXPECT_EQ(lies.number<std::uint64_t>(), 0u);
}

}  // namespace
}  // namespace tarsia
