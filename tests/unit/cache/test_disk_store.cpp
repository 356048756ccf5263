// The disk store: hit, miss and fault, damage set aside, strangers refused.
#include "cache/disk_store.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <ctime>
#include <filesystem>
#include <functional>
#include <thread>
#include <vector>

#include "cache/sweep.h"
#include "tests/unit/base/temporary_dir.h"
#include "tests/unit/cache/private_mounts.h"

namespace tarsia::cache {
namespace {

namespace fs = std::filesystem;

Key key_of(int n) {
  return hash_bytes(std::to_string(n));
}

struct Store : ::testing::Test {
  TemporaryDir dir;
  DiskStore store{dir / "cache", 0};
  Hit hit;

  std::size_t files_with(const std::string& part) const {
    std::size_t count = 0;
    for (const auto& item : fs::recursive_directory_iterator(dir.path())) {
      count += item.path().string().find(part) != std::string::npos && !item.is_directory();
    }
    return count;
  }
};

TEST_F(Store, keeps_and_finds) {
  EXPECT_EQ(store.find(Kind::module, key_of(1), true, hit), Lookup::miss);
  EXPECT_TRUE(store.keep(Kind::module, key_of(1), "bytes", "meta"));
  ASSERT_EQ(store.find(Kind::module, key_of(1), true, hit), Lookup::hit);
  EXPECT_EQ(hit.entry.payload, "bytes");
  EXPECT_EQ(hit.entry.meta, "meta");
  EXPECT_EQ(read_descriptor(hit.fd.get(), 0, 5, 100), "bytes");
  EXPECT_EQ(hit.path.substr(hit.path.size() - 3), ".so");
  // The same key under another kind is another entry.
  EXPECT_EQ(store.find(Kind::host, key_of(1), true, hit), Lookup::miss);
  // Another process's store.
  DiskStore second(dir / "cache", 0);
  EXPECT_EQ(second.find(Kind::module, key_of(1), false, hit), Lookup::hit);
  const Counters counters = store.counters();
  EXPECT_EQ(counters.hits, 1u);
  EXPECT_EQ(counters.misses, 2u);
  EXPECT_EQ(counters.stores, 1u);
  EXPECT_EQ(counters.faults + counters.corrupt + counters.store_failures + counters.evictions, 0u);
}

TEST_F(Store, a_prelude_is_replaced_by_that_of_the_files_as_they_are_now) {
  store.keep(Kind::prelude, key_of(1), "one", "");
  EXPECT_TRUE(store.keep(Kind::prelude, key_of(1), "of a file that changed since", ""));
  ASSERT_EQ(store.find(Kind::prelude, key_of(1), true, hit), Lookup::hit);
  EXPECT_EQ(hit.entry.payload, "of a file that changed since");
}

TEST_F(Store, the_first_entry_of_a_key_stays_but_manifests_grow) {
  store.keep(Kind::module, key_of(1), "one", "");
  EXPECT_TRUE(store.keep(Kind::module, key_of(1), "as good", ""));
  ASSERT_EQ(store.find(Kind::module, key_of(1), true, hit), Lookup::hit);
  EXPECT_EQ(hit.entry.payload, "one");
  store.keep(Kind::manifest, key_of(1), "one", "");
  store.keep(Kind::manifest, key_of(1), "two", "");
  ASSERT_EQ(store.find(Kind::manifest, key_of(1), true, hit), Lookup::hit);
  EXPECT_EQ(hit.entry.payload, "two");
  // A damaged one that nobody looked at is no reason to keep it.
  write_file(store.path_of(Kind::module, key_of(1)), "damaged");
  EXPECT_TRUE(store.keep(Kind::module, key_of(1), "mended", ""));
  ASSERT_EQ(store.find(Kind::module, key_of(1), true, hit), Lookup::hit);
  EXPECT_EQ(hit.entry.payload, "mended");
}

TEST_F(Store, damage_is_a_miss_and_set_aside_and_can_be_mended) {
  store.keep(Kind::module, key_of(1), "bytes", "meta");
  const std::string path = store.path_of(Kind::module, key_of(1));
  const std::string whole = read_file(path);
  for (std::size_t size = 0; size < whole.size(); size += 7) {
    write_file(path, whole.substr(0, size));
    EXPECT_EQ(store.find(Kind::module, key_of(1), true, hit), Lookup::miss) << size;
    EXPECT_FALSE(fs::exists(path));
  }
  std::string flipped = whole;
  flipped[2] ^= 4;
  write_file(path, flipped);
  EXPECT_EQ(store.find(Kind::module, key_of(1), true, hit), Lookup::miss);
  EXPECT_EQ(files_with("/aside/"), 1u);
  EXPECT_TRUE(store.keep(Kind::module, key_of(1), "bytes", "meta"));
  EXPECT_EQ(store.find(Kind::module, key_of(1), true, hit), Lookup::hit);
  EXPECT_EQ(store.counters().corrupt, (whole.size() + 6) / 7 + 1);
}

TEST_F(Store, a_valid_entry_under_another_name_is_a_miss) {
  store.keep(Kind::module, key_of(1), "one", "");
  store.keep(Kind::module, key_of(2), "two", "");
  fs::rename(store.path_of(Kind::module, key_of(1)), store.path_of(Kind::module, key_of(2)));
  EXPECT_EQ(store.find(Kind::module, key_of(2), true, hit), Lookup::miss);
}

TEST_F(Store, keys_that_are_cut_to_8_bits_never_hit_each_other) {
  // Under names of 8 bits, these keys would have one file.
  std::vector<Key> same;
  for (int i = 0; same.size() < 12; ++i)
    if (const Key key = hash_bytes(std::to_string(i)); key[0] == 7) same.push_back(key);
  for (const Key& key : same) ASSERT_TRUE(store.keep(Kind::module, key, hex(key), ""));
  std::vector<std::string> files;
  for (const Key& key : same) files.push_back(read_file(store.path_of(Kind::module, key)));
  for (const Key& asked : same) {
    for (std::size_t i = 0; i < same.size(); ++i) {
      const std::string path = store.path_of(Kind::module, asked);
      fs::remove(path);
      write_file(path, files[i]);
      if (same[i] == asked) {
        ASSERT_EQ(store.find(Kind::module, asked, true, hit), Lookup::hit);
        EXPECT_EQ(hit.entry.payload, hex(asked));
      } else {
        EXPECT_EQ(store.find(Kind::module, asked, true, hit), Lookup::miss);
      }
    }
  }
}

TEST_F(Store, links_and_fifos_and_folders_are_refused_and_their_targets_untouched) {
  store.keep(Kind::module, key_of(1), "bytes", "");
  const std::string path = store.path_of(Kind::module, key_of(1));
  // A link to an entry that would be right.
  fs::rename(path, dir / "target");
  const std::string target = read_file(dir / "target");
  fs::create_symlink(dir / "target", path);
  EXPECT_EQ(store.find(Kind::module, key_of(1), true, hit), Lookup::miss);
  EXPECT_TRUE(store.keep(Kind::module, key_of(1), "again", ""));
  EXPECT_EQ(read_file(dir / "target"), target);

  ::unlink(path.c_str());
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(store.find(Kind::module, key_of(1), true, hit), Lookup::miss);
  EXPECT_TRUE(store.keep(Kind::module, key_of(1), "again", ""));

  ::unlink(path.c_str());
  fs::create_directory(path);
  EXPECT_EQ(store.find(Kind::module, key_of(1), true, hit), Lookup::miss);
  EXPECT_TRUE(store.keep(Kind::module, key_of(1), "again", ""));
  EXPECT_EQ(store.find(Kind::module, key_of(1), true, hit), Lookup::hit);
}

TEST_F(Store, a_folder_that_others_write_to_is_not_used) {
  fs::create_directory(dir / "open");
  ASSERT_EQ(::chmod((dir / "open").c_str(), 0777), 0);
  DiskStore open(dir / "open", 0);
  EXPECT_FALSE(open.usable());
  EXPECT_NE(open.refusal().find("chmod"), std::string::npos);
  EXPECT_EQ(open.find(Kind::module, key_of(1), true, hit), Lookup::fault);
  EXPECT_FALSE(open.keep(Kind::module, key_of(1), "bytes", ""));
  EXPECT_TRUE(fs::is_empty(dir / "open"));
}

TEST_F(Store, too_many_open_files_is_a_fault_and_removes_nothing) {
  store.keep(Kind::module, key_of(1), "bytes", "");
  std::vector<UniqueFd> hoard;
  for (;;) {
    UniqueFd fd(::dup(0));
    if (!fd) break;
    hoard.push_back(std::move(fd));
  }
  EXPECT_EQ(store.find(Kind::module, key_of(1), true, hit), Lookup::fault);
  EXPECT_FALSE(store.keep(Kind::module, key_of(2), "bytes", ""));
  hoard.clear();
  EXPECT_EQ(store.find(Kind::module, key_of(1), true, hit), Lookup::hit);
  EXPECT_EQ(store.counters().faults, 1u);
  EXPECT_EQ(store.counters().store_failures, 1u);
  EXPECT_EQ(files_with(".tmp."), 0u);
}

TEST_F(Store, memory_of_a_verified_file_ends_with_its_stamp) {
  store.keep(Kind::module, key_of(1), "bytes", "");
  ASSERT_EQ(store.find(Kind::module, key_of(1), true, hit), Lookup::hit);
  UniqueFd fd;
  EXPECT_TRUE(store.reopen(hit.path, hit.stamp, fd));
  write_file(hit.path, "other");
  EXPECT_FALSE(store.reopen(hit.path, hit.stamp, fd));
  ::unlink(hit.path.c_str());
  EXPECT_FALSE(store.reopen(hit.path, hit.stamp, fd));
}

TEST_F(Store, the_folder_may_vanish_and_come_back) {
  store.keep(Kind::module, key_of(1), "bytes", "");
  fs::remove_all(dir / "cache");
  EXPECT_EQ(store.find(Kind::module, key_of(1), true, hit), Lookup::miss);
  EXPECT_TRUE(store.keep(Kind::module, key_of(1), "bytes", ""));
  EXPECT_EQ(store.find(Kind::module, key_of(1), true, hit), Lookup::hit);
}

TEST_F(Store, a_full_disk_fails_the_store_and_leaves_no_litter) {
  fs::create_directory(dir / "small");
  in_private_mounts([&] {
    if (::mount("tmpfs", (dir / "small").c_str(), "tmpfs", 0, "size=1m,mode=700") != 0) ::_exit(77);
    DiskStore small(dir / "small", 0);
    EXPECT_TRUE(small.keep(Kind::module, key_of(1), std::string(500'000, 'a'), ""));
    EXPECT_FALSE(small.keep(Kind::module, key_of(2), std::string(700'000, 'b'), ""));
    EXPECT_EQ(small.counters().store_failures, 1u);
    EXPECT_EQ(small.find(Kind::module, key_of(2), true, hit), Lookup::miss);
    EXPECT_EQ(small.find(Kind::module, key_of(1), true, hit), Lookup::hit);
    EXPECT_EQ(files_with(".tmp."), 0u);
    EXPECT_TRUE(small.keep(Kind::module, key_of(3), std::string(100'000, 'c'), ""));
  });
}

TEST_F(Store, a_read_only_folder_gives_hits_and_takes_nothing) {
  store.keep(Kind::module, key_of(1), "bytes", "");
  store.keep(Kind::module, key_of(2), "bytes", "");
  const std::string damaged = store.path_of(Kind::module, key_of(2));
  write_file(damaged, "junk");
  in_private_mounts([&] {
    make_read_only(dir / "cache");
    DiskStore read_only(dir / "cache", 1);
    EXPECT_TRUE(read_only.usable());
    EXPECT_EQ(read_only.find(Kind::module, key_of(1), true, hit), Lookup::hit);
    EXPECT_EQ(read_only.find(Kind::module, key_of(2), true, hit), Lookup::miss);
    EXPECT_FALSE(read_only.keep(Kind::module, key_of(3), "bytes", ""));
    EXPECT_EQ(read_only.counters().store_failures, 1u);
    EXPECT_TRUE(fs::exists(damaged));
  });
}

TEST_F(Store, a_noexec_folder_is_noticed) {
  fs::create_directory(dir / "noexec");
  EXPECT_TRUE(store.executable());
  in_private_mounts([&] {
    if (::mount("tmpfs", (dir / "noexec").c_str(), "tmpfs", MS_NOEXEC, "size=1m,mode=700") != 0) ::_exit(77);
    EXPECT_FALSE(DiskStore(dir / "noexec", 0).executable());
  });
}

TEST_F(Store, a_forbidden_folder_is_a_fault) {
  if (::geteuid() == 0) {
    // Root is stopped by nothing; an ordinary user tries.
    store.keep(Kind::module, key_of(1), "bytes", "");
    fs::permissions(dir.path(), fs::perms::all);
    for (const auto& item : fs::recursive_directory_iterator(dir.path())) {
      ASSERT_EQ(::chown(item.path().c_str(), 4242, 4242), 0);
    }
    const pid_t child = ::fork();
    if (child == 0) {
      if (::setgid(4242) != 0 || ::setuid(4242) != 0) ::_exit(3);
      DiskStore mine(dir / "cache", 0);
      const bool before = mine.find(Kind::module, key_of(1), true, hit) == Lookup::hit;
      ::chmod((dir / "cache/1").c_str(), 0);
      const bool fault = mine.find(Kind::module, key_of(1), true, hit) == Lookup::fault;
      const bool refused = !mine.keep(Kind::module, key_of(2), "bytes", "");
      ::chmod((dir / "cache/1").c_str(), 0700);
      const bool after = mine.find(Kind::module, key_of(1), true, hit) == Lookup::hit;
      ::_exit(before && fault && refused && after ? 0 : 1);
    }
    int state = 0;
    ::waitpid(child, &state, 0);
    EXPECT_EQ(state, 0);
    return;
  }
  store.keep(Kind::module, key_of(1), "bytes", "");
  ::chmod((dir / "cache/1").c_str(), 0);
  EXPECT_EQ(store.find(Kind::module, key_of(1), true, hit), Lookup::fault);
  ::chmod((dir / "cache/1").c_str(), 0700);
  EXPECT_EQ(store.find(Kind::module, key_of(1), true, hit), Lookup::hit);
}

// Sizes and eviction.

void set_used(const std::string& path, std::int64_t seconds_ago) {
  const timespec time{::time(nullptr) - seconds_ago, 0};
  const timespec times[2] = {time, time};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

TEST_F(Store, what_was_not_used_for_the_longest_time_goes_first) {
  const std::string bytes(100'000, 'x');
  for (int i = 0; i < 10; ++i) {
    store.keep(Kind::module, key_of(i), bytes, "");
    set_used(store.path_of(Kind::module, key_of(i)), 10'000 - 100 * i);
  }
  // A hit makes the oldest one young again.
  ASSERT_EQ(store.find(Kind::module, key_of(0), false, hit), Lookup::hit);
  hit = {};
  const SweepResult result = sweep(dir / "cache/1", 620'000);
  EXPECT_LE(result.bytes, 558'000u);
  EXPECT_EQ(result.evicted, 5u);
  EXPECT_EQ(store.find(Kind::module, key_of(0), false, hit), Lookup::hit);
  for (int i = 1; i < 6; ++i) EXPECT_EQ(store.find(Kind::module, key_of(i), false, hit), Lookup::miss) << i;
  for (int i = 6; i < 10; ++i) EXPECT_EQ(store.find(Kind::module, key_of(i), false, hit), Lookup::hit) << i;
}

TEST_F(Store, an_entry_in_use_is_not_evicted) {
  store.keep(Kind::module, key_of(1), std::string(100'000, 'x'), "");
  ASSERT_EQ(store.find(Kind::module, key_of(1), false, hit), Lookup::hit);
  EXPECT_EQ(sweep(dir / "cache/1", 1000).evicted, 0u);
  EXPECT_TRUE(fs::exists(hit.path));
  hit = {};
  EXPECT_EQ(sweep(dir / "cache/1", 1000).evicted, 1u);
}

TEST_F(Store, what_an_eviction_has_locked_is_gone_for_readers) {
  store.keep(Kind::module, key_of(1), "bytes", "");
  ASSERT_EQ(store.find(Kind::module, key_of(1), false, hit), Lookup::hit);
  const FileStamp stamp = hit.stamp;
  const std::string path = hit.path;
  hit = {};
  // Between its lock and its unlink, as sweep() does it.
  UniqueFd eviction(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(::flock(eviction.get(), LOCK_EX | LOCK_NB), 0);
  UniqueFd fd;
  EXPECT_EQ(store.find(Kind::module, key_of(1), false, hit), Lookup::miss);
  EXPECT_FALSE(store.reopen(path, stamp, fd));
  eviction.reset();
  EXPECT_EQ(store.find(Kind::module, key_of(1), false, hit), Lookup::hit);
  EXPECT_TRUE(store.reopen(path, stamp, fd));
}

TEST_F(Store, storing_keeps_the_size_within_its_limit) {
  DiskStore small(dir / "small", 1'000'000);
  for (int i = 0; i < 50; ++i)
    ASSERT_TRUE(small.keep(Kind::module, key_of(i), std::string(100'000, 'x'), ""));
  EXPECT_GE(small.counters().evictions, 40u);
  EXPECT_LE(sweep(dir / "small/1", 0).bytes, 1'000'000u);
  EXPECT_EQ(small.find(Kind::module, key_of(49), false, hit), Lookup::hit);
  // A total that was lost or is nonsense is counted anew.
  write_file(dir / "small/1/size", "nonsense nonsense");
  EXPECT_TRUE(small.keep(Kind::module, key_of(100), "x", ""));
  EXPECT_EQ(read_file(dir / "small/1/size").size(), 17u);
  std::uint64_t total;
  std::memcpy(&total, read_file(dir / "small/1/size").data(), 8);
  EXPECT_EQ(total, sweep(dir / "small/1", 0).bytes);
}

TEST_F(Store, litter_of_killed_processes_goes_and_fresh_temporaries_stay) {
  store.keep(Kind::module, key_of(1), "x", "");
  const std::string old_litter = store.path_of(Kind::module, key_of(1)) + ".tmp.1.2.3";
  const std::string fresh = store.path_of(Kind::module, key_of(1)) + ".tmp.4.5.6";
  write_file(old_litter, "half");
  write_file(fresh, "half");
  set_used(old_litter, 7200);
  sweep(dir / "cache/1", 0);
  EXPECT_FALSE(fs::exists(old_litter));
  EXPECT_TRUE(fs::exists(fresh));
}

TEST_F(Store, readers_never_fail_while_eviction_runs) {
  DiskStore small(dir / "small", 1'000'000);
  std::atomic<bool> stop{false};
  std::atomic<int> loads{0}, failures{0};
  std::vector<std::thread> readers;
  for (int t = 0; t < 8; ++t) {
    readers.emplace_back([&, t] {
      DiskStore mine(dir / "small", 1'000'000);
      for (int i = t; !stop; ++i) {
        Hit found;
        if (mine.find(Kind::module, key_of(i % 20), false, found) != Lookup::hit) continue;
        // As dlopen does: by name, some time after the look-up.
        std::this_thread::yield();
        const bool there = fs::exists(found.path);
        there ? ++loads : ++failures;
      }
    });
  }
  for (int i = 0; i < 400; ++i) small.keep(Kind::module, key_of(i % 20), std::string(100'000 + i, 'x'), "");
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_GT(loads, 0);
  EXPECT_EQ(failures, 0);
  EXPECT_GT(small.counters().evictions, 100u);
}

/// What others can do to a folder or file of the cache.
std::vector<std::function<void(const std::string&)>> ways_to_open_up() {
  std::vector<std::function<void(const std::string&)>> ways;
  for (const mode_t mode : {0720, 0702})
    ways.push_back([=](const std::string& path) { ASSERT_EQ(::chmod(path.c_str(), mode), 0); });
  // Only root can give a file away.
  if (::geteuid() == 0)
    ways.push_back([](const std::string& path) { ASSERT_EQ(::chown(path.c_str(), 12345, 12345), 0); });
  return ways;
}

TEST_F(Store, inner_folders_that_others_can_write_to_are_refused_with_a_remedy) {
  ASSERT_TRUE(store.keep(Kind::module, key_of(1), "bytes", ""));
  for (const char* inner : {"/1", "/1/module"}) {
    for (const auto& open_up : ways_to_open_up()) {
      const std::string folder = (dir / "cache") + inner;
      open_up(folder);
      DiskStore second(dir / "cache", 0);
      EXPECT_FALSE(second.usable());
      EXPECT_NE(second.refusal().find(folder + ": "), std::string::npos) << second.refusal();
      EXPECT_THAT(second.refusal(), ::testing::ContainsRegex("; (chown it|run chmod go-w)"));
      EXPECT_EQ(second.find(Kind::module, key_of(1), true, hit), Lookup::fault);
      EXPECT_FALSE(second.keep(Kind::module, key_of(2), "bytes", ""));
      ASSERT_EQ(::chmod(folder.c_str(), 0700), 0);
      static_cast<void>(::chown(folder.c_str(), ::geteuid(), ::getegid()));
    }
  }
  EXPECT_TRUE(DiskStore(dir / "cache", 0).usable());
  // Elsewhere the folder may belong to anybody.
  fs::rename(dir / "cache/1/module", dir / "elsewhere");
  fs::create_symlink(dir / "elsewhere", dir / "cache/1/module");
  EXPECT_FALSE(DiskStore(dir / "cache", 0).usable());
}

TEST_F(Store, a_folder_of_entries_that_others_can_write_to_is_not_used) {
  ASSERT_TRUE(store.keep(Kind::module, key_of(1), "bytes", ""));
  const std::string path = store.path_of(Kind::module, key_of(1));
  const std::string folder = path.substr(0, path.find_last_of('/'));
  for (const auto& open_up : ways_to_open_up()) {
    open_up(folder);
    EXPECT_EQ(store.find(Kind::module, key_of(1), true, hit), Lookup::fault);
    EXPECT_FALSE(store.keep(Kind::module, key_of(1), "other", ""));
    ASSERT_EQ(::chmod(folder.c_str(), 0700), 0);
    static_cast<void>(::chown(folder.c_str(), ::geteuid(), ::getegid()));
  }
  EXPECT_EQ(store.find(Kind::module, key_of(1), true, hit), Lookup::hit);
}

TEST_F(Store, an_entry_that_others_can_write_to_is_set_aside) {
  for (const auto& open_up : ways_to_open_up()) {
    ASSERT_TRUE(store.keep(Kind::module, key_of(1), "bytes", ""));
    open_up(store.path_of(Kind::module, key_of(1)));
    EXPECT_EQ(store.find(Kind::module, key_of(1), true, hit), Lookup::miss);
    EXPECT_FALSE(fs::exists(store.path_of(Kind::module, key_of(1))));
  }
}

}  // namespace
}  // namespace tarsia::cache
