// Where libomp is looked for, and in which order.
#include "base/paths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace tarsia {
namespace {

namespace fs = std::filesystem;

class OpenMp : public testing::Test {
 protected:
  OpenMp() {
    std::string pattern = testing::TempDir() + "openmp-XXXXXX";
    m_folder = mkdtemp(pattern.data());
  }
  ~OpenMp() override { fs::remove_all(m_folder); }
  std::string add(const std::string& name) {
    const fs::path path = m_folder / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << "ELF";
    return path;
  }
  fs::path m_folder;
};

TEST_F(OpenMp, the_library_beside_tarsia_comes_first_and_the_environments_next) {
  const std::string own = add("own/libomp.so.5"), conda = add("conda/lib/libomp.so");
  setenv("CONDA_PREFIX", (m_folder / "conda").c_str(), 1);
  const std::vector<std::string> found = openmp_libraries(m_folder / "own");
  unsetenv("CONDA_PREFIX");
  ASSERT_GE(found.size(), 2u);
  EXPECT_EQ(found[0], own);
  EXPECT_EQ(found[1], conda);
}

TEST_F(OpenMp, only_files_are_found_and_each_folder_once) {
  fs::create_directories(m_folder / "libomp.so.5");
  for (const std::string& path : openmp_libraries(m_folder)) {
    EXPECT_FALSE(path.starts_with(m_folder.string()));
    EXPECT_TRUE(fs::is_regular_file(path)) << path;
  }
  fs::remove(m_folder / "libomp.so.5");
  const std::string newer = add("libomp.so.5");
  add("libomp.so");
  const std::vector<std::string> found = openmp_libraries(m_folder);
  EXPECT_EQ(std::ranges::count_if(found, [&](const auto& one) { return one.starts_with(m_folder.string()); }),
            1);
  EXPECT_EQ(found.front(), newer);
}

TEST(OpenMpName, is_llvms_alone) {
  EXPECT_TRUE(is_openmp_library("libomp.so") && is_openmp_library("libomp.so.5"));
  EXPECT_FALSE(is_openmp_library("libomptarget.so") || is_openmp_library("libgomp.so.1") ||
               is_openmp_library("libomp.socket"));
}

}  // namespace
}  // namespace tarsia
