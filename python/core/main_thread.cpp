// Python's main thread, the one that handles signals.
#include "python/core/main_thread.h"

#include <pthread.h>

#include <atomic>

#include "python/core/py.h"

namespace tarsia::python {
namespace {

std::atomic<pthread_t> g_main_thread{};

}  // namespace

void find_main_thread() {
  g_main_thread = pthread_self();
  const Ref threading(import_module("threading"));
  const Ref thread(threading ? call_method(threading.get(), "main_thread", nullptr) : nullptr);
  const Ref number(thread ? run_python<PyObject_GetAttrString>(thread.get(), "ident") : nullptr);
  // Python's number of a thread is its pthread_t.
  if (number && PyLong_Check(number.get()))
    if (const unsigned long found = run_python<PyLong_AsUnsignedLong>(number.get()); !PyErr_Occurred())
      g_main_thread = static_cast<pthread_t>(found);
  PyErr_Clear();
  pthread_atfork(nullptr, nullptr, [] { g_main_thread = pthread_self(); });
}

bool is_main_thread() noexcept {
  return pthread_equal(g_main_thread.load(std::memory_order_relaxed), pthread_self()) != 0;
}

}  // namespace tarsia::python
