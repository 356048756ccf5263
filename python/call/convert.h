// Python's arguments, in the form that the rules of <tarsia/detail/argument_match.h> need. Plain tensors,
// ints and floats have a fast path before the rules.
#pragma once

#include <tarsia/detail/argument_match.h>

#include "python/call/plan.h"
#include "python/tensor/view.h"

namespace tarsia::python {

using arguments::Fit;

/// The face over Python's objects: the arguments of the call of a frame.
class PythonFace {
 public:
  using Argument = PyObject*;
  using Memory = View;
  struct List {
    PyObject* items;  ///< a tuple
    uint64_t n;
    PyObject* operator[](uint64_t i) const { return PyTuple_GetItem(items, static_cast<Py_ssize_t>(i)); }
  };

  explicit PythonFace(Frame& frame) : m_frame(frame) {}

  bool is_none(PyObject* object) const { return object == Py_None; }
  bool is_stream(PyObject* object) const;
  arguments::Numeric numeric(PyObject* object) const;
  Why read_integer(const tarsia_type& type, PyObject* object, arguments::Integer& number) const;
  Why read_float(PyObject* object, double& number) const;
  Why read_complex(PyObject* object, double (&parts)[2]) const;
  Why read_text(PyObject* object, const char*& text, uint64_t& size) const;
  Why read_memory(const tarsia_type& type, PyObject* object, const View*& memory) {
    View* view = m_frame.new_view(object, !(type.flags & TARSIA_TYPE_CONST));
    memory = view;
    return view_of(m_frame, *view);
  }
  Why read_stream(PyObject* object, void*& stream);
  Why read_list(const tarsia_type& element, PyObject* object, List& list);
  Why read_object(const tarsia_type& type, PyObject* object, void*& handle) const;
  Why read_bytes(const tarsia_type& type, PyObject* object, tarsia_value& value);
  Why read_struct(const arguments::Param& param, PyObject* object, tarsia_value& value);
  /// A kernel takes a ctypes.c_void_p for a pointer.
  Why read_address(const arguments::Param& param, PyObject* object, tarsia_value& value, Why why) const {
    return why == Why::fits || !param.bytes ? why : read_c_void_p(object, value, why);
  }
  Why convert(const arguments::Param& param, const tarsia_type& type, Fit fit, PyObject* object,
              tarsia_value& value);
  void* current_stream();
  template <class T>
  T* room_for(size_t n) {
    return m_frame.room_for<T>(n);
  }
  arguments::Together& together() { return m_frame.together; }
  arguments::Blame<PyObject*, View>& blame() { return m_frame.blame; }

 private:
  static Why read_c_void_p(PyObject* object, tarsia_value& value, Why why);

  Frame& m_frame;
};

/// By the rules alone.
Why convert_by_rules(Frame& frame, const arguments::Param& param, const tarsia_type& type, Fit fit,
                     PyObject* object, tarsia_value& value);

/// Converts an argument for a parameter. `type` is that of the parameter, or of the items of its list. If
/// the result is not Why::fits, frame.blame says more.
inline Why convert(Frame& frame, const arguments::Param& param, const tarsia_type& type, Fit fit,
                   PyObject* object, tarsia_value& value) {
  if (type.kind == TARSIA_KIND_POINTER) {
    if (object != Py_None) [[likely]] {
      PythonFace face(frame);
      return arguments::convert_pointer(face, param, type, object, value);
    }
  } else if (type.kind == TARSIA_KIND_TENSOR) {
    if (object != Py_None) [[likely]] {
      PythonFace face(frame);
      return arguments::convert_tensor(face, param, type, object, value);
    }
  } else if (type.kind == TARSIA_KIND_INT) {
    if (PyLong_CheckExact(object)) [[likely]] {
      int overflow = 0;
      const long long number = run_python<PyLong_AsLongLongAndOverflow>(object, &overflow);
      if (!overflow) [[likely]] {
        arguments::set_int(value, number);
        return arguments::integer_fits(type.dtype, int64_t{number}) ? Why::fits : Why::range;
      }
    }
  } else if (type.kind == TARSIA_KIND_FLOAT) {
    if (PyFloat_CheckExact(object)) [[likely]] {
      arguments::set_float(value, run_python<PyFloat_AsDouble>(object));
      return arguments::float_fits(type.dtype, value.f) ? Why::fits : Why::range;
    }
  }
  return convert_by_rules(frame, param, type, fit, object, value);
}
inline Why convert(Frame& frame, const Param& param, Fit fit, PyObject* object, tarsia_value& value) {
  return convert(frame, param, param.type, fit, object, value);
}

inline Why PythonFace::convert(const arguments::Param& param, const tarsia_type& type, Fit fit,
                               PyObject* object, tarsia_value& value) {
  return python::convert(m_frame, param, type, fit, object, value);
}

}  // namespace tarsia::python
