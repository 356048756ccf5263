// The rules for arguments: which numbers fit a parameter, which memory fits a pointer, and on which device.
// They are the same for all faces, read plain data and allocate nothing. <tarsia/detail/argument_match.h>
// applies them to a call.
#pragma once

#include <tarsia/abi.h>

#include <cmath>
#include <cstdint>
#include <cstring>

namespace tarsia::arguments {

/// Why an argument does not fit a parameter.
enum class Why : uint8_t {
  fits,
  failed,        ///< the face has an error of its own, which ends the call
  type,          ///< an argument of another type
  none,          ///< None for something that is not optional
  range,         ///< a number outside of the C++ type's range
  text,          ///< a str with lone surrogates, or longer than 4 GiB
  nul,           ///< a string with NULs in it
  unreadable,    ///< the tensor's owner refuses; the face knows its error
  deleted,       ///< an array of JAX that was deleted
  mixed,         ///< a tensor of another framework than the tensors before it
  masked,        ///< an array with a mask
  element_type,  ///< elements of an unknown dtype
  dtype,         ///< elements of another dtype
  lanes,         ///< a last dimension that is not a multiple of the vector type's lanes
  strides,       ///< strides that are not a multiple of the element
  conjugated,    ///< a lazily conjugated or negated tensor
  read_only,     ///< read-only memory, to which the function writes
  layout,        ///< a tensor that is not contiguous
  alignment,     ///< memory that is not aligned to its elements
  no_memory,     ///< a fake or meta tensor
  wants_cpu,     ///< a tensor on a GPU
  wants_gpu,     ///< a tensor on the CPU
  apart,         ///< a tensor on another device than the pointers before it
  other_device,  ///< a tensor on a device of an unknown type
  count,         ///< a list or tensor of another number of items than a std::array or std::span has
  object,        ///< an object of a framework, which this face cannot pass
  size,          ///< more or fewer bytes than the struct has
  fields,        ///< records of other fields than the struct has
  // For kernels only:
  integer,       ///< a typed integer for a floating-point parameter
  inexact,       ///< an int that the floating-point type cannot hold exactly
  not_copyable,  ///< a class that only code of the source can make
  reference,     ///< a parameter that is a reference
};

/// How strictly an argument must fit. `exact` takes neither an int for a float nor a bool for an int. Of
/// several overloads, the first that fits exactly is called, or else the first that fits at all.
enum class Fit : uint8_t { exact, any };

/// Where the memory behind a pointer must be. `together`: on the device of the call's other pointers.
enum class Place : uint8_t { together, cpu, gpu };

/// A parameter.
struct Param {
  tarsia_type type;
  Place place;
  uint32_t bytes;  ///< the size of a kernel's parameter; 0 for a function's
};

/// Returns where the memory of a function's parameter must be. For a list, `type` is the type of its
/// elements.
inline Place place_of(uint32_t function_flags, const tarsia_type& type) {
  if (type.flags & TARSIA_TYPE_CPU) return Place::cpu;
  if (type.flags & TARSIA_TYPE_GPU) return Place::gpu;
  if (type.kind != TARSIA_KIND_POINTER && type.kind != TARSIA_KIND_SPAN) return Place::together;
  if (function_flags & TARSIA_FUNCTION_TAKES_STREAM) return Place::gpu;
  return function_flags & TARSIA_FUNCTION_SOURCE_HAS_CUDA ? Place::together : Place::cpu;
}

/// The flags of a function that describe every kernel.
inline constexpr uint32_t k_kernel_flags = TARSIA_FUNCTION_SOURCE_HAS_CUDA | TARSIA_FUNCTION_TAKES_STREAM;

/// Returns the parameter of a type. `bytes` is the size of a kernel's parameter, or 0.
inline Param param_of(uint32_t function_flags, const tarsia_type& type, uint32_t bytes) {
  const bool is_list = type.kind == TARSIA_KIND_LIST && type.elements;
  return {type, place_of(function_flags, is_list ? *type.elements : type), bytes};
}

/// Whether values of a type have objects of a framework in them.
inline bool has_object(const tarsia_type& type) {
  if (type.kind == TARSIA_KIND_OBJECT) return true;
  const bool has_items = type.elements && (type.kind == TARSIA_KIND_LIST || type.kind == TARSIA_KIND_TUPLE);
  for (uint32_t i = 0; has_items && i < type.n_elements; ++i)
    if (has_object(type.elements[i])) return true;
  return false;
}

// ---- numbers ----

/// A whole number of any size.
struct Integer {
  enum Size : uint8_t {
    below,      ///< less than an int64_t holds
    in_int64,   ///< `value` is the number
    in_uint64,  ///< `value` has the number's bits, of which the highest is set
    above       ///< more than a uint64_t holds
  } size;
  int64_t value;
};

/// Whether a number of type int64_t fits an integer type. Bits of 0 stand for 64.
inline bool integer_fits(tarsia_dtype dtype, int64_t number) {
  const unsigned bits = dtype.bits;
  const bool is_64 = bits - 1 >= 63;  // or 0
  if (dtype.code == TARSIA_UINT) return number >= 0 && (is_64 || number >> bits == 0);
  if (is_64) return true;
  const int64_t limit = int64_t{1} << (bits - 1);
  return number >= -limit && number < limit;
}
inline bool integer_fits(tarsia_dtype dtype, Integer number) {
  if (number.size == Integer::in_int64) return integer_fits(dtype, number.value);
  return number.size == Integer::in_uint64 && dtype.code == TARSIA_UINT && (!dtype.bits || dtype.bits >= 64);
}

/// Whether a number rounds to a finite number of a floating-point type. Infinities and NaN fit all types.
inline bool float_fits(tarsia_dtype dtype, double number) {
  if (dtype.bits == 64) return true;
  constexpr double k_float32_most = 3.4028235677973366e38;  // what still rounds to FLT_MAX
  constexpr double k_float64_most = 1.7976931348623157e308;
  const double magnitude = number < 0 ? -number : number;
  const double most = dtype.bits == 16 && dtype.code == TARSIA_FLOAT ? 65520.0 : k_float32_most;
  return !(magnitude >= most) || magnitude > k_float64_most;
}

/// Whether a floating-point type holds an integer without rounding.
inline bool holds_exactly(tarsia_dtype dtype, int64_t number) {
  constexpr int64_t k_most = int64_t{1} << 53;
  if (number < -k_most || number > k_most) return false;
  const int digits = dtype.bits == 64 ? 53 : dtype.bits == 32 ? 24 : dtype.code == TARSIA_BFLOAT ? 8 : 11;
  int exponent = 0;
  const double scaled = std::ldexp(std::frexp(static_cast<double>(number), &exponent), digits);
  return scaled == std::floor(scaled);
}

// ---- tensors ----

inline uint32_t bits_of(tarsia_dtype dtype) {
  uint32_t bits;
  static_assert(sizeof bits == sizeof dtype);
  std::memcpy(&bits, &dtype, sizeof bits);
  return bits;
}

/// Whether elements lie in row-major order without gaps. The strides of dimensions of extent 1 do not matter.
inline bool is_contiguous(const tarsia_tensor& tensor) {
  if (!tensor.strides) return true;
  int64_t expected = 1;
  bool in_order = true;
  for (int i = tensor.ndim - 1; i >= 0; --i) {
    const int64_t length = tensor.shape[i];
    if (length == 1) continue;
    if (length == 0) return true;
    in_order &= tensor.strides[i] == expected;
    expected *= length;
  }
  return in_order;
}

inline int64_t element_count(const tarsia_tensor& tensor) {
  int64_t n = 1;
  for (int i = 0; i < tensor.ndim; ++i) n *= tensor.shape[i];
  return n;
}

/// The address of the first element.
inline void* data_of(const tarsia_tensor& tensor) {
  return static_cast<char*>(tensor.data) + tensor.byte_offset;
}

/// The number of elements of a dtype in a tensor that has a dtype of its own: half as many float2 as float.
inline int64_t elements_of(tarsia_dtype dtype, const tarsia_tensor& tensor) {
  const int64_t bits = int64_t{tensor.dtype.bits} * tensor.dtype.lanes;
  return element_count(tensor) * bits / (int64_t{dtype.bits} * dtype.lanes);
}

inline bool lacks_memory(const tarsia_tensor& tensor) {
  return !tensor.data && element_count(tensor) != 0;
}

inline bool is_on_cpu(tarsia_device device) {
  return device.type == TARSIA_CPU || device.type == TARSIA_GPU_HOST;
}

/// Whether a pointer may point to elements of a dtype: elements of its own type; scalars, if it points to
/// CUDA's vectors of them (float4*); complex numbers, if it points to pairs (cuComplex is a float2).
inline Why check_dtype(tarsia_dtype wanted, const tarsia_tensor& tensor) {
  if (wanted.code == TARSIA_ANY_DTYPE || bits_of(wanted) == bits_of(tensor.dtype)) return Why::fits;
  if (wanted.lanes <= 1) return Why::dtype;
  if (wanted.lanes == 2 && wanted.code == TARSIA_FLOAT && tensor.dtype.code == TARSIA_COMPLEX &&
      tensor.dtype.bits == 2 * wanted.bits && tensor.dtype.lanes == 1)
    return Why::fits;
  const tarsia_dtype scalar{wanted.code, wanted.bits, 1};
  if (bits_of(scalar) != bits_of(tensor.dtype)) return Why::dtype;
  return tensor.ndim > 0 && tensor.shape[tensor.ndim - 1] % wanted.lanes == 0 ? Why::fits : Why::lanes;
}

/// The device that the pointers with Place::together share in a call.
struct Together {
  tarsia_device device{0, 0};
  bool is_known = false;
};

// A face describes the memory of a tensor argument by a class `Memory` with `tensor` and `read_only`, and by
// three functions in the namespace of that class. Each takes a const Memory& and returns a bool.
//
// is_changed_lazily tells whether the tensor is conjugated or negated, so that its memory holds other values
// than the tensor. may_be_changed_lazily is a cheap test for the same: where it says no, is_changed_lazily
// does, too. is_pinned tells whether the memory is the CPU's and GPUs may use it.

/// Checks that memory is where a parameter needs it. Managed memory fits everywhere; pinned memory fits the
/// CPU and GPUs. All memory with Place::together, and all memory on GPUs, shares one device.
template <class Memory>
Why check_place(Together& together, Place place, const Memory& memory) {
  const tarsia_device device = memory.tensor.device;
  if (device.type == TARSIA_GPU_MANAGED) return Why::fits;
  const bool cpu = is_on_cpu(device);
  if (!cpu && device.type != TARSIA_GPU) return Why::other_device;
  if (place == Place::cpu) return cpu ? Why::fits : Why::wants_cpu;
  // GPUs may use pinned memory, which PyTorch calls memory of the CPU.
  if (place == Place::gpu && cpu)
    return device.type == TARSIA_GPU_HOST || is_pinned(memory) ? Why::fits : Why::wants_gpu;
  const tarsia_device own{cpu ? int32_t(TARSIA_CPU) : int32_t(TARSIA_GPU), cpu ? 0 : device.id};
  if (!together.is_known) together = {own, true};
  return together.device.type == own.type && together.device.id == own.id ? Why::fits : Why::apart;
}

template <class Memory>
Why check_pointer_slow_path(const tarsia_type& type, const Memory& memory) {
  const Why why = check_dtype(type.dtype, memory.tensor);
  if (why != Why::fits) return why;
  if (lacks_memory(memory.tensor)) return Why::no_memory;
  return memory.tensor.dtype.code == TARSIA_COMPLEX && is_changed_lazily(memory) ? Why::conjugated
                                                                                 : Why::fits;
}

/// Checks memory for a pointer parameter: dtype, writability, contiguity, alignment, device.
template <class Memory>
inline Why check_pointer(Together& together, const tarsia_type& type, Place place, const Memory& memory) {
  const tarsia_tensor& tensor = memory.tensor;
  if (bits_of(tensor.dtype) != bits_of(type.dtype) || tensor.dtype.code == TARSIA_COMPLEX || !tensor.data)
      [[unlikely]] {
    const Why why = check_pointer_slow_path(type, memory);
    if (why != Why::fits) return why;
  }
  if (memory.read_only && !(type.flags & TARSIA_TYPE_CONST)) [[unlikely]]
    return Why::read_only;
  if (!is_contiguous(tensor)) [[unlikely]]
    return Why::layout;
  if (may_be_changed_lazily(memory) && is_changed_lazily(memory)) [[unlikely]]
    return Why::conjugated;
  const auto address = reinterpret_cast<uintptr_t>(tensor.data) + tensor.byte_offset;
  // Bits and lanes are powers of two, except three lanes, which are aligned like one.
  const unsigned alignment =
      type.dtype.lanes == 3 ? type.dtype.bits / 8 : type.dtype.bits / 8 * type.dtype.lanes;
  if (alignment && (address & (alignment - 1))) [[unlikely]]
    return Why::alignment;
  if (tensor.device.type == TARSIA_CPU && place == Place::cpu) [[likely]]
    return Why::fits;
  return check_place(together, place, memory);
}

/// Checks memory for a tarsia::Tensor parameter, which takes any dtype and shape, or a tarsia::StridedTensor,
/// which also takes any strides. A type with bits takes elements of its own dtype alone.
template <class Memory>
Why check_tensor(Together& together, const tarsia_type& type, Place place, const Memory& memory) {
  const tarsia_tensor& tensor = memory.tensor;
  if (type.dtype.bits && bits_of(type.dtype) != bits_of(tensor.dtype)) return Why::dtype;
  if (lacks_memory(tensor)) return Why::no_memory;
  if (memory.read_only && !(type.flags & TARSIA_TYPE_CONST)) return Why::read_only;
  const bool contiguous = is_contiguous(tensor);
  if ((tensor.dtype.code == TARSIA_COMPLEX || !contiguous || may_be_changed_lazily(memory)) &&
      is_changed_lazily(memory))
    return Why::conjugated;
  if (!contiguous && !(type.flags & TARSIA_TYPE_STRIDED)) return Why::layout;
  return place == Place::together ? Why::fits : check_place(together, place, memory);
}

}  // namespace tarsia::arguments
