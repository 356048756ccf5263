// What the device reaches: from its kernels and variables along the names in what is reached.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <unordered_map>

#include "jit/worker/split/split_items.h"

namespace tarsia::jit {

/// Marks the items that are kept. An item is kept if something that is kept bears its name, and if it can be
/// found there: if its namespace is open. A namespace is open where something in it is kept, and where its
/// name is seen while the one around it is open. A class whose name is only glanced at, where a function of
/// the host takes a reference to it, keeps its declaration alone.
class Closure {
 public:
  /// The file must outlive it, and its items stay where they are.
  void add(SplitFile& file);
  void keep(SplitItem& item);
  /// A name that stands in what is kept.
  void see(const clang::IdentifierInfo* name);
  /// A name that stands where the declaration of a class is enough.
  void glance(const clang::IdentifierInfo* name);
  /// A namespace in which something is kept; null is the global one.
  void open(const clang::NamespaceDecl* space);
  /// Follows what was kept to its end.
  void run();
  const std::set<const clang::NamespaceDecl*>& opened() const { return m_open; }
  const std::set<const clang::IdentifierInfo*>& seen() const { return m_seen; }
  const std::set<const clang::IdentifierInfo*>& glanced() const { return m_glanced; }
  bool keeps_some_of(const SplitFile& file) const { return m_kept_of.contains(&file); }

 private:
  bool is_open(const clang::NamespaceDecl* space) const { return !space || m_open.contains(space); }
  bool can_be_found(const SplitItem& item) const;
  /// Keeps functions of the host, if nobody else has their name, for their types.
  void ask(const clang::IdentifierInfo* name);
  void look_for(SplitItem& item);
  void mark(SplitItem& item);
  void keep_at_glance(SplitItem& item);

  std::vector<SplitFile*> m_files;
  std::set<const SplitFile*> m_kept_of;
  std::unordered_map<const SplitItem*, const SplitFile*> m_home;
  std::unordered_map<const clang::IdentifierInfo*, std::vector<SplitItem*>> m_by_name, m_by_argument_type;
  std::unordered_map<DeclKey, SplitItem*> m_callable;
  std::map<const clang::NamespaceDecl*, std::vector<SplitItem*>> m_in_space;
  std::map<const clang::IdentifierInfo*, std::set<const clang::NamespaceDecl*>> m_spaces;  // by their names
  std::set<const clang::IdentifierInfo*> m_seen, m_glanced, m_asked;
  std::set<const clang::NamespaceDecl*> m_open;
  std::deque<SplitItem*> m_work;
};

}  // namespace tarsia::jit
