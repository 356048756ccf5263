// What is done to a module before LLVM optimises it.
#include "jit/worker/code/early_passes.h"

#include "jit/worker/code/traps.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace tarsia::jit {
namespace {

// Tests in one function, or of one value in a chain, from which on LLVM takes too long.
constexpr int k_long = 1000;

/// What LLVM's passes need to know of a module.
struct Analyses {
  Analyses() {
    llvm::PassBuilder builder;
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(components);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, components, modules);
  }
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
};

bool is_test(const llvm::BasicBlock& block) {
  const auto* branch = llvm::dyn_cast<llvm::BranchInst>(block.getTerminator());
  return branch && branch->isConditional();
}

/// The values that the block compares with constants before it branches, each once. The condition may join
/// comparisons by && and ||: LLVM makes `and`, `or` or `select` of these.
llvm::SmallVector<const llvm::Value*, 2> tested(const llvm::BasicBlock& block) {
  constexpr size_t k_most_parts = 64;
  llvm::SmallVector<const llvm::Value*, 2> values;
  if (!is_test(block)) return values;
  llvm::SmallVector<const llvm::Value*, 8> parts{
      llvm::cast<llvm::BranchInst>(block.getTerminator())->getCondition()};
  for (size_t i = 0; i < parts.size() && i < k_most_parts; ++i) {
    const auto* part = llvm::dyn_cast<llvm::Instruction>(parts[i]);
    if (const auto* compare = llvm::dyn_cast_or_null<llvm::CmpInst>(part)) {
      const llvm::Value* value = compare->getOperand(0);
      if (llvm::isa<llvm::Constant>(compare->getOperand(1)) && !llvm::is_contained(values, value))
        values.push_back(value);
    } else if (part && (part->isBitwiseLogicOp() || llvm::isa<llvm::SelectInst, llvm::FreezeInst>(part))) {
      parts.append(part->value_op_begin(), part->value_op_end());
    }
  }
  return values;
}

/// Whether so many tests of one value dominate each other.
bool has_long_chain(llvm::Function& function) {
  const llvm::DominatorTree tree(function);
  std::map<const llvm::Value*, int> depths;
  std::vector<std::pair<const llvm::DomTreeNode*, bool>> work{{tree.getRootNode(), true}};
  while (!work.empty()) {
    const auto [node, enters] = work.back();
    work.pop_back();
    const auto values = tested(*node->getBlock());
    if (!enters) {
      for (const llvm::Value* value : values) --depths[value];
      continue;
    }
    for (const llvm::Value* value : values)
      if (++depths[value] >= k_long) return true;
    if (!values.empty()) work.emplace_back(node, false);
    for (const llvm::DomTreeNode* child : node->children()) work.emplace_back(child, true);
  }
  return false;
}

/// Whether the function's code lies outside of the module and may crash. Functions of numbers alone, as those
/// of <cmath>, do not.
bool can_crash_elsewhere(const llvm::Function& callee) {
  if (callee.isIntrinsic())
    return callee.getIntrinsicID() == llvm::Intrinsic::memcpy ||
           callee.getIntrinsicID() == llvm::Intrinsic::memmove ||
           callee.getIntrinsicID() == llvm::Intrinsic::memset;
  if (!callee.isDeclaration()) return false;
  return !callee.getReturnType()->isFloatingPointTy() ||
         llvm::any_of(callee.args(), [](const llvm::Argument& one) { return one.getType()->isPointerTy(); });
}

}  // namespace

// Work-around: Clang makes the code of a virtual function that a header defines inline after the class.
// Trigger: the first virtual function of a class is declared there without `inline`, as what() of
// pybind11::error_already_set is: when the class ends, that function is where the virtual table goes.
// Symptom: each source that includes <torch/extension.h> has thousands of functions of pybind11's, which are
// optimised, and then dropped by the linker. Removal: Clang defers such functions as it does other inline
// ones.
void drop_unreached(llvm::Module& module) {
  Analyses analyses;
  llvm::GlobalDCEPass().run(module, analyses.modules);
}

// The optimiser would drop whatever leads to such an end, and callers would run on as if nothing were there.
void trap_forbidden_returns(llvm::Module& module) {
  for (llvm::Function& function : module) {
    if (!function.doesNotReturn() || function.hasFnAttribute(llvm::Attribute::Naked)) continue;
    for (llvm::BasicBlock& block : function) {
      if (auto* end = llvm::dyn_cast<llvm::ReturnInst>(block.getTerminator())) {
        auto* unreachable = new llvm::UnreachableInst(function.getContext(), end->getIterator());
        unreachable->setDebugLoc(end->getDebugLoc());
        end->eraseFromParent();
      }
      trap_before_end(block);
    }
  }
}

// Calls within the module stay tail calls, and so do those through pointers: recursions may rely on it.
void keep_callers(llvm::Module& module) {
  for (llvm::Function& function : module) {
    if (function.hasFnAttribute("thunk")) continue;
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      const llvm::Function* callee = call ? call->getCalledFunction() : nullptr;
      if (callee && can_crash_elsewhere(*callee) && !call->isMustTailCall())
        call->setTailCallKind(llvm::CallInst::TCK_NoTail);
    }
  }
}

// Work-around: LLVM compares each test of a value with all tests of it that dominate this one.
// Trigger: an if with thousands of else-ifs, also with conditions that && or || join. Symptom: a function of
// 4,000 takes five seconds, and one of 8,000 twenty. Tests for equality become a switch here, before that is
// done; a function in which a long chain is left is not optimised. Removal: LLVM's time grows with the length
// of such a chain.
std::vector<std::string> shorten_chains(llvm::Module& module) {
  std::vector<std::string> not_optimised;
  for (llvm::Function& function : module) {
    if (std::ranges::count_if(function, is_test) < k_long ||
        function.hasFnAttribute(llvm::Attribute::OptimizeNone))
      continue;
    Analyses analyses;
    llvm::FunctionPassManager passes;
    passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
    passes.addPass(llvm::EarlyCSEPass());
    passes.addPass(llvm::SimplifyCFGPass());
    passes.run(function, analyses.functions);
    if (!has_long_chain(function)) continue;
    function.removeFnAttr(llvm::Attribute::AlwaysInline);
    function.addFnAttr(llvm::Attribute::OptimizeNone);
    function.addFnAttr(llvm::Attribute::NoInline);
    not_optimised.push_back(function.getName().str());
  }
  return not_optimised;
}

}  // namespace tarsia::jit
