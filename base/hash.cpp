// BLAKE2b-256 and base64 by libsodium.
#include "base/hash.h"

#include <sodium.h>

#include "base/little_endian.h"

namespace tarsia {
namespace {

crypto_generichash_state* state_of(std::array<unsigned char, 384>& bytes) {
  static_assert(sizeof(crypto_generichash_state) <= 384 && alignof(crypto_generichash_state) <= 64);
  return reinterpret_cast<crypto_generichash_state*>(bytes.data());
}

// Without this call libsodium uses its portable code, at a third of the speed. It takes a lock of
// libsodium's, so it is made while the program starts: a child forked meanwhile would never get that lock.
[[maybe_unused]] const int g_initialised = sodium_init();

const unsigned char* data_of(std::string_view bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

}  // namespace

Hasher::Hasher(std::string_view domain) {
  crypto_generichash_init(state_of(m_state), nullptr, 0, sizeof(Digest));
  field(domain);
}

Hasher& Hasher::field(std::string_view bytes) {
  field(static_cast<std::uint64_t>(bytes.size()));
  crypto_generichash_update(state_of(m_state), data_of(bytes), bytes.size());
  return *this;
}

Hasher& Hasher::field(const Digest& digest) {
  return field(std::string_view(reinterpret_cast<const char*>(digest.data()), digest.size()));
}

Hasher& Hasher::field(std::uint64_t number) {
  const auto bytes = little_endian(number);
  crypto_generichash_update(state_of(m_state), data_of({bytes.data(), bytes.size()}), bytes.size());
  return *this;
}

Digest Hasher::finish() {
  Digest digest;
  crypto_generichash_final(state_of(m_state), digest.data(), digest.size());
  return digest;
}

Digest hash_bytes(std::string_view bytes) {
  Digest digest;
  crypto_generichash(digest.data(), digest.size(), data_of(bytes), bytes.size(), nullptr, 0);
  return digest;
}

std::string hex(std::string_view bytes) {
  static constexpr char k_digits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (unsigned char byte : bytes) {
    text += k_digits[byte >> 4];
    text += k_digits[byte & 15];
  }
  return text;
}

std::string hex(const Digest& digest) {
  return hex({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

std::string base64(std::string_view bytes) {
  constexpr int k_variant = sodium_base64_VARIANT_ORIGINAL;
  std::string text(sodium_base64_encoded_len(bytes.size(), k_variant), '\0');
  sodium_bin2base64(text.data(), text.size(), data_of(bytes), bytes.size(), k_variant);
  text.pop_back();  // the NUL that it writes
  return text;
}

}  // namespace tarsia
