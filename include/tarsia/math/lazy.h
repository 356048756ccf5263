// Lazy expressions of <tarsia/math.h>: arithmetic on tensors that is computed when it is assigned, in one
// pass, and by one kernel on a GPU.
//
// An expression is a functor of all tensors and numbers in it, and these: map() computes it. So it has map's
// rules.
#pragma once

#include <tarsia/math/elementwise.h>

#if !defined(__CUDACC_RTC__)

#include <type_traits>
#include <utility>

#include <tarsia/detail/macros_push.h>

namespace tarsia {
namespace math {

/// An expression that is not computed yet: `functor` of `operands`. It borrows the tensors: they have to be
/// there when it is assigned.
template <class F_>
class Lazy {
 public:
  /// The number of its tensors and numbers.
  static constexpr int n = F_::n;
  static_assert(n <= detail::k_most_inputs,
                "tarsia: an expression has at most 8 tensors and numbers: assign a part of it first");

  /// A functor of one operand.
  Lazy(const F_& f_, const Operand& x_) : functor(f_), operands{x_} {}
  /// A functor of the operands of other expressions, in their order.
  template <class... X_>
  Lazy(const F_& f_, const Lazy<X_>&... x_) : functor(f_) {
    static_assert((Lazy<X_>::n + ...) == n, "tarsia: the functor takes another number of elements");
    Operand* to_ = operands;
    const auto append_ = [&to_](const auto& of_) {
      for (const Operand& one_ : of_.operands) *to_++ = one_;
    };
    (append_(x_), ...);
  }

  F_ functor;
  Operand operands[n];
};

namespace detail {

/// A functor of what other functors give, which take the elements one behind the other.
template <class F_, class A_>
struct Of1 {
  enum { n = int(A_::n), is_real = int(F_::is_real) || int(A_::is_real) };
  F_ f;
  A_ a;
  template <class C_, class... More_>
  TARSIA_HOST_DEVICE C_ operator()(C_ first_, More_... more_) const {
    const C_ v_[] = {first_, more_...};
    return f(first_of<A_::n>::call(a, v_));
  }
};
template <class F_, class A_, class B_>
struct Of2 {
  enum { n = int(A_::n) + int(B_::n), is_real = int(F_::is_real) || int(A_::is_real) || int(B_::is_real) };
  F_ f;
  A_ a;
  B_ b;
  template <class C_, class... More_>
  TARSIA_HOST_DEVICE C_ operator()(C_ first_, More_... more_) const {
    const C_ v_[] = {first_, more_...};
    const C_* const at_ = v_;
    return f(first_of<A_::n>::call(a, at_), first_of<B_::n>::call(b, at_ + A_::n));
  }
};
template <class F_, class A_, class B_, class D_>
struct Of3 {
  enum {
    n = int(A_::n) + int(B_::n) + int(D_::n),
    is_real = int(F_::is_real) || int(A_::is_real) || int(B_::is_real) || int(D_::is_real)
  };
  F_ f;
  A_ a;
  B_ b;
  D_ c;
  template <class C_, class... More_>
  TARSIA_HOST_DEVICE C_ operator()(C_ first_, More_... more_) const {
    const C_ v_[] = {first_, more_...};
    const C_* const at_ = v_;
    return f(first_of<A_::n>::call(a, at_), first_of<B_::n>::call(b, at_ + A_::n),
             first_of<D_::n>::call(c, at_ + int(A_::n) + int(B_::n)));
  }
};
/// The functor of a functor and those of its elements.
template <class F_, class... X_>
struct of;
template <class F_, class A_>
struct of<F_, A_> {
  using type = Of1<F_, A_>;
};
template <class F_, class A_, class B_>
struct of<F_, A_, B_> {
  using type = Of2<F_, A_, B_>;
};
template <class F_, class A_, class B_, class D_>
struct of<F_, A_, B_, D_> {
  using type = Of3<F_, A_, B_, D_>;
};
/// A struct with a static Map, as those of mshadow_op.
template <class Op_, int n_>
struct Mapped {
  enum { n = n_, is_real = 1 };
  template <class... C_>
  TARSIA_HOST_DEVICE auto operator()(C_... x_) const {
    return Op_::Map(x_...);
  }
};

template <class X_>
struct is_lazy : std::false_type {};
template <class F_>
struct is_lazy<Lazy<F_>> : std::true_type {};
template <class X_>
inline constexpr bool has_tensors = is_lazy<X_>::value || std::is_base_of<Tensor, X_>::value;
template <class X_>
inline constexpr bool is_part = has_tensors<X_> || std::is_arithmetic<X_>::value;
/// void if these make an expression: tensors, expressions and numbers, and not numbers alone.
template <class... X_>
using if_expression = std::enable_if_t<(is_part<X_> && ...) && (has_tensors<X_> || ...)>;

template <class F_>
const Lazy<F_>& lazy(const Lazy<F_>& x_) {
  return x_;
}
inline Lazy<functors::identity> lazy(const Tensor& x_) {
  return {functors::identity(), Operand(x_)};
}
template <class X_, class = std::enable_if_t<std::is_arithmetic<X_>::value>>
Lazy<functors::identity> lazy(X_ x_) {
  return {functors::identity(), Operand(x_)};
}
template <class F_, class... X_>
auto lazily_of(const F_& f_, const Lazy<X_>&... x_) {
  using All_ = typename of<F_, X_...>::type;
  return Lazy<All_>(All_{f_, x_.functor...}, x_...);
}
template <class F_, class... X_>
auto lazily(const F_& f_, const X_&... x_) {
  return lazily_of(f_, lazy(x_)...);
}

}  // namespace detail

/// out = expression, in one pass, as the request says. `out` may be in the expression.
template <class F_, class Where_ = On>
void assign(const Tensor& out_, const Lazy<F_>& expression_, const Where_& where_ = Where_(),
            Request request_ = Request::write) {
  detail::map("assign", expression_.functor, out_, expression_.operands, where_, request_);
}

/// An expression of one's own functor, as `map` takes it, of up to three expressions.
template <class F_, class... X_, class = detail::if_expression<X_...>>
[[nodiscard]] auto apply(const F_& f_, const X_&... x_) {
  static_assert(sizeof...(X_) == F_::n, "tarsia: the functor takes another number of elements");
  return detail::lazily(f_, x_...);
}
/// The same for a struct with a static Map, as those of mshadow_op: F<mshadow_op::relu>(x). Whole numbers are
/// computed as float64.
template <class Op_, class... X_, class = detail::if_expression<X_...>>
[[nodiscard]] auto F(const X_&... x_) {
  return detail::lazily(detail::Mapped<Op_, sizeof...(X_)>(), x_...);
}

// The functions of one, two and three elements, of expressions.
#define TARSIA_DETAIL_MATH_X(name_, ...)                 \
  /** name(x), elementwise, when it is assigned. */      \
  template <class X_, class = detail::if_expression<X_>> \
  [[nodiscard]] auto name_(const X_& x_) {               \
    return detail::lazily(functors::name_(), x_);        \
  }
TARSIA_DETAIL_MATH_REAL(TARSIA_DETAIL_MATH_X)
TARSIA_DETAIL_MATH_UNARY(TARSIA_DETAIL_MATH_X)
TARSIA_DETAIL_MATH_STEPS(TARSIA_DETAIL_MATH_X)
TARSIA_DETAIL_MATH_TESTS(TARSIA_DETAIL_MATH_X)
#undef TARSIA_DETAIL_MATH_X
#define TARSIA_DETAIL_MATH_X(name_, ...)                               \
  /** name(a, b), elementwise, when it is assigned. */                 \
  template <class A_, class B_, class = detail::if_expression<A_, B_>> \
  [[nodiscard]] auto name_(const A_& a_, const B_& b_) {               \
    return detail::lazily(functors::name_(), a_, b_);                  \
  }
TARSIA_DETAIL_MATH_BINARY(TARSIA_DETAIL_MATH_X)
TARSIA_DETAIL_MATH_COMPARE(TARSIA_DETAIL_MATH_X)
TARSIA_DETAIL_MATH_X(floor_divide)
#undef TARSIA_DETAIL_MATH_X
/// a where the condition is not 0, else b, when it is assigned.
template <class X_, class A_, class B_, class = detail::if_expression<X_, A_, B_>>
[[nodiscard]] auto where(const X_& condition_, const A_& a_, const B_& b_) {
  return detail::lazily(functors::where(), condition_, a_, b_);
}
/// x, but no less than low and no more than high, when it is assigned.
template <class X_, class A_, class B_, class = detail::if_expression<X_, A_, B_>>
[[nodiscard]] auto clip(const X_& x_, const A_& low_, const B_& high_) {
  return detail::lazily(functors::clip(), x_, low_, high_);
}

/// a + b of tensors, expressions and numbers, when it is assigned.
template <class A_, class B_, class = detail::if_expression<A_, B_>>
[[nodiscard]] auto operator+(const A_& a_, const B_& b_) {
  return add(a_, b_);
}
/// a - b, when it is assigned.
template <class A_, class B_, class = detail::if_expression<A_, B_>>
[[nodiscard]] auto operator-(const A_& a_, const B_& b_) {
  return subtract(a_, b_);
}
/// a * b, elementwise, when it is assigned.
template <class A_, class B_, class = detail::if_expression<A_, B_>>
[[nodiscard]] auto operator*(const A_& a_, const B_& b_) {
  return multiply(a_, b_);
}
/// a / b, when it is assigned. Whole numbers are computed as float64.
template <class A_, class B_, class = detail::if_expression<A_, B_>>
[[nodiscard]] auto operator/(const A_& a_, const B_& b_) {
  return divide(a_, b_);
}
/// -x, when it is assigned.
template <class X_, class = detail::if_expression<X_>>
[[nodiscard]] auto operator-(const X_& x_) {
  return negative(x_);
}

}  // namespace math

// Of tensors, which are found here.
using math::operator+;
using math::operator-;
using math::operator*;
using math::operator/;

}  // namespace tarsia

#include <tarsia/detail/macros_pop.h>

#endif
