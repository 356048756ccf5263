// An op bound for a check, and runs of it on memory that is watched.
#pragma once

#include <tarsia/op_abi.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "registry/check/check_values.h"
#include "registry/op/bound_op.h"

namespace tarsia::registry {

/// What an op is bound to in a check.
struct CheckCase {
  std::vector<tarsia_meta> inputs;
  std::vector<std::pair<std::string, std::string>> attributes;
  tarsia_device device{TARSIA_CPU, 0};
  std::uint64_t seed = 0;              ///< of the inputs and the random states
  std::uint64_t other_states = 0;      ///< added to it for the random states
  std::vector<std::string> writes;     ///< names or numbers of inputs that it writes to without declaring it
  std::vector<std::string> constants;  ///< those of inputs whose gradient nobody asks for
  bool exact = false;  ///< memory of just the size, for AddressSanitizer: no zones of our own around it
};

/// The settings of a run.
struct CheckRun {
  std::vector<CheckValue> inputs;
  std::vector<CheckValue> outputs;     ///< their contents before
  std::vector<std::uint8_t> requests;  ///< empty: "write"
  std::vector<int> shared;             ///< the input whose memory output i has, -1: none; empty: none
  bool without_null_outputs = false;   ///< gives no tensor where the request is "null"
};

/// The result of a run.
struct CheckOutcome {
  std::int32_t code = 0;
  std::string error;    ///< the op's, with `code`
  std::string trouble;  ///< memory that the op wrote to and must not write to
  std::vector<CheckValue> outputs;
  std::vector<CheckValue> written;  ///< what it left in the inputs of CheckCase::writes
};

/// An op bound to a case, with random states seeded anew. Throws what binding throws, and ArgumentError if
/// the case names an input that the op does not have.
class CheckSession {
 public:
  CheckSession(const Ref<OpEntry>& entry, const CheckCase& check_case);

  const BoundOp& bound() const { return *m_bound; }
  /// The inputs of CheckCase::writes.
  const std::vector<size_t>& writes() const { return m_writes; }
  /// Whether the op gives a gradient of the input, and it is none of CheckCase::constants.
  bool wants_gradient(size_t input) const;
  CheckOutcome forward(const CheckRun& run) { return call(run, TARSIA_FORWARD); }
  CheckOutcome backward(const CheckRun& run) { return call(run, TARSIA_BACKWARD); }

 private:
  CheckOutcome call(const CheckRun& run, tarsia_pass pass);
  std::vector<size_t> find_inputs(const char* what, const std::vector<std::string>& names) const;

  CheckCase m_case;
  Ref<BoundOp> m_bound;
  std::vector<size_t> m_writes, m_constants;
};

/// The name of tensor i of a pass, for messages: "input 'x'", "the gradient of output 'y'". What has no name
/// is numbered as in C++, from 0.
std::string tensor_name(const BoundInfo& bound, tarsia_pass pass, bool is_output, size_t i);

/// What a case asks of inference. Borrows from it.
class CheckRequest {
 public:
  explicit CheckRequest(const CheckCase& check_case, const std::vector<tarsia_meta>& outputs = {});
  CheckRequest(const CheckRequest&) = delete;
  const tarsia_op_request& get() const { return m_request; }

 private:
  std::vector<const char*> m_names;
  std::vector<tarsia_value> m_values;
  tarsia_op_request m_request{};
};

}  // namespace tarsia::registry
