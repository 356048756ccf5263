// What cells of a session use without saying so: how the value of an expression is shown, and values to try
// ops with. Sessions include it; see docs/repl.md.
#pragma once

#include <tarsia/detail/macros_push.h>

#include <tarsia/op.h>

#include <iosfwd>
#include <type_traits>
#include <utility>

extern "C" {
// Defined by libtarsia, which a cell reaches through its slots. They write into the value of the cell that
// runs on this thread.
void tarsia_cell_put(const char* text, unsigned long n);
void tarsia_cell_put_quoted(const char* text, unsigned long n);
void tarsia_cell_put_char(unsigned c);
/// `bytes`: of a code unit: 2 (UTF-16) or 4 (UTF-32).
void tarsia_cell_put_wide(const void* text, unsigned long n, unsigned bytes);
void tarsia_cell_put_code_point(unsigned value);
void tarsia_cell_put_int(long long value);
void tarsia_cell_put_uint(unsigned long long value);
void tarsia_cell_put_float(float value);
void tarsia_cell_put_double(double value);
void tarsia_cell_put_long_double(long double value);
void tarsia_cell_put_pointer(const void* value);
/// The name of a type, from what __PRETTY_FUNCTION__ says of type_name<T>().
void tarsia_cell_put_type(const char* pretty);
void tarsia_cell_put_tensor(const tarsia_tensor* tensor);
/// The value is an image: who can shows it as one.
void tarsia_cell_put_image(const tarsia_tensor* tensor);
/// Whether less than the longest text is written so far.
int tarsia_cell_has_room(void);
/// Begin and end what is timed. Both wait for the GPU if the process uses one. The end writes nanoseconds
/// into the value: by the host's clock; with a GPU also by CUDA's events, and 1 if it still had work to do,
/// else 0.
void tarsia_cell_bench_begin(void);
void tarsia_cell_bench_end(void);
#ifndef TARSIA_DETAIL_CODE_IS_SHOWN
/// Sets a contiguous tensor's elements on the CPU or a GPU: 0: all to `a`; 1: to a + i * b; 2: to numbers of
/// the normal distribution with mean `a` and deviation `b`; 3: to numbers uniform in [a, b).
void tarsia_cell_fill(const tarsia_tensor* tensor, int how, double a, double b);
int tarsia_cell_allclose(const tarsia_tensor* x, const tarsia_tensor* y, double rtol, double atol);
tarsia_storage* tarsia_cell_load_npy(const char* path, const char* device);
void tarsia_cell_save_npy(const char* path, const tarsia_tensor* tensor);
void tarsia_cell_check_image(const tarsia_tensor* tensor);
tarsia_storage* tarsia_cell_empty(const long* shape, unsigned long n, tarsia_dtype dtype, const char* device);
#else
// Code that is looked at is loaded without its session. The little of it that runs then, initial values of
// constants, gets a tensor of one element, which has no memory.
inline tarsia_storage* tarsia_cell_empty(const long*, unsigned long, tarsia_dtype dtype, const char*) {
  static tarsia_tensor tensor = {};
  static tarsia_storage storage = {&tensor, 1 << 30, 0, nullptr, nullptr};
  tensor.dtype = dtype;
  return &storage;
}
inline tarsia_storage* tarsia_cell_load_npy(const char*, const char* device) {
  return tarsia_cell_empty(nullptr, 0, tarsia::float32, device);
}
inline void tarsia_cell_save_npy(const char*, const tarsia_tensor*) {}
inline void tarsia_cell_check_image(const tarsia_tensor*) {}
inline void tarsia_cell_fill(const tarsia_tensor*, int, double, double) {}
inline int tarsia_cell_allclose(const tarsia_tensor*, const tarsia_tensor*, double, double) {
  return 0;
}
#endif
}

namespace tarsia {
/// What sessions use.
namespace repl {

/// A tensor that is looked at as an image.
struct Image {
  Tensor tensor;
};

#if __cplusplus >= 201703L
/// Writes what `operator<<` writes. Complete where <ostream> is included.
template <class T_, class Stream_, class Buffer_>
void put_streamed(const T_& value_) {
  struct Buffer final : Buffer_ {
    long xsputn(const char* text_, long n_) override {
      tarsia_cell_put(text_, static_cast<unsigned long>(n_));
      return n_;
    }
    int overflow(int c_) override {
      const char one_ = static_cast<char>(c_);
      if (c_ != -1) tarsia_cell_put(&one_, 1);
      return c_;
    }
  } buffer_;
  Stream_ stream_(&buffer_);
  stream_ << value_;
}

template <class T_>
const char* type_name() {
  return __PRETTY_FUNCTION__;
}

template <class T_>
void put(const T_& value_);
template <class T_>
void show(T_&& value_);

template <int priority_>
struct Priority : Priority<priority_ - 1> {};
template <>
struct Priority<0> {};

template <class T_>
void put_any(const T_& value_, Priority<0>) {
  tarsia_cell_put("(", 1);
  tarsia_cell_put_type(type_name<T_>());
  tarsia_cell_put(") at ", 5);
  tarsia_cell_put_pointer(static_cast<const void*>(__builtin_addressof(value_)));
}

inline void put_text(const char* text_) {
  tarsia_cell_put(text_, __builtin_strlen(text_));
}

/// Of a range without end, or of a long one, the first are shown.
constexpr unsigned long k_most_elements = 200;

/// `T_`: may be const.
template <class T_>
void put_range(T_& value_) {
  put_text("{");
  unsigned long shown_ = 0;
  auto end_ = value_.end();
  for (auto at_ = value_.begin(); at_ != end_; ++at_) {
    if (shown_ > 0) put_text(", ");
    if (shown_++ == k_most_elements || !tarsia_cell_has_room()) {
      put_text("…");
      break;
    }
    show(*at_);
  }
  put_text("}");
}

template <class T_, class = void>
struct IsRange : std::false_type {};
template <class T_>
struct IsRange<T_, std::void_t<decltype(std::declval<T_&>().begin(), std::declval<T_&>().end())>>
    : std::true_type {};

template <class T_>
auto put_any(const T_& value_, Priority<1>) -> decltype(value_.begin(), value_.end(), void()) {
  put_range(value_);
}

/// Atomic variables.
template <class T_>
auto put_any(const T_& value_, Priority<1>) -> decltype(value_.load(), value_.is_lock_free(), void()) {
  put(value_.load());
}

/// The elements of std::vector<bool>.
template <class T_>
auto put_any(const T_& value_, Priority<1>)
    -> std::enable_if_t<std::is_same_v<decltype(std::declval<T_&>().flip()), void> &&
                        std::is_convertible_v<const T_&, bool>> {
  put(static_cast<bool>(value_));
}

/// Variants.
template <class T_>
auto put_any(const T_& value_, Priority<2>) -> decltype(value_.valueless_by_exception(), void()) {
  if (value_.valueless_by_exception())
    put_text("nothing");
  else
    visit([](const auto& held_) { put(held_); }, value_);
}

template <unsigned long i_, class T_>
void put_elements(const T_& value_) {
  if constexpr (i_ < std::tuple_size<T_>::value) {
    if (i_ > 0) put_text(", ");
    put(get<i_>(value_));
    put_elements<i_ + 1>(value_);
  }
}

template <class T_>
auto put_any(const T_& value_, Priority<2>) -> decltype(sizeof(std::tuple_size<T_>), get<0>(value_), void()) {
  put_text("(");
  put_elements<0>(value_);
  put_text(")");
}

template <class T_>
auto put_any(const T_& value_, Priority<3>) -> decltype(value_.has_value(), value_.value(), void()) {
  if (value_.has_value())
    put(value_.value());
  else
    put_text("nothing");
}

/// Smart pointers.
template <class T_>
auto put_any(const T_& value_, Priority<4>) -> decltype(value_.get(), value_.operator->(), void()) {
  put_any(value_.get(), Priority<0>());
}

template <class T_>
constexpr bool k_is_wide =
    std::is_same_v<T_, wchar_t> || std::is_same_v<T_, char16_t> || std::is_same_v<T_, char32_t>;
#ifdef __cpp_char8_t
template <class T_>
constexpr bool k_is_utf8 = std::is_same_v<T_, char8_t>;
#else
template <class T_>
constexpr bool k_is_utf8 = false;
#endif
/// Whether it is a type of characters: text of them is shown as text.
template <class T_>
constexpr bool k_is_character = std::is_same_v<T_, char> || k_is_wide<T_> || k_is_utf8<T_>;

/// Writes `n` characters of any kind in quotes.
template <class T_>
void put_characters(const T_* text_, unsigned long n_) {
  if constexpr (k_is_wide<T_>)
    tarsia_cell_put_wide(text_, n_, sizeof(T_));
  else
    tarsia_cell_put_quoted(reinterpret_cast<const char*>(text_), n_);
}

/// The length of a text that ends with a NUL, or `most_`.
template <class T_>
unsigned long length_of(const T_* text_, unsigned long most_) {
  unsigned long n_ = 0;
  while (n_ < most_ && text_[n_] != T_(0)) ++n_;
  return n_;
}

/// Strings of any kind.
template <class T_>
auto put_any(const T_& value_, Priority<6>)
    -> std::enable_if_t<k_is_character<std::remove_cv_t<std::remove_pointer_t<decltype(value_.data())>>> &&
                        sizeof(value_.size(), value_.substr(0), 0) != 0> {
  put_characters(value_.data(), value_.size());
}

/// Integers of 128 bits.
template <class T_>
void put_long_int(T_ value_) {
  char text_[41];
  char* at_ = text_ + sizeof text_;
  const bool is_negative_ = value_ < T_(0);
  do {
    const int digit_ = static_cast<int>(value_ % T_(10));
    *--at_ = static_cast<char>('0' + (digit_ < 0 ? -digit_ : digit_));
    value_ /= T_(10);
  } while (value_ != T_(0));
  if (is_negative_) *--at_ = '-';
  tarsia_cell_put(at_, static_cast<unsigned long>(text_ + sizeof text_ - at_));
}

/// Whether an `operator<<` is its own. Those of std::ostream for numbers and pointers are members: they would
/// take all that converts to one.
template <class T_, class = void>
struct IsStreamed : std::false_type {};
template <class T_>
struct IsStreamed<T_,
                  std::void_t<decltype(operator<<(std::declval<std::ostream&>(), std::declval<const T_&>()))>>
    : std::true_type {};
/// Whether it is a stream: std::cout << x has no value to be shown.
template <class T_, class = void>
struct IsStream : std::false_type {};
template <class T_>
struct IsStream<T_, std::void_t<decltype(std::declval<T_&>().rdbuf(), std::declval<T_&>().rdstate())>>
    : std::true_type {};

template <class T_>
auto put_any(const T_& value_, Priority<5>)
    -> std::enable_if_t<(std::is_class_v<T_> || std::is_union_v<T_> || std::is_enum_v<T_>) &&
                        IsStreamed<T_>::value> {
  put_streamed<T_, std::ostream, std::streambuf>(value_);
}

inline void put_any(const Tensor& value_, Priority<7>) {
  tarsia_cell_put_tensor(value_.get());
}

inline void put_any(const Image& value_, Priority<7>) {
  tarsia_cell_put_image(value_.tensor.get());
}

template <class T_>
void put_array(const T_* value_, unsigned long n_) {
  put_text("{");
  for (unsigned long i_ = 0; i_ < n_; ++i_) {
    if (i_ > 0) put_text(", ");
    if (i_ == k_most_elements || !tarsia_cell_has_room()) {
      put_text("…");
      break;
    }
    put(value_[i_]);
  }
  put_text("}");
}

/// Writes a value.
template <class T_>
void put(const T_& value_) {
  if constexpr (std::is_function_v<T_>) {
    put_text("(");
    tarsia_cell_put_type(type_name<T_>());
    put_text(") function");
  } else if constexpr (std::is_same_v<T_, bool>) {
    put_text(value_ ? "true" : "false");
  } else if constexpr (std::is_same_v<T_, char>) {
    tarsia_cell_put_char(static_cast<unsigned char>(value_));
  } else if constexpr (k_is_wide<T_> || k_is_utf8<T_>) {
    tarsia_cell_put_code_point(static_cast<unsigned>(value_));
  } else if constexpr (std::is_same_v<T_, float>) {
    tarsia_cell_put_float(value_);
  } else if constexpr (std::is_same_v<T_, long double>) {
    tarsia_cell_put_long_double(value_);
  } else if constexpr (std::is_floating_point_v<T_>) {
    tarsia_cell_put_double(static_cast<double>(value_));
  } else if constexpr (std::is_integral_v<T_> && sizeof(T_) <= 8) {
    if constexpr (T_(-1) < T_(0))
      tarsia_cell_put_int(static_cast<long long>(value_));
    else
      tarsia_cell_put_uint(static_cast<unsigned long long>(value_));
#ifdef __SIZEOF_INT128__
  } else if constexpr (std::is_same_v<T_, __int128> || std::is_same_v<T_, unsigned __int128>) {
    put_long_int(value_);
#endif
  } else if constexpr (std::is_same_v<T_, decltype(nullptr)>) {
    put_text("nullptr");
  } else if constexpr (std::is_pointer_v<T_> && k_is_character<std::remove_cv_t<std::remove_pointer_t<T_>>>) {
    if (value_)
      put_characters(value_, length_of(value_, ~0ul));
    else
      put_text("nullptr");
  } else if constexpr (std::is_array_v<T_>) {
    using Element_ = std::remove_cv_t<std::remove_extent_t<T_>>;
    if constexpr (k_is_character<Element_>)
      put_characters(value_, length_of(value_, sizeof(value_) / sizeof(value_[0])));
    else
      put_array(value_, sizeof(value_) / sizeof(value_[0]));
  } else if constexpr (std::is_pointer_v<T_>) {
    put_text("(");
    tarsia_cell_put_type(type_name<T_>());
    put_text(") ");
    tarsia_cell_put_pointer((const void*)value_);
  } else if constexpr (std::is_enum_v<T_> && !IsStreamed<T_>::value) {
    put_text("(");
    tarsia_cell_put_type(type_name<T_>());
    put_text(") ");
    put(static_cast<std::underlying_type_t<T_>>(value_));
  } else {
    put_any(value_, Priority<7>());
  }
}

/// Shows the value of a cell's last expression.
template <class T_>
void show(T_&& value_) {
  using Plain_ = std::remove_cv_t<std::remove_reference_t<T_>>;
  if constexpr (IsStream<Plain_>::value) {
  } else if constexpr (IsRange<std::remove_reference_t<T_>>::value && !IsRange<const Plain_>::value &&
                       !IsStreamed<Plain_>::value) {
    put_range(value_);  // a view that changes as it is gone through
  } else {
    put<Plain_>(value_);
  }
}

/// Makes the compiler compute a value, though nothing else uses it.
template <class T_>
void keep(const T_& value_) {
  if constexpr ((std::is_integral_v<T_> || std::is_enum_v<T_> || std::is_pointer_v<T_>) && sizeof(T_) <= 8) {
    const T_ read_ = value_;
    __asm__ volatile("" : : "r"(read_) : "memory");
  } else if constexpr (std::is_floating_point_v<T_>) {
    const T_ read_ = value_;
    __asm__ volatile("" : : "m"(read_) : "memory");
  } else {
    __asm__ volatile("" : : "r"(__builtin_addressof(value_)) : "memory");
  }
}

/// Runs `body` `runs` times and shows how long that took. Work that it gives to a GPU counts. What it returns
/// is computed.
template <class Body_>
void bench(long runs_, Body_&& body_) {
  tarsia_cell_bench_begin();
  for (long i_ = 0; i_ < runs_; ++i_) {
    if constexpr (std::is_void_v<decltype(body_())>) {
      body_();
      __asm__ volatile("" ::: "memory");
    } else {
      keep(body_());
    }
  }
  tarsia_cell_bench_end();
}

#endif  // C++17

/* Values to try ops with. Shapes are lists of extents; devices are "cpu", "gpu", "gpu:1". */

/// Returns a contiguous tensor with unset elements. Throws ValueError for a negative extent or an unknown
/// device.
inline Tensor empty(std::initializer_list<long> shape_, DType dtype_ = float32, const char* device_ = "cpu") {
  return Tensor::own(tarsia_cell_empty(shape_.begin(), shape_.size(), dtype_, device_));
}
/// The same in float32 on a device.
inline Tensor empty(std::initializer_list<long> shape_, const char* device_) {
  return repl::empty(shape_, float32, device_);
}
/// Returns a tensor whose elements are all `value`.
inline Tensor full(std::initializer_list<long> shape_, double value_, DType dtype_ = float32,
                   const char* device_ = "cpu") {
  Tensor made_ = repl::empty(shape_, dtype_, device_);
  tarsia_cell_fill(made_.get(), 0, value_, 0);
  return made_;
}
/// The same in float32 on a device.
inline Tensor full(std::initializer_list<long> shape_, double value_, const char* device_) {
  return repl::full(shape_, value_, float32, device_);
}
/// Returns a tensor of zeros.
inline Tensor zeros(std::initializer_list<long> shape_, DType dtype_ = float32, const char* device_ = "cpu") {
  return repl::full(shape_, 0, dtype_, device_);
}
/// The same in float32 on a device.
inline Tensor zeros(std::initializer_list<long> shape_, const char* device_) {
  return repl::zeros(shape_, float32, device_);
}
/// Returns a tensor of ones.
inline Tensor ones(std::initializer_list<long> shape_, DType dtype_ = float32, const char* device_ = "cpu") {
  return repl::full(shape_, 1, dtype_, device_);
}
/// The same in float32 on a device.
inline Tensor ones(std::initializer_list<long> shape_, const char* device_) {
  return repl::ones(shape_, float32, device_);
}
/// Returns 0, 1, …, n - 1.
inline Tensor arange(long n_, DType dtype_ = float32, const char* device_ = "cpu") {
  Tensor made_ = repl::empty({n_}, dtype_, device_);
  tarsia_cell_fill(made_.get(), 1, 0, 1);
  return made_;
}
/// The same in float32 on a device.
inline Tensor arange(long n_, const char* device_) {
  return repl::arange(n_, float32, device_);
}
/// Returns numbers of the normal distribution, mean 0 and deviation 1, as tarsia::seed decides.
inline Tensor randn(std::initializer_list<long> shape_, DType dtype_ = float32, const char* device_ = "cpu") {
  Tensor made_ = repl::empty(shape_, dtype_, device_);
  tarsia_cell_fill(made_.get(), 2, 0, 1);
  return made_;
}
/// The same in float32 on a device.
inline Tensor randn(std::initializer_list<long> shape_, const char* device_) {
  return repl::randn(shape_, float32, device_);
}
/// Returns numbers uniform in [0, 1), as tarsia::seed decides.
inline Tensor rand_uniform(std::initializer_list<long> shape_, DType dtype_ = float32,
                           const char* device_ = "cpu") {
  Tensor made_ = repl::empty(shape_, dtype_, device_);
  tarsia_cell_fill(made_.get(), 3, 0, 1);
  return made_;
}
/// The same in float32 on a device.
inline Tensor rand_uniform(std::initializer_list<long> shape_, const char* device_) {
  return repl::rand_uniform(shape_, float32, device_);
}
/// Whether |x - y| <= atol + rtol * |y| for all elements, as numpy.allclose has it. Throws ValueError if the
/// shapes differ.
inline bool allclose(const Tensor& x_, const Tensor& y_, double rtol_ = 1e-5, double atol_ = 1e-8) {
  return tarsia_cell_allclose(x_.get(), y_.get(), rtol_, atol_) != 0;
}
/// Reads and writes NumPy's .npy files. Throws Error, naming the path.
inline Tensor load_npy(const char* path_, const char* device_ = "cpu") {
  return Tensor::own(tarsia_cell_load_npy(path_, device_));
}
inline void save_npy(const char* path_, const Tensor& tensor_) {
  tarsia_cell_save_npy(path_, tensor_.get());
}

/// Makes an image of a tensor: as the value of a cell, notebooks show it as one. H x W is grey, H x W x C has
/// 1, 3 or 4 channels: grey, RGB or RGBA; C x H x W is taken as well. Elements are uint8, bool, or floats
/// from 0 (dark) to 1. Throws ValueError for any other tensor.
inline Image image(const Tensor& tensor_) {
  tarsia_cell_check_image(tensor_.get());
  return Image{tensor_};
}

}  // namespace repl
}  // namespace tarsia

#include <tarsia/detail/macros_pop.h>
