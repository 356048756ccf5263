// Makes the Python tensors for an op that is written in Python, and guards memory that ends with the call.
#include "python/op/op_tensors.h"

#include <nanobind/nanobind.h>
#include <tarsia/c_api.h>

#include <algorithm>

#include "python/call/result.h"
#include "python/core/dtype.h"
#include "python/core/errors.h"
#include "python/op/outputs.h"
#include "python/op/python_op.h"
#include "python/op/sparse.h"
#include "python/tensor/tensor.h"

namespace nb = nanobind;

namespace tarsia::python {
namespace {

/// Memory that ends with the call, as a storage. Somebody may hold it too long.
struct Borrowed {
  tarsia_storage storage;
  tarsia_tensor tensor;
  std::vector<int64_t> shape, strides;
};

tarsia_storage* borrow_tensor(const tarsia_tensor& tensor, int32_t framework) {
  auto* borrowed = new Borrowed{};
  borrowed->tensor = tensor;
  borrowed->shape.assign(tensor.shape, tensor.shape + tensor.ndim);
  borrowed->tensor.shape = borrowed->shape.data();
  if (tensor.strides) borrowed->strides.assign(tensor.strides, tensor.strides + tensor.ndim);
  borrowed->tensor.strides = tensor.strides ? borrowed->strides.data() : nullptr;
  borrowed->storage.tensor = &borrowed->tensor;
  borrowed->storage.refs = 1;
  borrowed->storage.framework = framework;
  borrowed->storage.context = borrowed;
  borrowed->storage.release = [](tarsia_storage* storage) {
    delete static_cast<Borrowed*>(storage->context);
  };
  return &borrowed->storage;
}

PyObject* none() {
  return Ref::borrow(Py_None).release();
}

}  // namespace

OpTensors::~OpTensors() {
  for (tarsia_storage* storage : m_borrowed) release(storage);
  for (const std::shared_ptr<Slot>& slot : m_slots) slot->context = nullptr;
}

Frame& OpTensors::frame() {
  CallUnderWay* call = CallUnderWay::innermost();
  return call ? call->frame : m_plain;
}

const tarsia_meta& OpTensors::meta_of_input(uint32_t i) const {
  const tarsia_bind_info& info = *m_context.info;
  if (m_context.pass == TARSIA_FORWARD) return info.inputs[i];
  if (i < info.n_outputs) return info.outputs[i];
  return i < info.n_outputs + info.n_inputs ? info.inputs[i - info.n_outputs]
                                            : info.outputs[i - info.n_outputs - info.n_inputs];
}

std::string OpTensors::name_of_output(uint32_t i) const {
  const tarsia_op& op = *m_context.info->declared;
  if (m_context.pass == TARSIA_FORWARD)
    return std::string("output '") + op.outputs[std::min(i, op.n_outputs - 1)].name + "'";
  const tarsia_port* port = m_context.info->ports ? m_context.info->ports + i : port_of(op, i);
  return port && *port->name ? std::string("the gradient of '") + port->name + "'"
                             : "the gradient of input " + std::to_string(i);
}

PyObject* OpTensors::input(uint32_t i) {
  const tarsia_tensor* tensor = m_context.inputs[i];
  if (!tensor) return none();
  const uint8_t storage = meta_of_input(i).storage;
  return storage == TARSIA_DENSE ? dense(*tensor)
                                 : sparse(*reinterpret_cast<const tarsia_sparse*>(tensor), storage);
}

PyObject* OpTensors::output(uint32_t i) {
  const tarsia_bind_info& info = *m_context.info;
  const tarsia_tensor* tensor = m_context.requests[i] == TARSIA_REQUEST_NULL ? nullptr : m_context.outputs[i];
  if (!tensor) return none();
  const tarsia_meta& meta = m_context.pass == TARSIA_FORWARD ? info.outputs[i] : info.inputs[i];
  return meta.storage == TARSIA_DENSE ? dense(*tensor) : sparse_output(i, meta);
}

PyObject* OpTensors::dense(const tarsia_tensor& tensor) {
  CallUnderWay* call = CallUnderWay::innermost();
  for (const View* view = call ? call->frame.last_view : nullptr; view; view = view->previous)
    if (&view->tensor == &tensor) return Ref::borrow(view->object).release();
  if (tarsia_storage* made = call ? call->outputs.storage_of_made(&tensor) : nullptr) {
    retain(made);
    return tensor_object(call->frame, made);
  }
  return borrowed(tensor);
}

PyObject* OpTensors::borrowed(const tarsia_tensor& tensor) {
  tarsia_storage* storage = borrow_tensor(tensor, frame().first.framework);
  retain(storage);
  m_borrowed.push_back(storage);
  return tensor_object(frame(), storage);
}

PyObject* OpTensors::sparse(const tarsia_sparse& sparse, uint8_t storage) {
  for (const SparseArgument* s = frame().last_sparse; s; s = s->previous)
    if (&s->sparse == &sparse) return Ref::borrow(s->object).release();
  const tarsia_tensor* parts[] = {&sparse.values, &sparse.indices, &sparse.indptr};
  Ref objects[3];
  for (int k = 0; k < 3; ++k) {
    objects[k] = parts[k]->shape ? Ref(borrowed(*parts[k])) : Ref::borrow(Py_None);
    if (!objects[k]) return nullptr;
  }
  return sparse_of_parts(frame(), sparse.whole, storage, objects);
}

PyObject* OpTensors::sparse_output(uint32_t i, const tarsia_meta& meta) {
  const auto& output = *reinterpret_cast<const tarsia_sparse*>(m_context.outputs[i]);
  const Ref current(m_context.requests[i] == TARSIA_REQUEST_ADD ? sparse(output, meta.storage) : none());
  const Ref shape(current ? tuple_of(static_cast<uint64_t>(meta.ndim),
                                     [&](uint64_t k) { return PyLong_FromLongLong(meta.shape[k]); })
                          : nullptr);
  const Ref module(shape ? import_module("tarsia._sparse") : nullptr);
  if (!module) return nullptr;
  const auto slot = m_slots.emplace_back(std::make_shared<Slot>(Slot{&m_context, &frame(), i}));
  const nb::object allocate = nb::cpp_function([slot](nb::handle count) {
    PyObject* parts = OpTensors::allocate(*slot, count.ptr());
    if (!parts) throw nb::python_error();
    return nb::steal(parts);
  });
  return call_method(module.get(), "sparse_output", "iOsOOs", int(meta.storage), shape.get(),
                     dtype_name(meta.dtype).c_str(), current.get(), allocate.ptr(),
                     name_of_output(i).c_str());
}

PyObject* OpTensors::allocate(const Slot& slot, PyObject* count) {
  if (!slot.context) {
    PyErr_SetString(PyExc_RuntimeError, "the call that the output belongs to has ended");
    return nullptr;
  }
  const tarsia_op_context& context = *slot.context;
  const tarsia_bind_info& info = *context.info;
  const tarsia_meta& meta = context.pass == TARSIA_FORWARD ? info.outputs[slot.i] : info.inputs[slot.i];
  int overflow = 0;
  const int64_t n = run_python<PyLong_AsLongLongAndOverflow>(count, &overflow);
  if (overflow) {
    PyErr_SetString(PyExc_ValueError, "allocate: the number of elements is too large");
    return nullptr;
  }
  if (context.allocate_sparse(&context, slot.i, n, meta.storage == TARSIA_CSR ? meta.shape[0] + 1 : 0))
    return raise_last_error();
  const auto& made = reinterpret_cast<const tarsia_sparse*>(context.outputs[slot.i])->made;
  return tuple_of(3, [&](uint64_t k) {
    if (!made[k]) return none();
    retain(made[k]);
    return tensor_object(*slot.frame, made[k]);
  });
}

bool OpTensors::is_any_kept() const {
  for (const tarsia_storage* storage : m_borrowed)
    if (__atomic_load_n(&storage->refs, __ATOMIC_ACQUIRE) > 1) return true;
  return false;
}

}  // namespace tarsia::python
