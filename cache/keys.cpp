// Reads, makes and uses keys by libsodium.
#include "cache/keys.h"

#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "base/paths.h"

namespace tarsia::cache {
namespace {

constexpr std::string_view k_secret_head = "tarsia signing key 1: ";
constexpr std::string_view k_public_head = "tarsia public key 1: ";
constexpr std::string_view k_revoked_head = "revoked: ";
constexpr std::uint64_t k_largest_file = 1 << 20;

bool read_hex(std::string_view digits, std::array<unsigned char, 32>& bytes) {
  std::size_t n = 0;
  const char* end = nullptr;
  return digits.size() == 2 * bytes.size() &&
         sodium_hex2bin(bytes.data(), bytes.size(), digits.data(), digits.size(), nullptr, &n, &end) == 0 &&
         n == bytes.size() && end == digits.data() + digits.size();
}

/// Reads a file of keys that nobody else may have written.
std::string read_own(const std::string& path, const std::string& variable, bool secret) {
  const auto refuse = [&](const std::string& why) {
    return ArgumentError::value_error(variable + ": " + path + " is not used: " + why);
  };
  UniqueFd fd;
  struct stat status;
  std::string text;
  if (const int error = open_regular(path, fd, status, Links::follow))
    throw refuse(error == ENOENT   ? "there is no such file; tarsia cache keygen makes one"
                 : error == EINVAL ? "it is no regular file, but a folder or a device"
                                   : errno_message("it cannot be opened", error));
  if (const std::string why = distrust(path, status); !why.empty()) throw refuse(why);
  if (secret && (status.st_mode & 077) != 0)
    throw refuse("others may read it; chmod 600 it, and make a new key if they may have done so");
  if (const int error = read_all(fd.get(), text, k_largest_file))
    throw refuse(errno_message("it cannot be read", error));
  return text;
}

std::string_view without_end(std::string_view line) {
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ' || line.back() == '\t'))
    line.remove_suffix(1);
  return line;
}

}  // namespace

KeyId id_of(const PublicKey& key) {
  const Digest hash = hash_bytes({reinterpret_cast<const char*>(key.data()), key.size()});
  KeyId id;
  std::memcpy(id.data(), hash.data(), id.size());
  return id;
}

std::string digits_of(const KeyId& id) {
  return hex({reinterpret_cast<const char*>(id.data()), id.size()});
}

SigningKey::SigningKey(const std::array<unsigned char, 32>& seed) {
  crypto_sign_seed_keypair(m_public.data(), m_secret.data(), seed.data());
}

SigningKey::SigningKey(SigningKey&& other) noexcept : m_secret(other.m_secret), m_public(other.m_public) {
  sodium_memzero(other.m_secret.data(), other.m_secret.size());
}

SigningKey::~SigningKey() {
  sodium_memzero(m_secret.data(), m_secret.size());
}

SigningKey SigningKey::read(const std::string& path) {
  std::string text = read_own(path, "TARSIA_SIGN_KEY", true);
  std::string_view line = text;
  line = without_end(line.substr(0, line.find('\n')));
  std::array<unsigned char, 32> seed;
  const bool good = line.starts_with(k_secret_head) && read_hex(line.substr(k_secret_head.size()), seed);
  sodium_memzero(text.data(), text.size());
  if (!good)
    throw ArgumentError::value_error("TARSIA_SIGN_KEY: " + path +
                                     " is no signing key; tarsia cache keygen PATH makes one");
  SigningKey key(seed);
  sodium_memzero(seed.data(), seed.size());
  return key;
}

Signature SigningKey::sign(std::string_view bytes) const {
  Signature signature;
  crypto_sign_detached(signature.data(), nullptr, reinterpret_cast<const unsigned char*>(bytes.data()),
                       bytes.size(), m_secret.data());
  return signature;
}

Trust Trust::read(const std::vector<std::string>& paths) {
  Trust trust;
  for (const std::string& path : paths) {
    const std::string text = read_own(path, "TARSIA_TRUST", false);
    std::string_view rest = text;
    for (int number = 1; !rest.empty(); ++number) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      const std::string_view line = without_end(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (line.empty() || line.front() == '#') continue;
      PublicKey key;
      if (line.starts_with(k_public_head) && read_hex(line.substr(k_public_head.size()), key)) {
        trust.add(key);
      } else if (line.starts_with(k_revoked_head) && read_hex(line.substr(k_revoked_head.size()), key)) {
        trust.revoke(key);
      } else {
        throw ArgumentError::value_error(
            "TARSIA_TRUST: line " + std::to_string(number) + " of " + path +
            (line.starts_with(k_secret_head)
                 ? " is a signing key: name its .pub file, and let nobody have this one"
                 : " is no public key; tarsia cache keygen PATH makes PATH.pub"));
      }
    }
  }
  return trust;
}

void Trust::add(const PublicKey& key) {
  m_keys[id_of(key)] = key;
}

void Trust::revoke(const PublicKey& key) {
  m_revoked.insert(id_of(key));
}

Signer Trust::find(const KeyId& id, PublicKey& key) const {
  if (m_revoked.contains(id)) return Signer::revoked;
  const auto found = m_keys.find(id);
  if (found == m_keys.end()) return Signer::unknown;
  key = found->second;
  return Signer::trusted;
}

bool is_signed_by(const PublicKey& key, const Signature& signature, std::string_view bytes) {
  return crypto_sign_verify_detached(signature.data(), reinterpret_cast<const unsigned char*>(bytes.data()),
                                     bytes.size(), key.data()) == 0;
}

void make_key_files(const std::string& path) {
  std::array<unsigned char, 32> seed;
  PublicKey key;
  std::array<unsigned char, 64> secret;
  randombytes_buf(seed.data(), seed.size());
  crypto_sign_seed_keypair(key.data(), secret.data(), seed.data());
  const auto line = [](std::string_view head, const std::array<unsigned char, 32>& bytes) {
    return std::string(head) + hex({reinterpret_cast<const char*>(bytes.data()), bytes.size()}) + '\n';
  };
  std::string text = line(k_secret_head, seed);
  sodium_memzero(seed.data(), seed.size());
  sodium_memzero(secret.data(), secret.size());
  const std::string_view piece = text;
  const std::string open = line(k_public_head, key), open_path = path + ".pub";
  const std::string_view open_piece = open;
  const auto fail = [](const std::string& name, int error) {
    return Error(error == EEXIST ? name + " exists already; a key is never replaced: give another path"
                                 : errno_message("cannot write " + name, error));
  };
  struct stat there;
  if (::lstat(path.c_str(), &there) == 0) throw fail(path, EEXIST);
  int error = publish(open_path, {&open_piece, 1}, 0644, IfThere::keep);
  if (error != 0) throw fail(open_path, error);
  error = publish(path, {&piece, 1}, 0600, IfThere::keep);
  sodium_memzero(text.data(), text.size());
  if (error == 0) return;
  ::unlink(open_path.c_str());
  throw fail(path, error);
}

}  // namespace tarsia::cache
