// Compares gradients: central differences of L = Σ g·y over the outputs y against backward's result for the
// output gradients g. If two step sizes disagree, there is no derivative to compare with, as at the kink of
// a ReLU.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "registry/check/op_check.h"

namespace tarsia::registry {

namespace {

constexpr std::int64_t k_most_elements = 64;  // of each input

class Differences {
 public:
  Differences(const Ref<OpEntry>& op, const CheckCase& c, const std::vector<CheckValue>& inputs)
      : m_op(op), m_case(c), m_inputs(inputs) {
    CheckSession session(m_op, m_case);
    std::mt19937_64 random(c.seed + 17);
    const BoundInfo& bound = session.bound().bound();
    for (const tarsia_meta& meta : bound.outputs()) {
      const bool hidden = bound.is_hidden(m_poison.size());
      m_poison.push_back(filled_value(meta, 0));
      m_gradients.push_back(is_real(meta.dtype) && !hidden ? random_value(meta, random)
                                                           : filled_value(meta, 0));
      if (hidden) m_gradients.back().meta.present = 0;  // nobody has it
    }
  }

  std::string name_of_gradient(size_t input) const {
    return tensor_name(CheckSession(m_op, m_case).bound().bound(), TARSIA_BACKWARD, true, input);
  }
  std::vector<CheckValue> outputs() {
    CheckSession session(m_op, m_case);
    const CheckOutcome outcome = session.forward({m_inputs, m_poison, {}, {}});
    if (outcome.code) throw Error(outcome.error);
    return outcome.outputs;
  }
  double loss() {
    double sum = 0;
    const std::vector<CheckValue> y = outputs();
    for (size_t o = 0; o < y.size(); ++o) {
      if (!is_real(y[o].meta.dtype) || !m_gradients[o].meta.present) continue;
      const CheckValue dense = dense_of(y[o]), weights = dense_of(m_gradients[o]);
      for (std::int64_t i = 0, n = count_numbers(dense); i < n; ++i)
        sum += get_number(dense, i) * get_number(weights, i);
    }
    return sum;
  }
  double derivative(size_t input, std::int64_t i, double step) {
    CheckValue& x = m_inputs[input];
    const double middle = get_number(x, i);
    set_number(x, i, middle + step);
    const double above = get_number(x, i), more = loss();
    set_number(x, i, middle - step);
    const double below = get_number(x, i), less = loss();
    set_number(x, i, middle);
    return (more - less) / (above - below);
  }
  std::vector<CheckValue> backward() {
    CheckSession session(m_op, m_case);
    const CheckOutcome forward = session.forward({m_inputs, m_poison, {}, {}});
    if (forward.code) throw Error(forward.error);
    CheckRun run;
    run.inputs = m_gradients;
    std::vector<CheckValue> inputs = m_inputs;  // as forward left them
    for (size_t k = 0; k < session.writes().size(); ++k) inputs[session.writes()[k]] = forward.written[k];
    run.inputs.insert(run.inputs.end(), inputs.begin(), inputs.end());
    run.inputs.insert(run.inputs.end(), forward.outputs.begin(), forward.outputs.end());
    for (size_t i = 0; i < m_inputs.size(); ++i) {
      run.outputs.push_back(filled_value(m_inputs[i].meta, 0));
      run.requests.push_back(session.wants_gradient(i) ? TARSIA_REQUEST_WRITE : TARSIA_REQUEST_NULL);
    }
    const CheckOutcome outcome = session.backward(run);
    if (outcome.code) throw Error(outcome.error);
    return outcome.outputs;
  }
  bool is_wanted(size_t input) {
    CheckSession session(m_op, m_case);
    return session.wants_gradient(input) && is_real(m_inputs[input].meta.dtype) &&
           m_inputs[input].meta.storage == TARSIA_DENSE;
  }

 private:
  const Ref<OpEntry>& m_op;
  const CheckCase& m_case;
  std::vector<CheckValue> m_inputs, m_poison, m_gradients;
};

std::string shown(double number) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.6g", number);
  return text;
}

}  // namespace

std::string check_gradient(const Ref<OpEntry>& op, const CheckCase& c, const std::vector<CheckValue>& inputs,
                           std::int64_t& n) {
  n = 0;
  Differences differences(op, c, inputs);
  const std::vector<CheckValue> gradients = differences.backward();
  for (size_t k = 0; k < inputs.size(); ++k) {
    if (!differences.is_wanted(k)) continue;
    const bool wide = inputs[k].meta.dtype.bits == 64;
    const double step = wide ? 1e-5 : 2e-2, tolerance = wide ? 1e-4 : 3e-2;
    const std::int64_t count = count_numbers(inputs[k]);
    for (std::int64_t i = 0; i < count; i += std::max<std::int64_t>(1, count / k_most_elements)) {
      const double numeric = differences.derivative(k, i, step), analytic = get_number(gradients[k], i);
      auto close = [&](double a, double b) { return std::fabs(a - b) <= tolerance * (1 + std::fabs(a)); };
      if (close(numeric, analytic)) {
        ++n;
        continue;
      }
      if (!close(numeric, differences.derivative(k, i, step / 4))) continue;  // not smooth here
      return differences.name_of_gradient(k) + ", element " + std::to_string(i) + ", is " + shown(analytic) +
             ", by finite differences " + shown(numeric);
    }
  }
  return "";
}

}  // namespace tarsia::registry
