// What std answers in device code is what the host's libstdc++ answers.
#include <array>
#include <fstream>
#include <functional>
#include <iterator>
#include <sstream>
#include <type_traits>

#include <gtest/gtest.h>

#include "nvrtc_for_tests.h"

namespace tarsia::jit {
namespace {

#include "std_iterators.h"
#include "std_traits.h"

class DeviceStd : public NvrtcTest {
 protected:
  static std::string shared_text(const std::string& name) {
    std::ifstream file(TARSIA_TEST_SOURCE_DIR "/tests/unit/worker/device/" + name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void expect_taken(const std::string& text, const std::string& standard) {
    DeviceRequest asked = request(text);
    asked.std = standard;
    const DeviceResult got = compile(asked);
    std::string said;
    for (const Diagnostic& one : got.diagnostics)
      said += std::to_string(one.line) + ": " + one.message + "\n";
    EXPECT_TRUE(got.ok) << standard << said << text;
  }
};

TEST_F(DeviceStd, traits_are_the_hosts) {
  std::ostringstream asserts;
#define KIND(...) \
  asserts << "static_assert(of_kind<" #__VA_ARGS__ ">() == " << of_kind<__VA_ARGS__>() << ");\n";
#define USE(...) asserts << "static_assert(of_use<" #__VA_ARGS__ ">() == " << of_use<__VA_ARGS__>() << ");\n";
#define BOTH(...) KIND(__VA_ARGS__) USE(__VA_ARGS__)
  BOTH(int)
  BOTH(const unsigned char)
  BOTH(volatile double)
  BOTH(bool)
  BOTH(std::nullptr_t)
  BOTH(float*)
  BOTH(const void* const)
  BOTH(int&)
  BOTH(Virtual&&)
  KIND(int[3])  // compilers differ on whether it is constructible from an int
  BOTH(Plain[2][3])
  BOTH(Throwing[3])
  BOTH(int Plain::*)
  BOTH(int (Virtual::*)() const)
  BOTH(int (*)(int))
  BOTH(Plain)
  BOTH(const Plain)
  BOTH(Virtual)
  BOTH(Final)
  BOTH(Unmovable)
  BOTH(Throwing)
  BOTH(Private)
  BOTH(Old)
  BOTH(New)
  BOTH(Both)
  KIND(void)
  KIND(int[])
  KIND(Abstract)
  KIND(int(int))
#undef BOTH
#undef USE
#undef KIND
  expect_taken(
      "#include <type_traits>\n" + shared_text("std_traits.h") + asserts.str() +
          "static_assert(std::is_scoped_enum<New>::value && !std::is_scoped_enum<Old>::value);\n"
          "static_assert(std::is_bounded_array<int[2]>::value && std::is_unbounded_array<int[]>::value);\n"
          "static_assert(sizeof(std::aligned_union_t<3, char, double, short[9]>) == 24);\n"
          "static_assert(alignof(std::aligned_union_t<3, char, double, short[9]>) == 8);\n"
          "__global__ void k() {}\n",
      "c++20");  // this test's, which decides what an aggregate is
}

// The light plan brings a trait's header for its name alone.
TEST_F(DeviceStd, each_trait_comes_by_its_name) {
  std::istringstream lines(shared_text("std_traits.h"));
  int n = 0;
  for (std::string line; std::getline(lines, line);) {
    const size_t begin = line.find("std::"), end = line.find_last_of(",}");
    if (begin == line.npos || end == line.npos || end < begin) continue;
    std::string condition = line.substr(begin, end - begin);
    for (size_t at; (at = condition.find("<T")) != condition.npos;) condition.replace(at, 2, "<int");
    for (size_t at; (at = condition.find(" T,")) != condition.npos;) condition.replace(at, 3, " int,");
    const DeviceResult got =
        compile("#include <type_traits>\n__global__ void k(int* x) { *x = " + condition + "; }\n");
    EXPECT_TRUE(got.ok && got.keyed) << condition;
    ++n;
  }
  EXPECT_GT(n, 60);
}

// The values are those of libstdc++, which compiles the same text here.
TEST_F(DeviceStd, iterators_are_the_hosts) {
  for (const std::string standard : {"c++11", "c++14", "c++17", "c++20"}) {
    // libstdc++ calls unary_function deprecated.
    std::string text = "#include <array>\n#include <functional>\n#include <iterator>\n" +
                       shared_text("std_iterators.h") +
                       "struct Twice : std::unary_function<int, long> {};\n"
                       "__global__ void k(int* x) { x[0] = walk(); x[1] = Twice::result_type(1); }\n";
    if (standard >= "c++17") text += "static_assert(walk() == " + std::to_string(walk()) + ");\n";
    expect_taken(text, standard);
  }
}

}  // namespace
}  // namespace tarsia::jit
