#include "jit/worker/cubin.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include <elf.h>

namespace tarsia::jit {
namespace {

constexpr int k_em_cuda = 190;
constexpr unsigned char k_managed = 4;  // in st_other, as nvcc and NVRTC set it

template <class T>
bool read(std::string_view bytes, size_t at, T& into) {
  if (at > bytes.size() || bytes.size() - at < sizeof(T)) return false;
  std::memcpy(&into, bytes.data() + at, sizeof(T));
  return true;
}

std::vector<Elf64_Shdr> read_sections(std::string_view cubin, Elf64_Ehdr& header) {
  if (!is_cubin(cubin) || !read(cubin, 0, header)) return {};
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  for (size_t i = 0; i < sections.size(); ++i)
    if (!read(cubin, header.e_shoff + i * sizeof(Elf64_Shdr), sections[i])) return {};
  return sections;
}

std::string_view content(std::string_view cubin, const Elf64_Shdr& section) {
  if (section.sh_offset > cubin.size() || section.sh_size > cubin.size() - section.sh_offset) return {};
  return cubin.substr(section.sh_offset, section.sh_size);
}

std::string string_at(std::string_view cubin, const Elf64_Shdr& section, size_t at) {
  std::string_view strings = content(cubin, section);
  if (at >= strings.size()) return {};
  strings.remove_prefix(at);
  return std::string(strings.substr(0, strings.find('\0')));
}

/// The parts of an Itanium name of a variable: "_ZN2ns5tableE" → ns, table; "table" → table. Parts made up
/// for anonymous namespaces and internal linkage are left out.
std::vector<std::string_view> name_parts(std::string_view name) {
  if (!name.starts_with("_Z")) return {name};
  name.remove_prefix(2);
  const bool nested = name.starts_with('N');
  if (nested) name.remove_prefix(1);
  std::vector<std::string_view> parts;
  while (!name.empty() && name[0] != 'E') {
    if (name[0] == 'L' || name[0] == 'K') {
      name.remove_prefix(1);
      continue;
    }
    size_t length = 0;
    auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), length);
    if (error != std::errc{}) return {};
    name.remove_prefix(end - name.data());
    if (length > name.size()) return {};
    std::string_view part = name.substr(0, length);
    name.remove_prefix(length);
    if (part.starts_with("_INTERNAL_") || part.starts_with("_GLOBAL__N_")) continue;
    parts.push_back(part);
    if (!nested) break;
  }
  return parts;
}

std::vector<std::string_view> split_qualified(std::string_view name) {
  std::vector<std::string_view> parts;
  while (!name.empty()) {
    const size_t end = std::min(name.find("::"), name.size());
    std::string_view part = name.substr(0, end);
    if (!part.empty() && !part.starts_with("(anonymous") && !part.starts_with("<unnamed"))
      parts.push_back(part);
    name.remove_prefix(std::min(end + 2, name.size()));
  }
  return parts;
}

}  // namespace

bool is_cubin(std::string_view bytes) {
  Elf64_Ehdr header;
  return read(bytes, 0, header) && std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
         header.e_machine == k_em_cuda;
}

std::vector<CubinSymbol> cubin_symbols(std::string_view cubin) {
  std::vector<CubinSymbol> symbols;
  Elf64_Ehdr header;
  const std::vector<Elf64_Shdr> sections = read_sections(cubin, header);
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_SYMTAB || section.sh_link >= sections.size()) continue;
    for (size_t at = 0; at + sizeof(Elf64_Sym) <= section.sh_size; at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      if (!read(cubin, section.sh_offset + at, symbol)) return symbols;
      const int type = ELF64_ST_TYPE(symbol.st_info);
      if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= sections.size()) continue;
      CubinSymbol found{.name = string_at(cubin, sections[section.sh_link], symbol.st_name),
                        .bytes = symbol.st_size};
      if (type == STT_OBJECT) {
        found.kind = CubinSymbol::Kind::variable;
        found.managed = (symbol.st_other & k_managed) != 0;
      } else if (type == STT_FUNC) {
        constexpr unsigned char k_entry = 0x10;
        if (symbol.st_other & k_entry) found.kind = CubinSymbol::Kind::kernel;
      } else {
        continue;
      }
      if (!found.name.empty()) symbols.push_back(std::move(found));
    }
  }
  return symbols;
}

std::string cubin_section(std::string_view cubin, std::string_view name) {
  Elf64_Ehdr header;
  const std::vector<Elf64_Shdr> sections = read_sections(cubin, header);
  if (sections.empty() || header.e_shstrndx >= sections.size()) return {};
  for (const Elf64_Shdr& section : sections)
    if (string_at(cubin, sections[header.e_shstrndx], section.sh_name) == name)
      return std::string(content(cubin, section));
  return {};
}

std::string find_variable(const std::vector<CubinSymbol>& symbols, std::string_view qualified_name) {
  const std::vector<std::string_view> wanted = split_qualified(qualified_name);
  for (const CubinSymbol& symbol : symbols)
    if (symbol.kind == CubinSymbol::Kind::variable && name_parts(symbol.name) == wanted) return symbol.name;
  return {};
}

}  // namespace tarsia::jit
