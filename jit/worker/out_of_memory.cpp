// Ends the worker where an allocation fails.
#include "jit/worker/out_of_memory.h"

#include <unistd.h>

#include "jit/protocol.h"
#include "llvm/Support/ErrorHandling.h"

namespace tarsia::jit {

void leave_when_out_of_memory() {
  llvm::install_bad_alloc_error_handler([](void*, const char*, bool) {
    constexpr char k_words[] = "tarsia-compiler: out of memory\n";
    static_cast<void>(::write(STDERR_FILENO, k_words, sizeof k_words - 1) < 0);
    ::_exit(k_exit_out_of_memory);
  });
  llvm::install_out_of_memory_new_handler();  // `new` asks the same handler
}

}  // namespace tarsia::jit
