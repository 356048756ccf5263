// Makes plans from descriptors.
#include "python/call/plan.h"

namespace tarsia::python {
namespace {

tarsia_function describe_as_function(const tarsia_kernel& kernel) {
  return {sizeof(tarsia_function),
          arguments::k_kernel_flags,
          kernel.name,
          kernel.signature,
          kernel.location,
          kernel.n_params,
          kernel.n_params,
          kernel.params,
          {},
          nullptr};
}

}  // namespace

Plan::Plan(const tarsia_function* described, const char* library_name)
    : Plan(described, nullptr, {}, library_name) {}

Plan::Plan(const tarsia_kernel* described, const char* library_name)
    : Plan(nullptr, described, describe_as_function(*described), library_name) {}

Plan::Plan(const tarsia_function* described, const tarsia_kernel* kernel, const tarsia_function& as_function,
           const char* library_name)
    : kernel(kernel),
      function(kernel ? &m_as_function : described),
      library_name(library_name),
      n_streams(0),
      m_as_function(as_function) {
  call = function->call;
  n_params = function->n_params;
  n_required = function->n_required;
  has_cuda = (function->flags & (TARSIA_FUNCTION_SOURCE_HAS_CUDA | TARSIA_FUNCTION_MAIN)) ==
             TARSIA_FUNCTION_SOURCE_HAS_CUDA;
  needs_gpu = has_cuda && function->flags & TARSIA_FUNCTION_TAKES_STREAM;
  params.reserve(n_params);
  for (uint32_t i = 0; i < n_params; ++i) {
    const tarsia_param& param = function->params[i];
    params.push_back({arguments::param_of(function->flags, param.type, kernel ? kernel->param_sizes[i] : 0),
                      PyUnicode_InternFromString(param.name)});
    n_streams += param.type.kind == TARSIA_KIND_STREAM;
  }
}

Plan::~Plan() {
  for (const Param& param : params) Py_XDECREF(param.name);
}

int find_param(const Plan& plan, PyObject* name) {
  for (uint32_t i = 0; i < plan.n_params; ++i)
    if (plan.params[i].name == name) return static_cast<int>(i);
  for (uint32_t i = 0; i < plan.n_params; ++i)
    if (PyUnicode_Compare(plan.params[i].name, name) == 0) return static_cast<int>(i);
  return -1;
}

}  // namespace tarsia::python
