// The checks of an op, one after the other.
#include "registry/check/op_check.h"

#include <tarsia/detail/names.h>

#include <algorithm>

#include "base/cuda/cuda_driver.h"
#include "base/error.h"
#include "registry/op/infer.h"
#include "registry/resources/memory.h"

namespace tarsia::registry {

namespace {

constexpr unsigned char k_poison = 0xFF, k_other_poison = 0x7B;

std::string device_name(tarsia_device device) {
  return is_gpu(device) ? "gpu" : "cpu";
}

std::string inputs_text(const CheckCase& c) {
  std::string text;
  for (const tarsia_meta& meta : c.inputs) text += (text.empty() ? "" : ", ") + describe(meta);
  for (const auto& [name, value] : c.attributes) text += (text.empty() ? "" : ", ") + name + "=" + value;
  return text.empty() ? "no inputs" : text;
}

enum class PassOutcome { ran, refused, failed };

/// One pass of one case. Each run makes a new session, so states and random numbers are the same.
class PassCheck {
 public:
  PassCheck(const Ref<OpEntry>& op, const CheckCase& c, tarsia_pass pass, std::vector<CheckResult>& results)
      : m_op(op), m_case(c), m_backward(pass == TARSIA_BACKWARD), m_results(results) {
    std::mt19937_64 random(c.seed + 1);
    for (const tarsia_meta& meta : c.inputs) m_inputs.push_back(random_value(meta, random));
    CheckSession session(op, c);
    const BoundInfo& bound = session.bound().bound();
    m_forward_outputs.assign(bound.outputs().begin(), bound.outputs().end());
    for (size_t i = 0; i < (m_backward ? c.inputs.size() : m_forward_outputs.size()); ++i)
      m_names.push_back(tensor_name(bound, pass, true, i));
    for (size_t i = 0; i < c.inputs.size() + (m_backward ? 2 * m_forward_outputs.size() : 0); ++i)
      m_input_names.push_back(tensor_name(bound, pass, false, i));
    for (size_t i : session.writes()) m_written_names.push_back(tensor_name(bound, TARSIA_FORWARD, false, i));
    const auto pairs = session.bound().inplace(pass);
    m_pairs.assign(pairs.begin(), pairs.end());
    m_is_any = session.bound().layouts(pass).is_any();
    if (!m_backward) {
      m_metas = m_forward_outputs;
      m_wanted.assign(m_metas.size(), true);
      m_compared = m_wanted;
      for (size_t i = 0; i < m_metas.size(); ++i) m_hidden.push_back(bound.is_hidden(i));
      return;
    }
    m_metas = c.inputs;
    for (size_t i = 0; i < m_metas.size(); ++i) m_wanted.push_back(session.wants_gradient(i));
    m_compared = m_wanted;
    m_hidden.assign(m_metas.size(), false);
    for (const tarsia_meta& meta : m_forward_outputs) {
      m_gradients.push_back(random_value(meta, random));
      if (bound.is_hidden(m_gradients.size() - 1)) m_gradients.back().meta.present = 0;  // nobody has it
    }
  }

  const std::vector<CheckValue>& inputs() const { return m_inputs; }
  const std::vector<CheckValue>& result() const { return m_result; }
  /// Whether a result is one that somebody may see.
  bool is_compared(size_t i) const { return m_compared[i]; }
  /// What it left in inputs that it writes to without declaring it.
  const std::vector<CheckValue>& left() const { return m_left; }
  /// The largest number that goes in.
  double magnitude() const {
    double largest = 0;
    for (const auto* values : {&m_inputs, &m_gradients})
      for (const CheckValue& value : *values) largest = std::max(largest, magnitude_of(value));
    return largest;
  }

  /// An error of the first run is reported in `error`, and does not count as a result yet.
  PassOutcome run_all(std::string& error) {
    const CheckOutcome first = run(k_poison, {});
    if (first.code) {
      error = first.error;
      if (reads_hidden_gradient()) {
        error +=
            "; it takes the gradient of a hidden output, which nobody passes: ask first whether it is there";
        return PassOutcome::failed;
      }
      const bool refuses = first.code == TARSIA_OP_TYPE_ERROR || first.code == TARSIA_OP_VALUE_ERROR ||
                           first.code == TARSIA_OP_ERROR || first.code == TARSIA_UNSUPPORTED;
      return refuses ? PassOutcome::refused : PassOutcome::failed;
    }
    m_result = first.outputs;
    m_left = first.written;
    add("runs", CheckStatus::passed, inputs_text(m_case));
    add("stays within its memory", first.trouble);
    if (!first.trouble.empty()) return PassOutcome::ran;  // other runs have memory around them that is in use
    const CheckOutcome again = run(k_poison, {}), other = run(k_other_poison, {});
    check_writes(first, other);
    const std::string unlike = differences(first, again);
    add("gives the same again", unlike);
    if (unlike.empty() && m_written)
      add("does not depend on what the output held", differences(first, other));
    check_null();
    if (!m_written) return PassOutcome::ran;  // the rest would say it again
    check_add();
    if (!m_backward || !m_pairs.empty()) check_inplace();
    if (m_is_any && !is_random()) check_any_layout();
    return PassOutcome::ran;
  }
  /// Reports a first run that did not succeed.
  void add_error(CheckStatus status, const std::string& error) { add("runs", status, error); }

 private:
  std::string name(const std::string& check) const {
    std::string dtype = m_case.inputs.empty() ? "" : " " + describe(m_case.inputs[0]);
    dtype = dtype.substr(0, dtype.find(" ("));
    const std::string storage = !m_case.inputs.empty() && m_case.inputs[0].storage != TARSIA_DENSE
                                    ? (m_case.inputs[0].storage == TARSIA_CSR ? " csr" : " row-sparse")
                                    : "";
    return device_name(m_case.device) + dtype + storage + ": " + (m_backward ? "backward " : "forward ") +
           check;
  }
  void add(const std::string& check, CheckStatus status, const std::string& message) {
    m_results.push_back({name(check), status, message});
  }
  void add(const std::string& check, const std::string& fault) {
    add(check, fault.empty() ? CheckStatus::passed : CheckStatus::failed, fault);
  }
  std::string output_name(size_t i) const { return m_names.at(i); }

  /// Whether a backward that failed runs if it gets gradients of the hidden outputs.
  bool reads_hidden_gradient() {
    bool any = false;
    std::vector<CheckValue> gradients = m_gradients;
    for (CheckValue& gradient : gradients)
      if (!gradient.meta.present) gradient.meta.present = any = true;
    if (!any) return false;
    std::swap(m_gradients, gradients);
    const CheckOutcome outcome = run(k_poison, {});
    std::swap(m_gradients, gradients);
    return !outcome.code;
  }

  /// Runs with outputs that hold `before`, or `poison` if there is no `before`.
  CheckOutcome run(unsigned char poison, std::vector<std::uint8_t> requests,
                   const std::vector<CheckValue>* before = nullptr, std::vector<int> shared = {},
                   bool without_null_outputs = false, bool reversed = false) {
    CheckSession session(m_op, m_case);
    CheckRun pass;
    pass.inputs = m_inputs;
    if (m_backward) {
      CheckRun forward{m_inputs, {}, {}, {}};
      // Another poison each time: a backward that reads a hidden output that forward leaves as it is shows
      // it.
      for (const tarsia_meta& meta : m_forward_outputs) forward.outputs.push_back(filled_value(meta, poison));
      CheckOutcome outcome = session.forward(forward);
      if (outcome.code) return outcome;
      pass.inputs = m_gradients;
      std::vector<CheckValue> inputs = m_inputs;  // as forward left them
      for (size_t k = 0; k < session.writes().size(); ++k) inputs[session.writes()[k]] = outcome.written[k];
      pass.inputs.insert(pass.inputs.end(), inputs.begin(), inputs.end());
      pass.inputs.insert(pass.inputs.end(), outcome.outputs.begin(), outcome.outputs.end());
    }
    for (CheckValue& value : pass.inputs) {
      const std::vector<std::int64_t> strides = reversed_strides(value.meta);
      if (reversed) value = laid_out(std::move(value), strides.data());
    }
    for (size_t i = 0; i < m_metas.size(); ++i)
      pass.outputs.push_back(before ? (*before)[i] : filled_value(m_metas[i], poison));
    if (requests.empty()) requests.assign(m_metas.size(), TARSIA_REQUEST_WRITE);
    for (size_t i = 0; i < m_metas.size(); ++i)
      if (!m_wanted[i]) requests[i] = TARSIA_REQUEST_NULL;
    pass.requests = std::move(requests);
    pass.shared = std::move(shared);
    pass.without_null_outputs = without_null_outputs;
    return m_backward ? session.backward(pass) : session.forward(pass);
  }

  /// Between two runs of the same. Threads that add to one place do so in any order, so that reals may
  /// differ by rounding.
  std::string differences(const CheckOutcome& a, const CheckOutcome& b) const {
    if (a.code || b.code) return a.code ? a.error : b.error;
    for (size_t i = 0; i < m_metas.size(); ++i)
      if (m_compared[i])
        if (std::string text = difference_beyond_rounding(a.outputs[i], b.outputs[i], magnitude());
            !text.empty())
          return output_name(i) + ": " + text;
    for (size_t k = 0; k < a.written.size(); ++k)
      if (std::string text = difference_beyond_rounding(a.written[k], b.written[k], magnitude());
          !text.empty())
        return m_written_names[k] + " after the run: " + text;
    return "";
  }

  /// Memory that held both poisons after the run was not written to.
  void check_writes(const CheckOutcome& first, const CheckOutcome& other) {
    std::string fault = other.error;
    for (size_t i = 0; i < m_metas.size() && fault.empty(); ++i) {
      if (!m_wanted[i] || m_metas[i].storage != TARSIA_DENSE) continue;
      const std::vector<unsigned char>&a = first.outputs[i].data, &b = other.outputs[i].data;
      const size_t n = static_cast<size_t>(count_numbers(first.outputs[i])), bytes = n ? a.size() / n : 1;
      size_t unwritten = 0, where = 0;
      for (size_t k = 0; k < n; ++k) {
        auto holds = [&](const std::vector<unsigned char>& data, unsigned char poison) {
          return std::all_of(data.begin() + static_cast<long>(k * bytes),
                             data.begin() + static_cast<long>((k + 1) * bytes),
                             [&](unsigned char byte) { return byte == poison; });
        };
        if (holds(a, k_poison) && holds(b, k_other_poison) && !unwritten++) where = k;
      }
      if (unwritten && m_hidden[i])
        m_compared[i] = false;  // callers do not get it, and some devices need no such memory
      else if (unwritten)
        fault = output_name(i) + ": element " + std::to_string(where) +
                (unwritten > 1 ? " and " + std::to_string(unwritten - 1) + " more are" : " is") +
                " not written";
    }
    m_written = fault.empty();
    add("writes every element", fault);
  }

  std::vector<CheckValue> something() const {
    std::mt19937_64 random(m_case.seed + 2);
    std::vector<CheckValue> values;
    for (const tarsia_meta& meta : m_metas) values.push_back(random_value(meta, random));
    return values;
  }

  void check_null() {
    const std::vector<CheckValue> before = something();
    std::string fault;
    // All, then each alone, with a tensor and without one.
    for (int alone = -1; alone < (m_metas.size() > 1 ? static_cast<int>(m_metas.size()) : 0); ++alone)
      for (bool without : {false, true}) {
        std::vector<std::uint8_t> requests(m_metas.size(), TARSIA_REQUEST_WRITE);
        for (size_t i = 0; i < m_metas.size(); ++i)
          if (alone < 0 || alone == static_cast<int>(i)) requests[i] = TARSIA_REQUEST_NULL;
        const CheckOutcome outcome = run(0, requests, &before, {}, without);
        for (size_t i = 0; i < m_metas.size() && fault.empty(); ++i) {
          if (outcome.code) {
            fault = outcome.error;
          } else if (m_wanted[i] && requests[i] == TARSIA_REQUEST_NULL) {
            if (!difference(outcome.outputs[i], before[i], 0).empty())
              fault = output_name(i) + " is written to";
          } else if (m_compared[i]) {
            const std::string text = difference_beyond_rounding(outcome.outputs[i], m_result[i], magnitude());
            if (!text.empty()) fault = output_name(i) + " is another if one is not asked for: " + text;
          }
        }
      }
    add(std::string("honours the request ") + detail::k_request_names[TARSIA_REQUEST_NULL], fault);
  }

  void check_add() {
    const std::vector<CheckValue> before = something();
    const CheckOutcome outcome =
        run(0, std::vector<std::uint8_t>(m_metas.size(), TARSIA_REQUEST_ADD), &before);
    const std::string check =
        std::string("honours the request ") + detail::k_request_names[TARSIA_REQUEST_ADD];
    if (outcome.code == TARSIA_UNSUPPORTED) return add(check, CheckStatus::skipped, outcome.error);
    std::string fault = outcome.error;
    for (size_t i = 0; i < m_metas.size() && fault.empty(); ++i) {
      if (!m_compared[i]) continue;
      const CheckValue expected = sum_of(dense_of(before[i]), dense_of(m_result[i]));
      if (std::string text =
              difference(dense_of(outcome.outputs[i]), expected, tolerance_of(m_metas[i].dtype));
          !text.empty())
        fault = output_name(i) + ", which is and should be: " + text;
    }
    add(check, fault);
  }

  /// The meta of input i of the pass.
  const tarsia_meta& meta_of_input(size_t i) const {
    if (!m_backward) return m_inputs[i].meta;
    const size_t n_out = m_gradients.size(), n_in = m_inputs.size();
    return i < n_out          ? m_gradients[i].meta
           : i < n_out + n_in ? m_inputs[i - n_out].meta
                              : m_forward_outputs[i - n_out - n_in];
  }
  /// In backward, what shares no memory by a pair is not worth the time.
  bool may_share(size_t i, size_t o) const {
    return !m_backward || std::ranges::any_of(m_pairs, [&](const tarsia_inplace& pair) {
      return pair.input == i && pair.output == o;
    });
  }

  /// Puts each output into the memory of each input that is like it.
  void check_inplace() {
    std::string fault;
    bool any = false;
    for (size_t o = 0; o < m_metas.size(); ++o)
      for (size_t i = 0; i < m_input_names.size() && fault.empty(); ++i) {
        const tarsia_meta &a = m_metas[o], &b = meta_of_input(i);
        if (!m_wanted[o] || !may_share(i, o) || !b.present || a.storage != TARSIA_DENSE ||
            describe(a) != describe(b))
          continue;
        any = true;
        std::vector<std::uint8_t> requests(m_metas.size(), TARSIA_REQUEST_WRITE);
        requests[o] = TARSIA_REQUEST_INPLACE;
        std::vector<int> shared(m_metas.size(), -1);
        shared[o] = static_cast<int>(i);
        const CheckOutcome outcome = run(k_poison, requests, nullptr, shared);
        fault = outcome.error;
        for (size_t k = 0; k < m_metas.size() && fault.empty(); ++k)
          if (std::string text =
                  m_compared[k] ? difference(outcome.outputs[k], m_result[k], tolerance_of(m_metas[k].dtype))
                                : "";
              !text.empty())
            fault = output_name(k) + ", with " + output_name(o) + " in place of " + m_input_names[i] + ": " +
                    text;
      }
    const std::string check =
        std::string("honours the request ") + detail::k_request_names[TARSIA_REQUEST_INPLACE];
    if (any)
      add(check, fault);
    else
      add(check, CheckStatus::skipped, "no output is like an input");
  }

  bool is_random() const { return m_op->op().flags & TARSIA_OP_RANDOM; }

  /// The strides of a tensor whose first axis is the innermost in memory.
  static std::vector<std::int64_t> reversed_strides(const tarsia_meta& meta) {
    std::vector<std::int64_t> strides(static_cast<size_t>(meta.ndim) + 1);
    std::int64_t next = 1;
    for (int axis = 0; axis < meta.ndim; ++axis) {
      strides[static_cast<size_t>(axis)] = next;
      next *= meta.shape[axis];
    }
    return strides;
  }

  /// Runs on tensors whose elements lie in another order, of which the op is not told, as in a graph.
  void check_any_layout() {
    if (std::ranges::none_of(m_metas, [](const tarsia_meta& meta) { return meta.ndim > 1; })) return;
    CheckOutcome outcome = run(k_poison, {}, nullptr, {}, false, /*reversed=*/true);
    std::string fault = outcome.error;
    for (size_t i = 0; i < m_metas.size() && fault.empty(); ++i) {
      if (!m_compared[i]) continue;
      const CheckValue now = row_major(std::move(outcome.outputs[i]), reversed_strides(m_metas[i]).data());
      if (std::string text = difference(now, m_result[i], tolerance_of(m_metas[i].dtype)); !text.empty())
        fault = output_name(i) + ", of tensors whose axes lie the other way round: " + text;
    }
    add("does the same in any layout", fault);
  }

  const Ref<OpEntry>& m_op;
  const CheckCase& m_case;
  bool m_backward, m_written = false, m_is_any = false;
  std::vector<CheckResult>& m_results;
  std::vector<CheckValue> m_inputs, m_gradients, m_result, m_left;
  std::vector<std::string> m_written_names;  ///< of m_left
  std::vector<tarsia_meta> m_forward_outputs, m_metas;
  std::vector<bool> m_wanted;
  std::vector<bool> m_hidden;              ///< of what this pass gives
  std::vector<bool> m_compared;            ///< the wanted ones, without hidden outputs that it does not write
  std::vector<std::string> m_names;        ///< of what this pass gives
  std::vector<std::string> m_input_names;  ///< of what this pass takes
  std::vector<tarsia_inplace> m_pairs;
};

class OpCheck {
 public:
  OpCheck(const Ref<OpEntry>& op, const CheckOptions& options) : m_op(op), m_options(options) {}

  std::vector<CheckResult> run() {
    const bool cpu = has(TARSIA_CPU), gpu = has(TARSIA_GPU);
    const bool can_gpu = gpu && cuda_device_count() > 0;
    std::vector<CheckCase> cases;
    if (cpu) cases = check_device({TARSIA_CPU, 0});
    if (can_gpu) {
      const std::vector<CheckCase> on_gpu = check_device({TARSIA_GPU, 0});
      if (cpu) compare_devices(cases, on_gpu);
    } else if (gpu) {
      m_results.push_back({"gpu", CheckStatus::skipped, "there is no GPU here"});
    }
    return std::move(m_results);
  }

 private:
  bool has(int device_type) const {
    const tarsia_op& op = m_op->op();
    for (unsigned i = 0; i < op.n_implementations; ++i)
      if (op.implementations[i].device_type == device_type && op.implementations[i].pass == TARSIA_FORWARD)
        return true;
    return false;
  }
  void add(const std::string& check, const std::string& fault) {
    m_results.push_back({check, fault.empty() ? CheckStatus::passed : CheckStatus::failed, fault});
  }

  /// The cases that have run.
  std::vector<CheckCase> check_device(tarsia_device device) {
    std::vector<CheckCase> run;
    m_differentiable.clear();
    CheckCase found;
    try {
      found = find_case(m_op, m_options, device);
    } catch (const Error& error) {
      add(device_name(device) + ": binds", error.what());
      return run;
    }
    check_inference(found);
    std::vector<CheckCase> cases{found};
    for (CheckCase& other : other_cases(m_op, m_options, found)) cases.push_back(std::move(other));
    // A refused dtype does not count as one of the op's, unless all are refused.
    struct Failure {
      const CheckCase* check_case;
      PassOutcome outcome;
      std::string error;
    };
    std::vector<Failure> failures;
    for (const CheckCase& c : cases) {
      std::string error;
      PassCheck forward(m_op, c, TARSIA_FORWARD, m_results);
      const PassOutcome outcome = forward.run_all(error);
      if (outcome != PassOutcome::ran) {
        failures.push_back({&c, outcome, error});
        continue;
      }
      run.push_back(c);
      check_backward(c);
    }
    if (run.empty()) failures.resize(1);
    for (const Failure& f : failures)
      PassCheck(m_op, *f.check_case, TARSIA_FORWARD, m_results)
          .add_error(
              f.outcome == PassOutcome::refused && !run.empty() ? CheckStatus::skipped : CheckStatus::failed,
              f.error);
    if (m_options.gradient) check_gradients();
    return run;
  }

  void check_backward(const CheckCase& c) {
    if (!CheckSession(m_op, c).bound().has_backward()) return;
    PassCheck backward(m_op, c, TARSIA_BACKWARD, m_results);
    std::string error;
    const PassOutcome outcome = backward.run_all(error);
    if (outcome == PassOutcome::ran) return m_differentiable.push_back(c);
    // This is the message of the default Backward of MXNet's stateful ops.
    const bool has_none = error.find("does not support backward") != std::string::npos;
    backward.add_error(
        outcome == PassOutcome::refused || has_none ? CheckStatus::skipped : CheckStatus::failed, error);
  }

  void check_inference(const CheckCase& c) {
    const std::string where = device_name(c.device) + ": inference ";
    const CheckSession session(m_op, c);
    const BoundInfo& bound = session.bound().bound();
    const std::vector<tarsia_meta> outputs(bound.outputs().begin(), bound.outputs().end());
    auto infer = [&](const CheckCase& asked, const std::vector<tarsia_meta>& known) -> std::string {
      try {
        const CheckRequest request(asked, known);
        const BoundInfo info(m_op->op(), request.get());
        for (size_t i = 0; i < outputs.size(); ++i)
          if (describe(info.outputs()[i]) != describe(outputs[i]))
            return "it gives " + describe(info.outputs()[i]);
        return "";
      } catch (const Error& error) {
        return error.what();
      }
    };
    add(where + "agrees with what it inferred", infer(c, outputs));
    if (!outputs.empty() && outputs[0].ndim > 0) {
      std::vector<tarsia_meta> wrong = outputs;
      ++wrong[0].shape[0];
      add(where + "refuses another shape of the output",
          infer(c, wrong).empty() ? describe(wrong[0]) + " was taken for " + describe(outputs[0]) : "");
    }
    // With nothing known, inference may leave things open, or say so. Inference that was written for MXNet
    // (its ops declare no inputs) was never asked this way. It often reads extents that do not exist.
    if (!m_op->op().n_inputs) return;
    CheckCase nothing = c;
    for (tarsia_meta& meta : nothing.inputs) {
      const tarsia_meta known = meta;
      meta = unknown_meta();
      meta.present = known.present;
      meta.storage = known.storage;
    }
    infer(nothing, {});
    m_results.push_back({where + "takes unknown inputs", CheckStatus::passed, ""});
  }

  /// The widest of the float dtypes whose backward ran.
  void check_gradients() {
    const CheckCase* widest = nullptr;
    for (const CheckCase& c : m_differentiable) {
      if (c.inputs.empty()) continue;
      const tarsia_dtype dtype = c.inputs[0].dtype;
      if (!is_real(dtype) || dtype.bits < 32) continue;
      if (!widest || dtype.bits > widest->inputs[0].dtype.bits) widest = &c;
    }
    if (!widest) return;
    const std::string check = device_name(widest->device) + ": gradient is that of finite differences";
    try {
      std::mt19937_64 random(widest->seed + 1);
      std::vector<CheckValue> inputs;
      for (const tarsia_meta& meta : widest->inputs) inputs.push_back(random_value(meta, random));
      std::int64_t n = 0;
      const std::string fault = check_gradient(m_op, *widest, inputs, n);
      if (!fault.empty())
        add(check, fault);
      else if (n)
        m_results.push_back({check, CheckStatus::passed, std::to_string(n) + " derivatives"});
      else
        m_results.push_back({check, CheckStatus::skipped, "there is nothing to compare"});
    } catch (const Error& error) {
      add(check, error.what());
    }
  }

  /// Whether other random states give another result.
  bool draws_random_numbers(const PassCheck& with_own, const CheckCase& c, tarsia_pass pass) {
    CheckCase other = c;
    other.other_states = 1;
    std::vector<CheckResult> unread;
    std::string error;
    PassCheck check(m_op, other, pass, unread);
    if (check.run_all(error) != PassOutcome::ran) return false;
    for (size_t i = 0; i < check.result().size(); ++i)
      if (!difference_beyond_rounding(check.result()[i], with_own.result()[i], with_own.magnitude()).empty())
        return true;
    return false;
  }

  /// On the cases that have run on both.
  void compare_devices(const std::vector<CheckCase>& cases, const std::vector<CheckCase>& on_gpu) {
    for (const CheckCase& cpu : cases) {
      if (std::ranges::none_of(on_gpu,
                               [&](const CheckCase& c) { return inputs_text(c) == inputs_text(cpu); }))
        continue;
      CheckCase gpu = cpu;
      gpu.device = {TARSIA_GPU, 0};
      for (tarsia_pass pass : {TARSIA_FORWARD, TARSIA_BACKWARD}) {
        std::vector<CheckResult> unread;
        try {
          if (pass == TARSIA_BACKWARD && (!CheckSession(m_op, cpu).bound().has_backward() ||
                                          !CheckSession(m_op, gpu).bound().has_backward()))
            continue;
          PassCheck a(m_op, cpu, pass, unread), b(m_op, gpu, pass, unread);
          std::string error;
          if (a.run_all(error) != PassOutcome::ran || b.run_all(error) != PassOutcome::ran) continue;
          std::string fault;
          for (size_t i = 0; i < a.result().size() && fault.empty(); ++i)
            if (a.is_compared(i) && b.is_compared(i))
              fault = difference(b.result()[i], a.result()[i], 10 * tolerance_of(a.result()[i].meta.dtype));
          for (size_t i = 0; i < a.left().size() && fault.empty(); ++i)
            fault = difference(b.left()[i], a.left()[i], 10 * tolerance_of(a.left()[i].meta.dtype));
          if (!fault.empty() && draws_random_numbers(a, cpu, pass)) {
            m_results.push_back({"gpu: gives what the CPU gives", CheckStatus::skipped,
                                 "it draws random numbers, which are others on a GPU"});
            continue;
          }
          std::string dtype = describe(cpu.inputs.empty() ? unknown_meta() : cpu.inputs[0]);
          add("gpu " + dtype.substr(0, dtype.find(" (")) + ": " + detail::pass_name(pass) +
                  " gives what the CPU gives",
              fault);
        } catch (const Error& error) {
          add("gpu: gives what the CPU gives", error.what());
        }
      }
    }
  }

  const Ref<OpEntry>& m_op;
  const CheckOptions& m_options;
  std::vector<CheckResult> m_results;
  std::vector<CheckCase> m_differentiable;  ///< on the device under test
};

}  // namespace

std::vector<CheckResult> check_op(const Ref<OpEntry>& op, const CheckOptions& options) {
  return OpCheck(op, options).run();
}

}  // namespace tarsia::registry
