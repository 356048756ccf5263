// What the device reaches.
#include "jit/worker/split/split_closure.h"

namespace tarsia::jit {

void Closure::add(SplitFile& file) {
  m_files.push_back(&file);
  for (const SplitSpace& one : file.spaces)
    for (const clang::NamespaceDecl* space = one.space; space; space = named_space(space->getParent()))
      m_spaces[space->getIdentifier()].insert(space);
  for (SplitItem& item : file.items) {
    m_home[&item] = &file;
    m_in_space[item.space].push_back(&item);
    for (const clang::IdentifierInfo* name : item.names) m_by_name[name].push_back(&item);
    if (item.callable)
      for (const clang::Decl* decl : item.declared) m_callable[decl] = &item;
  }
}

void Closure::keep(SplitItem& item) {
  if (item.kept || (item.use == SplitItem::host && !item.callable)) return;
  item.kept = true;
  m_kept_of.insert(m_home[&item]);
  m_work.push_back(&item);
  open(item.space);
}

void Closure::see(const clang::IdentifierInfo* name) {
  if (!m_seen.insert(name).second) return;
  if (auto found = m_by_name.find(name); found != m_by_name.end())
    for (SplitItem* item : found->second)
      if (item->use != SplitItem::host && is_open(item->space)) keep(*item);
  if (auto found = m_spaces.find(name); found != m_spaces.end())
    for (const clang::NamespaceDecl* space : found->second)
      if (is_open(named_space(space->getParent()))) open(space);
}

void Closure::open(const clang::NamespaceDecl* space) {
  if (!space || !m_open.insert(space).second) return;
  open(named_space(space->getParent()));
  for (SplitItem* item : m_in_space[space]) {
    bool seen = item->unnamed;
    for (const clang::IdentifierInfo* name : item->names) seen |= m_seen.contains(name);
    if (seen && item->use != SplitItem::host) keep(*item);
  }
  for (const auto& [name, spaces] : m_spaces)
    if (m_seen.contains(name))
      for (const clang::NamespaceDecl* inner : spaces)
        if (named_space(inner->getParent()) == space) open(inner);
}

void Closure::run() {
  for (SplitItem* item : m_in_space[nullptr])
    if (item->unnamed) keep(*item);
  std::set<const clang::IdentifierInfo*> functions;  // their own names, of which instantiations are made
  while (!m_work.empty()) {
    SplitItem* item = m_work.front();
    m_work.pop_front();
    if (item->use != SplitItem::host)
      for (const clang::Decl* decl : item->declared)
        if (const auto* name = llvm::cast<clang::FunctionDecl>(decl)->getIdentifier()) functions.insert(name);
    item->for_each_name(*m_home[item]->tokens, [&](const clang::IdentifierInfo* name) { see(name); });
    for (const clang::Decl* decl : item->calls)
      if (auto found = m_callable.find(decl); found != m_callable.end()) keep(*found->second);
  }
  for (SplitFile* file : m_files)
    for (SplitItem& item : file->items)
      if (item.nameless)
        for (size_t i = item.begin; i < item.end && i < file->tokens->size(); ++i)
          if (functions.contains((*file->tokens)[i].identifier)) {
            item.kept = true;
            m_kept_of.insert(file);
          }
}

}  // namespace tarsia::jit
