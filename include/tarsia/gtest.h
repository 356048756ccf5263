// Tests of ops in GoogleTest: EXPECT_TRUE(tarsia::testing::op_holds("relu")).
#pragma once

#include <gtest/gtest.h>

#include <tarsia/testing.h>

namespace tarsia::testing {

/// Tests a registered op. The message of a failure lists the failed checks. Throws NotFound.
inline ::testing::AssertionResult op_holds(const std::string& name, const OpCheck& check = {}) {
  const OpReport report = check_op(name, check);
  return (report.passed() ? ::testing::AssertionSuccess() : ::testing::AssertionFailure()) << report.text();
}

}  // namespace tarsia::testing
