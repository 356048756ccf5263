// Plans: how elements of expressions are computed. An element has a row y, of all dimensions but the last,
// and a column x. Device code sees this file, too.
#pragma once

#include <mshadow/shape.h>

#include <mshadow/expression.h>

namespace mshadow {

template <class Device, int dimension, class DType>
struct Tensor;

namespace expr {

template <class DType>
struct ScalarExp;
template <class ToDType, class FromDType, class E, int kind>
struct TypecastExp;
template <class E, class DType>
struct TransposeExp;
template <class OP, class A, class DType, int kind>
struct UnaryMapExp;
template <class OP, class A, class B, class DType, int kind>
struct BinaryMapExp;
template <class OP, class A, class B, class C, class DType, int kind>
struct TernaryMapExp;

/// The plan of expression E, of element type DType.
template <class E, class DType>
class Plan;

template <class Device, int dim, class DType>
class Plan<Tensor<Device, dim, DType>, DType> {
 public:
  explicit Plan(const Tensor<Device, dim, DType>& t) : dptr_(t.dptr_), stride_(t.stride_) {}
  MSHADOW_XINLINE DType& REval(index_t y, index_t x) { return dptr_[static_cast<size_t>(y) * stride_ + x]; }
  MSHADOW_XINLINE const DType& Eval(index_t y, index_t x) const {
    return dptr_[static_cast<size_t>(y) * stride_ + x];
  }

 private:
  DType* dptr_;
  index_t stride_;
};
template <class Device, class DType>
class Plan<Tensor<Device, 1, DType>, DType> {
 public:
  explicit Plan(const Tensor<Device, 1, DType>& t) : dptr_(t.dptr_) {}
  MSHADOW_XINLINE DType& REval(index_t, index_t x) { return dptr_[x]; }
  MSHADOW_XINLINE const DType& Eval(index_t, index_t x) const { return dptr_[x]; }

 private:
  DType* dptr_;
};
template <class DType>
class Plan<ScalarExp<DType>, DType> {
 public:
  explicit Plan(DType scalar) : scalar_(scalar) {}
  MSHADOW_XINLINE DType Eval(index_t, index_t) const { return scalar_; }

 private:
  DType scalar_;
};
template <class ToDType, class FromDType, class E, int kind>
class Plan<TypecastExp<ToDType, FromDType, E, kind>, ToDType> {
 public:
  explicit Plan(const Plan<E, FromDType>& src) : src_(src) {}
  MSHADOW_XINLINE ToDType Eval(index_t y, index_t x) const { return ToDType(src_.Eval(y, x)); }

 private:
  Plan<E, FromDType> src_;
};
template <class OP, class A, class DType, int kind>
class Plan<UnaryMapExp<OP, A, DType, kind>, DType> {
 public:
  explicit Plan(const Plan<A, DType>& src) : src_(src) {}
  MSHADOW_XINLINE DType Eval(index_t y, index_t x) const {
    return static_cast<DType>(OP::Map(static_cast<DType>(src_.Eval(y, x))));
  }

 private:
  Plan<A, DType> src_;
};
template <class OP, class A, class B, class DType, int kind>
class Plan<BinaryMapExp<OP, A, B, DType, kind>, DType> {
 public:
  Plan(const Plan<A, DType>& lhs, const Plan<B, DType>& rhs) : lhs_(lhs), rhs_(rhs) {}
  MSHADOW_XINLINE DType Eval(index_t y, index_t x) const {
    return static_cast<DType>(
        OP::Map(static_cast<DType>(lhs_.Eval(y, x)), static_cast<DType>(rhs_.Eval(y, x))));
  }

 private:
  Plan<A, DType> lhs_;
  Plan<B, DType> rhs_;
};
template <class OP, class A, class B, class C, class DType, int kind>
class Plan<TernaryMapExp<OP, A, B, C, DType, kind>, DType> {
 public:
  Plan(const Plan<A, DType>& a, const Plan<B, DType>& b, const Plan<C, DType>& c) : a_(a), b_(b), c_(c) {}
  MSHADOW_XINLINE DType Eval(index_t y, index_t x) const {
    return static_cast<DType>(OP::Map(static_cast<DType>(a_.Eval(y, x)), static_cast<DType>(b_.Eval(y, x)),
                                      static_cast<DType>(c_.Eval(y, x))));
  }

 private:
  Plan<A, DType> a_;
  Plan<B, DType> b_;
  Plan<C, DType> c_;
};
template <class E, class DType>
class Plan<TransposeExp<E, DType>, DType> {
 public:
  explicit Plan(const Plan<E, DType>& src) : src_(src) {}
  MSHADOW_XINLINE DType Eval(index_t y, index_t x) const { return src_.Eval(x, y); }

 private:
  Plan<E, DType> src_;
};

// Plans of expressions. Those of parts are found when they are needed, by the parts' types.
template <class T, class DType>
Plan<T, DType> MakePlan(const RValueExp<T, DType>& e) {
  return Plan<T, DType>(e.self());
}
template <class T, class Src, int dim, class DType>
Plan<T, DType> MakePlan(const MakeTensorExp<T, Src, dim, DType>& e) {
  return Plan<T, DType>(e.real_self());
}
template <class DType>
Plan<ScalarExp<DType>, DType> MakePlan(const ScalarExp<DType>& e) {
  return Plan<ScalarExp<DType>, DType>(e.scalar_);
}
template <class ToDType, class FromDType, class E, int kind>
Plan<TypecastExp<ToDType, FromDType, E, kind>, ToDType> MakePlan(
    const TypecastExp<ToDType, FromDType, E, kind>& e) {
  return Plan<TypecastExp<ToDType, FromDType, E, kind>, ToDType>(MakePlan(e.exp));
}
template <class E, class DType>
Plan<TransposeExp<E, DType>, DType> MakePlan(const TransposeExp<E, DType>& e) {
  return Plan<TransposeExp<E, DType>, DType>(MakePlan(e.exp));
}
template <class OP, class A, class DType, int kind>
Plan<UnaryMapExp<OP, A, DType, kind>, DType> MakePlan(const UnaryMapExp<OP, A, DType, kind>& e) {
  return Plan<UnaryMapExp<OP, A, DType, kind>, DType>(MakePlan(e.src_));
}
template <class OP, class A, class B, class DType, int kind>
Plan<BinaryMapExp<OP, A, B, DType, kind>, DType> MakePlan(const BinaryMapExp<OP, A, B, DType, kind>& e) {
  return Plan<BinaryMapExp<OP, A, B, DType, kind>, DType>(MakePlan(e.lhs_), MakePlan(e.rhs_));
}
template <class OP, class A, class B, class C, class DType, int kind>
Plan<TernaryMapExp<OP, A, B, C, DType, kind>, DType> MakePlan(
    const TernaryMapExp<OP, A, B, C, DType, kind>& e) {
  return Plan<TernaryMapExp<OP, A, B, C, DType, kind>, DType>(MakePlan(e.item1_), MakePlan(e.item2_),
                                                              MakePlan(e.item3_));
}

/// The number of dimensions of an expression; 0 for numbers, which fit any shape.
template <class E>
struct ExpInfo {
  static constexpr int kDim = E::kDim;
};
template <class DType>
struct ExpInfo<ScalarExp<DType>> {
  static constexpr int kDim = 0;
};
template <class Device, int dim, class DType>
struct ExpInfo<Tensor<Device, dim, DType>> {
  static constexpr int kDim = dim;
};
template <class E, class DType>
struct ExpInfo<TransposeExp<E, DType>> {
  static constexpr int kDim = ExpInfo<E>::kDim;
};
template <class To, class From, class E, int kind>
struct ExpInfo<TypecastExp<To, From, E, kind>> {
  static constexpr int kDim = ExpInfo<E>::kDim;
};
template <class OP, class A, class DType, int kind>
struct ExpInfo<UnaryMapExp<OP, A, DType, kind>> {
  static constexpr int kDim = ExpInfo<A>::kDim;
};
template <class A, class B>
struct SameDim {
  static constexpr int a = ExpInfo<A>::kDim, b = ExpInfo<B>::kDim;
  static_assert(a == b || a == 0 || b == 0,
                "mshadow: the operands of an expression have different numbers of dimensions");
  static constexpr int kDim = a ? a : b;
};
template <class OP, class A, class B, class DType, int kind>
struct ExpInfo<BinaryMapExp<OP, A, B, DType, kind>> {
  static constexpr int kDim = SameDim<A, B>::kDim;
};
template <class OP, class A, class B, class C, class DType, int kind>
struct ExpInfo<TernaryMapExp<OP, A, B, C, DType, kind>> {
  static constexpr int kDim = SameDim<A, B>::kDim ? SameDim<A, B>::kDim : ExpInfo<C>::kDim;
};

/// The shape of an expression of `dim` dimensions; zeros for numbers. Throws if its operands' shapes differ.
template <int dim, class E>
struct ShapeCheck {
  static Shape<dim> Check(const E& e) { return e.shape_; }
};
template <int dim, class DType>
struct ShapeCheck<dim, ScalarExp<DType>> {
  static Shape<dim> Check(const ScalarExp<DType>&) { return Shape<dim>(); }
};
template <int dim, class Device, class DType>
struct ShapeCheck<dim, Tensor<Device, dim, DType>> {
  static Shape<dim> Check(const Tensor<Device, dim, DType>& t) { return t.shape_; }
};
template <int dim, class E, class DType>
struct ShapeCheck<dim, TransposeExp<E, DType>> {
  static Shape<dim> Check(const TransposeExp<E, DType>& e) {
    Shape<dim> s = ShapeCheck<dim, E>::Check(e.exp);
    const index_t rows = s[0];
    s[0] = s[1], s[1] = rows;
    return s;
  }
};
template <int dim, class To, class From, class E, int kind>
struct ShapeCheck<dim, TypecastExp<To, From, E, kind>> {
  static Shape<dim> Check(const TypecastExp<To, From, E, kind>& e) {
    return ShapeCheck<dim, E>::Check(e.exp);
  }
};
template <int dim, class OP, class A, class DType, int kind>
struct ShapeCheck<dim, UnaryMapExp<OP, A, DType, kind>> {
  static Shape<dim> Check(const UnaryMapExp<OP, A, DType, kind>& e) {
    return ShapeCheck<dim, A>::Check(e.src_);
  }
};
template <int dim, class A, class B>
Shape<dim> common_shape(const A& a, const B& b) {
  const Shape<dim> left = ShapeCheck<dim, A>::Check(a), right = ShapeCheck<dim, B>::Check(b);
  if (ExpInfo<A>::kDim == 0) return right;
  if (ExpInfo<B>::kDim == 0) return left;
  CHECK_EQ(left, right) << "the operands of an expression have different shapes";
  return left;
}
template <int dim, class OP, class A, class B, class DType, int kind>
struct ShapeCheck<dim, BinaryMapExp<OP, A, B, DType, kind>> {
  static Shape<dim> Check(const BinaryMapExp<OP, A, B, DType, kind>& e) {
    return common_shape<dim>(e.lhs_, e.rhs_);
  }
};
template <int dim, class OP, class A, class B, class C, class DType, int kind>
struct ShapeCheck<dim, TernaryMapExp<OP, A, B, C, DType, kind>> {
  static Shape<dim> Check(const TernaryMapExp<OP, A, B, C, DType, kind>& e) {
    const Shape<dim> ab = common_shape<dim>(e.item1_, e.item2_), bc = common_shape<dim>(e.item2_, e.item3_),
                     ac = common_shape<dim>(e.item1_, e.item3_);
    return ExpInfo<A>::kDim || ExpInfo<B>::kDim
               ? (ExpInfo<A>::kDim || ExpInfo<C>::kDim ? (ExpInfo<B>::kDim ? ab : ac) : bc)
               : bc;
  }
};

}  // namespace expr
}  // namespace mshadow
