// The counts: what a process adds up, and the file of all processes.
#include "cache/tally.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "base/file.h"
#include "base/lock.h"
#include "tests/unit/base/temporary_dir.h"
#include "tests/unit/cache/private_mounts.h"

namespace tarsia::cache {
namespace {

namespace fs = std::filesystem;

struct TallyTest : ::testing::Test {
  TemporaryDir dir;
  DiskStore store{dir / "cache", 0};
};

TEST_F(TallyTest, counts_outlive_their_process) {
  {
    Tally tally(store);
    tally.add(Count::hit_disk);
    tally.add(Count::hit_disk);
    tally.add(Count::miss_changed);
    EXPECT_EQ(tally.of_process()[Count::hit_disk], 2u);
    EXPECT_EQ(tally.of_all()[Count::hit_disk], 0u) << "a hit does not pay for the file";
    tally.merge();
    tally.merge();
    EXPECT_EQ(tally.of_all()[Count::hit_disk], 2u);
    tally.add(Count::compiled);
    EXPECT_TRUE(tally.merge());
  }
  const Tally later(store);
  EXPECT_EQ(later.of_all()[Count::hit_disk], 2u);
  EXPECT_EQ(later.of_all()[Count::miss_changed], 1u);
  EXPECT_EQ(later.of_all()[Count::compiled], 1u);
  EXPECT_GT(later.of_all().since, 0);
  EXPECT_EQ(later.of_process()[Count::hit_disk], 0u);
}

TEST_F(TallyTest, entries_that_the_folder_did_not_keep_are_counted) {
  const Key key = hash_bytes("key");
  fs::create_directories(store.root() + "/module");
  write_file(store.root() + "/module/" + hex(key).substr(0, 2), "in the place of a folder");
  {
    Tally tally(store);
    EXPECT_FALSE(store.keep(Kind::module, key, "payload", "meta"));
    EXPECT_EQ(tally.of_process()[Count::store_failed], 1u);
    EXPECT_TRUE(tally.merge());
  }
  EXPECT_EQ(Tally(store).of_all()[Count::store_failed], 1u);
}

TEST_F(TallyTest, times_of_compiles_are_counted_by_ranges) {
  {
    Tally tally(store);
    tally.add_compile(true, 0.02);
    tally.add_compile(false, 0.02);
    tally.add_compile(true, 400);
    EXPECT_TRUE(tally.merge());
  }
  const Counts counts = Tally(store).of_all();
  EXPECT_EQ(counts[Count::compiled], 2u);
  EXPECT_EQ(counts[Count::compile_failed], 1u);
  const Durations times = compile_times(counts);
  EXPECT_EQ(times.counts[duration_range(0.02)], 2u);
  EXPECT_EQ(times.counts.back(), 1u);
  EXPECT_NEAR(times.seconds, 400.04, 1e-4);
  for_each_count(counts, [](std::string_view group, std::string_view name, std::uint64_t) {
    EXPECT_FALSE(name.empty()) << group;
  });
}

TEST_F(TallyTest, many_processes_lose_nothing) {
  constexpr int k_processes = 8, k_each = 50;
  for (int i = 0; i < k_processes; ++i) {
    if (::fork() != 0) continue;
    {
      Tally tally(store);
      for (int k = 0; k < k_each; ++k) {
        tally.add(Count::hit_memory);
        tally.merge(std::chrono::milliseconds(0));  // mostly in vain: others are at it
      }
      if (!tally.merge(std::chrono::minutes(2))) ::_exit(1);
    }
    ::_exit(0);
  }
  for (int i = 0; i < k_processes; ++i) {
    int status = 0;
    ::wait(&status);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(Tally(store).of_all()[Count::hit_memory], std::uint64_t{k_processes * k_each});
}

TEST_F(TallyTest, a_forked_child_does_not_count_again_what_its_parent_counted) {
  Tally tally(store);
  tally.add(Count::hit_disk);
  const pid_t child = ::fork();
  if (child == 0) {
    tally.add(Count::hit_memory);
    tally.merge();
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  tally.merge();
  EXPECT_EQ(tally.of_all()[Count::hit_disk], 1u);
  EXPECT_EQ(tally.of_all()[Count::hit_memory], 1u);
}

TEST_F(TallyTest, a_lock_that_is_held_delays_nobody_and_loses_nothing) {
  Tally tally(store);
  tally.add(Count::hit_disk);
  {
    FileLock held;
    ASSERT_EQ(held.try_lock(store.counts_lock()), FileLock::Status::locked);
    EXPECT_FALSE(tally.merge());
    EXPECT_EQ(tally.of_all()[Count::hit_disk], 0u);
  }
  tally.merge();
  EXPECT_EQ(tally.of_all()[Count::hit_disk], 1u);
}

TEST_F(TallyTest, a_damaged_file_is_begun_again) {
  Tally tally(store);
  tally.add(Count::hit_disk);
  tally.merge();
  std::string bytes;
  ASSERT_EQ(read_file(store.counts_path(), bytes, 4096), 0);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    write_file(store.counts_path(), damaged, 0600);
    EXPECT_EQ(tally.of_all()[Count::hit_disk], 0u) << i;
    write_file(store.counts_path(), bytes.substr(0, i), 0600);
    EXPECT_EQ(tally.of_all()[Count::hit_disk], 0u) << i;
  }
  write_file(store.counts_path(), std::string(4000, 'x'), 0600);
  tally.add(Count::hit_disk);
  tally.merge();
  EXPECT_EQ(tally.of_all()[Count::hit_disk], 1u);
}

TEST_F(TallyTest, a_link_in_the_place_of_the_file_is_not_followed) {
  write_file(dir / "target", "mine");
  fs::create_directories(store.root());
  fs::create_symlink(dir / "target", store.counts_path());
  Tally tally(store);
  tally.add(Count::hit_disk);
  EXPECT_FALSE(tally.merge());
  EXPECT_EQ(read_file(dir / "target", 100), "mine");
  fs::remove(store.counts_path());
  ASSERT_EQ(::mkfifo(store.counts_path().c_str(), 0600), 0);
  EXPECT_FALSE(tally.merge());
  EXPECT_EQ(tally.of_all()[Count::hit_disk], 0u);
}

TEST_F(TallyTest, a_folder_that_is_not_used_keeps_nothing) {
  fs::create_directory(dir / "open");
  fs::permissions(dir / "open", fs::perms::all);
  const DiskStore refused(dir / "open", 0);
  ASSERT_FALSE(refused.usable());
  Tally tally(refused);
  tally.add(Count::miss_fault);
  EXPECT_FALSE(tally.merge());
  EXPECT_EQ(tally.of_process()[Count::miss_fault], 1u);
  EXPECT_EQ(tally.of_all()[Count::miss_fault], 0u);
  EXPECT_TRUE(fs::is_empty(dir / "open"));
}

TEST_F(TallyTest, a_read_only_folder_tells_its_counts_and_takes_none) {
  {
    Tally before(store);
    before.add(Count::hit_disk);
    ASSERT_TRUE(before.merge());
  }
  in_private_mounts([&] {
    make_read_only(dir / "cache");
    const DiskStore read_only(dir / "cache", 0);
    Tally tally(read_only);
    tally.add(Count::hit_disk);
    EXPECT_FALSE(tally.merge());
    EXPECT_EQ(tally.of_process()[Count::hit_disk], 1u);
    EXPECT_EQ(tally.of_all()[Count::hit_disk], 1u);
  });
}

TEST_F(TallyTest, a_full_disk_takes_no_counts_and_harms_nobody) {
  fs::create_directory(dir / "small");
  in_private_mounts([&] {
    if (::mount("tmpfs", (dir / "small").c_str(), "tmpfs", 0, "size=1m,mode=700") != 0) ::_exit(77);
    const DiskStore small(dir / "small", 0);
    Tally tally(small);
    const auto fill = [&] {
      const UniqueFd fd(::open((dir / "small/rest").c_str(), O_WRONLY | O_CREAT, 0600));
      const std::string page(4096, 'x');
      while (::write(fd.get(), page.data(), page.size()) > 0) {
      }
    };
    ASSERT_FALSE(small.counts_lock().empty());
    {
      FileLock made;
      ASSERT_EQ(made.try_lock(small.counts_lock()), FileLock::Status::locked);
    }
    fill();
    tally.add(Count::hit_disk);
    EXPECT_FALSE(tally.merge());
    fs::remove(dir / "small/rest");
    EXPECT_TRUE(tally.merge());
    // What the file has is written over in place, which needs no room.
    fill();
    tally.add(Count::hit_disk);
    EXPECT_TRUE(tally.merge());
    EXPECT_EQ(tally.of_all()[Count::hit_disk], 2u);
  });
}

}  // namespace
}  // namespace tarsia::cache
