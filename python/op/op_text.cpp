// Texts about ops.
#include "python/op/op_text.h"

#include <tarsia/detail/names.h>

#include "python/core/describe.h"
#include "python/core/dtype.h"

namespace tarsia::python {
namespace {

std::string ports_text(const tarsia_port* ports, uint32_t n) {
  std::string text;
  for (uint32_t i = 0; i < n; ++i) {
    if (ports[i].flags & TARSIA_PORT_HIDDEN) continue;
    if (!text.empty()) text += ", ";
    if (ports[i].flags & TARSIA_PORT_VARIADIC) text += "*";
    text += ports[i].name;
    if (ports[i].flags & TARSIA_PORT_OPTIONAL) text += "=None";
  }
  return text;
}

/// "=2.0", or nothing for a required attribute. An enumerator by its name.
std::string default_text(const tarsia_attribute& attribute) {
  if (attribute.default_value) {
    const tarsia_value& value = *attribute.default_value;
    const bool is_choice =
        value.kind == TARSIA_KIND_INT && value.i >= 0 && static_cast<uint64_t>(value.i) < attribute.n_choices;
    Ref object(is_choice ? PyUnicode_FromString(attribute.choices[value.i]) : value_object(value));
    if (value.kind == TARSIA_KIND_LIST) object = Ref(run_python<PySequence_List>(object.get()));
    return "=" + text_of(Ref(run_python<PyObject_Repr>(object.get())).get());
  }
  if (attribute.default_text && attribute.type.kind == TARSIA_KIND_STRING)
    return "=" +
           text_of(
               Ref(run_python<PyObject_Repr>(Ref(PyUnicode_FromString(attribute.default_text)).get())).get());
  if (attribute.default_text) return std::string("=") + attribute.default_text;
  return attribute.flags & TARSIA_ATTRIBUTE_REQUIRED ? "" : "=None";
}

}  // namespace

std::string op_text(const tarsia_op& op) {
  std::string text = std::string(op.name) + "(" + ports_text(op.inputs, op.n_inputs);
  for (uint32_t i = 0; i < op.n_attributes; ++i) {
    const tarsia_attribute& attribute = op.attributes[i];
    text += (i == 0 ? (op.n_inputs ? ", *, " : "*, ") : ", ") + std::string(attribute.name);
    text += default_text(attribute);
  }
  return text + ") -> (" + ports_text(op.outputs, op.n_outputs) + ")";
}

std::string op_doc(const tarsia_op& op) {
  std::string text = op_text(op);
  if (op.description && *op.description) text += std::string("\n\n") + op.description;
  bool first = true;
  for (uint32_t i = 0; i < op.n_attributes; ++i) {
    const tarsia_attribute& attribute = op.attributes[i];
    if (!attribute.description || !*attribute.description) continue;
    text += std::string(first ? "\n\n" : "\n") + attribute.name + ": " + attribute.description;
    first = false;
  }
  return text;
}

PyObject* shape_object(const tarsia_meta& meta) {
  if (meta.ndim < 0) return Ref::borrow(Py_None).release();
  return tuple_of(static_cast<uint64_t>(meta.ndim), [&](uint64_t i) {
    return meta.shape[i] < 0 ? Ref::borrow(Py_None).release() : PyLong_FromLongLong(meta.shape[i]);
  });
}

PyObject* dtype_object(const tarsia_meta& meta) {
  if (meta.dtype.code == TARSIA_ANY_DTYPE) return Ref::borrow(Py_None).release();
  return PyUnicode_FromString(dtype_name(meta.dtype).c_str());
}

PyObject* storage_object(const tarsia_meta& meta) {
  if (meta.storage == TARSIA_ANY_STORAGE) return Ref::borrow(Py_None).release();
  return PyUnicode_FromString(tarsia::detail::k_storage_names[meta.storage]);
}

PyObject* metas_object(const tarsia_meta* metas, uint32_t n) {
  return tuple_of(n, [&](uint64_t i) {
    return metas[i].present ? Py_BuildValue("NN", shape_object(metas[i]), dtype_object(metas[i]))
                            : Ref::borrow(Py_None).release();
  });
}

}  // namespace tarsia::python
