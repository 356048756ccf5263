// Makes Python exceptions from error codes. Their classes stand in tarsia/_errors.py.
#include "python/core/errors.h"

#include <tarsia/c_api.h>

#include <cstring>

#include "python/core/pending_exception.h"

namespace tarsia::python {
namespace {

PyObject* text(const char* utf8) {
  return PyUnicode_DecodeUTF8(utf8 ? utf8 : "", utf8 ? std::strlen(utf8) : 0, "replace");
}

/// The class of tarsia._errors that a code stands for.
const char* class_of(int32_t code) {
  switch (code) {
#define TARSIA_DETAIL_ROW(code_, number_, enumerator_, cpp_, python_) \
  case code_:                                                         \
    return #python_;
    TARSIA_DETAIL_ERROR_ROWS(TARSIA_DETAIL_ROW)
#undef TARSIA_DETAIL_ROW
    default:
      return "Error";  // of a libtarsia newer than this package
  }
}

/// An exception of the class that stands for a code; null with an error set if that fails.
Ref make_error(int32_t code, const char* message) {
  const Ref module(import_module("tarsia._errors"));
  if (!module) return {};
  return Ref(call_method(module.get(), class_of(code), "N", text(message)));
}

/// A tuple of (file, line, column, severity, message).
Ref diagnostics_of(const tarsia_error& error) {
  Ref list(PyList_New(0));
  for (uint64_t i = 0; list && i < error.n_diagnostics; ++i) {
    const tarsia_diagnostic& diagnostic = error.diagnostics[i];
    const Ref item(Py_BuildValue("NiiNN", text(diagnostic.file), diagnostic.line, diagnostic.column,
                                 text(diagnostic.severity), text(diagnostic.message)));
    if (!item || PyList_Append(list.get(), item.get()) != 0) return {};
  }
  return list;
}

void raise(const Ref& error) {
  if (error) PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.get())), error.get());
}

}  // namespace

PyObject* raise_last_error() {
  const tarsia_error* last = tarsia_last_error();
  const Ref error = make_error(last->code, last->message);
  const Ref diagnostics = error ? diagnostics_of(*last) : Ref();
  if (!diagnostics) return nullptr;
  if (Ref cause = take_exception(last->message)) {
    // Ctrl-C and the like pass through unchanged.
    if (!run_python<PyObject_IsInstance>(cause.get(), PyExc_Exception)) {
      raise(cause);
      return nullptr;
    }
    PyException_SetCause(error.get(), cause.release());
  }
  const Ref done(
      call_method(error.get(), "_set_details", "NNO", text(last->stage), text(last->log), diagnostics.get()));
  if (done) raise(error);
  return nullptr;
}

PyObject* raise_argument_error(bool is_value_error, const std::string& message, Ref cause) {
  const Ref error =
      make_error(is_value_error ? TARSIA_ARGUMENT_VALUE : TARSIA_ARGUMENT_TYPE, message.c_str());
  if (!error) return nullptr;
  if (cause) PyException_SetCause(error.get(), cause.release());
  raise(error);
  return nullptr;
}

PyObject* refuse_call(PyTypeObject* type, const char* made) {
  const Ref name = attribute_or_null(reinterpret_cast<PyObject*>(type), "__name__");
  return raise_argument_error(false, text_of(name.get()) + "() is not for programs; " + made);
}

std::string take_error(Ref* cause) {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  run_python<PyErr_NormalizeException>(&type, &value, &traceback);
  const Ref types(type), tracebacks(traceback);
  Ref exception(value);
  const Ref words(value ? run_python<PyObject_Str>(value) : nullptr);
  PyErr_Clear();
  const std::string message = words ? text_of(words.get()) : "";
  if (cause) *cause = std::move(exception);
  return message.substr(0, message.find('\n'));
}

}  // namespace tarsia::python
