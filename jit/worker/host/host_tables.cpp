// Makes the tables in the host's object that register its device code.
#include "jit/worker/host/host_tables.h"

#include <algorithm>

#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "clang/AST/Decl.h"
#include "clang/AST/DeclGroup.h"
#include "clang/AST/GlobalDecl.h"
#include "clang/CodeGen/ModuleBuilder.h"
#include "jit/worker/host/device_entities.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/ReplaceConstant.h"

namespace tarsia::jit {
namespace {

std::string symbol_of(llvm::Constant* constant) {
  auto* value = constant ? llvm::dyn_cast<llvm::GlobalValue>(constant->stripPointerCasts()) : nullptr;
  return value ? value->getName().str() : "";
}

void add_addresses(llvm::Module& module, const std::vector<llvm::Constant*>& addresses,
                   const std::string& name) {
  auto* pointer = llvm::PointerType::getUnqual(module.getContext());
  auto* type = llvm::ArrayType::get(pointer, addresses.size());
  auto* array =
      new llvm::GlobalVariable(module, type, /*isConstant=*/true, llvm::GlobalValue::ExternalLinkage,
                               llvm::ConstantArray::get(type, addresses), name);
  array->setVisibility(llvm::GlobalValue::HiddenVisibility);
}

// Gives the host a managed variable through a pointer that the CUDA runtime fills in when the device code is
// loaded. Work-around: Clang knows managed variables for HIP alone, see jit/worker/host/device_entities.cpp.
llvm::Constant* route_managed(llvm::Module& module, llvm::GlobalVariable& shadow) {
  llvm::LLVMContext& context = module.getContext();
  auto* pointer = llvm::PointerType::getUnqual(context);
  auto* slot =
      new llvm::GlobalVariable(module, pointer, false, llvm::GlobalValue::InternalLinkage,
                               llvm::ConstantPointerNull::get(pointer), shadow.getName() + ".managed");
  llvm::FunctionCallee getter = module.getOrInsertFunction("tarsia_managed_pointer", pointer, pointer);
  if (auto* function = llvm::dyn_cast<llvm::Function>(getter.getCallee()))
    function->setVisibility(llvm::GlobalValue::HiddenVisibility);
  llvm::convertUsersOfConstantsToInstructions({&shadow});
  std::vector<llvm::Use*> uses;
  for (llvm::Use& use : shadow.uses()) uses.push_back(&use);
  for (llvm::Use* use : uses) {
    auto* instruction = llvm::dyn_cast<llvm::Instruction>(use->getUser());
    if (!instruction) continue;
    auto* phi = llvm::dyn_cast<llvm::PHINode>(instruction);
    llvm::IRBuilder<> builder(phi ? phi->getIncomingBlock(*use)->getTerminator() : instruction);
    use->set(builder.CreateCall(getter, {slot}));
  }
  return slot;
}

}  // namespace

std::string stubs_symbol(int unit) {
  return "tarsia_stubs_" + std::to_string(unit);
}
std::string shadows_symbol(int unit) {
  return "tarsia_shadows_" + std::to_string(unit);
}

void prepare_device_tables(clang::CodeGenerator& generator, DeviceSlice& slice) {
  for (KernelUse& kernel : slice.kernels)
    kernel.stub_symbol = symbol_of(generator.GetAddrOfGlobal(
        clang::GlobalDecl(kernel.function, clang::KernelReferenceKind::Stub), /*isForDefinition=*/false));
  for (DeviceVariable& variable : slice.variables) {
    llvm::Constant* const shadow =
        generator.GetAddrOfGlobal(clang::GlobalDecl(variable.variable), /*isForDefinition=*/false);
    variable.shadow_symbol = symbol_of(shadow);
    // What a header declares alone, Clang met before it was a definition (define_declared_variables).
    const auto* global = shadow ? llvm::dyn_cast<llvm::GlobalValue>(shadow->stripPointerCasts()) : nullptr;
    if (global && global->isDeclaration())
      generator.HandleTopLevelDecl(clang::DeclGroupRef(const_cast<clang::VarDecl*>(variable.variable)));
  }
}

std::string header_kernels_symbol(int unit) {
  return "tarsia_header_kernels_" + std::to_string(unit);
}

std::vector<HeaderKernel> list_header_kernels(clang::CodeGenerator& generator, const llvm::Module& module,
                                              const DeviceSlice& slice) {
  std::vector<HeaderKernel> kernels;
  for (const llvm::Function& function : module) {
    if (function.isDeclaration() || !function.getName().contains("__device_stub__")) continue;
    const std::string stub = function.getName().str();
    const auto is_this = [&](const KernelUse& kernel) { return kernel.stub_symbol == stub; };
    if (std::ranges::any_of(slice.kernels, is_this)) continue;
    const auto* decl = llvm::dyn_cast_or_null<clang::FunctionDecl>(generator.GetDeclForMangledName(stub));
    if (decl && decl->hasAttr<clang::CUDAGlobalAttr>())
      kernels.push_back({stub, mangled_name(decl->getASTContext(), *decl)});
  }
  return kernels;
}

void add_device_tables(llvm::Module& module, const DeviceSlice& slice,
                       const std::vector<HeaderKernel>& header_kernels, int unit) {
  auto* null = llvm::ConstantPointerNull::get(llvm::PointerType::getUnqual(module.getContext()));
  if (auto* annotations = module.getNamedGlobal("llvm.global.annotations")) annotations->eraseFromParent();
  std::vector<llvm::Constant*> stubs, shadows;
  for (const KernelUse& kernel : slice.kernels) {
    llvm::GlobalValue* stub = kernel.stub_symbol.empty() ? nullptr : module.getNamedValue(kernel.stub_symbol);
    stubs.push_back(stub ? static_cast<llvm::Constant*>(stub) : null);
  }
  for (const DeviceVariable& variable : slice.variables) {
    llvm::GlobalVariable* shadow =
        variable.shadow_symbol.empty() ? nullptr : module.getNamedGlobal(variable.shadow_symbol);
    if (shadow && variable.managed)
      shadows.push_back(route_managed(module, *shadow));
    else
      shadows.push_back(shadow ? static_cast<llvm::Constant*>(shadow) : null);
  }
  add_addresses(module, stubs, stubs_symbol(unit));
  add_addresses(module, shadows, shadows_symbol(unit));
  std::vector<llvm::Constant*> more;
  for (const HeaderKernel& kernel : header_kernels) {
    more.push_back(module.getNamedValue(kernel.stub));
    llvm::Constant* text = llvm::ConstantDataArray::getString(module.getContext(), kernel.name);
    more.push_back(new llvm::GlobalVariable(module, text->getType(), /*isConstant=*/true,
                                            llvm::GlobalValue::PrivateLinkage, text));
  }
  more.push_back(null);
  add_addresses(module, more, header_kernels_symbol(unit));
}

}  // namespace tarsia::jit
