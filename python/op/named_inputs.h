// Inputs of an op that a caller gives by name.
#pragma once

#include <tarsia/op_abi.h>

#include <vector>

#include "python/core/errors.h"

namespace tarsia::python {

/// The arguments of a call whose keywords name inputs, as those of a call that gives its inputs in a row.
/// What it refers to lives as long as this and the arguments that it was made of.
class NamedInputs {
 public:
  /// Puts the inputs that keywords name where the op has them, and None where there is none in between. The
  /// input of any number of tensors is a list, or one tensor. False if no keyword names an input; then
  /// nothing is taken. Also false, with an error set, if an input is given twice.
  bool take(const tarsia_op& op, PyObject* const* args, uint32_t n, PyObject* names);

  /// n() inputs, and then the values of names().
  PyObject* const* args() const { return m_row.data(); }
  uint32_t n() const { return m_n; }
  /// The keywords that are left; null: none.
  PyObject* names() const { return m_names.get(); }

 private:
  bool put(const tarsia_op& op, uint32_t i, PyObject* value);

  std::vector<PyObject*> m_row;
  std::vector<bool> m_is_given;  ///< of the inputs
  uint32_t m_n = 0;
  Ref m_names, m_items;  ///< keywords; the list of the input of any number
};

}  // namespace tarsia::python
