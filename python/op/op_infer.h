// Inference without tensors.
#pragma once

#include <tarsia/c_api.h>

#include <string>
#include <vector>

#include "python/core/py.h"

namespace tarsia::python {

/// (n_inputs, n_outputs) of an op with these attributes. Null with an error set.
PyObject* count_op(tarsia_op_handle* op, PyObject* names, PyObject* const* values);

/// The keywords of a call that name attributes which the op declares; `own` is empty if there is none. False
/// with an error set.
bool declared_attributes(const tarsia_op& op, PyObject* names, PyObject* const* values, Ref& own,
                         std::vector<PyObject*>& own_values);

/// The description of an op, with the inputs that some attributes bring. Borrows from the op.
class OpWithInputs {
 public:
  /// False with an error set.
  bool ask(tarsia_op_handle* op, PyObject* names, PyObject* const* values);
  const tarsia_op& op() const { return m_op; }

 private:
  tarsia_op m_op{};
  std::vector<tarsia_port> m_ports;
};

/// (shapes, dtypes) of inputs and outputs, derived from the known ones of the inputs; with `storages`,
/// which may be null, their storages too. Null with an error set on failure.
PyObject* infer_op(tarsia_op_handle* op, PyObject* shapes, PyObject* dtypes, PyObject* storages,
                   PyObject* names, PyObject* const* attributes);

/// Reads a shape and a dtype into a meta; None leaves its part as it is. False with an error set, which
/// begins with `who`.
bool read_meta(const std::string& who, PyObject* shape, PyObject* dtype, tarsia_meta& meta);

}  // namespace tarsia::python
