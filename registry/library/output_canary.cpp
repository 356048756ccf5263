// The values, and the search for them.
#include "registry/library/output_canary.h"

#include <tarsia/detail/argument_rules.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "registry/resources/memory.h"

namespace tarsia::registry {
namespace {

// Bytes whose agreement with random ones is no accident.
constexpr std::int64_t k_sure_bytes = 8, k_fewest_bytes = 4;

using arguments::element_count;

std::int64_t item_of(const tarsia_tensor& tensor) {
  return bytes_of_element(tensor.dtype);
}

char* begin_of(const tarsia_tensor& tensor) {
  return static_cast<char*>(data_of(tensor));
}

/// The bits of the mantissa; 0: the dtype has no signalling NaN that is an element.
int mantissa_of(tarsia_dtype dtype) {
  if (dtype.lanes != 1) return 0;
  if (dtype.code == TARSIA_BFLOAT) return 7;
  if (dtype.code != TARSIA_FLOAT) return 0;
  return dtype.bits == 16 ? 10 : dtype.bits == 32 ? 23 : dtype.bits == 64 ? 52 : 0;
}

/// The elements that a seed gives, one after the other.
class Values {
 public:
  Values(tarsia_dtype dtype, std::uint64_t seed)
      : m_mantissa(mantissa_of(dtype)),
        m_bits(dtype.bits),
        m_is_bool(dtype.code == TARSIA_BOOL),
        m_state(seed) {}

  void next(char* element, std::int64_t bytes) {
    for (std::int64_t at = 0; at < bytes; at += 8) {
      const std::uint64_t value = m_mantissa  ? signalling_nan()
                                  : m_is_bool ? bits() | 0x0202020202020202
                                              : bits();
      std::memcpy(element + at, &value, std::size_t(std::min<std::int64_t>(8, bytes - at)));
    }
  }

 private:
  /// xorshift64: George Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8 (2003).
  std::uint64_t bits() {
    m_state ^= m_state << 13;
    m_state ^= m_state >> 7;
    m_state ^= m_state << 17;
    return m_state;
  }
  /// Arithmetic and conversions give quiet ones only.
  std::uint64_t signalling_nan() {
    const std::uint64_t payload = bits() % ((std::uint64_t{1} << (m_mantissa - 1)) - 1) + 1;
    return (((std::uint64_t{1} << (m_bits - 1 - m_mantissa)) - 1) << m_mantissa) | payload;
  }

  int m_mantissa, m_bits;
  bool m_is_bool;
  std::uint64_t m_state;
};

bool overlap(const tarsia_tensor& a, const tarsia_tensor& b) {
  const char *first = begin_of(a), *second = begin_of(b);
  return first < second + element_count(b) * item_of(b) && second < first + element_count(a) * item_of(a);
}

/// The metas of the context's outputs: in backward these are the gradients of the inputs.
const tarsia_meta* metas_of_outputs(const tarsia_op_context& context) {
  return context.pass == TARSIA_BACKWARD ? context.info->inputs : context.info->outputs;
}

/// That of input i: in backward, inputs are the gradients of the outputs, the inputs and the outputs.
const tarsia_meta& meta_of_input(const tarsia_op_context& context, std::uint32_t i) {
  const tarsia_bind_info& info = *context.info;
  if (context.pass == TARSIA_FORWARD) return info.inputs[i];
  if (i < info.n_outputs) return info.outputs[i];
  i -= info.n_outputs;
  return i < info.n_inputs ? info.inputs[i] : info.outputs[i - info.n_inputs];
}

bool shares_with_input(const tarsia_op_context& context, const tarsia_tensor& output) {
  for (std::uint32_t i = 0; i < context.n_inputs; ++i) {
    const tarsia_tensor* const input = context.inputs[i];
    if (!input || meta_of_input(context, i).storage != TARSIA_DENSE) continue;
    if (overlap(*input, output)) return true;
  }
  return false;
}

std::string output_name(const tarsia_op& op, const tarsia_op_context& context, std::uint32_t i) {
  const bool backward = context.pass == TARSIA_BACKWARD;
  const tarsia_port* const ports = backward ? op.inputs : op.outputs;
  const std::uint32_t n = backward ? op.n_inputs : op.n_outputs;
  std::string name = i < n && ports[i].name ? "'" + std::string(ports[i].name) + "'" : std::to_string(i);
  return (backward ? "the gradient of input " : "output ") + name;
}

}  // namespace

OutputCanary::OutputCanary(const tarsia_op_context& context) : m_context(context) {
  static std::atomic<std::uint64_t> s_seed{0};
  if (is_gpu(context.device)) return;
  const tarsia_meta* const metas = metas_of_outputs(context);
  for (std::uint32_t i = 0; i < context.n_outputs; ++i) {
    const tarsia_tensor* const output = context.outputs[i];
    if (!output || context.requests[i] != TARSIA_REQUEST_WRITE || metas[i].storage != TARSIA_DENSE) continue;
    const std::int64_t item = item_of(*output), n = element_count(*output);
    if (output->dtype.bits < 8 || n * item < k_fewest_bytes || !is_contiguous(*output)) continue;
    if (shares_with_input(context, *output)) continue;
    const std::uint64_t seed = (s_seed.fetch_add(1) + 1) * 0x9E3779B97F4A7C15;
    Values values(output->dtype, seed);
    for (std::int64_t k = 0; k < n; ++k) values.next(begin_of(*output) + k * item, item);
    m_filled.push_back({i, seed});
  }
}

std::string OutputCanary::unwritten(const tarsia_op& op) const {
  std::vector<char> expected;
  for (const Filled& one : m_filled) {
    const tarsia_tensor& output = *m_context.outputs[one.output];
    const std::int64_t item = item_of(output), n = element_count(output);
    // One element alone may hold random bytes by accident, where it has few.
    const std::int64_t sure = mantissa_of(output.dtype) ? 1 : std::min(n, (k_sure_bytes + item - 1) / item);
    Values values(output.dtype, one.seed);
    expected.resize(std::size_t(item));
    std::int64_t first = -1, count = 0, row = 0;
    for (std::int64_t k = 0; k < n; ++k) {
      values.next(expected.data(), item);
      const bool is_left = std::memcmp(begin_of(output) + k * item, expected.data(), std::size_t(item)) == 0;
      row = is_left ? row + 1 : 0;
      if (row < sure) continue;
      count += row == sure ? sure : 1;
      if (first < 0) first = k - sure + 1;
    }
    if (count == n) return output_name(op, m_context, one.output) + " is not written";
    if (count > 0)
      return output_name(op, m_context, one.output) + " is not written at " + std::to_string(count) +
             " of its " + std::to_string(n) + " elements, first at number " + std::to_string(first) +
             ", counted from 0";
  }
  return {};
}

}  // namespace tarsia::registry
