// Texts about ops and metas for people.
#pragma once

#include <tarsia/op_abi.h>

#include "python/core/py.h"

namespace tarsia::python {

/// "relu(x, *, slope=0) -> (y)".
std::string op_text(const tarsia_op& op);

/// The same, with the descriptions of the op and its attributes.
std::string op_doc(const tarsia_op& op);

/// A tuple of extents, None for unknown ones; None if even their number is unknown.
PyObject* shape_object(const tarsia_meta& meta);
/// Its name; None if it is unknown.
PyObject* dtype_object(const tarsia_meta& meta);
/// "dense", "row_sparse" or "csr"; None if it is unknown.
PyObject* storage_object(const tarsia_meta& meta);

/// A tuple of (shape, dtype) of metas, None for absent ones.
PyObject* metas_object(const tarsia_meta* metas, uint32_t n);

}  // namespace tarsia::python
