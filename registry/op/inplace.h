// Who may share memory with whom: the in-place pairs of one pass of a bound op, and whether a call keeps to
// them.
#pragma once

#include <tarsia/detail/dims.h>
#include <tarsia/op_abi.h>

#include <cstdint>
#include <span>
#include <vector>

namespace tarsia::registry {

/// How the memory of an output lies to that of the inputs.
enum class Sharing {
  none,     ///< it overlaps no input
  by_pair,  ///< it begins where an input does, and a pair allows that; it overlaps no other
  wrong     ///< it overlaps an input that the implementation may read after it has written there
};

/// The pairs of an implementation and the sizes of what it takes. Immutable, so safe from any thread.
class InplacePairs {
 public:
  InplacePairs() = default;
  /// Takes the pairs of the op, if the implementation is a forward, and those of the implementation, each
  /// once, and none of a tensor that is sparse, absent or beyond those that there are.
  InplacePairs(const tarsia_op& op, const tarsia_implementation& implementation,
               const tarsia_bind_info& info);

  std::span<const tarsia_inplace> pairs() const { return m_pairs; }
  /// Keeps those of which this holds.
  template <class Holds>
  void keep(const Holds& holds) {
    std::erase_if(m_pairs, [&](const tarsia_inplace& pair) { return !holds(pair); });
  }

  /// Whether the call may run as it is: every request is one of those honoured (bits 1 << tarsia_request), no
  /// output shares memory wrongly, and every request "in place" is by a pair. The numbers of tensors are
  /// right.
  bool allow(const tarsia_op_context& call, std::uint32_t honoured) const noexcept {
    for (std::uint32_t o = 0; o < call.n_outputs; ++o) {
      const std::uint32_t request = call.requests[o] & 3u;
      if (!(honoured >> request & 1u)) return false;
      if (request == TARSIA_REQUEST_NULL || !call.outputs[o]) continue;
      const Sharing sharing = sharing_of(call, o);
      if (sharing == Sharing::none ? request == TARSIA_REQUEST_INPLACE : sharing == Sharing::wrong)
        return false;
    }
    return true;
  }

  /// How output o of the call, which is there, lies to its inputs.
  Sharing sharing_of(const tarsia_op_context& call, std::uint32_t o) const noexcept {
    const std::uint64_t begin = address_of(*call.outputs[o]), bytes = m_output_bytes[o];
    Sharing sharing = Sharing::none;
    for (std::uint32_t i = 0; i < call.n_inputs; ++i) {
      if (!call.inputs[i]) continue;
      const tarsia_tensor& other = *call.inputs[i];
      const std::uint64_t input = address_of(other);
      if (other.strides) [[unlikely]] {
        if (!reaches(other, begin, begin + bytes)) continue;
        if (!detail::lie_alike(other, *call.outputs[o])) return Sharing::wrong;
      } else if (input >= begin + bytes || begin >= input + m_input_bytes[i]) {
        continue;
      }
      if (input != begin || !has(i, o)) return Sharing::wrong;
      sharing = Sharing::by_pair;
    }
    return sharing;
  }

 private:
  static std::uint64_t address_of(const tarsia_tensor& tensor) {
    return reinterpret_cast<std::uint64_t>(tensor.data) + tensor.byte_offset;
  }
  bool has(std::uint32_t input, std::uint32_t output) const noexcept;
  /// Whether an element of a tensor with strides may lie between these addresses.
  static bool reaches(const tarsia_tensor& tensor, std::uint64_t begin, std::uint64_t end) noexcept;

  std::vector<tarsia_inplace> m_pairs;
  std::vector<std::uint64_t> m_input_bytes, m_output_bytes;  ///< of the pass; 0 for sparse and absent ones
};

/// The meta of input or output i of a pass.
const tarsia_meta& meta_of_input(const tarsia_bind_info& info, tarsia_pass pass, std::uint32_t i);
const tarsia_meta& meta_of_output(const tarsia_bind_info& info, tarsia_pass pass, std::uint32_t i);

/// The numbers of inputs and outputs of a pass.
inline std::uint32_t count_inputs(const tarsia_bind_info& info, tarsia_pass pass) {
  return pass == TARSIA_BACKWARD ? 2 * info.n_outputs + info.n_inputs : info.n_inputs;
}
inline std::uint32_t count_outputs(const tarsia_bind_info& info, tarsia_pass pass) {
  return pass == TARSIA_BACKWARD ? info.n_inputs : info.n_outputs;
}

}  // namespace tarsia::registry
