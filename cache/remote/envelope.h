// An entry on its way to another machine: compressed and signed.
//
//   envelope   := magic version kind key signer meta_size payload_size compressed_size meta compressed
//   signature magic      := "TarsiaSe" version    := u32, k_envelope_version kind       := u32, cache::Kind
//   key        := 32 bytes, the whole key that it is kept under
//   signer     := 8 bytes, the KeyId; zeros: not signed
//   meta_size  := u32; payload_size, compressed_size := u64
//   compressed := one zstd frame of payload_size bytes
//   signature  := 64 bytes, Ed25519 over k_domain and all bytes before it; zeros: not signed
//
// Numbers are little-endian. The sizes add up to the envelope's. Nothing but the head's plain numbers is
// looked at before the signature holds, and no room is made before that either. What is signed includes the
// key: an envelope that is found under another key is refused.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cache/entry.h"
#include "cache/keys.h"

namespace tarsia::cache {

inline constexpr std::uint32_t k_envelope_version = 1;
inline constexpr std::uint64_t k_max_payload = std::uint64_t{512} << 20;
inline constexpr std::uint64_t k_max_envelope = std::uint64_t{256} << 20;
inline constexpr std::uint32_t k_max_meta = std::uint32_t{1} << 20;

/// Empty if the entry is too large to be sent. Without a signer the envelope is unsigned.
std::string seal(Kind kind, const Key& key, std::string_view payload, std::string_view meta,
                 const SigningKey* signer);

enum class Sealed {
  good,
  malformed,  ///< no envelope, of another version, cut off, or its sizes are out of bounds
  other,      ///< of another kind or key
  unsigned_,  ///< and unsigned ones are not allowed
  unknown,    ///< signed by a key that nobody here trusts
  revoked,
  forged,  ///< the signature does not hold
};
/// For people: "its signature does not hold".
const char* text_of(Sealed state);

/// Verifies an envelope and, if it is good, unpacks it. `signer` is then its key; zeros without one.
Sealed unseal(std::string_view envelope, Kind kind, const Key& key, const Trust& trust, bool allow_unsigned,
              Entry& entry, KeyId& signer);

}  // namespace tarsia::cache
