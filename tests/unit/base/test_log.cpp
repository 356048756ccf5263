// The log's first line, said by several threads at once.
#include "base/log.h"

#include <gtest/gtest.h>

#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/base/forked_child.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

namespace tarsia {
namespace {

/// Whether memory was lost, as far as this build can tell.
bool memory_is_lost() {
#ifdef __SANITIZE_ADDRESS__
  return __lsan_do_recoverable_leak_check() != 0;
#else
  return false;
#endif
}

TEST(Log, threads_that_say_the_first_line_at_once_lose_no_memory) {
  for (int i = 0; i < 20 && !HasFailure(); ++i) {  // the first line is said once in a process
    EXPECT_EQ(in_forked_child([]() -> std::string {
                std::latch together(8);
                std::vector<std::thread> threads;
                for (int n = 0; n < 8; ++n)
                  threads.emplace_back([&together, n] {
                    together.arrive_and_wait();
                    log().debug("thread {}", n);
                  });
                for (std::thread& thread : threads) thread.join();
                return memory_is_lost() ? "lost memory" : "went on";
              }),
              "went on");
  }
}

}  // namespace
}  // namespace tarsia
