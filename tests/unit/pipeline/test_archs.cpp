// The architectures that a source is compiled for by default.
#include "pipeline/archs.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/error.h"
#include "tests/unit/base/temporary_dir.h"

namespace tarsia::pipeline {
namespace {

struct DefaultArchs : ::testing::Test {
  void SetUp() override { ::unsetenv("CUDA_VISIBLE_DEVICES"); }

  TemporaryDir dir;
  cache::DiskStore store{dir / "cache", 0};
  Archs archs{[] { return std::string("0 "); }};
};

TEST_F(DefaultArchs, are_asked_for_once) {
  int asked = 0;
  const auto ask = [&] {
    ++asked;
    return std::vector<std::string>{"sm_80"};
  };
  for (int i = 0; i < 3; ++i) EXPECT_EQ(archs.defaults(store, ask), std::vector<std::string>{"sm_80"});
  EXPECT_EQ(asked, 1);
}

TEST_F(DefaultArchs, are_assumed_when_the_question_fails) {
  const auto fail = []() -> std::vector<std::string> { throw CompilerCrashed("no"); };
  EXPECT_EQ(archs.defaults(store, fail), std::vector<std::string>{k_default_arch});
}

TEST_F(DefaultArchs, are_not_assumed_when_the_user_gives_up_or_descriptors_lack) {
  const auto interrupted = []() -> std::vector<std::string> { throw Interrupted("no"); };
  EXPECT_THROW(archs.defaults(store, interrupted), Interrupted);
  const auto none_left = []() -> std::vector<std::string> { throw ResourceLimit("no"); };
  EXPECT_THROW(archs.defaults(store, none_left), ResourceLimit);
}

}  // namespace
}  // namespace tarsia::pipeline
