// Makes descriptors and adapters (abi.h) of C++ functions by mapping their parameter and result types.
//
// Generated text includes this at the end of every inline translation unit, and <tarsia/op.h> includes it for
// libraries built ahead of time. It therefore includes no std header, keeps to C++11, protects itself from
// the user's macros, and may be included again: a part on a std type (adapter_std.h) is added once the type's
// header is included.
//
// The caller has checked the arguments against the descriptors. Adapters only unpack them.
#if !defined(TARSIA_ADAPTER_H)
#define TARSIA_ADAPTER_H

#include <tarsia/detail/macros_push.h>

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
// The bounds of the sections; null for an absent section. The images come in an object of their own.
#define TARSIA_DETAIL_HIDDEN __attribute__((weak, visibility("hidden")))
extern const tarsia_function* const __start_tarsia_functions[] TARSIA_DETAIL_HIDDEN;
extern const tarsia_function* const __stop_tarsia_functions[] TARSIA_DETAIL_HIDDEN;
extern const tarsia_kernel* const __start_tarsia_kernels[] TARSIA_DETAIL_HIDDEN;
extern const tarsia_kernel* const __stop_tarsia_kernels[] TARSIA_DETAIL_HIDDEN;
extern const tarsia_skipped __start_tarsia_skipped[] TARSIA_DETAIL_HIDDEN;
extern const tarsia_skipped __stop_tarsia_skipped[] TARSIA_DETAIL_HIDDEN;
extern const tarsia_image tarsia_images[] TARSIA_DETAIL_HIDDEN;
extern const uint64_t tarsia_n_images TARSIA_DETAIL_HIDDEN;
// The state of the module, once for all its translation units: the table that libtarsia gave it, and the
// lists of the ops that static initialisers registered, and of those of another interface.
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

}  // namespace detail
}  // namespace tarsia
#pragma GCC visibility pop

#include <tarsia/detail/adapter_types.h>

#pragma GCC visibility push(hidden)
namespace tarsia {
namespace detail {

template <class T_>
T_ declared();

template <unsigned n_>
struct param_array {
  tarsia_param items[n_ + 1];
};

/// The properties of a function type: its parameters, its result, and adapters of functions of this type.
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

  /// Whether C_'s function can be called with only its first arguments.
  template <class C_, unsigned... i_>
  static constexpr bool callable(indices<i_...>) {
    return sizeof(C_::template tarsia_test<typename pick<i_, A_...>::type...>(0)) == 1;
  }
  /// The number of arguments that it needs: n, less the trailing ones that callers may omit.
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

  /// Calls a function that has default arguments with its first n arguments, n down to required_.
  /// C_::tarsia_partial calls it by its name, because a function pointer has no default arguments.
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
      const typename first_scope<typename scope_of<R_>::type, typename scope_of<A_>::type...>::type scope_{};
      (void)scope_;
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

}  // namespace detail
}  // namespace tarsia
#pragma GCC visibility pop

#include <tarsia/detail/adapter_main.h>

/// Exports a function. Generated text uses this once for each function. `k_` is unique in the translation
/// unit. `type_` is the function's type, which distinguishes overloads, and `function_` its qualified name.
/// The names of the parameters follow. `required_` counts the parameters without a default argument.
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

/// Lists a function that was not exported, with the reason.
#define TARSIA_DETAIL_SKIPPED(k_, name_, reason_)        \
  namespace {                                            \
  TARSIA_DETAIL_SECTION("tarsia_skipped")                \
  tarsia_skipped tarsia_skipped_##k_ = {name_, reason_}; \
  }

/// Ends the generated text. The module's entry stands below, once for all translation units.
#define TARSIA_DETAIL_MODULE() static_assert(true, "")

// An inline source gets it from jit/worker/link/support/attach_support.c.
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

#include <tarsia/detail/macros_pop.h>

#endif

#include <tarsia/detail/adapter_std.h>
