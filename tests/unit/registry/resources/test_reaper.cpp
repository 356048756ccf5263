// Work that waits until GPUs are idle, across fork().
#include "registry/resources/reaper.h"

#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "tests/unit/base/waiting.h"

namespace tarsia::registry {
namespace {

TEST(Reaper, works_in_a_forked_child_while_the_parents_waits) {
  bool done = false;
  when_idle(-1, [&] { done = true; });
  ASSERT_TRUE(drain_reaper(5000));
  EXPECT_TRUE(done);
  wait_until(other_threads_sleep);  // the reaper's thread waits for more
  for (int k = 0; k < 3; ++k) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      for (int i = 0; i < 5; ++i) {
        when_idle(-1, [] {});
        if (!drain_reaper(5000)) _exit(1);
      }
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
}

}  // namespace
}  // namespace tarsia::registry
