// Write requests for implementations that only overwrite. They get separate outputs, which are then copied
// or added to the caller's.
#pragma once

#include <tarsia/op_abi.h>

#include <cstdint>
#include <vector>

namespace tarsia::registry {

/// The context of one run, with only requests that the implementation honours. Lives in the call's frame
/// and uses its scratch.
class RequestCopies {
 public:
  /// Throws.
  RequestCopies(const tarsia_op& op, const tarsia_implementation& implementation,
                const tarsia_op_context& context);
  ~RequestCopies();
  RequestCopies(const RequestCopies&) = delete;
  RequestCopies& operator=(const RequestCopies&) = delete;

  const tarsia_op_context& context() const { return m_context; }

  /// After the run, brings the outputs to where they belong. Throws.
  void finish();

 private:
  tarsia_op_context m_context;
  const tarsia_op_context& m_asked;
  std::vector<tarsia_tensor> m_temporaries;  ///< one an output; null data where there is none
  std::vector<tarsia_sparse> m_sparse;       ///< in place of sparse outputs that nobody asked for
  std::vector<const tarsia_tensor*> m_outputs;
  std::vector<std::uint8_t> m_requests;
};

}  // namespace tarsia::registry
