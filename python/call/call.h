// From Python's arguments to a C++ call and back: matching, entering and leaving.
#pragma once

#include <tarsia/c_api.h>

#include "python/call/explain.h"
#include "python/core/driver.h"

namespace tarsia::python {

/// Python's arguments, in vectorcall's form.
struct Arguments {
  PyObject* const* items;
  uint32_t n_positional;
  PyObject* names;  ///< of those after the positional ones, or null

  uint32_t n_named() const { return names ? static_cast<uint32_t>(PyTuple_Size(names)) : 0; }
  PyObject* positional(uint32_t i) const { return items[i]; }
  bool assign_by_name(const Plan& plan, PyObject** given, Mismatch& mismatch) const;
  /// All in a tuple, the library's name first.
  PyObject* words_of_main(Frame& frame, const Plan& plan, Mismatch& mismatch) const;
};

/// Assigns arguments to parameters and converts them. False: `mismatch` says why.
bool match(Frame& frame, const Plan& plan, Fit fit, const Arguments& arguments, tarsia_value* values,
           uint32_t& n_values, Mismatch& mismatch);

/// Surrounds a call into libtarsia: the current framework, device and stream, until it is destroyed.
class Call {
 public:
  explicit Call(Frame& frame) : Call(frame, nullptr, nullptr, 0) {}
  /// `function` runs from here on, with `values`: reports of crashes say so.
  Call(Frame& frame, const tarsia_function* function, const tarsia_value* values, uint32_t n)
      : m_slot(slot()), m_context(k_context) {
    if (frame.first.framework > 0) m_context.framework = static_cast<uint32_t>(frame.first.framework);
    m_context.user = &frame;
    if (frame.first.exchange) m_context.empty = empty_by_exchange;
    m_context.function = function;
    m_context.args = values;
    m_context.n_args = n;
    if (frame.gpu >= 0) on_gpu(frame);
    tarsia_enter_call(m_slot, &m_context);
  }
  ~Call() {
    tarsia_leave_call(m_slot, &m_context);
    if (m_other_device) leave_device();
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

 private:
  static tarsia_call_context** slot() {
    [[gnu::tls_model("initial-exec")]] static thread_local tarsia_call_context** t_slot = nullptr;
    if (!t_slot) [[unlikely]]
      t_slot = tarsia_call_slot();
    return t_slot;
  }
  void on_gpu(Frame& frame);
  static tarsia_storage* empty_by_exchange(void* frame, const int64_t* shape, int32_t ndim,
                                           tarsia_dtype dtype, tarsia_device device);
  static void* current_stream(void* frame, int32_t device);
  static int32_t interrupted(void* frame);
  static tarsia_storage* share(void* frame, const tarsia_tensor* argument);
  static int32_t resize(void* frame, const tarsia_tensor* argument, const int64_t* shape, int32_t ndim);
  static const tarsia_tensor* tensor_at(void* frame, const void* address);

  static const tarsia_call_context k_context;  ///< what all calls begin with

  tarsia_call_context** m_slot;
  tarsia_call_context m_context;
  bool m_other_device = false;
};

/// Raises the exception of a handler of signals that ended a call, or that came when the call's code went on.
PyObject* raise_interruption_of_call();

}  // namespace tarsia::python
