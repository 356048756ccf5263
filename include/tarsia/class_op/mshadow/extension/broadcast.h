// Vectors and tensors repeated along further dimensions. Device code sees this file, too.
#pragma once

#include <mshadow/extension/steps.h>

namespace mshadow {
namespace expr {

// The plans come first: they are all that device code needs.

template <class Src, class DType, int dimdst, int dimcast>
struct Broadcast1DExp;
template <class Src, class DType, int dimdst, int dimcast>
class Plan<Broadcast1DExp<Src, DType, dimdst, dimcast>, DType> {
 public:
  Plan(const Plan<Src, DType>& src, index_t below, index_t length)
      : src_(src), below_(below), length_(length) {}
  MSHADOW_XINLINE DType Eval(index_t y, index_t x) const {
    return src_.Eval(0, dimcast == dimdst - 1 ? x : (y / below_) % length_);
  }

 private:
  Plan<Src, DType> src_;
  index_t below_, length_;  ///< rows for each element, and elements
};

template <class Src, class DType, int dimdst>
struct BroadcastScalarExp;
template <class Src, class DType, int dimdst>
class Plan<BroadcastScalarExp<Src, DType, dimdst>, DType> {
 public:
  explicit Plan(const Plan<Src, DType>& src) : src_(src) {}
  MSHADOW_XINLINE DType Eval(index_t, index_t) const { return src_.Eval(0, 0); }

 private:
  Plan<Src, DType> src_;
};

template <class Src, class DType>
struct RepmatExp;
template <class Src, class DType>
class Plan<RepmatExp<Src, DType>, DType> {
 public:
  explicit Plan(const Plan<Src, DType>& src) : src_(src) {}
  MSHADOW_XINLINE DType Eval(index_t, index_t x) const { return src_.Eval(0, x); }

 private:
  Plan<Src, DType> src_;
};

template <class Src, class DType, int dimdst, int dimcast>
struct Broadcast1DExp
    : public MakeTensorExp<Broadcast1DExp<Src, DType, dimdst, dimcast>, Src, dimdst, DType> {
  Src src_;
  Broadcast1DExp(const Src& src, const Shape<dimdst>& shape) : src_(src) { this->shape_ = shape; }
};
template <class Src, class DType, int dimdst, int dimcast>
Plan<Broadcast1DExp<Src, DType, dimdst, dimcast>, DType> MakePlan(
    const MakeTensorExp<Broadcast1DExp<Src, DType, dimdst, dimcast>, Src, dimdst, DType>& e) {
  return Plan<Broadcast1DExp<Src, DType, dimdst, dimcast>, DType>(
      MakePlan(e.real_self().src_), e.shape_.ProdShape(dimcast + 1, dimdst - 1), e.shape_[dimcast]);
}
/// A vector along dimension `dimcast` of a tensor of the shape.
template <int dimcast, class Src, class DType, int kind, int dimdst>
Broadcast1DExp<real_t<Src>, DType, dimdst, dimcast> broadcast(const Exp<Src, DType, kind>& src,
                                                              const Shape<dimdst>& shape) {
  static_assert(dimcast < dimdst && ExpInfo<Src>::kDim == 1,
                "mshadow: broadcast takes a vector, and a dimension that the shape has");
  CHECK_EQ((ShapeCheck<1, real_t<Src>>::Check(Real<Src>::of(src.self()))[0]), shape[dimcast])
      << "broadcast: the vector's length is not the shape's extent";
  return Broadcast1DExp<real_t<Src>, DType, dimdst, dimcast>(Real<Src>::of(src.self()), shape);
}

template <class Src, class DType, int dimdst>
struct BroadcastScalarExp : public MakeTensorExp<BroadcastScalarExp<Src, DType, dimdst>, Src, dimdst, DType> {
  Src src_;
  BroadcastScalarExp(const Src& src, const Shape<dimdst>& shape) : src_(src) { this->shape_ = shape; }
};
template <class Src, class DType, int dimdst>
Plan<BroadcastScalarExp<Src, DType, dimdst>, DType> MakePlan(
    const MakeTensorExp<BroadcastScalarExp<Src, DType, dimdst>, Src, dimdst, DType>& e) {
  return Plan<BroadcastScalarExp<Src, DType, dimdst>, DType>(MakePlan(e.real_self().src_));
}
/// The one element of a vector, everywhere.
template <class Src, class DType, int kind, int dimdst>
BroadcastScalarExp<real_t<Src>, DType, dimdst> broadcast_scalar(const Exp<Src, DType, kind>& src,
                                                                const Shape<dimdst>& shape) {
  CHECK_EQ((ShapeCheck<1, real_t<Src>>::Check(Real<Src>::of(src.self()))[0]), 1U)
      << "broadcast_scalar takes a vector of one element";
  return BroadcastScalarExp<real_t<Src>, DType, dimdst>(Real<Src>::of(src.self()), shape);
}

/// `at` is the dimension of the result along which all elements are alike.
template <int dim, class Src, class DType, int kind>
StepsExp<real_t<Src>, DType, dim> broadcast_along(const Exp<Src, DType, kind>& e, int at, index_t size) {
  constexpr int dimsrc = ExpInfo<Src>::kDim;
  const real_t<Src>& src = Real<Src>::of(e.self());
  const Shape<dimsrc> have = ShapeCheck<dimsrc, real_t<Src>>::Check(src);
  CHECK(at >= 0 && at < dim) << "broadcast: there is no axis " << at;
  if (dimsrc == dim) CHECK_EQ(have[at], 1U) << "broadcast_keepdim: the axis has more than one element";
  Shape<dim> shape, steps;
  for (int i = 0, k = 0; i < dim; ++i) {
    const bool is_repeated = i == at;
    shape[i] = is_repeated ? size : have[k];
    steps[i] = is_repeated ? 0 : step_of(have, k);
    k += !is_repeated || dimsrc == dim;
  }
  return StepsExp<real_t<Src>, DType, dim>(src, shape, steps, have[dimsrc - 1]);
}
/// A further dimension behind `axis`.
template <class Src, class DType, int kind>
StepsExp<real_t<Src>, DType, ExpInfo<Src>::kDim + 1> broadcast_with_axis(const Exp<Src, DType, kind>& src,
                                                                         int axis, index_t size) {
  return broadcast_along<ExpInfo<Src>::kDim + 1>(src, axis + 1, size);
}
/// Dimension `axis`, of one element, repeated.
template <class Src, class DType, int kind>
StepsExp<real_t<Src>, DType, ExpInfo<Src>::kDim> broadcast_keepdim(const Exp<Src, DType, kind>& src, int axis,
                                                                   index_t size) {
  return broadcast_along<ExpInfo<Src>::kDim>(src, axis, size);
}

template <class Src, class DType>
struct RepmatExp : public MakeTensorExp<RepmatExp<Src, DType>, Src, 2, DType> {
  Src src_;
  RepmatExp(const Src& src, index_t rows) : src_(src) {
    this->shape_ = Shape2(rows, ShapeCheck<1, Src>::Check(src)[0]);
  }
};
template <class Src, class DType>
Plan<RepmatExp<Src, DType>, DType> MakePlan(const MakeTensorExp<RepmatExp<Src, DType>, Src, 2, DType>& e) {
  return Plan<RepmatExp<Src, DType>, DType>(MakePlan(e.real_self().src_));
}
/// A vector as each row of a matrix.
template <class Src, class DType, int kind>
RepmatExp<real_t<Src>, DType> repmat(const Exp<Src, DType, kind>& src, index_t rows) {
  return RepmatExp<real_t<Src>, DType>(Real<Src>::of(src.self()), rows);
}

/// Dimensions of one element repeated, to a shape of as many dimensions.
template <class Src, class DType, int kind>
StepsExp<real_t<Src>, DType, ExpInfo<Src>::kDim> broadcast_to(const Exp<Src, DType, kind>& e,
                                                              const Shape<ExpInfo<Src>::kDim>& shape) {
  constexpr int dim = ExpInfo<Src>::kDim;
  const real_t<Src>& src = Real<Src>::of(e.self());
  const Shape<dim> have = ShapeCheck<dim, real_t<Src>>::Check(src);
  Shape<dim> steps;
  for (int i = 0; i < dim; ++i) {
    CHECK(have[i] == shape[i] || have[i] == 1) << "broadcast_to: " << have << " does not go to " << shape;
    steps[i] = have[i] == 1 ? 0 : step_of(have, i);
  }
  return StepsExp<real_t<Src>, DType, dim>(src, shape, steps, have[dim - 1]);
}
template <class Src, class DType, int kind, class AnyShape>
StepsExp<real_t<Src>, DType, ExpInfo<Src>::kDim> broadcast_to(const Exp<Src, DType, kind>& src,
                                                              const AnyShape& shape) {
  return broadcast_to(src, shape.template get<ExpInfo<Src>::kDim>());
}

}  // namespace expr
}  // namespace mshadow
