// The Python classes of the callees that XLA calls.
#include "python/jax/jax.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/call/function.h"
#include "python/core/dtype.h"
#include "python/core/errors.h"
#include "python/jax/jax_call.h"
#include "python/op/op.h"

namespace nb = nanobind;

namespace tarsia::python {
namespace {

/// Keeps a callee registered.
class Callee {
 public:
  explicit Callee(std::shared_ptr<JaxCallee> callee) : m_number(add_jax_callee(std::move(callee))) {}
  ~Callee() { remove_jax_callee(m_number); }
  Callee(const Callee&) = delete;
  Callee& operator=(const Callee&) = delete;
  int64_t number() const { return m_number; }

 private:
  int64_t m_number;
};

struct Op {
  std::shared_ptr<JaxOp> op;
};

/// A Python value: None, bool, int, float, str, or a list or tuple of arguments.
JaxArgument value_of(nb::handle object) {
  JaxArgument argument;
  tarsia_value& value = argument.scalar;
  if (object.is_none()) {
    value.kind = TARSIA_KIND_NONE;
  } else if (PyBool_Check(object.ptr())) {
    value.kind = TARSIA_KIND_BOOL;
    value.i = object.ptr() == Py_True;
  } else if (PyLong_Check(object.ptr())) {
    value.kind = TARSIA_KIND_INT;
    int overflow = 0;
    value.i = run_python<PyLong_AsLongLongAndOverflow>(object.ptr(), &overflow);
    value.size = overflow > 0 ? TARSIA_UNSIGNED : TARSIA_SIGNED;
    if (overflow > 0) value.u = run_python<PyLong_AsUnsignedLongLong>(object.ptr());
    if (overflow < 0) PyErr_SetString(PyExc_OverflowError, "an integer below -2**63 fits no parameter");
    if (PyErr_Occurred()) throw nb::python_error();
  } else if (PyFloat_Check(object.ptr())) {
    value.kind = TARSIA_KIND_FLOAT;
    value.f = run_python<PyFloat_AsDouble>(object.ptr());
  } else if (PyList_Check(object.ptr()) || PyTuple_Check(object.ptr())) {
    argument.kind = JaxArgument::list;
    for (const nb::handle item : object) argument.items.push_back(value_of(item));
  } else {
    argument.text = nb::cast<std::string>(nb::str(object));
    value.kind = TARSIA_KIND_STRING;
    value.size = static_cast<uint32_t>(argument.text.size());
  }
  return argument;
}

/// ("input", i), ("result", i), ("value", object), ("list", [argument, …]) or ("like", (shape, dtype)).
JaxArgument argument_of(nb::handle object) {
  const auto kind = nb::cast<std::string>(object[0]);
  if (kind == "value") return value_of(object[1]);
  JaxArgument argument;
  if (kind == "list") {
    argument.kind = JaxArgument::list;
    for (const nb::handle item : nb::borrow<nb::list>(object[1])) argument.items.push_back(argument_of(item));
    return argument;
  }
  if (kind == "like") {
    argument.kind = JaxArgument::like;
    argument.shape = nb::cast<std::vector<int64_t>>(object[1][0]);
    argument.dtype = dtype_named(nb::cast<std::string>(object[1][1]));
    return argument;
  }
  argument.kind = kind == "input" ? JaxArgument::input : JaxArgument::result;
  argument.index = nb::cast<uint32_t>(object[1]);
  return argument;
}

std::vector<JaxArgument> arguments_of(const nb::list& list) {
  std::vector<JaxArgument> arguments;
  for (const nb::handle one : list) arguments.push_back(argument_of(one));
  return arguments;
}

nb::object capsule(xla::Error* (*handler)(xla::Frame*)) {
  return nb::steal(PyCapsule_New(reinterpret_cast<void*>(handler), nullptr, nullptr));
}

}  // namespace

void add_jax(nb::module_& module) {
  nb::class_<Callee>(module, "JaxCallee").def_prop_ro("number", &Callee::number);
  nb::class_<Op>(module, "JaxOp")
      .def("__init__",
           [](Op* self, nb::handle op, const nb::dict& attributes) {
             std::vector<JaxOp::Attribute> list;
             for (const auto& [name, value] : attributes)
               list.push_back({nb::cast<std::string>(nb::str(name)), value_of(value)});
             OpRef registered = registered_op(op.ptr());
             if (!registered) throw nb::python_error();
             new (self) Op{std::make_shared<JaxOp>(std::move(registered), std::move(list))};
           })
      .def("is_of", [](const Op& self, nb::handle op) {
        const OpRef registered = registered_op(op.ptr());
        if (!registered) throw nb::python_error();
        return self.op->is_of(registered);
      });
  module.def("jax_function", [](nb::handle function, const nb::list& arguments, uint32_t first_result) {
    FunctionParts parts = parts_of(function.ptr());
    if (!parts.library) {
      raise_argument_error(false, "expected a tarsia.Function");
      throw nb::python_error();
    }
    return new Callee(std::make_shared<JaxFunction>(LibraryRef::borrow(parts.library),
                                                    std::move(parts.overloads), arguments_of(arguments),
                                                    first_result));
  });
  module.def("jax_pass", [](const Op& op, bool backward, uint32_t first_input, uint32_t n_inputs,
                            const nb::list& arguments, std::vector<int32_t> results) {
    return new Callee(std::make_shared<JaxPass>(op.op, backward ? TARSIA_BACKWARD : TARSIA_FORWARD,
                                                first_input, n_inputs, arguments_of(arguments),
                                                std::move(results)));
  });
  module.def("jax_handlers",
             [] { return nb::make_tuple(capsule(jax_handler_on_cpu), capsule(jax_handler_on_gpu)); });
}

}  // namespace tarsia::python
