// Plans out of descriptors.
#include "python/call/plan.h"

namespace tarsia::python {
namespace {

Place place_of(const tarsia_function& function, const tarsia_type& type) {
  if (type.flags & TARSIA_TYPE_CPU) return Place::cpu;
  if (type.flags & TARSIA_TYPE_GPU) return Place::gpu;
  if (type.kind != TARSIA_KIND_POINTER) return Place::together;
  if (function.flags & TARSIA_FUNCTION_TAKES_STREAM) return Place::gpu;
  return function.flags & TARSIA_FUNCTION_SOURCE_HAS_CUDA ? Place::together : Place::cpu;
}

tarsia_function describe_as_function(const tarsia_kernel& kernel) {
  return {sizeof(tarsia_function),
          TARSIA_FUNCTION_SOURCE_HAS_CUDA | TARSIA_FUNCTION_TAKES_STREAM,
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
    const tarsia_type& type =
        param.type.kind == TARSIA_KIND_LIST && param.type.elements ? *param.type.elements : param.type;
    params.push_back({param.type, place_of(*function, type), PyUnicode_InternFromString(param.name),
                      kernel ? kernel->param_sizes[i] : 0});
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
