// Reads ELF files.
#include "base/elf_file.h"

namespace tarsia {

bool ElfFile::is_one(std::string_view bytes) {
  return bytes.size() >= EI_NIDENT && std::memcmp(bytes.data(), ELFMAG, SELFMAG) == 0 &&
         bytes[EI_CLASS] == ELFCLASS64 && bytes[EI_DATA] == ELFDATA2LSB;
}

ElfFile::ElfFile(std::string_view bytes) : m_bytes(bytes) {
  if (!is_one(bytes)) throw DamagedElf();
  m_header = at<Elf64_Ehdr>(0);
  if (m_header.e_shoff == 0) return;
  for (std::uint64_t i = 0; i < m_header.e_shnum; ++i)
    m_sections.push_back(at<Elf64_Shdr>(m_header.e_shoff + i * m_header.e_shentsize));
}

std::vector<Elf64_Phdr> ElfFile::segments() const {
  std::vector<Elf64_Phdr> all;
  for (std::uint64_t i = 0; i < m_header.e_phnum; ++i)
    all.push_back(at<Elf64_Phdr>(m_header.e_phoff + i * m_header.e_phentsize));
  return all;
}

std::vector<ElfNote> ElfFile::notes(std::uint64_t offset, std::uint64_t size) const {
  if (offset > m_bytes.size() || size > m_bytes.size() - offset) throw DamagedElf();
  const auto padded = [](std::uint64_t n) { return (n + 3) / 4 * 4; };
  std::vector<ElfNote> all;
  const std::uint64_t end = offset + size;
  while (end - offset >= sizeof(Elf64_Nhdr)) {
    const auto head = at<Elf64_Nhdr>(offset);
    const std::uint64_t owner = offset + sizeof head, content = owner + padded(head.n_namesz);
    offset = content + padded(head.n_descsz);
    if (offset > end) throw DamagedElf();
    const std::string_view name = m_bytes.substr(owner, head.n_namesz);
    all.push_back({head.n_type, name.substr(0, name.find('\0')), m_bytes.substr(content, head.n_descsz)});
  }
  return all;
}

std::string_view ElfFile::text_at(std::uint64_t offset) const {
  if (offset >= m_bytes.size()) throw DamagedElf();
  const std::string_view rest = m_bytes.substr(offset);
  const std::size_t end = rest.find('\0');
  if (end == rest.npos) throw DamagedElf();
  return rest.substr(0, end);
}

const Elf64_Shdr* ElfFile::section(std::string_view wanted) const {
  for (const Elf64_Shdr& section : m_sections)
    if (name(section) == wanted) return &section;
  return nullptr;
}

const Elf64_Shdr* ElfFile::section(std::uint32_t type) const {
  for (const Elf64_Shdr& section : m_sections)
    if (section.sh_type == type) return &section;
  return nullptr;
}

std::string_view ElfFile::name(const Elf64_Shdr& section) const {
  if (m_header.e_shstrndx == SHN_UNDEF) return {};  // none has a name
  return text_of(m_header.e_shstrndx, section.sh_name);
}

std::string_view ElfFile::content(const Elf64_Shdr& section) const {
  if (section.sh_type == SHT_NOBITS) return {};
  if (section.sh_offset > m_bytes.size() || section.sh_size > m_bytes.size() - section.sh_offset)
    throw DamagedElf();
  return m_bytes.substr(section.sh_offset, section.sh_size);
}

std::string_view ElfFile::text(const Elf64_Shdr& user, std::uint64_t offset) const {
  return text_of(user.sh_link, offset);
}

std::string_view ElfFile::text_of(std::uint64_t table, std::uint64_t offset) const {
  if (table >= m_sections.size()) throw DamagedElf();
  const std::string_view all = content(m_sections[table]);
  if (offset >= all.size()) throw DamagedElf();
  const std::string_view rest = all.substr(offset);
  return rest.substr(0, rest.find('\0'));
}

}  // namespace tarsia
