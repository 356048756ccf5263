// The order of axes in memory: what an implementation takes, and what is copied for it.
#pragma once

#include <tarsia/op_abi.h>

#include <cstdint>
#include <string>
#include <vector>

#include "registry/op/infer.h"

namespace tarsia::registry {

/// The axes of a tensor from the outermost in memory to the innermost; empty: row-major.
using Layout = std::vector<std::uint8_t>;

/// The strides, in elements, of a tensor without gaps; empty if it is row-major.
std::vector<std::int64_t> strides_of(const tarsia_meta& meta, const Layout& layout);

/// "row-major", "axes (0, 2, 3, 1)".
std::string describe(const Layout& layout);

/// The layouts of the tensors of one pass. Immutable, so safe from any thread.
class PassLayouts {
 public:
  PassLayouts() = default;
  /// Takes what the implementation declares for tensors that are dense, present and of as many dimensions.
  /// `given`: the tensors before sparse ones were made dense. Throws OpError for an input that the op
  /// changes: a copy would not reach the caller.
  PassLayouts(const tarsia_op& op, const tarsia_implementation& implementation, const tarsia_bind_info& info,
              const tarsia_bind_info& given);

  /// Whether it takes each tensor row-major.
  bool are_row_major() const { return m_inputs.empty(); }
  const Layout& of_input(std::uint32_t i) const { return are_row_major() ? s_row_major : m_inputs[i].layout; }
  const Layout& of_output(std::uint32_t i) const {
    return are_row_major() ? s_row_major : m_outputs[i].layout;
  }
  /// Whether input and output lie alike, so that an element of one may take the place of the same of the
  /// other.
  bool lie_alike(std::uint32_t input, std::uint32_t output) const {
    return are_row_major() || (m_inputs[input].layout == m_outputs[output].layout &&
                               m_inputs[input].strides == m_outputs[output].strides);
  }
  /// The strides that tensors have in these layouts; null: row-major.
  const std::int64_t* strides_of_input(std::uint32_t i) const { return strides_in(m_inputs, i); }
  const std::int64_t* strides_of_output(std::uint32_t i) const { return strides_in(m_outputs, i); }
  /// Whether it takes its tensors, which have one shape or are single elements, in any layout that they have
  /// in common, as if they were row-major. Not if it changes an input or gets a sparse one.
  bool is_any() const { return m_is_any; }

 private:
  struct One {
    Layout layout;
    std::vector<std::int64_t> strides;
  };
  static const std::int64_t* strides_in(const std::vector<One>& all, std::uint32_t i) {
    return all.empty() || all[i].strides.empty() ? nullptr : all[i].strides.data();
  }
  static const Layout s_row_major;

  std::vector<One> m_inputs, m_outputs;  ///< empty: each is row-major
  bool m_is_any = false;
};

/// Whether the elements of a tensor lie as these strides say; null: row-major.
bool lies(const tarsia_tensor& tensor, const std::int64_t* strides) noexcept;

/// The context of one run in which each tensor lies as the implementation takes it. Lives in the call's frame
/// and uses its scratch.
class LayoutRun {
 public:
  /// Copies the inputs that lie otherwise; on a GPU ordered on the stream. Throws.
  LayoutRun(const tarsia_op_context& asked, const PassLayouts& layouts);
  LayoutRun(const LayoutRun&) = delete;
  LayoutRun& operator=(const LayoutRun&) = delete;

  tarsia_op_context& context() { return m_context; }

  /// After the run, brings the outputs to where they belong. Throws.
  void finish();

 private:
  const tarsia_tensor* memory_like(const tarsia_tensor& tensor, const std::int64_t* strides);

  tarsia_op_context m_context;
  const tarsia_op_context& m_asked;
  std::vector<tarsia_tensor> m_made;  ///< as many as there are tensors, so it stays in place
  std::vector<const tarsia_tensor*> m_inputs, m_outputs;
  std::vector<std::uint8_t> m_requests;
};

/// What a pass takes otherwise than row-major, as in "input 'x': axes (0, 2, 3, 1)".
std::vector<std::string> describe_layouts(const BoundInfo& bound, tarsia_pass pass,
                                          const PassLayouts& layouts);

/// What is wrong with a layout that an implementation declares, "has …"; empty: nothing.
std::string fault_of_layout(const tarsia_op& op, const tarsia_implementation& implementation,
                            const tarsia_layout& layout);

}  // namespace tarsia::registry
