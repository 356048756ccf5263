// What is done to a module before LLVM optimises it.
#include "jit/worker/code/early_passes.h"

#include "jit/worker/code/traps.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/CFG.h>
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
#include <set>
#include <utility>
#include <vector>

namespace tarsia::jit {
namespace {

// Tests in one function, or of one value in a chain, from which on LLVM takes too long.
constexpr int k_long = 1000;
// The same for a chain of any tests, whose branches meet again.
constexpr int k_long_ladder = 2000;

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

/// The most tests that dominate each other and have something in common: `values` gives what a block tests.
template <class Value, class Values>
int deepest_chain(llvm::Function& function, const Values& values_of) {
  const llvm::DominatorTree tree(function);
  std::map<Value, int> depths;
  int deepest = 0;
  std::vector<std::pair<const llvm::DomTreeNode*, bool>> work{{tree.getRootNode(), true}};
  while (!work.empty()) {
    const auto [node, enters] = work.back();
    work.pop_back();
    const llvm::SmallVector<Value, 2> values = values_of(*node->getBlock());
    if (!enters) {
      for (const Value& value : values) --depths[value];
      continue;
    }
    for (const Value& value : values) deepest = std::max(deepest, ++depths[value]);
    if (!values.empty()) work.emplace_back(node, false);
    for (const llvm::DomTreeNode* child : node->children()) work.emplace_back(child, true);
  }
  return deepest;
}

/// Whether so many tests of one value dominate each other.
bool has_long_chain(llvm::Function& function) {
  return deepest_chain<const llvm::Value*>(function, tested) >= k_long;
}

/// What a value is read from, before variables become registers.
const llvm::Value* origin(const llvm::Value* value) {
  while (true) {
    if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(value))
      value = load->getPointerOperand();
    else if (const auto* cast = llvm::dyn_cast<llvm::CastInst>(value))
      value = cast->getOperand(0);
    else if (const auto* element = llvm::dyn_cast<llvm::GetElementPtrInst>(value))
      value = element->getPointerOperand();
    else
      return value;
  }
}

/// Whether most of the tests may be one switch: they ask whether what is read from one place is a constant.
bool may_be_switch(llvm::Function& function) {
  const int equalities = deepest_chain<const llvm::Value*>(function, [](const llvm::BasicBlock& block) {
    llvm::SmallVector<const llvm::Value*, 2> values;
    if (!is_test(block)) return values;
    const auto* compare =
        llvm::dyn_cast<llvm::ICmpInst>(llvm::cast<llvm::BranchInst>(block.getTerminator())->getCondition());
    if (compare && compare->isEquality() && llvm::isa<llvm::Constant>(compare->getOperand(1)))
      values.push_back(origin(compare->getOperand(0)));
    return values;
  });
  return equalities > std::ranges::count_if(function, is_test) / 2;
}

/// Where control goes on from the start of a block, past blocks that do nothing.
class Ends {
 public:
  const llvm::BasicBlock* of(const llvm::BasicBlock* block) {
    std::vector<const llvm::BasicBlock*> passed;
    for (const llvm::BasicBlock* next; (next = next_of(block)) != nullptr; block = next) {
      if (const auto known = m_known.find(block); known != m_known.end()) {
        block = known->second;
        break;
      }
      passed.push_back(block);
      if (passed.size() > k_most_passed) break;  // an endless loop
    }
    for (const llvm::BasicBlock* one : passed) m_known[one] = block;
    return block;
  }
  /// The next block, if this one does nothing.
  static const llvm::BasicBlock* next_of(const llvm::BasicBlock* block) {
    for (const llvm::Instruction& one : *block) {
      if (llvm::isa<llvm::PHINode>(one) || one.isDebugOrPseudoInst() || one.isLifetimeStartOrEnd()) continue;
      const auto* branch = llvm::dyn_cast<llvm::BranchInst>(&one);
      return branch && branch->isUnconditional() ? branch->getSuccessor(0) : nullptr;
    }
    return nullptr;
  }

 private:
  static constexpr size_t k_most_passed = 1000000;
  std::map<const llvm::BasicBlock*, const llvm::BasicBlock*> m_known;
};

/// Whether so many tests dominate each other, and so many branches meet at one place. Tests that end in a
/// throw, or that each have their own end, as ifs without else have, cost LLVM no more than other code.
bool is_long_ladder(llvm::Function& function) {
  Ends ends;
  std::map<const llvm::BasicBlock*, int> meeting;
  int most = 0;
  for (const llvm::BasicBlock& block : function) {
    if (Ends::next_of(&block)) continue;
    std::set<const llvm::BasicBlock*> reached;
    for (const llvm::BasicBlock* next : llvm::successors(&block))
      if (!next->isEHPad() && reached.insert(ends.of(next)).second)
        most = std::max(most, ++meeting[ends.of(next)]);
  }
  if (most < k_long_ladder) return false;
  return deepest_chain<int>(function, [](const llvm::BasicBlock& block) {
           return is_test(block) ? llvm::SmallVector<int, 2>{0} : llvm::SmallVector<int, 2>{};
         }) >= k_long_ladder;
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

// Work-around: LLVM's time grows with the square of the length of a chain of ifs.
// Trigger: an if with thousands of else-ifs, also with conditions that && or || join, or ifs that return.
// Symptom: a function of 4,000 takes five seconds, and one of 8,000 twenty. LLVM compares each test of a
// value with all tests of it that dominate this one; and where the branches meet, it looks at all that have
// met when one more does (SimplifyCFG, and the register coalescer, since their results share a register).
// Tests for equality of one value become a switch here, before that is done; a function in which a long chain
// is left is not optimised. Without the optimiser the results stay in memory. Removal: LLVM's time grows with
// the length of such a chain.
std::vector<std::string> shorten_chains(llvm::Module& module) {
  std::vector<std::string> not_optimised;
  for (llvm::Function& function : module) {
    if (std::ranges::count_if(function, is_test) < k_long ||
        function.hasFnAttribute(llvm::Attribute::OptimizeNone))
      continue;
    if (!is_long_ladder(function) || may_be_switch(function)) {
      Analyses analyses;
      llvm::FunctionPassManager passes;
      passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
      passes.addPass(llvm::EarlyCSEPass());
      passes.addPass(llvm::SimplifyCFGPass());
      passes.run(function, analyses.functions);
      if (!has_long_chain(function) && !is_long_ladder(function)) continue;
    }
    function.removeFnAttr(llvm::Attribute::AlwaysInline);
    function.addFnAttr(llvm::Attribute::OptimizeNone);
    function.addFnAttr(llvm::Attribute::NoInline);
    not_optimised.push_back(function.getName().str());
  }
  return not_optimised;
}

}  // namespace tarsia::jit
