// The function objects of <functional>.
#pragma once
#include <tarsia/utility.h>

namespace std {

// What function objects had for bases before C++17, and what libstdc++ has yet.
template <class A, class R>
struct unary_function {
  typedef A argument_type;
  typedef R result_type;
};
template <class A, class B, class R>
struct binary_function {
  typedef A first_argument_type;
  typedef B second_argument_type;
  typedef R result_type;
};

#define TARSIA_STD_BINARY(name, result, op)                                                        \
  template <class T = void>                                                                        \
  struct name {                                                                                    \
    typedef T first_argument_type;                                                                 \
    typedef T second_argument_type;                                                                \
    typedef result result_type;                                                                    \
    TARSIA_STD_MEMBER constexpr result operator()(const T& a, const T& b) const { return a op b; } \
  };                                                                                               \
  template <>                                                                                      \
  struct name<void> {                                                                              \
    template <class A, class B>                                                                    \
    TARSIA_STD_MEMBER constexpr auto operator()(A&& a, B&& b) const -> decltype(a op b) {          \
      return a op b;                                                                               \
    }                                                                                              \
  };
TARSIA_STD_BINARY(plus, T, +)
TARSIA_STD_BINARY(minus, T, -)
TARSIA_STD_BINARY(multiplies, T, *)
TARSIA_STD_BINARY(divides, T, /)
TARSIA_STD_BINARY(modulus, T, %)
TARSIA_STD_BINARY(bit_and, T, &)
TARSIA_STD_BINARY(bit_or, T, |)
TARSIA_STD_BINARY(bit_xor, T, ^)
TARSIA_STD_BINARY(equal_to, bool, ==)
TARSIA_STD_BINARY(not_equal_to, bool, !=)
TARSIA_STD_BINARY(less, bool, <)
TARSIA_STD_BINARY(less_equal, bool, <=)
TARSIA_STD_BINARY(greater, bool, >)
TARSIA_STD_BINARY(greater_equal, bool, >=)
TARSIA_STD_BINARY(logical_and, bool, &&)
TARSIA_STD_BINARY(logical_or, bool, ||)
#undef TARSIA_STD_BINARY
template <class T = void>
struct negate {
  TARSIA_STD_MEMBER constexpr T operator()(const T& a) const { return -a; }
};
template <class T = void>
struct logical_not {
  TARSIA_STD_MEMBER constexpr bool operator()(const T& a) const { return !a; }
};
struct identity {
  template <class T>
  TARSIA_STD_MEMBER constexpr T&& operator()(T&& value) const noexcept {
    return static_cast<T&&>(value);
  }
};
template <class F, class... A>
TARSIA_STD_FN constexpr auto invoke(F&& f, A&&... a) -> decltype(f(static_cast<A&&>(a)...)) {
  return f(static_cast<A&&>(a)...);
}

}  // namespace std
