// Envelopes and keys: what is signed, and what is refused before it is unpacked.
#include "cache/remote/envelope.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <optional>

#include "base/error.h"
#include "base/file.h"
#include "cache/remote/action_result.h"
#include "tests/unit/base/temporary_dir.h"

namespace tarsia::cache {
namespace {

const Key k_key = hash_bytes("key");

struct Envelope : ::testing::Test {
  Envelope() {
    make_key_files(dir / "signer");
    make_key_files(dir / "other");
    signer.emplace(SigningKey::read(dir / "signer"));
    trust = Trust::read({dir / "signer.pub"});
  }
  Sealed open(std::string_view bytes, const Key& key = k_key, Kind kind = Kind::module) {
    entry = {};
    return unseal(bytes, kind, key, trust, allow_unsigned, entry, id);
  }
  std::string sealed(std::string_view payload = "payload", std::string_view meta = "meta") {
    return seal(Kind::module, k_key, payload, meta, &*signer);
  }

  TemporaryDir dir;
  std::optional<SigningKey> signer;
  Trust trust;
  bool allow_unsigned = false;
  Entry entry;
  KeyId id;
};

TEST_F(Envelope, brings_back_what_was_put_in) {
  for (const std::string& payload : {std::string(), std::string("payload"), std::string(3 << 20, 'x')}) {
    const std::string bytes = sealed(payload);
    ASSERT_EQ(open(bytes), Sealed::good);
    EXPECT_EQ(entry.payload, payload);
    EXPECT_EQ(entry.payload_size, payload.size());
    EXPECT_EQ(entry.meta, "meta");
    EXPECT_EQ(id, id_of(signer->public_key()));
  }
  EXPECT_LT(sealed(std::string(3 << 20, 'x')).size(), 10'000u);
}

TEST_F(Envelope, every_bit_and_every_length_counts) {
  const std::string bytes = sealed();
  for (std::size_t i = 0; i < 8 * bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i / 8] = static_cast<char>(damaged[i / 8] ^ (1 << i % 8));
    EXPECT_NE(open(damaged), Sealed::good) << i;
    EXPECT_TRUE(entry.payload.empty()) << i;
  }
  for (std::size_t n = 0; n < bytes.size(); ++n) EXPECT_EQ(open(bytes.substr(0, n)), Sealed::malformed) << n;
  EXPECT_EQ(open(bytes + "x"), Sealed::malformed);
  EXPECT_EQ(open("<html>it works</html>"), Sealed::malformed);
}

TEST_F(Envelope, an_entry_under_another_key_or_kind_is_refused) {
  EXPECT_EQ(open(sealed(), hash_bytes("other")), Sealed::other);
  EXPECT_EQ(open(sealed(), k_key, Kind::shared), Sealed::other);
}

TEST_F(Envelope, who_is_not_trusted_any_more_or_yet_is_refused) {
  const SigningKey other = SigningKey::read(dir / "other");
  EXPECT_EQ(open(seal(Kind::module, k_key, "p", "", &other)), Sealed::unknown);
  write_file(dir / "both", read_file(dir / "signer.pub") + "# a comment\n\n" + read_file(dir / "other.pub"));
  trust = Trust::read({dir / "both"});
  EXPECT_EQ(open(seal(Kind::module, k_key, "p", "", &other)), Sealed::good);
  std::string revoked = read_file(dir / "signer.pub");
  revoked = "revoked: " + revoked.substr(revoked.find(": ") + 2);
  write_file(dir / "revoked", revoked);
  trust = Trust::read({dir / "revoked", dir / "both"});
  EXPECT_EQ(open(sealed()), Sealed::revoked);
  EXPECT_EQ(open(seal(Kind::module, k_key, "p", "", &other)), Sealed::good);
}

TEST_F(Envelope, a_signature_of_another_key_under_a_trusted_id_is_forged) {
  const SigningKey other = SigningKey::read(dir / "other");
  std::string bytes = seal(Kind::module, k_key, "p", "", &other);
  const std::string good = sealed("p", "");
  bytes.replace(48, 8, good.substr(48, 8));
  EXPECT_EQ(open(bytes), Sealed::forged);
}

TEST_F(Envelope, unsigned_ones_count_only_where_that_is_allowed) {
  const std::string bytes = seal(Kind::module, k_key, "payload", "meta", nullptr);
  EXPECT_EQ(open(bytes), Sealed::unsigned_);
  allow_unsigned = true;
  EXPECT_EQ(open(bytes), Sealed::good);
  EXPECT_EQ(entry.payload, "payload");
  // A signature that does not hold is no better than before.
  std::string forged = sealed();
  forged.back() ^= 1;
  EXPECT_EQ(open(forged), Sealed::forged);
}

TEST_F(Envelope, sizes_that_lie_are_refused_before_room_is_made) {
  allow_unsigned = true;
  const std::string bytes = seal(Kind::module, k_key, std::string(1000, 'x'), "", nullptr);
  const auto with_payload_size = [&](std::uint64_t size) {
    std::string changed = bytes;
    std::memcpy(changed.data() + 60, &size, sizeof size);
    return changed;
  };
  ASSERT_EQ(open(with_payload_size(1000)), Sealed::good);
  for (const std::uint64_t size :
       {std::uint64_t{999}, std::uint64_t{1001}, std::uint64_t{4} << 30, ~std::uint64_t{0}})
    EXPECT_EQ(open(with_payload_size(size)), Sealed::malformed) << size;
  EXPECT_EQ(seal(Kind::module, k_key, "x", std::string(k_max_meta + 1, 'm'), nullptr), "");
}

TEST_F(Envelope, key_files_are_private_and_never_replaced) {
  struct stat status;
  ASSERT_EQ(::stat((dir / "signer").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  const std::string before = read_file(dir / "signer");
  EXPECT_THROW(make_key_files(dir / "signer"), Error);
  EXPECT_EQ(read_file(dir / "signer"), before);
  ::unlink((dir / "signer").c_str());
  EXPECT_THROW(make_key_files(dir / "signer"), Error);  // PATH.pub is there
  EXPECT_FALSE(std::filesystem::exists(dir / "signer"));
}

TEST_F(Envelope, keys_that_others_may_have_read_or_written_are_refused) {
  const auto sign_error = [&] {
    try {
      SigningKey::read(dir / "signer");
    } catch (const ArgumentError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  ::chmod((dir / "signer").c_str(), 0640);
  EXPECT_NE(sign_error().find("chmod 600"), std::string::npos) << sign_error();
  ::chmod((dir / "signer").c_str(), 0600);
  EXPECT_EQ(sign_error(), "");
  ::unlink((dir / "signer").c_str());
  EXPECT_NE(sign_error().find("keygen"), std::string::npos) << sign_error();
  ::chmod((dir / "other.pub").c_str(), 0666);
  EXPECT_THROW(Trust::read({dir / "other.pub"}), ArgumentError);
  EXPECT_THROW(Trust::read({dir / "absent"}), ArgumentError);
  EXPECT_THROW(Trust::read({dir / "other"}), ArgumentError);  // the signing key
  write_file(dir / "nonsense", "tarsia public key 1: 12\n");
  EXPECT_THROW(Trust::read({dir / "nonsense"}), ArgumentError);
}

TEST(ActionResult, names_the_blob_and_damage_names_none_or_another) {
  const BlobName blob = name_of_blob("abc");
  EXPECT_EQ(blob.hash, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  const std::string bytes = action_result(blob, "");
  const auto back = parse_action_result(bytes);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->name.hash, blob.hash);
  EXPECT_EQ(back->name.size, 3u);
  EXPECT_EQ(back->contents, "");
  for (std::size_t n = 0; n < bytes.size(); ++n) EXPECT_FALSE(parse_action_result(bytes.substr(0, n))) << n;
  EXPECT_FALSE(parse_action_result("<html></html>"));
  EXPECT_FALSE(parse_action_result(std::string(100, '\xff')));
  // Fields that are not known are stepped over, as another server may add them.
  EXPECT_TRUE(parse_action_result(std::string("\x20\x00", 2) + bytes + std::string("\x2a\x01x", 3)));
}

TEST(ActionResult, may_hold_the_blob_and_holds_none_of_another_size) {
  const BlobName blob = name_of_blob("abc");
  const std::string bytes = action_result(blob, "abc");
  const auto back = parse_action_result(bytes);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->name.hash, blob.hash);
  EXPECT_EQ(back->contents, "abc");
  for (std::size_t n = 0; n < bytes.size(); ++n) EXPECT_FALSE(parse_action_result(bytes.substr(0, n))) << n;
  EXPECT_EQ(parse_action_result(action_result(blob, "abcd")).value().contents, "");
}

TEST(ActionResult, may_be_a_text) {
  const std::string bytes = result_of_text("a text");
  EXPECT_EQ(text_of_result(bytes), "a text");
  EXPECT_FALSE(parse_action_result(bytes));
  EXPECT_FALSE(text_of_result(action_result(name_of_blob("abc"), "abc")));
  for (std::size_t n = 0; n < bytes.size(); ++n) EXPECT_FALSE(text_of_result(bytes.substr(0, n))) << n;
  EXPECT_FALSE(text_of_result("<html></html>"));
}

}  // namespace
}  // namespace tarsia::cache
