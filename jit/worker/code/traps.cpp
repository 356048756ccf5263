// Traps where code must not be reached.
#include "jit/worker/code/traps.h"

#include "clang/Basic/CodeGenOptions.h"
#include "clang/Basic/LangOptions.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Passes/PassBuilder.h"

namespace tarsia::jit {
namespace {

// The default of a switch over all values: the block is empty, and a trap in it would make LLVM test for it.
bool is_only_default(const llvm::BasicBlock& block) {
  if (&block.front() != block.getTerminator() || block.hasNPredecessors(0)) return false;
  for (const llvm::BasicBlock* before : llvm::predecessors(&block)) {
    const auto* choice = llvm::dyn_cast<llvm::SwitchInst>(before->getTerminator());
    if (!choice || choice->getDefaultDest() != &block) return false;
  }
  return true;
}

struct TrapPass : llvm::PassInfoMixin<TrapPass> {
  static llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&) {
    for (llvm::Function& function : module) {
      if (function.hasFnAttribute(llvm::Attribute::Naked)) continue;
      for (llvm::BasicBlock& block : function)
        if (!is_only_default(block)) trap_before_end(block);
    }
    return llvm::PreservedAnalyses::none();
  }
  static bool isRequired() { return true; }
};

}  // namespace

void trap_before_end(llvm::BasicBlock& block) {
  auto* end = llvm::dyn_cast<llvm::UnreachableInst>(block.getTerminator());
  if (!end) return;
  if (const auto* before = llvm::dyn_cast_or_null<llvm::IntrinsicInst>(end->getPrevNode());
      before && (before->getIntrinsicID() == llvm::Intrinsic::trap ||
                 before->getIntrinsicID() == llvm::Intrinsic::ubsantrap))
    return;
  llvm::IRBuilder<> builder(end);  // at its line
  if (!end->getDebugLoc() && end->getPrevNode())
    builder.SetCurrentDebugLocation(end->getPrevNode()->getDebugLoc());
  llvm::CallInst* trap = builder.CreateIntrinsic(builder.getVoidTy(), llvm::Intrinsic::trap, {});
  trap->addFnAttr(llvm::Attribute::NoMerge);  // each has its own line
  trap->setDoesNotReturn();
  trap->setDoesNotThrow();
}

void trap_unreachable_code(clang::CodeGenOptions& options, const clang::LangOptions& language) {
  if (!language.Sanitize.has(clang::SanitizerKind::Return))
    options.SanitizeTrap.set(clang::SanitizerKind::Return, true);
  options.setSanitizeDebugTrapReasons(clang::CodeGenOptions::SanitizeDebugTrapReasonKind::None);
  options.PassBuilderCallbacks.emplace_back([](llvm::PassBuilder& builder) {
    builder.registerOptimizerLastEPCallback([](llvm::ModulePassManager& passes, llvm::OptimizationLevel,
                                               llvm::ThinOrFullLTOPhase) { passes.addPass(TrapPass()); });
  });
}

MissingReturnTraps::MissingReturnTraps(clang::LangOptions& language, bool wanted)
    : m_language(language), m_wanted(wanted && !language.Sanitize.has(clang::SanitizerKind::Return)) {
  if (m_wanted) m_language.Sanitize.set(clang::SanitizerKind::Return, true);
}

MissingReturnTraps::~MissingReturnTraps() {
  if (m_wanted) m_language.Sanitize.set(clang::SanitizerKind::Return, false);
}

}  // namespace tarsia::jit
