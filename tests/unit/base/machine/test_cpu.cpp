// What base/machine/cpu.h says of this CPU, against what the kernel says.
#include "base/machine/cpu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace tarsia {
namespace {

using testing::AnyOf;
using testing::IsEmpty;

std::set<std::string> kernel_flags() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("flags")) {
      std::istringstream words(line.substr(line.find(':') + 1));
      return {std::istream_iterator<std::string>(words), {}};
    }
  return {};
}

TEST(Cpu, its_level_is_what_the_kernel_says) {
  const std::set<std::string> flags = kernel_flags();
  EXPECT_THAT(cpu_level(), AnyOf("x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"));
  EXPECT_EQ(cpu_level() >= "x86-64-v3",
            flags.contains("avx2") && flags.contains("fma") && flags.contains("bmi2"));
  EXPECT_EQ(cpu_level() >= "x86-64-v4", flags.contains("avx512vl") && flags.contains("avx512bw"));
}

TEST(Cpu, its_identity_stays) {
  EXPECT_FALSE(cpu_identity().empty());
  for (int i = 0; i < 100; ++i) EXPECT_EQ(cpu_identity(), cpu_identity());
}

TEST(Cpu, features_that_it_lacks_are_named) {
  const std::set<std::string> flags = kernel_flags();
  for (const std::string name : {"avx2", "fma", "avx512f", "sse4a", "xop"})
    EXPECT_EQ(missing_cpu_features({name}).empty(), flags.contains(name)) << name;
  EXPECT_THAT(missing_cpu_features({"sse3", "nobody-knows-this"}), IsEmpty());
}

}  // namespace
}  // namespace tarsia
