// Pragmas that end Clang end the worker at once, as crashes.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "tests/unit/worker/compile_fixture.h"

namespace tarsia::jit {
namespace {

class DebugPragmas : public CompileTest {};

TEST_F(DebugPragmas, end_the_process_by_a_signal) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (const char* name : {"overflow_stack", "crash", "llvm_fatal_error"}) {
    const std::string text = std::string("#pragma clang __debug ") + name + "\nint f() { return 1; }\n";
    const auto by_signal = [](int state) {
#ifdef __SANITIZE_ADDRESS__
      if (WIFEXITED(state) && WEXITSTATUS(state) != 0) return true;  // its report of the signal
#endif
      return WIFSIGNALED(state) && WTERMSIG(state) != SIGALRM;
    };
    EXPECT_EXIT(
        {
          ::alarm(60);  // a loop without end is the fault that this is about
          Worker(test_pack(), TARSIA_TEST_PRELUDES).compile(request("a.cc", text), parts);
        },
        by_signal, "")
        << name;
  }
}

}  // namespace
}  // namespace tarsia::jit
