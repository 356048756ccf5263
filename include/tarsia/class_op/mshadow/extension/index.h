// Expressions whose places are told by other tensors, which hold numbers of rows or columns. Device code sees
// this file, too.
#pragma once

#include <mshadow/plan.h>

namespace mshadow {
namespace expr {

/// The whole number that an element says: -1 for NaN, and a number beyond all places for what is too large.
template <class T>
MSHADOW_XINLINE long long number_told(const T& told) {
  return static_cast<long long>(told);
}
MSHADOW_XINLINE long long number_told(const double& told) {
  return told >= 4294967296.0 ? 4294967296LL : told > -1.0 ? static_cast<long long>(told) : -1;
}
MSHADOW_XINLINE long long number_told(const float& told) {
  return number_told(static_cast<double>(told));
}
MSHADOW_XINLINE long long number_told(const half::half_t& told) {
  return number_told(static_cast<double>(static_cast<float>(told)));
}
/// That number within 0 … n-1, where n is not 0.
template <class T>
MSHADOW_XINLINE index_t place_of(const T& told, index_t n) {
  const long long at = number_told(told);
  return at < 0 ? 0 : at >= static_cast<long long>(n) ? n - 1 : static_cast<index_t>(at);
}

/// What the expressions of this file are, as the last argument of PlacedExp.
enum PlacedKind { kOneHot, kChooseRow, kFillRow, kTake, kTakeGrad };

/// An expression of `dim` dimensions, of a source, values and an index.
template <class Src, class Value, class Index, class DType, int dim, int which>
struct PlacedExp;
template <class Src, class Value, class Index, class DType, int dim, int which>
class Plan<PlacedExp<Src, Value, Index, DType, dim, which>, DType> {
 public:
  Plan(const Plan<Src, DType>& src, const Plan<Value, DType>& value, const Plan<Index, DType>& index,
       index_t n)
      : src_(src), value_(value), index_(index), n_(n) {}
  MSHADOW_XINLINE DType Eval(index_t y, index_t x) const {
    switch (which) {
      case kOneHot:
        return number_told(index_.Eval(0, y)) == x ? DType(1.0f) : DType(0.0f);
      case kChooseRow:
        return src_.Eval(x, place_of(index_.Eval(0, x), n_));
      case kFillRow:
        return number_told(index_.Eval(0, y)) == x ? DType(value_.Eval(0, y)) : DType(src_.Eval(y, x));
      case kTake:
        return src_.Eval(place_of(index_.Eval(0, y), n_), x);
      default: {
        typedef typename accumulated<DType>::type A;
        A all = A(0);
        for (index_t i = 0; i < n_; ++i)
          if (number_told(index_.Eval(0, i)) == y) all += static_cast<A>(src_.Eval(i, x));
        return DType(all);
      }
    }
  }

 private:
  Plan<Src, DType> src_;
  Plan<Value, DType> value_;
  Plan<Index, DType> index_;
  index_t n_;  ///< rows or columns to choose from; of kTakeGrad, elements of the index
};

template <class Src, class Value, class Index, class DType, int dim, int which>
struct PlacedExp : public MakeTensorExp<PlacedExp<Src, Value, Index, DType, dim, which>, Src, dim, DType> {
  Src src_;
  Value value_;
  Index index_;
  index_t n_;
  PlacedExp(const Src& src, const Value& value, const Index& index, const Shape<dim>& shape, index_t n)
      : src_(src), value_(value), index_(index), n_(n) {
    this->shape_ = shape;
  }
};
template <class Src, class Value, class Index, class DType, int dim, int which>
Plan<PlacedExp<Src, Value, Index, DType, dim, which>, DType> MakePlan(
    const MakeTensorExp<PlacedExp<Src, Value, Index, DType, dim, which>, Src, dim, DType>& e) {
  const auto& p = e.real_self();
  return Plan<PlacedExp<Src, Value, Index, DType, dim, which>, DType>(MakePlan(p.src_), MakePlan(p.value_),
                                                                      MakePlan(p.index_), p.n_);
}

template <class E>
Shape<ExpInfo<E>::kDim> shape_of(const E& e) {
  return ShapeCheck<ExpInfo<E>::kDim, E>::Check(e);
}
template <class A, class B>
void check_places(const char* name, const A& index, index_t wanted, const B& of) {
  CHECK_EQ(shape_of(index)[0], wanted) << name << ": the index and " << of << " do not go together";
}

/// Places clip, so something has to be there if anything is taken.
inline void check_source(const char* name, index_t wanted, index_t have) {
  CHECK(have || !wanted) << name << ": there is nothing to take from";
}

/// A row for each element of the index, with 1 at the column that it says, and 0 elsewhere. There is no 1 for
/// columns that there are not.
template <class Index, class DType, int kind>
PlacedExp<ScalarExp<DType>, ScalarExp<DType>, real_t<Index>, DType, 2, kOneHot> one_hot_encode(
    const Exp<Index, DType, kind>& index, index_t n) {
  const real_t<Index>& at = Real<Index>::of(index.self());
  return PlacedExp<ScalarExp<DType>, ScalarExp<DType>, real_t<Index>, DType, 2, kOneHot>(
      ScalarExp<DType>(DType(0.0f)), ScalarExp<DType>(DType(0.0f)), at, Shape2(shape_of(at)[0], n), n);
}
/// The element of each row of a matrix at the column that the index says; the first and the last stand for
/// those beyond them.
template <class Src, class Index, class DType, int ks, int ki>
PlacedExp<real_t<Src>, ScalarExp<DType>, real_t<Index>, DType, 1, kChooseRow> mat_choose_row_element(
    const Exp<Src, DType, ks>& src, const Exp<Index, DType, ki>& index) {
  const real_t<Src>& from = Real<Src>::of(src.self());
  const real_t<Index>& at = Real<Index>::of(index.self());
  const Shape<2> have = shape_of(from);
  check_places("mat_choose_row_element", at, have[0], have);
  check_source("mat_choose_row_element", have[0], have[1]);
  return PlacedExp<real_t<Src>, ScalarExp<DType>, real_t<Index>, DType, 1, kChooseRow>(
      from, ScalarExp<DType>(DType(0.0f)), at, Shape1(have[0]), have[1]);
}
/// A matrix with a value in each row at the column that the index says, if there is such a column.
template <class Src, class Value, class Index, class DType, int ks, int kv, int ki>
PlacedExp<real_t<Src>, real_t<Value>, real_t<Index>, DType, 2, kFillRow> mat_fill_row_element(
    const Exp<Src, DType, ks>& src, const Exp<Value, DType, kv>& value, const Exp<Index, DType, ki>& index) {
  const real_t<Src>& from = Real<Src>::of(src.self());
  const real_t<Value>& values = Real<Value>::of(value.self());
  const real_t<Index>& at = Real<Index>::of(index.self());
  const Shape<2> have = shape_of(from);
  check_places("mat_fill_row_element", at, have[0], have);
  check_places("mat_fill_row_element", values, have[0], have);
  return PlacedExp<real_t<Src>, real_t<Value>, real_t<Index>, DType, 2, kFillRow>(from, values, at, have,
                                                                                  have[1]);
}
/// The rows of a matrix that the index says; the first and the last stand for those beyond them.
template <class Index, class Src, class DType, int ki, int ks>
PlacedExp<real_t<Src>, ScalarExp<DType>, real_t<Index>, DType, 2, kTake> take(
    const Exp<Index, DType, ki>& index, const Exp<Src, DType, ks>& src) {
  const real_t<Src>& from = Real<Src>::of(src.self());
  const real_t<Index>& at = Real<Index>::of(index.self());
  const Shape<2> have = shape_of(from);
  check_source("take", shape_of(at)[0], have[0]);
  return PlacedExp<real_t<Src>, ScalarExp<DType>, real_t<Index>, DType, 2, kTake>(
      from, ScalarExp<DType>(DType(0.0f)), at, Shape2(shape_of(at)[0], have[1]), have[0]);
}
/// The sum of the gradient's rows for each of `rows` rows that the index says. As in mshadow, what take took
/// in place of rows beyond the ends adds to none.
template <class Index, class Src, class DType, int ki, int ks>
PlacedExp<real_t<Src>, ScalarExp<DType>, real_t<Index>, DType, 2, kTakeGrad> take_grad(
    const Exp<Index, DType, ki>& index, const Exp<Src, DType, ks>& gradient, index_t rows) {
  const real_t<Src>& from = Real<Src>::of(gradient.self());
  const real_t<Index>& at = Real<Index>::of(index.self());
  const Shape<2> have = shape_of(from);
  check_places("take_grad", at, have[0], have);
  return PlacedExp<real_t<Src>, ScalarExp<DType>, real_t<Index>, DType, 2, kTakeGrad>(
      from, ScalarExp<DType>(DType(0.0f)), at, Shape2(rows, have[1]), have[0]);
}

}  // namespace expr
}  // namespace mshadow
