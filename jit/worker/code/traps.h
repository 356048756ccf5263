// Traps where code must not be reached.
//
// What the language leaves undefined becomes LLVM's `unreachable`, for which no code is made: the processor
// runs on into whatever lies behind, mostly the next function, whose result the caller then gets. So an
// instruction that traps stands there in every module. It costs two bytes at the end of cold blocks, and no
// time.
//
// LLVM has an option for this (TargetOptions::TrapUnreachable), which Clang sets for PlayStation and Apple
// alone, and Clang makes the options itself.
#pragma once

namespace llvm {
class BasicBlock;
class Module;
}  // namespace llvm
namespace clang {
class CodeGenOptions;
class LangOptions;
}  // namespace clang

namespace tarsia::jit {

/// Puts a trap before the `unreachable` that ends the block, if one does. The call before it may return or
/// not.
void trap_before_end(llvm::BasicBlock& block);

/// Lets the optimiser's last step put a trap before each `unreachable` that is left, but for defaults of a
/// switch, which LLVM never jumps to.
void trap_unreachable_code(clang::CodeGenOptions& options, const clang::LangOptions& language);

/// While it lives, Clang makes a trap where a function ends without its return, or an integer is divided by
/// zero. These are Clang's checks of that name, without the run-time library's help.
/// `__has_feature(undefined_behavior_sanitizer)` asks for the same options, so it must not live while Clang
/// reads a text. Where the checks themselves are asked for, they stay that.
class GeneratedTraps {
 public:
  struct Where {
    bool missing_returns = false;
    bool divisions_by_zero = false;
  };
  GeneratedTraps(clang::LangOptions& language, Where where);
  ~GeneratedTraps();
  GeneratedTraps(const GeneratedTraps&) = delete;
  GeneratedTraps& operator=(const GeneratedTraps&) = delete;

 private:
  clang::LangOptions& m_language;
  Where m_set;
};

/// Lets the traps of divisions by zero raise what the processor's own division raises, SIGFPE.
void fault_at_division_traps(llvm::Module& module);

}  // namespace tarsia::jit
