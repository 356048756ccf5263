// Packs: what one store wrote, another takes in; damage of any byte is refused.
#include "cache/pack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <optional>

#include "base/dependency.h"
#include "base/error.h"
#include "base/file.h"
#include "cache/keys.h"
#include "cache/manifest.h"
#include "cache/mark.h"
#include "cache/module_cache.h"
#include "cache/pack_store.h"
#include "tests/unit/base/temporary_dir.h"
#include "tests/unit/cache/kept_module.h"
#include "tests/unit/cache/private_mounts.h"

namespace tarsia::cache {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

Key key_of(const std::string& name) {
  return hash_bytes(name);
}

/// Why a pack is refused; "" if it is not.
std::string refusal(std::string_view bytes) {
  try {
    read_pack(bytes);
    return {};
  } catch (const LoadError& error) {
    return error.what();
  }
}

std::string small_pack() {
  return write_pack({{Kind::module, key_of("a"), "payload", "meta"}, {Kind::inputs, key_of("b"), "", ""}});
}

struct Packs : ::testing::Test {
  TemporaryDir dir;
  DiskStore from{dir / "from", 0};
  DiskStore to{dir / "to", 0};
  const std::string pack = dir / "ops.pack";

  static std::string payload(DiskStore& store, Kind kind, const Key& key) {
    Hit hit;
    return store.peek(kind, key, true, hit) == Lookup::hit ? hit.entry.payload + '|' + hit.entry.meta : "";
  }
};

TEST_F(Packs, what_is_written_is_read) {
  const std::string bytes = small_pack();
  const std::vector<PackEntry> entries = read_pack(bytes);
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].kind, Kind::module);
  EXPECT_EQ(entries[0].key, key_of("a"));
  EXPECT_EQ(entries[0].payload, "payload");
  EXPECT_EQ(entries[0].meta, "meta");
  EXPECT_EQ(entries[1].payload, "");
  EXPECT_TRUE(read_pack(write_pack({})).empty());
}

TEST_F(Packs, every_damaged_byte_and_every_cut_is_refused) {
  const std::string bytes = small_pack();
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
      EXPECT_NE(refusal(damaged), "") << i;
    }
    EXPECT_NE(refusal(bytes.substr(0, i)), "") << i;
  }
  EXPECT_NE(refusal(bytes + "x"), "");
}

/// With the checksum made again, as somebody who means it would.
std::string resealed(std::string bytes) {
  bytes.resize(bytes.size() - sizeof(Digest));
  const Digest sum = hash_bytes(bytes);
  return bytes.append(reinterpret_cast<const char*>(sum.data()), sum.size());
}

TEST_F(Packs, false_numbers_under_a_right_checksum_are_refused) {
  const std::string bytes = small_pack();
  for (std::size_t i = 8; i < bytes.size() - sizeof(Digest); ++i) {
    std::string false_one = bytes;
    false_one[i] = static_cast<char>(false_one[i] ^ 0x81);
    EXPECT_NE(refusal(resealed(false_one)), "") << i;
  }
  std::string later = bytes;
  later[8] = 2;
  EXPECT_NE(refusal(resealed(later)).find("its version is 2, and this Tarsia reads 1"), std::string::npos);
  const std::string part = write_pack({{Kind::prelude, key_of("p"), "x", ""}});
  EXPECT_NE(refusal(part).find("of a kind that packs do not have"), std::string::npos);
  EXPECT_NE(refusal("\x7f"
                    "ELF, or any other file")
                .find("it does not begin as one"),
            std::string::npos);
}

/// Keys of two, of whom the first is trusted.
struct SignedPacks : Packs {
  SignedPacks() {
    make_key_files(dir / "own");
    make_key_files(dir / "stranger");
    keys.trust = Trust::read({dir / "own.pub"});
    keys.must_be_signed = true;
  }
  SigningKey key(const char* name) { return SigningKey::read(dir / name); }
  std::string pack_of(const char* name) {
    const SigningKey signer = key(name);
    return write_pack({{Kind::module, key_of("a"), "payload", "meta"}}, &signer);
  }
  std::string refusal_by(const PackKeys& keys, std::string_view bytes) {
    try {
      read_pack(bytes, keys);
      return {};
    } catch (const LoadError& error) {
      return error.what();
    }
  }
  PackKeys keys;
};

TEST_F(SignedPacks, a_pack_of_a_trusted_signer_is_taken_and_tells_who_it_is) {
  std::optional<PackSigner> signer;
  ASSERT_EQ(read_pack(pack_of("own"), keys, &signer).size(), 1u);
  ASSERT_TRUE(signer && signer->is_trusted);
  EXPECT_EQ(signer->id, id_of(key("own").public_key()));
  keys.must_be_signed = false;
  ASSERT_EQ(read_pack(pack_of("stranger"), keys, &signer).size(), 1u);
  ASSERT_TRUE(signer && !signer->is_trusted);
  EXPECT_EQ(signer->id, id_of(key("stranger").public_key()));
  keys.must_be_signed = false;
  EXPECT_EQ(read_pack(small_pack(), keys, &signer).size(), 2u);
  EXPECT_FALSE(signer);
}

TEST_F(SignedPacks, others_are_refused_where_packs_have_to_be_signed) {
  EXPECT_THAT(refusal_by(keys, small_pack()),
              HasSubstr("it is not signed, and TARSIA_TRUST or TARSIA_SIGN_KEY says whose"));
  EXPECT_THAT(refusal_by(keys, pack_of("stranger")), HasSubstr("which TARSIA_TRUST does not name"));
  keys.must_be_signed = false;
  EXPECT_EQ(refusal_by(keys, small_pack()), "");
  EXPECT_EQ(refusal_by(keys, pack_of("stranger")), "");
}

TEST_F(SignedPacks, a_pack_of_a_revoked_key_is_always_refused) {
  keys.trust.revoke(key("own").public_key());
  keys.must_be_signed = false;
  EXPECT_THAT(refusal_by(keys, pack_of("own")), HasSubstr("is revoked"));
}

TEST_F(SignedPacks, a_changed_byte_of_a_signed_pack_is_refused_whatever_its_checksum_says) {
  const std::string bytes = pack_of("own");
  for (std::size_t i = 0; i < bytes.size() - sizeof(Digest); ++i) {
    std::string changed = bytes;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_NE(refusal_by(keys, resealed(changed)), "") << i;
  }
  // The signature of another pack, and none.
  const std::string other = write_pack({{Kind::module, key_of("b"), "payload", "meta"}});
  const std::size_t tail = sizeof(Digest) + 4;
  std::string moved = other.substr(0, other.size() - tail) + bytes.substr(bytes.size() - tail - 72, 76) +
                      std::string(sizeof(Digest), ' ');
  EXPECT_THAT(refusal_by(keys, resealed(moved)), HasSubstr("its signature does not hold"));
}

TEST_F(SignedPacks, what_an_import_keeps_tells_all_signers_that_one_who_is_trusted_tells_of) {
  ModuleCache modules(from);
  keep(modules, key_of("alone"), "a module", "meta" + std::string(k_mark) + "stranger", {});
  const SigningKey own = key("own");
  PackKeys writer;
  writer.signer.emplace(key("own"));
  EXPECT_EQ(export_pack(from, pack, writer).signer, digits_of(id_of(own.public_key())));
  EXPECT_EQ(import_pack(to, pack, keys).signer, digits_of(id_of(own.public_key())));
  const KeyId id = id_of(own.public_key());
  EXPECT_EQ(payload(to, Kind::module, key_of("alone")), "a module|meta" + std::string(k_mark) + "stranger" +
                                                            std::string(k_mark) +
                                                            std::string(id.begin(), id.end()));
  // Who does not trust the signer yet, and takes it, knows later whose it was.
  DiskStore late{dir / "late", 0};
  EXPECT_EQ(import_pack(late, pack).signer, "");
  EXPECT_EQ(payload(late, Kind::module, key_of("alone")),
            "a module|meta" + std::string(k_mark) + std::string(id.begin(), id.end()));
  DiskStore third{dir / "third", 0};
  export_pack(from, pack);
  EXPECT_EQ(import_pack(third, pack).signer, "");
  EXPECT_EQ(payload(third, Kind::module, key_of("alone")), "a module|meta");
}

TEST_F(SignedPacks, modules_of_a_revoked_key_neither_leave_a_store_nor_enter_one) {
  ModuleCache modules(from);
  make_key_files(dir / "stolen");
  const KeyId stolen = id_of(key("stolen").public_key());
  std::string meta = "meta";
  add_mark(meta, stolen);
  keep(modules, key_of("stolen"), "a module", meta, {});
  keep(modules, key_of("good"), "another", "meta", {});
  PackKeys writer;
  writer.signer.emplace(key("own"));
  EXPECT_EQ(export_pack(from, pack, writer).modules, 2u);  // before anybody knew

  keys.trust.revoke(key("stolen").public_key());
  const Packed taken = import_pack(to, pack, keys);
  EXPECT_EQ(taken.modules, 1u);
  EXPECT_EQ(taken.revoked, 1u);
  EXPECT_EQ(payload(to, Kind::module, key_of("stolen")), "");
  EXPECT_NE(payload(to, Kind::module, key_of("good")), "");
  PackStore replayed;
  EXPECT_EQ(replayed.add(open_pack(pack, keys)).modules, 1u);

  writer.trust.revoke(key("stolen").public_key());
  const Packed written = export_pack(from, pack, writer);
  EXPECT_EQ(written.modules, 1u);
  EXPECT_EQ(written.revoked, 1u);

  // What was taken in before goes by the mark of any who signed it.
  DiskStore late{dir / "late", 0};
  writer.trust = Trust();
  export_pack(from, pack, writer);
  PackKeys unaware;
  unaware.trust.add(key("own").public_key());
  import_pack(late, pack, unaware);
  ModuleCache found(late);
  found.refuse_signed_by({stolen});
  EXPECT_FALSE(found.find(key_of("stolen")));
  EXPECT_TRUE(found.find(key_of("good")));
}

TEST_F(Packs, modules_and_what_leads_to_them_go_from_store_to_store) {
  ModuleCache modules(from);
  keep(modules, key_of("alone"), "module without files", "meta", {});
  write_file(dir / "h", "content");
  Dependency header{.path = dir / "h", .content = hash_bytes("content")};
  keep(modules, key_of("reads"), "module with a file", "", {header});
  from.keep(Kind::inputs, key_of("reads"), "inputs of it", "");
  from.keep(Kind::inputs, key_of("gone"), "inputs of a module that was swept", "");
  from.keep(Kind::prelude, key_of("p"), "a part", "");
  const Packed written = export_pack(from, pack);
  EXPECT_EQ(written.modules, 2u);
  EXPECT_EQ(written.bytes, fs::file_size(pack));

  const Packed taken = import_pack(to, pack);
  EXPECT_EQ(taken.modules, 2u);
  EXPECT_EQ(taken.known, 0u);
  EXPECT_EQ(payload(to, Kind::inputs, key_of("reads")), "inputs of it|");
  EXPECT_EQ(payload(to, Kind::inputs, key_of("gone")), "");
  EXPECT_EQ(payload(to, Kind::prelude, key_of("p")), "");
  ModuleCache other(to);
  EXPECT_TRUE(other.find(key_of("alone")));
  ASSERT_TRUE(other.find(key_of("reads")));
  write_file(dir / "h", "another");
  EXPECT_FALSE(ModuleCache(to).find(key_of("reads")));
  EXPECT_EQ(import_pack(to, pack).known, 2u);
}

TEST_F(Packs, manifests_lose_their_stamps_and_gain_sets) {
  Dependency there{.path = dir / "h", .content = hash_bytes("one")};
  there.stamp.size = 3, there.stamp.inode = 77;
  const auto keep = [&](DiskStore& store, const std::string& module, const Dependency& dependency) {
    store.keep(Kind::module, key_of(module), module, "");
    Manifest manifest;
    manifest.add({key_of(module), {dependency}});
    manifest.add({key_of("swept"), {}});
    store.keep(Kind::manifest, key_of("request"), manifest.serialise(), {});
  };
  keep(from, "theirs", there);
  Dependency mine = there;
  mine.content = hash_bytes("two");
  keep(to, "mine", mine);
  export_pack(from, pack);
  import_pack(to, pack);
  Hit hit;
  ASSERT_EQ(to.peek(Kind::manifest, key_of("request"), true, hit), Lookup::hit);
  const auto merged = Manifest::parse(hit.entry.payload);
  ASSERT_TRUE(merged);
  ASSERT_EQ(merged->sets().size(), 3u);
  EXPECT_EQ(merged->sets()[1].module_key, key_of("mine"));
  EXPECT_EQ(merged->sets()[1].dependencies[0].stamp, mine.stamp);
  EXPECT_EQ(merged->sets()[2].module_key, key_of("theirs"));
  EXPECT_EQ(merged->sets()[2].dependencies[0].stamp, FileStamp{});
}

TEST_F(Packs, lists_for_all_places_go_along) {
  from.keep(Kind::module, key_of("m"), "module", "");
  to.keep(Kind::module, key_of("own"), "module", "");
  const auto keep = [](DiskStore& store, const std::string& module, const std::string& content) {
    Manifest manifest;
    manifest.add({key_of(module), {{.path = "<include_dirs 0>/h", .content = hash_bytes(content)}}});
    store.keep(Kind::manifest, key_of("request"), manifest.serialise(), {});
    store.keep(Kind::shared, key_of("request anywhere"), manifest.serialise(), {});
  };
  keep(from, "m", "one");
  keep(to, "own", "two");
  export_pack(from, pack);
  import_pack(to, pack);
  Hit hit;
  ASSERT_EQ(to.peek(Kind::shared, key_of("request anywhere"), true, hit), Lookup::hit);
  const auto merged = Manifest::parse(hit.entry.payload);
  ASSERT_TRUE(merged);
  ASSERT_EQ(merged->sets().size(), 2u);
  EXPECT_EQ(merged->sets()[0].module_key, key_of("own"));
  EXPECT_EQ(merged->sets()[1].module_key, key_of("m"));
}

TEST_F(Packs, damage_in_the_store_is_left_out_and_made_good) {
  from.keep(Kind::module, key_of("a"), "module a", "");
  from.keep(Kind::module, key_of("b"), "module b", "");
  export_pack(from, pack);
  write_file(from.path_of(Kind::module, key_of("a")), "damaged", 0600);
  EXPECT_EQ(export_pack(from, dir / "second.pack").modules, 1u);
  EXPECT_EQ(import_pack(from, pack).known, 1u);
  EXPECT_EQ(payload(from, Kind::module, key_of("a")), "module a|");
}

TEST_F(Packs, a_file_that_is_no_pack_changes_nothing) {
  from.keep(Kind::module, key_of("a"), "module a", "");
  export_pack(from, pack);
  fs::resize_file(pack, fs::file_size(pack) - 1);
  EXPECT_THROW(import_pack(to, pack), LoadError);
  EXPECT_EQ(payload(to, Kind::module, key_of("a")), "");
  EXPECT_THROW(import_pack(to, dir / "missing"), Error);
  EXPECT_THROW(import_pack(to, dir.path()), Error);
  ASSERT_EQ(::mkfifo((dir / "fifo").c_str(), 0600), 0);
  EXPECT_THROW(import_pack(to, dir / "fifo"), Error);
  EXPECT_THROW(export_pack(from, dir / "no/such/folder/ops.pack"), Error);
}

TEST_F(Packs, a_read_only_folder_takes_none_and_says_so) {
  from.keep(Kind::module, key_of("a"), "module a", "");
  export_pack(from, pack);
  to.keep(Kind::module, key_of("other"), "", "");
  in_private_mounts([&] {
    make_read_only(dir / "to");
    EXPECT_THROW(import_pack(to, pack), Error);
    EXPECT_EQ(export_pack(to, dir / "of_read_only.pack").modules, 1u);
  });
}

}  // namespace
}  // namespace tarsia::cache
