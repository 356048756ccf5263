// Texts of descriptors.
#include <tarsia/abi.h>
#include <tarsia/detail/names.h>

#include <string>

#include "registry/library/library.h"

namespace tarsia::registry {

namespace {

std::string describe(tarsia_dtype dtype) {
  return dtype.code == TARSIA_ANY_DTYPE ? "void" : detail::dtype_name(dtype);
}

std::string describe_bare(const tarsia_type& type) {
  switch (type.kind) {
    case TARSIA_KIND_NONE:
      return "void";
    case TARSIA_KIND_BOOL:
      return "bool";
    case TARSIA_KIND_INT:
    case TARSIA_KIND_FLOAT:
      return describe(type.dtype);
    case TARSIA_KIND_STRING:
      return "string";
    case TARSIA_KIND_TENSOR:
      return type.flags & TARSIA_TYPE_STRIDED ? "tarsia::StridedTensor" : "tarsia::Tensor";
    case TARSIA_KIND_COMPLEX:
      return type.dtype.bits == 64 ? "std::complex<float>" : "std::complex<double>";
    case TARSIA_KIND_SPAN:
      return std::string("std::span<") + ((type.flags & TARSIA_TYPE_CONST) ? "const " : "") +
             describe(type.dtype) + (type.n_elements ? ", " + std::to_string(type.n_elements) : "") + ">";
    case TARSIA_KIND_POINTER: {
      std::string text = ((type.flags & TARSIA_TYPE_CONST) ? "const " : "") + describe(type.dtype);
      if (type.flags & TARSIA_TYPE_CPU) return "tarsia::cpu<" + text + ">";
      if (type.flags & TARSIA_TYPE_GPU) return "tarsia::gpu<" + text + ">";
      return text + "*";
    }
    case TARSIA_KIND_STRUCT: {
      const std::string text = "struct of " + std::to_string(type.n_elements) + " bytes";
      if (type.dtype.bits == 1) return text;
      return ((type.flags & TARSIA_TYPE_CONST) ? "const " : "") + text + "*";
    }
    case TARSIA_KIND_OBJECT:
      return type.dtype.code == TARSIA_TORCH_TENSOR ? "at::Tensor" : "?";
    case TARSIA_KIND_NUMBER:
      return "c10::Scalar";
    case TARSIA_KIND_STREAM:
      return "cudaStream_t";
    case TARSIA_KIND_LIST:
      if (type.dtype.lanes)
        return "std::array<" + registry::describe(*type.elements) + ", " + std::to_string(type.dtype.lanes) +
               ">";
      return "std::vector<" + registry::describe(*type.elements) + ">";
    case TARSIA_KIND_TUPLE: {
      std::string text = "std::tuple<";
      for (unsigned i = 0; i < type.n_elements; ++i)
        text += (i ? ", " : "") + registry::describe(type.elements[i]);
      return text + ">";
    }
    default:
      return "?";
  }
}

}  // namespace

std::string describe(const tarsia_type& type) {
  std::string text = describe_bare(type);
  return (type.flags & TARSIA_TYPE_OPTIONAL) ? "std::optional<" + text + ">" : text;
}

std::string describe(const tarsia_function& function) {
  std::string text = describe(function.result) + " " + function.name + "(";
  for (unsigned i = 0; i < function.n_params; ++i) {
    const tarsia_param& param = function.params[i];
    if (i) text += ", ";
    text += describe(param.type);
    if (param.name && *param.name) text += std::string(" ") + param.name;
    if (i >= function.n_required) text += " = …";
  }
  return text + ")";
}

}  // namespace tarsia::registry
