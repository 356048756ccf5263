// Ops in GoogleTest: EXPECT_TRUE(tarsia::testing::op_holds("relu")), with the failed checks as its message.
#pragma once

#include <gtest/gtest.h>

#include <tarsia/testing.h>

namespace tarsia::testing {

/// Whether the registered op passes all checks: see OpCheck.
inline ::testing::AssertionResult op_holds(const std::string& name, const OpCheck& check = {}) {
  const OpReport report = check_op(name, check);
  return (report.passed() ? ::testing::AssertionSuccess() : ::testing::AssertionFailure()) << report.text();
}

}  // namespace tarsia::testing
