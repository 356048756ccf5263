// Reads the symbol tables of objects, and changes the visibility in them.
#include "jit/worker/link/kept_symbols.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string_view>

#include "base/elf_file.h"
#include "llvm/Demangle/Demangle.h"

namespace tarsia::jit {
namespace {

/// The qualified name of a function or variable of C++, without parameters; "" if the symbol is neither.
std::string qualified_name(std::string_view symbol) {
  if (!symbol.starts_with("_Z")) return {};
  const std::string mangled(symbol);
  llvm::ItaniumPartialDemangler demangler;
  if (demangler.partialDemangle(mangled.c_str()) || demangler.isSpecialName()) return {};
  char* text = demangler.isFunction() ? demangler.getFunctionName(nullptr, nullptr)
                                      : demangler.finishDemangle(nullptr, nullptr);
  std::string name = text ? text : "";
  std::free(text);
  return name;
}

class Keeper {
 public:
  explicit Keeper(const std::vector<std::string>& exports) {
    for (const std::string& name : exports) m_wanted.insert(name.starts_with("::") ? name.substr(2) : name);
  }

  void read(LinkInput& input) {
    try {
      const ElfFile file(input.bytes);
      const Elf64_Shdr* table = file.section(SHT_SYMTAB);
      if (!table) return;
      std::vector<std::uint64_t> opened;
      file.for_each<Elf64_Sym>(*table, [&](const Elf64_Sym& symbol, std::uint64_t i) {
        const int type = ELF64_ST_TYPE(symbol.st_info);
        if (symbol.st_shndx == SHN_UNDEF || (type > STT_FUNC && type != STT_GNU_IFUNC)) return;
        const std::string_view name = file.text(*table, symbol.st_name);
        const bool is_local = ELF64_ST_BIND(symbol.st_info) == STB_LOCAL;
        const std::string* wanted = m_wanted.empty() ? nullptr : find_wanted(name);
        if (wanted) (is_local ? m_static : m_found).insert(*wanted);
        if (!wanted && !m_wanted.empty()) note_kernel(name);
        if (is_local) return;
        const bool is_python = name.starts_with("PyInit_") || name.starts_with("PyInitU_");
        if (wanted || is_python)
          opened.push_back(table->sh_offset + i * sizeof(Elf64_Sym) + offsetof(Elf64_Sym, st_other));
        const bool is_marked = ELF64_ST_VISIBILITY(symbol.st_other) == STV_DEFAULT &&
                               ELF64_ST_BIND(symbol.st_info) == STB_GLOBAL;
        if (wanted || is_python || is_marked) m_kept.insert(std::string(name));
      });
      for (const std::uint64_t at : opened) input.bytes[at] &= char(~0x3);  // STV_DEFAULT
    } catch (const DamagedElf&) {
      // No object of Tarsia's compiler: the linker says what it is.
    }
  }

  KeptSymbols finish() {
    KeptSymbols kept;
    kept.names.assign(m_kept.begin(), m_kept.end());
    for (const std::string& name : m_wanted)
      if (!m_found.contains(name)) {
        kept.refused = Diagnostic{.message = missing(name)};
        break;
      }
    return kept;
  }

 private:
  const std::string* find_wanted(std::string_view symbol) const {
    auto found = m_wanted.find(symbol);
    if (found == m_wanted.end()) found = m_wanted.find(qualified_name(symbol));
    return found == m_wanted.end() ? nullptr : &*found;
  }

  /// Of a kernel, the host has a function that launches it.
  void note_kernel(std::string_view symbol) {
    constexpr std::string_view k_launches = "__device_stub__";
    if (symbol.find(k_launches) == symbol.npos) return;
    std::string name = qualified_name(symbol);
    if (const std::size_t at = name.find(k_launches); at != name.npos)
      m_kernels.insert(name.erase(at, k_launches.size()));
  }

  std::string missing(const std::string& name) const {
    if (m_kernels.contains(name))
      return "exports: '" + name +
             "' is a kernel, which a library has without that: take it away. Symbols that are kept are those "
             "of the host's functions and variables";
    if (m_static.contains(name))
      return "exports: '" + name +
             "' is static or in a namespace without a name, so no other library can find it: take that away";
    return "exports: the source defines no function or variable '" + name +
           "', or it is static, or inline or a template that nothing uses; write the qualified name, as in "
           "'ns::name', and define it";
  }

  std::set<std::string, std::less<>> m_wanted;
  std::set<std::string> m_found, m_static, m_kept, m_kernels;
};

}  // namespace

KeptSymbols keep_symbols(std::vector<LinkInput>& inputs, const std::vector<std::string>& exports) {
  Keeper keeper(exports);
  for (LinkInput& input : inputs) keeper.read(input);
  return keeper.finish();
}

}  // namespace tarsia::jit
