// The plan of an overload: facts about its parameters, found once so that calls need not find them again.
#pragma once

#include <atomic>
#include <vector>

#include "python/core/py.h"

#include <tarsia/detail/argument_rules.h>

namespace tarsia::python {

struct Param : arguments::Param {
  PyObject* name;  ///< interned, owned by the plan
};

struct Plan {
  /// `library_name` lives as long as the function.
  Plan(const tarsia_function* described, const char* library_name);
  Plan(const tarsia_kernel* described, const char* library_name);
  ~Plan();
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  const tarsia_kernel* kernel;  ///< null: it is a function's
  const tarsia_function* function;
  const char* library_name;  ///< main's argv[0]
  tarsia_adapter call;
  uint32_t n_params;
  uint32_t n_required;
  uint32_t n_streams;                   ///< parameters that a caller may leave out
  bool has_cuda;                        ///< launches may leave errors in the CUDA runtime
  mutable std::atomic<bool> needs_gpu;  ///< it takes a stream to launch on, and no GPU was seen yet
  std::vector<Param> params;

  const Param& param(uint32_t i) const { return params[i]; }

 private:
  Plan(const tarsia_function* function, const tarsia_kernel* kernel, const tarsia_function& as_function,
       const char* library_name);

  tarsia_function m_as_function;  ///< describes a kernel
};

/// The index of a parameter by name, or -1.
int find_param(const Plan& plan, PyObject* name);

}  // namespace tarsia::python
