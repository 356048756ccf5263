// Half of the time of a compile goes into LLVM's passes over the host's code, and their work on one function
// knows nothing of their work on another. The halves are found in three steps.
//
// 1. What may be copied and what is owned. LLVM's linkage tells: a function or variable that is linkonce_odr
//    or available_externally, or a private constant whose address says nothing, may stand in both halves, the
//    linker keeps one. All else must be defined once. A function of a header that is never called, but only
//    named (in a table of virtual functions, as an adapter that a registration keeps), is owned too: else
//    naming it would pull all that it calls into both halves.
// 2. What must stay together. An owned function, with the copies that it calls, stays with the owned
// functions
//    that it calls directly, since they may be inlined, and with the owned variables that it names, since
//    they may be folded. To name a function is not to call it: a registration and the functions that it
//    registers are what is cut apart. The code that runs when the module is loaded stays in its order, in one
//    piece.
// 3. Groups are weighed, heaviest first, and each goes to the lighter half. Loops weigh more: they are
//    unrolled and vectorised.
//
// A comdat group is copied or owned as a whole: with half of it in one object, the linker might keep that
// half.
#include "jit/worker/host/code_halves.h"

#include <llvm/ADT/EquivalenceClasses.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/Constants.h>
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

// Instructions, those in loops counted this many times: about 10 µs each.
constexpr int k_weight_of_loop = 4;
// What the lighter half weighs at least: starting a thread and reading bitcode takes about a millisecond.
constexpr int k_lightest_half = 120;

// What LLVM itself reads: what is used unseen, and what runs at the start and the end.
constexpr const char* k_lists[] = {"llvm.used", "llvm.compiler.used", "llvm.global_ctors",
                                   "llvm.global_dtors"};

/// A function or variable, or all of a comdat group, that is moved or copied in one piece.
struct Piece {
  std::vector<llvm::GlobalValue*> members;
  bool copied = false;
  int weight = 0;
  std::set<int> together;  ///< pieces that must be where this one is
  std::set<int> named;     ///< pieces that it refers to, and which may be elsewhere
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

class Cut {
 public:
  explicit Cut(llvm::Module& module) : m_module(module) {}

  /// False if there is no cut that is worth it.
  bool find() {
    if (!m_module.getModuleInlineAsm().empty() || m_module.getNamedMetadata("llvm.dbg.cu")) return false;
    list_pieces();
    for (llvm::StringRef list : k_lists) own_all_of(list);
    own_sections();
    for (Piece& piece : m_pieces) list_references(piece);
    return group() && share_out();
  }

  /// Whether a half defines this; what is used by both and copied is in both.
  bool defines(int half, const llvm::GlobalValue& value) const {
    const auto found = m_piece_of.find(&value);
    return found == m_piece_of.end() || m_contents[half].contains(found->second);
  }

  /// Gives symbols to what is local and named by the other half.
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
        // What is local to a group that may be copied is copied with it.
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
      if (auto* resolved = llvm::dyn_cast<llvm::GlobalIFunc>(member))
        if (const auto* resolver = resolved->getResolverFunction()) keep_together(piece, *resolver);
    }
  }

  void refer(Piece& piece, const llvm::Value& value, bool called) {
    if (const auto* global = llvm::dyn_cast<llvm::GlobalValue>(&value)) {
      const auto found = m_piece_of.find(global);
      if (found == m_piece_of.end()) return;
      const auto* function = llvm::dyn_cast<llvm::Function>(global);
      const bool apart = !m_pieces[found->second].copied && function &&
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

  // What runs at the start, and what is kept by its author's word, is not dropped for want of a user, as the
  // other copies are. What runs at the start stays in order.
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

  /// The owned pieces that must be in one half, and what they bring along.
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
  std::vector<Piece> m_pieces;
  std::map<const llvm::GlobalValue*, int> m_piece_of;
  std::vector<Group> m_groups;
  std::set<int> m_contents[2];
};

// A list that LLVM reads, without what the half does not define.
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

CodeHalves halve(llvm::Module& module, int unit) {
  Cut cut(module);
  if (!cut.find()) return {};
  cut.give_symbols(unit);
  CodeHalves halves{make_half(module, cut, 0), {}};
  llvm::raw_string_ostream out(halves.second);
  llvm::WriteBitcodeToFile(*make_half(module, cut, 1), out);
  return halves;
}

}  // namespace tarsia::jit
