// Declarations of the std templates that parameters, results and attributes may have, without their headers,
// which are many times the size of Tarsia's.
#pragma once

#include <tarsia/detail/macros_push.h>

#if defined(__has_include)
#if __has_include(<bits/stringfwd.h>) && !defined(_GLIBCXX_DEBUG) && !defined(_GLIBCXX_PARALLEL)
#define TARSIA_STD_DECLARED
#endif
#endif

#if defined(TARSIA_STD_DECLARED)

#include <bits/exception.h>
#include <bits/stringfwd.h>

namespace std _GLIBCXX_VISIBILITY(default) {
_GLIBCXX_BEGIN_NAMESPACE_VERSION
_GLIBCXX_BEGIN_NAMESPACE_CONTAINER
template <typename, typename>
class vector;
_GLIBCXX_END_NAMESPACE_CONTAINER
#if __cplusplus >= 201703L
template <typename, typename>
class basic_string_view;
template <typename>
class optional;
#endif
template <typename, typename>
struct pair;
template <typename...>
class tuple;
template <typename, size_t>
struct array;
template <typename>
class complex;
#if __cplusplus >= 202002L
template <typename, size_t>
class span;
#endif
#if _GLIBCXX_USE_CXX11_ABI
inline namespace __cxx11 {
#endif
template <typename, typename, typename>
class basic_istringstream;
template <typename, typename, typename>
class basic_ostringstream;
#if _GLIBCXX_USE_CXX11_ABI
}
#endif
_GLIBCXX_END_NAMESPACE_VERSION
// clang-format off: it takes the macro for a part of the name
}
// clang-format on

#else

#include <array>
#include <complex>
#include <exception>
#include <iosfwd>
#include <string>
#include <tuple>
#include <utility>
#include <vector>
#if __cplusplus >= 201703L
#include <optional>
#include <string_view>
#endif
#if __cplusplus >= 202002L
#include <span>
#endif

#endif

#include <tarsia/detail/macros_pop.h>
