// What the device reaches.
#include "jit/worker/split/split_closure.h"

#include <algorithm>

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
    for (const clang::IdentifierInfo* name : item.argument_types) m_by_argument_type[name].push_back(&item);
    if (item.callable)
      for (DeclKey decl : item.declared) m_callable[decl] = &item;
  }
}

bool Closure::can_be_found(const SplitItem& item) const {
  const auto is_seen = [&](const clang::IdentifierInfo* name) { return m_seen.contains(name); };
  return item.use != SplitItem::host && is_open(item.space) &&
         std::ranges::all_of(item.argument_types, is_seen);
}

void Closure::mark(SplitItem& item) {
  item.kept = true;
  m_kept_of.insert(m_home[&item]);
  m_work.push_back(&item);
  open(item.space);
}

void Closure::keep(SplitItem& item) {
  if ((item.kept && !item.only_declared) || (item.use == SplitItem::host && !item.callable)) return;
  item.only_declared = false;
  mark(item);
}

void Closure::keep_at_glance(SplitItem& item) {
  if (item.at_glance == SplitItem::keeps) keep(item);
  if (item.at_glance != SplitItem::declares || item.kept) return;
  item.only_declared = true;
  mark(item);
}

void Closure::see(const clang::IdentifierInfo* name) {
  if (!m_seen.insert(name).second) return;
  if (auto found = m_by_name.find(name); found != m_by_name.end())
    for (SplitItem* item : found->second)
      if (can_be_found(*item)) keep(*item);
  if (auto found = m_by_argument_type.find(name); found != m_by_argument_type.end())
    for (SplitItem* item : found->second) look_for(*item);
  if (auto found = m_spaces.find(name); found != m_spaces.end())
    for (const clang::NamespaceDecl* space : found->second)
      if (is_open(named_space(space->getParent()))) open(space);
}

void Closure::glance(const clang::IdentifierInfo* name) {
  if (!m_glanced.insert(name).second || m_seen.contains(name)) return;
  if (auto found = m_by_name.find(name); found != m_by_name.end())
    for (SplitItem* item : found->second)
      if (can_be_found(*item)) keep_at_glance(*item);
}

void Closure::ask(const clang::IdentifierInfo* name) {
  if (!m_asked.insert(name).second) return;
  const auto found = m_by_name.find(name);
  if (found == m_by_name.end()) return;
  const auto is_hosts = [](const SplitItem* item) { return item->use == SplitItem::host && item->callable; };
  if (!std::ranges::all_of(found->second, is_hosts)) return;
  for (SplitItem* item : found->second) keep(*item);
}

void Closure::look_for(SplitItem& item) {
  if (!can_be_found(item)) return;
  bool seen = item.unnamed, glanced = false;
  for (const clang::IdentifierInfo* name : item.names) {
    seen |= m_seen.contains(name);
    glanced |= m_glanced.contains(name);
  }
  if (seen)
    keep(item);
  else if (glanced)
    keep_at_glance(item);
}

void Closure::open(const clang::NamespaceDecl* space) {
  if (!space || !m_open.insert(space).second) return;
  open(named_space(space->getParent()));
  for (SplitItem* item : m_in_space[space]) look_for(*item);
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
    if (item->use != SplitItem::host) functions.insert(item->own_names.begin(), item->own_names.end());
    item->for_each_name(*m_home[item]->tokens, [&](const clang::IdentifierInfo* name, bool only_glanced) {
      only_glanced ? glance(name) : see(name);
    });
    if (item->only_declared) continue;
    for (DeclKey decl : item->calls)
      if (auto found = m_callable.find(decl); found != m_callable.end()) keep(*found->second);
    item->for_each_asked_name(*m_home[item]->tokens, [&](const clang::IdentifierInfo* name) { ask(name); });
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
