// Converts values to parameters, kind by kind.
#include "registry/call/arguments.h"

#include <cmath>
#include <cstring>

#include "registry/library/library.h"
#include "registry/op/infer.h"
#include "registry/resources/call_context.h"
#include "registry/resources/memory.h"

namespace tarsia::registry {

namespace {

std::string kind_text(const tarsia_value& value) {
  switch (value.kind) {
    case TARSIA_KIND_NONE:
      return "nothing";
    case TARSIA_KIND_BOOL:
      return "a bool";
    case TARSIA_KIND_INT:
      return "an integer";
    case TARSIA_KIND_FLOAT:
      return "a floating-point number";
    case TARSIA_KIND_STRING:
      return "a string";
    case TARSIA_KIND_TENSOR:
      return "a tensor";
    case TARSIA_KIND_POINTER:
      return "a pointer";
    case TARSIA_KIND_STREAM:
      return "a stream";
    case TARSIA_KIND_LIST:
    case TARSIA_KIND_TUPLE:
      return "a list";
    default:
      return "something unknown";
  }
}

Misfit wrong_kind(const tarsia_type& type, const tarsia_value& given) {
  return {true, "has to be " + describe(type) + ", not " + kind_text(given)};
}

std::optional<Misfit> convert_int(const tarsia_type& type, const tarsia_value& given, tarsia_value& out) {
  if (given.kind != TARSIA_KIND_INT && given.kind != TARSIA_KIND_BOOL) return wrong_kind(type, given);
  const int bits = type.dtype.bits ? type.dtype.bits : 64;
  const bool is_unsigned = type.dtype.code == TARSIA_UINT;
  bool fits = true;
  if (is_unsigned)
    fits = bits >= 64 || given.u < (std::uint64_t{1} << bits);
  else if (bits < 64)
    fits = given.i >= -(std::int64_t{1} << (bits - 1)) && given.i < (std::int64_t{1} << (bits - 1));
  if (!fits)
    return Misfit{false,
                  "has to fit into " + describe(type) + ", and " + std::to_string(given.i) + " does not"};
  out.i = given.i;
  out.kind = TARSIA_KIND_INT;
  return std::nullopt;
}

std::string device_text(tarsia_device device) {
  return is_gpu(device) ? "GPU " + std::to_string(device.id) : "the CPU";
}

/// All tensors of a call lie on one device.
std::optional<Misfit> join(const tarsia_tensor& tensor, const tarsia_type& type, CallPlace& place) {
  const bool gpu = is_gpu(tensor.device);
  if ((type.flags & TARSIA_TYPE_CPU) && gpu)
    return Misfit{false, "has to be on the CPU, not on " + device_text(tensor.device)};
  if (((type.flags & TARSIA_TYPE_GPU) || place.needs_gpu) && !gpu && !(type.flags & TARSIA_TYPE_CPU))
    return Misfit{false, "has to be on a GPU, not on the CPU"};
  if (place.needs_cpu && gpu && !(type.flags & TARSIA_TYPE_GPU))
    return Misfit{false, "has to be on the CPU: the function's source has no CUDA"};
  if (type.flags & (TARSIA_TYPE_CPU | TARSIA_TYPE_GPU) && !gpu)
    return std::nullopt;  // declared; may differ from the others
  if (!place.has_tensor || (gpu && !is_gpu(place.device) && (type.flags & TARSIA_TYPE_GPU))) {
    place.device = gpu ? tarsia_device{TARSIA_GPU, tensor.device.id} : tarsia_device{TARSIA_CPU, 0};
    place.has_tensor = true;
    return std::nullopt;
  }
  if (gpu != is_gpu(place.device) || (gpu && tensor.device.id != place.device.id))
    return Misfit{false, "is on " + device_text(tensor.device) + ", the tensors before it on " +
                             device_text(place.device)};
  return std::nullopt;
}

bool fits_dtype(const tarsia_type& type, const tarsia_tensor& tensor) {
  const tarsia_dtype want = type.dtype, have = tensor.dtype;
  if (want.code == TARSIA_ANY_DTYPE) return true;
  if (want.code != have.code || want.bits != have.bits) return false;
  if (want.lanes == have.lanes) return true;
  // float4* takes float tensors whose last extent holds whole vectors.
  return have.lanes == 1 && tensor.ndim > 0 && tensor.shape[tensor.ndim - 1] % want.lanes == 0;
}

std::optional<Misfit> convert_pointer(const tarsia_type& type, const tarsia_value& given, CallPlace& place,
                                      tarsia_value& out) {
  out.kind = TARSIA_KIND_POINTER;
  if (given.kind == TARSIA_KIND_POINTER) {  // a bare address: the caller knows what it does
    out.p = given.p;
    return std::nullopt;
  }
  if (given.kind != TARSIA_KIND_TENSOR) return wrong_kind(type, given);
  const tarsia_tensor& tensor = *given.t;
  if (!fits_dtype(type, tensor)) {
    tarsia_type have{};
    have.kind = TARSIA_KIND_INT;
    have.dtype = tensor.dtype;
    return Misfit{true, "has to be " + describe(type) + ", not a tensor of " + describe(have)};
  }
  if (!is_contiguous(tensor)) return Misfit{false, "has to be contiguous"};
  out.p = tensor.data ? data_of(tensor) : nullptr;
  return join(tensor, type, place);
}

}  // namespace

std::string param_name(const tarsia_param& param, unsigned i) {
  return param.name && *param.name ? std::string("argument '") + param.name + "'"
                                   : "argument " + std::to_string(i + 1);
}

std::optional<Misfit> convert(const tarsia_type& type, const tarsia_value& given, CallPlace& place,
                              tarsia_value& out) {
  out = given;
  if (given.kind == TARSIA_KIND_NONE && (type.flags & TARSIA_TYPE_OPTIONAL)) return std::nullopt;
  switch (type.kind) {
    case TARSIA_KIND_BOOL:
      if (given.kind != TARSIA_KIND_BOOL) return wrong_kind(type, given);
      return std::nullopt;
    case TARSIA_KIND_INT:
      return convert_int(type, given, out);
    case TARSIA_KIND_FLOAT:
      if (given.kind == TARSIA_KIND_INT)
        out.f = static_cast<double>(given.i);
      else if (given.kind != TARSIA_KIND_FLOAT)
        return wrong_kind(type, given);
      out.kind = TARSIA_KIND_FLOAT;
      return std::nullopt;
    case TARSIA_KIND_STRING:
      if (given.kind != TARSIA_KIND_STRING) return wrong_kind(type, given);
      if ((type.flags & TARSIA_TYPE_NO_NUL) && std::memchr(given.s, '\0', given.size))
        return Misfit{false, "has to be without NUL characters, at which a const char* ends"};
      return std::nullopt;
    case TARSIA_KIND_TENSOR:
      if (given.kind != TARSIA_KIND_TENSOR) return wrong_kind(type, given);
      // A Tensor parameter tells its own device: only pointers have to agree with the function's needs.
      if (!place.has_tensor && is_gpu(given.t->device)) {
        place.device = {TARSIA_GPU, given.t->device.id};
        place.has_tensor = true;
      }
      return std::nullopt;
    case TARSIA_KIND_POINTER:
      return convert_pointer(type, given, place, out);
    case TARSIA_KIND_STREAM:
      if (given.kind != TARSIA_KIND_STREAM && given.kind != TARSIA_KIND_POINTER)
        return wrong_kind(type, given);
      return std::nullopt;
    case TARSIA_KIND_LIST: {
      if (given.kind != TARSIA_KIND_LIST && given.kind != TARSIA_KIND_TUPLE) return wrong_kind(type, given);
      auto* values = static_cast<tarsia_value*>(call_memory(sizeof(tarsia_value) * given.size));
      for (std::uint32_t i = 0; i < given.size; ++i)
        if (auto misfit = convert(*type.elements, given.v[i], place, values[i])) {
          misfit->text = "element " + std::to_string(i) + " " + misfit->text;
          return misfit;
        }
      out.v = values;
      out.kind = TARSIA_KIND_LIST;
      return std::nullopt;
    }
    default:
      return wrong_kind(type, given);
  }
}

}  // namespace tarsia::registry
