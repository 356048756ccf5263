// Fat binaries, byte by byte.
#include "jit/worker/device/fatbin.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace tarsia::jit {
namespace {

std::string u16(unsigned n) {
  return {char(n), char(n >> 8)};
}
std::string u32(unsigned n) {
  return u16(n & 0xffff) + u16(n >> 16);
}
std::string u64(unsigned long n) {
  return u32(n) + u32(n >> 32);
}
std::string zeros(size_t n) {
  return std::string(n, '\0');
}

/// An ELF header for CUDA with ABI version 8 and no sections.
std::string cubin(size_t size) {
  std::string bytes =
      "\x7f"
      "ELF\x02\x01\x01\x41\x08";
  bytes.resize(16);
  bytes += u16(2) + u16(190) + u32(1);
  bytes.resize(size);
  return bytes;
}

// The expected bytes are those of NVIDIA's fatbinary for cubins of this ABI version.
TEST(Fatbin, a_cubin_gets_a_header_of_64_bytes) {
  const std::string code = cubin(128);
  const std::string fatbin = make_fatbin(std::vector<FatbinEntry>{{"sm_90", code}});
  const std::string entry = u16(2) + u16(0x101) + u32(64) + u64(128) + u32(0) + u32(0) + u16(8) + u16(1) +
                            u32(90) + u64(0) + u64(0x11) + zeros(16);
  EXPECT_EQ(fatbin, u32(0xBA55ED50) + u16(1) + u16(16) + u64(64 + 128) + entry + code);
}

TEST(Fatbin, ptx_gets_its_version_an_extension_and_a_final_zero) {
  const std::string ptx = "//\n.version 8.7\n.target sm_90\n";
  const std::string fatbin = make_fatbin(std::vector<FatbinEntry>{{"compute_90", ptx}});
  const std::string entry = u16(1) + u16(0x101) + u32(80) + u64(32) + u32(0) + u32(64) + u16(7) + u16(8) +
                            u32(90) + u64(0) + u64(0x11) + zeros(16) + u32(72) + zeros(12);
  EXPECT_EQ(fatbin, u32(0xBA55ED50) + u16(1) + u16(16) + u64(80 + 32) + entry + ptx + zeros(32 - ptx.size()));
}

TEST(Fatbin, entries_follow_each_other_in_order_and_aligned) {
  const std::string fatbin =
      make_fatbin(std::vector<FatbinEntry>{{"sm_80", cubin(101)}, {"sm_90a", cubin(104)}});
  EXPECT_EQ(fatbin.size(), 16 + 64 + 104u + 64 + 104u);
  EXPECT_EQ(fatbin.substr(16 + 28, 4), u32(80));
  EXPECT_EQ(fatbin.substr(16 + 168 + 28, 4), u32(90));
  EXPECT_EQ(fatbin.substr(16 + 168 + 40, 8), u64(0x100011)) << "the flag of an 'a' architecture";
}

TEST(Fatbin, what_is_no_architecture_is_refused) {
  for (const char* arch : {"sm_", "90", "sm_90x", "sm_90ab", ""})
    EXPECT_THROW(make_fatbin(std::vector<FatbinEntry>{{arch, "x"}}), Error) << arch;
}

}  // namespace
}  // namespace tarsia::jit
