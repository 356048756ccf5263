// The cache of modules as a whole: tiers, levels, and what must not be kept.
#include "cache/module_cache.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "cache/mark.h"
#include "tests/unit/base/temporary_dir.h"
#include "tests/unit/cache/kept_module.h"

namespace tarsia::cache {
namespace {

namespace fs = std::filesystem;

const Key k_key = hash_bytes("request");

Dependency on(const std::string& path) {
  return {.path = path, .content = hash_bytes(read_file(path))};
}

/// A process's view of the folder.
struct Process {
  explicit Process(const std::string& folder) : disk(folder, 0), cache(disk) {}
  DiskStore disk;
  ModuleCache cache;
};

std::string bytes_of(const CachedModule& module, std::size_t size) {
  return read_file(module.path).substr(0, size);
}

TEST(ModuleCache, a_module_that_was_taken_is_written_later) {
  const TemporaryDir dir;
  write_file(dir / "h", "one");
  Process first(dir / "cache"), second(dir / "cache");
  for (const std::vector<Dependency>& files : {std::vector<Dependency>{}, {on(dir / "h")}}) {
    const Key key = hash_bytes("taken with " + std::to_string(files.size()));
    std::string bytes = "ELF one";
    const auto made = new_module(key, bytes, "meta", files);
    ASSERT_TRUE(made);
    const CachedModule taken = first.cache.take(key, *made);
    EXPECT_EQ(bytes_of(taken, 7), "ELF one");
    EXPECT_TRUE(first.cache.find(key));
    EXPECT_FALSE(second.cache.find(key));
    first.cache.keep_on_disk(key, *made);
    const auto found = second.cache.find(key);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->meta, "meta");
    // The first process names the file now, and holds no copy.
    EXPECT_EQ(first.cache.find(key)->path, found->path);
    EXPECT_EQ(bytes_of(taken, 7), "ELF one");
  }
}

TEST(ModuleCache, a_module_without_dependencies_is_found_in_memory_and_on_disk) {
  const TemporaryDir dir;
  Process first(dir / "cache");
  EXPECT_FALSE(first.cache.find(k_key));
  const CachedModule made = keep(first.cache, k_key, "ELF one", "meta", {});
  EXPECT_EQ(bytes_of(made, 7), "ELF one");
  EXPECT_EQ(made.meta, "meta");
  const auto again = first.cache.find(k_key);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->origin, Origin::memory);
  EXPECT_EQ(again->path, made.path);
  EXPECT_EQ(again->meta, "meta");

  Process second(dir / "cache");
  const auto other = second.cache.find(k_key);
  ASSERT_TRUE(other);
  EXPECT_EQ(other->origin, Origin::disk);
  EXPECT_EQ(other->path, made.path);
  EXPECT_EQ(other->meta, "meta");
  EXPECT_EQ(second.cache.find(k_key)->origin, Origin::memory);
}

TEST(ModuleCache, a_header_decides_which_module) {
  const TemporaryDir dir;
  write_file(dir / "h", "one");
  Process first(dir / "cache");
  keep(first.cache, k_key, "ELF one", "", {on(dir / "h")});
  write_file(dir / "h", "two");
  EXPECT_FALSE(first.cache.find(k_key));
  EXPECT_FALSE(Process(dir / "cache").cache.find(k_key));
  keep(first.cache, k_key, "ELF two", "", {on(dir / "h")});
  for (Process* process : {&first, new Process(dir / "cache")}) {
    write_file(dir / "h", "one");
    auto found = process->cache.find(k_key);
    ASSERT_TRUE(found);
    EXPECT_EQ(bytes_of(*found, 7), "ELF one");
    write_file(dir / "h", "two");
    found = process->cache.find(k_key);
    ASSERT_TRUE(found);
    EXPECT_EQ(bytes_of(*found, 7), "ELF two");
    if (process != &first) delete process;
  }
}

TEST(ModuleCache, what_another_process_compiled_meanwhile_is_found) {
  const TemporaryDir dir;
  write_file(dir / "h", "one");
  Process first(dir / "cache"), second(dir / "cache");
  keep(first.cache, k_key, "ELF one", "", {on(dir / "h")});
  write_file(dir / "h", "two");
  EXPECT_FALSE(first.cache.find(k_key));
  keep(second.cache, k_key, "ELF two", "", {on(dir / "h")});
  const auto found = first.cache.find(k_key);
  ASSERT_TRUE(found);
  EXPECT_EQ(bytes_of(*found, 7), "ELF two");
  // The second kept the first's set as well.
  write_file(dir / "h", "one");
  EXPECT_TRUE(Process(dir / "cache").cache.find(k_key));
}

TEST(ModuleCache, a_header_that_appears_is_noticed) {
  const TemporaryDir dir;
  Process process(dir / "cache");
  keep(process.cache, k_key, "ELF", "", {{.path = dir / "optional.h", .absent = true}});
  EXPECT_TRUE(process.cache.find(k_key));
  write_file(dir / "optional.h", "");
  EXPECT_FALSE(process.cache.find(k_key));
}

TEST(ModuleCache, a_header_that_changed_during_the_compile_is_not_cached) {
  const TemporaryDir dir;
  write_file(dir / "h", "now");
  Process process(dir / "cache");
  std::string bytes = "ELF one";
  EXPECT_FALSE(new_module(k_key, bytes, "meta",
                          {{.path = dir / "h", .content = hash_bytes("what the compiler read")}}));
  EXPECT_EQ(bytes, "ELF one");
  EXPECT_FALSE(process.cache.find(k_key));
  EXPECT_EQ(process.disk.counters().stores, 0u);
}

TEST(ModuleCache, damage_on_disk_is_noticed_by_a_process_that_knew_the_file) {
  const TemporaryDir dir;
  Process process(dir / "cache");
  const CachedModule made = keep(process.cache, k_key, "ELF one", "", {});
  write_file(made.path, "damaged");
  EXPECT_FALSE(process.cache.find(k_key));
  EXPECT_EQ(process.disk.counters().corrupt, 1u);
}

TEST(ModuleCache, without_a_usable_folder_memory_serves) {
  const TemporaryDir dir;
  fs::create_directory(dir / "open");
  ASSERT_EQ(::chmod((dir / "open").c_str(), 0777), 0);
  Process process(dir / "open");
  const CachedModule made = keep(process.cache, k_key, "ELF one", "meta", {});
  EXPECT_EQ(made.path.rfind("/proc/self/fd/", 0), 0u);
  EXPECT_EQ(read_file(made.path), "ELF one");
  const auto found = process.cache.find(k_key);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->origin, Origin::memory);
  EXPECT_EQ(read_file(found->path), "ELF one");
  write_file(dir / "h", "one");
  keep(process.cache, hash_bytes("with header"), "ELF two", "", {on(dir / "h")});
  EXPECT_TRUE(process.cache.find(hash_bytes("with header")));
  write_file(dir / "h", "two");
  EXPECT_FALSE(process.cache.find(hash_bytes("with header")));
}

TEST(MemoryStore, forgets_the_longest_unused_and_bounds_its_memory) {
  MemoryStore store(3, 1000);
  const auto module = [](const std::string& name, std::uint64_t bytes) {
    return StoredModule{.key = hash_bytes(name), .path = name, .memory_bytes = bytes};
  };
  for (const char* name : {"a", "b", "c"}) store.keep_module(module(name, 0));
  EXPECT_TRUE(store.find_module(hash_bytes("a")));
  store.keep_module(module("d", 0));
  EXPECT_FALSE(store.find_module(hash_bytes("b")));
  EXPECT_TRUE(store.find_module(hash_bytes("a")));
  store.keep_module(module("big", 600));
  store.keep_module(module("bigger", 700));
  EXPECT_FALSE(store.find_module(hash_bytes("big")));
  EXPECT_EQ(store.find_module(hash_bytes("bigger"))->path, "bigger");
  store.keep_module(module("huge", 5000));
  EXPECT_TRUE(store.find_module(hash_bytes("huge")));
  store.drop_module(hash_bytes("huge"));
  EXPECT_FALSE(store.find_module(hash_bytes("huge")));
}

TEST(MemoryStore, leaves_the_process_its_descriptors) {
  struct rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const struct rlimit few = {256, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  {
    MemoryStore store;
    store.keep_module(StoredModule{.key = hash_bytes("on disk"), .path = "on disk"});
    for (int i = 0; i < 300; ++i) {
      const std::string text = std::to_string(i);
      store.keep_module(stored_in_memory(hash_bytes(text), text, {}));
      EXPECT_TRUE(store.find_module(hash_bytes(text)));
    }
    EXPECT_TRUE(store.find_module(hash_bytes("299")) && store.find_module(hash_bytes("268")));
    EXPECT_FALSE(store.find_module(hash_bytes("267")));
    EXPECT_TRUE(store.find_module(hash_bytes("on disk")));
  }
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST(ModuleCache, modules_of_a_refused_signer_go_when_they_are_met) {
  const TemporaryDir dir;
  const KeyId good{1}, bad{2};
  const auto marked = [](const KeyId& id) {
    return "meta" + std::string(k_mark) + std::string(id.begin(), id.end());
  };
  const Key other = hash_bytes("other"), own = hash_bytes("own");
  Process first(dir / "cache"), second(dir / "cache");
  keep(first.cache, k_key, "ELF bad", marked(bad), {});
  keep(first.cache, other, "ELF good", marked(good), {});
  keep(first.cache, own, "ELF own", "meta", {});
  for (Process* process : {&first, &second}) {  // one knows them from memory, too
    ASSERT_TRUE(first.disk.keep(Kind::module, k_key, "ELF bad", marked(bad)));
    process->cache.refuse_signed_by({bad});
    Missing why;
    EXPECT_FALSE(process->cache.find(k_key, &why));
    EXPECT_FALSE(std::filesystem::exists(process->disk.path_of(Kind::module, k_key)));
    EXPECT_TRUE(process->cache.find(other));
    EXPECT_TRUE(process->cache.find(own));
  }
}

}  // namespace
}  // namespace tarsia::cache
