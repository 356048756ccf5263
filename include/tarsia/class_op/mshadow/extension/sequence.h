// Numbers in a row, tensors the other way round, and products of matrices element by element. Device code
// sees this file, too.
#pragma once

#include <mshadow/plan.h>

#include <type_traits>

namespace mshadow {
namespace expr {

/// The numbers of a range are computed as N: long long if all that is given is whole, else double.
template <class DType, class N>
struct RangeExp;
template <class DType, class N>
class Plan<RangeExp<DType, N>, DType> {
 public:
  Plan(N start, N step, index_t repeat) : start_(start), step_(step), repeat_(repeat) {}
  MSHADOW_XINLINE DType Eval(index_t, index_t x) const { return DType(number(start_, step_, x / repeat_)); }

 private:
  MSHADOW_XINLINE static double number(double start, double step, index_t i) { return start + step * i; }
  /// Unsigned on the way: start + step * i is there, but step * i may be too large.
  MSHADOW_XINLINE static long long number(long long start, long long step, index_t i) {
    return static_cast<long long>(static_cast<unsigned long long>(start) +
                                  static_cast<unsigned long long>(step) * i);
  }
  N start_, step_;
  index_t repeat_;
};

template <class Src, class DType, int dim>
struct FlipExp;
template <class Src, class DType, int dim>
class Plan<FlipExp<Src, DType, dim>, DType> {
 public:
  Plan(const Plan<Src, DType>& src, index_t size, index_t below, bool is_last)
      : src_(src), size_(size), below_(below), is_last_(is_last) {}
  MSHADOW_XINLINE DType Eval(index_t y, index_t x) const {
    if (is_last_) return src_.Eval(y, size_ - 1 - x);
    const index_t along = y / below_ % size_;
    return src_.Eval(y + (size_ - 1 - 2 * along) * below_, x);
  }

 private:
  Plan<Src, DType> src_;
  index_t size_, below_;  ///< the axis's elements, and the rows of each
  bool is_last_;
};

template <class L, class R, class DType>
struct ImplicitDotExp;
template <class L, class R, class DType>
class Plan<ImplicitDotExp<L, R, DType>, DType> {
 public:
  Plan(const Plan<L, DType>& l, const Plan<R, DType>& r, index_t n) : l_(l), r_(r), n_(n) {}
  MSHADOW_XINLINE DType Eval(index_t y, index_t x) const {
    typedef typename accumulated<DType>::type A;
    A all = A(0);
    for (index_t k = 0; k < n_; ++k) all += static_cast<A>(l_.Eval(y, k)) * static_cast<A>(r_.Eval(k, x));
    return DType(all);
  }

 private:
  Plan<L, DType> l_;
  Plan<R, DType> r_;
  index_t n_;
};

template <class DType, class N>
struct RangeExp : public MakeTensorExp<RangeExp<DType, N>, RangeExp<DType, N>, 1, DType> {
  N start_, step_;
  index_t repeat_;
  RangeExp(N start, N step, index_t length, index_t repeat) : start_(start), step_(step), repeat_(repeat) {
    this->shape_[0] = length;
  }
};
template <class DType, class N>
Plan<RangeExp<DType, N>, DType> MakePlan(
    const MakeTensorExp<RangeExp<DType, N>, RangeExp<DType, N>, 1, DType>& e) {
  const auto& r = e.real_self();
  return Plan<RangeExp<DType, N>, DType>(r.start_, r.step_, r.repeat_);
}

/// How many numbers of a range there are; 0 if there is none. Whole numbers are counted exactly.
inline double count_of_range(long long start, long long stop, long long step) {
  if (step > 0 ? start >= stop : start <= stop) return 0;
  const auto distance = [](long long from, long long to) {
    return static_cast<unsigned long long>(to) - static_cast<unsigned long long>(from);
  };
  const unsigned long long span = step > 0 ? distance(start, stop) : distance(stop, start),
                           size = step > 0 ? distance(0, step) : distance(step, 0);
  return static_cast<double>((span - 1) / size + 1);
}
inline double count_of_range(double start, double stop, double step) {
  const double n = std::ceil((stop - start) / step);
  return n > 0 ? n : 0;
}
inline double count_of_range(float start, float stop, float step) {
  const float n = std::ceil((stop - start) / step);
  return n > 0 ? n : 0;
}
template <class T>
struct range_number {
  typedef T type;
};
template <>
struct range_number<half::half_t> {
  typedef float type;
};

/// The numbers from `start` up to, and without, `stop`, each `repeat` times.
template <class DType, class Start, class Stop, class Step = int>
auto range(Start start, Stop stop, Step step = 1, int repeat = 1) {
  typedef std::common_type_t<typename range_number<Start>::type, typename range_number<Stop>::type,
                             typename range_number<Step>::type>
      Common;
  typedef std::conditional_t<std::is_integral<Common>::value, long long, Common> Given;
  typedef std::conditional_t<std::is_integral<Common>::value, long long, double> N;
  const Given from = static_cast<Given>(start), to = static_cast<Given>(stop), by = static_cast<Given>(step);
  CHECK(repeat >= 1) << "range: each number has to come at least once";
  CHECK(by != 0) << "range: a step of 0 leads nowhere";
  const double n = count_of_range(from, to, by);
  CHECK(n > 0) << "range: there is no number from " << from << " to " << to << " by " << by;
  CHECK(n * repeat <= 4294967295.0) << "range: " << n * repeat << " numbers are too many for a tensor";
  return RangeExp<DType, N>(static_cast<N>(from), static_cast<N>(by),
                            static_cast<index_t>(n) * static_cast<index_t>(repeat),
                            static_cast<index_t>(repeat));
}

template <class Src, class DType, int dim>
struct FlipExp : public MakeTensorExp<FlipExp<Src, DType, dim>, Src, dim, DType> {
  Src src_;
  int axis_;
  FlipExp(const Src& src, int axis) : src_(src), axis_(axis) {
    CHECK(axis >= 0 && axis < dim) << "flip: there is no axis " << axis;
    this->shape_ = ShapeCheck<dim, Src>::Check(src);
  }
};
template <class Src, class DType, int dim>
Plan<FlipExp<Src, DType, dim>, DType> MakePlan(
    const MakeTensorExp<FlipExp<Src, DType, dim>, Src, dim, DType>& e) {
  const auto& f = e.real_self();
  const bool is_last = f.axis_ == dim - 1;
  return Plan<FlipExp<Src, DType, dim>, DType>(
      MakePlan(f.src_), e.shape_[f.axis_], is_last ? 1 : e.shape_.ProdShape(f.axis_ + 1, dim - 1), is_last);
}
/// The elements of an axis in the other order.
template <class Src, class DType, int kind>
FlipExp<real_t<Src>, DType, ExpInfo<Src>::kDim> flip(const Exp<Src, DType, kind>& src, int axis) {
  return FlipExp<real_t<Src>, DType, ExpInfo<Src>::kDim>(Real<Src>::of(src.self()), axis);
}

template <class L, class R, class DType>
struct ImplicitDotExp : public MakeTensorExp<ImplicitDotExp<L, R, DType>, L, 2, DType> {
  L l_;
  R r_;
  index_t n_;
  ImplicitDotExp(const L& l, const R& r) : l_(l), r_(r) {
    const Shape<2> left = ShapeCheck<2, L>::Check(l), right = ShapeCheck<2, R>::Check(r);
    CHECK_EQ(left[1], right[0]) << "implicit_dot: the inner extents differ, of " << left << " and " << right;
    n_ = left[1];
    this->shape_ = Shape2(left[0], right[1]);
  }
};
template <class L, class R, class DType>
Plan<ImplicitDotExp<L, R, DType>, DType> MakePlan(
    const MakeTensorExp<ImplicitDotExp<L, R, DType>, L, 2, DType>& e) {
  const auto& d = e.real_self();
  return Plan<ImplicitDotExp<L, R, DType>, DType>(MakePlan(d.l_), MakePlan(d.r_), d.n_);
}
/// A product of matrices that is part of a larger expression.
template <class L, class R, class DType, int kl, int kr>
ImplicitDotExp<real_t<L>, real_t<R>, DType> implicit_dot(const Exp<L, DType, kl>& l,
                                                         const Exp<R, DType, kr>& r) {
  return ImplicitDotExp<real_t<L>, real_t<R>, DType>(Real<L>::of(l.self()), Real<R>::of(r.self()));
}

}  // namespace expr
}  // namespace mshadow
