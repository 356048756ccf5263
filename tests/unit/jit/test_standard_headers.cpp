// The names of standard headers are those that the library of this machine has.
#include "jit/standard_headers.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace tarsia::jit {
namespace {

TEST(StandardHeaders, all_of_libstdcxx_are_known) {
  int count = 0;
  for (int version = 9; version < 20; ++version) {
    std::error_code ec;
    const std::string folder = "/usr/include/c++/" + std::to_string(version);
    for (const auto& entry : std::filesystem::directory_iterator(folder, ec)) {
      const std::string name = entry.path().filename();
      if (!entry.is_regular_file() || name.find('.') != name.npos) continue;  // those of C++ have no suffix
      EXPECT_TRUE(is_standard_header(name)) << name;
      EXPECT_TRUE(is_system_header(name)) << name;
      ++count;
    }
  }
  if (count == 0) GTEST_SKIP() << "no headers of libstdc++ on this machine";
}

TEST(StandardHeaders, kinds_are_told_apart) {
  for (const char* name : {"stdio.h", "wctype.h", "assert.h", "vector"})
    EXPECT_TRUE(is_standard_header(name));
  for (const char* name : {"unistd.h", "sys/mman.h"}) {
    EXPECT_TRUE(is_posix_header(name) && is_system_header(name)) << name;
    EXPECT_FALSE(is_standard_header(name)) << name;
  }
  EXPECT_TRUE(is_system_header("immintrin.h"));
  for (const char* name : {"", "vector.h", "cuda_runtime.h", "mman.h", "stdio", "bits/stdc++.h"})
    EXPECT_FALSE(is_system_header(name)) << name;
}

}  // namespace
}  // namespace tarsia::jit
