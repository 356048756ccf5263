// Reading ELF files, whole and damaged ones.
#include "base/elf_file.h"

#include <gtest/gtest.h>

#include "base/file.h"

namespace tarsia {
namespace {

// Reads all that a file leads to.
void read_all_of(std::string_view bytes) {
  const ElfFile file(bytes);
  file.segments();
  file.section(".no such name");
  for (const Elf64_Phdr& segment : file.segments())
    if (segment.p_type == PT_NOTE) file.notes(segment.p_offset, segment.p_filesz);
  for (const Elf64_Shdr& section : file.sections()) {
    file.name(section);
    file.content(section);
    if (section.sh_type == SHT_DYNSYM)
      file.for_each<Elf64_Sym>(
          section, [&](const Elf64_Sym& symbol, std::uint64_t) { file.text(section, symbol.st_name); });
  }
}

class ElfFileTest : public testing::Test {
 protected:
  const std::string bytes = read_file("/proc/self/exe");  // this program
};

TEST_F(ElfFileTest, finds_sections_segments_and_texts) {
  const ElfFile file(bytes);
  EXPECT_EQ(file.header().e_machine, ElfFile(bytes).header().e_machine);
  const Elf64_Shdr* text = file.section(".text");
  ASSERT_NE(text, nullptr);
  EXPECT_EQ(file.name(*text), ".text");
  EXPECT_EQ(file.content(*text).size(), text->sh_size);
  const Elf64_Shdr* zeros = file.section(".bss");
  ASSERT_NE(zeros, nullptr);
  EXPECT_GT(zeros->sh_size, 0u);
  EXPECT_EQ(file.content(*zeros), "");
  EXPECT_EQ(file.section(".no such name"), nullptr);
  const Elf64_Shdr* dynamic = file.section(SHT_DYNAMIC);
  ASSERT_NE(dynamic, nullptr);
  bool needs_libc = false;
  file.for_each<Elf64_Dyn>(*dynamic, [&](const Elf64_Dyn& entry, std::uint64_t) {
    needs_libc |= entry.d_tag == DT_NEEDED && file.text(*dynamic, entry.d_un.d_val).starts_with("libc.so");
  });
  EXPECT_TRUE(needs_libc);
  bool interpreted = false;
  for (const Elf64_Phdr& segment : file.segments())
    interpreted |= segment.p_type == PT_INTERP && file.text_at(segment.p_offset).starts_with("/lib");
  EXPECT_TRUE(interpreted);
}

TEST_F(ElfFileTest, finds_notes) {
  const ElfFile file(bytes);
  const Elf64_Shdr* section = file.section(".note.gnu.build-id");
  ASSERT_NE(section, nullptr);
  const std::vector<ElfNote> notes = file.notes(section->sh_offset, section->sh_size);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0].type, unsigned{NT_GNU_BUILD_ID});
  EXPECT_EQ(notes[0].owner, "GNU");
  EXPECT_EQ(notes[0].content, file.content(*section).substr(sizeof(Elf64_Nhdr) + 4));
  EXPECT_THROW(file.notes(section->sh_offset, section->sh_size - 1), DamagedElf);
  EXPECT_THROW(file.notes(bytes.size(), 1), DamagedElf);
}

TEST_F(ElfFileTest, what_is_none_is_damaged) {
  for (const std::string& other : {std::string(),
                                   std::string("\x7f"
                                               "ELF"),
                                   std::string(4096, '\0')}) {
    EXPECT_FALSE(ElfFile::is_one(other));
    EXPECT_THROW(ElfFile{other}, DamagedElf);
  }
  std::string narrow = bytes;
  narrow[EI_CLASS] = ELFCLASS32;
  EXPECT_THROW(ElfFile{narrow}, DamagedElf);
}

TEST_F(ElfFileTest, a_cut_one_is_damaged) {
  // Of its own, so that a sanitizer sees what is read behind it.
  for (size_t size = 0; size < bytes.size(); size += 1 + bytes.size() / 50)
    EXPECT_THROW(read_all_of(std::string(bytes, 0, size)), DamagedElf) << size;
}

TEST_F(ElfFileTest, damaged_headers_lead_nowhere_outside) {
  std::string damaged = bytes;
  const ElfFile file(bytes);
  const auto flip = [&](size_t at) {
    damaged[at] = static_cast<char>(damaged[at] ^ 0xff);
    try {
      read_all_of(damaged);
    } catch (const DamagedElf&) {
    }
    damaged[at] = bytes[at];
  };
  for (size_t at = EI_NIDENT; at < sizeof(Elf64_Ehdr); ++at) flip(at);
  for (size_t i = 0; i < file.header().e_shnum * sizeof(Elf64_Shdr); ++i) flip(file.header().e_shoff + i);
}

}  // namespace
}  // namespace tarsia
