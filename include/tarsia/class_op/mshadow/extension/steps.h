// Elements of an expression that are a step apart along each dimension: axes in another order, and elements
// that are repeated, by steps of 0. Device code sees this file, too.
#pragma once

#include <mshadow/plan.h>

namespace mshadow {
namespace expr {

/// Steps are in elements of the operand, row by row.
template <class Src, class DType, int dim>
struct StepsExp;
template <class Src, class DType, int dim>
class Plan<StepsExp<Src, DType, dim>, DType> {
 public:
  Plan(const Plan<Src, DType>& src, const Shape<dim>& shape, const Shape<dim>& steps, size_t src_last)
      : src_(src), shape_(shape), steps_(steps), src_last_(src_last) {}
  MSHADOW_XINLINE DType Eval(index_t y, index_t x) const {
    size_t at = static_cast<size_t>(x) * steps_[dim - 1];
    for (int i = dim - 2; i >= 0; --i) {
      at += static_cast<size_t>(y % shape_[i]) * steps_[i];
      y /= shape_[i];
    }
    return src_.Eval(static_cast<index_t>(at / src_last_), static_cast<index_t>(at % src_last_));
  }

 private:
  Plan<Src, DType> src_;
  Shape<dim> shape_, steps_;
  size_t src_last_;
};

template <class Src, class DType, int dim>
struct StepsExp : public MakeTensorExp<StepsExp<Src, DType, dim>, Src, dim, DType> {
  Src src_;
  Shape<dim> steps_;
  size_t src_last_;  ///< the operand's last extent
  StepsExp(const Src& src, const Shape<dim>& shape, const Shape<dim>& steps, size_t src_last)
      : src_(src), steps_(steps), src_last_(src_last) {
    this->shape_ = shape;
  }
};
template <class Src, class DType, int dim>
Plan<StepsExp<Src, DType, dim>, DType> MakePlan(
    const MakeTensorExp<StepsExp<Src, DType, dim>, Src, dim, DType>& e) {
  const auto& s = e.real_self();
  return Plan<StepsExp<Src, DType, dim>, DType>(MakePlan(s.src_), e.shape_, s.steps_, s.src_last_);
}

/// How far apart an expression's elements are along dimension i.
template <int dim>
index_t step_of(const Shape<dim>& shape, int i) {
  return shape.ProdShape(i + 1, dim);
}

}  // namespace expr
}  // namespace mshadow
