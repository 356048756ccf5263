// What a worker could do if a source took it over: a forked child is confined and tries.
#include "jit/worker/isolation/confine.h"

#include <dirent.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "base/file.h"
#include "base/paths.h"
#include "tests/unit/base/forked_child.h"
#include "tests/unit/base/temporary_dir.h"

namespace tarsia::jit {
namespace {

/// "ok", or the name of errno.
std::string outcome(long result) {
  return result >= 0 ? "ok" : ::strerrorname_np(errno);
}

struct ConfineTest : testing::Test {
  TemporaryDir dir;
  std::string secret = dir / "secret", home = dir / "home";
  void SetUp() override {
    std::ofstream(secret) << "planted";
    ::mkdir(home.c_str(), 0700);
    std::ofstream(home + "/pack") << "of Tarsia";
    if (!in_forked_child([&] { return confine(home, {}).empty() ? "" : "lacks"; }).empty())
      GTEST_SKIP() << "the kernel has no isolation";
  }
  std::string confined(const std::function<std::string()>& attempt) const {
    return in_forked_child([&] {
      confine(home, {});
      return attempt();
    });
  }
  std::string opening(const std::string& path, int flags = O_RDONLY) const {
    return confined([&] { return outcome(::open(path.c_str(), flags | O_CLOEXEC, 0600)); });
  }
};

TEST_F(ConfineTest, files_outside_of_the_toolchain_are_closed) {
  EXPECT_EQ(opening(secret), "EACCES");
  EXPECT_EQ(opening(secret, O_WRONLY), "EACCES");
  EXPECT_EQ(opening("/etc/shadow"), "EACCES");
  EXPECT_EQ(opening("/etc/passwd"), "EACCES");
  EXPECT_EQ(opening(dir / "new", O_CREAT | O_WRONLY), "EACCES");
  EXPECT_EQ(opening("/proc/" + std::to_string(::getpid()) + "/environ"), "EACCES");
  EXPECT_EQ(opening("/proc/self/environ"), "EACCES");
  EXPECT_EQ(opening("/proc/self/mem", O_RDWR), "EACCES");
  EXPECT_EQ(opening("/dev/kmsg"), "EACCES");
}

TEST_F(ConfineTest, the_toolchain_stays_open_for_reading_alone) {
  EXPECT_EQ(opening(home + "/pack"), "ok");
  EXPECT_EQ(opening(home + "/pack", O_RDWR), "EACCES");
  EXPECT_EQ(opening(home + "/new", O_CREAT | O_WRONLY), "EACCES");
  EXPECT_EQ(opening("/proc/meminfo"), "ok");
  EXPECT_EQ(opening("/dev/null", O_RDWR), "ok");
}

TEST_F(ConfineTest, what_hard_and_symbolic_links_lead_to_stays_closed) {
  ASSERT_EQ(::symlink(secret.c_str(), (home + "/link").c_str()), 0);
  EXPECT_EQ(opening(home + "/link"), "EACCES");
  EXPECT_NE(confined([&] { return outcome(::link(secret.c_str(), (home + "/hard").c_str())); }), "ok");
  EXPECT_NE(confined([&] { return outcome(::symlink(secret.c_str(), (home + "/soft").c_str())); }), "ok");
}

TEST_F(ConfineTest, folders_can_be_neither_listed_nor_changed) {
  EXPECT_EQ(confined([&] { return outcome(::opendir(std::string(dir / "").c_str()) ? 0 : -1); }), "EACCES");
  EXPECT_EQ(confined([&] { return outcome(::unlink(secret.c_str())); }), "EACCES");
  EXPECT_NE(confined([&] { return outcome(::rename(secret.c_str(), (dir / "b").c_str())); }), "ok");
  EXPECT_EQ(confined([&] { return outcome(::mkdir((dir / "d").c_str(), 0700)); }), "EACCES");
  EXPECT_NE(confined([&] { return outcome(::truncate(secret.c_str(), 0)); }), "ok");
  EXPECT_EQ(read_file(secret), "planted");
}

TEST_F(ConfineTest, rights_and_owners_of_files_cannot_be_changed) {
  EXPECT_EQ(confined([&] { return outcome(::chmod(secret.c_str(), 0777)); }), "EPERM");
  EXPECT_EQ(confined([&] { return outcome(::chown(secret.c_str(), 1, 1)); }), "EPERM");
  EXPECT_EQ(confined([&] { return outcome(::utimensat(AT_FDCWD, secret.c_str(), nullptr, 0)); }), "EPERM");
}

TEST_F(ConfineTest, there_is_no_network) {
  for (const int family : {AF_INET, AF_INET6, AF_UNIX, AF_NETLINK})
    EXPECT_EQ(confined([&] { return outcome(::socket(family, SOCK_STREAM, 0)); }), "EPERM");
  EXPECT_EQ(confined([] {
              int ends[2];
              return outcome(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
            }),
            "ok");
}

TEST_F(ConfineTest, no_program_can_be_started) {
  const auto start = [] {
    char name[] = "true";
    char* arguments[] = {name, nullptr};
    char* environment[] = {nullptr};
    return outcome(::execve("/bin/true", arguments, environment));
  };
  EXPECT_EQ(confined(start), "EPERM");
}

TEST_F(ConfineTest, other_processes_are_out_of_reach) {
  const pid_t other = ::getpid();
  EXPECT_EQ(confined([&] { return outcome(::kill(other, SIGSTOP)); }), "EPERM");
  EXPECT_EQ(confined([&] { return outcome(::ptrace(PTRACE_ATTACH, other, nullptr, nullptr)); }), "EPERM");
  EXPECT_EQ(confined([&] { return outcome(::syscall(SYS_process_vm_readv, other, 0, 0, 0, 0, 0)); }),
            "EPERM");
  EXPECT_EQ(confined([&] {
              rlimit limit{};
              return outcome(::prlimit(other, RLIMIT_NOFILE, nullptr, &limit));
            }),
            "EPERM");
  EXPECT_EQ(confined([&] { return outcome(::setpriority(PRIO_PROCESS, other, 19)); }), "EPERM");
  EXPECT_EQ(confined([] { return outcome(::setpriority(PRIO_USER, 0, 19)); }), "EPERM");
  EXPECT_EQ(confined([] { return outcome(::setpriority(PRIO_PROCESS, 0, 19)); }), "ok");
  EXPECT_EQ(confined([] { return outcome(::syscall(SYS_shmctl, 0, 0 /* IPC_RMID */, nullptr)); }), "EPERM");
}

TEST_F(ConfineTest, there_is_no_way_out_by_namespaces_and_rings) {
  EXPECT_EQ(confined([] { return outcome(::unshare(CLONE_NEWUSER)); }), "EPERM");
  EXPECT_EQ(confined([] { return outcome(::syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0)); }),
            "EPERM");
  EXPECT_EQ(confined([] { return outcome(::syscall(435 /* clone3 */, nullptr, 0)); }), "ENOSYS");
  EXPECT_EQ(confined([] { return outcome(::syscall(425 /* io_uring_setup */, 1, nullptr)); }), "EPERM");
  EXPECT_EQ(confined([] { return outcome(::syscall(SYS_mount, "a", "/mnt", "tmpfs", 0, nullptr)); }),
            "EPERM");
  EXPECT_EQ(confined([] { return outcome(::chroot("/")); }), "EPERM");
}

TEST_F(ConfineTest, threads_and_children_are_as_confined) {
  EXPECT_EQ(confined([&] {
              std::string said;
              std::thread([&] { said = outcome(::open(secret.c_str(), O_RDONLY)); }).join();
              return said;
            }),
            "EACCES");
  EXPECT_EQ(
      confined([&] { return in_forked_child([&] { return outcome(::open(secret.c_str(), O_RDONLY)); }); }),
      "EACCES");
}

TEST_F(ConfineTest, a_child_can_be_ended_and_files_in_memory_opened_again) {
  EXPECT_EQ(confined([] {
              const pid_t child = ::fork();
              if (child == 0) ::pause(), ::_exit(0);
              const std::string said = outcome(::kill(child, SIGKILL));
              ::waitpid(child, nullptr, 0);
              return said;
            }),
            "ok");
  EXPECT_EQ(confined([] {
              const UniqueFd file = make_memfd("test", "bytes");
              return read_file("/proc/self/fd/" + std::to_string(file.get()));
            }),
            "bytes");
}

TEST_F(ConfineTest, temporary_files_have_a_folder_of_their_own) {
  EXPECT_EQ(confined([] {
              std::string path = std::string(std::getenv("TMPDIR")) + "/XXXXXX";
              const UniqueFd file(::mkstemp(path.data()));
              if (!file) return outcome(-1);
              return outcome(::unlink(path.c_str()));
            }),
            "ok");
  EXPECT_EQ(opening("/tmp/tarsia-test-planted", O_CREAT | O_RDWR), "EACCES");
}

}  // namespace
}  // namespace tarsia::jit
