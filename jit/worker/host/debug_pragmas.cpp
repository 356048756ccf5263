// Ends the compiler as its debugging pragmas ask.
#include "jit/worker/host/debug_pragmas.h"

#include <csignal>

#include "clang/Lex/PPCallbacks.h"
#include "clang/Lex/PreprocessorOptions.h"
#include "llvm/Support/ErrorHandling.h"

namespace tarsia::jit {
namespace {

class DebugPragmas final : public clang::PPCallbacks {
 public:
  void PragmaDebug(clang::SourceLocation, llvm::StringRef name) override {
    if (name == "llvm_fatal_error") llvm::report_fatal_error("#pragma clang __debug llvm_fatal_error");
    // What the kernel does to a process that overflows its stack, also where the stack has no limit.
    if (name == "overflow_stack") std::raise(SIGSEGV);
    if (name == "crash" || name == "parser_crash" || name == "assert" || name == "llvm_unreachable")
      LLVM_BUILTIN_TRAP;
  }
};

}  // namespace

void take_over_debug_pragmas(clang::PreprocessorOptions& options) {
  options.DisablePragmaDebugCrash = true;
}

std::unique_ptr<clang::PPCallbacks> make_debug_pragmas() {
  return std::make_unique<DebugPragmas>();
}

}  // namespace tarsia::jit
