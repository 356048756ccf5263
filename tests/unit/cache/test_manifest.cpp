// Manifests and the stamps that vouch for contents.
#include "cache/manifest.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>

#include "tests/unit/base/dependencies.h"
#include "tests/unit/base/temporary_dir.h"

namespace tarsia::cache {
namespace {

namespace fs = std::filesystem;

TEST(Manifest, survives_its_bytes_and_refuses_others) {
  Manifest manifest;
  manifest.add(
      {hash_bytes("m1"), {{"/a.h", hash_bytes("a"), false, {1, 2, 3, -4, 5}}, on_absence_of("/b.h")}});
  manifest.add({hash_bytes("m2"), {}});
  const std::string bytes = manifest.serialise();
  const auto back = Manifest::parse(bytes);
  ASSERT_TRUE(back);
  ASSERT_EQ(back->sets().size(), 2u);
  EXPECT_EQ(back->sets()[0].module_key, hash_bytes("m2"));
  const Dependency& first = back->sets()[1].dependencies.at(0);
  EXPECT_EQ(first.path, "/a.h");
  EXPECT_EQ(first.content, hash_bytes("a"));
  EXPECT_EQ(first.stamp, (FileStamp{1, 2, 3, -4, 5}));
  EXPECT_TRUE(back->sets()[1].dependencies.at(1).absent);
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(Manifest::parse(bytes.substr(0, size)));
  EXPECT_FALSE(Manifest::parse(bytes + "x"));
  // Counts that claim billions.
  EXPECT_FALSE(Manifest::parse("\xff\xff\xff\xff"));
  std::string many = bytes;
  many[4 + 32] = many[4 + 33] = many[4 + 34] = many[4 + 35] = '\xff';
  EXPECT_FALSE(Manifest::parse(many));
}

TEST(Manifest, finds_the_set_that_matches_the_files) {
  const TemporaryDir dir;
  write_file(dir / "a.h", "A1");
  write_file(dir / "b.h", "B");
  Manifest manifest;
  bool renewed = false;
  EXPECT_FALSE(manifest.match(renewed));
  manifest.add({hash_bytes("first"), {on(dir / "b.h"), on(dir / "a.h"), on_absence_of(dir / "c.h")}});
  EXPECT_EQ(manifest.match(renewed), hash_bytes("first"));
  write_file(dir / "a.h", "A2");
  EXPECT_FALSE(manifest.match(renewed));
  manifest.add({hash_bytes("second"), {on(dir / "b.h"), on(dir / "a.h"), on_absence_of(dir / "c.h")}});
  EXPECT_EQ(manifest.match(renewed), hash_bytes("second"));
  EXPECT_FALSE(renewed);
  // The old content again: the older set serves.
  write_file(dir / "a.h", "A1");
  EXPECT_EQ(manifest.match(renewed), hash_bytes("first"));
  write_file(dir / "c.h", "");
  EXPECT_FALSE(manifest.match(renewed));
}

TEST(Manifest, names_the_first_file_that_the_newest_set_lacks) {
  const TemporaryDir dir;
  write_file(dir / "a.h", "A");
  write_file(dir / "b.h", "B");
  Manifest manifest;
  manifest.add({hash_bytes("older"), {{dir / "a.h", hash_bytes("another")}}});
  manifest.add({hash_bytes("newer"), {on(dir / "a.h"), on(dir / "b.h"), on_absence_of(dir / "c.h")}});
  bool renewed = false;
  std::string changed;
  EXPECT_EQ(manifest.match(renewed, &changed), hash_bytes("newer"));
  EXPECT_EQ(changed, "");
  write_file(dir / "b.h", "B2");
  write_file(dir / "c.h", "");
  EXPECT_FALSE(manifest.match(renewed, &changed));
  EXPECT_EQ(changed, dir / "b.h");
  write_file(dir / "b.h", "B");
  EXPECT_FALSE(manifest.match(renewed, &changed));
  EXPECT_EQ(changed, dir / "c.h") << "a file that came";
}

TEST(Manifest, renews_stamps_of_files_that_came_to_rest) {
  const TemporaryDir dir;
  write_file(dir / "a.h", "A");
  Dependency dependency = on(dir / "a.h");
  dependency.stamp.inode += 1;  // as after a fresh checkout of the same header
  Manifest manifest;
  manifest.add({hash_bytes("m"), {dependency}});
  bool renewed = false;
  EXPECT_EQ(manifest.match(renewed), hash_bytes("m"));
  // Too fresh still: its stamp is taken back.
  EXPECT_TRUE(renewed);
  EXPECT_EQ(manifest.sets()[0].dependencies[0].stamp, FileStamp{});
  renewed = false;
  EXPECT_EQ(manifest.match(renewed), hash_bytes("m"));
  EXPECT_FALSE(renewed);
}

TEST(Manifest, keeps_a_bounded_number_of_sets) {
  Manifest manifest;
  for (int i = 0; i < 40; ++i) manifest.add({hash_bytes(std::to_string(i)), {}});
  EXPECT_EQ(manifest.sets().size(), k_max_sets);
  EXPECT_EQ(manifest.sets()[0].module_key, hash_bytes("39"));
  manifest.add({hash_bytes("30"), {}});
  EXPECT_EQ(manifest.sets().size(), k_max_sets);
  EXPECT_EQ(manifest.sets()[0].module_key, hash_bytes("30"));
}

TEST(Manifest, module_keys_depend_on_contents_absences_and_the_request) {
  const Key request = hash_bytes("r");
  const Dependency a{"/a", hash_bytes("1"), false, {}}, b{"/a", hash_bytes("2"), false, {}};
  EXPECT_NE(module_key(request, {a}), module_key(request, {b}));
  EXPECT_NE(module_key(request, {a}), module_key(hash_bytes("s"), {a}));
  EXPECT_NE(module_key(request, {a}), module_key(request, {on_absence_of("/a")}));
  EXPECT_NE(module_key(request, {a}), module_key(request, {}));
  Dependency stamped = a;
  stamped.stamp = {1, 2, 3, 4, 5};
  EXPECT_EQ(module_key(request, {a}), module_key(request, {stamped}));
}

}  // namespace
}  // namespace tarsia::cache
