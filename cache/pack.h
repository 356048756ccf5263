// Packs: entries of a store in one file, for another store.
//
//   pack      := magic version count record* signature signature_size checksum
//   magic     := "TarsiaPk"
//   version, count, signature_size := u32; signature_size is 0 or 72
//   record    := size:u64 entry         an entry as cache/entry.h has it, with its own key and checksum
//   signature := signer:8 bytes, a KeyId; 64 bytes, Ed25519 over "tarsia pack 1", a zero, the signer and the
//                BLAKE2b-256 of all before the signature
//   checksum  := 32 bytes, BLAKE2b-256 of all before it
//
// Numbers are little-endian. Entries are looked at once checksum and signature hold. The kinds are module,
// manifest, shared, inputs, and fact: what the modules were made with (pipeline/packs/made_with.h), for
// replays alone. Manifests are without stamps: those vouch for files of the machine that wrote them.
//
// A pack is code. Its checksum finds damage; its signature tells who wrote it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cache/disk_store.h"
#include "cache/keys.h"
#include "cache/manifest.h"

namespace tarsia::cache {

inline constexpr std::uint32_t k_pack_version = 1;
inline constexpr std::uint64_t k_max_pack = std::uint64_t{2} << 30;

/// The bytes are those of a pack that outlives this.
struct PackEntry {
  Kind kind;
  Key key;
  std::string_view payload;
  std::string_view meta;
};

/// Who signs the packs that are written, and whose are taken.
struct PackKeys {
  std::optional<SigningKey> signer;  ///< none: they are not signed
  Trust trust;
  bool must_be_signed = false;  ///< by a key that is trusted
};

/// Who signed a pack, or claims to have.
struct PackSigner {
  KeyId id{};
  bool is_trusted = false;  ///< its signature holds
};

/// Nobody who is trusted signed the pack. The text names the remedy.
class UntrustedPack : public LoadError {
  using LoadError::LoadError;
};

/// Without a signer it is not signed.
std::string write_pack(const std::vector<PackEntry>& entries, const SigningKey* signer = nullptr);

/// Verifies a pack whole: its checksum, its signature, and every entry. Tells who signed it. Throws LoadError
/// that says what is wrong with it, and UntrustedPack.
std::vector<PackEntry> read_pack(std::string_view bytes, const PackKeys& keys = {},
                                 std::optional<PackSigner>* signer = nullptr);

/// A file that was verified whole.
struct OpenPack {
  struct RequestManifest {
    Kind kind;  ///< manifest or shared
    Key request_key;
    Manifest manifest;
  };
  std::shared_ptr<const std::string> bytes;
  std::optional<PackSigner> signer;
  std::vector<PackEntry> entries;  ///< of the bytes: modules come before what leads to them
  std::uint64_t revoked = 0;       ///< modules that are not among them: the key of one who signed is revoked
  std::vector<RequestManifest> manifests;
};

/// Reads and verifies a pack. Throws Error that names the file if it cannot be read, LoadError if it is no
/// whole pack, UntrustedPack.
OpenPack open_pack(const std::string& path, const PackKeys& keys = {});

struct Packed {
  std::uint64_t modules = 0;  ///< in the pack
  std::uint64_t known = 0;    ///< of these, how many an import found in the store
  std::uint64_t bytes = 0;    ///< of the pack
  std::uint64_t revoked = 0;  ///< modules that were left out, since the key of one who signed them is revoked
  std::string signer;         ///< the digits of the KeyId that signed it, and is trusted; "": none
};

/// Writes all whole modules of a store but those of revoked keys, and what leads to them, to a file that is
/// there whole or not at all. Throws Error if it cannot be written, or would be larger than k_max_pack.
Packed export_pack(DiskStore& store, const std::string& path, const PackKeys& keys = {});

/// Writes a pack to a file that is there whole or not at all; returns its size. Throws Error if it cannot be
/// written, or would be larger than k_max_pack.
std::uint64_t write_pack_file(const std::vector<PackEntry>& entries, const std::string& path,
                              const SigningKey* signer = nullptr);

/// Keeps what a pack has in a store. Manifests that are there gain its sets of files. Modules tell who signed
/// them (mark.h). Throws Error if the file cannot be read or the store keeps nothing, LoadError for a file
/// that is no whole pack, or that nobody who is trusted signed; then the store is as it was.
Packed import_pack(DiskStore& store, const std::string& path, const PackKeys& keys = {});

}  // namespace tarsia::cache
