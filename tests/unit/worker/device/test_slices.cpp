// Device slices in the style of published CUDA programs: each must compile, with the light plan and with the
// full one, and give the names that its first line tells.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/cuda/cubin.h"
#include "base/file.h"
#include "nvrtc_for_tests.h"

namespace tarsia::jit {
namespace {

constexpr const char* k_dir = TARSIA_TEST_SOURCE_DIR "/tests/unit/worker/device/slices/";

std::vector<std::string> slices() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(k_dir)) names.push_back(entry.path().stem());
  std::sort(names.begin(), names.end());
  return names;
}

class Slices : public NvrtcTest, public testing::WithParamInterface<std::string> {
 protected:
  DeviceRequest read() {
    DeviceRequest made = request(read_file(k_dir + GetParam() + ".cu"));
    made.main.name = GetParam() + ".cu";
    std::string line = made.main.text.substr(0, made.main.text.find('\n'));
    EXPECT_EQ(line.rfind("// expect: ", 0), 0u);
    std::stringstream list(line.substr(11));
    for (std::string item; std::getline(list, item, ',');) {
      std::stringstream words(item);
      std::string kind, name;
      words >> kind;
      std::getline(words >> std::ws, name);
      if (kind == "managed")
        made.managed.push_back(name);
      else
        made.expressions.push_back((kind == "variable" ? "&" : "") + name);
    }
    return made;
  }

  void check(const DeviceRequest& asked, const DeviceResult& got) {
    ASSERT_TRUE(got.ok) << format(got.diagnostics);
    ASSERT_EQ(got.images.size(), 1u);
    std::vector<CubinSymbol> symbols = cubin_symbols(got.images[0].bytes);
    auto has = [&](const std::string& name) {
      return std::any_of(symbols.begin(), symbols.end(),
                         [&](const CubinSymbol& s) { return s.name == name; });
    };
    for (size_t i = 0; i < asked.expressions.size(); ++i)
      EXPECT_TRUE(has(got.lowered.at(i))) << asked.expressions[i] << " → " << got.lowered[i];
    for (size_t i = 0; i < asked.managed.size(); ++i) EXPECT_TRUE(has(got.managed.at(i))) << asked.managed[i];
  }
};

TEST_P(Slices, compile_with_the_light_plan) {
  const DeviceRequest asked = read();
  const DeviceResult got = compile(asked);
  check(asked, got);
  EXPECT_TRUE(got.keyed) << "the light plan failed and the full one decided";
}

TEST_P(Slices, compile_with_the_full_plan) {
  const DeviceRequest asked = read();
  check(asked, compiler.compile(asked, plan_device(asked, PlanKind::full)));
}

INSTANTIATE_TEST_SUITE_P(All, Slices, testing::ValuesIn(slices()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace tarsia::jit
