// Writes footers and verifies entries.
#include "cache/entry.h"

#include <sodium.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/file.h"
#include "base/little_endian.h"

namespace tarsia::cache {
namespace {

constexpr char k_entry_magic[] = "TarsiaEn";
constexpr std::size_t k_checksum_size = 16;
constexpr std::size_t k_chunk = std::size_t{256} << 10;

class Checksum {
 public:
  Checksum() {
    // The algorithm clamps r. Any fixed value that is not zero will do.
    static constexpr unsigned char k_key[32] = {0x74, 0x61, 0x72, 0x73, 0x69, 0x61, 0x20,
                                                0x65, 0x6e, 0x74, 0x72, 0x79, 0x20, 0x63,
                                                0x68, 0x65, 0x63, 0x6b, 0x73, 0x75, 0x6d};
    static_cast<void>(hash_bytes({}));  // has libsodium choose its fast code
    crypto_onetimeauth_init(&m_state, k_key);
  }
  void add(std::string_view bytes) {
    crypto_onetimeauth_update(&m_state, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  }
  std::array<char, k_checksum_size> finish() {
    std::array<unsigned char, k_checksum_size> sum;
    crypto_onetimeauth_final(&m_state, sum.data());
    std::array<char, k_checksum_size> out;
    std::memcpy(out.data(), sum.data(), out.size());
    return out;
  }

 private:
  crypto_onetimeauth_state m_state;
};

ReadStatus status_of(int error) {
  errno = error;
  return error == ENODATA ? ReadStatus::corrupt : ReadStatus::failed;
}

std::string footer_head(Kind kind, const Key& key, std::uint64_t payload_size, std::uint64_t meta_size) {
  std::string footer(k_entry_magic, 8);
  footer.reserve(k_footer_size);
  LittleWriter(footer)
      .number(k_entry_version)
      .number(static_cast<std::uint32_t>(kind))
      .number(payload_size)
      .number(meta_size)
      .raw(key);
  return footer;
}

}  // namespace

std::string_view kind_name(Kind kind) {
  switch (kind) {
    case Kind::module:
      return "module";
    case Kind::manifest:
      return "manifest";
    case Kind::prelude:
      return "prelude";
    case Kind::device:
      return "device";
    case Kind::host:
      return "host";
    case Kind::fact:
      return "fact";
    case Kind::shared:
      return "shared";
    case Kind::inputs:
      return "inputs";
  }
  return "other";
}

std::string make_footer(Kind kind, const Key& key, std::string_view payload, std::string_view meta) {
  std::string footer = footer_head(kind, key, payload.size(), meta.size());
  Checksum checksum;
  checksum.add(payload);
  checksum.add(meta);
  checksum.add(footer);
  const auto sum = checksum.finish();
  footer.append(sum.data(), sum.size());
  return footer;
}

ReadStatus read_entry(int fd, std::uint64_t file_size, Kind kind, const Key& key, bool keep_payload,
                      Entry& entry) {
  if (file_size < k_footer_size || file_size > k_max_entry) return ReadStatus::corrupt;
  const std::uint64_t body = file_size - k_footer_size;
  char footer[k_footer_size];
  if (const int error = read_at(fd, footer, sizeof footer, body)) return status_of(error);
  LittleReader sizes({footer + 16, 16});
  const auto payload_size = sizes.number<std::uint64_t>();
  const auto meta_size = sizes.number<std::uint64_t>();
  if (payload_size > body || meta_size != body - payload_size) return ReadStatus::corrupt;
  const std::string_view head(footer, k_footer_size - k_checksum_size);
  if (head != footer_head(kind, key, payload_size, meta_size)) return ReadStatus::corrupt;

  Checksum checksum;
  entry.payload_size = payload_size;
  entry.payload.clear();
  if (keep_payload) {
    entry.payload.resize(payload_size);
    if (const int error = read_at(fd, entry.payload.data(), payload_size, 0)) return status_of(error);
    checksum.add(entry.payload);
  } else {
    const std::size_t room = std::min<std::uint64_t>(k_chunk, payload_size);
    const std::unique_ptr<char[]> chunk(new char[room]);
    for (std::uint64_t offset = 0; offset < payload_size;) {
      const std::size_t n = std::min<std::uint64_t>(room, payload_size - offset);
      if (const int error = read_at(fd, chunk.get(), n, offset)) return status_of(error);
      checksum.add({chunk.get(), n});
      offset += n;
    }
  }
  entry.meta.resize(meta_size);
  if (const int error = read_at(fd, entry.meta.data(), meta_size, payload_size)) return status_of(error);
  checksum.add(entry.meta);
  checksum.add(head);
  const auto sum = checksum.finish();
  const bool whole = std::memcmp(sum.data(), footer + head.size(), sum.size()) == 0;
  return whole ? ReadStatus::ok : ReadStatus::corrupt;
}

}  // namespace tarsia::cache
