// Tests of ops in C++ programs, without any framework. <tarsia/gtest.h> is for GoogleTest.
#pragma once

#include <tarsia/bound_op.h>
#include <tarsia/c_api.h>
#include <tarsia/errors.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tarsia::testing {

/// How an op is tested. Tarsia chooses inputs and dtypes that are omitted.
struct OpCheck {
  /// An input on which the op is tested.
  struct Input {
    std::vector<int64_t> shape;
    std::optional<DType> dtype = {};             ///< if omitted, Tarsia chooses
    tarsia_storage_type storage = TARSIA_DENSE;  ///< how it is stored
  };
  std::vector<Input> inputs = {};
  std::vector<std::pair<std::string, std::string>> attributes = {};  ///< names and values as texts
  bool gradient = true;       ///< false if the gradient is not the derivative, as a straight-through one
  uint64_t seed = 0;          ///< of the inputs and the random states
  bool exact_memory = false;  ///< TARSIA_CHECK_EXACT_MEMORY: for AddressSanitizer
  std::vector<std::string> writes = {};     ///< names of inputs that the op writes to without declaring it
  std::vector<std::string> constants = {};  ///< names of inputs whose gradient nobody asks for, as of labels
};

/// The results of a test.
struct OpReport {
  /// The result of one check: its name, why it failed or was skipped, and how it ended.
  struct Result {
    std::string check, message;
    tarsia_check_status status;
  };
  std::string op;               ///< the op's name
  std::vector<Result> results;  ///< in the order of the checks

  /// Whether no check failed and at least one passed.
  bool passed() const {
    bool any = false;
    for (const Result& r : results) {
      if (r.status == TARSIA_CHECK_FAILED) return false;
      any |= r.status == TARSIA_CHECK_PASSED;
    }
    return any;
  }
  /// Returns a headline and a line for each failed check, or for every check if `all` is true.
  std::string text(bool all = false) const {
    std::string text = "op '" + op + "'" + (passed() ? " passes" : " fails");
    for (const Result& r : results) {
      if (!all && r.status != TARSIA_CHECK_FAILED) continue;
      text += r.status == TARSIA_CHECK_FAILED   ? "\n  FAILED  "
              : r.status == TARSIA_CHECK_PASSED ? "\n  ok      "
                                                : "\n  skipped ";
      text += r.check + (r.message.empty() ? "" : ": " + r.message);
    }
    return text;
  }
};

/// Tests a registered op; tarsia_op_check says how. A failed check is a result, not an error. Throws
/// NotFound.
inline OpReport check_op(const std::string& name, const OpCheck& check = {}) {
  std::vector<tarsia_meta> inputs;
  for (const OpCheck::Input& input : check.inputs) {
    tarsia_meta meta{};
    meta.present = 1;
    meta.ndim = static_cast<int32_t>(input.shape.size());
    meta.dtype = input.dtype.value_or(DType{TARSIA_ANY_DTYPE, 0, 0});
    meta.storage = static_cast<uint8_t>(input.storage);
    for (size_t i = 0; i < input.shape.size() && i < TARSIA_MAX_NDIM; ++i) meta.shape[i] = input.shape[i];
    inputs.push_back(meta);
  }
  std::vector<const char*> names, texts;
  for (const auto& [attribute, text] : check.attributes) {
    names.push_back(attribute.c_str());
    texts.push_back(text.c_str());
  }
  tarsia_check_request request{};
  request.size = sizeof(request);
  request.n_inputs = static_cast<uint32_t>(inputs.size());
  request.inputs = inputs.data();
  request.n_attributes = static_cast<uint32_t>(names.size());
  request.attribute_names = names.data();
  request.attribute_texts = texts.data();
  request.flags = (check.gradient ? 0u : uint32_t{TARSIA_CHECK_NO_GRADIENT}) |
                  (check.exact_memory ? uint32_t{TARSIA_CHECK_EXACT_MEMORY} : 0u);
  request.seed = check.seed;
  std::vector<const char*> writes;
  for (const std::string& input : check.writes) writes.push_back(input.c_str());
  request.writes = writes.data();
  request.n_writes = static_cast<uint32_t>(writes.size());
  std::vector<const char*> constants;
  for (const std::string& input : check.constants) constants.push_back(input.c_str());
  request.constants = constants.data();
  request.n_constants = static_cast<uint32_t>(constants.size());
  tarsia_op_handle* op = nullptr;
  detail::check(tarsia_op_load(name.c_str(), &op));
  tarsia_check_result* results = nullptr;
  uint64_t n = 0;
  const int32_t code = tarsia_op_check(op, &request, &results, &n);
  tarsia_op_release(op);
  detail::check(code);
  OpReport report{name, {}};
  for (uint64_t i = 0; i < n; ++i)
    report.results.push_back(
        {results[i].check, results[i].message, static_cast<tarsia_check_status>(results[i].status)});
  tarsia_free(results);
  return report;
}

}  // namespace tarsia::testing
