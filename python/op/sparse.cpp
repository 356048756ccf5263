// Takes sparse tensors apart and builds them, with tarsia._sparse in Python: they are rare and large.
#include "python/op/sparse.h"

#include "python/call/result.h"
#include "python/tensor/view.h"

namespace tarsia::python {
namespace {

/// tarsia._sparse.NAME(…).
PyObject* call_helper(const char* name, PyObject* arguments) {
  const Ref own(arguments);
  const Ref module(own ? import_module("tarsia._sparse") : nullptr);
  const Ref function(module ? run_python<PyObject_GetAttrString>(module.get(), name) : nullptr);
  return function ? call_object(function.get(), own.get()) : nullptr;
}

/// Item i of the tuple that stays alive with the frame, as a contiguous tensor.
bool read_part(Frame& frame, PyObject* parts, Py_ssize_t i, tarsia_tensor& tensor) {
  PyObject* object = PyTuple_GetItem(parts, i);
  if (object == Py_None) return true;
  View* view = frame.new_view(object);
  const Why why = view_of(frame, *view);
  if (why != Why::fits || !is_contiguous(view->tensor)) {
    if (!PyErr_Occurred())
      PyErr_SetString(PyExc_TypeError, "a part of a sparse tensor is no contiguous tensor");
    return false;
  }
  tensor = view->tensor;
  tensor.data = static_cast<char*>(tensor.data) + tensor.byte_offset;
  tensor.byte_offset = 0;
  tensor.strides = nullptr;
  return true;
}

}  // namespace

const tarsia_tensor* read_sparse(Frame& frame, PyObject* object) {
  PyObject* parts = call_helper("parts", PyTuple_Pack(1, object));
  if (!parts) return nullptr;
  frame.keep(parts);
  if (parts == Py_None) return nullptr;
  auto* argument = frame.room_for<SparseArgument>(1);
  *argument = {};
  argument->object = object;
  argument->storage = static_cast<uint8_t>(run_python<PyLong_AsLong>(PyTuple_GetItem(parts, 0)));
  tarsia_sparse& sparse = argument->sparse;
  if (!read_part(frame, parts, 2, sparse.values) || !read_part(frame, parts, 3, sparse.indices) ||
      !read_part(frame, parts, 4, sparse.indptr))
    return nullptr;
  PyObject* shape = PyTuple_GetItem(parts, 1);
  sparse.whole.device = sparse.values.device;
  sparse.whole.dtype = sparse.values.dtype;
  sparse.whole.ndim = static_cast<int32_t>(PyTuple_Size(shape));
  sparse.whole.shape = frame.room_for<int64_t>(sparse.whole.ndim);
  for (int32_t i = 0; i < sparse.whole.ndim; ++i)
    sparse.whole.shape[i] = run_python<PyLong_AsLongLong>(PyTuple_GetItem(shape, i));
  if (PyErr_Occurred()) return nullptr;
  argument->previous = frame.last_sparse;
  frame.last_sparse = argument;
  return &sparse.whole;
}

namespace {

PyObject* build(const tarsia_tensor& whole, uint8_t storage, const Ref (&parts)[3], PyObject* like) {
  const Ref shape(tuple_of(static_cast<uint64_t>(whole.ndim),
                           [&](uint64_t i) { return PyLong_FromLongLong(whole.shape[i]); }));
  if (!shape) return nullptr;
  return call_helper("build", Py_BuildValue("iOOOOOs", storage, shape.get(), parts[0].get(), parts[1].get(),
                                            parts[2].get(), like, dtype_name(whole.dtype).c_str()));
}

/// Takes over the memory that an op allocated.
PyObject* build(Frame& frame, tarsia_sparse& sparse, uint8_t storage, PyObject* like) {
  Ref parts[3];
  bool made = true;
  for (int i = 0; i < 3; ++i) {
    tarsia_storage* part = std::exchange(sparse.made[i], nullptr);
    parts[i] = part ? Ref(tensor_object(frame, part)) : Ref::borrow(Py_None);
    made &= static_cast<bool>(parts[i]);
  }
  return made ? build(sparse.whole, storage, parts, like) : nullptr;
}

PyObject* like_of(const Frame& frame) {
  return frame.first_object ? frame.first_object : Py_None;
}

}  // namespace

PyObject* sparse_of_parts(Frame& frame, const tarsia_tensor& whole, uint8_t storage, const Ref (&parts)[3]) {
  return build(whole, storage, parts, like_of(frame));
}

PyObject* sparse_object(Frame& frame, tarsia_sparse& sparse, uint8_t storage) {
  return build(frame, sparse, storage, like_of(frame));
}

bool store_sparse(Frame& frame, tarsia_sparse& sparse, uint8_t storage, PyObject* into) {
  const Ref made(build(frame, sparse, storage, into));
  return made && Ref(call_helper("assign", PyTuple_Pack(2, into, made.get())));
}

}  // namespace tarsia::python
