// Reads the dynamic section of a shared library.
#include "registry/library/elf.h"

#include <tarsia/abi.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <sstream>

#include "base/elf_file.h"
#include "base/error.h"
#include "base/machine/cpu.h"

namespace tarsia::registry {

namespace {

#if defined(__x86_64__)
constexpr int k_machine = EM_X86_64;
constexpr const char* k_machine_name = "x86-64";
#elif defined(__aarch64__)
constexpr int k_machine = EM_AARCH64;
constexpr const char* k_machine_name = "AArch64";
#endif

std::string machine_name(int machine) {
  switch (machine) {
    case EM_386:
      return "32-bit x86";
    case EM_X86_64:
      return "x86-64";
    case EM_ARM:
      return "32-bit ARM";
    case EM_AARCH64:
      return "AArch64";
    case EM_PPC64:
      return "PowerPC";
    case EM_RISCV:
      return "RISC-V";
    case EM_CUDA:
      return "CUDA device code";
    default:
      return "machine " + std::to_string(machine);
  }
}

/// Reads the file into the result. Throws LoadError, which names `path`, if the file is damaged.
template <class Read>
auto read_file_of(std::string_view bytes, const std::string& path, Read read) {
  try {
    return read(ElfFile(bytes));
  } catch (const DamagedElf&) {
    throw LoadError(path +
                    " is a damaged shared library (it is cut short or its tables point outside the file): "
                    "build or copy it again");
  }
}

/// The end of what the headers name; the whole file if they name less than that sensibly.
std::uint64_t image_end(const ElfFile& file) {
  const std::uint64_t size = file.bytes().size();
  std::uint64_t end = sizeof(Elf64_Ehdr);
  auto cover = [&](std::uint64_t offset, std::uint64_t bytes) {
    if (offset <= size && bytes <= size - offset) end = std::max(end, offset + bytes);
  };
  const Elf64_Ehdr& header = file.header();
  cover(header.e_phoff, std::uint64_t(header.e_phnum) * header.e_phentsize);
  cover(header.e_shoff, std::uint64_t(header.e_shnum) * header.e_shentsize);
  for (const Elf64_Phdr& segment : file.segments()) cover(segment.p_offset, segment.p_filesz);
  for (const Elf64_Shdr& section : file.sections())
    if (section.sh_type != SHT_NOBITS) cover(section.sh_offset, section.sh_size);
  return end;
}

/// The number of dynamic symbols stands only in the hash tables. 0 there means that there is none.
std::uint64_t count_symbols(const ElfFile& file, std::uint64_t hash, std::uint64_t gnu_hash) {
  if (hash) return file.at<std::uint32_t>(hash + 4);
  if (!gnu_hash) return 0;
  const auto buckets = file.at<std::uint32_t>(gnu_hash), first = file.at<std::uint32_t>(gnu_hash + 4),
             bloom = file.at<std::uint32_t>(gnu_hash + 8);
  const std::uint64_t table = gnu_hash + 16 + std::uint64_t(bloom) * 8,
                      chains = table + std::uint64_t(buckets) * 4;
  std::uint32_t last = 0;
  for (std::uint32_t i = 0; i < buckets; ++i)
    last = std::max(last, file.at<std::uint32_t>(table + std::uint64_t(i) * 4));
  if (last < first) return first;
  while (!(file.at<std::uint32_t>(chains + (std::uint64_t(last) - first) * 4) & 1)) ++last;
  return std::uint64_t(last) + 1;
}

/// Whether a module's call of this function may leave an error in the CUDA runtime that no launch of the
/// module has caused. That is so for all functions but those that Tarsia's own part of a module calls, and
/// those that only report errors.
bool is_call_of_cuda_runtime(std::string_view name) {
  static constexpr std::string_view k_harmless[] = {"cudaDeviceReset",  "cudaGetDriverEntryPointByVersion",
                                                    "cudaGetErrorName", "cudaGetErrorString",
                                                    "cudaGetKernel",    "cudaGetLastError",
                                                    "cudaLaunchKernel", "cudaPeekAtLastError"};
  if (name == "dlopen" || name == "dlsym") return true;  // they lead to any function
  return name.starts_with("cuda") &&
         std::find(std::begin(k_harmless), std::end(k_harmless), name) == std::end(k_harmless);
}

/// The features of the CPU that Tarsia's compiler has noted (base/machine/cpu.h). Each source file of a
/// module has a note of its own.
std::vector<std::string> read_cpu_features(const ElfFile& file) {
  const Elf64_Shdr* section = file.section(k_cpu_note_section);
  std::vector<std::string> features;
  if (!section || section->sh_type != SHT_NOTE) return features;
  for (const ElfNote& note : file.notes(section->sh_offset, section->sh_size)) {
    if (note.type != k_cpu_note_type || note.owner != k_cpu_note_owner) continue;
    std::istringstream words{std::string(note.content.substr(0, note.content.find('\0')))};
    features.insert(features.end(), std::istream_iterator<std::string>(words), {});
  }
  std::ranges::sort(features);
  features.erase(std::unique(features.begin(), features.end()), features.end());
  return features;
}

ElfLibrary read_library(const ElfFile& file, const std::string& path) {
  const Elf64_Ehdr& header = file.header();
  if (header.e_machine != k_machine)
    throw LoadError(path + " is built for " + machine_name(header.e_machine) + "; this machine is " +
                    k_machine_name);
  if (header.e_type == ET_REL)
    throw LoadError(path + " is an object file, not yet linked: link it with -shared");
  if (header.e_type != ET_DYN)
    throw LoadError(path + " is a program or core file, no shared library: build it with -shared -fPIC");

  std::vector<Elf64_Phdr> loads;
  Elf64_Phdr dynamic{};
  bool has_interpreter = false;
  for (const Elf64_Phdr& segment : file.segments()) {
    if (segment.p_type == PT_LOAD) loads.push_back(segment);
    if (segment.p_type == PT_DYNAMIC) dynamic = segment;
    if (segment.p_type == PT_INTERP) has_interpreter = true;
  }
  if (!dynamic.p_filesz)
    throw LoadError(path + " has no dynamic section, so it is no shared library: build it with -shared");
  auto offset_of = [&](std::uint64_t address) {
    for (const auto& segment : loads)
      if (address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz)
        return segment.p_offset + (address - segment.p_vaddr);
    throw DamagedElf();
  };

  std::uint64_t strings = 0, symbols = 0, hash = 0, gnu_hash = 0, flags_1 = 0;
  std::vector<std::uint64_t> needed;
  for (std::uint64_t at = dynamic.p_offset; at + sizeof(Elf64_Dyn) <= dynamic.p_offset + dynamic.p_filesz;
       at += sizeof(Elf64_Dyn)) {
    const auto entry = file.at<Elf64_Dyn>(at);
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag == DT_NEEDED) needed.push_back(entry.d_un.d_val);
    if (entry.d_tag == DT_STRTAB) strings = offset_of(entry.d_un.d_ptr);
    if (entry.d_tag == DT_SYMTAB) symbols = offset_of(entry.d_un.d_ptr);
    if (entry.d_tag == DT_HASH) hash = offset_of(entry.d_un.d_ptr);
    if (entry.d_tag == DT_GNU_HASH) gnu_hash = offset_of(entry.d_un.d_ptr);
    if (entry.d_tag == DT_FLAGS_1) flags_1 = entry.d_un.d_val;
  }
  if (has_interpreter && (flags_1 & DF_1_PIE))
    throw LoadError(path + " is a program, no shared library: build it with -shared -fPIC");

  ElfLibrary library;
  library.image_bytes = image_end(file);
  library.cpu_features = read_cpu_features(file);
  for (std::uint64_t name : needed) library.needed.emplace_back(file.text_at(strings + name));
  const std::uint64_t count = count_symbols(file, hash, gnu_hash);
  for (std::uint64_t i = 1; symbols && i < count; ++i) {
    const auto symbol = file.at<Elf64_Sym>(symbols + i * sizeof(Elf64_Sym));
    const std::string_view name = file.text_at(strings + symbol.st_name);
    if (symbol.st_shndx == SHN_UNDEF) {
      library.calls_cuda_runtime |= is_call_of_cuda_runtime(name);
      if (const Sanitizer* needed = sanitizer_of_symbol(name)) library.sanitizer = needed;
      continue;
    }
    if (ELF64_ST_BIND(symbol.st_info) == STB_GNU_UNIQUE) library.has_unique_symbols = true;
    if (name == TARSIA_EFFECTS_SYMBOL) library.has_effects = true;
    const bool initializes = name == "initialize" || name == "_Z10initializei";  // extern "C" or not
    if (name == "_opRegSize" || (initializes && ELF64_ST_TYPE(symbol.st_info) == STT_FUNC))
      library.has_mxnet_symbols = true;
    if (name.starts_with("tarsia_")) library.tarsia_symbols.emplace_back(name);
  }
  return library;
}

}  // namespace

ElfLibrary read_elf(std::string_view bytes, const std::string& path) {
  if (bytes.size() < EI_NIDENT || std::memcmp(bytes.data(), ELFMAG, SELFMAG) != 0)
    throw LoadError(path +
                    " is no shared library: load() takes ELF files as g++ -shared or nvcc -shared make them; "
                    "sources go to load_inline()");
  if (!ElfFile::is_one(bytes))
    throw LoadError(path + " is built for a 32-bit or big-endian machine; this one is " + k_machine_name);
  return read_file_of(bytes, path, [&](const ElfFile& file) { return read_library(file, path); });
}

std::vector<std::string> shown_symbols(std::string_view bytes, const std::string& path) {
  return read_file_of(bytes, path, [](const ElfFile& file) {
    std::vector<std::string> names;
    const Elf64_Shdr* table = file.section(SHT_DYNSYM);
    if (!table) return names;
    file.for_each<Elf64_Sym>(*table, [&](const Elf64_Sym& symbol, std::uint64_t) {
      const std::string_view name = file.text(*table, symbol.st_name);
      if (symbol.st_shndx != SHN_UNDEF && ELF64_ST_BIND(symbol.st_info) != STB_LOCAL && !name.empty() &&
          name != TARSIA_MODULE_SYMBOL && name != TARSIA_EFFECTS_SYMBOL &&
          name != TARSIA_INITIALIZER_ERROR_SYMBOL)
        names.emplace_back(name);
    });
    std::ranges::sort(names);
    return names;
  });
}

bool lists_entries(std::string_view bytes, const std::string& path) {
  return read_file_of(bytes, path, [](const ElfFile& file) {
    return std::ranges::any_of(
        std::array<std::string_view, 3>{"tarsia_functions", "tarsia_kernels", "tarsia_templates"},
        [&](std::string_view name) {
          const Elf64_Shdr* section = file.section(name);
          return section && section->sh_size != 0;
        });
  });
}

std::uint64_t count_initializers(std::string_view bytes, const std::string& path) {
  return read_file_of(bytes, path, [](const ElfFile& file) -> std::uint64_t {
    const Elf64_Shdr* section = file.section(".init_array");
    return section ? section->sh_size / sizeof(void*) : 0;
  });
}

}  // namespace tarsia::registry
