// Frames of a crash that are no frames, and modules that are none.
#include "jit/worker/frames.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <sstream>
#include <string>

#include "base/frame_format.h"

namespace tarsia::jit {
namespace {

/// What is explained of the bytes; "damaged" if they are.
std::string explained(const std::string& bytes) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return "no pipe";
  const bool sent = ::write(ends[1], bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
  ::close(ends[1]);
  std::ostringstream text;
  const bool ok = explain_frames(ends[0], text);
  ::close(ends[0]);
  return !sent ? "not sent" : ok ? text.str() : "damaged";
}

std::string item(const FrameItem& item, const std::string& name = "", const std::string& bytes = "") {
  return std::string(reinterpret_cast<const char*>(&item), sizeof item) + name + bytes;
}

TEST(Frames, what_is_in_no_module_is_an_address) {
  EXPECT_EQ(explained(item({FrameItem::frame, 1, 0x1234, 0, 0})), "  #0 0x1234\n");
  EXPECT_EQ(explained(item({FrameItem::frame, 0, 0x1234, 0, 0})), "  #0 0x1233\n")
      << "the address of the call";
  EXPECT_EQ(explained(""), "");
}

TEST(Frames, a_module_that_is_no_library_explains_nothing) {
  EXPECT_EQ(explained(item({FrameItem::module, 0, 0x1000, 3, 5}, "odd", "bytes") +
                      item({FrameItem::frame, 1, 0x1002, 0, 0})),
            "  #0 0x1002\n");
  EXPECT_EQ(explained(item({FrameItem::loading, 0, 0, 3, 5}, "odd", "bytes") +
                      item({FrameItem::frame, 1, 0x1002, 0, 0})),
            "  #0 0x1002\n");
}

TEST(Frames, frames_that_are_alike_and_frames_that_were_left_out_are_counted) {
  std::string frames;
  for (int i = 0; i < 3; ++i) frames += item({FrameItem::frame, 1, 0x10, 0, 0});
  frames += item({FrameItem::left_out, 0, 7, 0, 0}) + item({FrameItem::frame, 1, 0x10, 0, 0});
  EXPECT_EQ(explained(frames), "  #0 0x10\n  ... 2 more like this\n  ... 7 frames more\n");
}

TEST(Frames, damaged_items_are_refused) {
  EXPECT_EQ(explained(item({static_cast<FrameItem::Kind>(99), 0, 0, 0, 0})), "damaged");
  EXPECT_EQ(explained(item({FrameItem::module, 0, 0, 100, 0}, "short")), "damaged");
  EXPECT_EQ(explained(item({FrameItem::module, 0, 0, ~std::uint64_t{0}, 0})), "damaged");
  EXPECT_EQ(explained(item({FrameItem::origin, 0, 0, 1, 2}, "a", "b")), "damaged") << "of no module";
  EXPECT_EQ(explained(item({FrameItem::frame, 1, 0x10, 0, 0}).substr(0, 10)), "damaged");
}

}  // namespace
}  // namespace tarsia::jit
