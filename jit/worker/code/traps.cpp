// Traps where code must not be reached.
#include "jit/worker/code/traps.h"

#include "clang/Basic/CodeGenOptions.h"
#include "clang/Basic/LangOptions.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
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
  if (!language.Sanitize.has(clang::SanitizerKind::IntegerDivideByZero))
    options.SanitizeTrap.set(clang::SanitizerKind::IntegerDivideByZero, true);
  options.setSanitizeDebugTrapReasons(clang::CodeGenOptions::SanitizeDebugTrapReasonKind::None);
  options.PassBuilderCallbacks.emplace_back([](llvm::PassBuilder& builder) {
    builder.registerOptimizerLastEPCallback([](llvm::ModulePassManager& passes, llvm::OptimizationLevel,
                                               llvm::ThinOrFullLTOPhase) { passes.addPass(TrapPass()); });
  });
}

GeneratedTraps::GeneratedTraps(clang::LangOptions& language, Where where) : m_language(language) {
  const auto set = [&](clang::SanitizerMask kind, bool wanted, bool& is_set) {
    is_set = wanted && !language.Sanitize.has(kind);
    if (is_set) m_language.Sanitize.set(kind, true);
  };
  set(clang::SanitizerKind::Return, where.missing_returns, m_set.missing_returns);
  set(clang::SanitizerKind::IntegerDivideByZero, where.divisions_by_zero, m_set.divisions_by_zero);
}

GeneratedTraps::~GeneratedTraps() {
  if (m_set.missing_returns) m_language.Sanitize.set(clang::SanitizerKind::Return, false);
  if (m_set.divisions_by_zero) m_language.Sanitize.set(clang::SanitizerKind::IntegerDivideByZero, false);
}

void fault_at_division_traps(llvm::Module& module) {
  constexpr std::uint64_t k_division =
      3;  // SanitizerHandler::DivremOverflow, a part of Clang's binary interface
  llvm::SmallVector<llvm::CallInst*> traps;
  for (llvm::Function& function : module)
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
      if (call && call->getIntrinsicID() == llvm::Intrinsic::ubsantrap &&
          llvm::cast<llvm::ConstantInt>(call->getArgOperand(0))->getZExtValue() == k_division)
        traps.push_back(call);
    }
  for (llvm::CallInst* trap : traps) {
    llvm::IRBuilder<> builder(trap);  // at its line
    auto* divide = llvm::InlineAsm::get(llvm::FunctionType::get(builder.getVoidTy(), false),
                                        "xorl %eax, %eax\n\tdivl %eax", "~{eax},~{edx},~{flags}",
                                        /*hasSideEffects=*/true);
    llvm::CallInst* made = builder.CreateCall(divide);
    made->addFnAttr(llvm::Attribute::NoMerge);  // each has its own line
    made->setDoesNotThrow();
    trap->eraseFromParent();
  }
}

}  // namespace tarsia::jit
