// Ed25519 keys: who may put code into a shared store, and whom this process believes.
//
//   signing key file := "tarsia signing key 1: " 64 digits, the seed          mode 0600
//   public key file  := line*
//   line             := "tarsia public key 1: " 64 digits                     this signer is trusted
//                     | "revoked: " 64 digits                                 … and this one no more
//                     | "#" anything | ""
//
// A revocation counts wherever it stands. So a list of revoked keys can be a file of its own.
#pragma once

#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"

namespace tarsia::cache {

using PublicKey = std::array<unsigned char, 32>;
using Signature = std::array<unsigned char, 64>;
/// The first bytes of the hash of a public key.
using KeyId = std::array<unsigned char, 8>;
KeyId id_of(const PublicKey& key);
/// For people.
std::string digits_of(const KeyId& id);

/// Signs. The secret is wiped when this goes.
class SigningKey {
 public:
  /// Throws ArgumentError if the file is no key or if others than its owner may read or write it.
  static SigningKey read(const std::string& path);
  SigningKey(SigningKey&& other) noexcept;
  SigningKey& operator=(SigningKey&&) = delete;
  ~SigningKey();

  const PublicKey& public_key() const { return m_public; }
  Signature sign(std::string_view bytes) const;

 private:
  explicit SigningKey(const std::array<unsigned char, 32>& seed);
  std::array<unsigned char, 64> m_secret;
  PublicKey m_public;
};

enum class Signer { trusted, unknown, revoked };

/// The keys that are believed. Immutable once it is read.
class Trust {
 public:
  /// Reads files of public keys. Throws ArgumentError if one is missing, is none, or is open to others.
  static Trust read(const std::vector<std::string>& paths);
  void add(const PublicKey& key);
  void revoke(const PublicKey& key);

  bool empty() const { return m_keys.empty(); }
  const std::set<KeyId>& revoked() const { return m_revoked; }
  /// `key` is set if the signer is trusted.
  Signer find(const KeyId& id, PublicKey& key) const;

 private:
  std::map<KeyId, PublicKey> m_keys;
  std::set<KeyId> m_revoked;
};

bool is_signed_by(const PublicKey& key, const Signature& signature, std::string_view bytes);

/// Makes a new pair: PATH with mode 0600, and PATH.pub. Throws Error, also if one of them exists.
void make_key_files(const std::string& path);

}  // namespace tarsia::cache
