// Waiting for libtarsia from Python: progress, signals, and an end that does not wait.
#include "python/core/waiting.h"

#include <tarsia/c_api.h>

#include <utility>

namespace tarsia::python {
namespace {

/// The exception that a signal's handler raised during a wait for a compile, kept until the wait has ended.
/// Not a Ref: threads may end after the interpreter.
thread_local PyObject* t_raised = nullptr;

thread_local const Stop* t_stop = nullptr;

/// Keeps the error in flight, if there is one. Returns whether there was.
bool keep_raised() {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  if (!type) return false;
  run_python<PyErr_NormalizeException>(&type, &value, &trace);
  if (trace) PyException_SetTraceback(value, trace);
  Py_XDECREF(type);
  Py_XDECREF(trace);
  const Ref before(std::exchange(t_raised, value));  // ends here
  return true;
}

}  // namespace

StopScope::StopScope(const Stop& stop) : m_outer(std::exchange(t_stop, &stop)) {}

StopScope::~StopScope() {
  t_stop = m_outer;
}

Wait::~Wait() {
  if (!m_ticked) return;
  if (const Ref module = loaded_module("tarsia._progress")) Ref(call_method(module.get(), "done", nullptr));
  keep_raised();
}

void Wait::tick() {
  using Seconds = std::chrono::duration<double>;
  const auto now = std::chrono::steady_clock::now();
  // A compile asks every 50 ms. After a longer pause it was something else that ran, as a cell does.
  constexpr double k_pause = 0.3;
  if (Seconds(now - std::exchange(m_last, now)).count() > k_pause) m_began = now;
  const double seconds = Seconds(now - m_began).count();
  constexpr double k_patience = 0.5;
  if (seconds < k_patience) return;
  m_ticked = true;
  if (const Ref module{import_module("tarsia._progress")})
    Ref(call_method(module.get(), "tick", "sd", m_name, seconds));
  else if (PyErr_ExceptionMatches(PyExc_OSError))
    PyErr_Clear();  // no descriptor is left to read it with: the compile goes on without a line of progress
}

int32_t Wait::interrupted(void* wait) {
  if (t_stop && t_stop->is_set()) return 1;
  const Locked locked;
  // tarsia._progress raises only exceptions that a signal's handler raises in it.
  if (PyErr_CheckSignals() == 0) static_cast<Wait*>(wait)->tick();
  return keep_raised();
}

int32_t wait_for(const char* name, int32_t (*call)(void* user), void* user) {
  Wait wait(name);
  const Unlocked unlocked;
  return tarsia_interruptible(call, user, &Wait::interrupted, &wait);
}

bool raise_interruption() {
  PyObject* raised = std::exchange(t_raised, nullptr);
  if (!raised) return false;
  Ref type = Ref::borrow(reinterpret_cast<PyObject*>(Py_TYPE(raised)));
  PyErr_Restore(type.release(), raised, PyException_GetTraceback(raised));
  return true;
}

}  // namespace tarsia::python
