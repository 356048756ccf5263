// The same elements in another shape, or with axes in another order. Device code sees this file, too.
#pragma once

#include <mshadow/extension/steps.h>

namespace mshadow {
namespace expr {

template <class Src, class DType, int dimdst, int dimsrc>
struct ReshapeExp;
template <class Src, class DType, int dimdst, int dimsrc>
class Plan<ReshapeExp<Src, DType, dimdst, dimsrc>, DType> {
 public:
  Plan(const Plan<Src, DType>& src, size_t last, size_t src_last)
      : src_(src), last_(last), src_last_(src_last) {}
  MSHADOW_XINLINE DType Eval(index_t y, index_t x) const {
    const size_t i = static_cast<size_t>(y) * last_ + x;
    return src_.Eval(static_cast<index_t>(i / src_last_), static_cast<index_t>(i % src_last_));
  }

 private:
  Plan<Src, DType> src_;
  size_t last_, src_last_;
};

template <class Src, class DType, int dimdst, int dimsrc>
struct ReshapeExp : public MakeTensorExp<ReshapeExp<Src, DType, dimdst, dimsrc>, Src, dimdst, DType> {
  Src src_;
  size_t src_last_;
  ReshapeExp(const Src& src, const Shape<dimdst>& shape) : src_(src) {
    const Shape<dimsrc> have = ShapeCheck<dimsrc, Src>::Check(src);
    CHECK_EQ(have.Size(), shape.Size())
        << "reshape: " << have << " and " << shape << " hold different numbers";
    this->shape_ = shape;
    src_last_ = have[dimsrc - 1];
  }
};
template <class Src, class DType, int dimdst, int dimsrc>
Plan<ReshapeExp<Src, DType, dimdst, dimsrc>, DType> MakePlan(
    const MakeTensorExp<ReshapeExp<Src, DType, dimdst, dimsrc>, Src, dimdst, DType>& e) {
  return Plan<ReshapeExp<Src, DType, dimdst, dimsrc>, DType>(MakePlan(e.real_self().src_),
                                                             e.shape_[dimdst - 1], e.real_self().src_last_);
}
template <class Src, class DType, int kind, int dimdst>
ReshapeExp<real_t<Src>, DType, dimdst, ExpInfo<Src>::kDim> reshape(const Exp<Src, DType, kind>& src,
                                                                   const Shape<dimdst>& shape) {
  return ReshapeExp<real_t<Src>, DType, dimdst, ExpInfo<Src>::kDim>(Real<Src>::of(src.self()), shape);
}

/// Axis i of the result is axis axes[i] of the operand.
template <class Src, class DType, int kind, int dim>
StepsExp<real_t<Src>, DType, dim> transpose(const Exp<Src, DType, kind>& e, const Shape<dim>& axes) {
  const real_t<Src>& src = Real<Src>::of(e.self());
  const Shape<dim> have = ShapeCheck<dim, real_t<Src>>::Check(src);
  Shape<dim> shape, steps;
  for (int i = 0; i < dim; ++i) {
    CHECK_LT(axes[i], static_cast<index_t>(dim)) << "transpose: there is no such axis";
    shape[i] = have[axes[i]];
    steps[i] = step_of(have, static_cast<int>(axes[i]));
  }
  return StepsExp<real_t<Src>, DType, dim>(src, shape, steps, have[dim - 1]);
}
template <int axis1, int axis2, class Src, class DType, int kind>
StepsExp<real_t<Src>, DType, ExpInfo<Src>::kDim> swapaxis(const Exp<Src, DType, kind>& src) {
  constexpr int dim = ExpInfo<Src>::kDim;
  static_assert(axis1 < dim && axis2 < dim, "mshadow: swapaxis names an axis that its operand does not have");
  Shape<dim> axes;
  for (int i = 0; i < dim; ++i) axes[i] = static_cast<index_t>(i == axis1 ? axis2 : i == axis2 ? axis1 : i);
  return transpose(src, axes);
}

}  // namespace expr
}  // namespace mshadow
