// The names of the ops that <tarsia/math/ops.h> declares.
#pragma once

// clang-format off: it would step further and further to the right
/// Makes X(name) for the name of each op.
#define TARSIA_DETAIL_MATH_OPS(X_) \
  X_(sqrt) X_(rsqrt) X_(cbrt) X_(reciprocal) X_(exp) X_(exp2) X_(expm1) X_(log) X_(log2) X_(log10) \
  X_(log1p) X_(sin) X_(cos) X_(tan) X_(asin) X_(acos) X_(atan) X_(sinh) X_(cosh) X_(tanh) X_(asinh) \
  X_(acosh) X_(atanh) X_(erf) X_(erfc) X_(sigmoid) X_(silu) X_(softplus) X_(gelu) X_(negative) X_(abs) \
  X_(square) X_(relu) X_(identity) X_(sign) X_(floor) X_(ceil) X_(trunc) X_(round) X_(isnan) X_(isinf) \
  X_(isfinite) X_(logical_not) X_(add) X_(subtract) X_(multiply) X_(divide) X_(power) X_(maximum) \
  X_(minimum) X_(remainder) X_(atan2) X_(hypot) X_(floor_divide) X_(equal) X_(not_equal) X_(less) \
  X_(less_equal) X_(greater) X_(greater_equal) X_(logical_and) X_(logical_or) X_(logical_xor) X_(where) \
  X_(clip) X_(fill) X_(cast) X_(sum) X_(mean) X_(prod) X_(max) X_(min) X_(any) X_(all) X_(argmax) \
  X_(argmin) X_(softmax) X_(log_softmax) X_(transpose) X_(gather) X_(dot) X_(batch_dot)
// clang-format on
