// An entry's bytes.
//
//   entry    := payload meta footer
//   footer   := magic version kind payload_size meta_size key checksum     80 bytes
//   magic    := "TarsiaEn"
//   version  := u32, k_entry_version
//   kind     := u32, cache::Kind
//   payload_size, meta_size := u64; with the footer they add up to the size of the file
//   key      := 32 bytes, the whole key that the entry was kept under
//   checksum := 16 bytes, Poly1305 under a fixed key over all bytes before it
//
// Numbers are little-endian. The payload comes first, so the file of a module is itself a shared library. A
// hit is opened by dlopen in place, and the bytes behind the ELF image are ignored.
//
// The checksum finds damage by disks, file systems and half-done copies. It is no defence against somebody
// who can write to the folder: such folders are refused (base/paths.h). Measured over 64 KiB: BLAKE2b 68
// µs, Poly1305 15 µs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cache/key.h"

namespace tarsia::cache {

inline constexpr std::uint32_t k_entry_version = 1;
inline constexpr std::size_t k_footer_size = 80;
inline constexpr std::uint64_t k_max_entry = std::uint64_t{2} << 30;

struct Entry {
  std::uint64_t payload_size = 0;
  std::string payload;  ///< empty unless asked for
  std::string meta;
};

/// The footer of an entry.
std::string make_footer(Kind kind, const Key& key, std::string_view payload, std::string_view meta);

enum class ReadStatus { ok, corrupt, failed };

/// Reads and verifies an entry from a descriptor of `file_size` bytes. `corrupt`: it is not the entry of
/// this kind and key, or it is incomplete. `failed`: reading failed, which says nothing about the content;
/// errno says why. Every size is compared with the file's before it is used.
ReadStatus read_entry(int fd, std::uint64_t file_size, Kind kind, const Key& key, bool keep_payload,
                      Entry& entry);

}  // namespace tarsia::cache
