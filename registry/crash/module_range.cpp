// A list of records that only grows; those of unmapped modules are used again.
#include "registry/crash/module_range.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <exception>
#include <new>

#include "base/elf_file.h"

namespace tarsia::registry {
namespace {

std::atomic<ModuleRecord*> g_modules{nullptr};

ModuleRecord* take_record() {
  for (ModuleRecord* r = g_modules; r; r = r->next) {
    bool free = false;
    if (r->taken.compare_exchange_strong(free, true)) return r;
  }
  auto* made = new (std::nothrow) ModuleRecord;
  if (!made) return nullptr;
  made->taken = true;
  made->next = g_modules;
  while (!g_modules.compare_exchange_weak(made->next, made)) {
  }
  return made;
}

/// The end of a mapped file's last segment; `base` if its program headers cannot be read.
std::uintptr_t end_of(std::uintptr_t base, std::string_view bytes) noexcept {
  std::uintptr_t end = base;
  try {
    for (const Elf64_Phdr& segment : ElfFile(bytes).segments())
      if (segment.p_type == PT_LOAD) end = std::max(end, base + segment.p_vaddr + segment.p_memsz);
  } catch (const std::exception&) {  // it is damaged, or no memory is left
  }
  return end;
}

}  // namespace

void ModuleRange::describe(void* handle, std::string_view name, std::string_view bytes,
                           std::span<const TextOrigin> origins, const void* owner) noexcept {
  struct link_map* map = nullptr;
  if (m_record || ::dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || !map->l_addr) return;
  m_record = take_record();
  if (!m_record) return;
  m_record->end = end_of(map->l_addr, bytes);
  m_record->name = name;
  m_record->bytes = bytes;
  m_record->origins = origins;
  m_record->owner = owner;
  m_record->begin = map->l_addr;
}

void ModuleRange::describe_findings(std::int32_t (*take)(char*, std::uint64_t, std::int32_t)) noexcept {
  if (m_record) m_record->take_findings = take;
}

void ModuleRange::forget_owner() noexcept {
  if (!m_record) return;
  m_record->owner = nullptr;
  m_record->take_findings = nullptr;
}

std::uintptr_t ModuleRange::begin() const noexcept {
  return m_record ? m_record->begin.load() : 0;
}

ModuleRange::~ModuleRange() {
  if (!m_record) return;
  m_record->begin = 0;
  m_record->take_findings = nullptr;
  m_record->taken = false;
}

const ModuleRecord* find_module(std::uintptr_t address) noexcept {
  for (const ModuleRecord* r = g_modules; r; r = r->next) {
    const std::uintptr_t begin = r->begin;
    if (begin && begin <= address && address < r->end) return r;
  }
  return nullptr;
}

const void* find_owner(std::uintptr_t address) noexcept {
  for (const ModuleRecord* r = g_modules; r; r = r->next) {
    const std::uintptr_t begin = r->begin;
    const void* const owner = r->owner;  // a module that is being unmapped may lie where another one is now
    if (owner && begin && begin <= address && address < r->end) return owner;
  }
  return nullptr;
}

void for_each_checked_module(void (*visit)(const ModuleRecord& module, void* user), void* user) noexcept {
  for (const ModuleRecord* r = g_modules; r; r = r->next)
    if (r->begin && r->take_findings) visit(*r, user);
}

}  // namespace tarsia::registry
