// The declarations of the ops of <tarsia/math/ops.h>: a template for each, so that only those that a source
// declares are compiled.
#pragma once

#include <tarsia/math/ops.h>

#if !defined(__CUDACC_RTC__)

#include <tarsia/detail/macros_push.h>

namespace tarsia {
namespace math {
namespace ops {

// What all ops of one or two inputs have.
template <class F_>
OpDefinition& one_input(const char* name_, const char* place_) {
  OpDefinition& op_ = OpDefinition::add(name_, place_).input("x").output("y").inplace(0, 0);
  return op_.infer([](BindInfo& info_) {
    unify_shape(info_.input(0), info_.output(0));
    F_::is_real ? real_dtypes(info_, 1) : same_dtypes(info_, 0, 1);
  });
}
template <class F_>
OpDefinition& two_inputs(const char* name_, const char* place_) {
  OpDefinition& op_ =
      OpDefinition::add(name_, place_).input("a").input("b").output("y").inplace(0, 0).inplace(1, 0);
  return op_.infer([](BindInfo& info_) {
    infer_broadcast(info_, 2);
    F_::is_real ? real_dtypes(info_, 2) : same_dtypes(info_, 0, 2);
  });
}

// clang-format off
#define TARSIA_DETAIL_MATH_DEFINE(name_, ...)                  \
  template <class Only_ = void>                                \
  OpDefinition& define_##name_(const char* place_) {           \
    return __VA_ARGS__;                                        \
  }

#define TARSIA_DETAIL_MATH_X(name_, ...)                                                                    \
  TARSIA_DETAIL_MATH_DEFINE(name_, backward_of<elementwise>(                                                                    \
      forward_of<elementwise>(one_input<functors::name_>(#name_, place_),                              \
                 &Unary<functors::name_, functors::name_##_gradient>::forward),                             \
      &Unary<functors::name_, functors::name_##_gradient>::backward))
TARSIA_DETAIL_MATH_REAL(TARSIA_DETAIL_MATH_X)
TARSIA_DETAIL_MATH_UNARY(TARSIA_DETAIL_MATH_X)
#undef TARSIA_DETAIL_MATH_X
#define TARSIA_DETAIL_MATH_X(name_, ...)                                                                    \
  TARSIA_DETAIL_MATH_DEFINE(name_, backward_of<elementwise>(                                                                    \
      forward_of<elementwise>(one_input<functors::name_>(#name_, place_),                              \
                 &Unary<functors::name_, functors::name_>::forward), &backward_fill<>)                        \
      .backward_needs({"dy"}))
TARSIA_DETAIL_MATH_STEPS(TARSIA_DETAIL_MATH_X)
#undef TARSIA_DETAIL_MATH_X
#define TARSIA_DETAIL_MATH_X(name_, ...)                                                                    \
  TARSIA_DETAIL_MATH_DEFINE(name_, forward_of<elementwise>(                                                                     \
      OpDefinition::add(#name_, place_).input("x").no_gradient().output("y")              \
          .infer([](BindInfo& info_) { unify_shape(info_.input(0), info_.output(0)), tests(info_, 1); }),   \
      &Unary<functors::name_, functors::name_>::forward))
TARSIA_DETAIL_MATH_TESTS(TARSIA_DETAIL_MATH_X)
#undef TARSIA_DETAIL_MATH_X
#define TARSIA_DETAIL_MATH_X(name_, ...)                                                                    \
  TARSIA_DETAIL_MATH_DEFINE(name_, backward_of<elementwise>(                                                                    \
      forward_of<elementwise>(two_inputs<functors::name_>(#name_, place_),                             \
                 &Binary<functors::name_, functors::name_##_gradient_a, functors::name_##_gradient_b>::forward), \
      &Binary<functors::name_, functors::name_##_gradient_a, functors::name_##_gradient_b>::backward))
TARSIA_DETAIL_MATH_BINARY(TARSIA_DETAIL_MATH_X)
#undef TARSIA_DETAIL_MATH_X
#define TARSIA_DETAIL_MATH_X(name_, ...)                                                                    \
  TARSIA_DETAIL_MATH_DEFINE(name_, forward_of<elementwise>(                                                                     \
      OpDefinition::add(#name_, place_).input("a").no_gradient().input("b").no_gradient() \
          .output("y").infer([](BindInfo& info_) { infer_broadcast(info_, 2), tests(info_, 2); }),          \
      &Binary<functors::name_, void, void>::forward))
TARSIA_DETAIL_MATH_COMPARE(TARSIA_DETAIL_MATH_X)
#undef TARSIA_DETAIL_MATH_X
TARSIA_DETAIL_MATH_DEFINE(floor_divide, forward_of<elementwise>(two_inputs<functors::floor_divide>("floor_divide", place_),
                                     &Binary<functors::floor_divide, void, void>::forward))

TARSIA_DETAIL_MATH_DEFINE(where, backward_of<elementwise>(
    forward_of<elementwise>(OpDefinition::add("where", place_).input("condition").no_gradient().input("a").input("b")
                   .output("y").infer([](BindInfo& info_) { infer_broadcast(info_, 3), same_dtypes(info_, 1, 3); }),
               &forward_where<>), &backward_where<>).backward_needs({"dy", "condition"}))
TARSIA_DETAIL_MATH_DEFINE(clip, backward_of<elementwise>(
    forward_of<elementwise>(one_input<functors::identity>("clip", place_).attribute("low", &Bounds::low)
                   .attribute("high", &Bounds::high), &forward_clip<>), &backward_clip<>).backward_needs({"dy", "x"}))
TARSIA_DETAIL_MATH_DEFINE(fill, backward_of<elementwise>(
    forward_of<elementwise>(OpDefinition::add("fill", place_).input("x").output("y").inplace(0, 0).attribute("value", &Value::value)
                   .infer(&infer_fill),
               &forward_fill<>), &backward_fill<>).backward_needs({"dy"}))
TARSIA_DETAIL_MATH_DEFINE(cast, backward_of<elementwise>(
    forward_of<elementwise>(OpDefinition::add("cast", place_).input("x").output("y").attribute("dtype", &To::dtype)
                   .infer(&infer_cast), &forward_cast<>), &backward_cast<>).backward_needs({"dy"}))

#define TARSIA_DETAIL_MATH_REDUCTION(name_, ...)                                                            \
  OpDefinition::add(name_, place_).input("x").output("y")                                 \
      .attribute("axes", &Reduce::axes).attribute("keepdims", &Reduce::keepdims)                            \
      .infer([](BindInfo& info_) { infer_reduction(info_); __VA_ARGS__; })
TARSIA_DETAIL_MATH_DEFINE(sum, backward_of(
    forward_of(TARSIA_DETAIL_MATH_REDUCTION("sum", same_dtypes(info_, 0, 1)),
               &Reduction<functors::sum<false>>::forward<false>), &backward_sum<>).backward_needs({"dy"}))
TARSIA_DETAIL_MATH_DEFINE(mean, backward_of(
    forward_of(TARSIA_DETAIL_MATH_REDUCTION("mean", real_dtypes(info_, 1)),
               &Reduction<functors::sum<true>>::forward<true>), &backward_mean<>).backward_needs({"dy"}))
TARSIA_DETAIL_MATH_DEFINE(prod, backward_of(
    forward_of(TARSIA_DETAIL_MATH_REDUCTION("prod", same_dtypes(info_, 0, 1)),
               &Reduction<functors::prod>::forward<false>), &backward_prod<>).backward_needs({"dy", "x"}))
TARSIA_DETAIL_MATH_DEFINE(max, backward_of(
    forward_of(TARSIA_DETAIL_MATH_REDUCTION("max", same_dtypes(info_, 0, 1)),
               &Reduction<functors::extreme<true, false>>::forward<false>), &backward_extreme<>))
TARSIA_DETAIL_MATH_DEFINE(min, backward_of(
    forward_of(TARSIA_DETAIL_MATH_REDUCTION("min", same_dtypes(info_, 0, 1)),
               &Reduction<functors::extreme<false, false>>::forward<false>), &backward_extreme<>))
TARSIA_DETAIL_MATH_DEFINE(any, forward_of(TARSIA_DETAIL_MATH_REDUCTION("any", tests(info_, 1)),
                                     &Reduction<functors::truth<false>>::forward<false>))
TARSIA_DETAIL_MATH_DEFINE(all, forward_of(TARSIA_DETAIL_MATH_REDUCTION("all", tests(info_, 1)),
                                     &Reduction<functors::truth<true>>::forward<false>))
TARSIA_DETAIL_MATH_DEFINE(argmax, forward_of(TARSIA_DETAIL_MATH_REDUCTION("argmax", places(info_)),
                                     &Reduction<functors::extreme<true, true>>::forward<false>))
TARSIA_DETAIL_MATH_DEFINE(argmin, forward_of(TARSIA_DETAIL_MATH_REDUCTION("argmin", places(info_)),
                                     &Reduction<functors::extreme<false, true>>::forward<false>))
#undef TARSIA_DETAIL_MATH_REDUCTION

TARSIA_DETAIL_MATH_DEFINE(softmax, backward_of(
    forward_of(one_input<functors::exp>("softmax", place_).attribute("axis", &Along::axis),
               &Softmax<false>::forward), &Softmax<false>::backward).backward_needs({"dy", "y"}))
TARSIA_DETAIL_MATH_DEFINE(log_softmax, backward_of(
    forward_of(one_input<functors::exp>("log_softmax", place_).attribute("axis", &Along::axis),
               &Softmax<true>::forward), &Softmax<true>::backward).backward_needs({"dy", "y"}))
TARSIA_DETAIL_MATH_DEFINE(transpose, backward_of(
    forward_of(OpDefinition::add("transpose", place_).input("x").output("y")
                   .attribute("axes", &Permutation::axes).infer(&infer_transpose), &forward_transpose<>),
    &backward_transpose<>).backward_needs({"dy"}))
TARSIA_DETAIL_MATH_DEFINE(gather, backward_of(
    forward_of(OpDefinition::add("gather", place_).input("x").input("index").no_gradient().output("y")
                   .attribute("axis", &Taken::axis).infer(&infer_gather), &forward_gather<>),
    &backward_gather<>).backward_needs({"dy", "index"}))
TARSIA_DETAIL_MATH_DEFINE(dot, backward_of(
    forward_of(OpDefinition::add("dot", place_).input("a").input("b").output("y")
                   .attribute("transpose_a", &Product::transpose_a).attribute("transpose_b", &Product::transpose_b)
                   .infer([](BindInfo& info_) { infer_product(info_, false); }), &forward_product<>),
    &backward_product<>).backward_needs({"dy", "a", "b"}))
TARSIA_DETAIL_MATH_DEFINE(batch_dot, backward_of(
    forward_of(OpDefinition::add("batch_dot", place_).input("a").input("b").output("y")
                   .attribute("transpose_a", &Product::transpose_a).attribute("transpose_b", &Product::transpose_b)
                   .infer([](BindInfo& info_) { infer_product(info_, true); }), &forward_product<>),
    &backward_product<>).backward_needs({"dy", "a", "b"}))
// clang-format on

#undef TARSIA_DETAIL_MATH_DEFINE

}  // namespace ops
}  // namespace math
}  // namespace tarsia

#include <tarsia/detail/macros_pop.h>

#endif
