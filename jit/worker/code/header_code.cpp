// Cuts the code of headers off a unit's module.
//
// Of a source with <regex>, Eigen or PyTorch, nearly all code is instantiations of the headers' templates,
// and an edit seldom changes which ones. Their object is kept under a hash of their own IR, so it is found
// again whenever that IR is the same, and never otherwise.
//
// 1. Candidates are linkonce_odr functions whose place is not in the user's text. The language says that
//    they are the same in every object. One that refers to something that the rest alone can define (an
//    inline or static function or a static variable of the user's) is none, and neither are those that
//    refer to it. A header's static variable, or a static function whose address is taken, stays in the rest
//    and gets a hidden symbol. A comdat group goes as a whole.
// 2. Small candidates may be inlined, so all parts keep a copy. A large one goes to a headers' part alone, as
//    weak_odr, and is declared in the rest. LLVM derives nothing about a linkonce_odr function from its body
//    that it would now miss. In development mode, a function is large that LLVM seldom inlines. At full speed
//    it is one that LLVM would not inline whatever the call is like: its size is estimated as it will be when
//    variables are in registers and the small functions that it calls are inlined (InlinedSizes).
// 3. Instances of templates are a part of their own. An edit may ask for one more; what the headers define
//    for everybody stays as it was.
// 4. A headers' part is put into an order, and its private names and types are renamed, so that nothing in
//    it depends on the rest.
#include "jit/worker/code/header_code.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/TypeFinder.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <utility>
#include <vector>

namespace tarsia::jit {
namespace {

// Instructions, before they are optimised, of the largest function that all parts keep in development mode.
constexpr unsigned k_small = 60;
// The same at full speed, as InlinedSizes estimates it. LLVM inlines what costs 225 to 325, where an
// instruction costs 5, up to three times that if most of it is vectors and it has no branches. The rest is
// for what a call's constants save.
constexpr unsigned k_may_be_inlined = 300;
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

/// Whether the function holds assembly that may read a file.
bool may_read_files(const llvm::Function& function) {
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

unsigned size_of(const llvm::Function& function) {
  unsigned size = 0;
  for (const llvm::Instruction& instruction : llvm::instructions(function))
    size += !instruction.isDebugOrPseudoInst() && !llvm::isa<llvm::AllocaInst>(instruction) &&
            !instruction.isLifetimeStartOrEnd();
  return size;
}

/// Whether nothing is left of the instruction once variables are in registers.
bool will_vanish(const llvm::Instruction& instruction) {
  const auto is_variable = [](const llvm::Value* place) {
    return llvm::isa<llvm::AllocaInst>(place->stripInBoundsConstantOffsets());
  };
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction))
    return !load->isVolatile() && is_variable(load->getPointerOperand());
  if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction))
    return !store->isVolatile() && is_variable(store->getPointerOperand());
  if (const auto* element = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction))
    return element->hasAllConstantIndices();
  if (const auto* branch = llvm::dyn_cast<llvm::BranchInst>(&instruction)) return branch->isUnconditional();
  return instruction.isDebugOrPseudoInst() || instruction.isLifetimeStartOrEnd() ||
         llvm::isa<llvm::AllocaInst, llvm::CastInst>(instruction);
}

/// How large functions will be when what they call has been inlined, in instructions. The order in which the
/// module has them does not matter, nor do recursions.
class InlinedSizes {
 public:
  explicit InlinedSizes(const llvm::Module& module) {
    for (const llvm::Function& function : module)
      if (!function.isDeclaration()) measure(function);
    for (int depth = 0; depth < k_depth; ++depth) {
      llvm::DenseMap<const llvm::Function*, unsigned> deeper;
      for (const auto& [function, own] : m_own) {
        unsigned size = own.size;
        for (const llvm::Function* callee : own.calls) size = std::min(size + when_called(*callee), k_most);
        deeper[function] = size;
      }
      m_sizes = std::move(deeper);
    }
  }
  unsigned of(const llvm::Function& function) const { return m_sizes.lookup(&function); }

 private:
  static constexpr int k_depth = 12;          // of calls that are inlined into each other
  static constexpr unsigned k_inlined = 100;  // the largest that is taken to be inlined
  static constexpr unsigned k_call = 5, k_most = 1 << 20;
  struct Own {
    unsigned size = 0;
    llvm::SmallVector<const llvm::Function*, 4> calls;
  };

  void measure(const llvm::Function& function) {
    Own& own = m_own[&function];
    for (const llvm::Instruction& instruction : llvm::instructions(function)) {
      const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      const llvm::Function* callee = call ? call->getCalledFunction() : nullptr;
      if (callee && !callee->isDeclaration() && !callee->hasFnAttribute(llvm::Attribute::NoInline))
        own.calls.push_back(callee);
      else
        own.size += !will_vanish(instruction);
    }
    m_sizes[&function] = own.size;
  }

  unsigned when_called(const llvm::Function& callee) const {
    const unsigned size = of(callee);
    return size <= k_inlined || callee.hasFnAttribute(llvm::Attribute::AlwaysInline) ? size : k_call;
  }

  llvm::DenseMap<const llvm::Function*, Own> m_own;
  llvm::DenseMap<const llvm::Function*, unsigned> m_sizes;
};

class HeaderCode {
 public:
  HeaderCode(llvm::Module& module, int unit, const OriginOf& origin_of, bool is_fast)
      : m_module(module), m_unit(unit), m_origin_of(origin_of), m_is_fast(is_fast) {}

  /// Returns false if it is not worth a cut.
  bool find() {
    if (!m_module.getModuleInlineAsm().empty() || !m_module.ifunc_empty()) return false;
    for (llvm::GlobalValue& value : m_module.global_values()) {
      if (may_be_copied(value))
        m_free.insert(&value);
      else if (may_get_symbol(value))
        note_nameable(value);
      if (!value.isDeclaration()) m_references[&value] = references_of(value);
      if (const llvm::Comdat* group = value.getComdat()) m_groups[group].push_back(&value);
    }
    drop_bound();
    Part headers, instances;
    const auto may_be_inlined = size_test();
    for (llvm::GlobalValue* value : m_free) {
      auto* function = llvm::dyn_cast<llvm::Function>(value);
      if (!function || !function->hasLinkOnceODRLinkage() ||
          function->hasFnAttribute(llvm::Attribute::AlwaysInline) || may_be_inlined(*function))
        continue;
      // What comes with it in its group would have to be parted from it.
      if (function->hasComdat() && m_groups[function->getComdat()].size() > 1) continue;
      (m_origin_of(*function) == CodeOrigin::instance ? instances : headers).large.insert(function);
    }
    Part all = headers;
    all.large.insert(instances.large.begin(), instances.large.end());
    // A part that is not worth it stays, so the other one needs copies of what it calls there.
    if (keep_worthy({headers, instances}) == 1) keep_worthy(std::exchange(m_parts, {}));
    if (m_parts.empty()) keep_worthy({all});
    return !m_parts.empty();
  }

  std::vector<std::string> cut() {
    for (llvm::GlobalValue& value : m_module.global_values())
      if (m_nameable.contains(&value) &&
          std::ranges::any_of(m_parts, [&](const Part& one) { return one.named.contains(&value); })) {
        value.setName(value.getName() + ".of" + llvm::Twine(m_unit));
        value.setLinkage(llvm::GlobalValue::ExternalLinkage);
        value.setVisibility(llvm::GlobalValue::HiddenVisibility);
      }
    std::vector<std::string> all;
    for (const Part& one : m_parts) all.push_back(bitcode_of(one));
    for (const Part& one : m_parts)
      for (llvm::Function* function : one.large) {
        function->deleteBody();
        function->setComdat(nullptr);
        function->setSubprogram(nullptr);
      }
    drop_unreachable();
    return all;
  }

 private:
  struct ByName {
    bool operator()(const llvm::Function* a, const llvm::Function* b) const {
      return a->getName() < b->getName();
    }
  };
  struct Part {
    std::set<llvm::Function*, ByName> large;          ///< it alone defines these
    llvm::DenseSet<const llvm::GlobalValue*> needed;  ///< what it holds, copies of small functions among it
    llvm::DenseSet<const llvm::GlobalValue*> named;   ///< the rest defines these, and gives them symbols
    unsigned weight = 0;
  };

  /// Whether all parts may define it.
  bool may_be_copied(const llvm::GlobalValue& value) const {
    if (value.isDeclaration()) return false;
    if (is_private_constant(value) || value.hasAvailableExternallyLinkage()) return true;
    const auto* function = llvm::dyn_cast<llvm::Function>(&value);
    const auto must_stay = [&] {
      return m_origin_of(*function) == CodeOrigin::user || may_read_files(*function);
    };
    if (function && function->hasLocalLinkage())  // as most of <immintrin.h>; nobody compares their addresses
      return !function->hasComdat() && is_only_called(*function) && !must_stay();
    return value.hasLinkOnceODRLinkage() && (!function || !must_stay());
  }

  /// Whether another part may name it once it has a symbol.
  bool may_get_symbol(const llvm::GlobalValue& value) const {
    const auto* object = llvm::dyn_cast<llvm::GlobalObject>(&value);
    return object && !object->isDeclaration() && object->hasLocalLinkage() && !object->hasComdat() &&
           !object->hasSection() && m_origin_of(value) != CodeOrigin::user;
  }

  void note_nameable(llvm::GlobalValue& value) {
    m_nameable.insert(&value);
    const auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(&value);
    const auto* function = llvm::dyn_cast<llvm::Function>(&value);
    if ((variable && variable->isConstant() && variable->hasDefinitiveInitializer()) ||
        (function && !may_read_files(*function)))
      m_shown.insert(&value);
  }

  std::function<bool(const llvm::Function&)> size_test() const {
    if (!m_is_fast) return [](const llvm::Function& function) { return size_of(function) <= k_small; };
    auto sizes = std::make_shared<const InlinedSizes>(m_module);
    return [sizes](const llvm::Function& function) { return sizes->of(function) <= k_may_be_inlined; };
  }

  /// Returns how many of the parts are, and puts them into m_parts.
  std::size_t keep_worthy(std::vector<Part> parts) {
    llvm::DenseSet<const llvm::GlobalValue*> large;
    for (const Part& one : parts) large.insert(one.large.begin(), one.large.end());
    for (Part& one : parts) {
      one.needed.clear();
      one.named.clear();
      one.weight = 0;
      std::vector<llvm::GlobalValue*> next(one.large.begin(), one.large.end());
      while (!next.empty()) {
        llvm::GlobalValue* value = next.back();
        next.pop_back();
        auto* function = llvm::dyn_cast<llvm::Function>(value);
        if (m_nameable.contains(value)) one.named.insert(value);
        const bool is_elsewhere = large.contains(value) && !one.large.contains(function);
        const bool may_be_here = m_free.contains(value) || m_shown.contains(value);
        if (is_elsewhere || !may_be_here || !one.needed.insert(value).second) continue;
        if (function) one.weight += size_of(*function);
        for (llvm::GlobalValue* reference : m_references[value]) next.push_back(reference);
        if (const llvm::Comdat* group = value->getComdat())
          for (llvm::GlobalValue* member : m_groups[group]) next.push_back(member);
      }
    }
    std::erase_if(parts, [](const Part& one) { return one.weight < k_worth; });
    m_parts = std::move(parts);
    return m_parts.size();
  }

  std::string bitcode_of(const Part& one) const {
    llvm::ValueToValueMapTy values;
    const std::unique_ptr<llvm::Module> part = llvm::CloneModule(
        m_module, values, [&](const llvm::GlobalValue* value) { return one.needed.contains(value); });
    for (const llvm::Function* function : one.large)
      llvm::cast<llvm::Function>(values[function])->setLinkage(llvm::GlobalValue::WeakODRLinkage);
    for (const llvm::GlobalValue* value : one.named)
      if (one.needed.contains(value))
        llvm::cast<llvm::GlobalValue>(values[value])
            ->setLinkage(llvm::GlobalValue::AvailableExternallyLinkage);
    put_in_order(*part);
    std::string bitcode;
    llvm::raw_string_ostream out(bitcode);
    llvm::WriteBitcodeToFile(*part, out);
    out.flush();
    return bitcode;
  }

  // Takes out of m_free what refers to something that only the rest can define, and what is in a group with
  // it.
  void drop_bound() {
    llvm::DenseMap<llvm::GlobalValue*, Values> users;
    std::vector<llvm::GlobalValue*> bound;
    for (auto& [value, references] : m_references)
      for (llvm::GlobalValue* reference : references) users[reference].push_back(value);
    for (llvm::GlobalValue& value : m_module.global_values()) {
      if (m_free.contains(&value) || m_nameable.contains(&value) || value.isDeclaration()) continue;
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
      for (llvm::GlobalValue* user : users[value]) {
        m_shown.erase(user);
        if (m_free.erase(user)) bound.push_back(user);
      }
    }
  }

  void drop_group(llvm::GlobalValue& value, std::vector<llvm::GlobalValue*>& bound) {
    const llvm::Comdat* group = value.getComdat();
    if (!group) return;
    for (llvm::GlobalValue* member : m_groups[group])
      if (m_free.erase(member)) bound.push_back(member);
  }

  bool is_cut(llvm::Function& function) const {
    return std::ranges::any_of(m_parts, [&](const Part& one) { return one.large.contains(&function); });
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
      auto* function = llvm::dyn_cast<llvm::Function>(value);
      if (function && is_cut(*function)) continue;
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
  int m_unit;
  const OriginOf& m_origin_of;
  bool m_is_fast;
  llvm::DenseSet<llvm::GlobalValue*> m_free;      ///< all parts may define these
  llvm::DenseSet<llvm::GlobalValue*> m_nameable;  ///< the rest defines these, and may give them symbols
  llvm::DenseSet<llvm::GlobalValue*> m_shown;  ///< of these, the constants and functions that parts may see
  llvm::DenseMap<llvm::GlobalValue*, Values> m_references;
  llvm::DenseMap<const llvm::Comdat*, Values> m_groups;
  std::vector<Part> m_parts;
};

}  // namespace

std::vector<std::string> cut_header_code(llvm::Module& module, int unit, const OriginOf& origin_of,
                                         bool is_fast) {
  HeaderCode code(module, unit, origin_of, is_fast);
  return code.find() ? code.cut() : std::vector<std::string>();
}

}  // namespace tarsia::jit
