// Edits of a module of device code.
#include "jit/worker/nvptx/device_module.h"

#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Metadata.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Transforms/IPO/Internalize.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

namespace tarsia::jit {
namespace {

bool is_kernel(const llvm::Function& function) {
  return function.getCallingConv() == llvm::CallingConv::PTX_Kernel;
}

/// Functions that CUDA defines on the device without a library.
bool is_built_in(llvm::StringRef name) {
  return name == "vprintf" || name == "malloc" || name == "free" || name == "__assertfail" ||
         name == "__nvvm_reflect" || name == "cudaGetParameterBufferV2" || name == "cudaLaunchDeviceV2";
}

}  // namespace

void mark_managed(llvm::Module& module) {
  llvm::GlobalVariable* annotations = module.getNamedGlobal("llvm.global.annotations");
  if (!annotations) return;
  llvm::LLVMContext& context = module.getContext();
  llvm::NamedMDNode* marks = module.getOrInsertNamedMetadata("nvvm.annotations");
  if (const auto* all = llvm::dyn_cast<llvm::ConstantArray>(annotations->getInitializer()))
    for (const llvm::Use& entry : all->operands()) {
      const auto* fields = llvm::cast<llvm::Constant>(entry.get());
      auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(fields->getOperand(0)->stripPointerCasts());
      const auto* text = llvm::dyn_cast<llvm::GlobalVariable>(fields->getOperand(1)->stripPointerCasts());
      const auto* mark = text ? llvm::dyn_cast<llvm::ConstantDataArray>(text->getInitializer()) : nullptr;
      if (!variable || !mark || !mark->isCString() || mark->getAsCString() != "tarsia_managed") continue;
      auto* one = llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), 1);
      marks->addOperand(llvm::MDNode::get(
          context, {llvm::ValueAsMetadata::get(variable), llvm::MDString::get(context, "managed"),
                    llvm::ValueAsMetadata::get(one)}));
    }
  annotations->eraseFromParent();
}

std::string link_libdevice(llvm::Module& module, llvm::StringRef bitcode) {
  auto library = llvm::parseBitcodeFile(llvm::MemoryBufferRef(bitcode, "libdevice"), module.getContext());
  if (!library) return "libdevice cannot be read: " + llvm::toString(library.takeError());
  // The library's own of both are older, and LLVM would warn that they differ.
  (*library)->setTargetTriple(module.getTargetTriple());
  (*library)->setDataLayout(module.getDataLayout());
  const bool failed =
      llvm::Linker::linkModules(module, std::move(*library), llvm::Linker::Flags::LinkOnlyNeeded,
                                [](llvm::Module& into, const llvm::StringSet<>& linked) {
                                  llvm::internalizeModule(into, [&](const llvm::GlobalValue& value) {
                                    return !value.hasName() || !linked.count(value.getName());
                                  });
                                });
  return failed ? "libdevice cannot be linked" : "";
}

void keep_kernels(llvm::Module& module, const std::set<std::string>& symbols) {
  for (llvm::Function& function : module)
    if (is_kernel(function) && !function.isDeclaration() && !symbols.count(function.getName().str()))
      function.setLinkage(llvm::GlobalValue::InternalLinkage);
}

void leave_out(llvm::Module& module, const std::set<std::string>& symbols) {
  for (llvm::Function& function : module)
    if (is_kernel(function) && !function.isDeclaration() && symbols.count(function.getName().str()))
      function.setLinkage(llvm::GlobalValue::InternalLinkage);
  for (llvm::GlobalVariable& variable : module.globals())
    if (variable.isExternallyInitialized() && !variable.isDeclaration())
      variable.setLinkage(llvm::GlobalValue::InternalLinkage);
  llvm::removeFromUsedLists(module, [&](llvm::Constant* value) {
    const auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(value);
    return symbols.count(value->getName().str()) || (variable && variable->isExternallyInitialized());
  });
}

bool has_variables(const llvm::Module& module) {
  return llvm::any_of(module.globals(),
                      [](const llvm::GlobalVariable& one) { return one.isExternallyInitialized(); });
}

void hide_functions(llvm::Module& module) {
  llvm::internalizeModule(module, [](const llvm::GlobalValue& value) {
    const auto* function = llvm::dyn_cast<llvm::Function>(&value);
    return !function || is_kernel(*function);
  });
}

std::set<std::string> symbols_of(const llvm::Module& module) {
  std::set<std::string> symbols;
  for (const llvm::Function& function : module)
    if (is_kernel(function) && !function.isDeclaration() && !function.hasLocalLinkage())
      symbols.insert(function.getName().str());
  for (const llvm::GlobalVariable& variable : module.globals())
    if (!variable.isDeclaration() && !variable.hasLocalLinkage()) symbols.insert(variable.getName().str());
  return symbols;
}

std::set<std::string> undefined_functions(const llvm::Module& module) {
  std::set<std::string> names;
  for (const llvm::Function& function : module)
    if (function.isDeclaration() && !function.isIntrinsic() && !function.use_empty() &&
        !is_built_in(function.getName()))
      names.insert(function.getName().str());
  return names;
}

}  // namespace tarsia::jit
