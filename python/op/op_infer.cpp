// Op.infer: takes shapes and dtypes from Python and returns the inferred ones.
#include "python/op/op_infer.h"

#include <tarsia/detail/names.h>
#include <tarsia/detail/support.h>

#include <algorithm>
#include <string>
#include <vector>

#include "python/call/call.h"
#include "python/core/describe.h"
#include "python/core/dtype.h"
#include "python/core/errors.h"
#include "python/op/op_request.h"
#include "python/op/op_text.h"

namespace tarsia::python {
namespace {

constexpr uint32_t k_room = 64;  // for ports beyond those that were given

/// Python's name of it: "float32" for a str, np.float32, np.dtype or torch.float32.
std::string name_of_dtype(PyObject* object) {
  std::string name;
  if (PyUnicode_Check(object)) {
    name = text_of(object);
  } else {
    Ref attribute = attribute_or_null(object, PyType_Check(object) ? "__name__" : "name");
    name = attribute ? text_of(attribute.get()) : text_of(Ref(run_python<PyObject_Str>(object)).get());
  }
  const size_t dot = name.rfind('.');
  return dot == std::string::npos ? name : name.substr(dot + 1);
}

bool read_shape(const std::string& who, PyObject* object, tarsia_meta& meta) {
  const Ref items(run_python<PySequence_Tuple>(object));
  if (!items) return false;
  const Py_ssize_t ndim = PyTuple_Size(items.get());
  if (ndim > TARSIA_MAX_NDIM) {
    raise_argument_error(true, who + ": a shape has at most 32 extents");
    return false;
  }
  meta.ndim = static_cast<int32_t>(ndim);
  for (Py_ssize_t i = 0; i < ndim; ++i) {
    PyObject* extent = PyTuple_GetItem(items.get(), i);
    meta.shape[i] = extent == Py_None ? -1 : run_python<PyLong_AsLongLong>(extent);
    if (PyErr_Occurred()) return false;
    if (meta.shape[i] < -1) {
      raise_argument_error(true, who + ": an extent is negative");
      return false;
    }
  }
  return true;
}

bool read_dtype(const std::string& who, PyObject* object, tarsia_meta& meta) {
  const std::string name = name_of_dtype(object);
  const tarsia_dtype dtype = dtype_named(name);
  if (!dtype.lanes) {
    raise_argument_error(true, who + ": there is no dtype '" + name + "'");
    return false;
  }
  meta.dtype = dtype;
  return true;
}

/// A storage; None: unknown.
bool read_storage(const tarsia_op& op, PyObject* object, tarsia_meta& meta) {
  meta.storage =
      object == Py_None ? uint8_t{TARSIA_ANY_STORAGE} : tarsia::detail::storage_named(text_of(object));
  if (object == Py_None || meta.storage != TARSIA_ANY_STORAGE) return true;
  raise_argument_error(true, std::string(op.name) + ": there is no storage " + short_repr(object) +
                                 "; there are 'dense', 'row_sparse', 'csr'");
  return false;
}

bool read_metas(const tarsia_op& op, PyObject* shapes, PyObject* dtypes, PyObject* storages,
                std::vector<tarsia_meta>& metas) {
  const Ref shape_items(shapes == Py_None ? PyTuple_New(0) : run_python<PySequence_Tuple>(shapes));
  const Ref dtype_items(dtypes == Py_None ? PyTuple_New(0) : run_python<PySequence_Tuple>(dtypes));
  if (!shape_items || !dtype_items) return false;
  const Py_ssize_t n_shapes = PyTuple_Size(shape_items.get()), n_dtypes = PyTuple_Size(dtype_items.get());
  if (shapes != Py_None && dtypes != Py_None && n_shapes != n_dtypes) {
    raise_argument_error(false, std::string(op.name) + ": infer got " + std::to_string(n_shapes) +
                                    " shapes and " + std::to_string(n_dtypes) + " dtypes");
    return false;
  }
  const Ref storage_items(storages ? run_python<PySequence_Tuple>(storages) : PyTuple_New(0));
  if (!storage_items) return false;
  const Py_ssize_t n_storages = PyTuple_Size(storage_items.get());
  if (storages && n_storages != std::max(n_shapes, n_dtypes)) {
    raise_argument_error(true, std::string(op.name) + ": infer got " +
                                   std::to_string(std::max(n_shapes, n_dtypes)) + " shapes and " +
                                   std::to_string(n_storages) + " storages");
    return false;
  }
  for (Py_ssize_t i = 0; i < std::max(n_shapes, n_dtypes); ++i) {
    tarsia_meta meta = meta_of(nullptr);
    meta.present = 1;
    meta.storage = TARSIA_DENSE;
    PyObject* shape = i < n_shapes ? PyTuple_GetItem(shape_items.get(), i) : Py_None;
    PyObject* dtype = i < n_dtypes ? PyTuple_GetItem(dtype_items.get(), i) : Py_None;
    if (shape == Py_False)
      meta.present = 0;
    else if (shape != Py_None && !read_shape(op.name, shape, meta))
      return false;
    if (dtype != Py_None && !read_dtype(op.name, dtype, meta)) return false;
    if (storages && !read_storage(op, PyTuple_GetItem(storage_items.get(), i), meta)) return false;
    metas.push_back(meta);
  }
  return true;
}

}  // namespace

bool read_meta(const std::string& who, PyObject* shape, PyObject* dtype, tarsia_meta& meta) {
  return (shape == Py_None || read_shape(who, shape, meta)) &&
         (dtype == Py_None || read_dtype(who, dtype, meta));
}

namespace {

/// Calls `run` with the request of these attributes and no inputs, without the GIL. False with an error set.
template <class Run>
bool ask_op(tarsia_op_handle* handle, PyObject* names, PyObject* const* values, const Run& run) {
  Frame frame;
  Attributes attributes;
  if (!read_attributes(frame, *tarsia_op_describe(handle), names, values, attributes)) return false;
  const tarsia_op_request request = request_for({}, attributes, {TARSIA_CPU, 0});
  int32_t code;
  {
    const Call call(frame);
    const Unlocked unlocked(true);
    code = run(request);
  }
  if (code) raise_last_error();
  return code == 0;
}

}  // namespace

PyObject* count_op(tarsia_op_handle* handle, PyObject* names, PyObject* const* values) {
  uint32_t n_inputs = 0, n_outputs = 0;
  if (!ask_op(handle, names, values, [&](const tarsia_op_request& request) {
        return tarsia_op_count(handle, &request, &n_inputs, &n_outputs);
      }))
    return nullptr;
  return Py_BuildValue("II", n_inputs, n_outputs);
}

bool declared_attributes(const tarsia_op& op, PyObject* names, PyObject* const* values, Ref& own,
                         std::vector<PyObject*>& own_values) {
  if (!names) return true;
  const Ref list(PyList_New(0));
  for (Py_ssize_t k = 0; list && k < PyTuple_Size(names); ++k) {
    PyObject* name = PyTuple_GetItem(names, k);
    for (uint32_t i = 0; i < op.n_attributes; ++i) {
      if (PyUnicode_CompareWithASCIIString(name, op.attributes[i].name) != 0) continue;
      if (PyList_Append(list.get(), name) != 0) return false;
      own_values.push_back(values[k]);
    }
  }
  if (list && own_values.empty()) return true;
  own = Ref(list ? PyList_AsTuple(list.get()) : nullptr);
  return static_cast<bool>(own);
}

bool OpWithInputs::ask(tarsia_op_handle* handle, PyObject* names, PyObject* const* values) {
  m_op = *tarsia_op_describe(handle);
  if (!TARSIA_DETAIL_GIVES(m_op, name_inputs)) return true;
  uint32_t n = 0, n_outputs = 0;
  if (!ask_op(handle, names, values, [&](const tarsia_op_request& request) {
        const int32_t code = tarsia_op_count(handle, &request, &n, &n_outputs);
        m_ports.resize(n);
        return code ? code : tarsia_op_inputs(handle, &request, m_ports.data(), &n);
      }))
    return false;
  m_op.inputs = m_ports.data();
  m_op.n_inputs = n;
  return true;
}

PyObject* infer_op(tarsia_op_handle* handle, PyObject* shapes, PyObject* dtypes, PyObject* storages,
                   PyObject* names, PyObject* const* values) {
  const tarsia_op& op = *tarsia_op_describe(handle);
  Frame frame;
  std::vector<tarsia_meta> given;
  Attributes attributes;
  if (!read_metas(op, shapes, dtypes, storages, given) ||
      !read_attributes(frame, op, names, values, attributes))
    return nullptr;
  const tarsia_op_request request = request_for(given, attributes, {TARSIA_CPU, 0});
  std::vector<tarsia_meta> inputs(given.size() + k_room), outputs(k_room);
  auto n_inputs = static_cast<uint32_t>(inputs.size()), n_outputs = static_cast<uint32_t>(outputs.size());
  int32_t code;
  {
    const Call call(frame);
    const Unlocked unlocked(true);
    code = tarsia_op_infer(handle, &request, inputs.data(), &n_inputs, outputs.data(), &n_outputs);
  }
  if (code) return raise_last_error();
  inputs.resize(n_inputs);
  inputs.insert(inputs.end(), outputs.begin(), outputs.begin() + n_outputs);
  const Ref all_shapes(PyList_New(0)), all_dtypes(PyList_New(0)), all_storages(PyList_New(0));
  for (const tarsia_meta& meta : inputs) {
    const Ref shape(shape_object(meta)), dtype(dtype_object(meta)), storage(storage_object(meta));
    if (!shape || !dtype || !storage || PyList_Append(all_shapes.get(), shape.get()) != 0 ||
        PyList_Append(all_dtypes.get(), dtype.get()) != 0 ||
        PyList_Append(all_storages.get(), storage.get()) != 0)
      return nullptr;
  }
  if (storages) return PyTuple_Pack(3, all_shapes.get(), all_dtypes.get(), all_storages.get());
  return PyTuple_Pack(2, all_shapes.get(), all_dtypes.get());
}

}  // namespace tarsia::python
