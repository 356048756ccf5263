// Packs, signs, verifies and unpacks.
#include "cache/remote/envelope.h"

#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "base/little_endian.h"

namespace tarsia::cache {
namespace {

constexpr std::string_view k_envelope_magic = "TarsiaSe";
constexpr std::string_view k_domain("tarsia envelope 1\0", 18);
constexpr std::size_t k_head = 8 + 4 + 4 + 32 + 8 + 4 + 8 + 8;
// Modules are compressed behind the caller's back, and once; they are unpacked by everybody.
constexpr int k_level = 6;

}  // namespace

std::string seal(Kind kind, const Key& key, std::string_view payload, std::string_view meta,
                 const SigningKey* signer) {
  if (payload.size() > k_max_payload || meta.size() > k_max_meta) return {};
  std::string compressed(ZSTD_compressBound(payload.size()), '\0');
  const std::size_t n =
      ZSTD_compress(compressed.data(), compressed.size(), payload.data(), payload.size(), k_level);
  if (ZSTD_isError(n) || k_head + meta.size() + n + sizeof(Signature) > k_max_envelope) return {};
  compressed.resize(n);
  std::string bytes(k_domain);
  bytes.reserve(bytes.size() + k_head + meta.size() + n + sizeof(Signature));
  bytes += k_envelope_magic;
  LittleWriter(bytes)
      .number(k_envelope_version)
      .number(static_cast<std::uint32_t>(kind))
      .raw(key)
      .raw(signer ? id_of(signer->public_key()) : KeyId{})
      .number(static_cast<std::uint32_t>(meta.size()))
      .number(std::uint64_t{payload.size()})
      .number(std::uint64_t{n});
  bytes += meta;
  bytes += compressed;
  LittleWriter(bytes).raw(signer ? signer->sign(bytes) : Signature{});
  return bytes.substr(k_domain.size());
}

const char* text_of(Sealed state) {
  switch (state) {
    case Sealed::good:
      return "it is good";
    case Sealed::malformed:
      return "it is no whole envelope of this version";
    case Sealed::other:
      return "it is the entry of another key";
    case Sealed::unsigned_:
      return "it is not signed";
    case Sealed::unknown:
      return "TARSIA_TRUST does not name its signer";
    case Sealed::revoked:
      return "its signer's key is revoked";
    case Sealed::forged:
      return "its signature does not hold";
  }
  return "";
}

Sealed unseal(std::string_view envelope, Kind kind, const Key& key, const Trust& trust, bool allow_unsigned,
              Entry& entry, KeyId& signer) {
  if (envelope.size() < k_head + sizeof(Signature) || envelope.size() > k_max_envelope ||
      !envelope.starts_with(k_envelope_magic))
    return Sealed::malformed;
  LittleReader in(envelope.substr(k_envelope_magic.size(), k_head - k_envelope_magic.size()));
  const auto version = in.number<std::uint32_t>();
  const auto its_kind = in.number<std::uint32_t>();
  const Key its_key = in.raw<sizeof(Key)>();
  signer = in.raw<sizeof(KeyId)>();
  const auto meta_size = in.number<std::uint32_t>();
  const auto payload_size = in.number<std::uint64_t>();
  const auto compressed_size = in.number<std::uint64_t>();
  const std::uint64_t rest = envelope.size() - k_head - sizeof(Signature);
  if (version != k_envelope_version || meta_size > k_max_meta || meta_size > rest ||
      compressed_size != rest - meta_size || payload_size > k_max_payload)
    return Sealed::malformed;
  if (its_kind != static_cast<std::uint32_t>(kind) || its_key != key) return Sealed::other;
  if (signer == KeyId{}) {
    if (!allow_unsigned) return Sealed::unsigned_;
  } else {
    PublicKey public_key;
    const Signer known = trust.find(signer, public_key);
    if (known == Signer::revoked) return Sealed::revoked;
    if (known == Signer::unknown) return Sealed::unknown;
    Signature signature;
    std::memcpy(signature.data(), envelope.data() + envelope.size() - signature.size(), signature.size());
    std::string signed_bytes(k_domain);
    signed_bytes += envelope.substr(0, envelope.size() - signature.size());
    if (!is_signed_by(public_key, signature, signed_bytes)) return Sealed::forged;
  }
  const std::string_view compressed = envelope.substr(k_head + meta_size, compressed_size);
  // A frame that does not say its size, or another one, is none of seal()'s.
  if (ZSTD_getFrameContentSize(compressed.data(), compressed.size()) != payload_size ||
      ZSTD_findFrameCompressedSize(compressed.data(), compressed.size()) != compressed.size())
    return Sealed::malformed;
  entry.payload.resize(payload_size);
  // To make one takes longer than to unpack a small module.
  thread_local const std::unique_ptr<ZSTD_DCtx, std::size_t (*)(ZSTD_DCtx*)> t_context(ZSTD_createDCtx(),
                                                                                       &ZSTD_freeDCtx);
  if (!t_context) throw std::bad_alloc();
  const std::size_t n = ZSTD_decompressDCtx(t_context.get(), entry.payload.data(), payload_size,
                                            compressed.data(), compressed.size());
  if (ZSTD_isError(n) || n != payload_size) {
    entry.payload.clear();
    return Sealed::malformed;
  }
  entry.payload_size = payload_size;
  entry.meta = envelope.substr(k_head, meta_size);
  return Sealed::good;
}

}  // namespace tarsia::cache
