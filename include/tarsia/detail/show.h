// How the value of a cell's last expression is shown. Sessions include it by <tarsia/repl.h>.
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
/// The same from what std::type_info::name() says.
void tarsia_cell_put_type_info(const char* name);
void tarsia_cell_put_tensor(const tarsia_tensor* tensor);
/// The value is an image: who can shows it as one.
void tarsia_cell_put_image(const tarsia_tensor* tensor);
/// Whether less than the longest text is written so far.
int tarsia_cell_has_room(void);
}

namespace tarsia {
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

inline void put_text(const char* text_) {
  tarsia_cell_put(text_, __builtin_strlen(text_));
}

/// "(std::any) "
template <class T_>
void put_type() {
  put_text("(");
  tarsia_cell_put_type(type_name<T_>());
  put_text(") ");
}

template <class T_>
void put_place(const T_& value_) {
  put_text("at ");
  tarsia_cell_put_pointer(static_cast<const void*>(__builtin_addressof(value_)));
}

/// Nothing defines it: the compiler of cells, which knows the members of a class, makes the body of each
/// instance (jit/worker/cell/cell_members.h).
template <class T_>
void put_members(const T_& value_);

template <class T_>
void put_any(const T_& value_, Priority<0>) {
  put_type<T_>();
  put_members(value_);
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

/// CUDA's floats of 16 bits.
template <class T_>
auto put_any(const T_& value_, Priority<1>)
    -> std::enable_if_t<std::is_class_v<T_> && sizeof(T_) == 2 && std::is_convertible_v<const T_&, float>> {
  tarsia_cell_put_float(static_cast<float>(value_));
}

template <class T_>
constexpr auto number_of_parts(const T_* value_, int) -> decltype(value_->z, value_->w, 0ul) {
  return 4;
}
template <class T_>
constexpr auto number_of_parts(const T_* value_, long) -> decltype(value_->z, 0ul) {
  return 3;
}
template <class T_>
constexpr unsigned long number_of_parts(const T_*, ...) {
  return 2;
}
/// CUDA's vectors, and what is like them: x, y and perhaps z and w, of one type of numbers, and nothing else.
template <class T_>
auto put_any(const T_& value_, Priority<1>)
    -> std::enable_if_t<std::is_arithmetic_v<decltype(T_::x)> &&
                        std::is_same_v<decltype(T_::x), decltype(T_::y)> && sizeof(T_) >= 2 * sizeof(T_::x) &&
                        sizeof(T_) <= 4 * sizeof(T_::x) &&
                        sizeof(T_) == number_of_parts(static_cast<const T_*>(nullptr), 0) * sizeof(T_::x)> {
  put_type<T_>();
  put_text("{");
  put(value_.x);
  put_text(", ");
  put(value_.y);
  constexpr auto n_ = number_of_parts(static_cast<const T_*>(nullptr), 0);
  if constexpr (n_ > 2) {
    put_text(", ");
    put(value_.z);
  }
  if constexpr (n_ > 3) {
    put_text(", ");
    put(value_.w);
  }
  put_text("}");
}

/// Exceptions.
template <class T_>
auto put_any(const T_& value_, Priority<1>) -> decltype(tarsia_cell_put_quoted(value_.what(), 0)) {
  put_type<T_>();
  tarsia_cell_put_quoted(value_.what(), __builtin_strlen(value_.what()));
}

/// std::type_info and std::type_index.
template <class T_>
auto put_any(const T_& value_, Priority<1>) -> decltype(value_.hash_code(), value_.name(), void()) {
  tarsia_cell_put_type_info(value_.name());
}

/// std::any.
template <class T_>
auto put_any(const T_& value_, Priority<1>) -> decltype(value_.has_value(), value_.type().name(), void()) {
  put_type<T_>();
  put_text(value_.has_value() ? "of " : "nothing");
  if (value_.has_value()) tarsia_cell_put_type_info(value_.type().name());
}

/// What is before, beside or after.
template <class T_>
auto put_any(const T_& value_, Priority<1>) -> decltype(T_::less, T_::equivalent, T_::greater, void()) {
  put_type<T_>();
  put_text(value_ < 0 ? "less" : value_ > 0 ? "greater" : value_ == 0 ? "equal" : "unordered");
}

/// Points in time and days.
template <class T_>
auto put_any(const T_& value_, Priority<1>) -> decltype(value_.time_since_epoch(), void()) {
  put(value_.time_since_epoch());
  put_text(" since the clock's epoch");
}
template <class T_>
auto put_any(const T_& value_, Priority<1>)
    -> decltype(static_cast<int>(value_.year()), static_cast<unsigned>(value_.month()),
                static_cast<unsigned>(value_.day()), void()) {
  put(static_cast<int>(value_.year()));
  for (const unsigned part_ : {static_cast<unsigned>(value_.month()), static_cast<unsigned>(value_.day())}) {
    put_text(part_ < 10 ? "-0" : "-");
    put(part_);
  }
}

/// Places in source texts.
template <class T_>
auto put_any(const T_& value_, Priority<1>)
    -> decltype(value_.file_name(), value_.line(), value_.column(), void()) {
  put_text(value_.file_name());
  put_text(":");
  put(value_.line());
}

/// Numbers of std::valarray.
template <class T_>
auto put_any(const T_& value_, Priority<1>) -> decltype(value_.sum(), value_.cshift(0), void()) {
  put_text("{");
  for (unsigned long i_ = 0; i_ < value_.size(); ++i_) {
    if (i_ > 0) put_text(", ");
    if (i_ == k_most_elements || !tarsia_cell_has_room()) {
      put_text("…");
      break;
    }
    put(value_[i_]);
  }
  put_text("}");
}

/// Queues and stacks, by the container that they keep.
template <class T_>
struct Opened : T_ {
  static const typename T_::container_type& kept(const T_& value_) { return value_.*&Opened::c; }
};
template <class T_>
auto put_any(const T_& value_, Priority<1>)
    -> std::enable_if_t<!IsRange<const T_>::value && std::is_class_v<typename T_::container_type> &&
                        std::is_same_v<decltype(std::declval<T_&>().pop(), value_.empty()), bool>> {
  put_range(Opened<T_>::kept(value_));
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

template <class T_, std::enable_if_t<(std::tuple_size<T_>::value > 0) && !IsRange<const T_>::value, int> = 0>
auto put_any(const T_& value_, Priority<2>) -> decltype(get<0>(value_), void()) {
  put_text("(");
  put_elements<0>(value_);
  put_text(")");
}

template <class T_, std::enable_if_t<(std::tuple_size<T_>::value == 0) && !IsRange<const T_>::value, int> = 0>
void put_any(const T_&, Priority<2>) {
  put_text("()");
}

template <class T_>
auto put_any(const T_& value_, Priority<3>) -> decltype(value_.has_value(), value_.value(), void()) {
  if (value_.has_value())
    put(value_.value());
  else
    put_text("nothing");
}

/// Smart pointers: what they point to. Those of std write an address of no type.
template <class T_>
void put_address(T_ pointer_) {
  put_type<T_>();
  tarsia_cell_put_pointer((const void*)pointer_);
}
template <class T_>
auto put_any(const T_& value_, Priority<4>)
    -> std::enable_if_t<std::is_pointer_v<decltype(value_.operator->(), value_.get())>> {
  put_address(value_.get());
}
template <class T_>
auto put_any(const T_& value_, Priority<6>)
    -> std::enable_if_t<std::is_pointer_v<decltype(value_.get_deleter(), value_.get())>> {
  put_address(value_.get());
}
template <class T_>
auto put_any(const T_& value_, Priority<6>)
    -> std::enable_if_t<std::is_pointer_v<decltype(value_.use_count(), value_.get())>> {
  put_address(value_.get());
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

/// Whether its elements are numbers of a vector of the compiler's: `float __attribute__((vector_size(16)))`.
template <class T_, class = void>
struct IsVector : std::false_type {};
template <class T_>
struct IsVector<
    T_, std::enable_if_t<!std::is_class_v<T_> && !std::is_union_v<T_> && !std::is_scalar_v<T_> &&
                         !std::is_array_v<T_> && sizeof(T_) != 0 && sizeof(std::declval<T_&>()[0]) != 0>>
    : std::true_type {};

template <class T_>
void put_vector(const T_& value_) {
#ifdef __clang__
  constexpr unsigned long n_ = __builtin_vectorelements(T_);
#else
  constexpr unsigned long n_ = sizeof(value_) / sizeof(value_[0]);
#endif
  put_text("{");
  for (unsigned long i_ = 0; i_ < n_; ++i_) {
    if (i_ > 0) put_text(", ");
    const auto element_ = value_[i_];
    put(element_);
  }
  put_text("}");
}

#ifdef __SIZEOF_INT128__
template <class T_>
constexpr bool k_is_long_int = std::is_same_v<T_, __int128> || std::is_same_v<T_, unsigned __int128>;
#else
template <class T_>
constexpr bool k_is_long_int = false;
#endif
/// Whether put_number() takes it. Integers of 128 bits and floats of 16 are written by others.
template <class T_>
constexpr bool k_is_number = std::is_floating_point_v<T_> || (std::is_integral_v<T_> && !k_is_long_int<T_>);

/// Writes a boolean, a character or a number. Most cells end with one, and a compiler reads no more than this
/// for them.
template <class T_>
void put_number(T_ value_) {
  if constexpr (std::is_same_v<T_, bool>) {
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
  } else if constexpr (T_(-1) < T_(0)) {
    tarsia_cell_put_int(static_cast<long long>(value_));
  } else {
    tarsia_cell_put_uint(static_cast<unsigned long long>(value_));
  }
}

/// Writes a value.
template <class T_>
void put(const T_& value_) {
  if constexpr (std::is_function_v<T_>) {
    put_type<T_>();
    put_text("function");
  } else if constexpr (k_is_number<T_>) {
    put_number(value_);
  } else if constexpr (k_is_long_int<T_>) {
    put_long_int(value_);
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
    put_address(value_);
  } else if constexpr (std::is_member_pointer_v<T_>) {
    put_type<T_>();
    put_text(value_ ? "of a member" : "nullptr");
    // Work-around: Clang crashes where a template asks a vector for an operator.
    // Trigger: `value.operator->()`, of a vector by ext_vector_type. Symptom: a crash of the compiler, which
    // asks for the name of the operator as if it were of elements. Vectors do not come to put_any() for that.
    // Removal: it is an error that a template can pass over.
  } else if constexpr (IsVector<T_>::value) {
    put_vector(value_);
  } else if constexpr (std::is_same_v<T_, _Complex float> || std::is_same_v<T_, _Complex double>) {
    put_text("(");
    put(__real__ value_);
    put_text(",");
    put(__imag__ value_);
    put_text(")");
  } else if constexpr (!std::is_class_v<T_> && !std::is_union_v<T_> && !std::is_enum_v<T_> &&
                       std::is_convertible_v<T_, float>) {
    tarsia_cell_put_float(static_cast<float>(value_));  // of 16 bits
  } else if constexpr (std::is_enum_v<T_> && !IsStreamed<T_>::value) {
    put_type<T_>();
    put(static_cast<std::underlying_type_t<T_>>(value_));
  } else {
    put_any(value_, Priority<7>());
  }
}

/// Shows the value of a cell's last expression.
template <class T_>
void show(T_&& value_) {
  using Plain_ = std::remove_cv_t<std::remove_reference_t<T_>>;
  if constexpr (k_is_number<Plain_>) {
    put_number<Plain_>(value_);  // the conditions below would look at every operator<<
  } else if constexpr (IsStream<Plain_>::value) {
  } else if constexpr (IsRange<std::remove_reference_t<T_>>::value && !IsRange<const Plain_>::value &&
                       !IsStreamed<Plain_>::value) {
    put_range(value_);  // a view that changes as it is gone through
  } else {
    put<Plain_>(value_);
  }
}

// Of the types that most cells end with, no template is instantiated.
inline void show(bool value_) {
  put_number(value_);
}
inline void show(char value_) {
  put_number(value_);
}
inline void show(int value_) {
  put_number(value_);
}
inline void show(unsigned value_) {
  put_number(value_);
}
inline void show(long value_) {
  put_number(value_);
}
inline void show(unsigned long value_) {
  put_number(value_);
}
inline void show(float value_) {
  put_number(value_);
}
inline void show(double value_) {
  put_number(value_);
}

#endif  // C++17

}  // namespace repl
}  // namespace tarsia

#include <tarsia/detail/macros_pop.h>
