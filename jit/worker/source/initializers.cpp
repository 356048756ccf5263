// Replaces the functions in llvm.global_ctors by functions that call them.
#include "jit/worker/source/initializers.h"

#include <vector>

#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace tarsia::jit {
namespace {

// void guarded() { try { initializer(); } catch (...) { tarsia_initializer_failed(the exception); } }
llvm::Function* guarded(llvm::Module& module, llvm::Constant* initializer) {
  llvm::LLVMContext& context = module.getContext();
  auto* pointer = llvm::PointerType::getUnqual(context);
  auto* nothing = llvm::Type::getVoidTy(context);
  auto* type = llvm::FunctionType::get(nothing, false);
  auto* function =
      llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, "tarsia_guarded_initializer", module);
  function->setUWTableKind(llvm::UWTableKind::Async);
  function->setSection(".text.startup");
  auto personality = module.getOrInsertFunction(
      "__gxx_personality_v0", llvm::FunctionType::get(llvm::Type::getInt32Ty(context), true));
  function->setPersonalityFn(llvm::cast<llvm::Constant>(personality.getCallee()));
  auto failed = module.getOrInsertFunction("tarsia_initializer_failed",
                                           llvm::FunctionType::get(nothing, {pointer}, false));

  auto* begin = llvm::BasicBlock::Create(context, "", function);
  auto* end = llvm::BasicBlock::Create(context, "", function);
  auto* thrown = llvm::BasicBlock::Create(context, "", function);
  llvm::IRBuilder<> builder(begin);
  builder.CreateInvoke(type, initializer, end, thrown);
  builder.SetInsertPoint(end);
  builder.CreateRetVoid();
  builder.SetInsertPoint(thrown);
  auto* pad =
      builder.CreateLandingPad(llvm::StructType::get(context, {pointer, llvm::Type::getInt32Ty(context)}), 1);
  pad->addClause(llvm::ConstantPointerNull::get(pointer));
  builder.CreateCall(failed, {builder.CreateExtractValue(pad, 0)});
  builder.CreateRetVoid();
  return function;
}

}  // namespace

void guard_initializers(llvm::Module& module) {
  llvm::GlobalVariable* list = module.getGlobalVariable("llvm.global_ctors");
  const auto* entries = list ? llvm::dyn_cast<llvm::ConstantArray>(list->getInitializer()) : nullptr;
  if (!entries) return;
  std::vector<llvm::Constant*> changed;
  for (const llvm::Use& use : entries->operands()) {
    auto* entry = llvm::cast<llvm::ConstantStruct>(use.get());
    changed.push_back(llvm::ConstantStruct::get(
        entry->getType(),
        {entry->getOperand(0), guarded(module, entry->getOperand(1)), entry->getOperand(2)}));
  }
  list->setInitializer(llvm::ConstantArray::get(entries->getType(), changed));
}

}  // namespace tarsia::jit
