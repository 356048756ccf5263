// What the ELF file of a library tells before it is loaded.
#include "registry/library/elf.h"

#include "base/file.h"
#include "tests/unit/registry/module_fixture.h"

namespace tarsia::registry {
namespace {

TEST(Elf, needed_libraries_and_symbols_are_read) {
  const ElfLibrary elf = read_elf(read_file(module_path("needs_gone")), "x");
  EXPECT_THAT(elf.needed, testing::Contains("libtarsia_test_gone.so"));
  EXPECT_THAT(elf.tarsia_symbols, testing::Contains("tarsia_module_attach"));
  EXPECT_FALSE(read_elf(read_file(module_path("ops_again")), "x").has_unique_symbols);
#if !defined(__clang__)
  EXPECT_TRUE(read_elf(read_file(module_path("unique")), "x").has_unique_symbols);
#endif
}

TEST(Elf, calls_of_the_cuda_runtime_beyond_launches_are_seen) {
  EXPECT_FALSE(read_elf(read_file(module_path("launches")), "x").calls_cuda_runtime);
  EXPECT_TRUE(read_elf(read_file(module_path("sets_device")), "x").calls_cuda_runtime);
}

}  // namespace
}  // namespace tarsia::registry
