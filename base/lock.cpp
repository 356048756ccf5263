// Locks by flock(2). Forked children share the lock of an open file description through their copies of the
// descriptor. A child that outlived its parent would hold the lock for ever. So every held descriptor is
// listed, and a forked child closes its copies.
#include "base/lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <thread>
#include <vector>

#include "base/fork.h"

namespace tarsia {
namespace {

class HeldLocks final : public ForkAware {
 public:
  HeldLocks() { watch_forks(); }
  ~HeldLocks() { forget_forks(); }

  std::mutex mutex;
  std::vector<int> descriptors;
  unsigned forks = 0;

 private:
  void before_fork() override { mutex.lock(); }
  void after_fork_in_parent() override { mutex.unlock(); }
  void after_fork_in_child() override {
    for (int fd : descriptors) ::close(fd);
    descriptors.clear();
    ++forks;
    mutex.unlock();
  }
};

// Never destroyed: locks may be released by destructors of other statics.
HeldLocks& held_locks() {
  static std::atomic<HeldLocks*> s_held{nullptr};
  return made_once(s_held, [] { return HeldLocks(); });
}

int open_lock(const std::string& path) {
  for (;;) {
    const int fd =
        ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600);
    if (fd >= 0 || errno != EINTR) return fd;
  }
}

}  // namespace

FileLock::FileLock(FileLock&& other) noexcept : m_fd(std::move(other.m_fd)), m_forks(other.m_forks) {}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  release();
  m_fd = std::move(other.m_fd);
  m_forks = other.m_forks;
  return *this;
}

FileLock::Status FileLock::try_lock(const std::string& path) {
  release();
  HeldLocks& locks = held_locks();
  // Opened under the mutex, so that no fork falls between the opening and the listing.
  const std::lock_guard guard(locks.mutex);
  UniqueFd fd(open_lock(path));
  if (!fd) return Status::failed;
  struct stat status;
  if (::fstat(fd.get(), &status) != 0) return Status::failed;
  if (!S_ISREG(status.st_mode)) {
    errno = EINVAL;
    return Status::failed;
  }
  while (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return Status::busy;
    if (errno != EINTR) return Status::failed;
  }
  locks.descriptors.push_back(fd.get());
  m_fd = std::move(fd);
  m_forks = locks.forks;
  return Status::locked;
}

FileLock::Status FileLock::lock_until(const std::string& path,
                                      std::chrono::steady_clock::time_point deadline) {
  using namespace std::chrono_literals;
  auto pause = std::chrono::microseconds(200);
  for (;;) {
    const Status status = try_lock(path);
    if (status != Status::busy) return status;
    const auto now = std::chrono::steady_clock::now();
    if (now >= deadline) return Status::busy;
    std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(pause, deadline - now));
    pause = std::min<std::chrono::microseconds>(2 * pause, 10ms);
  }
}

void FileLock::release() {
  if (!m_fd) return;
  HeldLocks& locks = held_locks();
  const std::lock_guard guard(locks.mutex);
  if (m_forks != locks.forks) {
    // In a forked child, the copy is closed already, and the number may belong to another file by now.
    static_cast<void>(m_fd.release());
    return;
  }
  std::erase(locks.descriptors, m_fd.get());
  m_fd.reset();
}

}  // namespace tarsia
