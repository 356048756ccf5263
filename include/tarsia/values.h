// Conversion of C++ values to arguments and of results to C++ values; tensors of programs.
#pragma once

#include <tarsia/c_api.h>
#include <tarsia/errors.h>
#include <tarsia/tensor.h>

#include <array>
#include <complex>
#include <concepts>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace tarsia {

namespace detail {

/// Programs use the tensor functions of <tarsia/tensor.h> through the same table as modules.
inline const bool k_attached = (tarsia_module_host = tarsia_get_host(), true);

inline tarsia_call_context** call_slot() {
  thread_local tarsia_call_context** const slot = tarsia_call_slot();
  return slot;
}

/// The context of a call that this program makes.
class Frame {
 public:
  Frame() {
    m_context.size = sizeof(m_context);
    m_context.device = cpu_device();
    tarsia_enter_call(call_slot(), &m_context);
  }
  ~Frame() { tarsia_leave_call(call_slot(), &m_context); }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

 private:
  tarsia_call_context m_context{};
};

/// The elements of list arguments, kept for the length of a call.
class Lists {
 public:
  tarsia_value* add(size_t n) {
    m_lists.push_back(std::make_unique<tarsia_value[]>(n));
    return m_lists.back().get();
  }

 private:
  std::vector<std::unique_ptr<tarsia_value[]>> m_lists;
};

template <class T>
struct is_vector : std::false_type {};
template <class T, class A>
struct is_vector<std::vector<T, A>> : std::true_type {};
template <class T>
struct is_array : std::false_type {};
template <class T, size_t n>
struct is_array<std::array<T, n>> : std::true_type {};
template <class T>
struct is_complex : std::false_type {};
template <class T>
struct is_complex<std::complex<T>> : std::true_type {};
template <class T>
struct is_optional : std::false_type {};
template <class T>
struct is_optional<std::optional<T>> : std::true_type {};
template <class T>
struct is_tuple : std::false_type {};
template <class... T>
struct is_tuple<std::tuple<T...>> : std::true_type {};
template <class A, class B>
struct is_tuple<std::pair<A, B>> : std::true_type {};

/// Whether an integer or enumeration type has a sign.
template <class T>
constexpr bool is_signed() {
  if constexpr (std::is_enum_v<T>)
    return std::is_signed_v<std::underlying_type_t<T>>;
  else
    return std::is_signed_v<T>;
}

/// Whether values of a class pass as their bytes.
template <class T>
inline constexpr bool k_is_plain =
    (std::is_class_v<T> || std::is_union_v<T>) && std::is_aggregate_v<T> && std::is_standard_layout_v<T> &&
    std::is_trivially_copyable_v<T> && !is_array<T>::value && sizeof(T) <= 65535 && alignof(T) <= 16;

template <class T>
inline constexpr bool k_is_plain_pointer = false;
template <class T>
inline constexpr bool k_is_plain_pointer<T*> = k_is_plain<std::remove_const_t<T>>;

template <class T>
inline constexpr bool k_is_plain_span = false;
template <class T, size_t n>
inline constexpr bool k_is_plain_span<std::span<T, n>> = k_is_plain<std::remove_const_t<T>>;

/// Whether a type is an array `P[n]` of structs that a function may write to.
template <class T>
inline constexpr bool k_is_plain_row = false;
template <class T, size_t n>
inline constexpr bool k_is_plain_row<T[n]> = k_is_plain<T> && !std::is_const_v<T>;

/// The size of a text, list or row of structs. Throws ArgumentError if C's form holds none of it.
inline uint32_t size_of_value(size_t n) {
  if (n > UINT32_MAX) {
    tarsia_get_host()->set_error(
        TARSIA_ARGUMENT_VALUE, "a text, list or row of structs of 4 Gi and more is too long for an argument");
    throw_error();
  }
  return static_cast<uint32_t>(n);
}

/// Returns an argument as a value that borrows from `x` and `lists`. Throws ArgumentError for one that is too
/// long.
template <class T>
tarsia_value to_value(const T& x, Lists& lists) {
  tarsia_value v{};
  if constexpr (std::is_same_v<T, bool>) {
    v.kind = TARSIA_KIND_BOOL, v.i = x;
  } else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
    v.kind = TARSIA_KIND_INT, v.i = static_cast<int64_t>(x);
    v.size = is_signed<T>() ? TARSIA_SIGNED : TARSIA_UNSIGNED;
  } else if constexpr (std::is_floating_point_v<T>) {
    v.kind = TARSIA_KIND_FLOAT, v.f = static_cast<double>(x);
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    const std::string_view text = x;
    v.kind = TARSIA_KIND_STRING, v.s = text.data(), v.size = size_of_value(text.size());
  } else if constexpr (std::is_same_v<T, Tensor>) {
    v.kind = x ? TARSIA_KIND_TENSOR : TARSIA_KIND_NONE, v.t = x.get();
  } else if constexpr (std::is_same_v<T, Stream>) {
    v.kind = TARSIA_KIND_STREAM, v.p = static_cast<CUstream_st*>(x);
  } else if constexpr (std::is_same_v<T, CUstream_st*>) {
    v.kind = TARSIA_KIND_STREAM, v.p = x;
  } else if constexpr (std::is_same_v<T, std::nullopt_t>) {
    v.kind = TARSIA_KIND_NONE;
  } else if constexpr (is_optional<T>::value) {
    if (x) return to_value(*x, lists);
  } else if constexpr (is_complex<T>::value) {
    v.kind = TARSIA_KIND_COMPLEX, v.size = 2, v.v = lists.add(2);
    v.v[0] = to_value(x.real(), lists), v.v[1] = to_value(x.imag(), lists);
  } else if constexpr (is_vector<T>::value || is_array<T>::value) {
    v.kind = TARSIA_KIND_LIST, v.size = size_of_value(x.size()), v.v = lists.add(x.size());
    for (size_t i = 0; i < x.size(); ++i)
      v.v[i] = to_value(static_cast<const typename T::value_type&>(x[i]), lists);
  } else if constexpr (k_is_plain_pointer<T>) {
    if (x) v = to_value(*x, lists);
    if (x && !std::is_const_v<std::remove_pointer_t<T>>) v.kind = TARSIA_KIND_STRUCT;
  } else if constexpr (k_is_plain_span<T>) {
    v.kind = std::is_const_v<typename T::element_type> ? TARSIA_KIND_CONST_STRUCT : TARSIA_KIND_STRUCT;
    v.p = const_cast<std::remove_const_t<typename T::element_type>*>(x.data());
    v.size = size_of_value(x.size_bytes());
  } else if constexpr (std::is_pointer_v<T>) {
    v.kind = TARSIA_KIND_POINTER, v.p = const_cast<void*>(static_cast<const void*>(x));
  } else if constexpr (k_is_plain<T>) {
    v.kind = TARSIA_KIND_CONST_STRUCT, v.p = const_cast<T*>(&x), v.size = sizeof(T);
  } else {
    static_assert(sizeof(T) == 0, "tarsia: a value of this type cannot be an argument");
  }
  return v;
}

[[noreturn]] inline void wrong_result(const char* wanted) {
  const std::string text = std::string("the result of the call is not ") + wanted;
  tarsia_get_host()->set_error(TARSIA_ARGUMENT_TYPE, text.c_str());
  throw_error();
}

/// Returns a result as a T. Takes over the reference to a tensor. Throws ArgumentError.
template <class T>
T from_value(tarsia_value& v) {
  if constexpr (std::is_same_v<T, bool>) {
    if (v.kind != TARSIA_KIND_BOOL) wrong_result("a bool");
    return v.i != 0;
  } else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
    if (v.kind != TARSIA_KIND_INT) wrong_result("an integer");
    return static_cast<T>(v.i);
  } else if constexpr (std::is_floating_point_v<T>) {
    if (v.kind == TARSIA_KIND_INT)
      return v.size == TARSIA_UNSIGNED ? static_cast<T>(v.u) : static_cast<T>(v.i);
    if (v.kind != TARSIA_KIND_FLOAT) wrong_result("a number");
    return static_cast<T>(v.f);
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (v.kind != TARSIA_KIND_STRING) wrong_result("a string");
    return std::string(v.s, v.size);
  } else if constexpr (std::is_same_v<T, Tensor>) {
    if (v.kind == TARSIA_KIND_TENSOR) return v.kind = TARSIA_KIND_NONE, Tensor::own(v.storage);
    if (v.kind == TARSIA_KIND_ARGUMENT) return Tensor(v.t);
    wrong_result("a tensor");
  } else if constexpr (is_optional<T>::value) {
    if (v.kind == TARSIA_KIND_NONE) return std::nullopt;
    return from_value<typename T::value_type>(v);
  } else if constexpr (is_complex<T>::value) {
    if (v.kind != TARSIA_KIND_COMPLEX) return T(from_value<typename T::value_type>(v));
    return T(from_value<typename T::value_type>(v.v[0]), from_value<typename T::value_type>(v.v[1]));
  } else if constexpr (is_array<T>::value) {
    T list{};
    if (v.kind != TARSIA_KIND_LIST || v.size != list.size()) wrong_result("a list of that length");
    for (uint32_t i = 0; i < v.size; ++i) list[i] = from_value<typename T::value_type>(v.v[i]);
    return list;
  } else if constexpr (is_vector<T>::value) {
    if (v.kind != TARSIA_KIND_LIST) wrong_result("a list");
    T list;
    for (uint32_t i = 0; i < v.size; ++i) list.push_back(from_value<typename T::value_type>(v.v[i]));
    return list;
  } else if constexpr (is_tuple<T>::value) {
    if (v.kind != TARSIA_KIND_TUPLE || v.size != std::tuple_size_v<T>) wrong_result("a tuple of that length");
    return [&]<size_t... i>(std::index_sequence<i...>) {
      return T{from_value<std::tuple_element_t<i, T>>(v.v[i])...};
    }(std::make_index_sequence<std::tuple_size_v<T>>());
  } else if constexpr (k_is_plain<T>) {
    if (v.kind != TARSIA_KIND_STRUCT || v.size != sizeof(T)) wrong_result("a struct of that size");
    T x;
    std::memcpy(&x, v.p, sizeof(T));
    return x;
  } else {
    static_assert(sizeof(T) == 0, "tarsia: a result cannot be had as this type");
  }
}

/// Releases the tensors of a result that nobody took.
inline void drop(tarsia_value& v) {
  if (v.kind == TARSIA_KIND_TENSOR || v.kind == TARSIA_KIND_OBJECT) tarsia_storage_release(v.storage);
  if (v.kind == TARSIA_KIND_LIST || v.kind == TARSIA_KIND_TUPLE)
    for (uint32_t i = 0; i < v.size; ++i) drop(v.v[i]);
  v.kind = TARSIA_KIND_NONE;
}

/// A tensor over memory of the program, in one block with its shape.
struct View {
  tarsia_storage storage{};
  tarsia_tensor tensor{};
  std::vector<int64_t> shape;
  std::shared_ptr<void> owner;
};

}  // namespace detail

/// Makes a contiguous tensor over memory of the program. The tensor keeps `owner`. Without an owner, the
/// memory must outlive the tensor.
template <class T>
Tensor view(T* data, std::vector<int64_t> shape, Device device = cpu_device(),
            std::shared_ptr<void> owner = nullptr) {
  auto* made = new detail::View();
  made->shape = std::move(shape);
  made->owner = std::move(owner);
  made->tensor.data = const_cast<std::remove_const_t<T>*>(data);
  made->tensor.device = device;
  made->tensor.ndim = static_cast<int32_t>(made->shape.size());
  made->tensor.dtype = dtype<std::remove_const_t<T>>();
  made->tensor.shape = made->shape.data();
  made->storage.tensor = &made->tensor;
  made->storage.refs = 1;
  made->storage.context = made;
  made->storage.release = [](tarsia_storage* storage) {
    delete static_cast<detail::View*>(storage->context);
  };
  return Tensor::own(&made->storage);
}

/// Makes a CPU tensor with a copy of the elements. It has one dimension unless a shape is given. Throws
/// ArgumentError if the shape does not hold as many elements.
template <class T>
Tensor tensor(const std::vector<T>& elements, std::vector<int64_t> shape = {}) {
  if (shape.empty()) shape.push_back(static_cast<int64_t>(elements.size()));
  tarsia_storage* storage = nullptr;
  detail::check(
      tarsia_empty(shape.data(), static_cast<int32_t>(shape.size()), dtype<T>(), cpu_device(), &storage));
  Tensor made = Tensor::own(storage);
  if (made.numel() != static_cast<int64_t>(elements.size())) {
    tarsia_get_host()->set_error(TARSIA_ARGUMENT_VALUE,
                                 "a tensor's shape does not hold as many elements as are given");
    detail::throw_error();
  }
  if (!elements.empty()) std::memcpy(made.data(), elements.data(), elements.size() * sizeof(T));
  return made;
}

/// Copies a contiguous tensor to another device. The copy is ordered on `stream`. A copy to the CPU is
/// complete when this returns. Throws ArgumentError, OutOfMemory, CudaError.
inline Tensor copy_to(const Tensor& from, Device device, Stream stream = {}) {
  tarsia_storage* storage = nullptr;
  detail::check(tarsia_empty(from.shape().data(), from.ndim(), from.dtype(), device, &storage));
  Tensor made = Tensor::own(storage);
  detail::check(tarsia_copy(made.get(), from.get(), stream));
  return made;
}

/// Returns a copy of the elements, from any device; waits for a GPU. The tensor must be contiguous. Throws
/// TypeError if its dtype is not that of T, ArgumentError if it is not contiguous.
template <class T>
std::vector<T> to_vector(const Tensor& from) {
  const Tensor here = from.is_gpu() || !from.is_contiguous() ? copy_to(from, cpu_device()) : from;
  const T* data = here.data<const T>();
  return std::vector<T>(data, data + here.numel());
}

}  // namespace tarsia
