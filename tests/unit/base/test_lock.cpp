// Locks: between descriptors, processes, forks and execs.
#include "base/lock.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "tests/unit/base/temporary_dir.h"

namespace tarsia {
namespace {

using namespace std::chrono_literals;
using Status = FileLock::Status;

std::chrono::steady_clock::time_point after(std::chrono::milliseconds span) {
  return std::chrono::steady_clock::now() + span;
}

/// A process that takes the lock, says so, and waits to be killed.
pid_t start_holder(const std::string& path) {
  int pipe_ends[2];
  EXPECT_EQ(::pipe(pipe_ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    FileLock lock;
    const char answer = lock.try_lock(path) == Status::locked ? 'y' : 'n';
    if (::write(pipe_ends[1], &answer, 1) != 1) ::_exit(1);
    ::pause();
    ::_exit(0);
  }
  char answer = 0;
  EXPECT_EQ(::read(pipe_ends[0], &answer, 1), 1);
  EXPECT_EQ(answer, 'y');
  ::close(pipe_ends[0]);
  ::close(pipe_ends[1]);
  return child;
}

void kill_and_reap(pid_t pid) {
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
}

TEST(Lock, excludes_within_the_process_and_is_freed) {
  const TemporaryDir dir;
  FileLock a, b;
  EXPECT_EQ(a.try_lock(dir / "l"), Status::locked);
  EXPECT_EQ(b.try_lock(dir / "l"), Status::busy);
  EXPECT_EQ(b.lock_until(dir / "l", after(20ms)), Status::busy);
  a.release();
  EXPECT_EQ(b.try_lock(dir / "l"), Status::locked);
  FileLock c(std::move(b));
  EXPECT_EQ(a.try_lock(dir / "l"), Status::busy);
  c = FileLock();
  EXPECT_EQ(a.try_lock(dir / "l"), Status::locked);
}

TEST(Lock, of_a_killed_holder_is_free) {
  const TemporaryDir dir;
  const pid_t holder = start_holder(dir / "l");
  FileLock lock;
  EXPECT_EQ(lock.try_lock(dir / "l"), Status::busy);
  std::thread killer([&] { kill_and_reap(holder); });
  EXPECT_EQ(lock.lock_until(dir / "l", after(10s)), Status::locked);
  killer.join();
}

TEST(Lock, is_not_kept_by_a_forked_child) {
  const TemporaryDir dir;
  FileLock lock, other;
  ASSERT_EQ(lock.try_lock(dir / "l"), Status::locked);
  int pipe_ends[2];
  ASSERT_EQ(::pipe(pipe_ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    FileLock mine;
    // The parent's is still held: closing the child's copy did not free it.
    const bool busy = mine.try_lock(dir / "l") == Status::busy;
    lock.release();
    const bool still_busy = mine.try_lock(dir / "l") == Status::busy;
    const char answer = busy && still_busy ? 'y' : 'n';
    if (::write(pipe_ends[1], &answer, 1) != 1) ::_exit(1);
    ::pause();
  }
  char answer = 0;
  EXPECT_EQ(::read(pipe_ends[0], &answer, 1), 1);
  EXPECT_EQ(answer, 'y') << "the child saw a free lock";
  ::close(pipe_ends[0]);
  ::close(pipe_ends[1]);
  EXPECT_EQ(other.try_lock(dir / "l"), Status::busy);
  lock.release();
  EXPECT_EQ(other.try_lock(dir / "l"), Status::locked);
  kill_and_reap(child);
}

TEST(Lock, is_not_kept_by_a_program_that_was_started) {
  const TemporaryDir dir;
  FileLock lock, other;
  ASSERT_EQ(lock.try_lock(dir / "l"), Status::locked);
  const pid_t child = ::vfork();
  if (child == 0) {
    ::execl("/bin/sleep", "sleep", "100", nullptr);
    ::_exit(127);
  }
  lock.release();
  // ThreadSanitizer's vfork() does not wait for exec.
  EXPECT_EQ(other.lock_until(dir / "l", std::chrono::steady_clock::now() + std::chrono::seconds(10)),
            Status::locked);
  kill_and_reap(child);
}

TEST(Lock, left_behind_as_a_file_means_nothing) {
  const TemporaryDir dir;
  write_file(dir / "l", "12345");
  FileLock lock;
  EXPECT_EQ(lock.try_lock(dir / "l"), Status::locked);
}

TEST(Lock, refuses_what_is_no_regular_file) {
  const TemporaryDir dir;
  write_file(dir / "target", "precious");
  std::filesystem::create_symlink(dir / "target", dir / "link");
  ASSERT_EQ(::mkfifo((dir / "fifo").c_str(), 0600), 0);
  FileLock lock;
  EXPECT_EQ(lock.try_lock(dir / "link"), Status::failed);
  EXPECT_EQ(lock.try_lock(dir / "fifo"), Status::failed);
  EXPECT_EQ(lock.try_lock(dir / "absent/l"), Status::failed);
  EXPECT_EQ(read_file(dir / "target"), "precious");
}

}  // namespace
}  // namespace tarsia
