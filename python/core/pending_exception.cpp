// Keeps a thread's Python exception until an error of libtarsia asks for it.
#include "python/core/pending_exception.h"

#include <string_view>
#include <utility>

namespace tarsia::python {
namespace {

struct Pending {
  PyObject* exception = nullptr;  ///< owned
  std::string text;
};
// Not a Ref: threads may end after the interpreter.
thread_local Pending t_pending;

}  // namespace

void keep_exception(const std::string& text, Ref exception) {
  t_pending.text = text;
  Py_XDECREF(t_pending.exception);
  t_pending.exception = exception.release();
}

void drop_traceback() {
  if (t_pending.exception) PyException_SetTraceback(t_pending.exception, Py_None);
}

Ref take_exception(const char* message) {
  if (!t_pending.exception) return {};
  const std::string_view whole = message ? message : "";
  Ref exception(std::exchange(t_pending.exception, nullptr));
  return whole.find(t_pending.text) != std::string_view::npos ? std::move(exception) : Ref();
}

}  // namespace tarsia::python
