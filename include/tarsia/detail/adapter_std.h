// The parts of adapter.h on std types. Each part is compiled once the type's header is included or
// std_declared.h declares the type. Bodies are templates, so that a type must be complete only where it is
// used.
#include <tarsia/detail/macros_push.h>

#pragma GCC visibility push(hidden)
namespace tarsia {
namespace detail {

#if (defined(_BASIC_STRING_H) || defined(TARSIA_STD_DECLARED)) && !defined(TARSIA_ADAPTER_STRING)
#define TARSIA_ADAPTER_STRING
template <class T_, class A_>
struct arg<std::basic_string<char, T_, A_>, k_unsupported> {
  typedef std::basic_string<char, T_, A_> type;
  static constexpr tarsia_type describe() { return make_type(TARSIA_KIND_STRING); }
  static type get(const tarsia_value& v_) { return type(v_.s, v_.size); }
};
template <class T_, class A_>
struct result<std::basic_string<char, T_, A_>, k_unsupported> : arg<std::basic_string<char, T_, A_>> {
  static int32_t put(tarsia_value* r_, const std::basic_string<char, T_, A_>& x_) {
    return host()->result_string(r_, x_.data(), x_.size());
  }
};
#endif

#if (defined(_GLIBCXX_STRING_VIEW) || defined(TARSIA_STD_DECLARED)) && __cplusplus >= 201703L && \
    !defined(TARSIA_ADAPTER_STRING_VIEW)
#define TARSIA_ADAPTER_STRING_VIEW
template <class T_>
struct arg<std::basic_string_view<char, T_>, k_unsupported> {
  typedef std::basic_string_view<char, T_> type;
  static constexpr tarsia_type describe() { return make_type(TARSIA_KIND_STRING); }
  static type get(const tarsia_value& v_) { return type(v_.s, v_.size); }
};
template <class T_>
struct result<std::basic_string_view<char, T_>, k_unsupported> : arg<std::basic_string_view<char, T_>> {
  static int32_t put(tarsia_value* r_, const std::basic_string_view<char, T_>& x_) {
    return host()->result_string(r_, x_.data(), x_.size());
  }
};
#endif

#if (defined(_GLIBCXX_OPTIONAL) || defined(TARSIA_STD_DECLARED)) && __cplusplus >= 201703L && \
    !defined(TARSIA_ADAPTER_OPTIONAL)
#define TARSIA_ADAPTER_OPTIONAL
template <class T_>
struct arg<std::optional<T_>, k_unsupported> : optional_arg<std::optional<T_>, T_> {};
template <class T_>
struct arg<const std::optional<T_>&, k_unsupported> : optional_reference_arg<std::optional<T_>, T_> {};
template <class T_>
struct result<std::optional<T_>, k_unsupported> : optional_result<std::optional<T_>, T_> {};
template <class T_>
struct scope_of<std::optional<T_>> : scope_of<T_> {};
#endif

#if (defined(_STL_VECTOR_H) || defined(TARSIA_STD_DECLARED)) && !defined(TARSIA_ADAPTER_VECTOR)
#define TARSIA_ADAPTER_VECTOR
template <class T_, class A_>
struct arg<std::vector<T_, A_>, k_unsupported> : list_arg<std::vector<T_, A_>, T_> {};
template <class T_, class A_>
struct arg<const std::vector<T_, A_>&, k_unsupported> : list_reference_arg<std::vector<T_, A_>, T_> {};
template <class T_, class A_>
struct result<std::vector<T_, A_>, k_unsupported> : list_result<std::vector<T_, A_>, T_> {};
template <class T_, class A_>
struct scope_of<std::vector<T_, A_>> : scope_of<T_> {};
#endif

#if (defined(_GLIBCXX_ARRAY) || defined(TARSIA_STD_DECLARED)) && !defined(TARSIA_ADAPTER_ARRAY)
#define TARSIA_ADAPTER_ARRAY
template <class T_, decltype(sizeof(0)) n_>
struct arg<std::array<T_, n_>, k_unsupported> : array_arg<std::array<T_, n_>, T_, n_> {};
template <class T_, decltype(sizeof(0)) n_>
struct arg<const std::array<T_, n_>&, k_unsupported> : array_reference_arg<std::array<T_, n_>, T_, n_> {};
template <class T_, decltype(sizeof(0)) n_>
struct result<std::array<T_, n_>, k_unsupported> : list_result<std::array<T_, n_>, T_> {};
template <class T_, decltype(sizeof(0)) n_>
struct scope_of<std::array<T_, n_>> : scope_of<T_> {};
#endif

#if (defined(_GLIBCXX_SPAN) || defined(TARSIA_STD_DECLARED)) && __cplusplus >= 202002L && \
    !defined(TARSIA_ADAPTER_SPAN)
#define TARSIA_ADAPTER_SPAN
template <class T_, decltype(sizeof(0)) n_>
struct arg<std::span<T_, n_>, k_unsupported>
    : span_arg<std::span<T_, n_>, T_, n_ == decltype(n_)(-1) ? 0 : n_> {
  static_assert(n_ > 0, "tarsia: a span of no elements takes nothing");
};
#endif

#if (defined(_STL_PAIR_H) || defined(TARSIA_STD_DECLARED)) && !defined(TARSIA_ADAPTER_PAIR)
#define TARSIA_ADAPTER_PAIR
template <class... T_>
struct tuple_types {
  static const tarsia_type items[sizeof...(T_) + 1];
};
template <class... T_>
const tarsia_type tuple_types<T_...>::items[sizeof...(T_) + 1] = {result<T_>::describe()..., tarsia_type{}};

inline tarsia_value* put_tuple(tarsia_value* r_, uint32_t n_) {
  r_->v = host()->result_values(n_), r_->size = n_, r_->kind = TARSIA_KIND_TUPLE;
  return r_->v;
}
template <class A_, class B_>
struct result<std::pair<A_, B_>, k_unsupported> {
  static constexpr tarsia_type describe() {
    return make_type(TARSIA_KIND_TUPLE, tarsia_dtype{0, 0, 0}, 0, tuple_types<A_, B_>::items, 2);
  }
  static int32_t put(tarsia_value* r_, std::pair<A_, B_> x_) {
    tarsia_value* v_ = put_tuple(r_, 2);
    if (!v_) return TARSIA_OUT_OF_MEMORY;
    int32_t code_ = result<A_>::put(v_, static_cast<A_&&>(x_.first));
    return code_ ? code_ : result<B_>::put(v_ + 1, static_cast<B_&&>(x_.second));
  }
};
#endif

#if defined(_GLIBCXX_TUPLE) && !defined(TARSIA_ADAPTER_TUPLE)
#define TARSIA_ADAPTER_TUPLE
template <unsigned i_, unsigned n_>
struct put_elements {
  template <class T_>
  static int32_t run(tarsia_value* v_, T_& x_) {
    typedef typename std::tuple_element<i_, T_>::type E_;
    int32_t code_ = result<E_>::put(v_ + i_, static_cast<E_&&>(std::get<i_>(x_)));
    return code_ ? code_ : put_elements<i_ + 1, n_>::run(v_, x_);
  }
};
template <unsigned n_>
struct put_elements<n_, n_> {
  template <class T_>
  static int32_t run(tarsia_value*, T_&) {
    return 0;
  }
};
template <class... T_>
struct result<std::tuple<T_...>, k_unsupported> {
  static constexpr tarsia_type describe() {
    return make_type(TARSIA_KIND_TUPLE, tarsia_dtype{0, 0, 0}, 0, tuple_types<T_...>::items, sizeof...(T_));
  }
  static int32_t put(tarsia_value* r_, std::tuple<T_...> x_) {
    tarsia_value* v_ = put_tuple(r_, sizeof...(T_));
    return v_ ? put_elements<0, sizeof...(T_)>::run(v_, x_) : int32_t(TARSIA_OUT_OF_MEMORY);
  }
};
#endif

#if (defined(_GLIBCXX_COMPLEX) || defined(TARSIA_STD_DECLARED)) && !defined(TARSIA_ADAPTER_COMPLEX)
#define TARSIA_ADAPTER_COMPLEX
TARSIA_DETAIL_DTYPE(std::complex<float>, TARSIA_COMPLEX, 1, 64)
TARSIA_DETAIL_DTYPE(std::complex<double>, TARSIA_COMPLEX, 1, 128)
template <class T_>
struct arg<std::complex<T_>, k_unsupported> {
  static constexpr tarsia_type describe() {
    return make_type(TARSIA_KIND_COMPLEX, dtype<std::complex<T_>>());
  }
  static std::complex<T_> get(const tarsia_value& v_) {
    return std::complex<T_>(static_cast<T_>(v_.v[0].f), static_cast<T_>(v_.v[1].f));
  }
};
template <class T_>
struct result<std::complex<T_>, k_unsupported> : arg<std::complex<T_>> {
  static int32_t put(tarsia_value* r_, const std::complex<T_>& x_) {
    tarsia_value* v_ = host()->result_values(2);
    if (!v_) return TARSIA_OUT_OF_MEMORY;
    result<T_>::put(v_, x_.real()), result<T_>::put(v_ + 1, x_.imag());
    return r_->v = v_, r_->size = 2, r_->kind = TARSIA_KIND_COMPLEX, 0;
  }
};
#endif

// CUDA's vectors are elements with several lanes.
#if defined(__VECTOR_TYPES_H__) && !defined(TARSIA_ADAPTER_LANES)
#define TARSIA_ADAPTER_LANES
#define TARSIA_DETAIL_LANES(T_, code_, bits_) \
  TARSIA_DETAIL_DTYPE(T_##2, code_, 2, bits_) \
  TARSIA_DETAIL_DTYPE(T_##3, code_, 3, bits_) \
  TARSIA_DETAIL_DTYPE(T_##4, code_, 4, bits_)
TARSIA_DETAIL_LANES(char, TARSIA_INT, 8)
TARSIA_DETAIL_LANES(uchar, TARSIA_UINT, 8)
TARSIA_DETAIL_LANES(short, TARSIA_INT, 16)
TARSIA_DETAIL_LANES(ushort, TARSIA_UINT, 16)
TARSIA_DETAIL_LANES(int, TARSIA_INT, 32)
TARSIA_DETAIL_LANES(uint, TARSIA_UINT, 32)
TARSIA_DETAIL_LANES(float, TARSIA_FLOAT, 32)
TARSIA_DETAIL_DTYPE(longlong2, TARSIA_INT, 2, 64)
TARSIA_DETAIL_DTYPE(ulonglong2, TARSIA_UINT, 2, 64)
TARSIA_DETAIL_DTYPE(double2, TARSIA_FLOAT, 2, 64)
#undef TARSIA_DETAIL_LANES
#endif

}  // namespace detail
}  // namespace tarsia
#pragma GCC visibility pop

#include <tarsia/detail/macros_pop.h>
