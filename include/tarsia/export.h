// TARSIA_EXPORT: exports functions of a library that g++, Clang or nvcc builds ahead of time. An inline
// source with TARSIA_EXPORT exports the marked functions alone.
#pragma once

#include <tarsia/detail/adapter.h>

#define TARSIA_DETAIL_JOIN_(a_, b_) a_##b_
#define TARSIA_DETAIL_JOIN(a_, b_) TARSIA_DETAIL_JOIN_(a_, b_)
#define TARSIA_DETAIL_TEXT_(a_) #a_
#define TARSIA_DETAIL_TEXT(a_) TARSIA_DETAIL_TEXT_(a_)

/// Exports a function. `TARSIA_EXPORT(f)` exports f under its name as written;
/// `TARSIA_EXPORT(f, float(const float*, int))` exports the overload of that type. Stands at namespace scope,
/// where f is declared with its default arguments: callers may omit those. They may not omit those of an
/// overload that is exported by its type.
#define TARSIA_EXPORT(...)                                                                             \
  TARSIA_DETAIL_EXPORT_CHOOSE(__VA_ARGS__, TARSIA_DETAIL_EXPORT_TYPED, TARSIA_DETAIL_EXPORT_PLAIN, 0)( \
      __COUNTER__, __VA_ARGS__)
#define TARSIA_DETAIL_EXPORT_CHOOSE(a_, b_, macro_, ...) macro_

#if defined(TARSIA_INLINE_SOURCE)

#define TARSIA_DETAIL_EXPORT_PLAIN(k_, function_) \
  TARSIA_DETAIL_EXPORT_MARK(k_, decltype(function_), function_)
#define TARSIA_DETAIL_EXPORT_TYPED(k_, function_, type_) TARSIA_DETAIL_EXPORT_MARK(k_, type_, function_)
#define TARSIA_DETAIL_EXPORT_MARK(k_, type_, function_)                                                   \
  namespace {                                                                                             \
  using TARSIA_DETAIL_JOIN(tarsia_export_type_, k_) = type_;                                              \
  __attribute__((unused, annotate("tarsia::export"))) TARSIA_DETAIL_JOIN(tarsia_export_type_, k_) * const \
      TARSIA_DETAIL_JOIN(tarsia_export_, k_) = function_;                                                 \
  }

#else

#if defined(__CUDACC__)
#define TARSIA_DETAIL_EXPORT_FLAGS TARSIA_FUNCTION_SOURCE_HAS_CUDA
#else
#define TARSIA_DETAIL_EXPORT_FLAGS 0
#endif
#define TARSIA_DETAIL_EXPORT_PLAIN(k_, function_)                                                      \
  namespace {                                                                                          \
  struct TARSIA_DETAIL_JOIN(tarsia_test_, k_) {                                                        \
    template <class... tarsia_A>                                                                       \
    static auto tarsia_test(int)                                                                       \
        -> decltype((void)function_(::tarsia::detail::declared<tarsia_A>()...), static_cast<char>(0)); \
    template <class... tarsia_A>                                                                       \
    static long tarsia_test(...);                                                                      \
  };                                                                                                   \
  }                                                                                                    \
  TARSIA_DETAIL_EXPORT_SOME(k_, decltype(function_), function_,                                        \
                            (::tarsia::detail::function<decltype(function_)>::template count_required< \
                                TARSIA_DETAIL_JOIN(tarsia_test_, k_),                                  \
                                ::tarsia::detail::function<decltype(function_)>::tarsia_n>::value))
#define TARSIA_DETAIL_EXPORT_TYPED(k_, function_, ...) \
  TARSIA_DETAIL_EXPORT_SOME(k_, __VA_ARGS__, function_, (::tarsia::detail::function<__VA_ARGS__>::tarsia_n))
#define TARSIA_DETAIL_EXPORT_SOME(k_, type_, function_, required_)                                   \
  namespace {                                                                                        \
  using TARSIA_DETAIL_JOIN(tarsia_export_type_, k_) = type_;                                         \
  }                                                                                                  \
  TARSIA_DETAIL_FUNCTION(                                                                            \
      k_, #function_, "", __FILE__ ":" TARSIA_DETAIL_TEXT(__LINE__),                                 \
      TARSIA_DETAIL_JOIN(tarsia_export_type_, k_), function_, required_, TARSIA_DETAIL_EXPORT_FLAGS, \
      ::tarsia::detail::function<TARSIA_DETAIL_JOIN(tarsia_export_type_, k_)>::tarsia_unnamed_params())

#endif
