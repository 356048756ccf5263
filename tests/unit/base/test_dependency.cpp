// Dependencies and the stamps that vouch for contents.
#include "base/dependency.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "tests/unit/base/temporary_dir.h"
#include "tests/unit/base/waiting.h"

namespace tarsia {
namespace {

namespace fs = std::filesystem;

FileStamp stamp_of(const std::string& path) {
  struct stat status;
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  return FileStamp::of(status);
}

/// A dependency on the file as it is now, with its stamp.
Dependency on(const std::string& path) {
  return {.path = path, .content = hash_bytes(read_file(path)), .stamp = stamp_of(path)};
}

Dependency on_absence_of(const std::string& path) {
  return {.path = path, .absent = true};
}

TEST(Dependency, stamps_vouch_and_contents_decide) {
  const TemporaryDir dir;
  write_file(dir / "h", "one");
  Dependency dependency = on(dir / "h");
  FileStamp stamp;
  EXPECT_EQ(check(dependency, stamp), DependencyState::same);
  // The stamp is believed without a look at the content.
  dependency.content = hash_bytes("something else");
  EXPECT_EQ(check(dependency, stamp), DependencyState::same);
  // Written again with the same content: read, and the same.
  dependency = on(dir / "h");
  write_file(dir / "h", "one");
  EXPECT_EQ(check(dependency, stamp), DependencyState::vouched);
  write_file(dir / "h", "two");
  EXPECT_EQ(check(dependency, stamp), DependencyState::changed);
  fs::remove(dir / "h");
  EXPECT_EQ(check(dependency, stamp), DependencyState::changed);
  fs::create_directory(dir / "h");
  EXPECT_EQ(check(dependency, stamp), DependencyState::changed);
}

TEST(Dependency, a_fresh_stamp_vouches_for_nothing) {
  const TemporaryDir dir;
  write_file(dir / "h", "one");
  std::string bytes;
  FileStamp stamp{1, 2, 3, 4, 5};
  EXPECT_EQ(read_stamped(dir / "h", 100, bytes, stamp), 0);
  EXPECT_EQ(bytes, "one");
  EXPECT_EQ(stamp, FileStamp{});
  Dependency dependency = on(dir / "h");
  dependency.stamp = {};
  EXPECT_EQ(check(dependency, stamp), DependencyState::vouched);
  EXPECT_EQ(stamp, FileStamp{});
  struct stat old;
  ASSERT_EQ(::stat((dir / "h").c_str(), &old), 0);
  old.st_mtim.tv_sec -= 10;
  old.st_ctim.tv_sec -= 10;
  EXPECT_EQ(vouching_stamp(old), FileStamp::of(old));
  // An old mtime says nothing: anybody can set it. The change of status counts.
  old.st_ctim.tv_sec += 10;
  EXPECT_EQ(vouching_stamp(old), FileStamp{});
}

TEST(Dependency, the_stamp_of_a_file_at_rest_vouches) {
  // This program was linked before it was started, on most machines longer ago than a moment.
  struct stat status;
  ASSERT_EQ(::stat("/proc/self/exe", &status), 0);
  std::string bytes;
  FileStamp stamp;
  const FileStamp expected = vouching_stamp(status);
  EXPECT_EQ(read_stamped("/proc/self/exe", std::uint64_t{1} << 30, bytes, stamp), 0);
  EXPECT_TRUE(stamp == expected || expected == FileStamp{});
  EXPECT_EQ(bytes.size(), static_cast<std::size_t>(status.st_size));
}

TEST(Dependency, what_is_no_file_or_too_large_is_not_read) {
  const TemporaryDir dir;
  std::string bytes;
  FileStamp stamp;
  ASSERT_EQ(::mkfifo((dir / "fifo").c_str(), 0600), 0);
  EXPECT_EQ(read_stamped(dir / "fifo", 100, bytes, stamp), EINVAL);
  EXPECT_EQ(read_stamped(dir.path(), 100, bytes, stamp), EINVAL);
  EXPECT_EQ(read_stamped(dir / "none", 100, bytes, stamp), ENOENT);
  write_file(dir / "h", "one");
  EXPECT_EQ(read_stamped(dir / "h", 2, bytes, stamp), EFBIG);
}

TEST(Dependency, a_change_that_keeps_size_and_mtime_is_seen) {
  const TemporaryDir dir;
  write_file(dir / "h", "one");
  const Dependency dependency = on(dir / "h");
  struct stat status;
  ASSERT_EQ(::stat((dir / "h").c_str(), &status), 0);
  const FileStamp before = FileStamp::of(status);
  const int fd = ::open((dir / "h").c_str(), O_WRONLY);
  const timespec times[2] = {status.st_atim, status.st_mtim};
  // The clock of the file system goes in steps: a change within the first step cannot be seen.
  const bool moved = wait_until([&] {
    return ::pwrite(fd, "two", 3, 0) != 3 || ::futimens(fd, times) != 0 || !(stamp_of(dir / "h") == before);
  });
  ::close(fd);
  ASSERT_TRUE(moved);
  ASSERT_EQ(read_file(dir / "h"), "two");
  FileStamp stamp;
  EXPECT_EQ(check(dependency, stamp), DependencyState::changed);
}

TEST(Dependency, absence_is_a_dependency) {
  const TemporaryDir dir;
  FileStamp stamp;
  EXPECT_EQ(check(on_absence_of(dir / "h"), stamp), DependencyState::same);
  EXPECT_EQ(check(on_absence_of(dir / "no/such/h"), stamp), DependencyState::same);
  write_file(dir / "h", "");
  EXPECT_EQ(check(on_absence_of(dir / "h"), stamp), DependencyState::changed);
  EXPECT_EQ(check(on_absence_of(dir / "h/x"), stamp), DependencyState::same);
}

TEST(Dependency, fifos_and_devices_are_not_read) {
  const TemporaryDir dir;
  write_file(dir / "h", "one");
  const Dependency dependency = on(dir / "h");
  fs::remove(dir / "h");
  ASSERT_EQ(::mkfifo((dir / "h").c_str(), 0600), 0);
  FileStamp stamp;
  EXPECT_EQ(check(dependency, stamp), DependencyState::changed);
  fs::remove(dir / "h");
  fs::create_symlink("/dev/zero", dir / "h");
  EXPECT_EQ(check(dependency, stamp), DependencyState::changed);
}

}  // namespace
}  // namespace tarsia
