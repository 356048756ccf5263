// Reads the ELF files that hold device code.
#include "base/cubin.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include <elf.h>

namespace tarsia {
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

/// Calls visit(attribute, value) for the attributes of an .nv.info section that carry a value of some length:
/// format, attribute, and with format 4 two bytes of length, with others two of value.
template <class Visit>
void for_each_info(std::string_view info, Visit visit) {
  constexpr unsigned char k_sized = 4;
  while (info.size() >= 4) {
    const auto format = static_cast<unsigned char>(info[0]), attribute = static_cast<unsigned char>(info[1]);
    std::uint16_t length = 0;
    read(info, 2, length);
    info.remove_prefix(4);
    if (format != k_sized) continue;
    if (length > info.size()) return;
    visit(attribute, info.substr(0, length));
    info.remove_prefix(length);
  }
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

std::optional<KernelResources> kernel_resources(std::string_view cubin, const std::string& symbol) {
  Elf64_Ehdr header;
  const std::vector<Elf64_Shdr> sections = read_sections(cubin, header);
  if (sections.empty() || header.e_shstrndx >= sections.size()) return std::nullopt;
  KernelResources found;
  bool has_code = false, reserves_shared = false;
  std::uint32_t index = 0;
  std::string_view of_all, of_kernel;
  for (const Elf64_Shdr& section : sections) {
    const std::string name = string_at(cubin, sections[header.e_shstrndx], section.sh_name);
    const int bytes = static_cast<int>(section.sh_size);
    has_code |= name == ".text." + symbol;
    reserves_shared |= name == ".nv.shared.reserved.0";
    if (name == ".nv.info") of_all = content(cubin, section);
    if (name == ".nv.info." + symbol) of_kernel = content(cubin, section);
    if (name == ".nv.shared." + symbol) found.shared_bytes = bytes;
    if (name == ".nv.constant3") found.constant_bytes = bytes;
    if (section.sh_type != SHT_SYMTAB || section.sh_link >= sections.size()) continue;
    for (std::uint32_t i = 0; (i + 1) * sizeof(Elf64_Sym) <= section.sh_size; ++i) {
      Elf64_Sym entry;
      if (!read(cubin, section.sh_offset + i * sizeof(Elf64_Sym), entry)) break;
      if (ELF64_ST_TYPE(entry.st_info) == STT_FUNC &&
          string_at(cubin, sections[section.sh_link], entry.st_name) == symbol)
        index = i;
    }
  }
  if (!has_code || !index) return std::nullopt;
  // What the system keeps for itself at the beginning of each block's memory is no part of the kernel's.
  constexpr int k_reserved = 1024;
  if (reserves_shared && found.shared_bytes >= k_reserved) found.shared_bytes -= k_reserved;
  constexpr unsigned char k_max_threads = 0x05, k_frame_bytes = 0x11, k_registers = 0x2f;
  for_each_info(of_all, [&](unsigned char attribute, std::string_view value) {
    std::uint32_t words[2];
    if (!read(value, 0, words) || words[0] != index) return;
    if (attribute == k_registers) found.registers = static_cast<int>(words[1]);
    if (attribute == k_frame_bytes) found.local_bytes = static_cast<int>(words[1]);
  });
  for_each_info(of_kernel, [&](unsigned char attribute, std::string_view value) {
    std::uint32_t extents[3];
    if (attribute == k_max_threads && read(value, 0, extents))
      found.max_threads = static_cast<int>(extents[0] * extents[1] * extents[2]);
  });
  return found;
}

bool is_name_of(std::string_view mangled, std::string_view qualified_name) {
  return name_parts(mangled) == split_qualified(qualified_name);
}

std::string find_variable(const std::vector<CubinSymbol>& symbols, std::string_view qualified_name) {
  const std::vector<std::string_view> wanted = split_qualified(qualified_name);
  for (const CubinSymbol& symbol : symbols)
    if (symbol.kind == CubinSymbol::Kind::variable && name_parts(symbol.name) == wanted) return symbol.name;
  return {};
}

}  // namespace tarsia
