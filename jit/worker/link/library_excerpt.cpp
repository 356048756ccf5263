// Cuts libraries down to the symbols that a link needs. LLD reads every symbol of a library that it links
// against. For libstdc++, libm and libc, that takes two thirds of the time of a small module's link, which
// uses a handful of them. So a worker reads the symbols of each library once in its life. Each link gets a
// library that has only the symbols that its objects name. The module is the same, byte for byte
// (test_library_excerpt.cpp).
#include "jit/worker/link/library_excerpt.h"

#include <algorithm>
#include <cstring>

#include "base/elf_file.h"
#include "base/error.h"
#include "base/file.h"

namespace tarsia::jit {
namespace {

constexpr unsigned short k_hidden_version = 0x8000;  // VERSYM_HIDDEN: not the default version of its symbol

/// An ELF file that grows section by section.
class Writer {
 public:
  Writer() : m_bytes(sizeof(Elf64_Ehdr), '\0'), m_sections(1) {}

  unsigned add(unsigned type, const std::string& content, unsigned link, unsigned info, unsigned entry) {
    m_bytes.resize((m_bytes.size() + 7) & ~size_t(7), '\0');
    Elf64_Shdr section{};
    section.sh_type = type;
    section.sh_flags = SHF_ALLOC;
    section.sh_offset = m_bytes.size();
    section.sh_size = content.size();
    section.sh_link = link;
    section.sh_info = info;
    section.sh_addralign = 8;
    section.sh_entsize = entry;
    m_sections.push_back(section);
    m_bytes += content;
    return unsigned(m_sections.size() - 1);
  }

  std::string finish() {
    m_bytes.resize((m_bytes.size() + 7) & ~size_t(7), '\0');
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_DYN;
    header.e_machine = EM_X86_64;
    header.e_version = EV_CURRENT;
    header.e_shoff = m_bytes.size();
    header.e_ehsize = sizeof(Elf64_Ehdr);
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = Elf64_Half(m_sections.size());
    m_bytes.append(reinterpret_cast<const char*>(m_sections.data()), m_sections.size() * sizeof(Elf64_Shdr));
    std::memcpy(m_bytes.data(), &header, sizeof header);
    return std::move(m_bytes);
  }

 private:
  std::string m_bytes;
  std::vector<Elf64_Shdr> m_sections;
};

template <class T>
void append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// A string table that hands out offsets.
class Strings {
 public:
  unsigned add(std::string_view text) {
    const unsigned offset = unsigned(m_bytes.size());
    m_bytes.append(text);
    m_bytes.push_back('\0');
    return offset;
  }
  const std::string& bytes() const { return m_bytes; }

 private:
  std::string m_bytes = std::string(1, '\0');
};

unsigned long sysv_hash(std::string_view name) {  // System V ABI, "Hash Table"
  unsigned long hash = 0;
  for (unsigned char c : name) {
    hash = (hash << 4) + c;
    const unsigned long high = hash & 0xf0000000;
    if (high) hash ^= high >> 24;
    hash &= ~high;
  }
  return hash;
}

}  // namespace

std::optional<std::set<std::string_view>> undefined_symbols(std::string_view object) {
  std::set<std::string_view> names;
  bool versioned = false;
  try {
    const ElfFile file(object);
    const Elf64_Shdr* table = file.section(SHT_SYMTAB);
    if (!table) return names;
    file.for_each<Elf64_Sym>(*table, [&](const Elf64_Sym& symbol, std::uint64_t i) {
      if (i == 0 || symbol.st_shndx != SHN_UNDEF) return;
      const std::string_view name = file.text(*table, symbol.st_name);
      versioned |= name.find('@') != name.npos;
      names.insert(name);
    });
  } catch (const DamagedElf&) {
    return std::nullopt;
  }
  if (versioned) return std::nullopt;
  return names;
}

LibrarySymbols::LibrarySymbols(const std::string& path) : m_bytes(read_file(path)) {
  const ElfFile file(m_bytes);
  const Elf64_Shdr* symbols = file.section(SHT_DYNSYM);
  const Elf64_Shdr* dynamic = file.section(SHT_DYNAMIC);
  const Elf64_Shdr* versym = file.section(SHT_GNU_versym);
  const Elf64_Shdr* verdef = file.section(SHT_GNU_verdef);
  if (!symbols || !dynamic || !versym || !verdef) throw Error(path + " lacks a part of a shared library");

  file.for_each<Elf64_Dyn>(*dynamic, [&](const Elf64_Dyn& entry, std::uint64_t) {
    if (entry.d_tag == DT_SONAME) m_soname = file.text(*dynamic, entry.d_un.d_val);
  });
  if (m_soname.empty()) throw Error(path + " has no name of its own");

  std::uint64_t at = verdef->sh_offset;
  for (unsigned i = 0; i < verdef->sh_info; ++i) {
    const auto version = file.at<Elf64_Verdef>(at);
    const auto name = file.at<Elf64_Verdaux>(at + version.vd_aux);
    m_versions[version.vd_ndx] = file.text(*verdef, name.vda_name);
    if (!version.vd_next) break;
    at += version.vd_next;
  }

  m_symbols.reserve(symbols->sh_size / sizeof(Elf64_Sym));
  file.for_each<Elf64_Sym>(*symbols, [&](const Elf64_Sym& symbol, std::uint64_t i) {
    const auto version = file.at<Elf64_Half>(versym->sh_offset + i * sizeof(Elf64_Half));
    if (i == 0 || symbol.st_shndx == SHN_UNDEF || ELF64_ST_BIND(symbol.st_info) == STB_LOCAL ||
        version == VER_NDX_LOCAL || (version & k_hidden_version))
      return;
    m_symbols.emplace(file.text(*symbols, symbol.st_name),
                      Symbol{symbol.st_info, symbol.st_other, version, symbol.st_size});
  });
}

std::string LibrarySymbols::excerpt(const std::set<std::string_view>& names) const {
  Strings strings;
  std::string symbols(sizeof(Elf64_Sym), '\0'), versym(sizeof(Elf64_Half), '\0');
  std::set<unsigned short> versions = {VER_NDX_GLOBAL};  // the library's own name
  for (std::string_view name : names) {
    const auto found = m_symbols.find(name);
    if (found == m_symbols.end()) continue;
    Elf64_Sym symbol{};
    symbol.st_name = strings.add(name);
    symbol.st_info = found->second.info;
    symbol.st_other = found->second.other;
    symbol.st_shndx = SHN_ABS;
    symbol.st_size = found->second.size;
    append(symbols, symbol);
    append(versym, Elf64_Half(found->second.version));
    versions.insert(found->second.version);
  }
  if (symbols.size() == sizeof(Elf64_Sym)) return {};

  std::string verdef;
  unsigned left = unsigned(versions.size());
  for (unsigned short index : versions) {
    const auto found = m_versions.find(index);
    const std::string_view name = found == m_versions.end() ? m_soname : found->second;
    Elf64_Verdef definition{};
    definition.vd_version = VER_DEF_CURRENT;
    definition.vd_flags = index == VER_NDX_GLOBAL ? VER_FLG_BASE : 0;
    definition.vd_ndx = index;
    definition.vd_cnt = 1;
    definition.vd_hash = Elf64_Word(sysv_hash(name));
    definition.vd_aux = sizeof definition;
    definition.vd_next = --left ? sizeof definition + sizeof(Elf64_Verdaux) : 0;
    append(verdef, definition);
    append(verdef, Elf64_Verdaux{strings.add(name), 0});
  }

  std::string dynamic;
  append(dynamic, Elf64_Dyn{DT_SONAME, {strings.add(m_soname)}});
  append(dynamic, Elf64_Dyn{DT_NULL, {0}});

  Writer writer;
  const unsigned table = writer.add(SHT_STRTAB, strings.bytes(), 0, 0, 0);
  const unsigned symbol_table = writer.add(SHT_DYNSYM, symbols, table, 1, sizeof(Elf64_Sym));
  writer.add(SHT_GNU_versym, versym, symbol_table, 0, sizeof(Elf64_Half));
  writer.add(SHT_GNU_verdef, verdef, table, unsigned(versions.size()), 0);
  writer.add(SHT_DYNAMIC, dynamic, table, 0, sizeof(Elf64_Dyn));
  return writer.finish();
}

}  // namespace tarsia::jit
