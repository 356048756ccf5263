// Marks of functions, callable in device code and constexpr as far as the language version allows; and what
// the traits are written with.
#pragma once
#define TARSIA_STD_FN __host__ __device__ inline
#define TARSIA_STD_MEMBER __host__ __device__
#if __cplusplus >= 201402L
#define TARSIA_STD_CONSTEXPR constexpr
#else
#define TARSIA_STD_CONSTEXPR
#endif
#if __cplusplus >= 201703L
#define TARSIA_STD_VARIABLE inline constexpr
#else
#define TARSIA_STD_VARIABLE constexpr
#endif
#define TARSIA_STD_BUILTIN(name, ...) \
  template <class T>                  \
  struct name : bool_constant<__VA_ARGS__> {};
#define TARSIA_STD_V(name) \
  template <class T>       \
  TARSIA_STD_VARIABLE bool name##_v = name<T>::value;
#define TARSIA_STD_VN(name) \
  template <class... T>     \
  TARSIA_STD_VARIABLE bool name##_v = name<T...>::value;
namespace std {
using ::ptrdiff_t;
using ::size_t;
typedef decltype(nullptr) nullptr_t;
}  // namespace std
