// Runs LLVM's code generator without its optimiser.
#include "jit/worker/link/emit_object.h"

#include <memory>

#include "base/error.h"
#include "jit/worker/host/clang_setup.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/TargetParser/Triple.h"

namespace tarsia::jit {
namespace {

std::unique_ptr<llvm::TargetMachine> make_target() {
  initialize_llvm();
  std::string error;
  llvm::Triple triple("x86_64-pc-linux-gnu");
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target) throw Error("the compiler was built without its X86 target: " + error);
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, "x86-64", "", llvm::TargetOptions(), llvm::Reloc::PIC_));
}

}  // namespace

void set_target(llvm::Module& module) {
  const std::unique_ptr<llvm::TargetMachine> target = make_target();
  module.setTargetTriple(target->getTargetTriple());
  module.setDataLayout(target->createDataLayout());
}

std::string emit_object(llvm::Module& module) {
  const std::unique_ptr<llvm::TargetMachine> target = make_target();
  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream out(object);
  llvm::legacy::PassManager passes;
  if (target->addPassesToEmitFile(passes, out, nullptr, llvm::CodeGenFileType::ObjectFile))
    throw Error("the compiler cannot write object files");
  passes.run(module);
  return std::string(object.begin(), object.end());
}

}  // namespace tarsia::jit
