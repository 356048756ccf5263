// Cuts the code of headers off a unit's module.
//
// Of a source with <regex>, Eigen or PyTorch, nearly all code is instantiations of the headers' templates,
// and an edit seldom changes which ones. Their object is kept under a hash of their own IR, so it is found
// again whenever that IR is the same, and never otherwise.
//
// 1. Candidates are linkonce_odr functions whose place is not in the user's text. The language says that
//    they are the same in every object. One that refers to something that the rest alone can define (a
//    static variable, an inline or static function of the user's) is none, and neither are those that
//    refer to it. A comdat group goes as a whole.
// 2. Small candidates may be inlined, so both parts keep a copy. A large one goes to the headers' part alone,
//    as weak_odr, and is declared in the rest. LLVM inlines few of that size, and derives nothing about a
//    linkonce_odr function from its body that it would now miss.
// 3. The headers' part is put into an order, and its private names and types are renamed, so that nothing in
//    it depends on the rest.
#include "jit/worker/code/header_code.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/TypeFinder.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace tarsia::jit {
namespace {

// Instructions, before they are optimised, of the largest function that both parts keep.
constexpr unsigned k_small = 60;
// The least weight of the headers' part, in such instructions: about 100 ms of a core.
constexpr unsigned k_worth = 4000;

using Values = llvm::SmallVector<llvm::GlobalValue*, 8>;

/// Adds the globals that a constant refers to.
void add_globals(llvm::Constant* constant, llvm::DenseSet<llvm::Constant*>& seen, Values& found) {
  if (!seen.insert(constant).second) return;
  if (auto* global = llvm::dyn_cast<llvm::GlobalValue>(constant)) return found.push_back(global);
  for (llvm::Use& use : constant->operands())
    if (auto* inner = llvm::dyn_cast<llvm::Constant>(use.get())) add_globals(inner, seen, found);
}

/// The globals that a global's definition refers to.
Values references_of(llvm::GlobalValue& value) {
  Values found;
  llvm::DenseSet<llvm::Constant*> seen;
  if (auto* function = llvm::dyn_cast<llvm::Function>(&value)) {
    for (llvm::Use& use : function->operands())
      if (auto* constant = llvm::dyn_cast<llvm::Constant>(use.get())) add_globals(constant, seen, found);
    for (llvm::Instruction& instruction : llvm::instructions(*function))
      for (llvm::Use& use : instruction.operands())
        if (auto* constant = llvm::dyn_cast<llvm::Constant>(use.get())) add_globals(constant, seen, found);
  } else if (auto* user = llvm::dyn_cast<llvm::User>(&value)) {
    for (llvm::Use& use : user->operands())
      if (auto* constant = llvm::dyn_cast<llvm::Constant>(use.get())) add_globals(constant, seen, found);
  }
  return found;
}

/// Whether the function's code must stay where it is: it is the user's, or it holds assembly that may read a
/// file.
bool must_stay(const llvm::Function& function) {
  if (const llvm::DISubprogram* place = function.getSubprogram();
      place && place->getFile() && !place->getFile()->getFilename().starts_with("/"))
    return true;
  return llvm::any_of(llvm::instructions(function), [](const llvm::Instruction& instruction) {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    if (!call || !call->isInlineAsm()) return false;
    const llvm::StringRef text = llvm::cast<llvm::InlineAsm>(call->getCalledOperand())->getAsmString();
    return text.contains(".in");  // .incbin, .include
  });
}

bool is_private_constant(const llvm::GlobalValue& value) {
  const auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(&value);
  return variable && variable->hasLocalLinkage() && variable->isConstant() &&
         variable->hasGlobalUnnamedAddr() && !variable->hasSection() && !variable->hasComdat();
}

bool is_only_called(const llvm::Function& function) {
  return llvm::all_of(function.uses(), [](const llvm::Use& use) {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(use.getUser());
    return call && call->isCallee(&use);
  });
}

/// Whether both parts may define it.
bool may_be_copied(const llvm::GlobalValue& value) {
  if (value.isDeclaration()) return false;
  if (is_private_constant(value) || value.hasAvailableExternallyLinkage()) return true;
  const auto* function = llvm::dyn_cast<llvm::Function>(&value);
  if (function && function->hasLocalLinkage())  // as most of <immintrin.h>; nobody compares their addresses
    return !function->hasComdat() && is_only_called(*function) && !must_stay(*function);
  return value.hasLinkOnceODRLinkage() && (!function || !must_stay(*function));
}

unsigned size_of(const llvm::Function& function) {
  unsigned size = 0;
  for (const llvm::Instruction& instruction : llvm::instructions(function))
    size += !instruction.isDebugOrPseudoInst() && !llvm::isa<llvm::AllocaInst>(instruction) &&
            !instruction.isLifetimeStartOrEnd();
  return size;
}

class HeaderCode {
 public:
  explicit HeaderCode(llvm::Module& module) : m_module(module) {}

  /// Returns false if it is not worth a cut.
  bool find() {
    if (!m_module.getModuleInlineAsm().empty() || !m_module.ifunc_empty()) return false;
    for (llvm::GlobalValue& value : m_module.global_values()) {
      if (may_be_copied(value)) m_free.insert(&value);
      if (!value.isDeclaration()) m_references[&value] = references_of(value);
      if (const llvm::Comdat* group = value.getComdat()) m_groups[group].push_back(&value);
    }
    drop_bound();
    std::vector<llvm::GlobalValue*> next;
    for (llvm::GlobalValue* value : m_free) {
      auto* function = llvm::dyn_cast<llvm::Function>(value);
      if (!function || !function->hasLinkOnceODRLinkage() ||
          function->hasFnAttribute(llvm::Attribute::AlwaysInline) || size_of(*function) <= k_small)
        continue;
      // What comes with it in its group would have to be parted from it.
      if (function->hasComdat() && m_groups[function->getComdat()].size() > 1) continue;
      m_large.insert(function);
      next.push_back(function);
    }
    // What they need goes with them, copies of small functions among it.
    unsigned weight = 0;
    while (!next.empty()) {
      llvm::GlobalValue* value = next.back();
      next.pop_back();
      if (!m_free.contains(value) || !m_needed.insert(value).second) continue;
      if (const auto* function = llvm::dyn_cast<llvm::Function>(value)) weight += size_of(*function);
      for (llvm::GlobalValue* reference : m_references[value]) next.push_back(reference);
      if (const llvm::Comdat* group = value->getComdat())
        for (llvm::GlobalValue* member : m_groups[group]) next.push_back(member);
    }
    return weight >= k_worth;
  }

  std::string cut() {
    llvm::ValueToValueMapTy values;
    const std::unique_ptr<llvm::Module> part = llvm::CloneModule(
        m_module, values, [&](const llvm::GlobalValue* value) { return m_needed.contains(value); });
    for (const llvm::Function* function : m_large)
      llvm::cast<llvm::Function>(values[function])->setLinkage(llvm::GlobalValue::WeakODRLinkage);
    put_in_order(*part);
    std::string bitcode;
    llvm::raw_string_ostream out(bitcode);
    llvm::WriteBitcodeToFile(*part, out);
    out.flush();

    for (llvm::Function* function : m_large) {
      function->deleteBody();
      function->setComdat(nullptr);
      function->setSubprogram(nullptr);
    }
    drop_unreachable();
    return bitcode;
  }

 private:
  // Takes out of m_free what refers to something that only the rest can define, and what is in a group with
  // it.
  void drop_bound() {
    llvm::DenseMap<llvm::GlobalValue*, Values> users;
    std::vector<llvm::GlobalValue*> bound;
    for (auto& [value, references] : m_references)
      for (llvm::GlobalValue* reference : references) users[reference].push_back(value);
    for (llvm::GlobalValue& value : m_module.global_values()) {
      if (m_free.contains(&value) || value.isDeclaration()) continue;
      // A definition with a symbol of its own can be referred to from the other part.
      if (!value.hasLocalLinkage() && !value.hasLinkOnceLinkage()) {
        if (value.hasComdat()) drop_group(value, bound);
        continue;
      }
      bound.push_back(&value);
    }
    while (!bound.empty()) {
      llvm::GlobalValue* value = bound.back();
      bound.pop_back();
      drop_group(*value, bound);
      for (llvm::GlobalValue* user : users[value])
        if (m_free.erase(user)) bound.push_back(user);
    }
  }

  void drop_group(llvm::GlobalValue& value, std::vector<llvm::GlobalValue*>& bound) {
    const llvm::Comdat* group = value.getComdat();
    if (!group) return;
    for (llvm::GlobalValue* member : m_groups[group])
      if (m_free.erase(member)) bound.push_back(member);
  }

  // Without what the large functions alone used, the rest would still be optimised.
  void drop_unreachable() {
    llvm::DenseSet<llvm::GlobalValue*> reached;
    std::vector<llvm::GlobalValue*> next;
    for (llvm::GlobalValue& value : m_module.global_values())
      if (!value.isDeclaration() && !m_free.contains(&value)) next.push_back(&value);
    while (!next.empty()) {
      llvm::GlobalValue* value = next.back();
      next.pop_back();
      if (!reached.insert(value).second) continue;
      const auto* function = llvm::dyn_cast<llvm::Function>(value);
      if (function && m_large.contains(function)) continue;
      for (llvm::GlobalValue* reference : m_references[value]) next.push_back(reference);
      if (const llvm::Comdat* group = value->getComdat())
        for (llvm::GlobalValue* member : m_groups[group]) next.push_back(member);
    }
    std::vector<llvm::GlobalValue*> unused;
    for (llvm::GlobalValue* value : m_free)
      if (!reached.contains(value)) unused.push_back(value);
    for (llvm::GlobalValue* value : unused) {
      if (auto* function = llvm::dyn_cast<llvm::Function>(value)) {
        function->deleteBody();
        function->setComdat(nullptr);
      } else if (auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(value)) {
        variable->setInitializer(nullptr);
        variable->setLinkage(llvm::GlobalValue::ExternalLinkage);
        variable->setComdat(nullptr);
      }
    }
    for (llvm::GlobalValue* value : unused) {
      value->removeDeadConstantUsers();
      if (value->use_empty()) value->eraseFromParent();
    }
  }

  static void put_in_order(llvm::Module& part) {
    for (bool again = true; std::exchange(again, false);)
      for (llvm::GlobalValue& value : llvm::make_early_inc_range(part.global_values())) {
        value.removeDeadConstantUsers();
        if (!value.use_empty() || (!value.isDeclaration() && !is_private_constant(value))) continue;
        value.eraseFromParent();
        again = true;
      }
    std::vector<llvm::Function*> functions;
    for (llvm::Function& function : part) functions.push_back(&function);
    std::sort(functions.begin(), functions.end(),
              [](const auto* a, const auto* b) { return a->getName() < b->getName(); });
    for (llvm::Function* function : functions) {
      function->removeFromParent();
      part.getFunctionList().push_back(function);
    }
    // Private constants come in the order of their uses, the others by name.
    std::vector<llvm::GlobalVariable*> variables;
    llvm::DenseSet<llvm::GlobalValue*> seen;
    const auto visit = [&](llvm::GlobalValue& value, const auto& self) -> void {
      for (llvm::GlobalValue* reference : references_of(value))
        if (auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(reference);
            variable && seen.insert(variable).second) {
          variables.push_back(variable);
          self(*variable, self);
        }
    };
    for (llvm::Function* function : functions) visit(*function, visit);
    for (llvm::GlobalVariable& variable : part.globals())
      if (seen.insert(&variable).second) variables.push_back(&variable);
    unsigned number = 0;
    for (llvm::GlobalVariable* variable : variables) {
      if (variable->hasLocalLinkage()) variable->setName("");
      variable->removeFromParent();
      part.insertGlobalVariable(variable);
    }
    for (llvm::GlobalVariable* variable : variables)
      if (variable->hasLocalLinkage()) variable->setName("header." + std::to_string(number++));
    // Where assembly stands, counted in all that this compile read.
    for (llvm::Function* function : functions)
      for (llvm::Instruction& instruction : llvm::instructions(*function))
        instruction.setMetadata("srcloc", nullptr);
    // Clang numbers the types of one name in the order in which it meets them.
    llvm::TypeFinder types;
    types.run(part, /*onlyNamed=*/true);
    for (llvm::StructType* type : types) type->setName("");
  }

  llvm::Module& m_module;
  llvm::DenseSet<llvm::GlobalValue*> m_free;          ///< both parts may define these
  llvm::DenseSet<const llvm::GlobalValue*> m_needed;  ///< the headers' part holds these
  llvm::DenseMap<llvm::GlobalValue*, Values> m_references;
  llvm::DenseMap<const llvm::Comdat*, Values> m_groups;
  struct ByName {
    using is_transparent = void;
    bool operator()(const llvm::Function* a, const llvm::Function* b) const {
      return a->getName() < b->getName();
    }
  };
  std::set<llvm::Function*, ByName> m_large;
};

}  // namespace

std::string cut_header_code(llvm::Module& module) {
  HeaderCode code(module);
  return code.find() ? code.cut() : std::string();
}

}  // namespace tarsia::jit
