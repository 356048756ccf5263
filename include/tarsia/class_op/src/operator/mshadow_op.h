// The functors of MXNet's element-wise operators. Device code sees this file, too.
#pragma once

#include <mxnet/base.h>

namespace mxnet {
namespace op {

/// Functions of floats and doubles. Halves are computed as floats, and whole numbers as doubles.
namespace math {
template <class T>
struct computed {
  typedef double type;
};
template <>
struct computed<float> {
  typedef float type;
};
template <>
struct computed<mshadow::half::half_t> {
  typedef float type;
};
#define TARSIA_DETAIL_MATH(name, of_float, of_double)           \
  MSHADOW_XINLINE float name(float a) {                         \
    return ::of_float(a);                                       \
  }                                                             \
  MSHADOW_XINLINE double name(double a) {                       \
    return ::of_double(a);                                      \
  }                                                             \
  template <class T>                                            \
  MSHADOW_XINLINE typename computed<T>::type name(const T& a) { \
    return name(static_cast<typename computed<T>::type>(a));    \
  }
TARSIA_DETAIL_MATH(exp, expf, exp)
TARSIA_DETAIL_MATH(expm1, expm1f, expm1)
TARSIA_DETAIL_MATH(log, logf, log)
TARSIA_DETAIL_MATH(log10, log10f, log10)
TARSIA_DETAIL_MATH(log2, log2f, log2)
TARSIA_DETAIL_MATH(log1p, log1pf, log1p)
TARSIA_DETAIL_MATH(sin, sinf, sin)
TARSIA_DETAIL_MATH(cos, cosf, cos)
TARSIA_DETAIL_MATH(tan, tanf, tan)
TARSIA_DETAIL_MATH(asin, asinf, asin)
TARSIA_DETAIL_MATH(acos, acosf, acos)
TARSIA_DETAIL_MATH(atan, atanf, atan)
TARSIA_DETAIL_MATH(sinh, sinhf, sinh)
TARSIA_DETAIL_MATH(cosh, coshf, cosh)
TARSIA_DETAIL_MATH(tanh, tanhf, tanh)
TARSIA_DETAIL_MATH(asinh, asinhf, asinh)
TARSIA_DETAIL_MATH(acosh, acoshf, acosh)
TARSIA_DETAIL_MATH(atanh, atanhf, atanh)
TARSIA_DETAIL_MATH(sqrt, sqrtf, sqrt)
TARSIA_DETAIL_MATH(cbrt, cbrtf, cbrt)
TARSIA_DETAIL_MATH(fabs, fabsf, fabs)
TARSIA_DETAIL_MATH(round, roundf, round)
TARSIA_DETAIL_MATH(ceil, ceilf, ceil)
TARSIA_DETAIL_MATH(floor, floorf, floor)
TARSIA_DETAIL_MATH(trunc, truncf, trunc)
TARSIA_DETAIL_MATH(tgamma, tgammaf, tgamma)
TARSIA_DETAIL_MATH(lgamma, lgammaf, lgamma)
#undef TARSIA_DETAIL_MATH
#define TARSIA_DETAIL_MATH(name, of_float, of_double)                       \
  MSHADOW_XINLINE float name(float a, float b) {                            \
    return ::of_float(a, b);                                                \
  }                                                                         \
  MSHADOW_XINLINE double name(double a, double b) {                         \
    return ::of_double(a, b);                                               \
  }                                                                         \
  template <class T>                                                        \
  MSHADOW_XINLINE typename computed<T>::type name(const T& a, const T& b) { \
    typedef typename computed<T>::type C;                                   \
    return name(static_cast<C>(a), static_cast<C>(b));                      \
  }
TARSIA_DETAIL_MATH(pow, powf, pow)
TARSIA_DETAIL_MATH(fmod, fmodf, fmod)
TARSIA_DETAIL_MATH(hypot, hypotf, hypot)
#undef TARSIA_DETAIL_MATH
/// The number as it is computed with.
MSHADOW_XINLINE float id(float a) {
  return a;
}
MSHADOW_XINLINE double id(double a) {
  return a;
}
template <class T>
MSHADOW_XINLINE typename computed<T>::type id(const T& a) {
  return static_cast<typename computed<T>::type>(a);
}
/// The derivative of lgamma: Abramowitz and Stegun, "Handbook of Mathematical
/// Functions", 6.3.5, 6.3.7, 6.3.18.
MSHADOW_XINLINE double digamma(double a) {
  double sum = 0;
  if (a <= 0) {  // by reflection; there is none at 0 and whole numbers below it
    if (a == ::floor(a)) return __builtin_nan("");
    sum = -3.14159265358979323846 / ::tan(3.14159265358979323846 * a);
    a = 1 - a;
  }
  for (; a < 10; a += 1) sum -= 1 / a;
  const double r = 1 / (a * a);
  return sum + ::log(a) - 0.5 / a -
         r * (1.0 / 12 -
              r * (1.0 / 120 - r * (1.0 / 252 - r * (1.0 / 240 - r * (1.0 / 132 - r * 691 / 32760)))));
}
template <class T>
MSHADOW_XINLINE typename computed<T>::type digamma(const T& a) {
  return static_cast<typename computed<T>::type>(digamma(static_cast<double>(id(a))));
}
template <class T>
MSHADOW_XINLINE bool isnan(const T& a) {
  return !(a == a);
}
template <class T>
MSHADOW_XINLINE auto sqr(const T& a) -> decltype(id(a)) {
  return id(a) * id(a);
}
}  // namespace math

namespace mshadow_op {

#define MXNET_UNARY_MATH_OP(name, expression)   \
  struct name {                                 \
    template <typename DType>                   \
    MSHADOW_XINLINE static DType Map(DType a) { \
      return DType(expression);                 \
    }                                           \
  }
#define MXNET_UNARY_MATH_OP_NC(name, expression) MXNET_UNARY_MATH_OP(name, expression)
#define MXNET_BINARY_MATH_OP(name, expression)           \
  struct name {                                          \
    template <typename DType>                            \
    MSHADOW_XINLINE static DType Map(DType a, DType b) { \
      return DType(expression);                          \
    }                                                    \
  }
#define MXNET_BINARY_MATH_OP_NC(name, expression) MXNET_BINARY_MATH_OP(name, expression)
#define MXNET_SIMPLE_UNARY_MATH_OP(name) MXNET_UNARY_MATH_OP(name, math::name(a))
#define MXNET_SIMPLE_BINARY_MATH_OP(name) MXNET_BINARY_MATH_OP(name, math::name(a, b))

const float PI = 3.14159265358979323846f;

MXNET_UNARY_MATH_OP(identity, a);
MXNET_UNARY_MATH_OP(identity_grad, (void(a), 1.0f));
MXNET_BINARY_MATH_OP(left, (void(b), a));
MXNET_BINARY_MATH_OP(right, (void(a), b));
MXNET_BINARY_MATH_OP(mul, a* b);
MXNET_BINARY_MATH_OP(div, a / b);
MXNET_BINARY_MATH_OP(plus, a + b);
MXNET_BINARY_MATH_OP(minus, a - b);
MXNET_UNARY_MATH_OP(negation, -a);
MXNET_UNARY_MATH_OP(reciprocal, 1.0f / math::id(a));
MXNET_UNARY_MATH_OP(reciprocal_grad, -1.0f / math::sqr(a));
MXNET_UNARY_MATH_OP(sigmoid, 1.0f / (1.0f + math::exp(-a)));
MXNET_UNARY_MATH_OP(sigmoid_grad, math::id(a) * (1.0f - math::id(a)));  // of the sigmoid
MXNET_UNARY_MATH_OP(relu, a > DType(0) ? a : DType(0));
MXNET_UNARY_MATH_OP(relu_grad, a > DType(0) ? 1.0f : 0.0f);
MXNET_BINARY_MATH_OP(xelu, a > DType(0) ? math::id(a) : math::id(a) * math::id(b));
MXNET_BINARY_MATH_OP(xelu_grad, a > DType(0) ? DType(1) : b);
MXNET_BINARY_MATH_OP(elu, a > DType(0) ? math::id(a) : math::id(b) * math::expm1(a));
MXNET_BINARY_MATH_OP(elu_grad, a > DType(0) ? DType(1) : DType(b + a));  // of the elu
MXNET_SIMPLE_UNARY_MATH_OP(tanh);
MXNET_UNARY_MATH_OP(tanh_grad, 1.0f - math::sqr(a));  // of the tanh
/// log(1 + exp(a)), which is a where exp(a) leaves the range.
struct softrelu {
  template <typename DType>
  MSHADOW_XINLINE static DType Map(DType a) {
    return math::id(a) > 20.0f ? a : DType(math::log1p(math::exp(a)));
  }
};
MXNET_UNARY_MATH_OP(softrelu_grad, -math::expm1(-a));  // of the softrelu
MXNET_SIMPLE_UNARY_MATH_OP(exp);
MXNET_SIMPLE_UNARY_MATH_OP(expm1);
MXNET_SIMPLE_UNARY_MATH_OP(log);
MXNET_UNARY_MATH_OP(log_grad, 1.0f / math::id(a));
MXNET_SIMPLE_UNARY_MATH_OP(log10);
MXNET_UNARY_MATH_OP(log10_grad, 0.4342944819032518 / math::id(a));
MXNET_SIMPLE_UNARY_MATH_OP(log2);
MXNET_UNARY_MATH_OP(log2_grad, 1.4426950408889634 / math::id(a));
MXNET_SIMPLE_UNARY_MATH_OP(log1p);
MXNET_UNARY_MATH_OP(log1p_grad, 1.0f / (1.0f + math::id(a)));
MXNET_SIMPLE_UNARY_MATH_OP(sin);
MXNET_UNARY_MATH_OP(sin_grad, math::cos(a));
MXNET_SIMPLE_UNARY_MATH_OP(cos);
MXNET_UNARY_MATH_OP(cos_grad, -math::sin(a));
MXNET_SIMPLE_UNARY_MATH_OP(tan);
MXNET_UNARY_MATH_OP(tan_grad, math::sqr(a) + 1.0f);  // of the tangent
MXNET_UNARY_MATH_OP(arcsin, math::asin(a));
MXNET_UNARY_MATH_OP(arcsin_grad, 1.0f / math::sqrt(1.0f - math::sqr(a)));
MXNET_UNARY_MATH_OP(arccos, math::acos(a));
MXNET_UNARY_MATH_OP(arccos_grad, -1.0f / math::sqrt(1.0f - math::sqr(a)));
MXNET_UNARY_MATH_OP(arctan, math::atan(a));
MXNET_UNARY_MATH_OP(arctan_grad, 1.0f / (math::sqr(a) + 1.0f));
MXNET_SIMPLE_BINARY_MATH_OP(hypot);
MXNET_BINARY_MATH_OP(hypot_grad_left, math::id(a) / math::hypot(a, b));
MXNET_BINARY_MATH_OP(hypot_grad_right, math::id(b) / math::hypot(a, b));
MXNET_UNARY_MATH_OP(degrees, 57.29577951308232 * math::id(a));
MXNET_UNARY_MATH_OP(degrees_grad, (void(a), 57.29577951308232));
MXNET_UNARY_MATH_OP(radians, 0.017453292519943295 * math::id(a));
MXNET_UNARY_MATH_OP(radians_grad, (void(a), 0.017453292519943295));
MXNET_SIMPLE_UNARY_MATH_OP(sinh);
MXNET_UNARY_MATH_OP(sinh_grad, math::cosh(a));
MXNET_SIMPLE_UNARY_MATH_OP(cosh);
MXNET_UNARY_MATH_OP(cosh_grad, math::sinh(a));
MXNET_UNARY_MATH_OP(arcsinh, math::asinh(a));
MXNET_UNARY_MATH_OP(arcsinh_grad, 1.0f / math::hypot(a, DType(1)));
MXNET_UNARY_MATH_OP(arccosh, math::acosh(a));
MXNET_UNARY_MATH_OP(arccosh_grad, 1.0f / math::sqrt(math::sqr(a) - 1.0f));
MXNET_UNARY_MATH_OP(arctanh, math::atanh(a));
MXNET_UNARY_MATH_OP(arctanh_grad, 1.0f / (1.0f - math::sqr(a)));
MXNET_UNARY_MATH_OP(square, math::sqr(a));
MXNET_UNARY_MATH_OP(square_grad, 2.0f * math::id(a));
MXNET_BINARY_MATH_OP(threshold, a < b ? 1.0f : 0.0f);
MXNET_UNARY_MATH_OP(abs, math::fabs(a));
MXNET_UNARY_MATH_OP(sign, a<DType(0) ? -1.0f : a> DType(0) ? 1.0f : 0.0f);
MXNET_UNARY_MATH_OP(sign_grad, (void(a), 0.0f));
MXNET_BINARY_MATH_OP(power, math::pow(a, b));
MXNET_BINARY_MATH_OP(power_grad, math::pow(a, DType(b - DType(1))) * math::id(b));
MXNET_BINARY_MATH_OP(power_rgrad, math::pow(a, b) * math::log(a));
MXNET_BINARY_MATH_OP(rpower, math::pow(b, a));
MXNET_BINARY_MATH_OP(rpower_grad, math::id(a) * math::log(b));  // of the power
MXNET_BINARY_MATH_OP(maximum, a > b ? a : b);
MXNET_BINARY_MATH_OP(minimum, a < b ? a : b);
MXNET_BINARY_MATH_OP(ge, a >= b ? 1.0f : 0.0f);
MXNET_BINARY_MATH_OP(gt, a > b ? 1.0f : 0.0f);
MXNET_BINARY_MATH_OP(lt, a < b ? 1.0f : 0.0f);
MXNET_BINARY_MATH_OP(le, a <= b ? 1.0f : 0.0f);
MXNET_BINARY_MATH_OP(eq, a == b ? 1.0f : 0.0f);
MXNET_BINARY_MATH_OP(ne, a != b ? 1.0f : 0.0f);
MXNET_UNARY_MATH_OP(square_root, math::sqrt(a));
MXNET_UNARY_MATH_OP(square_root_grad, 0.5f / math::id(a));  // of the root
MXNET_UNARY_MATH_OP(reciprocal_square_root, 1.0f / math::sqrt(a));
MXNET_UNARY_MATH_OP(reciprocal_square_root_grad, -0.5f / (math::sqrt(a) * math::id(a)));
MXNET_UNARY_MATH_OP(cube_root, math::cbrt(a));
MXNET_UNARY_MATH_OP(cube_root_grad, 1.0f / (3.0f * math::sqr(a)));  // of the root
MXNET_UNARY_MATH_OP(reciprocal_cube_root, 1.0f / math::cbrt(a));
MXNET_UNARY_MATH_OP(reciprocal_cube_root_grad, -1.0f / (3.0f * math::cbrt(a) * math::id(a)));
MXNET_SIMPLE_UNARY_MATH_OP(round);
MXNET_SIMPLE_UNARY_MATH_OP(ceil);
MXNET_SIMPLE_UNARY_MATH_OP(floor);
MXNET_SIMPLE_UNARY_MATH_OP(trunc);
/// The nearest whole number; of two, the lower one.
MXNET_UNARY_MATH_OP(rint, math::id(a) - math::floor(a) <= math::ceil(a) - math::id(a) ? math::floor(a)
                                                                                      : math::ceil(a));
MXNET_UNARY_MATH_OP(fix, math::trunc(a));
MXNET_BINARY_MATH_OP(minus_sign, a - b > DType(0) ? 1.0f : -1.0f);
MXNET_BINARY_MATH_OP(rminus, b - a);
MXNET_BINARY_MATH_OP(div_grad, (void(a), 1.0f / math::id(b)));
MXNET_BINARY_MATH_OP(div_rgrad, -math::id(a) / math::sqr(b));
MXNET_BINARY_MATH_OP(rdiv, math::id(b) / math::id(a));
MXNET_BINARY_MATH_OP(rdiv_grad, -math::id(b) / math::sqr(a));
/// The remainder, of the sign of the divisor, as Python has it; 0 for a divisor of 0.
struct mod {
  template <typename DType>
  MSHADOW_XINLINE static DType Map(DType a, DType b) {
    if (b == DType(0)) return DType(0);
    const auto rest = math::fmod(a, b);
    return DType(rest != 0 && (rest < 0) != (b < DType(0)) ? rest + math::id(b) : rest);
  }
};
MXNET_BINARY_MATH_OP(mod_grad, (void(a), void(b), 1.0f));
MXNET_BINARY_MATH_OP(mod_rgrad, -math::floor(DType(math::id(a) / math::id(b))));
MXNET_BINARY_MATH_OP(rmod, mod::Map(b, a));
MXNET_BINARY_MATH_OP(rmod_grad, -math::floor(DType(math::id(b) / math::id(a))));
struct clip {
  template <typename DType>
  MSHADOW_XINLINE static DType Map(DType x, DType bound) {
    return x > bound ? bound : x < DType(-bound) ? DType(-bound) : x;
  }
  template <typename DType>
  MSHADOW_XINLINE static DType Map(DType x, DType lower, DType upper) {
    return x > upper ? upper : x < lower ? lower : x;
  }
};
MXNET_UNARY_MATH_OP(gamma, math::tgamma(a));
MXNET_UNARY_MATH_OP(gamma_grad, math::tgamma(a) * math::digamma(a));
MXNET_UNARY_MATH_OP(gammaln, math::lgamma(a));
MXNET_UNARY_MATH_OP(gammaln_grad, math::digamma(a));

// Reducers, and the gradients of their results. `a` is an element, and `b` the result.
struct product {
  template <typename DType>
  MSHADOW_XINLINE static void Reduce(DType& to, DType value) {
    to *= value;
  }
  template <typename DType>
  MSHADOW_XINLINE static void SetInitValue(DType& start) {
    start = DType(1.0f);
  }
};
/// The sum of what is a number.
struct nansum : public mshadow::red::sum {
  template <typename DType>
  MSHADOW_XINLINE static void Reduce(DType& to, DType value) {
    if (!math::isnan(value)) to += value;
  }
};
struct nanprod : public product {
  template <typename DType>
  MSHADOW_XINLINE static void Reduce(DType& to, DType value) {
    if (!math::isnan(value)) to *= value;
  }
};
MXNET_BINARY_MATH_OP(product_grad, math::id(b) / math::id(a));
MXNET_BINARY_MATH_OP(nansum_grad, (void(b), math::isnan(a) ? 0.0f : 1.0f));
MXNET_BINARY_MATH_OP(nanprod_grad, math::isnan(a) ? decltype(math::id(b))(0) : math::id(b) / math::id(a));
/// A parabola where |a| < 1 / b², which a line goes on from.
struct smooth_l1_loss {
  template <typename DType>
  MSHADOW_XINLINE static DType Map(DType a, DType b) {
    const auto x = math::id(a), s = math::sqr(b), size = math::fabs(a);
    return DType(size > 1.0f / s ? size - 0.5f / s : 0.5f * x * x * s);
  }
};
struct smooth_l1_gradient {
  template <typename DType>
  MSHADOW_XINLINE static DType Map(DType a, DType b) {
    const auto x = math::id(a), s = math::sqr(b);
    return DType(x > 1.0f / s ? decltype(x * s)(1.0f) : x < -1.0f / s ? decltype(x * s)(-1.0f) : x * s);
  }
};

}  // namespace mshadow_op
}  // namespace op
}  // namespace mxnet
