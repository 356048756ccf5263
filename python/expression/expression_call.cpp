// Calls of expressions. The compiled function takes each parameter in turn: a tensor, or a number by value.
// An output that is to be made is an absent tensor. Then follow the size of an elementwise loop, or the
// axes and keepdims of a reduction.
#include "python/expression/expression_call.h"

#include <algorithm>
#include <cstring>

#include "python/call/convert.h"
#include "python/call/explain.h"
#include "python/call/function.h"
#include "python/core/dtype.h"
#include "python/core/errors.h"
#include "python/tensor/stream.h"

namespace tarsia::python {

using arguments::is_on_cpu;

ExpressionCall::ExpressionCall(ExpressionState& state, Frame& frame)
    : m_state(state), m_frame(frame), m_n(static_cast<uint32_t>(state.params.size())) {
  m_given = frame.room_for<PyObject*>(m_n);
  m_views = frame.room_for<View*>(m_n);
  m_dtypes = frame.room_for<tarsia_dtype>(m_n);
  m_key = frame.room_for<uint32_t>(m_n + 1);
  std::memset(m_given, 0, m_n * sizeof *m_given);
  std::memset(m_views, 0, m_n * sizeof *m_views);
}

bool ExpressionCall::refuse(bool is_value_error, const std::string& message, Ref cause) {
  raise_argument_error(is_value_error, message, std::move(cause));
  return false;
}

PyObject* ExpressionCall::run(PyObject* const* args, uint32_t n, PyObject* names) {
  if (!assign(args, n, names) || !read() || !check_size() || !check_devices() || !deduce()) return nullptr;
  PyObject* function = find();
  if (!function) return nullptr;
  auto* values = m_frame.room_for<tarsia_value>(m_n + 2);
  for (uint32_t i = 0; i < m_n; ++i)
    if (!set_value(i, values[i])) return nullptr;
  uint32_t n_values = m_n;
  const auto add = [&](int64_t number) {
    tarsia_value& value = values[n_values++];
    value.i = number;
    value.kind = TARSIA_KIND_INT;
    value.size = 0;
  };
  if (m_state.is_reduction) {
    int64_t axes = 0;
    if (!read_axes(axes)) return nullptr;
    add(axes);
    add(m_keepdims);
  } else {
    add(m_size);
  }
  return call_function(function, m_frame, values, n_values);
}

// ---- arguments ----

bool ExpressionCall::assign(PyObject* const* args, uint32_t n, PyObject* names) {
  if (n > m_n)
    return refuse(false, m_state.name + ": takes " + std::to_string(m_state.n_inputs) + " inputs and " +
                             std::to_string(m_n - m_state.n_inputs) + " outputs, got " + std::to_string(n) +
                             " arguments");
  for (uint32_t i = 0; i < n; ++i)
    if (args[i] != Py_None || !param(i).is_output) m_given[i] = args[i];
  const Py_ssize_t n_names = names ? PyTuple_Size(names) : 0;
  for (Py_ssize_t k = 0; k < n_names; ++k)
    if (!assign_by_name(PyTuple_GetItem(names, k), args[n + k])) return false;
  for (uint32_t i = 0; i < m_state.n_inputs; ++i)
    if (!m_given[i]) return refuse(false, title(i) + " is missing");
  return true;
}

bool ExpressionCall::assign_by_name(PyObject* key, PyObject* object) {
  for (uint32_t i = 0; i < m_n; ++i) {
    if (param(i).key.get() != key && PyUnicode_Compare(param(i).key.get(), key) != 0) continue;
    if (m_given[i]) return refuse(false, title(i) + " is given twice");
    if (object != Py_None || !param(i).is_output) m_given[i] = object;
    return true;
  }
  const std::string name = text_of(key);
  if (name == "out") return assign_out(object);
  if (name == "stream") {
    if (object == Py_None) return true;
    const StreamRead read = read_stream(object, &m_frame.stream);
    if (read == StreamRead::not_a_stream)
      return refuse(false, m_state.name +
                               ": stream must be a CUDA stream (int, torch.cuda.Stream, anything with "
                               "__cuda_stream__, or None), got " +
                               describe_argument(object));
    return m_frame.has_stream = read == StreamRead::ok;
  }
  if (m_state.is_reduction && name == "axis") {
    m_axis = object;
    return true;
  }
  if (m_state.is_reduction && name == "keepdims") {
    const std::string type = type_name(Py_TYPE(object));
    if (!PyLong_Check(object) && type != "numpy.bool" && type != "numpy.bool_")
      return refuse(false, m_state.name + ": keepdims must be a bool, got " + describe_argument(object));
    const int truth = run_python<PyObject_IsTrue>(object);
    m_keepdims = truth;
    return truth >= 0;
  }
  if (!m_state.is_reduction && name == "size") {
    if (object == Py_None) return true;
    m_size = run_python<PyLong_AsLongLong>(object);
    if (m_size == -1 && PyErr_Occurred()) return false;
    if (m_size < 0)
      return refuse(true, m_state.name + ": size must not be negative, got " + std::to_string(m_size));
    return true;
  }
  return refuse(false,
                m_state.name + ": there is no parameter '" + name + "', and " +
                    (m_state.is_reduction ? "axis, keepdims, out and stream" : "out, size and stream") +
                    " are all that is taken besides");
}

bool ExpressionCall::assign_out(PyObject* object) {
  if (object == Py_None) return true;
  const uint32_t n_out = m_n - m_state.n_inputs;
  const bool is_tuple = PyTuple_Check(object), is_list = PyList_Check(object);
  if (is_list) {  // which another thread may change
    object = PyList_AsTuple(object);
    if (!object) return false;
    m_frame.keep(object);
  }
  const Py_ssize_t n = is_tuple || is_list ? PyTuple_Size(object) : 1;
  if (n != static_cast<Py_ssize_t>(n_out))
    return refuse(
        false, m_state.name + ": out takes " +
                   (n_out == 1 ? "a tensor" : "a tuple of " + std::to_string(n_out) + " tensors") + ", got " +
                   (is_tuple || is_list ? std::to_string(n) + " of them" : describe_argument(object)));
  for (uint32_t k = 0; k < n_out; ++k) {
    PyObject* item = is_tuple || is_list ? PyTuple_GetItem(object, k) : object;
    const uint32_t i = m_state.n_inputs + k;
    if (item == Py_None) continue;
    if (m_given[i]) return refuse(false, title(i) + " is given twice");
    m_given[i] = item;
  }
  return true;
}

/// Reads the tensors. Arguments that are no tensors are numbers.
bool ExpressionCall::read() {
  for (uint32_t i = 0; i < m_n; ++i) {
    PyObject* object = m_given[i];
    const bool is_output = param(i).is_output;
    if (!object) {
      if (param(i).is_raw)
        return refuse(false, title(i) + " is raw: it has to be given, since nothing tells its shape");
      if (param(i).is_inout) return refuse(false, title(i) + " is read too (inout): it has to be given");
      continue;
    }
    if (protocol_of(Py_TYPE(object)).kind == ProtocolKind::none && !own_interface(object)) {
      if (is_output || param(i).is_raw)
        return refuse(false, title(i) + " must be a tensor, got " + describe_argument(object));
      continue;
    }
    if (!read_tensor(i, object)) return false;
  }
  return true;
}

bool ExpressionCall::read_tensor(uint32_t i, PyObject* object) {
  View* view = m_frame.new_view(object, param(i).is_output);
  const Why why = view_of(m_frame, *view);
  if (why == Why::failed) return false;
  if (why == Why::unreadable) {
    Ref cause;
    const std::string words = explain_unreadable(object, param(i).name, cause);
    return refuse(true, title(i) + " " + words, std::move(cause));
  }
  if (why == Why::masked || why == Why::element_type)
    return refuse(false, title(i) + " " + explain_elements(why, param(i).name, object));
  if (why == Why::mixed || why == Why::deleted)
    return refuse(why == Why::deleted, title(i) + " " + explain_state(why, m_frame, object, param(i).name));
  if (why == Why::strides)
    return refuse(true, title(i) + " has strides that are no multiple of its elements; pass a copy");
  if (why != Why::fits)
    return refuse(false, title(i) + " must be a tensor or a number, got " + describe_argument(object));
  const tarsia_tensor& tensor = view->tensor;
  if (!tensor.data && element_count(tensor) != 0)
    return refuse(true, title(i) + " has no memory: it is a fake or meta tensor");
  if (view->read_only && param(i).is_output)
    return refuse(true, title(i) + " is read-only; pass one that can be written to");
  if (is_changed(*view))
    return refuse(true, title(i) + " is negated lazily; pass " + param(i).name + ".resolve_neg()");
  if (tensor.dtype.lanes != 1)
    return refuse(
        false, title(i) + " has elements of " + dtype_name(tensor.dtype) + ", which expressions do not take");
  m_views[i] = view;
  return true;
}

/// The tensors give an elementwise loop its shape. Without a tensor, `size` must be given.
bool ExpressionCall::check_size() const {
  if (m_state.is_reduction) return true;
  bool is_size_known = false;
  for (uint32_t i = 0; i < m_n; ++i) {
    if (!m_views[i] || param(i).is_raw) continue;
    if (m_size >= 0)
      return refuse(false, m_state.name +
                               ": size is for calls without a tensor that tells the shape; here '" +
                               param(i).name + "' does");
    is_size_known = true;
  }
  if (!is_size_known && m_size < 0 && m_state.takes_size)
    return refuse(true, m_state.name + ": no tensor tells how many elements there are; pass size=, or out=");
  return true;
}

bool ExpressionCall::check_devices() {
  int first = -1;
  for (uint32_t i = 0; i < m_n; ++i) {
    if (!m_views[i]) continue;
    const tarsia_device device = m_views[i]->tensor.device;
    if (device.type == TARSIA_GPU_MANAGED) continue;
    if (!is_on_cpu(device) && device.type != TARSIA_GPU)
      return refuse(true,
                    title(i) + " must be on the CPU or a CUDA GPU, got " + describe_argument(m_given[i]));
    if (first < 0) first = static_cast<int>(i);
    const tarsia_device other = m_views[first]->tensor.device;
    if (is_on_cpu(device) != is_on_cpu(other) || (!is_on_cpu(device) && device.id != other.id))
      return refuse(true, m_state.name + ": all tensors have to be on one device: '" + param(first).name +
                              "' is " + describe_argument(m_given[first]) + ", '" + param(i).name + "' is " +
                              describe_argument(m_given[i]));
  }
  m_gpu = m_frame.gpu >= 0;
  return true;
}

/// One bit for each axis that is reduced.
bool ExpressionCall::read_axes(int64_t& axes) {
  int ndim = 0;
  for (uint32_t i = 0; i < m_state.n_inputs; ++i)
    if (m_views[i] && !param(i).is_raw) ndim = std::max<int>(ndim, m_views[i]->tensor.ndim);
  if (!m_axis || m_axis == Py_None) {
    axes = ndim >= 63 ? -1 : (int64_t(1) << ndim) - 1;
    return true;
  }
  const bool is_tuple = PyTuple_Check(m_axis), is_list = PyList_Check(m_axis);
  const Py_ssize_t n = is_tuple ? PyTuple_Size(m_axis) : is_list ? PyList_Size(m_axis) : 1;
  for (Py_ssize_t k = 0; k < n; ++k) {
    const Ref held = is_tuple  ? Ref::borrow(PyTuple_GetItem(m_axis, k))
                     : is_list ? item_of_list(m_axis, k)
                               : Ref::borrow(m_axis);
    PyObject* item = held.get();
    if (!item) return false;
    if (PyBool_Check(item) || !PyIndex_Check(item))
      return refuse(false, m_state.name + ": axis must be an int, a tuple of ints or None, got " +
                               describe_argument(item));
    Py_ssize_t axis = run_python<PyNumber_AsSsize_t>(item, PyExc_IndexError);
    if (axis == -1 && PyErr_Occurred()) return false;
    if (axis < -ndim || axis >= ndim)
      return refuse(true, m_state.name + ": axis " + std::to_string(axis) +
                              " is out of range for inputs of " + std::to_string(ndim) + " dimensions");
    if (axis < 0) axis += ndim;
    const int64_t bit = int64_t(1) << axis;
    if (axes & bit) return refuse(true, m_state.name + ": axis " + std::to_string(axis) + " is given twice");
    axes |= bit;
  }
  return true;
}

// ---- the function ----

PyObject* ExpressionCall::find() {
  PyObject* known = find_known();
  return known ? known : compile();
}

PyObject* ExpressionCall::find_known() {
  const Exclusive exclusive(m_state.recipe.get());
  std::vector<ExpressionVariant>& variants = m_state.variants;
  const size_t bytes = (m_n + 1) * sizeof(uint32_t);
  if (m_state.last < variants.size() && !std::memcmp(variants[m_state.last].key.data(), m_key, bytes))
      [[likely]]
    return variants[m_state.last].function.get();
  for (size_t k = 0; k < variants.size(); ++k)
    if (!std::memcmp(variants[k].key.data(), m_key, bytes)) {
      m_state.last = k;
      return variants[k].function.get();
    }
  return nullptr;
}

PyObject* ExpressionCall::compile() {
  Ref dtypes(PyTuple_New(m_n)), numbers(PyTuple_New(m_n));
  if (!dtypes || !numbers) return nullptr;
  for (uint32_t i = 0; i < m_n; ++i) {
    PyObject* name = PyUnicode_FromString(dtype_name(m_dtypes[i]).c_str());
    if (!name || PyTuple_SetItem(dtypes.get(), i, name) != 0) return nullptr;
    PyTuple_SetItem(numbers.get(), i, PyBool_FromLong((m_key[i] & k_number) != 0));
  }
  Ref function(call_method(m_state.recipe.get(), "compile", "OOO", m_gpu ? Py_True : Py_False, dtypes.get(),
                           numbers.get()));
  if (!function) return nullptr;
  if (!is_function(function.get())) {
    PyErr_SetString(PyExc_SystemError, "an expression was compiled to something that is no function");
    return nullptr;
  }
  const Exclusive exclusive(m_state.recipe.get());
  m_state.last = m_state.variants.size();
  m_state.variants.push_back({std::vector<uint32_t>(m_key, m_key + m_n + 1), std::move(function)});
  return m_state.variants.back().function.get();
}

bool ExpressionCall::set_value(uint32_t i, tarsia_value& value) {
  if (!m_given[i] || m_views[i]) {
    value.t = m_views[i] ? &m_views[i]->tensor : nullptr;
    value.kind = TARSIA_KIND_TENSOR;
    value.size = 0;
    return true;
  }
  Param number{};
  const tarsia_dtype dtype = m_dtypes[i];
  number.type.dtype = dtype;
  number.type.kind = dtype.code == TARSIA_BOOL                               ? TARSIA_KIND_BOOL
                     : dtype.code == TARSIA_INT || dtype.code == TARSIA_UINT ? TARSIA_KIND_INT
                                                                             : TARSIA_KIND_FLOAT;
  const Why why = convert(m_frame, number, Fit::any, m_given[i], value);
  if (why == Why::fits) return true;
  if (why == Why::failed) return false;
  PyErr_Clear();
  const std::string name = dtype_name(dtype);
  if (why == Why::range)
    return refuse(true, title(i) + " is " + name + ", which does not hold " + short_repr(m_given[i]));
  return refuse(false, title(i) + " is " + name + ": a tensor or a number of that kind, got " +
                           describe_argument(m_given[i]));
}

}  // namespace tarsia::python
