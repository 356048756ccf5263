// The tensors of one run of an op that is written in Python, as Python objects.
#pragma once

#include <tarsia/op_abi.h>

#include <memory>
#include <string>
#include <vector>

#include "python/tensor/frame.h"

namespace tarsia::python {

/// If the call came from Python, tensors are the caller's own objects: its arguments, its out=, and the
/// outputs made for it. These may be kept. All other memory (copies for a write request, inputs of the
/// tests, calls from C++) ends with the call. To keep it is an error.
class OpTensors {
 public:
  explicit OpTensors(const tarsia_op_context& context) : m_context(context) {}
  ~OpTensors();
  OpTensors(const OpTensors&) = delete;
  OpTensors& operator=(const OpTensors&) = delete;

  /// New references; null with an error set. None for absent tensors.
  PyObject* input(uint32_t i);
  PyObject* output(uint32_t i);

  /// Whether somebody still holds memory that ends with the call.
  bool is_any_kept() const;

  /// "output 'y'", "the gradient of 'x'".
  std::string name_of_output(uint32_t i) const;

 private:
  /// The source of a sparse output's memory during the call.
  struct Slot {
    const tarsia_op_context* context;
    Frame* frame;
    uint32_t i;
  };
  static PyObject* allocate(const Slot& slot, PyObject* count);

  PyObject* dense(const tarsia_tensor& tensor);
  PyObject* sparse(const tarsia_sparse& sparse, uint8_t storage);
  PyObject* sparse_output(uint32_t i, const tarsia_meta& meta);
  PyObject* borrowed(const tarsia_tensor& tensor);
  Frame& frame();
  const tarsia_meta& meta_of_input(uint32_t i) const;

  const tarsia_op_context& m_context;
  Frame m_plain;  ///< of calls that do not come from Python
  std::vector<tarsia_storage*> m_borrowed;
  std::vector<std::shared_ptr<Slot>> m_slots;
};

}  // namespace tarsia::python
