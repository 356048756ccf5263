// Parts of tensors, and tensors joined: both may be read and assigned to. Device code sees this file, too.
#pragma once

#include <mshadow/plan.h>

namespace mshadow {
namespace expr {

template <class Src, class Device, class DType, int dim, int dimslice>
struct SliceExp;
template <class Src, class Device, class DType, int dim, int dimslice>
class Plan<SliceExp<Src, Device, DType, dim, dimslice>, DType> {
 public:
  Plan(const Plan<Src, DType>& src, index_t below, index_t size, index_t src_size, index_t begin)
      : src_(src), below_(below), size_(size), src_size_(src_size), begin_(begin) {}
  MSHADOW_XINLINE DType Eval(index_t y, index_t x) const { return src_.Eval(row(y), column(x)); }
  MSHADOW_XINLINE DType& REval(index_t y, index_t x) { return src_.REval(row(y), column(x)); }

 private:
  MSHADOW_XINLINE index_t row(index_t y) const {
    if (dimslice == dim - 1) return y;
    const index_t at = y / below_;
    return ((at / size_) * src_size_ + at % size_ + begin_) * below_ + y % below_;
  }
  MSHADOW_XINLINE index_t column(index_t x) const { return dimslice == dim - 1 ? x + begin_ : x; }
  Plan<Src, DType> src_;
  index_t below_, size_, src_size_, begin_;
};

template <class L, class R, class Device, class DType, int dim, int dimcat>
struct ConcatExp;
template <class L, class R, class Device, class DType, int dim, int dimcat>
class Plan<ConcatExp<L, R, Device, DType, dim, dimcat>, DType> {
 public:
  Plan(const Plan<L, DType>& l, const Plan<R, DType>& r, index_t below, index_t n1, index_t n2)
      : l_(l), r_(r), below_(below), n1_(n1), n2_(n2) {}
  MSHADOW_XINLINE DType Eval(index_t y, index_t x) const {
    index_t to_y, to_x;
    return at(y, x, to_y, to_x) ? DType(l_.Eval(to_y, to_x)) : DType(r_.Eval(to_y, to_x));
  }
  MSHADOW_XINLINE DType& REval(index_t y, index_t x) {
    index_t to_y, to_x;
    return at(y, x, to_y, to_x) ? l_.REval(to_y, to_x) : r_.REval(to_y, to_x);
  }

 private:
  /// Whether the element is one of the first tensor, and its place.
  MSHADOW_XINLINE bool at(index_t y, index_t x, index_t& to_y, index_t& to_x) const {
    to_y = y, to_x = x;
    if (dimcat == dim - 1) {
      if (x < n1_) return true;
      to_x = x - n1_;
      return false;
    }
    const index_t k = y / below_, along = k % (n1_ + n2_), outer = k / (n1_ + n2_);
    const bool first = along < n1_;
    to_y = (first ? outer * n1_ + along : outer * n2_ + along - n1_) * below_ + y % below_;
    return first;
  }
  Plan<L, DType> l_;
  Plan<R, DType> r_;
  index_t below_, n1_, n2_;
};

template <class Device, class E>
struct StreamInfo;

template <class Src, class Device, class DType, int dim, int dimslice>
struct SliceExp : public TRValue<SliceExp<Src, Device, DType, dim, dimslice>, Device, dim, DType> {
  Src src_;
  Shape<dim> shape_;
  index_t begin_, src_size_;
  SliceExp(const Src& src, index_t begin, index_t end) : src_(src), begin_(begin) {
    shape_ = ShapeCheck<dim, Src>::Check(src);
    src_size_ = shape_[dimslice];
    CHECK(begin <= end && end <= src_size_)
        << "slice: from " << begin << " to " << end << " of an extent of " << src_size_;
    shape_[dimslice] = end - begin;
  }
  SliceExp(const SliceExp&) = default;
  /// Copies the elements: a part is no handle.
  SliceExp& operator=(const SliceExp& e) {
    return this->__assign(static_cast<const Exp<SliceExp, DType, type::kRValue>&>(e));
  }
  SliceExp& operator=(DType s) { return this->__assign(s); }
  template <class E, int kind>
  SliceExp& operator=(const Exp<E, DType, kind>& e) {
    return this->__assign(e);
  }
};
template <class Src, class Device, class DType, int dim, int dimslice>
Plan<SliceExp<Src, Device, DType, dim, dimslice>, DType> MakePlan(
    const SliceExp<Src, Device, DType, dim, dimslice>& e) {
  return Plan<SliceExp<Src, Device, DType, dim, dimslice>, DType>(
      MakePlan(e.src_), e.shape_.ProdShape(dimslice + 1, dim - 1), e.shape_[dimslice], e.src_size_, e.begin_);
}
template <class Src, class Device, class DType, int dim, int dimslice>
struct ExpInfo<SliceExp<Src, Device, DType, dim, dimslice>> {
  static constexpr int kDim = dim;
};
template <class Src, class Device, class DType, int dim, int dimslice>
struct ShapeCheck<dim, SliceExp<Src, Device, DType, dim, dimslice>> {
  static Shape<dim> Check(const SliceExp<Src, Device, DType, dim, dimslice>& e) { return e.shape_; }
};
template <class Src, class Device, class DType, int dim, int dimslice>
struct StreamInfo<Device, SliceExp<Src, Device, DType, dim, dimslice>> {
  static Stream<Device>* Get(const SliceExp<Src, Device, DType, dim, dimslice>& e) {
    return StreamInfo<Device, Src>::Get(e.src_);
  }
};
/// The part from `begin` to `end` of dimension `dimslice`.
template <int dimslice, class Src, class Device, int dim, class DType>
SliceExp<Src, Device, DType, dim, dimslice> slice(const TRValue<Src, Device, dim, DType>& src, index_t begin,
                                                  index_t end) {
  static_assert(dimslice < dim, "mshadow: slice names a dimension that its operand does not have");
  return SliceExp<Src, Device, DType, dim, dimslice>(src.self(), begin, end);
}

template <class L, class R, class Device, class DType, int dim, int dimcat>
struct ConcatExp : public TRValue<ConcatExp<L, R, Device, DType, dim, dimcat>, Device, dim, DType> {
  L src1_;
  R src2_;
  Shape<dim> shape_;
  index_t n1_, n2_;
  ConcatExp(const L& l, const R& r) : src1_(l), src2_(r) {
    shape_ = ShapeCheck<dim, L>::Check(l);
    Shape<dim> other = ShapeCheck<dim, R>::Check(r);
    n1_ = shape_[dimcat], n2_ = other[dimcat];
    other[dimcat] = n1_;
    CHECK_EQ(shape_, other) << "concat: the other extents differ";
    shape_[dimcat] = n1_ + n2_;
  }
  ConcatExp(const ConcatExp&) = default;
  /// Copies the elements: a part is no handle.
  ConcatExp& operator=(const ConcatExp& e) {
    return this->__assign(static_cast<const Exp<ConcatExp, DType, type::kRValue>&>(e));
  }
  ConcatExp& operator=(DType s) { return this->__assign(s); }
  template <class E, int kind>
  ConcatExp& operator=(const Exp<E, DType, kind>& e) {
    return this->__assign(e);
  }
};
template <class L, class R, class Device, class DType, int dim, int dimcat>
Plan<ConcatExp<L, R, Device, DType, dim, dimcat>, DType> MakePlan(
    const ConcatExp<L, R, Device, DType, dim, dimcat>& e) {
  return Plan<ConcatExp<L, R, Device, DType, dim, dimcat>, DType>(
      MakePlan(e.src1_), MakePlan(e.src2_), e.shape_.ProdShape(dimcat + 1, dim - 1), e.n1_, e.n2_);
}
template <class L, class R, class Device, class DType, int dim, int dimcat>
struct ExpInfo<ConcatExp<L, R, Device, DType, dim, dimcat>> {
  static constexpr int kDim = dim;
};
template <class L, class R, class Device, class DType, int dim, int dimcat>
struct ShapeCheck<dim, ConcatExp<L, R, Device, DType, dim, dimcat>> {
  static Shape<dim> Check(const ConcatExp<L, R, Device, DType, dim, dimcat>& e) { return e.shape_; }
};
template <class L, class R, class Device, class DType, int dim, int dimcat>
struct StreamInfo<Device, ConcatExp<L, R, Device, DType, dim, dimcat>> {
  static Stream<Device>* Get(const ConcatExp<L, R, Device, DType, dim, dimcat>& e) {
    return StreamInfo<Device, L>::Get(e.src1_);
  }
};
/// Two tensors behind each other along dimension `dimcat`.
template <int dimcat, class L, class R, class Device, int dim, class DType>
ConcatExp<L, R, Device, DType, dim, dimcat> concat(const TRValue<L, Device, dim, DType>& l,
                                                   const TRValue<R, Device, dim, DType>& r) {
  static_assert(dimcat < dim, "mshadow: concat names a dimension that its operands do not have");
  return ConcatExp<L, R, Device, DType, dim, dimcat>(l.self(), r.self());
}

}  // namespace expr
}  // namespace mshadow
