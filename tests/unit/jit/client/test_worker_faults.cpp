// What happens to workers from outside: killed, stopped, their numbers given to others, no descriptors left,
// the user's Ctrl-C.
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <csignal>
#include <future>

#include "base/interrupt.h"
#include "tests/unit/base/few_descriptors.h"
#include "tests/unit/base/temporary_dir.h"
#include "tests/unit/jit/client/pool_fixture.h"

namespace tarsia::jit {
namespace {

const std::string k_module =
    "\x7f"
    "ELF op compile";

TEST(WorkerFaults, a_worker_that_is_killed_while_idle_is_replaced_quietly) {
  WorkerPool pool(settings());
  compile(pool, "compile");
  kill_and_wait(pool.idle_pids().at(0));
  EXPECT_EQ(compile(pool, "compile"), k_module);
  EXPECT_EQ(pool.started(), 2u);
}

TEST(WorkerFaults, a_worker_that_is_killed_before_it_begins_is_replaced_quietly) {
  WorkerPool pool(settings());
  compile(pool, "then-die");
  EXPECT_EQ(compile(pool, "compile"), k_module);
  EXPECT_EQ(pool.started(), 2u);
  compile(pool, "then-die");
  EXPECT_EQ(pool.archs(), std::vector<std::string>{});
  EXPECT_EQ(pool.started(), 3u);
}

TEST(WorkerFaults, a_worker_that_is_stopped_while_idle_is_replaced_quietly) {
  PoolSettings impatient = settings();
  impatient.begin_timeout = 200ms;
  WorkerPool pool(std::move(impatient));
  compile(pool, "compile");
  const pid_t pid = pool.idle_pids().at(0);
  ASSERT_EQ(::kill(pid, SIGSTOP), 0);
  siginfo_t info;
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(pid), &info, WSTOPPED | WNOWAIT), 0);
  // Larger than what a socket takes while nobody reads.
  EXPECT_EQ(compile(pool, "size 8 " + std::string(4 << 20, ' '), 5s), k_module.substr(0, 5) + "mmm");
  EXPECT_EQ(pool.started(), 2u);
}

TEST(WorkerFaults, a_worker_that_hangs_while_idle_is_replaced_quietly) {
  PoolSettings impatient = settings();
  impatient.begin_timeout = 200ms;
  WorkerPool pool(std::move(impatient));
  compile(pool, "then-hang");
  EXPECT_EQ(compile(pool, "compile", 5s), k_module);
  EXPECT_EQ(pool.started(), 2u);
}

TEST(WorkerFaults, a_number_that_another_process_has_by_now_is_not_killed) {
  const auto before = std::signal(SIGCHLD, SIG_IGN);  // workers are reaped as they end
  int ask[2], answer[2];
  ASSERT_EQ(::pipe(ask), 0);
  ASSERT_EQ(::pipe(answer), 0);
  pid_t bystander = -1;
  int why = 0;
  {
    WorkerPool pool(settings());
    compile(pool, "compile");
    pid_t pid = pool.idle_pids().at(0);
    kill_and_wait(pid);
    wait_until([&] { return ::kill(pid, 0) != 0; });
    clone_args arguments{};
    arguments.exit_signal = SIGCHLD;
    arguments.set_tid = reinterpret_cast<std::uintptr_t>(&pid);
    arguments.set_tid_size = 1;
    // The number becomes free a moment after the process has vanished.
    wait_until([&] {
      bystander = static_cast<pid_t>(::syscall(SYS_clone3, &arguments, sizeof arguments));
      return bystander >= 0 || errno != EEXIST;
    });
    if (bystander == 0) {
      char byte = 0;
      const bool good = ::read(ask[0], &byte, 1) == 1 && ::write(answer[1], &byte, 1) == 1;
      ::syscall(SYS_exit_group, good ? 0 : 1);
    }
    why = errno;
  }
  ::close(answer[1]);
  char byte = 'x';
  EXPECT_EQ(::write(ask[1], &byte, 1), 1);
  const bool answered = ::read(answer[0], &byte, 1) == 1;
  EXPECT_TRUE(bystander < 0 || answered) << "the bystander was killed";
  for (int fd : {ask[0], ask[1], answer[0]}) ::close(fd);
  if (bystander > 0) ::waitpid(bystander, nullptr, 0);
  std::signal(SIGCHLD, before);
  if (bystander < 0) GTEST_SKIP() << "this process may not choose the number of another: " << why;
}

/// Makes the kernel one that has no pidfds, as before Linux 5.2, for this process and those it starts.
bool take_pidfds_away() {
  constexpr unsigned k_number = offsetof(seccomp_data, nr), k_first = offsetof(seccomp_data, args);
  const auto refuse = [](unsigned error) { return SECCOMP_RET_ERRNO | error; };
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, k_number),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_open, 6, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_send_signal, 5, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, k_first),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_PIDFD, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, refuse(EINVAL)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, refuse(ENOSYS)),
  };
  const sock_fprog program{sizeof filter / sizeof *filter, filter};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST(WorkerFaults, kernels_without_pidfds_do) {
  const pid_t child = ::fork();
  if (child == 0) {
    // The filter has to be seen to work.
    const bool filtered = take_pidfds_away() && ::syscall(SYS_pidfd_open, ::getpid(), 0u) < 0;
    WorkerPool pool(settings());
    const bool made = compile(pool, "compile") == k_module;
    const bool crashed =
        message_of<CompilerCrashed>([&] { compile(pool, "crash"); }).find("signal 11") != std::string::npos;
    message_of<CompileTimeout>([&] { compile(pool, "spin", 50ms); });
    const bool again = compile(pool, "compile") == k_module;
    ::_exit(filtered && made && crashed && again && !::testing::Test::HasFailure() ? 0 : 1);
  }
  int state = -1;
  ASSERT_EQ(::waitpid(child, &state, 0), child);
  EXPECT_EQ(state, 0);
}

TEST(WorkerFaults, a_result_without_a_descriptor_left_is_no_crash_of_the_compiler) {
  WorkerPool pool(settings());
  compile(pool, "compile");
  {
    const FewDescriptors none(0);
    const std::string message = message_of<ResourceLimit>([&] { compile(pool, "compile"); });
    EXPECT_NE(message.find("file descriptor"), std::string::npos) << message;
    EXPECT_NE(message.find("ulimit -n"), std::string::npos) << message;
  }
  EXPECT_EQ(compile(pool, "compile"), k_module);
  EXPECT_EQ(pool.started(), 1u) << "the worker is not to blame";
}

TEST(WorkerFaults, a_worker_that_cannot_be_started_for_want_of_descriptors_is_told_so) {
  WorkerPool pool(settings());
  {
    const FewDescriptors none(0);
    EXPECT_NE(message_of<ResourceLimit>([&] { compile(pool, "compile"); }).find("ulimit -n"),
              std::string::npos);
  }
  EXPECT_EQ(compile(pool, "compile"), k_module);
}

TEST(WorkerFaults, at_every_number_of_descriptors_left_the_error_is_that) {
  WorkerPool pool(settings());
  int made = 0;
  for (unsigned left = 0; left < 16; ++left) {
    const FewDescriptors few(left);
    try {
      // The second comes to a worker that is there.
      for (int i = 0; i < 2; ++i) made += compile(pool, "parts") == k_module.substr(0, 5) + "parts are right";
    } catch (const ResourceLimit& error) {
      EXPECT_NE(std::string(error.what()).find("ulimit -n"), std::string::npos) << error.what();
    } catch (const std::exception& error) {
      ADD_FAILURE() << left << " left: " << error.what();
    }
  }
  EXPECT_GT(made, 8);
}

TEST(WorkerFaults, a_compiler_may_open_more_files_than_its_client) {
  WorkerPool pool(settings());
  struct rlimit before;
  ::getrlimit(RLIMIT_NOFILE, &before);
  struct rlimit few = before;
  few.rlim_cur = 40;
  ::setrlimit(RLIMIT_NOFILE, &few);
  const std::string text = compile(pool, "limits");
  ::setrlimit(RLIMIT_NOFILE, &before);
  const std::size_t line = text.find("Max open files");
  ASSERT_NE(line, std::string::npos);
  EXPECT_NE(text.substr(line, text.find('\n', line) - line).find(" " + std::to_string(before.rlim_max) + " "),
            std::string::npos)
      << text;
}

TEST(WorkerFaults, an_interrupt_ends_the_wait_for_a_free_worker) {
  const TemporaryDir dir;
  ::setenv("TEST_WORKER_LOG", (dir / "log").c_str(), 1);
  WorkerPool pool(settings(1));
  std::atomic<bool> enough{false};
  std::thread busy([&] {
    const InterruptScope scope([&] { return enough.load(); });
    // Without an end to the wait, the other gets the worker after this time and no exception.
    EXPECT_THROW(compile(pool, "spin", 20s), Interrupted);
  });
  wait_until([&] { return !workers_at(dir / "log", "spin").empty(); });
  {
    // No lock of the pool is held while foreign code is asked.
    const InterruptScope scope([&] { return pool.idle_pids().empty(); });
    EXPECT_THROW(compile(pool, "compile"), Interrupted);
  }
  enough = true;
  busy.join();
  ::unsetenv("TEST_WORKER_LOG");
  EXPECT_EQ(compile(pool, "compile"), k_module);
}

}  // namespace
}  // namespace tarsia::jit
