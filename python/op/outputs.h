// The outputs of a call of a bound op, with the write request of each. The caller passes them, or the
// framework of its tensors makes them.
#pragma once

#include <tarsia/c_api.h>
#include <tarsia/op_abi.h>

#include "python/tensor/frame.h"
#include "python/tensor/view.h"

namespace tarsia::python {

/// A bound op as its calls see it.
struct Bound {
  tarsia_op_handle* op;
  const tarsia_op* description;  ///< its inputs are those of the binding
  tarsia_bound_op* bound;
  const tarsia_meta* inputs;
  const tarsia_meta* outputs;
  uint32_t n_inputs, n_outputs;
  tarsia_device device;
  uint32_t choice;  ///< tarsia_choice
};

/// One pass of a bound op: its outputs, and those of them that the caller sees. Backward gives the
/// gradients of the inputs.
struct Pass {
  const Bound* bound;
  tarsia_pass pass;
  bool shows_hidden = false;  ///< the caller gets hidden outputs, too

  uint32_t n() const { return pass == TARSIA_FORWARD ? bound->n_outputs : bound->n_inputs; }
  const tarsia_meta& meta(uint32_t i) const {
    return pass == TARSIA_FORWARD ? bound->outputs[i] : bound->inputs[i];
  }
  /// Whether it is made, but not returned to the caller.
  bool is_hidden(uint32_t i) const;
  /// Whether this output exists at all: not every input has a gradient.
  bool is_wanted(uint32_t i) const;
};

/// The caller's `out=` and `req=`; null if left out.
struct OutputArguments {
  PyObject* out = nullptr;
  PyObject* req = nullptr;
};

class Outputs {
 public:
  Outputs(Pass pass, Frame& frame);
  ~Outputs();
  Outputs(const Outputs&) = delete;
  Outputs& operator=(const Outputs&) = delete;

  /// Takes `out`, a tensor or a list or tuple of as many as there are visible outputs, and `req`, one
  /// request or as many. False with an error set on failure.
  bool take(const OutputArguments& output_arguments);
  /// Makes the outputs that the caller did not pass. A Call must be under way.
  bool make();
  /// Fills in a call's outputs.
  void put_into(tarsia_op_call& call) const;
  /// The storage of an output that was made; null for others.
  tarsia_storage* storage_of_made(const tarsia_tensor* tensor) const {
    for (uint32_t i = 0; i < m_n; ++i)
      if (m_made[i] && m_made[i]->tensor == tensor) return m_made[i];
    return nullptr;
  }
  /// The call's result: `out` as the caller passed it, one tensor, a tuple of several, or None. For
  /// backward, always a tuple.
  PyObject* object();

 private:
  bool take_out(PyObject* out);
  bool take_sparse(uint32_t i, PyObject* item);
  bool take_requests(PyObject* req);

  Pass m_pass;
  Frame& m_frame;
  uint32_t m_n;
  const tarsia_tensor** m_tensors;
  tarsia_storage** m_made;
  tarsia_sparse** m_sparse;
  uint8_t* m_requests;
  PyObject** m_items;  ///< of `out`, borrowed
  Py_ssize_t m_n_visible = 0;
  PyObject* m_given = nullptr;
};

/// The port of input i; null if the op names none.
const tarsia_port* port_of(const tarsia_op& op, uint32_t i);

/// Names tensor i of a call in errors.
using TensorName = std::string (*)(const tarsia_op& op, uint32_t i);

/// Reads tensor i. Null with an error set on failure.
const tarsia_tensor* read_tensor(Frame& frame, const tarsia_op& op, PyObject* object, bool writes,
                                 TensorName name, uint32_t i);

}  // namespace tarsia::python
