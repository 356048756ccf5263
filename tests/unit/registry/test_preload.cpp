// What is mapped ahead of its load, and what is not. tests/python/compile/test_packs.py has a runtime for it.
#include "registry/preload.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/file.h"
#include "tests/unit/registry/module_fixture.h"

namespace tarsia::registry {
namespace {

TEST(Preload, what_links_no_cuda_runtime_and_what_is_no_module_stay_for_their_load) {
  const int devices[] = {0};
  for (const char* name : {"/ops.so", "/portable17.so"}) {
    UniqueFd file(::open((std::string(TARSIA_TEST_MODULES) + name).c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_TRUE(file) << name;
    EXPECT_FALSE(preload(std::move(file), name, devices));
    EXPECT_EQ(take_preloaded(name).handle, nullptr);
  }
  EXPECT_FALSE(preload(make_memfd("text", "no library"), "text", devices));
  EXPECT_EQ(take_preloaded("").handle, nullptr);
}

TEST(Preload, each_path_is_another_one_and_leads_to_the_file) {
  const UniqueFd file = make_memfd("module", "content");
  const std::string first = unique_path({}, file.get()), second = unique_path({}, file.get());
  EXPECT_NE(first, second);
  struct stat one, two, opened;
  ASSERT_EQ(::stat(first.c_str(), &one), 0);
  ASSERT_EQ(::stat(second.c_str(), &two), 0);
  ASSERT_EQ(::fstat(file.get(), &opened), 0);
  EXPECT_EQ(one.st_ino, opened.st_ino);
  EXPECT_EQ(two.st_ino, opened.st_ino);
  EXPECT_TRUE(unique_path("/nowhere/module.so", file.get()).starts_with("/proc/"));
}

TEST(Preload, only_the_runtime_and_the_compilers_own_libraries_are_linked_alone) {
  EXPECT_TRUE(links_runtime_alone({.needed = {"libcudart.so.13", "libstdc++.so.6", "libc.so.6"}}));
  EXPECT_FALSE(links_runtime_alone({.needed = {"libcudart.so.13", "libtorch.so"}}));
  EXPECT_FALSE(links_runtime_alone({.needed = {"libcublas.so.13"}}));
}

}  // namespace
}  // namespace tarsia::registry
