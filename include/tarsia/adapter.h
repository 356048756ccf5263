// Turns C++ functions into descriptors and adapters (abi.h): the mapping of parameter and result types.
//
// Included at the end of every inline translation unit, by generated text, and by <tarsia/op.h> for libraries
// built ahead of time. It therefore includes no std header, keeps to C++11, defends itself against the user's
// macros, and may be included again: the parts on std types (adapter_std.h) join once their headers are
// there.
//
// The caller has checked arguments against the descriptors; adapters only unpack.
#if !defined(TARSIA_ADAPTER_H)
#define TARSIA_ADAPTER_H

#include <tarsia/macros_push.h>

#include <tarsia/abi.h>
#include <tarsia/host.h>

#if defined(__has_attribute)
#if __has_attribute(retain) && (defined(__clang__) || !defined(__CUDACC__))
#define TARSIA_DETAIL_RETAIN retain,
#endif
#endif
#if !defined(TARSIA_DETAIL_RETAIN)
#define TARSIA_DETAIL_RETAIN
#endif
#define TARSIA_DETAIL_SECTION(section_) __attribute__((TARSIA_DETAIL_RETAIN used, unused, section(section_)))

extern "C" {
// Bounds of the sections; absent ones are null. The images come in an object of their own.
#define TARSIA_DETAIL_HIDDEN __attribute__((weak, visibility("hidden")))
extern const tarsia_function* const __start_tarsia_functions[] TARSIA_DETAIL_HIDDEN;
extern const tarsia_function* const __stop_tarsia_functions[] TARSIA_DETAIL_HIDDEN;
extern const tarsia_kernel* const __start_tarsia_kernels[] TARSIA_DETAIL_HIDDEN;
extern const tarsia_kernel* const __stop_tarsia_kernels[] TARSIA_DETAIL_HIDDEN;
extern const tarsia_skipped __start_tarsia_skipped[] TARSIA_DETAIL_HIDDEN;
extern const tarsia_skipped __stop_tarsia_skipped[] TARSIA_DETAIL_HIDDEN;
extern const tarsia_image tarsia_images[] TARSIA_DETAIL_HIDDEN;
extern const uint64_t tarsia_n_images TARSIA_DETAIL_HIDDEN;
// The module's own state, one however many translation units: what libtarsia gave it, and what lists the ops
// that static initialisers registered, and those of another interface.
const tarsia_host* tarsia_module_host TARSIA_DETAIL_HIDDEN;
const tarsia_op* const* (*tarsia_module_ops)(uint64_t* n)TARSIA_DETAIL_HIDDEN;
const tarsia_extension* (*tarsia_module_extension)() TARSIA_DETAIL_HIDDEN;
#undef TARSIA_DETAIL_HIDDEN
}

struct CUstream_st;
struct __half;
struct __nv_bfloat16;

#pragma GCC visibility push(hidden)
namespace tarsia {
namespace detail {

inline const tarsia_host* host() {
  return tarsia_module_host;
}

// ---- small parts of <type_traits> and <utility> ----

template <class T_>
struct never {
  enum { value = 0 };
};
template <class T_>
struct remove_const {
  typedef T_ type;
};
template <class T_>
struct remove_const<const T_> {
  typedef T_ type;
};
template <class T_>
struct moved_reference {
  typedef T_&& type;
};
template <>
struct moved_reference<bool> {
  typedef bool type;
};
template <class T_>
using moved = typename moved_reference<T_>::type;
template <unsigned... i_>
struct indices {};
template <unsigned n_, unsigned... i_>
struct make_indices : make_indices<n_ - 1, n_ - 1, i_...> {};
template <unsigned... i_>
struct make_indices<0, i_...> {
  typedef indices<i_...> type;
};
template <unsigned i_, class... A_>
struct pick;
template <unsigned i_, class H_, class... A_>
struct pick<i_, H_, A_...> : pick<i_ - 1, A_...> {};
template <class H_, class... A_>
struct pick<0, H_, A_...> {
  typedef H_ type;
};

// ---- element types ----

/// The dtype of T; code TARSIA_ANY_DTYPE means that T is no element type.
template <class T_>
struct dtype_of {
  static constexpr int code = TARSIA_ANY_DTYPE, bits = 0, lanes = 0;
};
#define TARSIA_DETAIL_DTYPE(T_, code_, lanes_, bits_)                      \
  template <>                                                              \
  struct dtype_of<T_> {                                                    \
    static constexpr int code = (code_), bits = (bits_), lanes = (lanes_); \
  };
TARSIA_DETAIL_DTYPE(bool, TARSIA_BOOL, 1, 8)
TARSIA_DETAIL_DTYPE(char, (char(-1) < char(0) ? TARSIA_INT : TARSIA_UINT), 1, 8)
TARSIA_DETAIL_DTYPE(signed char, TARSIA_INT, 1, 8)
TARSIA_DETAIL_DTYPE(unsigned char, TARSIA_UINT, 1, 8)
TARSIA_DETAIL_DTYPE(short, TARSIA_INT, 1, 16)
TARSIA_DETAIL_DTYPE(unsigned short, TARSIA_UINT, 1, 16)
TARSIA_DETAIL_DTYPE(int, TARSIA_INT, 1, 32)
TARSIA_DETAIL_DTYPE(unsigned, TARSIA_UINT, 1, 32)
TARSIA_DETAIL_DTYPE(long, TARSIA_INT, 1, int(sizeof(long) * 8))
TARSIA_DETAIL_DTYPE(unsigned long, TARSIA_UINT, 1, int(sizeof(long) * 8))
TARSIA_DETAIL_DTYPE(long long, TARSIA_INT, 1, 64)
TARSIA_DETAIL_DTYPE(unsigned long long, TARSIA_UINT, 1, 64)
TARSIA_DETAIL_DTYPE(float, TARSIA_FLOAT, 1, 32)
TARSIA_DETAIL_DTYPE(double, TARSIA_FLOAT, 1, 64)
TARSIA_DETAIL_DTYPE(__half, TARSIA_FLOAT, 1, 16)
TARSIA_DETAIL_DTYPE(__nv_bfloat16, TARSIA_BFLOAT, 1, 16)
#if defined(__clang__) && defined(__FLT16_MANT_DIG__) && defined(__x86_64__)
TARSIA_DETAIL_DTYPE(_Float16, TARSIA_FLOAT, 1, 16)
#endif

template <class T_>
constexpr tarsia_dtype dtype() {
  return tarsia_dtype{uint8_t(dtype_of<T_>::code), uint8_t(dtype_of<T_>::bits),
                      uint16_t(dtype_of<T_>::lanes)};
}

constexpr tarsia_type make_type(tarsia_kind kind_, tarsia_dtype dtype_ = tarsia_dtype{0, 0, 0},
                                int flags_ = 0, const tarsia_type* elements_ = nullptr, unsigned n_ = 0) {
  return tarsia_type{uint8_t(kind_), uint8_t(flags_), uint16_t(n_), dtype_, elements_};
}
constexpr tarsia_type add_flags(tarsia_type t_, int flags_) {
  return tarsia_type{t_.kind, uint8_t(t_.flags | flags_), t_.n_elements, t_.dtype, t_.elements};
}

enum scalar_class { k_unsupported, k_bool, k_int, k_float, k_small_float, k_enum };

template <class T_>
struct scalar {
  enum {
    value = dtype_of<T_>::lanes > 1                                         ? k_unsupported
            : dtype_of<T_>::code == TARSIA_BOOL                             ? k_bool
            : dtype_of<T_>::code == TARSIA_INT                              ? k_int
            : dtype_of<T_>::code == TARSIA_UINT                             ? k_int
            : dtype_of<T_>::code == TARSIA_FLOAT&& dtype_of<T_>::bits >= 32 ? k_float
            : dtype_of<T_>::code == TARSIA_FLOAT                            ? k_small_float
            : dtype_of<T_>::code == TARSIA_BFLOAT                           ? k_small_float
            : __is_enum(T_)                                                 ? k_enum
                                                                            : k_unsupported
  };
};

// ---- parameters: describe() and get(value) ----

/// A parameter of type T, by value. Specialisations give `describe()`, its tarsia_type, and `get(value)`,
/// something that initialises a T.
template <class T_, int class_ = scalar<T_>::value>
struct arg {
  static_assert(
      never<T_>::value,
      "tarsia: a function with a parameter of this type cannot be exported. Supported are bool, "
      "integers, enumerations, float, double, half types, const char*, std::string, std::string_view, "
      "pointers to elements, tarsia::Tensor, tarsia::cpu<T>, tarsia::gpu<T>, cudaStream_t, "
      "tarsia::Stream, std::optional and std::vector of these");
};
template <class T_>
struct arg<T_, k_bool> {
  static constexpr tarsia_type describe() { return make_type(TARSIA_KIND_BOOL, dtype<T_>()); }
  static T_ get(const tarsia_value& v_) { return v_.i != 0; }
};
template <class T_>
struct arg<T_, k_int> {
  static constexpr tarsia_type describe() { return make_type(TARSIA_KIND_INT, dtype<T_>()); }
  static T_ get(const tarsia_value& v_) { return static_cast<T_>(v_.i); }
};
template <class T_>
struct arg<T_, k_enum> {
  typedef __underlying_type(T_) base;
  static constexpr tarsia_type describe() { return make_type(TARSIA_KIND_INT, dtype<base>()); }
  static T_ get(const tarsia_value& v_) { return static_cast<T_>(v_.i); }
};
template <class T_>
struct arg<T_, k_float> {
  static constexpr tarsia_type describe() { return make_type(TARSIA_KIND_FLOAT, dtype<T_>()); }
  static T_ get(const tarsia_value& v_) { return static_cast<T_>(v_.f); }
};
template <>
struct arg<long double, k_unsupported> {
  static constexpr tarsia_type describe() { return make_type(TARSIA_KIND_FLOAT, dtype<double>()); }
  static long double get(const tarsia_value& v_) { return v_.f; }
};
template <class T_>
struct arg<T_, k_small_float> {
  static constexpr tarsia_type describe() { return make_type(TARSIA_KIND_FLOAT, dtype<T_>()); }
  static T_ get(const tarsia_value& v_) { return static_cast<T_>(static_cast<float>(v_.f)); }
};

/// A pointer to elements of type T.
template <class T_>
struct pointer {
  static_assert(
      dtype_of<T_>::code != TARSIA_ANY_DTYPE,
      "tarsia: a function with a pointer to this type cannot be exported: it is no element type of a "
      "tensor. Take a void* or a tarsia::Tensor, or a pointer to bool, an integer, float, double, "
      "__half or __nv_bfloat16");
  static constexpr tarsia_type describe(int flags_) {
    return make_type(TARSIA_KIND_POINTER, dtype<T_>(), flags_);
  }
};
template <>
struct pointer<void> {
  static constexpr tarsia_type describe(int flags_) {
    return make_type(TARSIA_KIND_POINTER, tarsia_dtype{TARSIA_ANY_DTYPE, 0, 1}, flags_);
  }
};
template <class T_>
struct arg<T_*, k_unsupported> {
  static constexpr tarsia_type describe() { return pointer<T_>::describe(0); }
  static T_* get(const tarsia_value& v_) { return static_cast<T_*>(v_.p); }
};
template <class T_>
struct arg<const T_*, k_unsupported> {
  static constexpr tarsia_type describe() { return pointer<T_>::describe(TARSIA_TYPE_CONST); }
  static const T_* get(const tarsia_value& v_) { return static_cast<const T_*>(v_.p); }
};
template <>
struct arg<const char*, k_unsupported> {
  static constexpr tarsia_type describe() {
    return make_type(TARSIA_KIND_STRING, tarsia_dtype{0, 0, 0}, TARSIA_TYPE_NO_NUL);
  }
  static const char* get(const tarsia_value& v_) { return v_.s; }
};
template <>
struct arg<CUstream_st*, k_unsupported> {
  static constexpr tarsia_type describe() { return make_type(TARSIA_KIND_STREAM); }
  static CUstream_st* get(const tarsia_value& v_) { return static_cast<CUstream_st*>(v_.p); }
};

template <class T_>
struct static_type {
  static const tarsia_type value;
};
template <class T_>
const tarsia_type static_type<T_>::value = arg<T_>::describe();

/// Types that are taken by const reference as well: the specialisations say so.
template <class T_>
struct by_reference {
  enum { value = 0 };
};
template <class T_>
struct arg<const T_&, k_unsupported> : arg<T_> {
  static_assert(
      by_reference<T_>::value,
      "tarsia: a function with a reference parameter of this type cannot be exported: take it by value");
};

// ---- results: describe() and put(value, result) ----

/// A result of type T. Specialisations give `describe()` and `put(value, result)`, 0 or an error code.
template <class T_, int class_ = scalar<T_>::value>
struct result {
  static_assert(
      never<T_>::value,
      "tarsia: a function with a result of this type cannot be exported. Supported are void, bool, "
      "integers, enumerations, float, double, half types, const char*, std::string, std::string_view, "
      "tarsia::Tensor, and std::optional, std::vector, std::tuple, std::pair of these");
};
template <>
struct result<void, k_unsupported> {
  static constexpr tarsia_type describe() { return make_type(TARSIA_KIND_NONE); }
};
template <class T_>
struct result<T_, k_bool> : arg<T_> {
  static int32_t put(tarsia_value* r_, T_ x_) { return r_->i = x_, r_->kind = TARSIA_KIND_BOOL, 0; }
};
template <class T_>
struct result<T_, k_int> : arg<T_> {
  static int32_t put(tarsia_value* r_, T_ x_) {
    return r_->i = static_cast<int64_t>(x_), r_->kind = TARSIA_KIND_INT, 0;
  }
};
template <class T_>
struct result<T_, k_enum> : arg<T_> {
  static int32_t put(tarsia_value* r_, T_ x_) {
    return r_->i = static_cast<int64_t>(x_), r_->kind = TARSIA_KIND_INT, 0;
  }
};
template <class T_>
struct result<T_, k_float> : arg<T_> {
  static int32_t put(tarsia_value* r_, T_ x_) { return r_->f = x_, r_->kind = TARSIA_KIND_FLOAT, 0; }
};
template <>
struct result<long double, k_unsupported> : arg<long double> {
  static int32_t put(tarsia_value* r_, long double x_) {
    return r_->f = static_cast<double>(x_), r_->kind = TARSIA_KIND_FLOAT, 0;
  }
};
template <class T_>
struct result<T_, k_small_float> : arg<T_> {
  static int32_t put(tarsia_value* r_, T_ x_) {
    return r_->f = static_cast<float>(x_), r_->kind = TARSIA_KIND_FLOAT, 0;
  }
};
template <>
struct result<const char*, k_unsupported> : arg<const char*> {
  static int32_t put(tarsia_value* r_, const char* x_) {
    return x_ ? host()->result_string(r_, x_, __builtin_strlen(x_)) : 0;
  }
};
template <>
struct result<char*, k_unsupported> : result<const char*> {};
template <class T_>
struct result<const T_, k_unsupported> : result<T_> {};
template <class T_>
struct result<T_&, k_unsupported> : result<typename remove_const<T_>::type> {};

// ---- functions ----

template <class T_>
T_ declared();

template <unsigned n_>
struct param_array {
  tarsia_param items[n_ + 1];
};

/// What is asked about a function type: its parameters, its result, and adapters of functions of this type.
template <class F_>
struct function;

template <class R_, class... A_>
struct function<R_(A_...)> {
  enum { tarsia_n = sizeof...(A_) };
  typedef R_ tarsia_result;

  template <class... S_>
  static constexpr param_array<sizeof...(A_)> tarsia_params(S_... names_) {
    static_assert(sizeof...(S_) == sizeof...(A_), "tarsia: one name per parameter");
    return param_array<sizeof...(A_)>{
        {tarsia_param{names_, arg<A_>::describe()}..., tarsia_param{nullptr, tarsia_type{}}}};
  }
  static constexpr param_array<sizeof...(A_)> tarsia_unnamed_params() {
    return param_array<sizeof...(A_)>{
        {tarsia_param{"", arg<A_>::describe()}..., tarsia_param{nullptr, tarsia_type{}}}};
  }
  static constexpr tarsia_type tarsia_result_type() { return result<R_>::describe(); }

  /// Whether C_'s function can be called with its first arguments only.
  template <class C_, unsigned... i_>
  static constexpr bool callable(indices<i_...>) {
    return sizeof(C_::template tarsia_test<typename pick<i_, A_...>::type...>(0)) == 1;
  }
  /// How many arguments it needs: n, less the trailing ones that it can be called without.
  template <class C_, unsigned m_>
  struct count_required {
    template <bool fewer_, class unused_>
    struct step {
      enum { value = count_required<C_, m_ - 1>::value };
    };
    template <class unused_>
    struct step<false, unused_> {
      enum { value = m_ };
    };
    enum { value = step<callable<C_>(typename make_indices<m_ - 1>::type()), void>::value };
  };
  template <class C_>
  struct count_required<C_, 0> {
    enum { value = 0 };
  };

  /// Calls with the first n arguments only, n down to required_, for functions with default arguments:
  /// C_::tarsia_partial calls by name, which a function pointer cannot do.
  template <class C_, unsigned... i_>
  static R_ partial(const tarsia_value* a_, indices<i_...>) {
    (void)a_;
    return C_::template tarsia_partial<R_>(
        static_cast<typename pick<i_, A_...>::type>(arg<typename pick<i_, A_...>::type>::get(a_[i_]))...);
  }
  template <class C_, unsigned... i_>
  static R_ full(const tarsia_value* a_, indices<i_...>) {
    (void)a_;
    return C_::tarsia_target()(arg<A_>::get(a_[i_])...);
  }
  template <class C_, unsigned m_, unsigned required_, bool more_ = (m_ > required_)>
  struct call_partial {
    static R_ run(const tarsia_value* a_, uint32_t n_) {
      return n_ == m_ ? partial<C_>(a_, typename make_indices<m_>::type())
                      : call_partial<C_, m_ - 1, required_>::run(a_, n_);
    }
  };
  template <class C_, unsigned m_, unsigned required_>
  struct call_partial<C_, m_, required_, false> {
    static R_ run(const tarsia_value* a_, uint32_t) {
      return partial<C_>(a_, typename make_indices<m_>::type());
    }
  };
  template <class C_, unsigned required_, bool defaults_ = (required_ < sizeof...(A_))>
  struct invoke {
    static R_ run(const tarsia_value* a_, uint32_t n_) {
      return n_ == sizeof...(A_) ? full<C_>(a_, typename make_indices<sizeof...(A_)>::type())
                                 : call_partial<C_, sizeof...(A_) - 1, required_>::run(a_, n_);
    }
  };
  template <class C_, unsigned required_>
  struct invoke<C_, required_, false> {
    static R_ run(const tarsia_value* a_, uint32_t) {
      return full<C_>(a_, typename make_indices<sizeof...(A_)>::type());
    }
  };

  template <class C_, unsigned required_, class X_>
  struct body {
    static int32_t run(const tarsia_value* a_, uint32_t n_, tarsia_value* r_) {
      return result<X_>::put(r_, invoke<C_, required_>::run(a_, n_));
    }
  };
  template <class C_, unsigned required_>
  struct body<C_, required_, void> {
    static int32_t run(const tarsia_value* a_, uint32_t n_, tarsia_value*) {
      invoke<C_, required_>::run(a_, n_);
      return 0;
    }
  };

  /// The tarsia_adapter of C_.
  template <class C_, unsigned required_>
  static int32_t tarsia_adapt(const tarsia_value* a_, uint32_t n_, tarsia_value* r_) {
#if defined(__cpp_exceptions) || defined(__EXCEPTIONS)
    try {
#endif
      r_->kind = TARSIA_KIND_NONE;
      return body<C_, required_, R_>::run(a_, n_, r_);
#if defined(__cpp_exceptions) || defined(__EXCEPTIONS)
    } catch (...) {
      return host()->capture_exception();
    }
#endif
  }
};
#if defined(__cpp_noexcept_function_type)
template <class R_, class... A_>
struct function<R_(A_...) noexcept> : function<R_(A_...)> {};
#endif

// ---- main ----

template <class F_>
struct main_caller;
template <class R_>
struct main_caller<R_()> {
  static R_ run(R_ (*f_)(), int, char**) { return f_(); }
};
template <class R_, class V_>
struct main_caller<R_(int, V_)> {
  static R_ run(R_ (*f_)(int, V_), int n_, char** v_) { return f_(n_, (V_)v_); }
};
template <class R_, class V_, class E_>
struct main_caller<R_(int, V_, E_)> {
  static R_ run(R_ (*f_)(int, V_, E_), int n_, char** v_) { return f_(n_, (V_)v_, (E_)(v_ + n_)); }
};
template <class R_>
struct main_result {
  template <class F_, class M_>
  static int run(M_* f_, int n_, char** v_) {
    return static_cast<int>(main_caller<F_>::run(f_, n_, v_));
  }
};
template <>
struct main_result<void> {
  template <class F_, class M_>
  static int run(M_* f_, int n_, char** v_) {
    return main_caller<F_>::run(f_, n_, v_), 0;
  }
};

/// Calls main with writable copies of the strings, in memory that lives for the call.
template <class C_, class F_>
int32_t adapt_main(const tarsia_value* a_, uint32_t, tarsia_value* r_) {
  const tarsia_device cpu_ = {TARSIA_CPU, 0};
  const uint32_t n_ = a_[0].size;
  uint64_t bytes_ = (n_ + 1) * sizeof(char*);
  for (uint32_t i_ = 0; i_ < n_; ++i_) bytes_ += a_[0].v[i_].size + 1;
  char** v_ = static_cast<char**>(host()->scratch(bytes_, cpu_));
  if (!v_) return TARSIA_OUT_OF_MEMORY;
  char* text_ = reinterpret_cast<char*>(v_ + n_ + 1);
  for (uint32_t i_ = 0; i_ < n_; ++i_) {
    const tarsia_value& s_ = a_[0].v[i_];
    v_[i_] = text_;
    __builtin_memcpy(text_, s_.s, s_.size);
    text_[s_.size] = 0;
    text_ += s_.size + 1;
  }
  v_[n_] = nullptr;
#if defined(__cpp_exceptions) || defined(__EXCEPTIONS)
  try {
#endif
    r_->i =
        main_result<typename function<F_>::tarsia_result>::template run<F_>(C_::tarsia_target(), int(n_), v_);
    r_->kind = TARSIA_KIND_INT;
    return 0;
#if defined(__cpp_exceptions) || defined(__EXCEPTIONS)
  } catch (...) {
    return host()->capture_exception();
  }
#endif
}

template <class unused_>
struct main_params {
  static const tarsia_type string;
  static const tarsia_param items[1];
};
template <class unused_>
const tarsia_type main_params<unused_>::string = {TARSIA_KIND_STRING, 0, 0, {0, 0, 0}, nullptr};
template <class unused_>
const tarsia_param main_params<unused_>::items[1] = {
    {"argv", {TARSIA_KIND_LIST, 0, 1, {0, 0, 0}, &main_params<unused_>::string}}};

}  // namespace detail
}  // namespace tarsia
#pragma GCC visibility pop

/// Exports a function: generated, one per function. `k_` is unique in the translation unit, `type_` its
/// function type, `function_` its qualified name (overloads are told apart by the type), then the names of
/// the parameters. `required_` counts those without a default argument.
#define TARSIA_DETAIL_EXPORT(k_, name_, signature_, location_, type_, function_, required_, flags_, ...) \
  TARSIA_DETAIL_FUNCTION(k_, name_, signature_, location_, type_, function_, required_, flags_,          \
                         ::tarsia::detail::function<type_>::tarsia_params(__VA_ARGS__))

#define TARSIA_DETAIL_FUNCTION(k_, name_, signature_, location_, type_, function_, required_, flags_, \
                               params_)                                                               \
  namespace {                                                                                         \
  struct tarsia_call_##k_ {                                                                           \
    static constexpr type_* tarsia_target() { return function_; }                                     \
    template <class tarsia_R, class... tarsia_A>                                                      \
    static tarsia_R tarsia_partial(tarsia_A&&... tarsia_a) {                                          \
      return function_(static_cast<tarsia_A&&>(tarsia_a)...);                                         \
    }                                                                                                 \
  };                                                                                                  \
  constexpr auto tarsia_params_##k_ = params_;                                                        \
  const tarsia_function tarsia_function_##k_ = {                                                      \
      sizeof(tarsia_function),                                                                        \
      (flags_),                                                                                       \
      name_,                                                                                          \
      signature_,                                                                                     \
      location_,                                                                                      \
      ::tarsia::detail::function<type_>::tarsia_n,                                                    \
      (required_),                                                                                    \
      tarsia_params_##k_.items,                                                                       \
      ::tarsia::detail::function<type_>::tarsia_result_type(),                                        \
      &::tarsia::detail::function<type_>::template tarsia_adapt<tarsia_call_##k_, (required_)>};      \
  TARSIA_DETAIL_SECTION("tarsia_functions")                                                           \
  const tarsia_function* tarsia_function_entry_##k_ = &tarsia_function_##k_;                          \
  }

/// Exports main. `type_` is its function type, `function_` what calls it.
#define TARSIA_DETAIL_MAIN(k_, signature_, location_, type_, function_, flags_)                          \
  namespace {                                                                                            \
  struct tarsia_call_##k_ {                                                                              \
    static type_* tarsia_target() { return function_; }                                                  \
  };                                                                                                     \
  const tarsia_function tarsia_function_##k_ = {sizeof(tarsia_function),                                 \
                                                (flags_) | TARSIA_FUNCTION_MAIN,                         \
                                                "main",                                                  \
                                                signature_,                                              \
                                                location_,                                               \
                                                1,                                                       \
                                                1,                                                       \
                                                ::tarsia::detail::main_params<void>::items,              \
                                                ::tarsia::detail::result<int>::describe(),               \
                                                &::tarsia::detail::adapt_main<tarsia_call_##k_, type_>}; \
  TARSIA_DETAIL_SECTION("tarsia_functions")                                                              \
  const tarsia_function* tarsia_function_entry_##k_ = &tarsia_function_##k_;                             \
  }

/// Lists a function that was not exported, and why.
#define TARSIA_DETAIL_SKIPPED(k_, name_, reason_)        \
  namespace {                                            \
  TARSIA_DETAIL_SECTION("tarsia_skipped")                \
  tarsia_skipped tarsia_skipped_##k_ = {name_, reason_}; \
  }

/// Ends the generated text. The module's entry stands below, once, whatever the number of translation units.
#define TARSIA_DETAIL_MODULE() static_assert(true, "")

// An inline source has it from jit/worker/support/attach_support.c.
#if !defined(TARSIA_NO_MODULE) && !defined(TARSIA_INLINE_SOURCE)
extern "C" __attribute__((weak, used, visibility("default")))
const tarsia_module* tarsia_module_attach(const tarsia_host* tarsia_host_) {
  static tarsia_module module_;
  uint64_t n_ops_ = 0;
  tarsia_module_host = tarsia_host_;
  module_.abi_version = TARSIA_ABI_VERSION;
  module_.size = sizeof(tarsia_module);
  module_.functions = __start_tarsia_functions;
  module_.functions_end = __stop_tarsia_functions;
  if (tarsia_module_ops) module_.ops = tarsia_module_ops(&n_ops_);
  module_.ops_end = module_.ops + n_ops_;
  module_.kernels = __start_tarsia_kernels;
  module_.kernels_end = __stop_tarsia_kernels;
  module_.images = tarsia_images;
  module_.n_images = &tarsia_n_images ? tarsia_n_images : 0;
  module_.skipped = __start_tarsia_skipped;
  module_.n_skipped = uint64_t(__stop_tarsia_skipped - __start_tarsia_skipped);
  if (tarsia_module_extension) module_.extension = tarsia_module_extension();
  return &module_;
}
#endif

#include <tarsia/macros_pop.h>

#endif

#include <tarsia/adapter_std.h>
