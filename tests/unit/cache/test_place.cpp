// Names of files by roots, and modules that one place makes and another finds.
#include "cache/place.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "cache/module_cache.h"
#include "tests/unit/base/temporary_dir.h"
#include "tests/unit/cache/kept_module.h"

namespace tarsia::cache {
namespace {

namespace fs = std::filesystem;

Place two(const std::string& first, const std::string& second) {
  return Place({{"include_dirs 0", first}, {"include_dirs 1", second}, {"", "/usr/include"}});
}

TEST(Place, a_file_is_named_by_the_deepest_folder_that_holds_it) {
  const Place place = two("/home/u/proj/", "/home/u/proj/include/../inc");
  EXPECT_EQ(place.name_of("/home/u/proj/a.h"), "<include_dirs 0>/a.h");
  EXPECT_EQ(place.name_of("/home/u/proj/inc/a/b.h"), "<include_dirs 1>/a/b.h");
  EXPECT_EQ(place.name_of("/home/u/proj/inc"), "<include_dirs 1>");
  EXPECT_EQ(place.name_of("/home/u/proj/incl.h"), "<include_dirs 0>/incl.h");
  EXPECT_EQ(place.name_of("/home/u/project/a.h"), "/home/u/project/a.h");
  EXPECT_EQ(place.name_of("/usr/include/stdio.h"), "/usr/include/stdio.h");
  for (const char* path : {"/home/u/proj/a.h", "/home/u/proj/inc/a/b.h", "/home/u/proj/inc", "/etc/x"})
    EXPECT_EQ(place.path_of(place.name_of(path)), path);
}

TEST(Place, names_of_other_places_and_names_that_lead_out_mean_nothing) {
  const Place place = two("/a", "/b");
  for (const char* name : {"<include_dirs 2>/a.h", "<include_dirs 0", "<include_dirs 0>a.h", "<>/a.h/../../x",
                           "<include_dirs 0>/../etc/passwd", "<include_dirs 0>/x/..", "<stdin>"})
    EXPECT_FALSE(place.path_of(name)) << name;
  EXPECT_TRUE(is_portable("<include_dirs 0>/a.h"));
  EXPECT_TRUE(is_portable("/usr/include/stdio.h"));
  EXPECT_TRUE(is_portable("/usr/lib/x86_64-linux-gnu/libz.so"));
  EXPECT_FALSE(is_portable("/usr/includes/stdio.h"));
  EXPECT_FALSE(is_portable("/usr/lib/../../etc/passwd"));
  EXPECT_FALSE(is_portable("/home/u/a.h"));
  EXPECT_FALSE(is_portable("/usr/include/../../etc/passwd"));
}

TEST(Place, how_folders_lie_in_each_other_tells_places_apart) {
  EXPECT_EQ(two("/a", "/b").relations(), two("/x/y", "/z").relations());
  EXPECT_EQ(two("/a", "/a/inc").relations(), two("/x/y", "/x/y/inc").relations());
  const std::string apart = two("/a", "/b").relations();
  for (const Place& other : {two("/a", "/a/inc"), two("/a/inc", "/a"), two("/a", "/a"),
                             two("/a", "/usr/include/eigen3"), two("/usr", "/b")})
    EXPECT_NE(other.relations(), apart);
  EXPECT_NE(Place(std::vector<Root>{{"include_dirs 0", "/a"}}).relations(), apart);
  EXPECT_NE(two("/a", "/a/inc").relations(), two("/a", "/a/include").relations());
}

TEST(Place, bytes_with_a_path_belong_to_the_place) {
  const Place place = two("/home/u/proj", "/home/v/./inc");
  EXPECT_TRUE(place.is_in("x /home/u/proj/a.h"));
  EXPECT_TRUE(place.is_in("/home/v/inc/a.h"));
  EXPECT_TRUE(place.is_in("/home/v/./inc/a.h"));
  EXPECT_FALSE(place.is_in("/usr/include/stdio.h a.h"));
}

/// A checkout: its folder of headers, and the request that names it.
struct Checkout {
  Checkout(const std::string& path, const std::string& header) : folder(path), request(hash_bytes(path)) {
    fs::create_directories(folder);
    write_file(folder + "/h.h", header);
    request.shared = hash_bytes("anywhere");
    request.place = Place(std::vector<Root>{{"include_dirs 0", folder}});
  }
  std::vector<Dependency> read() const {
    return {{.path = folder + "/h.h", .content = hash_bytes(read_file(folder + "/h.h"))},
            {.path = folder + "/absent.h", .absent = true}};
  }
  std::string folder;
  Request request;
};

struct Elsewhere : ::testing::Test {
  std::optional<CachedModule> find(const Checkout& checkout) {
    DiskStore disk(dir / "cache", 0);
    return ModuleCache(disk).find_elsewhere(checkout.request);
  }
  std::optional<CachedModule> find_here(const Checkout& checkout) {
    DiskStore disk(dir / "cache", 0);
    return ModuleCache(disk).find(checkout.request.key);
  }
  CachedModule keep(const Checkout& checkout, std::string bytes, std::vector<Dependency> files,
                    std::string meta = "meta") {
    DiskStore disk(dir / "cache", 0);
    ModuleCache cache(disk);
    return cache::keep(cache, checkout.request, std::move(bytes), std::move(meta), std::move(files));
  }
  TemporaryDir dir;
  Checkout one{dir / "one/inc", "text"};
  Checkout two{dir / "other/two/inc", "text"};
};

TEST_F(Elsewhere, a_module_of_another_place_with_the_same_files_is_found_and_then_known_here) {
  EXPECT_FALSE(find(two));
  const CachedModule made = keep(one, "ELF", one.read());
  EXPECT_FALSE(find_here(two));
  const auto found = find(two);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->key, made.key);
  EXPECT_EQ(found->origin, Origin::disk);
  EXPECT_EQ(found->meta, "meta");
  ASSERT_TRUE(find_here(two));
  EXPECT_EQ(find_here(two)->key, made.key);
  ASSERT_TRUE(find_here(one));
}

TEST_F(Elsewhere, other_contents_there_are_another_module) {
  keep(one, "ELF", one.read());
  write_file(two.folder + "/h.h", "texT");
  EXPECT_FALSE(find(two));
  write_file(two.folder + "/h.h", "text");
  write_file(two.folder + "/absent.h", "");
  EXPECT_FALSE(find(two));
  fs::remove(two.folder + "/absent.h");
  EXPECT_TRUE(find(two));
  fs::remove(two.folder + "/h.h");
  EXPECT_FALSE(find(two));
}

TEST_F(Elsewhere, what_holds_or_climbed_from_a_path_stays_at_its_place) {
  keep(one, "ELF with " + one.folder + "/h.h", one.read());
  EXPECT_TRUE(find_here(one));
  EXPECT_FALSE(find(two));
  std::vector<Dependency> climbed = one.read();
  climbed.push_back({.path = k_climbed, .absent = true});
  const CachedModule made = keep(one, "ELF", std::move(climbed));
  ASSERT_TRUE(find_here(one));
  EXPECT_EQ(find_here(one)->key, made.key);
  EXPECT_FALSE(find(two));
}

TEST_F(Elsewhere, a_warning_that_tells_of_a_place_keeps_the_module_there) {
  const CachedModule made = keep(one, "ELF", one.read(), "see " + one.folder + "/h.h");
  ASSERT_TRUE(find_here(one));
  EXPECT_EQ(find_here(one)->key, made.key);
  EXPECT_FALSE(find(two));
}

TEST_F(Elsewhere, the_file_that_differs_is_told_and_the_same_list_is_gone_through_once) {
  keep(one, "ELF", one.read());
  write_file(two.folder + "/h.h", "texT");
  DiskStore disk(dir / "cache", 0);
  ModuleCache modules(disk);
  FileStamp seen;
  Missing why;
  EXPECT_FALSE(modules.find_elsewhere(two.request, &seen, &why));
  EXPECT_EQ(why.reason, Count::miss_changed);
  EXPECT_NE(why.text.find(two.folder + "/h.h"), std::string::npos);
  write_file(two.folder + "/h.h", "text");
  EXPECT_FALSE(modules.find_elsewhere(two.request, &seen));  // what it was asked about is not asked again
  keep(one, "another", {});
  EXPECT_TRUE(modules.find_elsewhere(two.request, &seen));
}

TEST_F(Elsewhere, both_places_give_one_key_whoever_compiles) {
  EXPECT_EQ(keep(one, "ELF", one.read()).key, keep(two, "ELF", two.read()).key);
  Checkout bound = two;
  bound.request.shared.reset();
  EXPECT_NE(keep(bound, "ELF", two.read()).key, keep(one, "ELF", one.read()).key);
}

TEST_F(Elsewhere, a_damaged_list_is_a_miss) {
  keep(one, "ELF", one.read());
  DiskStore disk(dir / "cache", 0);
  const std::string path = disk.path_of(Kind::shared, *one.request.shared);
  std::string bytes = read_file(path);
  for (std::size_t i = 0; i < bytes.size(); i += 7) {
    std::string damaged = bytes;
    damaged[i] ^= 1;
    write_file(path, damaged);
    EXPECT_FALSE(find(two)) << i;
    EXPECT_FALSE(fs::exists(path)) << i;
  }
  disk.keep(Kind::shared, *one.request.shared, "no manifest", {});
  EXPECT_FALSE(find(two));
}

}  // namespace
}  // namespace tarsia::cache
