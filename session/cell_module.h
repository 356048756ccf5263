// The module of one cell: its table, its slots, and the run of its statements.
//
// What the table's structs say is written by jit/worker/cell/cell_linkage.cpp and read here alone.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/pipeline.h"
#include "registry/library/library.h"
#include "registry/resources/ref.h"

namespace tarsia::session {

/// A function or variable that a cell's code uses or defines.
struct CellSymbol {
  const char* name;  ///< mangled
  const char* type;  ///< canonical, as Clang prints it; "" for what has none in C++
  void** slot;       ///< what the cell's code reads at each use
  void* definition;  ///< in this module, or the function that gives the calling thread's; null: elsewhere
  std::int64_t kind;
  void* complaint;   ///< of a function: code that says that nobody defines it; null: this module does
  const char* uses;  ///< of what this module does not define: "cell 1:4, cell 1:9"
};
inline constexpr std::int64_t k_cell_function = 0, k_cell_variable = 1, k_cell_shared = 2,
                              k_cell_thread_variable = 3;

/// An initial value that names what another cell defines: at `base + offset`, the address of symbol number
/// `symbol` plus `addend`.
struct CellFixup {
  char* base;
  std::int64_t offset, symbol, addend;
};

/// tarsia_cell_table, version 3.
struct CellTable {
  std::int64_t version;
  const char* info;  ///< JSON: jit/worker/cell/cell_items.h
  std::int64_t n_symbols;
  const CellSymbol* symbols;
  std::int64_t n_fixups;
  const CellFixup* fixups;
  void* destructors;  ///< what the destructors of the cell's objects are registered under
};

/// A loaded cell. It is unloaded when nothing refers to it any more.
class CellModule {
 public:
  /// Maps a copy of the module, so that two sessions, or two cells of one text, have variables of their own.
  /// Runs none of the cell's statements. Throws as load_module() does.
  CellModule(const pipeline::Module& module, const std::string& name);

  std::span<const CellSymbol> symbols() const { return {m_table->symbols, std::size_t(m_table->n_symbols)}; }
  std::span<const CellFixup> fixups() const { return {m_table->fixups, std::size_t(m_table->n_fixups)}; }
  const char* info() const { return m_table->info; }
  const registry::Ref<registry::Library>& library() const { return m_library; }
  /// The address of a symbol of the libraries that the module links, or of the process; null if there is
  /// none.
  void* find_elsewhere(const char* name) const;
  /// Runs initial values and statements in their order, once. Throws what they throw.
  void run();
  /// Takes the cell's ops out of the registry, and destroys its objects if nobody else keeps the module.
  void finish();
  /// Registers the ops that the cell has declared while it ran. Throws LoadError.
  void add_ops();

 private:
  registry::Ref<registry::Library> m_library;
  const CellTable* m_table = nullptr;
};

/// What fills the slots of all live cells.
struct LiveCell {
  CellModule* module;
  std::string name;  ///< "cell 3"
};

/// Fills the slots: a function or variable is the newest of its name and type, what every module would have
/// for itself is the oldest of its name and type. Returns the first variable that nobody defines, or null.
const CellSymbol* fill_slots(std::span<const LiveCell> cells);

/// Writes the newest cell's initial values that other cells define, after fill_slots().
void write_fixups(const CellModule& module);

/// The address of a function of libtarsia that cells use; null if it is none.
void* cell_builtin(std::string_view name);

}  // namespace tarsia::session
