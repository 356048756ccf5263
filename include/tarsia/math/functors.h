// The functions of <tarsia/math.h> on single elements, and their gradients. Device code sees this file, too.
//
// Elements are computed as one of four types: float, double, long long, unsigned long long. A gradient takes
// the output's gradient, the inputs and the output.
#pragma once

#include <tarsia/device.h>

#if !defined(__CUDACC_RTC__)
#include <cmath>
#define TARSIA_DETAIL_MATH(f_) std::f_
#else
#define TARSIA_DETAIL_MATH(f_) ::f_
#endif

namespace tarsia {
namespace math {
namespace functors {

/// Whether a type of computing is one of floats.
template <class C_>
struct is_real {
  enum { value = C_(1) / C_(2) != C_(0) };
};

template <class C_>
TARSIA_HOST_DEVICE inline C_ sign_of(C_ x_) {
  return x_ > C_(0) ? C_(1) : x_ < C_(0) ? C_(0) - C_(1) : x_;  // NaN stays
}
template <class C_>
TARSIA_HOST_DEVICE inline C_ sigmoid_of(C_ x_) {
  return C_(1) / (C_(1) + TARSIA_DETAIL_MATH(exp)(-x_));
}
/// The quotient towards minus infinity; of whole numbers by 0, it is 0.
template <class C_>
TARSIA_HOST_DEVICE inline C_ quotient(C_ a_, C_ b_) {
  if constexpr (is_real<C_>::value) {
    return TARSIA_DETAIL_MATH(floor)(a_ / b_);
  } else {
    if (b_ == C_(0)) return C_(0);
    if (C_(0) - C_(1) < C_(0) && b_ == C_(0) - C_(1)) return C_(0ULL - static_cast<unsigned long long>(a_));
    const C_ q_ = a_ / b_;
    return q_ * b_ != a_ && (a_ < C_(0)) != (b_ < C_(0)) ? q_ - C_(1) : q_;
  }
}
/// What is left of it, which has the sign of b.
template <class C_>
TARSIA_HOST_DEVICE inline C_ rest(C_ a_, C_ b_) {
  if constexpr (is_real<C_>::value) {
    const C_ r_ = TARSIA_DETAIL_MATH(fmod)(a_, b_);
    return r_ != C_(0) && (r_ < C_(0)) != (b_ < C_(0)) ? r_ + b_ : r_;
  } else {
    if (b_ == C_(0) || (C_(0) - C_(1) < C_(0) && b_ == C_(0) - C_(1))) return C_(0);
    const C_ r_ = a_ % b_;
    return r_ != C_(0) && (r_ < C_(0)) != (b_ < C_(0)) ? r_ + b_ : r_;
  }
}
/// A power; of whole numbers to a negative one, it is rounded towards 0.
template <class C_>
TARSIA_HOST_DEVICE inline C_ power_of(C_ a_, C_ b_) {
  if constexpr (is_real<C_>::value) {
    return TARSIA_DETAIL_MATH(pow)(a_, b_);
  } else {
    if (b_ < C_(0))
      return a_ == C_(1) ? C_(1) : a_ == C_(0) - C_(1) ? (b_ % C_(2) != C_(0) ? a_ : C_(1)) : C_(0);
    unsigned long long power_ = 1, base_ = static_cast<unsigned long long>(a_);
    for (unsigned long long n_ = static_cast<unsigned long long>(b_); n_; n_ >>= 1, base_ *= base_)
      if (n_ & 1) power_ *= base_;
    return C_(power_);
  }
}
/// Larger or smaller; NaN if one is.
template <class C_>
TARSIA_HOST_DEVICE inline C_ larger(C_ a_, C_ b_) {
  return a_ > b_ || a_ != a_ ? a_ : b_;
}
template <class C_>
TARSIA_HOST_DEVICE inline C_ smaller(C_ a_, C_ b_) {
  return a_ < b_ || a_ != a_ ? a_ : b_;
}

// X_(name, value, gradient) of functions of one element. Those of the first list are computed with floats
// whatever the input's dtype is.
// clang-format off
#define TARSIA_DETAIL_MATH_REAL(X_)                                                                     \
  X_(sqrt, TARSIA_DETAIL_MATH(sqrt)(x_), dy_ / (C_(2) * y_))                                            \
  X_(rsqrt, C_(1) / TARSIA_DETAIL_MATH(sqrt)(x_), -dy_ * y_ * y_ * y_ / C_(2))                          \
  X_(cbrt, TARSIA_DETAIL_MATH(cbrt)(x_), dy_ / (C_(3) * y_ * y_))                                       \
  X_(reciprocal, C_(1) / x_, -dy_ * y_ * y_)                                                            \
  X_(exp, TARSIA_DETAIL_MATH(exp)(x_), dy_ * y_)                                                        \
  X_(exp2, TARSIA_DETAIL_MATH(exp2)(x_), dy_ * y_ * C_(0.69314718055994530942))                         \
  X_(expm1, TARSIA_DETAIL_MATH(expm1)(x_), dy_ * (y_ + C_(1)))                                          \
  X_(log, TARSIA_DETAIL_MATH(log)(x_), dy_ / x_)                                                        \
  X_(log2, TARSIA_DETAIL_MATH(log2)(x_), dy_ / (x_ * C_(0.69314718055994530942)))                       \
  X_(log10, TARSIA_DETAIL_MATH(log10)(x_), dy_ / (x_ * C_(2.30258509299404568402)))                     \
  X_(log1p, TARSIA_DETAIL_MATH(log1p)(x_), dy_ / (C_(1) + x_))                                          \
  X_(sin, TARSIA_DETAIL_MATH(sin)(x_), dy_ * TARSIA_DETAIL_MATH(cos)(x_))                               \
  X_(cos, TARSIA_DETAIL_MATH(cos)(x_), -dy_ * TARSIA_DETAIL_MATH(sin)(x_))                              \
  X_(tan, TARSIA_DETAIL_MATH(tan)(x_), dy_ * (C_(1) + y_ * y_))                                         \
  X_(asin, TARSIA_DETAIL_MATH(asin)(x_), dy_ / TARSIA_DETAIL_MATH(sqrt)(C_(1) - x_ * x_))               \
  X_(acos, TARSIA_DETAIL_MATH(acos)(x_), -dy_ / TARSIA_DETAIL_MATH(sqrt)(C_(1) - x_ * x_))              \
  X_(atan, TARSIA_DETAIL_MATH(atan)(x_), dy_ / (C_(1) + x_ * x_))                                       \
  X_(sinh, TARSIA_DETAIL_MATH(sinh)(x_), dy_ * TARSIA_DETAIL_MATH(cosh)(x_))                            \
  X_(cosh, TARSIA_DETAIL_MATH(cosh)(x_), dy_ * TARSIA_DETAIL_MATH(sinh)(x_))                            \
  X_(tanh, TARSIA_DETAIL_MATH(tanh)(x_), dy_ * (C_(1) - y_ * y_))                                       \
  X_(asinh, TARSIA_DETAIL_MATH(asinh)(x_), dy_ / TARSIA_DETAIL_MATH(sqrt)(x_ * x_ + C_(1)))             \
  X_(acosh, TARSIA_DETAIL_MATH(acosh)(x_), dy_ / TARSIA_DETAIL_MATH(sqrt)(x_ * x_ - C_(1)))             \
  X_(atanh, TARSIA_DETAIL_MATH(atanh)(x_), dy_ / (C_(1) - x_ * x_))                                     \
  X_(erf, TARSIA_DETAIL_MATH(erf)(x_), dy_ * C_(1.12837916709551257390) * TARSIA_DETAIL_MATH(exp)(-x_ * x_)) \
  X_(erfc, TARSIA_DETAIL_MATH(erfc)(x_), -dy_ * C_(1.12837916709551257390) * TARSIA_DETAIL_MATH(exp)(-x_ * x_)) \
  X_(sigmoid, sigmoid_of(x_), dy_ * y_ * (C_(1) - y_))                                                  \
  X_(silu, x_ * sigmoid_of(x_), dy_ * sigmoid_of(x_) * (C_(1) + x_ - y_))                               \
  X_(softplus, larger(x_, C_(0)) + TARSIA_DETAIL_MATH(log1p)(TARSIA_DETAIL_MATH(exp)(x_ > C_(0) ? -x_ : x_)), \
     dy_ * sigmoid_of(x_))                                                                              \
  X_(gelu, x_ / C_(2) * (C_(1) + TARSIA_DETAIL_MATH(erf)(x_ * C_(0.70710678118654752440))),             \
     dy_ * ((C_(1) + TARSIA_DETAIL_MATH(erf)(x_ * C_(0.70710678118654752440))) / C_(2) +                \
            x_ * C_(0.39894228040143267794) * TARSIA_DETAIL_MATH(exp)(-x_ * x_ / C_(2))))
#define TARSIA_DETAIL_MATH_UNARY(X_)                                                                    \
  X_(negative, C_(0) - x_, C_(0) - dy_)                                                                 \
  X_(abs, x_ < C_(0) ? C_(0) - x_ : x_, dy_ * sign_of(x_))                                              \
  X_(square, x_ * x_, C_(2) * x_ * dy_)                                                                 \
  X_(relu, x_ > C_(0) || x_ != x_ ? x_ : C_(0), x_ > C_(0) ? dy_ : C_(0))                               \
  X_(identity, x_, dy_)
// Steps and tests: their gradient is 0, or there is none.
#define TARSIA_DETAIL_MATH_STEPS(X_)                                                                    \
  X_(sign, sign_of(x_))                                                                                 \
  X_(floor, real_step<C_>(x_, [](auto r_) { return TARSIA_DETAIL_MATH(floor)(r_); }))                   \
  X_(ceil, real_step<C_>(x_, [](auto r_) { return TARSIA_DETAIL_MATH(ceil)(r_); }))                     \
  X_(trunc, real_step<C_>(x_, [](auto r_) { return TARSIA_DETAIL_MATH(trunc)(r_); }))                   \
  X_(round, real_step<C_>(x_, [](auto r_) { return TARSIA_DETAIL_MATH(nearbyint)(r_); }))
#define TARSIA_DETAIL_MATH_TESTS(X_)                                                                    \
  X_(isnan, C_(x_ != x_))                                                                               \
  X_(isinf, C_(x_ == x_ && x_ - x_ != C_(0)))                                                           \
  X_(isfinite, C_(x_ - x_ == C_(0)))                                                                    \
  X_(logical_not, C_(x_ == C_(0)))

// X_(name, is computed with floats, value, gradients) of functions of two elements.
#define TARSIA_DETAIL_MATH_BINARY(X_)                                                                   \
  X_(add, 0, a_ + b_, dy_, dy_)                                                                         \
  X_(subtract, 0, a_ - b_, dy_, C_(0) - dy_)                                                            \
  X_(multiply, 0, a_ * b_, dy_ * b_, dy_ * a_)                                                          \
  X_(divide, 1, a_ / b_, dy_ / b_, -dy_ * y_ / b_)                                                      \
  X_(power, 0, power_of(a_, b_), b_ == C_(0) ? C_(0) : dy_ * b_ * power_of(a_, b_ - C_(1)),              \
     a_ > C_(0) ? dy_ * y_ * C_(TARSIA_DETAIL_MATH(log)(a_)) : C_(0))                                   \
  X_(maximum, 0, larger(a_, b_), a_ >= b_ ? dy_ : C_(0), a_ >= b_ ? C_(0) : dy_)                        \
  X_(minimum, 0, smaller(a_, b_), a_ <= b_ ? dy_ : C_(0), a_ <= b_ ? C_(0) : dy_)                       \
  X_(remainder, 0, rest(a_, b_), dy_, C_(0) - dy_ * quotient(a_, b_))                                   \
  X_(atan2, 1, TARSIA_DETAIL_MATH(atan2)(a_, b_), dy_ * b_ / (a_ * a_ + b_ * b_), -dy_ * a_ / (a_ * a_ + b_ * b_)) \
  X_(hypot, 1, TARSIA_DETAIL_MATH(hypot)(a_, b_), dy_ * a_ / y_, dy_ * b_ / y_)
#define TARSIA_DETAIL_MATH_COMPARE(X_)                                                                  \
  X_(equal, C_(a_ == b_)) X_(not_equal, C_(a_ != b_)) X_(less, C_(a_ < b_)) X_(less_equal, C_(a_ <= b_)) \
  X_(greater, C_(a_ > b_)) X_(greater_equal, C_(a_ >= b_))                                              \
  X_(logical_and, C_(a_ != C_(0) && b_ != C_(0))) X_(logical_or, C_(a_ != C_(0) || b_ != C_(0)))        \
  X_(logical_xor, C_((a_ != C_(0)) != (b_ != C_(0))))
// clang-format on

/// A step of floats; whole numbers stay.
template <class C_, class F_>
TARSIA_HOST_DEVICE inline C_ real_step(C_ x_, F_ step_) {
  if constexpr (is_real<C_>::value)
    return step_(x_);
  else
    return x_;
}

#define TARSIA_DETAIL_MATH_FUNCTOR(name_, real_, ...) \
  struct name_ {                                      \
    enum { is_real = real_, n = 1 };                  \
    template <class C_>                               \
    TARSIA_HOST_DEVICE C_ operator()(C_ x_) const {   \
      return __VA_ARGS__;                             \
    }                                                 \
  };
#define TARSIA_DETAIL_MATH_GRADIENT(name_, ...)                    \
  struct name_##_gradient {                                        \
    enum { is_real = 1, n = 3 };                                   \
    template <class C_>                                            \
    TARSIA_HOST_DEVICE C_ operator()(C_ dy_, C_ x_, C_ y_) const { \
      (void)x_, (void)y_;                                          \
      return __VA_ARGS__;                                          \
    }                                                              \
  };
#define TARSIA_DETAIL_MATH_FUNCTOR_2(name_, real_, ...)    \
  struct name_ {                                           \
    enum { is_real = real_, n = 2 };                       \
    template <class C_>                                    \
    TARSIA_HOST_DEVICE C_ operator()(C_ a_, C_ b_) const { \
      return __VA_ARGS__;                                  \
    }                                                      \
  };
#define TARSIA_DETAIL_MATH_GRADIENT_2(name_, which_, ...)                 \
  struct name_##_gradient_##which_ {                                      \
    enum { is_real = 1, n = 4 };                                          \
    template <class C_>                                                   \
    TARSIA_HOST_DEVICE C_ operator()(C_ dy_, C_ a_, C_ b_, C_ y_) const { \
      (void)a_, (void)b_, (void)y_;                                       \
      return __VA_ARGS__;                                                 \
    }                                                                     \
  };
#define TARSIA_DETAIL_MATH_X(name_, value_, gradient_) \
  TARSIA_DETAIL_MATH_FUNCTOR(name_, 1, value_)         \
  TARSIA_DETAIL_MATH_GRADIENT(name_, gradient_)
TARSIA_DETAIL_MATH_REAL(TARSIA_DETAIL_MATH_X)
#undef TARSIA_DETAIL_MATH_X
#define TARSIA_DETAIL_MATH_X(name_, value_, gradient_) \
  TARSIA_DETAIL_MATH_FUNCTOR(name_, 0, value_)         \
  TARSIA_DETAIL_MATH_GRADIENT(name_, gradient_)
TARSIA_DETAIL_MATH_UNARY(TARSIA_DETAIL_MATH_X)
#undef TARSIA_DETAIL_MATH_X
#define TARSIA_DETAIL_MATH_X(name_, ...) TARSIA_DETAIL_MATH_FUNCTOR(name_, 0, __VA_ARGS__)
TARSIA_DETAIL_MATH_STEPS(TARSIA_DETAIL_MATH_X)
TARSIA_DETAIL_MATH_TESTS(TARSIA_DETAIL_MATH_X)
#undef TARSIA_DETAIL_MATH_X
#define TARSIA_DETAIL_MATH_X(name_, real_, value_, of_a_, of_b_) \
  TARSIA_DETAIL_MATH_FUNCTOR_2(name_, real_, value_)             \
  TARSIA_DETAIL_MATH_GRADIENT_2(name_, a, of_a_)                 \
  TARSIA_DETAIL_MATH_GRADIENT_2(name_, b, of_b_)
TARSIA_DETAIL_MATH_BINARY(TARSIA_DETAIL_MATH_X)
#undef TARSIA_DETAIL_MATH_X
#define TARSIA_DETAIL_MATH_X(name_, value_) TARSIA_DETAIL_MATH_FUNCTOR_2(name_, 0, value_)
TARSIA_DETAIL_MATH_COMPARE(TARSIA_DETAIL_MATH_X)
#undef TARSIA_DETAIL_MATH_X
TARSIA_DETAIL_MATH_FUNCTOR_2(floor_divide, 0, quotient(a_, b_))

/// a where the condition holds, else b.
struct where {
  enum { is_real = 0, n = 3 };
  template <class C_>
  TARSIA_HOST_DEVICE C_ operator()(C_ condition_, C_ a_, C_ b_) const {
    return condition_ != C_(0) ? a_ : b_;
  }
};
/// x within bounds.
struct clip {
  enum { is_real = 0, n = 3 };
  template <class C_>
  TARSIA_HOST_DEVICE C_ operator()(C_ x_, C_ low_, C_ high_) const {
    return x_ < low_ ? low_ : x_ > high_ ? high_ : x_;
  }
};
struct clip_gradient {
  enum { is_real = 1, n = 4 };
  template <class C_>
  TARSIA_HOST_DEVICE C_ operator()(C_ dy_, C_ x_, C_ low_, C_ high_) const {
    return x_ < low_ || x_ > high_ ? C_(0) : dy_;
  }
};

// ---- reductions ----

/// What a reduction has seen: a value, and the place where it was.
template <class C_>
struct seen {
  C_ value;
  long long at;
};

/// A sum; `mean` divides it by the number of elements.
template <bool mean_>
struct sum {
  enum { needs_elements = 0 };
  template <class C_>
  TARSIA_HOST_DEVICE static seen<C_> none() {
    return seen<C_>{C_(0), 0};
  }
  template <class C_>
  TARSIA_HOST_DEVICE static seen<C_> both(seen<C_> a_, seen<C_> b_) {
    return seen<C_>{C_(a_.value + b_.value), 0};
  }
  template <class C_>
  TARSIA_HOST_DEVICE static C_ result(seen<C_> a_, long long count_) {
    return mean_ ? C_(a_.value / C_(count_)) : a_.value;
  }
};
struct prod {
  enum { needs_elements = 0 };
  template <class C_>
  TARSIA_HOST_DEVICE static seen<C_> none() {
    return seen<C_>{C_(1), 0};
  }
  template <class C_>
  TARSIA_HOST_DEVICE static seen<C_> both(seen<C_> a_, seen<C_> b_) {
    return seen<C_>{C_(a_.value * b_.value), 0};
  }
  template <class C_>
  TARSIA_HOST_DEVICE static C_ result(seen<C_> a_, long long) {
    return a_.value;
  }
};
/// The largest or smallest element, or where the first such one is. NaN is larger and smaller than numbers.
template <bool largest_, bool place_>
struct extreme {
  enum { needs_elements = 1 };
  template <class C_>
  TARSIA_HOST_DEVICE static seen<C_> none() {
    return seen<C_>{C_(0), -1};
  }
  template <class C_>
  TARSIA_HOST_DEVICE static seen<C_> both(seen<C_> a_, seen<C_> b_) {
    if (a_.at < 0) return b_;
    if (b_.at < 0) return a_;
    const bool a_nan_ = a_.value != a_.value, b_nan_ = b_.value != b_.value;
    if (a_nan_ || b_nan_) return a_nan_ && (!b_nan_ || a_.at < b_.at) ? a_ : b_;
    if (a_.value == b_.value) return a_.at < b_.at ? a_ : b_;
    return (a_.value > b_.value) == largest_ ? a_ : b_;
  }
  template <class C_>
  TARSIA_HOST_DEVICE static auto result(seen<C_> a_, long long) {
    if constexpr (place_)
      return a_.at;  // a C could not hold each
    else
      return a_.value;
  }
};
/// Whether any or all elements are not 0.
template <bool all_>
struct truth {
  enum { needs_elements = 0 };
  template <class C_>
  TARSIA_HOST_DEVICE static seen<C_> none() {
    return seen<C_>{C_(all_), 0};
  }
  template <class C_>
  TARSIA_HOST_DEVICE static seen<C_> both(seen<C_> a_, seen<C_> b_) {
    const bool x_ = a_.value != C_(0), y_ = b_.value != C_(0);
    return seen<C_>{C_(all_ ? x_ && y_ : x_ || y_), 0};
  }
  template <class C_>
  TARSIA_HOST_DEVICE static C_ result(seen<C_> a_, long long) {
    return a_.value;
  }
};

}  // namespace functors
}  // namespace math
}  // namespace tarsia
