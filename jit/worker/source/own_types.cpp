// Finds the names among the variables of the unit: _ZTS7Counter holds "7Counter".
#include "jit/worker/source/own_types.h"

#include <algorithm>
#include <memory>

#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/Mangle.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"

namespace tarsia::jit {
namespace {

constexpr char k_prefix[] = "_ZTS";

bool initialises_module(const llvm::Module& module) {
  return std::any_of(module.begin(), module.end(), [](const llvm::Function& function) {
    return !function.isDeclaration() && function.getName().starts_with("PyInit");
  });
}

void put_star_before(llvm::GlobalVariable& name) {
  const auto* text = llvm::dyn_cast<llvm::ConstantDataArray>(name.getInitializer());
  if (!text || !text->isCString() || text->getAsCString().starts_with("*")) return;
  llvm::Constant* starred =
      llvm::ConstantDataArray::getString(name.getContext(), "*" + text->getAsCString().str());
  auto* changed = new llvm::GlobalVariable(*name.getParent(), starred->getType(), name.isConstant(),
                                           name.getLinkage(), starred, "", &name);
  changed->copyAttributesFrom(&name);
  changed->setComdat(name.getComdat());
  changed->takeName(&name);
  name.replaceAllUsesWith(changed);
  name.eraseFromParent();
}

}  // namespace

void OwnTypes::make_own(llvm::Module& module, clang::ASTContext& context) const {
  if (m_types.empty() || !initialises_module(module)) return;
  const std::unique_ptr<clang::MangleContext> mangle(context.createMangleContext());
  std::vector<std::string> names;
  for (const clang::TagDecl* type : m_types) {
    if (type->isDependentContext() || !type->hasNameForLinkage()) continue;
    std::string name;
    llvm::raw_string_ostream out(name);
    mangle->mangleCXXRTTIName(context.getCanonicalTagType(type), out);
    names.push_back(name.substr(sizeof k_prefix - 1));
  }
  std::vector<llvm::GlobalVariable*> own;
  for (llvm::GlobalVariable& variable : module.globals()) {
    llvm::StringRef symbol = variable.getName();
    if (!symbol.consume_front(k_prefix) || !variable.hasInitializer()) continue;
    // Itself, or a template of it.
    const auto is_of = [&](const std::string& name) { return symbol == name || symbol.contains("I" + name); };
    if (std::ranges::any_of(names, is_of)) own.push_back(&variable);
  }
  for (llvm::GlobalVariable* name : own) put_star_before(*name);
}

}  // namespace tarsia::jit
