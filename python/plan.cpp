// Plans out of descriptors.
#include "plan.h"

namespace tarsia::python {
namespace {

Place place_of(const tarsia_function& function, const tarsia_type& type) {
  if (type.flags & TARSIA_TYPE_CPU) return Place::cpu;
  if (type.flags & TARSIA_TYPE_GPU) return Place::gpu;
  if (type.kind != TARSIA_KIND_POINTER) return Place::together;
  if (function.flags & TARSIA_FUNCTION_TAKES_STREAM) return Place::gpu;
  return function.flags & TARSIA_FUNCTION_SOURCE_HAS_CUDA ? Place::together : Place::cpu;
}

}  // namespace

Plan::Plan(const tarsia_function* described, const char* library_name)
    : function(described),
      library_name(library_name),
      call(described->call),
      n_params(described->n_params),
      n_required(described->n_required),
      n_streams(0),
      has_cuda((function->flags & (TARSIA_FUNCTION_SOURCE_HAS_CUDA | TARSIA_FUNCTION_MAIN)) ==
               TARSIA_FUNCTION_SOURCE_HAS_CUDA),
      needs_gpu(has_cuda && function->flags & TARSIA_FUNCTION_TAKES_STREAM) {
  params.reserve(n_params);
  for (uint32_t i = 0; i < n_params; ++i) {
    const tarsia_param& param = described->params[i];
    const tarsia_type& type =
        param.type.kind == TARSIA_KIND_LIST && param.type.elements ? *param.type.elements : param.type;
    params.push_back({param.type, place_of(*described, type), PyUnicode_InternFromString(param.name), 0});
    n_streams += param.type.kind == TARSIA_KIND_STREAM;
  }
}

Plan::Plan(const tarsia_kernel& kernel, const tarsia_function* as_function, const char* library_name)
    : Plan(as_function, library_name) {
  kind = "kernel";
  for (uint32_t i = 0; i < n_params; ++i) params[i].bytes = kernel.param_sizes[i];
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
