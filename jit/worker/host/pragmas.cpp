// Ends the compiler as its debugging pragmas ask, ignores nvcc's pragmas, and tells of Tarsia's own.
#include "jit/worker/host/pragmas.h"

#include <csignal>
#include <utility>

#include "clang/Lex/PPCallbacks.h"
#include "clang/Lex/Pragma.h"
#include "clang/Lex/Preprocessor.h"
#include "clang/Lex/PreprocessorOptions.h"
#include "llvm/Support/ErrorHandling.h"

namespace tarsia::jit {
namespace {

class DebugPragmas final : public clang::PPCallbacks {
 public:
  void PragmaDebug(clang::SourceLocation, llvm::StringRef name) override {
    if (name == "llvm_fatal_error") llvm::report_fatal_error("#pragma clang __debug llvm_fatal_error");
    // Ends the process as the kernel does when it overflows its stack, even if the stack has no limit.
    if (name == "overflow_stack") std::raise(SIGSEGV);
    if (name == "crash" || name == "parser_crash" || name == "assert" || name == "llvm_unreachable")
      LLVM_BUILTIN_TRAP;
  }
};

class OwnPragma final : public clang::PragmaHandler {
 public:
  OwnPragma(llvm::StringRef name, MeetPragma meet) : PragmaHandler(name), m_meet(std::move(meet)) {}
  void HandlePragma(clang::Preprocessor& preprocessor, clang::PragmaIntroducer,
                    clang::Token& first) override {
    clang::Token token;
    do preprocessor.LexUnexpandedToken(token);
    while (token.isNot(clang::tok::eod));
    m_meet(preprocessor, first.getLocation());
  }

 private:
  MeetPragma m_meet;
};

}  // namespace

void take_over_debug_pragmas(clang::PreprocessorOptions& options) {
  options.DisablePragmaDebugCrash = true;
}

std::unique_ptr<clang::PPCallbacks> make_debug_pragmas() {
  return std::make_unique<DebugPragmas>();
}

void ignore_pragmas_of_nvcc(clang::Preprocessor& preprocessor) {
  for (const char* name :
       {"nv_diag_suppress", "nv_diag_remark", "nv_diag_warning", "nv_diag_error", "nv_diag_default",
        "nv_diag_once", "nv_diagnostic", "diag_suppress", "diag_remark", "diag_warning", "diag_error",
        "diag_default", "diag_once", "nv_exec_check_disable", "hd_warning_disable", "nv_abi", "nv_verbose"})
    preprocessor.AddPragmaHandler(new clang::EmptyPragmaHandler(name));  // which owns it
}

void add_own_pragma(clang::Preprocessor& preprocessor, const char* name, MeetPragma meet) {
  preprocessor.AddPragmaHandler("tarsia", new OwnPragma(name, std::move(meet)));  // which owns it
}

}  // namespace tarsia::jit
