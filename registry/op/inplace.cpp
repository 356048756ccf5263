// Collects in-place pairs.
#include "registry/op/inplace.h"

#include <algorithm>

#include "registry/resources/memory.h"

namespace tarsia::registry {

namespace {

bool is_plain(const tarsia_meta& meta) {
  return meta.present && meta.storage == TARSIA_DENSE;
}

std::uint64_t plain_bytes(const tarsia_meta& meta) {
  return is_plain(meta) ? bytes_of(meta.shape, meta.ndim, meta.dtype) : 0;
}

}  // namespace

const tarsia_meta& meta_of_input(const tarsia_bind_info& info, tarsia_pass pass, std::uint32_t i) {
  if (pass == TARSIA_FORWARD) return info.inputs[i];
  const std::uint32_t n_out = info.n_outputs, n_in = info.n_inputs;
  return i < n_out          ? info.outputs[i]
         : i < n_out + n_in ? info.inputs[i - n_out]
                            : info.outputs[i - n_out - n_in];
}

const tarsia_meta& meta_of_output(const tarsia_bind_info& info, tarsia_pass pass, std::uint32_t i) {
  return pass == TARSIA_FORWARD ? info.outputs[i] : info.inputs[i];
}

InplacePairs::InplacePairs(const tarsia_op& op, const tarsia_implementation& implementation,
                           const tarsia_bind_info& info) {
  const auto pass = static_cast<tarsia_pass>(implementation.pass);
  const std::uint32_t n_in = count_inputs(info, pass), n_out = count_outputs(info, pass);
  for (std::uint32_t i = 0; i < n_in; ++i) m_input_bytes.push_back(plain_bytes(meta_of_input(info, pass, i)));
  for (std::uint32_t o = 0; o < n_out; ++o)
    m_output_bytes.push_back(plain_bytes(meta_of_output(info, pass, o)));
  const auto take = [&](const tarsia_inplace* pairs, std::uint32_t n) {
    for (const tarsia_inplace& pair : std::span(pairs, n))
      if (pair.input < n_in && pair.output < n_out && is_plain(meta_of_input(info, pass, pair.input)) &&
          is_plain(meta_of_output(info, pass, pair.output)) && !has(pair.input, pair.output))
        m_pairs.push_back(pair);
  };
  if (pass == TARSIA_FORWARD) take(op.inplace, op.n_inplace);
  take(implementation.inplace, implementation.n_inplace);
}

bool InplacePairs::reaches(const tarsia_tensor& tensor, std::uint64_t begin, std::uint64_t end) noexcept {
  std::int64_t first = 0, last = 0;  // elements from the one at the address
  for (int i = 0; i < tensor.ndim; ++i) {
    if (!tensor.shape[i]) return false;
    const std::int64_t reach = (tensor.shape[i] - 1) * tensor.strides[i];
    (reach < 0 ? first : last) += reach;
  }
  const auto bytes = [&](std::int64_t elements) {
    return static_cast<std::uint64_t>(elements * bytes_of_element(tensor.dtype));
  };
  const std::uint64_t at = address_of(tensor);
  return at + bytes(first) < end && begin < at + bytes(last + 1);
}

bool InplacePairs::has(std::uint32_t input, std::uint32_t output) const noexcept {
  return std::ranges::any_of(
      m_pairs, [&](const tarsia_inplace& pair) { return pair.input == input && pair.output == output; });
}

}  // namespace tarsia::registry
