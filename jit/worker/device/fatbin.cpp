// The format, read off what NVIDIA's fatbinary 13.0 and 13.5 write; numbers are little-endian.
//
//     container  u32 magic 0xBA55ED50, u16 version 1, u16 header size 16, u64 bytes that follow
//     entry      u16 kind: 1 PTX, 2 cubin
//                u16 0x0101
//                u32 header size: 64, with an extension more
//                u64 payload size, a multiple of 8
//                u32 0 (size if compressed), u32 64 if there is an extension, else 0
//                u16 minor, u16 major: of the PTX's version; for a cubin its ELF ABI version and 1
//                u32 architecture: 90
//                u32 0, u32 0 (offset and length of a name)
//                u64 flags
//                u64 0, u64 0 (size before compression)
//     extension  u32 72: where the options of ptxas stand, u32 size of the compatibility record,
//                the options (none: one zero byte), the record: section .nv.compat of the cubin
//     payload    the cubin, or the PTX with a zero at its end
//
// Flags: 0x11 for 64-bit code, 0x100000 for an "a" architecture, 0x200000 for an "f" one, 0x1000000 with a
// compatibility record, which architectures from 100 on have.
#include "jit/worker/device/fatbin.h"

#include <charconv>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/cuda/cubin.h"
#include "base/error.h"

namespace tarsia::jit {
namespace {

constexpr uint64_t k_flags_64_bit = 0x11, k_flag_a = 0x100000, k_flag_f = 0x200000, k_flag_compat = 0x1000000;

template <class T>
void put(std::string& into, T number) {
  for (size_t i = 0; i < sizeof(T); ++i) into += static_cast<char>(static_cast<uint64_t>(number) >> (8 * i));
}

void pad(std::string& bytes) {
  bytes.resize((bytes.size() + 7) / 8 * 8, '\0');
}

struct Architecture {
  uint32_t number = 0;
  char feature = 0;  ///< 'a', 'f' or none
};

Architecture parse(const std::string& arch) {
  Architecture parsed;
  const size_t digits = arch.find('_') + 1;
  const char* end = arch.data() + arch.size();
  auto [after, error] = std::from_chars(arch.data() + digits, end, parsed.number);
  if (digits == 0 || error != std::errc{} || end - after > 1 ||
      (after != end && *after != 'a' && *after != 'f'))
    throw Error("'" + arch + "' is no GPU architecture; an example is sm_90");
  if (after != end) parsed.feature = *after;
  return parsed;
}

/// The numbers of ".version 9.0".
void ptx_version(std::string_view ptx, uint16_t& major, uint16_t& minor) {
  const size_t at = ptx.find(".version ");
  if (at == ptx.npos) return;
  const char* end = ptx.data() + ptx.size();
  auto [dot, error] = std::from_chars(ptx.data() + at + 9, end, major);
  if (error == std::errc{} && dot != end && *dot == '.') std::from_chars(dot + 1, end, minor);
}

std::string entry_of(const FatbinEntry& entry) {
  const Architecture arch = parse(entry.arch);
  const bool cubin = is_cubin(entry.bytes);
  uint16_t major = 1, minor = 0;
  uint64_t flags = k_flags_64_bit;
  if (arch.feature == 'a') flags |= k_flag_a;
  if (arch.feature == 'f') flags |= k_flag_f;
  std::string record;
  if (cubin) {
    minor = static_cast<unsigned char>(entry.bytes[8]);
    if (arch.number >= 100) record = cubin_section(entry.bytes, ".nv.compat");
    if (!record.empty()) flags |= k_flag_compat;
  } else {
    ptx_version(entry.bytes, major, minor);
  }
  std::string extension;
  if (!cubin || !record.empty()) {
    put<uint32_t>(extension, 72);
    put<uint32_t>(extension, record.size());
    extension += '\0';
    extension += record;
    pad(extension);
  }
  std::string payload = entry.bytes;
  if (!cubin && !payload.ends_with('\0')) payload += '\0';
  pad(payload);

  std::string bytes;
  put<uint16_t>(bytes, cubin ? 2 : 1);
  put<uint16_t>(bytes, 0x0101);
  put<uint32_t>(bytes, 64 + extension.size());
  put<uint64_t>(bytes, payload.size());
  put<uint32_t>(bytes, 0);
  put<uint32_t>(bytes, extension.empty() ? 0 : 64);
  put<uint16_t>(bytes, minor);
  put<uint16_t>(bytes, major);
  put<uint32_t>(bytes, arch.number);
  put<uint64_t>(bytes, 0);
  put<uint64_t>(bytes, flags);
  put<uint64_t>(bytes, 0);
  put<uint64_t>(bytes, 0);
  return bytes + extension + payload;
}

}  // namespace

std::string make_fatbin(std::span<const FatbinEntry> entries) {
  std::string body;
  for (const FatbinEntry& entry : entries) body += entry_of(entry);
  std::string fatbin;
  put<uint32_t>(fatbin, 0xBA55ED50);
  put<uint16_t>(fatbin, 1);
  put<uint16_t>(fatbin, 16);
  put<uint64_t>(fatbin, body.size());
  return fatbin + body;
}

}  // namespace tarsia::jit
