// Files: whole reads, whole writes, and refusals.
#include "base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>

#include "base/error.h"
#include "tests/unit/base/temporary_dir.h"

namespace tarsia {
namespace {

namespace fs = std::filesystem;

std::size_t count_files(const std::string& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), {}));
}

TEST(File, what_is_written_is_read) {
  const TemporaryDir dir;
  const std::string path = dir / "f";
  const std::string bytes("with\0nul", 8);
  write_file(path, bytes);
  EXPECT_EQ(read_file(path), bytes);
  EXPECT_THROW(read_file(path, 7), Error);
  EXPECT_EQ(read_file(path, 8), bytes);
  EXPECT_EQ(count_files(dir.path()), 1u);
  // The size that /proc states is 0.
  EXPECT_NE(read_file("/proc/self/status").find("Name:"), std::string::npos);
}

TEST(File, errors_name_the_path) {
  try {
    read_file("/nonexistent/x");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("/nonexistent/x"), std::string::npos);
  }
}

TEST(File, a_reader_sees_the_old_or_the_new_file_and_nothing_between) {
  const TemporaryDir dir;
  const std::string path = dir / "f";
  const std::string old_bytes(100'000, 'a'), new_bytes(200'000, 'b');
  write_file(path, old_bytes);
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (int i = 0; !stop; ++i) write_file(path, i % 2 ? old_bytes : new_bytes);
  });
  for (int i = 0; i < 300; ++i) {
    const std::string bytes = read_file(path);
    ASSERT_TRUE(bytes == old_bytes || bytes == new_bytes) << bytes.size();
  }
  stop = true;
  writer.join();
}

TEST(File, a_failed_write_leaves_nothing_behind) {
  const TemporaryDir dir;
  struct rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  struct rlimit small = before;
  small.rlim_cur = 1000;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string bytes(2000, 'x');
  const std::string_view pieces[] = {bytes};
  const int error = publish(dir / "f", pieces);
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_EQ(error, EFBIG);
  EXPECT_EQ(count_files(dir.path()), 0u);
}

TEST(File, publish_joins_its_pieces_and_replaces_a_link_rather_than_its_target) {
  const TemporaryDir dir;
  write_file(dir / "target", "precious");
  fs::create_symlink(dir / "target", dir / "link");
  const std::string_view pieces[] = {"a", "", "bc"};
  EXPECT_EQ(publish(dir / "link", pieces), 0);
  EXPECT_EQ(read_file(dir / "link"), "abc");
  EXPECT_FALSE(fs::is_symlink(dir / "link"));
  EXPECT_EQ(read_file(dir / "target"), "precious");
}

TEST(File, only_regular_files_are_opened_as_such) {
  const TemporaryDir dir;
  UniqueFd fd;
  struct stat status;
  write_file(dir / "target", "x");
  EXPECT_EQ(open_regular(dir / "target", fd, status), 0);
  EXPECT_TRUE(fd);
  fs::create_symlink(dir / "target", dir / "link");
  EXPECT_EQ(open_regular(dir / "link", fd, status), ELOOP);
  EXPECT_EQ(open_regular(dir / "link", fd, status, Links::follow), 0);
  EXPECT_TRUE(S_ISREG(status.st_mode));
  EXPECT_EQ(open_regular(dir.path(), fd, status, Links::follow), EINVAL);
  ASSERT_EQ(::mkfifo((dir / "fifo").c_str(), 0600), 0);
  EXPECT_EQ(open_regular(dir / "fifo", fd, status), EINVAL);
  EXPECT_EQ(open_regular("/dev/zero", fd, status), EINVAL);
  EXPECT_EQ(open_regular(dir.path(), fd, status), EINVAL);
  EXPECT_EQ(open_regular(dir / "absent", fd, status), ENOENT);
}

TEST(File, directories_are_made_with_their_parents) {
  const TemporaryDir dir;
  EXPECT_EQ(make_directories(dir / "a/b/c"), 0);
  EXPECT_EQ(make_directories(dir / "a/b/c"), 0);
  EXPECT_TRUE(fs::is_directory(dir / "a/b/c"));
  write_file(dir / "file", "");
  EXPECT_EQ(make_directories(dir / "file"), ENOTDIR);
  EXPECT_EQ(make_directories(dir / "file/x"), ENOTDIR);
}

TEST(File, a_range_that_is_not_there_is_no_data) {
  const UniqueFd fd = make_memfd("t", "0123456789");
  char bytes[4] = {};
  EXPECT_EQ(read_at(fd.get(), bytes, 4, 6), 0);
  EXPECT_EQ(std::string_view(bytes, 4), "6789");
  EXPECT_EQ(read_at(fd.get(), bytes, 4, 7), ENODATA);
  EXPECT_EQ(read_at(fd.get(), bytes, 0, 100), 0);
  EXPECT_EQ(read_at(-1, bytes, 1, 0), EBADF);
}

TEST(File, files_without_a_size_are_read_to_their_end_and_limits_hold) {
  std::string bytes;
  EXPECT_EQ(read_file("/proc/self/stat", bytes, 1 << 16), 0);
  EXPECT_EQ(bytes.rfind(std::to_string(::getpid()) + " (", 0), 0u);
  EXPECT_EQ(read_file("/dev/zero", bytes, 1000), EFBIG);
  EXPECT_EQ(read_file("/no/such/file", bytes, 1000), ENOENT);
}

TEST(File, errors_about_descriptors_name_what_they_stand_for) {
  const UniqueFd fd = make_memfd("t", "0123456789");
  try {
    read_descriptor(fd.get(), 9, "/lib/it.so");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("cannot read /lib/it.so, whose 10 bytes are more than the 9"),
              std::string::npos)
        << error.what();
  }
}

TEST(File, memfds_are_sealed_and_read_by_ranges) {
  const UniqueFd fd = make_memfd("t", "0123456789");
  EXPECT_EQ(::write(fd.get(), "x", 1), -1);
  EXPECT_EQ(::ftruncate(fd.get(), 0), -1);
  EXPECT_EQ(read_descriptor(fd.get(), 100), "0123456789");
  EXPECT_EQ(read_descriptor(fd.get(), 3, 4, 100), "3456");
  EXPECT_THROW(read_descriptor(fd.get(), 3, 8, 100), Error);
  EXPECT_THROW(read_descriptor(fd.get(), ~std::uint64_t{0}, 2, 100), Error);
  EXPECT_THROW(read_descriptor(fd.get(), 0, 10, 9), Error);
  EXPECT_EQ(Mapping(fd.get()).bytes(), "0123456789");
  EXPECT_EQ(Mapping(make_memfd("e", "").get()).bytes(), "");
}

/// The state of a thread, by its file in /proc.
char state_of(const std::string& stat) {
  std::string text;
  std::getline(std::ifstream(stat), text);
  return text.at(text.rfind(')') + 2);
}

TEST(File, a_seal_waits_for_who_writes) {
  const UniqueFd fd(::memfd_create("t", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(fd.get(), 1), 0);
  void* const mapped = ::mmap(nullptr, 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  ASSERT_NE(mapped, MAP_FAILED);
  ASSERT_EQ(::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_WRITE), -1);
  ASSERT_EQ(errno, EBUSY);
  const std::string sealing = "/proc/self/task/" + std::to_string(::gettid()) + "/stat";
  std::atomic<bool> begins = false;
  std::thread writer([&] {
    // Until the other thread sleeps: the kernel does in F_ADD_SEALS, or seal() between two attempts.
    while (!begins || state_of(sealing) == 'R') std::this_thread::yield();
    ::munmap(mapped, 1);
  });
  begins = true;
  EXPECT_EQ(seal(fd.get()), 0);
  writer.join();
  EXPECT_EQ(::write(fd.get(), "x", 1), -1);
  EXPECT_EQ(seal(-1), EBADF);
}

TEST(File, stamps_tell_a_change) {
  const TemporaryDir dir;
  struct stat before, after;
  write_file(dir / "f", "1");
  ASSERT_EQ(::stat((dir / "f").c_str(), &before), 0);
  EXPECT_EQ(FileStamp::of(before), FileStamp::of(before));
  write_file(dir / "f", "2");
  ASSERT_EQ(::stat((dir / "f").c_str(), &after), 0);
  EXPECT_NE(FileStamp::of(before), FileStamp::of(after));
}

}  // namespace
}  // namespace tarsia
