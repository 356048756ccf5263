// Changes in a cell's module before its references are tied.
#include "jit/worker/cell/cell_code.h"

#include <optional>
#include <vector>

#include "jit/worker/cell/cell_linkage.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

namespace tarsia::jit {
namespace {

constexpr char k_prefix_of_run[] = "_GLOBAL__sub_I_";

/// Whether what is read is used by nobody, or written to a variable that nobody reads.
bool is_forgotten(const llvm::LoadInst& load) {
  return llvm::all_of(load.users(), [](const llvm::User* user) {
    const auto* store = llvm::dyn_cast<llvm::StoreInst>(user);
    const auto* variable = store ? llvm::dyn_cast<llvm::AllocaInst>(store->getPointerOperand()) : nullptr;
    return variable && llvm::all_of(variable->users(), [](const llvm::User* one) {
             const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(one);
             return llvm::isa<llvm::StoreInst>(one) || (call && call->isLifetimeStartOrEnd());
           });
  });
}

}  // namespace

void take_ends_of_threads(llvm::Module& module) {
  for (const char* name : {"pthread_exit", "thrd_exit"})
    if (llvm::Function* function = module.getFunction(name); function && function->isDeclaration())
      function->setName(std::string(k_builtin_prefix) + name);
}

void note_places(llvm::Module& module) {
  llvm::LLVMContext& context = module.getContext();
  auto* const pointer = llvm::PointerType::getUnqual(context);
  llvm::Type* const line_type = llvm::Type::getInt32Ty(context);
  llvm::FunctionCallee note = module.getOrInsertFunction(
      "tarsia_cell_note_place",
      llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer, line_type}, false));
  std::vector<llvm::CallBase*> calls;
  for (llvm::Function& function : module) {
    const bool is_run = function.getName().starts_with("__stmts__") ||
                        function.getName().starts_with("__cxx_global_var_init");
    // A call that crashes, as through a null pointer, leaves the statement's line to be reported.
    if (is_run || function.getName().starts_with(k_prefix_of_run))
      function.addFnAttr("disable-tail-calls", "true");
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      const llvm::Function* callee = call ? call->getCalledFunction() : nullptr;
      if (!call || (callee && callee->isIntrinsic()) || !call->getDebugLoc()) continue;
      if (is_run || (callee && callee->getName() == "__cxa_throw")) calls.push_back(call);
    }
  }
  for (llvm::CallBase* call : calls) {
    const llvm::DILocation& place = *call->getDebugLoc();
    if (!place.getFilename().starts_with("cell ")) continue;
    llvm::IRBuilder<> builder(call);
    builder.CreateCall(note, {cell_text(module, place.getFilename().str()),
                              llvm::ConstantInt::get(line_type, place.getLine())});
  }
}

void take_run(llvm::Module& module) {
  llvm::GlobalVariable* list = module.getGlobalVariable("llvm.global_ctors");
  const auto* entries = list ? llvm::dyn_cast<llvm::ConstantArray>(list->getInitializer()) : nullptr;
  if (!entries) return;
  std::vector<llvm::Constant*> kept;
  for (const llvm::Use& use : entries->operands()) {
    auto* entry = llvm::cast<llvm::ConstantStruct>(use.get());
    auto* function = llvm::dyn_cast<llvm::Function>(entry->getOperand(1)->stripPointerCasts());
    if (!function || !function->getName().starts_with(k_prefix_of_run)) {
      kept.push_back(entry);
      continue;
    }
    function->setLinkage(llvm::GlobalValue::ExternalLinkage);
    function->setVisibility(llvm::GlobalValue::DefaultVisibility);
    function->setName(k_cell_run_symbol);
  }
  const std::string name = list->getName().str();
  auto* type = llvm::ArrayType::get(entries->getType()->getElementType(), kept.size());
  list->eraseFromParent();
  if (kept.empty()) return;
  new llvm::GlobalVariable(module, type, false, llvm::GlobalValue::AppendingLinkage,
                           llvm::ConstantArray::get(type, kept), name);
}

void keep_faults(llvm::Function& function) {
  if (function.isDeclaration()) return;
  const bool is_run = function.getName().starts_with("__stmts__");
  std::optional<llvm::DominatorTree> tree;
  std::optional<llvm::LoopInfo> loops;
  if (is_run) loops.emplace(tree.emplace(function));
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
    auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
    if (!load && !store) continue;
    const llvm::Value* memory = llvm::getUnderlyingObject(llvm::getLoadStorePointerOperand(&instruction));
    if (llvm::isa<llvm::AllocaInst, llvm::GlobalVariable>(memory)) continue;
    if (!(is_run && !loops->getLoopFor(instruction.getParent())) && !(load && is_forgotten(*load))) continue;
    if (load)
      load->setVolatile(true);
    else
      store->setVolatile(true);
  }
}

llvm::Constant* cell_text(llvm::Module& module, const std::string& bytes) {
  auto* data = llvm::ConstantDataArray::getString(module.getContext(), bytes);
  return new llvm::GlobalVariable(module, data->getType(), true, llvm::GlobalValue::PrivateLinkage, data,
                                  "tarsia.cell.text");
}

}  // namespace tarsia::jit
