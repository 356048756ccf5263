// Checks of an op without any framework: its inference, results, writes and gradient, on generated inputs.
#pragma once

#include <tarsia/op_abi.h>

#include <cstdint>
#include <string>
#include <vector>

#include "registry/check/check_session.h"

namespace tarsia::registry {

/// The op and the case to check. Inputs that are left out, and unknown dtypes, are chosen.
struct CheckOptions {
  std::vector<tarsia_meta> inputs;
  std::vector<std::pair<std::string, std::string>> attributes;
  bool gradient = true;  ///< compare the gradient with finite differences
  bool exact = false;    ///< see CheckCase
  std::uint64_t seed = 0;
  std::vector<std::string> writes, constants;  ///< see CheckCase
};

enum class CheckStatus { failed, passed, skipped };

struct CheckResult {
  std::string check;  ///< "cpu float32: forward writes every element"
  CheckStatus status;
  std::string message;
};

/// Runs all checks and returns their results in order. Seeds the random states anew. Throws only Tarsia's own
/// faults, or OutOfMemory.
std::vector<CheckResult> check_op(const Ref<OpEntry>& op, const CheckOptions& options);

/// A case to which the op can be bound, on the case's device. Throws ArgumentError with the last attempt.
CheckCase find_case(const Ref<OpEntry>& op, const CheckOptions& options, tarsia_device device);
/// The same in other dtypes and storage types that the op can be bound to.
std::vector<CheckCase> other_cases(const Ref<OpEntry>& op, const CheckOptions& options,
                                   const CheckCase& found);

/// Describes the largest error of a backward against finite differences of the forward; "" if it is small.
/// Sets `n` to the number of derivatives compared.
std::string check_gradient(const Ref<OpEntry>& op, const CheckCase& check_case,
                           const std::vector<CheckValue>& inputs, std::int64_t& n);

}  // namespace tarsia::registry
