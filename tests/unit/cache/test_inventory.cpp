// What a store holds: the check of every entry, and removing on request.
#include "cache/inventory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/lock.h"
#include "cache/sweep.h"
#include "tests/unit/base/temporary_dir.h"

namespace tarsia::cache {
namespace {

namespace fs = std::filesystem;

Key key_of(int n) {
  return hash_bytes(std::to_string(n));
}

struct Inventory : ::testing::Test {
  TemporaryDir dir;
  DiskStore store{dir / "cache", 0};

  Verified checked(bool remove = false) const { return verify(store, remove, nullptr); }
  /// Makes `n` modules; their paths.
  std::vector<std::string> modules(int n) {
    std::vector<std::string> paths;
    for (int i = 0; i < n; ++i) {
      store.keep(Kind::module, key_of(i), std::string(10000, 'm'), "meta");
      paths.push_back(store.path_of(Kind::module, key_of(i)));
    }
    return paths;
  }
};

TEST_F(Inventory, counts_by_folder) {
  modules(3);
  store.keep(Kind::manifest, key_of(9), "list", "");
  const std::pair<std::string_view, std::string_view> copies[] = {{"a.cc", "text"}, {"deep/er/b.h", "text"}};
  ASSERT_FALSE(store.keep_copies(copies).empty());
  const Totals totals = count_files(store.root());
  EXPECT_EQ(totals.folders.at("module").files, 3u);
  EXPECT_GE(totals.folders.at("module").bytes, 30000u);
  EXPECT_EQ(totals.folders.at("manifest").files, 1u);
  EXPECT_EQ(totals.folders.at("source").files, 2u);
  EXPECT_EQ(totals.all.files, 6u);
  EXPECT_FALSE(totals.folders.contains("locks"));
}

TEST_F(Inventory, verify_finds_every_damage) {
  const std::vector<std::string> paths = modules(7);
  EXPECT_EQ(checked().whole, 7u);
  EXPECT_TRUE(checked().damaged.empty());
  const auto flip = [](const std::string& path, std::size_t at) {
    std::string bytes = read_file(path);
    bytes[at % bytes.size()] = static_cast<char>(bytes[at % bytes.size()] ^ 4);
    write_file(path, bytes, 0600);
  };
  flip(paths[0], 17);
  fs::resize_file(paths[1], 5000);
  fs::copy_file(paths[2], paths[3], fs::copy_options::overwrite_existing);  // an entry under another's name
  fs::remove(paths[4]);
  write_file(dir / "target", "mine");
  fs::create_symlink(dir / "target", paths[4]);
  fs::remove(paths[5]);
  ASSERT_EQ(::mkfifo(paths[5].c_str(), 0600), 0);
  fs::create_directories(store.root() + "/host/ab");
  write_file(store.root() + "/host/ab/short", "x");

  const Verified found = checked();
  EXPECT_EQ(found.whole, 2u);
  EXPECT_TRUE(found.unread.empty());
  std::vector<std::string> damaged;
  for (const Damage& one : found.damaged) {
    damaged.push_back(one.path);
    EXPECT_FALSE(one.why.empty());
    EXPECT_FALSE(one.removed);
  }
  std::ranges::sort(damaged);
  std::vector<std::string> expected{paths[0], paths[1], paths[3],
                                    paths[4], paths[5], store.root() + "/host/ab/short"};
  std::ranges::sort(expected);
  EXPECT_EQ(damaged, expected);

  for (const Damage& one : checked(true).damaged) EXPECT_TRUE(one.removed) << one.path;
  EXPECT_EQ(checked().whole, 2u);
  EXPECT_TRUE(checked().damaged.empty());
  EXPECT_EQ(read_file(dir / "target"), "mine");
}

TEST_F(Inventory, what_is_linked_into_a_store_is_none_of_it) {
  modules(2);
  fs::create_directories(dir / "victim");
  write_file(dir / "victim/dear", "mine");
  const std::string link = store.root() + "/module/zz";
  fs::create_directory_symlink(dir / "victim", link);
  fs::create_directories(store.root() + "/source");
  fs::create_directory_symlink(dir / "victim", store.root() + "/source/zz");
  EXPECT_EQ(count_files(store.root()).all.files, 2u);
  ASSERT_EQ(checked().damaged.size(), 1u);
  EXPECT_EQ(checked().damaged[0].why, "it is a symbolic link where an entry would be");
  prune(store.root(), store.size_lock(), 0);
  checked(true);
  EXPECT_FALSE(fs::is_symlink(link));
  EXPECT_EQ(read_file(dir / "victim/dear"), "mine");
}

TEST_F(Inventory, verify_tells_of_what_a_look_up_set_aside) {
  const std::vector<std::string> paths = modules(1);
  write_file(paths[0], "damaged", 0600);
  Hit hit;
  EXPECT_EQ(store.find(Kind::module, key_of(0), false, hit), Lookup::miss);
  EXPECT_TRUE(hit.damaged);
  ASSERT_EQ(checked().damaged.size(), 1u);
  EXPECT_EQ(checked().damaged[0].why, "it was found damaged before, and set aside");
  checked(true);
  EXPECT_TRUE(checked().damaged.empty());
}

TEST_F(Inventory, what_an_entry_contains_is_checked_too) {
  store.keep(Kind::manifest, key_of(1), "good", "");
  store.keep(Kind::manifest, key_of(2), "bad", "");
  const Verified found = verify(store, false, [](const EntryName& name, const Entry& entry) {
    return name.kind == Kind::manifest && entry.payload == "bad" ? "bad" : std::string();
  });
  EXPECT_EQ(found.whole, 1u);
  ASSERT_EQ(found.damaged.size(), 1u);
  EXPECT_EQ(found.damaged[0].path, store.path_of(Kind::manifest, key_of(2)));
}

TEST_F(Inventory, prune_leaves_the_size_that_is_asked_for_and_what_is_open) {
  const std::vector<std::string> paths = modules(10);
  for (int i = 0; i < 10; ++i)
    fs::last_write_time(paths[i], fs::file_time_type::clock::now() - std::chrono::hours(10 - i));
  const std::uint64_t one = count_files(store.root()).all.bytes / 10;
  Hit open;
  ASSERT_EQ(store.find(Kind::module, key_of(0), false, open), Lookup::hit);
  fs::last_write_time(paths[0], fs::file_time_type::clock::now() - std::chrono::hours(99));
  const SweepResult result = prune(store.root(), store.size_lock(), 4 * one);
  EXPECT_EQ(result.evicted, 6u);
  EXPECT_EQ(result.kept, 1u);
  EXPECT_LE(result.bytes, 4 * one);
  EXPECT_TRUE(fs::exists(paths[0]));
  EXPECT_FALSE(fs::exists(paths[1]));
  EXPECT_TRUE(fs::exists(paths[9]));

  open.fd.reset();
  EXPECT_EQ(prune(store.root(), store.size_lock(), 0).bytes, 0u);
  EXPECT_EQ(count_files(store.root()).all.files, 0u);
  EXPECT_TRUE(store.keep(Kind::module, key_of(1), "again", ""));
}

TEST_F(Inventory, a_name_says_what_an_entry_is) {
  modules(1);
  int seen = 0;
  for_each_file(store.root(), [&](const StoreFile& file) {
    const auto name = entry_name(file);
    ASSERT_TRUE(name);
    EXPECT_EQ(name->kind, Kind::module);
    EXPECT_EQ(name->key, key_of(0));
    ++seen;
  });
  EXPECT_EQ(seen, 1);
}

}  // namespace
}  // namespace tarsia::cache
