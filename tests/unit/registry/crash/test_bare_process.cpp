// Programs that a handler of signals starts.
#include "registry/crash/bare_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace tarsia::registry {
namespace {

/// What a shell's command writes, and its status.
std::string said(const char* command, int* status) {
  int ends[2];
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const int input = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const char* arguments[] = {"sh", "-c", command, nullptr};
  char variable[] = "WORD=given";
  char* environment[] = {variable, nullptr};
  const pid_t child =
      start_bare({"/bin/sh", const_cast<char* const*>(arguments), environment, input, ends[1]});
  EXPECT_GT(child, 0);
  ::close(ends[1]);
  ::close(input);
  std::string text;
  char block[256];
  for (ssize_t n; (n = ::read(ends[0], block, sizeof block)) > 0;)
    text.append(block, static_cast<std::size_t>(n));
  ::close(ends[0]);
  EXPECT_EQ(::waitpid(child, status, 0), child);
  return text;
}

TEST(BareProcess, has_the_arguments_the_environment_and_the_descriptors_that_it_is_given) {
  int status = 0;
  EXPECT_EQ(said("echo $WORD; cat; exit 3", &status), "given\n");
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 3);
}

void do_nothing(int) {}

TEST(BareProcess, takes_signals_as_a_new_program_does) {
  struct sigaction handler{}, ignored{}, before_handler, before_ignored;
  handler.sa_handler = do_nothing;
  ignored.sa_handler = SIG_IGN;
  ::sigaction(SIGUSR1, &handler, &before_handler);
  ::sigaction(SIGUSR2, &ignored, &before_ignored);
  sigset_t blocked, before;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGUSR1);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
  int status = 0;
  EXPECT_EQ(said("kill -USR2 $$; echo ignored; kill -USR1 $$; echo not reached", &status), "ignored\n");
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR1);
  sigset_t now;
  ::pthread_sigmask(SIG_SETMASK, &before, &now);
  EXPECT_EQ(::sigismember(&now, SIGUSR1), 1) << "the caller's mask is as it was";
  EXPECT_EQ(::sigismember(&now, SIGTERM), 0);
  ::sigaction(SIGUSR1, &before_handler, nullptr);
  ::sigaction(SIGUSR2, &before_ignored, nullptr);
}

TEST(BareProcess, ends_with_127_where_the_program_cannot_run) {
  char* none[] = {nullptr};
  const pid_t child = start_bare({"/no/such/program", none, none, STDIN_FILENO, STDOUT_FILENO});
  ASSERT_GT(child, 0);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 127);
}

}  // namespace
}  // namespace tarsia::registry
