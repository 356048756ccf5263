// A run of an op for MXNet's extension API, as its table gives it to the library.
#pragma once

#include <tarsia/mxnet/table.h>

#include <memory>

namespace tarsia::registry::mxnet {

/// Room for the columns of some tensors, on the stack for few.
class Room {
 public:
  /// Makes n rows.
  Room(tarsia_mxnet_tensors& tensors, std::uint32_t n);
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

 private:
  alignas(16) char m_room[12 * 80];
  std::unique_ptr<char[]> m_heap;
};

/// What a library gets. Points into the context.
class Run final : public tarsia_mxnet_run {
 public:
  Run(const tarsia_op_context& context, const tarsia_mxnet_function* function, bool is_backward);

 private:
  static const tarsia_op_context& context_of(const tarsia_mxnet_run* self) {
    return static_cast<const Run*>(self)->m_context;
  }
  static std::int32_t allocate_memory(const tarsia_mxnet_run* self, std::int64_t bytes, std::uint32_t on_gpu,
                                      void** memory) noexcept;
  static std::int32_t allocate_output(const tarsia_mxnet_run* self, std::int32_t i, std::int64_t n_indices,
                                      std::int64_t n_indptr, const tarsia_sparse** made) noexcept;
  static std::int32_t borrow_states(const tarsia_mxnet_run* self, std::uint32_t on_gpu,
                                    void** states) noexcept;

  const tarsia_op_context& m_context;
  Room m_inputs, m_outputs;
};

}  // namespace tarsia::registry::mxnet
