// Builds the Python objects that describe functions, ops and attributes.
#include "python/core/describe.h"

#include <tarsia/detail/support.h>

#include "python/core/dtype.h"

namespace tarsia::python {
namespace {

PyObject* text_object(const char* utf8) {
  return PyUnicode_FromString(utf8 ? utf8 : "");
}

PyObject* none() {
  return Ref::borrow(Py_None).release();
}

PyObject* describe_type(const tarsia_type& type) {
  const bool has_dtype = type.dtype.lanes && type.dtype.code != TARSIA_ANY_DTYPE;
  PyObject* dtype = has_dtype ? PyUnicode_FromString(dtype_name(type.dtype).c_str()) : none();
  const bool has_items = type.kind == TARSIA_KIND_LIST || type.kind == TARSIA_KIND_TUPLE;
  const uint32_t n = has_items && type.elements ? type.n_elements : 0;
  return Py_BuildValue("iiNN", type.kind, type.flags, dtype,
                       tuple_of(n, [&](uint64_t i) { return describe_type(type.elements[i]); }));
}

PyObject* default_of(const tarsia_attribute& attribute) {
  if (attribute.default_value) return Py_BuildValue("(N)", value_object(*attribute.default_value));
  if (attribute.default_text) return Py_BuildValue("(N)", text_object(attribute.default_text));
  return PyTuple_New(0);
}

PyObject* describe_attribute(const tarsia_attribute& attribute) {
  return Py_BuildValue("NiNNN", text_object(attribute.name), attribute.flags, describe_type(attribute.type),
                       default_of(attribute), tuple_of(attribute.n_choices, [&](uint64_t i) {
                         return text_object(attribute.choices[i]);
                       }));
}

}  // namespace

PyObject* describe_ports(const tarsia_port* ports, uint32_t n) {
  return tuple_of(
      n, [&](uint64_t i) { return Py_BuildValue("Ni", text_object(ports[i].name), ports[i].flags); });
}

PyObject* value_object(const tarsia_value& value) {
  switch (value.kind) {
    case TARSIA_KIND_BOOL:
      return PyBool_FromLong(value.i != 0);
    case TARSIA_KIND_INT:
      return value.size == TARSIA_UNSIGNED ? PyLong_FromUnsignedLongLong(value.u)
                                           : PyLong_FromLongLong(value.i);
    case TARSIA_KIND_FLOAT:
      return PyFloat_FromDouble(value.f);
    case TARSIA_KIND_STRING:
      return PyUnicode_DecodeUTF8(value.s, value.size, "surrogateescape");
    case TARSIA_KIND_LIST:
    case TARSIA_KIND_TUPLE:
      return tuple_of(value.size, [&](uint64_t i) { return value_object(value.v[i]); });
    default:
      return none();
  }
}

PyObject* describe_function(const tarsia_function& function) {
  PyObject* params = tuple_of(function.n_params, [&](uint64_t i) {
    return Py_BuildValue("NN", text_object(function.params[i].name), describe_type(function.params[i].type));
  });
  return Py_BuildValue("NIINN", text_object(function.name), function.flags, function.n_required, params,
                       describe_type(function.result));
}

PyObject* describe_op(const tarsia_op& op) {
  PyObject* implementations = tuple_of(op.n_implementations, [&](uint64_t i) {
    const tarsia_implementation& one = op.implementations[i];
    return Py_BuildValue("iiN", one.device_type, one.pass, PyBool_FromLong(one.storage_any != 0));
  });
  const bool has_needs = TARSIA_DETAIL_HAS_FIELD(op, needs);
  PyObject* needs = has_needs && op.backward_needs
                        ? tuple_of(op.n_backward_needs,
                                   [&](uint64_t i) { return PyUnicode_FromString(op.backward_needs[i]); })
                        : Ref::borrow(Py_None).release();
  return Py_BuildValue(
      "{sI sN sN sN sN sN sN sN sN sN sN sN sN}", "flags", op.flags, "inputs",
      describe_ports(op.inputs, op.n_inputs), "outputs", describe_ports(op.outputs, op.n_outputs),
      "attributes",
      tuple_of(op.n_attributes, [&](uint64_t i) { return describe_attribute(op.attributes[i]); }),
      "implementations", implementations, "arity", PyBool_FromLong(op.arity != nullptr), "infer",
      PyBool_FromLong(op.infer != nullptr), "state", PyBool_FromLong(op.create_state != nullptr),
      "backward_needs", needs, "amends_needs", PyBool_FromLong(has_needs && op.needs), "tells_visible",
      PyBool_FromLong(TARSIA_DETAIL_GIVES(op, visible)), "names_inputs",
      PyBool_FromLong(TARSIA_DETAIL_GIVES(op, name_inputs)), "location", text_object(op.location));
}

}  // namespace tarsia::python
