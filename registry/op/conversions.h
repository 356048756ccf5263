// Sparse tensors for implementations that take dense ones alone: inputs are made dense before the run, and
// outputs sparse after it.
#pragma once

#include <tarsia/op_abi.h>

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "registry/op/infer.h"

namespace tarsia::registry {

/// Whether a tensor of an op is sparse.
bool has_sparse(const BoundInfo& bound);

/// What an op's functions see in place of a BoundInfo when every tensor is dense.
class DenseInfo {
 public:
  /// Refers to the attributes and params of `bound`, which lives longer.
  explicit DenseInfo(const BoundInfo& bound);
  DenseInfo(const DenseInfo&) = delete;
  DenseInfo& operator=(const DenseInfo&) = delete;
  const tarsia_bind_info& info() const { return m_info; }

 private:
  std::vector<tarsia_meta> m_inputs, m_outputs;
  tarsia_bind_info m_info;
};

/// What is converted in a pass, as in "input 'x': csr -> dense". `needs` says which tensors it takes, and is
/// empty if it takes all.
std::vector<std::string> describe_conversions(const BoundInfo& bound, tarsia_pass pass,
                                              std::span<const std::uint8_t> needs);

/// The bytes of scratch that a DenseRun of the pass takes.
std::uint64_t converted_bytes(const tarsia_bind_info& info, tarsia_pass pass,
                              const std::vector<std::uint8_t>& needs);

/// Tells the log what a binding converts, once in a process for each op and list.
void tell_conversions(const tarsia_op& op, tarsia_pass pass, const std::vector<std::string>& conversions);

/// The context of one run with dense tensors alone. Lives in the call's frame and uses its scratch.
class DenseRun {
 public:
  /// Makes the inputs dense; on a GPU ordered on the stream. `dense` is what the implementation sees. Throws.
  DenseRun(const tarsia_op_context& asked, const tarsia_bind_info& dense);
  DenseRun(const DenseRun&) = delete;
  DenseRun& operator=(const DenseRun&) = delete;

  tarsia_op_context& context() { return m_context; }

  /// After the run, makes the outputs sparse, in memory of the caller's. How many elements that takes depends
  /// on the data, so it waits for a GPU. Throws.
  void finish();

 private:
  const tarsia_tensor* dense_memory(const tarsia_meta& meta);

  tarsia_op_context m_context;
  const tarsia_op_context& m_asked;
  std::vector<tarsia_tensor> m_made;  ///< as many as there are tensors, so it stays in place
  std::vector<const tarsia_tensor*> m_inputs, m_outputs;
  std::vector<std::uint8_t> m_requests;
};

/// Counters of this process.
struct ConversionCounters {
  std::atomic<std::uint64_t> bindings{0};  ///< passes of bound ops that convert
  std::atomic<std::uint64_t> tensors{0};   ///< that were converted in runs
};
ConversionCounters& conversion_counters();

}  // namespace tarsia::registry
