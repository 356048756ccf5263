// Writes, verifies and takes in packs.
#include "cache/pack.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/little_endian.h"
#include "base/log.h"
#include "cache/entry.h"
#include "cache/inventory.h"
#include "cache/manifest.h"
#include "cache/mark.h"

namespace tarsia::cache {
namespace {

constexpr std::string_view k_pack_magic = "TarsiaPk";
constexpr std::size_t k_signature_size = sizeof(KeyId) + sizeof(Signature);

std::string_view as_text(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

[[noreturn]] void refuse(const std::string& why) {
  throw LoadError("it is no whole pack of Tarsia's: " + why);
}

/// What a signer signs.
std::string signed_text(const KeyId& signer, std::string_view before) {
  std::string text("tarsia pack 1");
  text += '\0';
  LittleWriter(text).raw(signer).raw(hash_bytes(before));
  return text;
}

/// Who signed what stands before, or claims to have. Throws if the keys do not allow the pack.
std::optional<PackSigner> verify(std::string_view signature, std::string_view before, const PackKeys& keys) {
  constexpr const char* k_remedy =
      ": have it signed by one that is trusted (TARSIA_SIGN_KEY where it is made), or allow any by "
      "TARSIA_TRUST=unsafe-unsigned";
  if (signature.empty()) {
    if (keys.must_be_signed)
      throw UntrustedPack(
          std::string("it is not signed, and TARSIA_TRUST or TARSIA_SIGN_KEY says whose packs "
                      "are taken") +
          k_remedy);
    return std::nullopt;
  }
  LittleReader in(signature);
  PackSigner signer{.id = in.raw<sizeof(KeyId)>()};
  const auto bytes = in.raw<sizeof(Signature)>();
  PublicKey key;
  switch (keys.trust.find(signer.id, key)) {
    case Signer::trusted:
      if (!is_signed_by(key, bytes, signed_text(signer.id, before)))
        throw UntrustedPack("its signature does not hold: it was changed after " + digits_of(signer.id) +
                            " signed it");
      signer.is_trusted = true;
      break;
    case Signer::revoked:
      throw UntrustedPack("its signer's key " + digits_of(signer.id) + " is revoked: make it again");
    case Signer::unknown:
      if (keys.must_be_signed)
        throw UntrustedPack("it is signed by " + digits_of(signer.id) + ", which TARSIA_TRUST does not name" +
                            k_remedy);
  }
  return signer;
}

std::string name_of(const std::optional<PackSigner>& signer) {
  return signer && signer->is_trusted ? digits_of(signer->id) : "";
}

bool is_manifest(Kind kind) {
  return kind == Kind::manifest || kind == Kind::shared;
}

bool is_packed(Kind kind) {
  return kind == Kind::module || kind == Kind::inputs || is_manifest(kind);
}

/// Facts about the machine that a store is on stay at home; those of a pack are about its modules.
bool may_be_in_pack(Kind kind) {
  return is_packed(kind) || kind == Kind::fact;
}

/// The entry that these bytes are; its footer is made again, and compared.
PackEntry parse_entry(std::string_view bytes) {
  if (bytes.size() < k_footer_size) refuse("an entry is too short");
  const std::string_view footer = bytes.substr(bytes.size() - k_footer_size);
  LittleReader in(footer.substr(8));
  PackEntry entry;
  in.number<std::uint32_t>();
  entry.kind = static_cast<Kind>(in.number<std::uint32_t>());
  const auto payload = in.number<std::uint64_t>(), meta = in.number<std::uint64_t>();
  entry.key = in.raw<sizeof(Key)>();
  const std::uint64_t content = bytes.size() - k_footer_size;
  if (payload > content || meta != content - payload) refuse("an entry's sizes make no sense");
  entry.payload = bytes.substr(0, payload);
  entry.meta = bytes.substr(payload, meta);
  if (make_footer(entry.kind, entry.key, entry.payload, entry.meta) != footer)
    refuse("the entry " + hex(entry.key).substr(0, 12) + " is damaged");
  if (!may_be_in_pack(entry.kind)) refuse("it has an entry of a kind that packs do not have");
  return entry;
}

/// A manifest for other machines: the sets whose modules are packed, without stamps. Empty if none is.
std::string portable(const Manifest& manifest, const std::set<Key>& modules) {
  Manifest kept;
  for (auto set = manifest.sets().rbegin(); set != manifest.sets().rend(); ++set) {
    if (!modules.contains(set->module_key)) continue;
    DependencySet copy = *set;
    for (Dependency& dependency : copy.dependencies) dependency.stamp = {};
    kept.add(std::move(copy));
  }
  return kept.sets().empty() ? std::string() : kept.serialise();
}

/// Adds a pack's sets to those that the store has. The store's own go in front: their stamps vouch.
bool import_manifest(DiskStore& store, const OpenPack::RequestManifest& packed) {
  Manifest merged = packed.manifest;
  Hit hit;
  if (store.peek(packed.kind, packed.request_key, true, hit) == Lookup::hit)
    if (const auto own = Manifest::parse(hit.entry.payload))
      for (auto set = own->sets().rbegin(); set != own->sets().rend(); ++set) merged.add(*set);
  return store.keep(packed.kind, packed.request_key, merged.serialise(), {});
}

[[noreturn]] void refuse_size(const std::string& path) {
  throw Error("the pack " + path + " would be larger than 2 GiB: make the cache smaller first " +
              "(tarsia cache prune --max-size 2G), or make several packs");
}

}  // namespace

std::string write_pack(const std::vector<PackEntry>& entries, const SigningKey* signer) {
  std::string bytes(k_pack_magic);
  LittleWriter out(bytes);
  out.number(k_pack_version).number(static_cast<std::uint32_t>(entries.size()));
  for (const PackEntry& entry : entries) {
    out.number(std::uint64_t{entry.payload.size() + entry.meta.size() + k_footer_size});
    bytes.append(entry.payload).append(entry.meta);
    bytes += make_footer(entry.kind, entry.key, entry.payload, entry.meta);
  }
  if (signer) {
    const KeyId id = id_of(signer->public_key());
    const Signature signature = signer->sign(signed_text(id, bytes));
    out.raw(id).raw(signature);
  }
  out.number(static_cast<std::uint32_t>(signer ? k_signature_size : 0));
  bytes += as_text(hash_bytes(bytes));
  return bytes;
}

std::vector<PackEntry> read_pack(std::string_view bytes, const PackKeys& keys,
                                 std::optional<PackSigner>* signer) {
  constexpr std::size_t k_head = 16, k_tail = 4 + sizeof(Digest);
  if (!bytes.starts_with(k_pack_magic)) refuse("it does not begin as one");
  if (bytes.size() < k_head + k_tail) refuse("it ends too early");
  LittleReader head(bytes.substr(k_pack_magic.size(), 8));
  if (const auto version = head.number<std::uint32_t>(); version != k_pack_version)
    refuse("its version is " + std::to_string(version) + ", and this Tarsia reads " +
           std::to_string(k_pack_version));
  const auto count = head.number<std::uint32_t>();
  const std::string_view body = bytes.substr(0, bytes.size() - sizeof(Digest));
  if (as_text(hash_bytes(body)) != bytes.substr(body.size())) refuse("it is damaged or incomplete");
  const auto signature_size = LittleReader(body.substr(body.size() - 4)).number<std::uint32_t>();
  if (signature_size != 0 &&
      (signature_size != k_signature_size || body.size() < k_head + 4 + signature_size))
    refuse("its signature is none that this Tarsia reads");
  const std::string_view records = body.substr(0, body.size() - 4 - signature_size);
  const auto found = verify(body.substr(records.size(), signature_size), records, keys);
  if (signer) *signer = found;
  std::string_view rest = records.substr(k_head);
  std::vector<PackEntry> entries;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (rest.size() < 8) refuse("an entry is missing");
    const auto size = LittleReader(rest.substr(0, 8)).number<std::uint64_t>();
    rest.remove_prefix(8);
    if (size > rest.size()) refuse("an entry is cut off");
    entries.push_back(parse_entry(rest.substr(0, size)));
    rest.remove_prefix(size);
  }
  if (!rest.empty()) refuse("something follows its entries");
  return entries;
}

Packed export_pack(DiskStore& store, const std::string& path, const PackKeys& keys) {
  std::vector<Key> requests;
  std::set<Key> modules;
  std::vector<Hit> kept;  // the bytes of the entries
  std::vector<std::pair<Kind, Key>> names;
  std::uint64_t bytes = 0;
  const auto take = [&](Kind kind, const Key& key, Hit hit) {
    bytes += hit.entry.payload.size() + hit.entry.meta.size() + k_footer_size + 8;
    if (bytes > k_max_pack - 4096) refuse_size(path);
    kept.push_back(std::move(hit));
    names.emplace_back(kind, key);
  };
  std::vector<EntryName> found;
  for_each_file(store.root(), [&](const StoreFile& file) {
    if (const auto name = file.is_file() ? entry_name(file) : std::nullopt; name && is_packed(name->kind))
      found.push_back(*name);
  });
  // The same store gives the same pack.
  std::ranges::sort(found, {}, [](const EntryName& name) { return std::pair(name.kind, name.key); });
  Packed packed;
  for (const EntryName& name : found) {
    Hit hit;
    if (store.peek(name.kind, name.key, true, hit) != Lookup::hit) continue;
    hit.fd.reset();
    if (name.kind == Kind::module) {
      if (is_signed_by_any(hit.entry.meta, keys.trust.revoked())) {
        ++packed.revoked;
        continue;
      }
      modules.insert(name.key);
      ++packed.modules;
    } else if (is_manifest(name.kind)) {
      const auto manifest = Manifest::parse(hit.entry.payload);
      if (!manifest) continue;
      hit.entry.payload = portable(*manifest, modules);
      if (hit.entry.payload.empty()) continue;
      requests.push_back(name.key);
    } else if (!modules.contains(name.key) && std::ranges::find(requests, name.key) == requests.end()) {
      continue;  // the inputs of a module that is not kept any more
    }
    take(name.kind, name.key, std::move(hit));
  }
  std::vector<PackEntry> entries;
  for (std::size_t i = 0; i < kept.size(); ++i)
    entries.push_back({names[i].first, names[i].second, kept[i].entry.payload, kept[i].entry.meta});
  packed.bytes = write_pack_file(entries, path, keys.signer ? &*keys.signer : nullptr);
  if (keys.signer) packed.signer = digits_of(id_of(keys.signer->public_key()));
  return packed;
}

std::uint64_t write_pack_file(const std::vector<PackEntry>& entries, const std::string& path,
                              const SigningKey* signer) {
  std::uint64_t bytes = 4096;
  for (const PackEntry& entry : entries)
    bytes += entry.payload.size() + entry.meta.size() + k_footer_size + 8;
  if (bytes > k_max_pack) refuse_size(path);
  const std::string pack = write_pack(entries, signer);
  write_file(path, pack);
  return pack.size();
}

OpenPack open_pack(const std::string& path, const PackKeys& keys) {
  std::string bytes;
  UniqueFd fd;
  struct stat status;
  int error = open_regular(path, fd, status, Links::follow);
  if (error == 0) error = read_all(fd.get(), bytes, k_max_pack);
  if (error == EFBIG)
    throw LoadError("the pack " + path + " is larger than 2 GiB, which is the most that one has: it is " +
                    "none of Tarsia's");
  if (error != 0) throw Error(errno_message("cannot read the pack " + path, error));
  OpenPack pack{.bytes = std::make_shared<const std::string>(std::move(bytes))};
  pack.entries = read_pack(*pack.bytes, keys, &pack.signer);
  pack.revoked = std::erase_if(pack.entries, [&](const PackEntry& entry) {
    return entry.kind == Kind::module && is_signed_by_any(entry.meta, keys.trust.revoked());
  });
  if (pack.revoked)
    log().warn("{}: {} modules are left out, since the key of one who signed them is revoked", path,
               pack.revoked);
  std::ranges::stable_sort(pack.entries, {}, &PackEntry::kind);
  for (const PackEntry& entry : pack.entries) {
    if (!is_manifest(entry.kind)) continue;
    std::optional<Manifest> manifest = Manifest::parse(entry.payload);
    if (!manifest) refuse("an entry is no list of files");
    pack.manifests.push_back({entry.kind, entry.key, std::move(*manifest)});
  }
  return pack;
}

Packed import_pack(DiskStore& store, const std::string& path, const PackKeys& keys) {
  OpenPack pack;
  try {
    pack = open_pack(path, keys);
  } catch (const LoadError& wrong) {
    throw LoadError(path + " is not taken in: " + wrong.what());
  }
  Packed packed{.bytes = pack.bytes->size(), .revoked = pack.revoked, .signer = name_of(pack.signer)};
  bool all = true;
  auto manifest = pack.manifests.begin();
  for (const PackEntry& entry : pack.entries) {
    if (entry.kind == Kind::fact) continue;
    Hit hit;
    if (is_manifest(entry.kind)) {
      all &= import_manifest(store, *manifest++);
      continue;
    }
    const bool is_module = entry.kind == Kind::module;
    packed.modules += is_module;
    if (store.peek(entry.kind, entry.key, false, hit) == Lookup::hit) {
      packed.known += is_module;
      continue;
    }
    std::string meta(entry.meta);
    if (is_module) {
      // What a pack says of signers before its own is worth as much as its own.
      if (!pack.signer || !pack.signer->is_trusted) meta = without_marks(meta);
      if (pack.signer) add_mark(meta, pack.signer->id);
    }
    all &= store.keep(entry.kind, entry.key, entry.payload, meta);
  }
  if (!all)
    throw Error("the cache at " + store.folder() + " did not keep all of " + path +
                ": its disk is full, or it cannot be written to");
  return packed;
}

}  // namespace tarsia::cache
