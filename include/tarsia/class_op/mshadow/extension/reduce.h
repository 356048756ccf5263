// Reductions along one dimension, element by element of the result. Device code sees this file, too.
#pragma once

#include <mshadow/plan.h>

namespace mshadow {
namespace expr {

template <class Src, class DType, int dimsrc, class Reducer, bool mask, int dimdst>
struct ReduceWithAxisExp;
template <class Src, class DType, int dimsrc, class Reducer, bool mask, int dimdst>
class Plan<ReduceWithAxisExp<Src, DType, dimsrc, Reducer, mask, dimdst>, DType> {
 public:
  Plan(const Plan<Src, DType>& src, size_t last, size_t src_last, size_t size, size_t trailing)
      : src_(src), last_(last), src_last_(src_last), size_(size), trailing_(trailing) {}
  MSHADOW_XINLINE DType Eval(index_t y, index_t x) const {
    typedef typename accumulated<DType>::type A;
    const size_t i = static_cast<size_t>(y) * last_ + x;
    size_t at = i / trailing_ * size_ * trailing_ + i % trailing_;
    A all;
    Reducer::SetInitValue(all);
    size_t found = 0;
    for (size_t k = 0; k < size_; ++k, at += trailing_) {
      const A before = all;
      Reducer::Reduce(all, static_cast<A>(src_.Eval(static_cast<index_t>(at / src_last_),
                                                    static_cast<index_t>(at % src_last_))));
      if (mask && !(before == all)) found = k;
    }
    return mask ? static_cast<DType>(found) : static_cast<DType>(all);
  }

 private:
  Plan<Src, DType> src_;
  size_t last_, src_last_, size_, trailing_;
};

template <class Src, class DType, int dimsrc, class Reducer, bool mask, int dimdst>
struct ReduceWithAxisExp
    : public MakeTensorExp<ReduceWithAxisExp<Src, DType, dimsrc, Reducer, mask, dimdst>, Src, dimdst, DType> {
  Src src_;
  size_t src_last_, size_, trailing_ = 1;
  ReduceWithAxisExp(const Src& src, int axis) : src_(src) {
    const Shape<dimsrc> have = ShapeCheck<dimsrc, Src>::Check(src);
    CHECK(axis >= 0 && axis < dimsrc) << "reduce: there is no axis " << axis;
    size_ = have[axis];
    for (int i = axis + 1; i < dimsrc; ++i) trailing_ *= have[i];
    for (int i = 0; i < dimdst; ++i)
      this->shape_[i] = dimdst == dimsrc ? (i == axis ? 1 : have[i]) : have[i + (i >= axis)];
    src_last_ = have[dimsrc - 1];
  }
};
template <class Src, class DType, int dimsrc, class Reducer, bool mask, int dimdst>
Plan<ReduceWithAxisExp<Src, DType, dimsrc, Reducer, mask, dimdst>, DType> MakePlan(
    const MakeTensorExp<ReduceWithAxisExp<Src, DType, dimsrc, Reducer, mask, dimdst>, Src, dimdst, DType>&
        e) {
  const auto& r = e.real_self();
  return Plan<ReduceWithAxisExp<Src, DType, dimsrc, Reducer, mask, dimdst>, DType>(
      MakePlan(r.src_), e.shape_[dimdst - 1], r.src_last_, r.size_, r.trailing_);
}
/// Without dimension `axis`. With mask, the number of the element that the reducer chose.
template <class Reducer, bool mask, class Src, class DType, int kind>
ReduceWithAxisExp<real_t<Src>, DType, ExpInfo<Src>::kDim, Reducer, mask, ExpInfo<Src>::kDim - 1>
reduce_with_axis(const Exp<Src, DType, kind>& src, int axis) {
  return ReduceWithAxisExp<real_t<Src>, DType, ExpInfo<Src>::kDim, Reducer, mask, ExpInfo<Src>::kDim - 1>(
      Real<Src>::of(src.self()), axis);
}
/// The same; the dimension stays, with one element.
template <class Reducer, bool mask, class Src, class DType, int kind>
ReduceWithAxisExp<real_t<Src>, DType, ExpInfo<Src>::kDim, Reducer, mask, ExpInfo<Src>::kDim> reduce_keepdim(
    const Exp<Src, DType, kind>& src, int axis) {
  return ReduceWithAxisExp<real_t<Src>, DType, ExpInfo<Src>::kDim, Reducer, mask, ExpInfo<Src>::kDim>(
      Real<Src>::of(src.self()), axis);
}
/// The sum of a matrix's rows.
template <class Src, class DType, int kind>
ReduceTo1DExp<real_t<Src>, DType, red::sum, 1> sum_rows(const Exp<Src, DType, kind>& e) {
  static_assert(ExpInfo<Src>::kDim == 2, "mshadow: sum_rows takes a matrix");
  return sumall_except_dim<1>(e);
}

}  // namespace expr
}  // namespace mshadow
