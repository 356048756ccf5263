// BLAKE2b-256: names of contents. And bytes as text.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tarsia {

using Digest = std::array<unsigned char, 32>;

/// Hashes a sequence of fields. Every field goes in with its length before it, so that two different
/// sequences never feed the same bytes ("ab","c" and "a","bc" differ).
class Hasher {
 public:
  /// `domain` keeps hashes of different purposes apart.
  explicit Hasher(std::string_view domain);

  Hasher& field(std::string_view bytes);
  Hasher& field(const Digest& digest);
  Hasher& field(std::uint64_t number);
  /// The hash of all fields. The hasher is spent afterwards.
  Digest finish();

 private:
  alignas(64) std::array<unsigned char, 384> m_state;
};

/// Plain BLAKE2b-256 of the bytes, as `b2sum -l 256` prints it.
Digest hash_bytes(std::string_view bytes);

/// Two lower-case digits for each byte.
std::string hex(std::string_view bytes);
/// 64 of them.
std::string hex(const Digest& digest);
/// The bytes in base64, padded.
std::string base64(std::string_view bytes);

}  // namespace tarsia
