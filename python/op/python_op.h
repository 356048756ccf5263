// Ops that are written in Python: registered like any other; their functions call back into Python.
#pragma once

#include <nanobind/nanobind.h>

#include "python/tensor/frame.h"

namespace tarsia::python {

class Outputs;

/// Adds define_op to the module.
void add_python_ops(nanobind::module_& module);

/// Records this thread's current call of a bound op, so that an op written in Python gets its caller's own
/// tensors.
class CallUnderWay {
 public:
  CallUnderWay(Frame& frame, Outputs& outputs) : frame(frame), outputs(outputs), m_previous(t_innermost) {
    t_innermost = this;
  }
  ~CallUnderWay() { t_innermost = m_previous; }
  CallUnderWay(const CallUnderWay&) = delete;
  CallUnderWay& operator=(const CallUnderWay&) = delete;
  static CallUnderWay* innermost() { return t_innermost; }

  Frame& frame;
  Outputs& outputs;

 private:
  CallUnderWay* m_previous;
  static thread_local CallUnderWay* t_innermost;
};

}  // namespace tarsia::python
