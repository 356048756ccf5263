// Reads the ELF files that hold device code.
#include "base/cuda/cubin.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "base/elf_file.h"

namespace tarsia {
namespace {

constexpr int k_em_cuda = 190;
constexpr unsigned char k_managed = 4;  // in st_other, as nvcc and NVRTC set it

/// The numbers at the start of the bytes; zeros if there are fewer bytes.
template <class Number, size_t k_count>
std::array<Number, k_count> words_at(std::string_view bytes) {
  std::array<Number, k_count> words{};
  if (bytes.size() >= sizeof words) std::memcpy(words.data(), bytes.data(), sizeof words);
  return words;
}

/// `read`'s result for a cubin, or `otherwise` if the bytes are no cubin or are damaged.
template <class Result, class Read>
Result read_or(Result otherwise, std::string_view cubin, Read read) {
  if (!is_cubin(cubin)) return otherwise;
  try {
    return read(ElfFile(cubin));
  } catch (const DamagedElf&) {
    return otherwise;
  }
}

/// Calls visit(attribute, value) for those attributes of an .nv.info section that carry a value of some
/// length. An entry is a format, an attribute, and with format 4 two bytes of length, with others two of
/// value.
template <class Visit>
void for_each_info(std::string_view info, Visit visit) {
  constexpr unsigned char k_sized = 4;
  while (info.size() >= 4) {
    const auto format = static_cast<unsigned char>(info[0]), attribute = static_cast<unsigned char>(info[1]);
    const std::uint16_t length = words_at<std::uint16_t, 1>(info.substr(2))[0];
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
  if (!ElfFile::is_one(bytes) || bytes.size() < sizeof(Elf64_Ehdr)) return false;
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  return header.e_machine == k_em_cuda;
}

std::vector<CubinSymbol> cubin_symbols(std::string_view cubin) {
  return read_or(std::vector<CubinSymbol>(), cubin, [](const ElfFile& file) {
    std::vector<CubinSymbol> symbols;
    for (const Elf64_Shdr& section : file.sections()) {
      if (section.sh_type != SHT_SYMTAB) continue;
      file.for_each<Elf64_Sym>(section, [&](const Elf64_Sym& symbol, std::uint64_t) {
        const int type = ELF64_ST_TYPE(symbol.st_info);
        if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= file.sections().size()) return;
        if (type != STT_OBJECT && type != STT_FUNC) return;
        CubinSymbol found{.name = std::string(file.text(section, symbol.st_name)), .bytes = symbol.st_size};
        constexpr unsigned char k_entry = 0x10;
        if (type == STT_OBJECT) {
          found.kind = CubinSymbol::Kind::variable;
          found.managed = (symbol.st_other & k_managed) != 0;
        } else if (symbol.st_other & k_entry) {
          found.kind = CubinSymbol::Kind::kernel;
        }
        if (!found.name.empty()) symbols.push_back(std::move(found));
      });
    }
    return symbols;
  });
}

std::string cubin_section(std::string_view cubin, std::string_view name) {
  return read_or(std::string(), cubin, [&](const ElfFile& file) {
    const Elf64_Shdr* section = file.section(name);
    return section ? std::string(file.content(*section)) : std::string();
  });
}

std::optional<KernelResources> kernel_resources(std::string_view cubin, const std::string& symbol) {
  using Result = std::optional<KernelResources>;
  return read_or(Result(), cubin, [&](const ElfFile& file) -> Result {
    KernelResources found;
    bool has_code = false, reserves_shared = false;
    std::uint32_t index = 0;
    std::string_view of_all, of_kernel;
    for (const Elf64_Shdr& section : file.sections()) {
      const std::string_view name = file.name(section);
      const int bytes = static_cast<int>(section.sh_size);
      has_code |= name == ".text." + symbol;
      reserves_shared |= name == ".nv.shared.reserved.0";
      if (name == ".nv.info") of_all = file.content(section);
      if (name == ".nv.info." + symbol) of_kernel = file.content(section);
      if (name == ".nv.shared." + symbol) found.shared_bytes = bytes;
      if (name == ".nv.constant3") found.constant_bytes = bytes;
      if (section.sh_type != SHT_SYMTAB) continue;
      file.for_each<Elf64_Sym>(section, [&](const Elf64_Sym& entry, std::uint64_t i) {
        if (ELF64_ST_TYPE(entry.st_info) == STT_FUNC && file.text(section, entry.st_name) == symbol)
          index = static_cast<std::uint32_t>(i);
      });
    }
    if (!has_code || !index) return std::nullopt;
    // Each block's memory begins with a part that the system reserves. It does not count as the kernel's.
    constexpr int k_reserved = 1024;
    if (reserves_shared && found.shared_bytes >= k_reserved) found.shared_bytes -= k_reserved;
    constexpr unsigned char k_max_threads = 0x05, k_frame_bytes = 0x11, k_registers = 0x2f;
    for_each_info(of_all, [&](unsigned char attribute, std::string_view value) {
      const auto [of, number] = words_at<std::uint32_t, 2>(value);
      if (of != index) return;
      if (attribute == k_registers) found.registers = static_cast<int>(number);
      if (attribute == k_frame_bytes) found.local_bytes = static_cast<int>(number);
    });
    for_each_info(of_kernel, [&](unsigned char attribute, std::string_view value) {
      const auto [x, y, z] = words_at<std::uint32_t, 3>(value);
      if (attribute == k_max_threads) found.max_threads = static_cast<int>(x * y * z);
    });
    return found;
  });
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
