// Dependencies and the stamps that vouch for contents.
#include "base/dependency.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "tests/unit/base/dependencies.h"
#include "tests/unit/base/temporary_dir.h"
#include "tests/unit/base/waiting.h"

namespace tarsia {
namespace {

namespace fs = std::filesystem;

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
  // What was installed with the machine has not changed for longer than a moment. This program may just have
  // been linked.
  constexpr char k_at_rest[] = "/bin/sh";
  struct stat status;
  ASSERT_EQ(::stat(k_at_rest, &status), 0);
  std::string bytes;
  FileStamp stamp;
  EXPECT_EQ(read_stamped(k_at_rest, std::uint64_t{1} << 30, bytes, stamp), 0);
  EXPECT_EQ(stamp, FileStamp::of(status));
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

TEST(Dependency, stamps_are_renewed_until_one_has_changed) {
  const TemporaryDir dir;
  write_file(dir / "a", "one");
  write_file(dir / "b", "two");
  std::vector<Dependency> all = {on(dir / "a"), on_absence_of(dir / "none"), on(dir / "b")};
  EXPECT_EQ(renew_stamps(all), nullptr);
  EXPECT_EQ(renew_stamps({}), nullptr);
  write_file(dir / "none", "");
  EXPECT_EQ(renew_stamps(all), &all[1]);
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
