// The part of adapter.h on main: exports a program's main as a function that takes a list of strings.
#if !defined(TARSIA_ADAPTER_MAIN_H)
#define TARSIA_ADAPTER_MAIN_H

#pragma GCC visibility push(hidden)
namespace tarsia {
namespace detail {

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

/// Exports main. `type_` is its function type, `function_` the function that calls it.
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

#endif
