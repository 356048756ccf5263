// Ops of modules/ops.cc in GoogleTest.
#include <tarsia/gtest.h>

#include <gmock/gmock.h>
#include <tarsia/tarsia.h>

namespace {

using tarsia::testing::check_op;
using tarsia::testing::op_holds;
using testing::HasSubstr;

class OpTests : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    s_library = new tarsia::Library(tarsia::load(TARSIA_TEST_MODULES "/ops.so"));
  }
  static void TearDownTestSuite() {
    s_library->unload();
    delete s_library;
  }
  static inline tarsia::Library* s_library = nullptr;
};

TEST_F(OpTests, an_op_holds) {
  EXPECT_TRUE(op_holds("test_relu"));
  EXPECT_TRUE(op_holds("test_matmul", {.inputs = {{{3, 4}}, {{4, 5}}, {{1}}}}));
  EXPECT_TRUE(op_holds("test_split", {.inputs = {{{6}}}, .attributes = {{"parts", "3"}}}));
}

TEST_F(OpTests, a_failure_says_which_checks_failed) {
  const testing::AssertionResult result = op_holds("test_throws");
  EXPECT_FALSE(result);
  EXPECT_THAT(result.message(), HasSubstr("op 'test_throws' fails\n  FAILED  cpu"));
  EXPECT_THAT(result.message(), HasSubstr("too far"));
}

TEST_F(OpTests, reports_have_every_check) {
  const tarsia::testing::OpReport report = check_op("test_relu", {.inputs = {{{5}, tarsia::float32}}});
  EXPECT_TRUE(report.passed());
  EXPECT_THAT(report.text(true), HasSubstr("ok      cpu float32: forward runs: float32 (5,)"));
  EXPECT_THAT(report.text(), testing::Not(HasSubstr("ok  ")));
  EXPECT_THROW(check_op("test_nowhere"), tarsia::NotFound);
}

}  // namespace
