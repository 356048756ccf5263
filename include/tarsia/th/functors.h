// What TH's elementwise functions and reductions do with elements, on the CPU and on GPUs.
#pragma once

#include <tarsia/device.h>

#if !defined(__CUDACC_RTC__)
#include <math.h>
#endif

namespace tarsia {
namespace th {

#define TARSIA_TH_FUNCTOR(name_, members_, parameters_, value_)                        \
  template <class T_>                                                                  \
  struct name_ {                                                                       \
    typedef T_ element;                                                                \
    members_ TARSIA_HOST_DEVICE T_ operator() parameters_ const { return T_(value_); } \
  };
TARSIA_TH_FUNCTOR(AddValue, T_ value;, (T_ x_), x_ + value)
TARSIA_TH_FUNCTOR(SubValue, T_ value;, (T_ x_), x_ - value)
TARSIA_TH_FUNCTOR(MulValue, T_ value;, (T_ x_), x_* value)
TARSIA_TH_FUNCTOR(DivValue, T_ value;, (T_ x_), x_ / value)
TARSIA_TH_FUNCTOR(Clamp, T_ least; T_ most;, (T_ x_), x_<least ? least : x_> most ? most : x_)
TARSIA_TH_FUNCTOR(Cadd, T_ value;, (T_ x_, T_ y_), x_ + value * y_)
TARSIA_TH_FUNCTOR(Csub, T_ value;, (T_ x_, T_ y_), x_ - value * y_)
TARSIA_TH_FUNCTOR(Cmul, , (T_ x_, T_ y_), x_* y_)
TARSIA_TH_FUNCTOR(Cdiv, , (T_ x_, T_ y_), x_ / y_)
TARSIA_TH_FUNCTOR(Cmax, , (T_ x_, T_ y_), x_ < y_ ? y_ : x_)
TARSIA_TH_FUNCTOR(Cmin, , (T_ x_, T_ y_), y_ < x_ ? y_ : x_)
TARSIA_TH_FUNCTOR(Addcmul, T_ value;, (T_ x_, T_ a_, T_ b_), x_ + value * a_ * b_)
TARSIA_TH_FUNCTOR(Addcdiv, T_ value;, (T_ x_, T_ a_, T_ b_), x_ + value * a_ / b_)
TARSIA_TH_FUNCTOR(Pow, T_ value;, (T_ x_), ::pow(x_, value))
TARSIA_TH_FUNCTOR(Neg, , (T_ x_), -x_)
TARSIA_TH_FUNCTOR(Abs, , (T_ x_), x_ < T_(0) ? -x_ : x_)
TARSIA_TH_FUNCTOR(Exp, , (T_ x_), ::exp(x_))
TARSIA_TH_FUNCTOR(Log, , (T_ x_), ::log(x_))
TARSIA_TH_FUNCTOR(Sqrt, , (T_ x_), ::sqrt(x_))
TARSIA_TH_FUNCTOR(Tanh, , (T_ x_), ::tanh(x_))
TARSIA_TH_FUNCTOR(Sigmoid, , (T_ x_), T_(1) / (T_(1) + T_(::exp(-x_))))
TARSIA_TH_FUNCTOR(Sign, , (T_ x_), (x_ > T_(0)) - (x_ < T_(0)))
TARSIA_TH_FUNCTOR(Rsqrt, , (T_ x_), T_(1) / T_(::sqrt(x_)))
TARSIA_TH_FUNCTOR(Cinv, , (T_ x_), T_(1) / x_)
TARSIA_TH_FUNCTOR(Log1p, , (T_ x_), ::log1p(x_))
TARSIA_TH_FUNCTOR(Floor, , (T_ x_), ::floor(x_))
TARSIA_TH_FUNCTOR(Ceil, , (T_ x_), ::ceil(x_))
TARSIA_TH_FUNCTOR(Round, , (T_ x_), ::round(x_))
TARSIA_TH_FUNCTOR(Trunc, , (T_ x_), ::trunc(x_))
TARSIA_TH_FUNCTOR(Frac, , (T_ x_), x_ - T_(::trunc(x_)))
TARSIA_TH_FUNCTOR(Sin, , (T_ x_), ::sin(x_))
TARSIA_TH_FUNCTOR(Cos, , (T_ x_), ::cos(x_))
TARSIA_TH_FUNCTOR(Tan, , (T_ x_), ::tan(x_))
TARSIA_TH_FUNCTOR(Asin, , (T_ x_), ::asin(x_))
TARSIA_TH_FUNCTOR(Acos, , (T_ x_), ::acos(x_))
TARSIA_TH_FUNCTOR(Atan, , (T_ x_), ::atan(x_))
TARSIA_TH_FUNCTOR(Sinh, , (T_ x_), ::sinh(x_))
TARSIA_TH_FUNCTOR(Cosh, , (T_ x_), ::cosh(x_))
TARSIA_TH_FUNCTOR(Atan2, , (T_ x_, T_ y_), ::atan2(x_, y_))
TARSIA_TH_FUNCTOR(Lerp, T_ value;, (T_ x_, T_ y_), x_ + value * (y_ - x_))
#undef TARSIA_TH_FUNCTOR

/// Reductions: `first()` is what the sum of nothing is, or what any element replaces.
template <class T_>
struct Sum {
  typedef T_ sum;
  TARSIA_HOST_DEVICE static T_ first() { return T_(0); }
  TARSIA_HOST_DEVICE T_ operator()(T_ a_, T_ b_) const { return T_(a_ + b_); }
};
template <class T_>
struct Product {
  typedef T_ sum;
  TARSIA_HOST_DEVICE static T_ first() { return T_(1); }
  TARSIA_HOST_DEVICE T_ operator()(T_ a_, T_ b_) const { return T_(a_ * b_); }
};
template <class T_>
struct Limits {  // of integers, by their bits
  TARSIA_HOST_DEVICE static T_ most() {
    return T_(-1) > T_(0) ? T_(-1) : T_(((1ull << (8 * sizeof(T_) - 1)) - 1));
  }
  TARSIA_HOST_DEVICE static T_ least() { return T_(-1) > T_(0) ? T_(0) : T_(-most() - 1); }
};
template <>
struct Limits<float> {
  TARSIA_HOST_DEVICE static float most() { return __builtin_huge_valf(); }
  TARSIA_HOST_DEVICE static float least() { return -__builtin_huge_valf(); }
};
template <>
struct Limits<double> {
  TARSIA_HOST_DEVICE static double most() { return __builtin_huge_val(); }
  TARSIA_HOST_DEVICE static double least() { return -__builtin_huge_val(); }
};
template <class T_>
struct Least {
  typedef T_ sum;
  TARSIA_HOST_DEVICE static T_ first() { return Limits<T_>::most(); }
  TARSIA_HOST_DEVICE T_ operator()(T_ a_, T_ b_) const { return b_ < a_ || b_ != b_ ? b_ : a_; }
};
template <class T_>
struct Most {
  typedef T_ sum;
  TARSIA_HOST_DEVICE static T_ first() { return Limits<T_>::least(); }
  TARSIA_HOST_DEVICE T_ operator()(T_ a_, T_ b_) const { return b_ > a_ || b_ != b_ ? b_ : a_; }
};

}  // namespace th
}  // namespace tarsia
