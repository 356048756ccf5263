// Finds functions with loops within loops, and marks those that had better not be inlined.
#include "jit/worker/code/loop_nests.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <map>
#include <memory>

namespace tarsia::jit {

namespace {

/// The loops of functions, each found once.
class Loops {
 public:
  const llvm::LoopInfo& of(llvm::Function& function) {
    std::unique_ptr<llvm::LoopInfo>& found = m_found[&function];
    if (!found) found = std::make_unique<llvm::LoopInfo>(llvm::DominatorTree(function));
    return *found;
  }

 private:
  std::map<const llvm::Function*, std::unique_ptr<llvm::LoopInfo>> m_found;
};

bool has_loop_in_loop(const llvm::LoopInfo& loops) {
  return std::ranges::any_of(loops, [](const llvm::Loop* loop) { return !loop->getSubLoops().empty(); });
}

/// The number of direct calls, or k_keen if a call should be inlined. That is a call with a constant
/// number, which may make the loops end early or unroll, and a call within a loop, where the call itself
/// may cost.
constexpr int k_keen = 1 << 20;
int calls_of(const llvm::Function& function, Loops& loops) {
  int calls = 0;
  for (const llvm::User* user : function.users()) {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(user);
    if (!call || call->getCalledOperand() != &function) continue;
    ++calls;
    for (const llvm::Use& argument : call->args())
      if (llvm::isa<llvm::ConstantInt>(argument)) return k_keen;
    const llvm::BasicBlock* block = call->getParent();
    if (loops.of(*const_cast<llvm::Function*>(block->getParent())).getLoopFor(block)) return k_keen;
  }
  return calls;
}

bool is_left_to_llvm(const llvm::Function& function) {
  return function.isDeclaration() || !(function.hasExternalLinkage() || function.hasLocalLinkage()) ||
         function.hasFnAttribute(llvm::Attribute::AlwaysInline) ||
         function.hasFnAttribute(llvm::Attribute::InlineHint) ||
         function.hasFnAttribute(llvm::Attribute::OptimizeNone);
}

}  // namespace

void keep_loop_nests_apart(llvm::Module& module) {
  Loops loops;
  for (llvm::Function& function : module) {
    if (is_left_to_llvm(function)) continue;
    const int calls = calls_of(function, loops), fewest = function.hasLocalLinkage() ? 2 : 1;
    if (calls >= fewest && calls < k_keen && has_loop_in_loop(loops.of(function)))
      function.addFnAttr(llvm::Attribute::NoInline);
  }
}

}  // namespace tarsia::jit
