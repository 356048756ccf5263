// A reader of 64-bit ELF files: modules, system libraries, objects and cubins alike.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace tarsia {

/// A file whose tables lead outside of its bytes. Callers that know its name throw an error with the name
/// instead.
class DamagedElf : public Error {
 public:
  DamagedElf() : Error("an ELF file is cut short or its tables point outside of it") {}
};

/// A note of a section or a segment.
struct ElfNote {
  std::uint32_t type = 0;
  std::string_view owner;    ///< such as "GNU"
  std::string_view content;  ///< any bytes
};

/// Reads only the bytes that it gets, which must outlive it. Functions throw DamagedElf instead of reading
/// outside. Immutable, so threads may share it.
class ElfFile {
 public:
  /// Whether the bytes begin as a 64-bit little-endian ELF file does.
  static bool is_one(std::string_view bytes);

  /// Throws DamagedElf, too, if the bytes are no such file.
  explicit ElfFile(std::string_view bytes);

  const Elf64_Ehdr& header() const { return m_header; }
  std::string_view bytes() const { return m_bytes; }
  /// Empty if the file has no table of sections.
  const std::vector<Elf64_Shdr>& sections() const { return m_sections; }
  std::vector<Elf64_Phdr> segments() const;

  /// The struct at an offset in the file.
  template <class T>
  T at(std::uint64_t offset) const {
    if (offset > m_bytes.size() || m_bytes.size() - offset < sizeof(T)) throw DamagedElf();
    T value;
    std::memcpy(&value, m_bytes.data() + offset, sizeof(T));
    return value;
  }
  /// Calls visit(entry, index) for each T of a section that is a table.
  template <class T, class Visit>
  void for_each(const Elf64_Shdr& section, Visit visit) const {
    for (std::uint64_t i = 0; i < section.sh_size / sizeof(T); ++i)
      visit(at<T>(section.sh_offset + i * sizeof(T)), i);
  }
  /// The text that begins at an offset in the file, up to its NUL.
  std::string_view text_at(std::uint64_t offset) const;

  /// The notes in so many bytes at an offset.
  std::vector<ElfNote> notes(std::uint64_t offset, std::uint64_t size) const;

  /// Null if there is none; the first of several.
  const Elf64_Shdr* section(std::string_view name) const;
  const Elf64_Shdr* section(std::uint32_t type) const;
  std::string_view name(const Elf64_Shdr& section) const;
  /// Empty for a section that takes no room in the file.
  std::string_view content(const Elf64_Shdr& section) const;
  /// A text from the string table that `user` is linked to.
  std::string_view text(const Elf64_Shdr& user, std::uint64_t offset) const;

 private:
  std::string_view text_of(std::uint64_t table, std::uint64_t offset) const;

  std::string_view m_bytes;
  Elf64_Ehdr m_header;
  std::vector<Elf64_Shdr> m_sections;
};

}  // namespace tarsia
