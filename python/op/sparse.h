// Sparse tensors of Python: read as tarsia_sparse, and made of the parts that an op allocated.
#pragma once

#include <tarsia/op_abi.h>

#include "python/tensor/frame.h"

namespace tarsia::python {

/// A sparse argument of the call; frames hold a list of them.
struct SparseArgument {
  tarsia_sparse sparse;
  uint8_t storage;   ///< tarsia_storage_type
  PyObject* object;  ///< borrowed: the caller holds it
  SparseArgument* previous;
};

/// Reads scipy.sparse.csr_matrix, torch.sparse_csr and tarsia.RowSparse. Null without an error set if the
/// object is none of these, null with an error set if reading it fails.
const tarsia_tensor* read_sparse(Frame& frame, PyObject* object);

/// The storage type of a tensor that was read.
inline uint8_t storage_of(const Frame& frame, const tarsia_tensor* tensor) {
  for (const SparseArgument* s = frame.last_sparse; s; s = s->previous) [[unlikely]]
    if (&s->sparse.whole == tensor) return s->storage;
  return TARSIA_DENSE;
}

/// The tensor of these values, indices and indptr; None for absent parts.
PyObject* sparse_of_parts(Frame& frame, const tarsia_tensor& whole, uint8_t storage, const Ref (&parts)[3]);

/// The object for a sparse output: of PyTorch if the call's first tensor is, else of SciPy. Takes over the
/// parts.
PyObject* sparse_object(Frame& frame, tarsia_sparse& sparse, uint8_t storage);

/// Puts the parts into the sparse tensor `into`. False with an error set on failure.
bool store_sparse(Frame& frame, tarsia_sparse& sparse, uint8_t storage, PyObject* into);

}  // namespace tarsia::python
