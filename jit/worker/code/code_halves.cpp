// Cuts a module's code into two halves. LLVM's passes over the host's code take half of the time of a
// compile, and their work on one function is independent of their work on another. Three steps find the
// halves.
//
// 1. What may be copied, and what is owned. LLVM's linkage tells. A function or variable that is
//    linkonce_odr or available_externally, or a private constant whose address has no meaning, may stand in
//    both halves; the linker keeps one. All others must be defined once. A header's function that is only
//    named and never called (in a table of virtual functions, or as an adapter that a registration keeps)
//    is owned, too. Otherwise its name would pull all that it calls into both halves.
// 2. What must stay together. An owned function and the copies that it calls stay with the owned functions
//    that it calls directly, since they may be inlined. They also stay with the owned variables that it
//    names, since they may be folded. Naming a function is not calling it: a registration and the functions
//    that it registers may be separated. The code that runs when the module is loaded stays in its order,
//    in one piece.
// 3. Which half gets it. Groups are weighed, and each goes to the lighter half, the heaviest first. Loops
//    weigh more: they are unrolled and vectorised.
//
// Functions take their places in the source along: each half has a compile unit and a line table.
//
// A comdat group is copied or owned as a whole. If one object held half of it, the linker might keep that
// half alone.
#include "jit/worker/code/code_halves.h"

#include <llvm/ADT/EquivalenceClasses.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

namespace tarsia::jit {

namespace {

// The weight of instructions, about 10 µs each. Those in loops count this many times.
constexpr int k_weight_of_loop = 4;
// The least weight of the lighter half: to start a thread and read bitcode takes about a millisecond.
constexpr int k_lightest_half = 120;

// Lists that LLVM itself reads: symbols in use that nothing names, and code that runs at the start and the
// end.
constexpr const char* k_lists[] = {"llvm.used", "llvm.compiler.used", "llvm.global_ctors",
                                   "llvm.global_dtors"};

/// A function or variable, or all of a comdat group, that is moved or copied in one piece.
struct Piece {
  std::vector<llvm::GlobalValue*> members;
  bool copied = false;
  int weight = 0;
  std::set<int> together;  ///< pieces that must be where this one is
  std::set<int> named;     ///< pieces that it refers to and that may be elsewhere
};

bool is_copyable(const llvm::GlobalValue& value) {
  if (value.hasLinkOnceODRLinkage() || value.hasAvailableExternallyLinkage()) return true;
  const auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(&value);
  return variable && variable->hasLocalLinkage() && variable->isConstant() &&
         variable->hasGlobalUnnamedAddr() && !variable->hasSection();
}

bool is_called(const llvm::Function& function) {
  return std::ranges::any_of(function.users(), [&](const llvm::User* user) {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(user);
    return call && call->getCalledOperand() == &function;
  });
}

int weight_of(llvm::Function& function) {
  if (function.hasAvailableExternallyLinkage()) return int(function.getInstructionCount()) / 2;
  const llvm::LoopInfo loops{llvm::DominatorTree(function)};
  int weight = 0;
  for (const llvm::BasicBlock& block : function)
    weight += int(block.size()) * (loops.getLoopDepth(&block) ? k_weight_of_loop : 1);
  return weight;
}

/// Whether debuggers are told of more than functions and lines. A copy would describe each variable again.
bool describes_variables(const llvm::Module& module) {
  return llvm::any_of(module.debug_compile_units(), [](const llvm::DICompileUnit* unit) {
    return unit->getEmissionKind() == llvm::DICompileUnit::FullDebug;
  });
}

class Cut {
 public:
  Cut(llvm::Module& module, bool may_name) : m_module(module), m_may_name(may_name) {}

  /// Returns false if no cut is worth it.
  bool find() {
    if (!m_module.getModuleInlineAsm().empty() || describes_variables(m_module)) return false;
    // LLVM copies every ifunc into both halves, and its resolver into one.
    if (!m_module.ifunc_empty()) return false;
    list_pieces();
    for (llvm::StringRef list : k_lists) own_all_of(list);
    own_sections();
    for (Piece& piece : m_pieces) list_references(piece);
    return group() && share_out();
  }

  /// Whether a half defines this piece. A copied piece that both halves use is in both.
  bool defines(int half, const llvm::GlobalValue& value) const {
    const auto found = m_piece_of.find(&value);
    return found == m_piece_of.end() || m_contents[half].contains(found->second);
  }

  /// Gives symbols to local pieces that the other half names.
  void give_symbols(int unit) {
    for (int half : {0, 1})
      for (int i : m_contents[half])
        for (int named : m_pieces[i].named)
          if (!m_contents[half].contains(named))
            for (llvm::GlobalValue* member : m_pieces[named].members) give_symbol(*member, unit);
    for (const Piece& piece : m_pieces)
      if (!piece.copied)
        for (llvm::GlobalValue* member : piece.members)
          if (member->hasLinkOnceODRLinkage()) member->setLinkage(llvm::GlobalValue::WeakODRLinkage);
  }

 private:
  // The lists that LLVM itself reads ("llvm.used") are no pieces.
  static bool is_list(const llvm::GlobalValue& value) { return value.getName().starts_with("llvm."); }

  void list_pieces() {
    std::map<const llvm::Comdat*, int> groups;
    for (llvm::GlobalValue& value : m_module.global_values()) {
      if (value.isDeclaration() || is_list(value)) continue;
      int i = int(m_pieces.size());
      if (const llvm::Comdat* comdat = value.getComdat()) i = groups.try_emplace(comdat, i).first->second;
      if (i == int(m_pieces.size())) m_pieces.emplace_back().copied = true;
      m_piece_of[&value] = i;
      m_pieces[i].members.push_back(&value);
    }
    for (Piece& piece : m_pieces) {
      for (llvm::GlobalValue* member : piece.members) {
        // A local piece within a group that may be copied is copied with the group.
        piece.copied &= is_copyable(*member) ||
                        (member->hasLocalLinkage() && member->hasComdat() && piece.members.size() > 1);
        if (auto* function = llvm::dyn_cast<llvm::Function>(member)) piece.weight += weight_of(*function);
      }
      const auto* alone = llvm::dyn_cast<llvm::Function>(piece.members.front());
      if (piece.copied && alone && piece.members.size() == 1 && alone->hasLinkOnceODRLinkage())
        piece.copied = is_called(*alone);
    }
  }

  void list_references(Piece& piece) {
    for (llvm::GlobalValue* member : piece.members) {
      if (auto* function = llvm::dyn_cast<llvm::Function>(member))
        for (llvm::Instruction& instruction : llvm::instructions(*function)) {
          const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
          for (llvm::Use& use : instruction.operands()) refer(piece, *use, call && call->isCallee(&use));
        }
      for (llvm::Use& use : member->operands())
        if (use) refer(piece, *use, false);
      // An alias is where the aliased is.
      if (auto* alias = llvm::dyn_cast<llvm::GlobalAlias>(member))
        if (const auto* aliasee = alias->getAliaseeObject()) keep_together(piece, *aliasee);
    }
  }

  void refer(Piece& piece, const llvm::Value& value, bool called) {
    if (const auto* global = llvm::dyn_cast<llvm::GlobalValue>(&value)) {
      const auto found = m_piece_of.find(global);
      if (found == m_piece_of.end()) return;
      const auto* function = llvm::dyn_cast<llvm::Function>(global);
      const bool apart = !m_pieces[found->second].copied && function &&
                         (m_may_name || !function->hasLocalLinkage()) &&
                         (!called || function->hasFnAttribute(llvm::Attribute::NoInline));
      (apart ? piece.named : piece.together).insert(found->second);
    } else if (const auto* constant = llvm::dyn_cast<llvm::Constant>(&value)) {
      for (const llvm::Use& use : constant->operands()) refer(piece, *use, false);
    }
  }

  void keep_together(Piece& piece, const llvm::GlobalValue& value) {
    if (const auto found = m_piece_of.find(&value); found != m_piece_of.end()) {
      piece.together.insert(found->second);
      m_pieces[found->second].together.insert(m_piece_of.at(piece.members.front()));
    }
  }

  // Other copies may be dropped if nobody uses them. Code that runs at the start, and symbols that their
  // author marked as used, may not. Code that runs at the start also keeps its order.
  void own_all_of(llvm::StringRef list) {
    const llvm::GlobalVariable* variable = m_module.getNamedGlobal(list);
    if (!variable || !variable->hasInitializer()) return;
    std::optional<int> first;
    for (const llvm::Use& entry : variable->getInitializer()->operands())
      if (entry->getType()->isStructTy())
        for (const llvm::Use& field : llvm::cast<llvm::Constant>(entry)->operands()) own(*field, &first);
      else
        own(*entry, nullptr);
  }

  // Variables in a section may be a table whose order means something.
  void own_sections() {
    std::optional<int> first;
    for (const llvm::GlobalVariable& variable : m_module.globals())
      if (variable.hasSection()) own(variable, &first);
  }

  void own(const llvm::Value& value, std::optional<int>* with) {
    const auto found = m_piece_of.find(llvm::dyn_cast<llvm::GlobalValue>(value.stripPointerCasts()));
    if (found == m_piece_of.end()) return;
    m_pieces[found->second].copied = false;
    if (!with) return;
    if (!*with) *with = found->second;
    m_pieces[**with].together.insert(found->second);
  }

  /// The owned pieces that must be in one half, and the copies that they bring along.
  bool group() {
    llvm::EquivalenceClasses<int> classes;
    std::vector<std::set<int>> brought(m_pieces.size());
    for (int i = 0; i < int(m_pieces.size()); ++i) {
      if (m_pieces[i].copied) continue;
      classes.insert(i);
      std::vector<int> open{i};
      while (!open.empty()) {
        const int next = open.back();
        open.pop_back();
        if (!brought[i].insert(next).second) continue;
        if (next != i && !m_pieces[next].copied)
          classes.unionSets(i, next);
        else
          open.insert(open.end(), m_pieces[next].together.begin(), m_pieces[next].together.end());
      }
    }
    std::map<int, Group> groups;
    for (int i = 0; i < int(m_pieces.size()); ++i)
      if (!m_pieces[i].copied) groups[classes.getLeaderValue(i)].contents.merge(brought[i]);
    for (auto& [leader, group] : groups) {
      for (int i : group.contents) group.weight += m_pieces[i].weight;
      m_groups.push_back(std::move(group));
    }
    return m_groups.size() > 1;
  }

  bool share_out() {
    std::ranges::stable_sort(m_groups, std::ranges::greater{}, &Group::weight);
    int weights[2] = {0, 0};
    for (const Group& group : m_groups) {
      const int half = weights[1] < weights[0];
      for (int i : group.contents)
        if (m_contents[half].insert(i).second) weights[half] += m_pieces[i].weight;
    }
    return std::min(weights[0], weights[1]) >= k_lightest_half;
  }

  void give_symbol(llvm::GlobalValue& value, int unit) {
    if (!value.hasLocalLinkage()) return;
    value.setName(value.getName() + ".of" + llvm::Twine(unit));
    value.setLinkage(llvm::GlobalValue::ExternalLinkage);
    value.setVisibility(llvm::GlobalValue::HiddenVisibility);
  }

  struct Group {
    std::set<int> contents;
    int weight = 0;
  };

  llvm::Module& m_module;
  bool m_may_name;  ///< give symbols to what has none
  std::vector<Piece> m_pieces;
  std::map<const llvm::GlobalValue*, int> m_piece_of;
  std::vector<Group> m_groups;
  std::set<int> m_contents[2];
};

// Copies a list that LLVM reads, without the symbols that the half does not define.
void shorten_list(llvm::Module& half, llvm::StringRef name) {
  llvm::GlobalVariable* list = half.getNamedGlobal(name);
  if (!list || !list->hasInitializer()) return;
  std::vector<llvm::Constant*> kept;
  for (const llvm::Use& entry : list->getInitializer()->operands()) {
    auto* constant = llvm::cast<llvm::Constant>(entry);
    const auto is_declared = [](const llvm::Value* value) {
      const auto* global = llvm::dyn_cast<llvm::GlobalValue>(value->stripPointerCasts());
      return global && global->isDeclaration();
    };
    const bool dropped = constant->getType()->isStructTy()
                             ? std::ranges::any_of(constant->operands(), is_declared)
                             : is_declared(constant);
    if (!dropped) kept.push_back(constant);
  }
  auto* type =
      llvm::ArrayType::get(llvm::cast<llvm::ArrayType>(list->getValueType())->getElementType(), kept.size());
  if (!kept.empty()) {
    auto* shorter = new llvm::GlobalVariable(half, type, list->isConstant(), list->getLinkage(),
                                             llvm::ConstantArray::get(type, kept));
    shorter->setSection(list->getSection());
    shorter->takeName(list);
  }
  list->eraseFromParent();
}

std::unique_ptr<llvm::Module> make_half(const llvm::Module& module, const Cut& cut, int number) {
  llvm::ValueToValueMapTy values;
  auto half = llvm::CloneModule(module, values,
                                [&](const llvm::GlobalValue* value) { return cut.defines(number, *value); });
  for (llvm::StringRef list : k_lists) shorten_list(*half, list);
  for (llvm::GlobalValue& value : llvm::make_early_inc_range(half->global_values()))
    if (value.isDeclaration() && value.use_empty()) value.eraseFromParent();
  return half;
}

}  // namespace

CodeHalves halve(llvm::Module& module, std::optional<int> unit) {
  Cut cut(module, unit.has_value());
  if (!cut.find()) return {};
  cut.give_symbols(unit.value_or(0));
  CodeHalves halves{make_half(module, cut, 0), {}};
  llvm::raw_string_ostream out(halves.second);
  llvm::WriteBitcodeToFile(*make_half(module, cut, 1), out);
  return halves;
}

}  // namespace tarsia::jit
