// NumPy's arrays, read and made without NumPy's headers: the fields below are laid out alike in NumPy 1
// and 2.
#pragma once

#include "python/core/py.h"

#include <tarsia/abi.h>

namespace tarsia::python::numpy {

struct Descr {
  PyObject head;
  PyTypeObject* element_type;
  char kind, character, byte_order, unused;
  int number;
};

struct Array {
  PyObject head;
  char* data;
  int ndim;
  int64_t* shape;
  int64_t* strides;  ///< in bytes
  PyObject* base;
  Descr* descr;
  int flags;
};

constexpr int k_contiguous = 0x1;
constexpr int k_writeable = 0x400;

/// The dtypes of NumPy's own numbers 0 … 23, lanes 0 where there is none.
extern const tarsia_dtype k_dtypes[24];

/// The dtype of numbers that other packages registered (ml_dtypes); lanes are 0 if it is unknown.
tarsia_dtype registered_dtype(const Descr* descr);

/// Elements in native byte order of a dtype that we know, else lanes 0.
inline tarsia_dtype dtype_of(const Descr* descr) {
  if (descr->byte_order == '>') return {};
  return static_cast<unsigned>(descr->number) < 24 ? k_dtypes[descr->number] : registered_dtype(descr);
}

/// numpy.ndarray if NumPy is imported already, else null. A borrowed reference.
PyTypeObject* array_type();

/// An array over `tensor`'s memory, which stays as long as `base` (stolen) does. Imports NumPy if
/// necessary. Null with an error set if NumPy is missing or has no such dtype: see can_hold().
PyObject* array_over(const tarsia_tensor& tensor, PyObject* base);

/// Whether NumPy is installed and can hold such elements. Imports it if necessary. Sets no error.
bool can_hold(tarsia_dtype dtype);

}  // namespace tarsia::python::numpy
