// Write requests for implementations that only overwrite, and outputs in memory that they may not share. They
// get separate outputs, which are then copied or added to the caller's.
#pragma once

#include <tarsia/op_abi.h>

#include <cstdint>
#include <vector>

#include "registry/op/inplace.h"
#include "registry/op/layouts.h"

namespace tarsia::registry {

/// The context of one run, with only requests that the implementation honours, and without memory shared
/// otherwise than by its pairs. Lives in the call's frame and uses its scratch.
class RequestCopies {
 public:
  /// Throws.
  RequestCopies(const tarsia_implementation& implementation, const InplacePairs& pairs,
                const PassLayouts& layouts, const tarsia_op_context& context);
  ~RequestCopies();
  RequestCopies(const RequestCopies&) = delete;
  RequestCopies& operator=(const RequestCopies&) = delete;

  const tarsia_op_context& context() const { return m_context; }

  /// After the run, brings the outputs to where they belong. Throws.
  void finish();

 private:
  /// New memory for output i, to be overwritten.
  const tarsia_tensor* separate(std::uint32_t i, const tarsia_meta& meta, tarsia_device device);

  tarsia_op_context m_context;
  const tarsia_op_context& m_asked;
  const PassLayouts& m_layouts;
  std::vector<tarsia_tensor> m_temporaries;  ///< one an output; null data where there is none
  std::vector<tarsia_sparse> m_sparse;       ///< in place of sparse outputs that nobody asked for
  std::vector<const tarsia_tensor*> m_outputs;
  std::vector<std::uint8_t> m_requests;
};

}  // namespace tarsia::registry
