// Loads cells and fills their slots.
#include "session/cell_module.h"

#include <dlfcn.h>

#include "base/error.h"
#include "base/file.h"
#include "registry/loader.h"
#include "registry/op/op_registry.h"

extern "C" void __cxa_finalize(void* destructors);

namespace tarsia::session {
namespace {

constexpr char k_table[] = "tarsia_cell_table";
constexpr char k_run[] = "tarsia_cell_run";
constexpr std::int64_t k_version = 3;

}  // namespace

CellModule::CellModule(const pipeline::Module& module, const std::string& name) {
  registry::ModuleFile file;
  {
    const Mapping bytes(module.file.get());
    file.file = make_memfd("tarsia-cell", bytes.bytes());
  }
  file.path = name;
  file.name = name;
  file.origin = module.origin;
  file.warnings = module.warnings;
  file.library_dirs = module.library_dirs;
  m_library = registry::load_module(std::move(file));
  m_table = static_cast<const CellTable*>(m_library->symbol(k_table));
  if (!m_table || m_table->version != k_version) throw LoadError(name + " is no cell of this Tarsia's");
}

void* CellModule::find_elsewhere(const char* name) const {
  if (void* found = m_library->linked_symbol(name)) return found;
  return ::dlsym(RTLD_DEFAULT, name);
}

void CellModule::run() {
  if (void* const run = m_library->symbol(k_run)) reinterpret_cast<void (*)()>(run)();
}

void CellModule::finish() {
  registry::OpRegistry::instance().remove(*m_library);
  if (m_library->is_shared()) return;
  __cxa_finalize(m_table->destructors);
}

void CellModule::add_ops() {
  registry::add_late_ops(m_library);
}

const CellSymbol* fill_slots(std::span<const LiveCell> cells) {
  struct Definition {
    void* address;
    const char* type;
  };
  std::map<std::string_view, std::vector<Definition>> defined;  // oldest first
  for (const LiveCell& cell : cells)
    for (const CellSymbol& symbol : cell.module->symbols())
      if (symbol.definition) defined[symbol.name].push_back({symbol.definition, symbol.type});
  const CellSymbol* missing = nullptr;
  for (const LiveCell& cell : cells)
    for (const CellSymbol& symbol : cell.module->symbols()) {
      void* address = nullptr;
      if (const auto found = defined.find(symbol.name); found != defined.end()) {
        for (const Definition& one : found->second) {
          if (std::string_view(one.type) == symbol.type) address = one.address;
          if (address && symbol.kind == k_cell_shared) break;
        }
      }
      if (!address) address = symbol.definition;
      if (!address) address = cell_builtin(symbol.name);
      if (!address && symbol.kind != k_cell_thread_variable)
        address = cell.module->find_elsewhere(symbol.name);
      if (!address && symbol.kind == k_cell_function) address = symbol.complaint;
      if (!address && !missing) missing = &symbol;
      *symbol.slot = address;
    }
  return missing;
}

void write_fixups(const CellModule& module) {
  for (const CellFixup& fixup : module.fixups()) {
    char* const value = static_cast<char*>(*module.symbols()[std::size_t(fixup.symbol)].slot) + fixup.addend;
    *reinterpret_cast<char**>(fixup.base + fixup.offset) = value;
  }
}

}  // namespace tarsia::session
