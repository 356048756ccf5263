// TARSIA_DISPATCH: selects a C++ type by a tensor's dtype.
#pragma once

#include <tarsia/detail/macros_push.h>

#include <tarsia/tensor.h>

namespace tarsia {
namespace detail {
/// Throws a TypeError: "relu.cu:12: dtype int8 is none of (float, double)".
[[noreturn]] TARSIA_DETAIL_SUPPORT void no_such_dtype(DType d_, const char* types_, const char* place_) {
  char name_[16];
  throw TypeError(Message(place_) << ": dtype " << name_of(d_, name_) << " is none of " << types_);
}
}  // namespace detail
}  // namespace tarsia

/// Runs statements in which `type` stands for the C++ type of `dtype`. The types in parentheses are the
/// candidates, up to eight:
///   TARSIA_DISPATCH(x.dtype(), T, (float, double), { scale<T><<<grid, block>>>(x.data<T>(), n); })
/// Throws TypeError for other dtypes; the error names the place.
#define TARSIA_DISPATCH(dtype_, type_, types_, ...)                                                     \
  do {                                                                                                  \
    const ::tarsia::DType tarsia_dtype_ = (dtype_);                                                     \
    TARSIA_DETAIL_DISPATCH_(TARSIA_DETAIL_COUNT types_, type_, TARSIA_DETAIL_STRIP types_, __VA_ARGS__) \
    ::tarsia::detail::no_such_dtype(tarsia_dtype_, #types_,                                             \
                                    __FILE__ ":" TARSIA_DETAIL_DISPATCH_TEXT(__LINE__));                \
  } while (false)

#define TARSIA_DETAIL_STRIP(...) (__VA_ARGS__)
#define TARSIA_DETAIL_DISPATCH_TEXT(a_) TARSIA_DETAIL_DISPATCH_TEXT_(a_)
#define TARSIA_DETAIL_DISPATCH_TEXT_(a_) #a_
#define TARSIA_DETAIL_COUNT(...) TARSIA_DETAIL_COUNT_(__VA_ARGS__, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define TARSIA_DETAIL_COUNT_(a_, b_, c_, d_, e_, f_, g_, h_, n_, ...) n_
#define TARSIA_DETAIL_DISPATCH_(n_, type_, types_, ...) \
  TARSIA_DETAIL_DISPATCH__(n_, type_, types_, __VA_ARGS__)
#define TARSIA_DETAIL_DISPATCH__(n_, type_, types_, ...) TARSIA_DETAIL_CASES_##n_(type_, types_, __VA_ARGS__)
#define TARSIA_DETAIL_CASE(type_, candidate_, ...)      \
  if (tarsia_dtype_ == ::tarsia::dtype<candidate_>()) { \
    typedef candidate_ type_;                           \
    __VA_ARGS__;                                        \
    break;                                              \
  }
#define TARSIA_DETAIL_HEAD(types_) TARSIA_DETAIL_HEAD_ types_
#define TARSIA_DETAIL_HEAD_(head_, ...) head_
#define TARSIA_DETAIL_TAIL(types_) TARSIA_DETAIL_TAIL_ types_
#define TARSIA_DETAIL_TAIL_(head_, ...) (__VA_ARGS__)
#define TARSIA_DETAIL_CASES_1(type_, types_, ...) \
  TARSIA_DETAIL_CASE(type_, TARSIA_DETAIL_HEAD(types_), __VA_ARGS__)
#define TARSIA_DETAIL_CASES_2(type_, types_, ...)                    \
  TARSIA_DETAIL_CASE(type_, TARSIA_DETAIL_HEAD(types_), __VA_ARGS__) \
  TARSIA_DETAIL_CASES_1(type_, TARSIA_DETAIL_TAIL(types_), __VA_ARGS__)
#define TARSIA_DETAIL_CASES_3(type_, types_, ...)                    \
  TARSIA_DETAIL_CASE(type_, TARSIA_DETAIL_HEAD(types_), __VA_ARGS__) \
  TARSIA_DETAIL_CASES_2(type_, TARSIA_DETAIL_TAIL(types_), __VA_ARGS__)
#define TARSIA_DETAIL_CASES_4(type_, types_, ...)                    \
  TARSIA_DETAIL_CASE(type_, TARSIA_DETAIL_HEAD(types_), __VA_ARGS__) \
  TARSIA_DETAIL_CASES_3(type_, TARSIA_DETAIL_TAIL(types_), __VA_ARGS__)
#define TARSIA_DETAIL_CASES_5(type_, types_, ...)                    \
  TARSIA_DETAIL_CASE(type_, TARSIA_DETAIL_HEAD(types_), __VA_ARGS__) \
  TARSIA_DETAIL_CASES_4(type_, TARSIA_DETAIL_TAIL(types_), __VA_ARGS__)
#define TARSIA_DETAIL_CASES_6(type_, types_, ...)                    \
  TARSIA_DETAIL_CASE(type_, TARSIA_DETAIL_HEAD(types_), __VA_ARGS__) \
  TARSIA_DETAIL_CASES_5(type_, TARSIA_DETAIL_TAIL(types_), __VA_ARGS__)
#define TARSIA_DETAIL_CASES_7(type_, types_, ...)                    \
  TARSIA_DETAIL_CASE(type_, TARSIA_DETAIL_HEAD(types_), __VA_ARGS__) \
  TARSIA_DETAIL_CASES_6(type_, TARSIA_DETAIL_TAIL(types_), __VA_ARGS__)
#define TARSIA_DETAIL_CASES_8(type_, types_, ...)                    \
  TARSIA_DETAIL_CASE(type_, TARSIA_DETAIL_HEAD(types_), __VA_ARGS__) \
  TARSIA_DETAIL_CASES_7(type_, TARSIA_DETAIL_TAIL(types_), __VA_ARGS__)

#include <tarsia/detail/macros_pop.h>
