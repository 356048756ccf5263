// Lazy expressions: what an assignment to a tensor computes, element by element. An expression is a type; its
// values hold the tensors and numbers that it works on.
#pragma once

#include <mshadow/shape.h>

#include <type_traits>

namespace mshadow {

namespace expr {

/// The kinds of expressions. The kind of a compound is the union of its parts' kinds.
namespace type {
const int kRValue = 0;   // a tensor, or a part of one: may be assigned to
const int kMapper = 1;   // one element of each operand at the same place
const int kChainer = 3;  // elements of other places
const int kComplex = 7;  // a whole computation, such as a matrix product: stands alone
}  // namespace type

/// The base of all expressions. SubType is the expression, DType its element type, kind one of the kinds.
template <class SubType, class DType, int kind>
struct Exp {
  const SubType& self() const { return *static_cast<const SubType*>(this); }
  SubType* ptrself() { return static_cast<SubType*>(this); }
};

template <class Saver, class RValue, class DType>
struct ExpEngine;

/// The base of what may be assigned to.
template <class Container, class DType>
class RValueExp : public Exp<Container, DType, type::kRValue> {
 public:
  Container& operator+=(DType s);
  Container& operator-=(DType s);
  Container& operator*=(DType s);
  Container& operator/=(DType s);
  Container& __assign(DType s);
  template <class E, int kind>
  Container& __assign(const Exp<E, DType, kind>& e) {
    ExpEngine<sv::saveto, Container, DType>::Eval(this->ptrself(), e.self());
    return *this->ptrself();
  }
  template <class E, int kind>
  Container& operator+=(const Exp<E, DType, kind>& e) {
    ExpEngine<sv::plusto, Container, DType>::Eval(this->ptrself(), e.self());
    return *this->ptrself();
  }
  template <class E, int kind>
  Container& operator-=(const Exp<E, DType, kind>& e) {
    ExpEngine<sv::minusto, Container, DType>::Eval(this->ptrself(), e.self());
    return *this->ptrself();
  }
  template <class E, int kind>
  Container& operator*=(const Exp<E, DType, kind>& e) {
    ExpEngine<sv::multo, Container, DType>::Eval(this->ptrself(), e.self());
    return *this->ptrself();
  }
  template <class E, int kind>
  Container& operator/=(const Exp<E, DType, kind>& e) {
    ExpEngine<sv::divto, Container, DType>::Eval(this->ptrself(), e.self());
    return *this->ptrself();
  }
};

/// A number.
template <class DType>
struct ScalarExp : public Exp<ScalarExp<DType>, DType, type::kMapper> {
  DType scalar_;
  ScalarExp(DType scalar) : scalar_(scalar) {}
};
template <class DType>
ScalarExp<DType> scalar(DType s) {
  return ScalarExp<DType>(s);
}

/// An expression's elements as another type.
template <class ToDType, class FromDType, class E, int kind>
struct TypecastExp : public Exp<TypecastExp<ToDType, FromDType, E, kind>, ToDType, kind> {
  E exp;
  explicit TypecastExp(const E& e) : exp(e) {}
};
/// A matrix with its axes exchanged.
template <class E, class DType>
struct TransposeExp : public Exp<TransposeExp<E, DType>, DType, type::kChainer> {
  E exp;
  explicit TransposeExp(const E& e) : exp(e) {}
  E T() const { return exp; }
};

template <class OP, class A, class DType, int kind>
struct UnaryMapExp : public Exp<UnaryMapExp<OP, A, DType, kind>, DType, kind> {
  A src_;
  explicit UnaryMapExp(const A& a) : src_(a) {}
};
template <class OP, class A, class B, class DType, int kind>
struct BinaryMapExp : public Exp<BinaryMapExp<OP, A, B, DType, kind>, DType, kind> {
  A lhs_;
  B rhs_;
  BinaryMapExp(const A& a, const B& b) : lhs_(a), rhs_(b) {}
};
template <class OP, class A, class B, class C, class DType, int kind>
struct TernaryMapExp : public Exp<TernaryMapExp<OP, A, B, C, DType, kind>, DType, kind> {
  A item1_;
  B item2_;
  C item3_;
  TernaryMapExp(const A& a, const B& b, const C& c) : item1_(a), item2_(b), item3_(c) {}
};

/// Whether a type is that of a number.
template <class S>
struct is_number {
  enum { value = std::is_arithmetic<S>::value };
};
template <>
struct is_number<half::half_t> {
  enum { value = 1 };
};

template <class SubType, class Src, int dim, class DType>
struct MakeTensorExp;

/// The type of an expression. Those that know their shape are bases of it.
template <class E>
struct Real {
  typedef E type;
  static const E& of(const E& e) { return e; }
};
template <class T, class Src, int dim, class DType>
struct Real<MakeTensorExp<T, Src, dim, DType>> {
  typedef T type;
  static const T& of(const MakeTensorExp<T, Src, dim, DType>& e) { return e.real_self(); }
};
template <class E>
using real_t = typename Real<E>::type;

template <class OP, class A, class DType, int ka>
using Unary = UnaryMapExp<OP, real_t<A>, DType, (ka | type::kMapper)>;
template <class OP, class A, class B, class DType, int k>
using Binary = BinaryMapExp<OP, real_t<A>, real_t<B>, DType, (k | type::kMapper)>;
template <class S, class R>
using IfNumber = typename std::enable_if<is_number<S>::value, R>::type;

template <class OP, class A, class B, class DType, int ka, int kb>
Binary<OP, A, B, DType, (ka | kb)> MakeExp(const Exp<A, DType, ka>& a, const Exp<B, DType, kb>& b) {
  return Binary<OP, A, B, DType, (ka | kb)>(Real<A>::of(a.self()), Real<B>::of(b.self()));
}
template <class OP, class A, class DType, int ka>
Unary<OP, A, DType, ka> MakeExp(const Exp<A, DType, ka>& a) {
  return Unary<OP, A, DType, ka>(Real<A>::of(a.self()));
}

template <class ToDType, class FromDType, class E, int kind>
TypecastExp<ToDType, FromDType, real_t<E>, (kind | type::kMapper)> tcast(const Exp<E, FromDType, kind>& e) {
  return TypecastExp<ToDType, FromDType, real_t<E>, (kind | type::kMapper)>(Real<E>::of(e.self()));
}

/// OP of the elements of one, two or three expressions. Numbers take the place of expressions.
template <class OP, class A, class DType, int ka>
Unary<OP, A, DType, ka> F(const Exp<A, DType, ka>& a) {
  return MakeExp<OP>(a);
}
template <class OP, class A, class B, class DType, int ka, int kb>
Binary<OP, A, B, DType, (ka | kb)> F(const Exp<A, DType, ka>& a, const Exp<B, DType, kb>& b) {
  return MakeExp<OP>(a, b);
}
template <class OP, class A, class DType, int ka, class S>
IfNumber<S, Binary<OP, A, ScalarExp<DType>, DType, ka>> F(const Exp<A, DType, ka>& a, const S& s) {
  return MakeExp<OP>(a, ScalarExp<DType>(static_cast<DType>(s)));
}
template <class OP, class A, class DType, int ka, class S>
IfNumber<S, Binary<OP, ScalarExp<DType>, A, DType, ka>> F(const S& s, const Exp<A, DType, ka>& a) {
  return MakeExp<OP>(ScalarExp<DType>(static_cast<DType>(s)), a);
}
template <class OP, class A, class B, class C, class DType, int ka, int kb, int kc>
TernaryMapExp<OP, real_t<A>, real_t<B>, real_t<C>, DType, (ka | kb | kc | type::kMapper)> F(
    const Exp<A, DType, ka>& a, const Exp<B, DType, kb>& b, const Exp<C, DType, kc>& c) {
  return TernaryMapExp<OP, real_t<A>, real_t<B>, real_t<C>, DType, (ka | kb | kc | type::kMapper)>(
      Real<A>::of(a.self()), Real<B>::of(b.self()), Real<C>::of(c.self()));
}

#define TARSIA_DETAIL_ARITHMETIC(sign, OP)                                                                   \
  template <class A, class B, class DType, int ka, int kb>                                                   \
  Binary<OP, A, B, DType, (ka | kb)> operator sign(const Exp<A, DType, ka>& a, const Exp<B, DType, kb>& b) { \
    return MakeExp<OP>(a, b);                                                                                \
  }                                                                                                          \
  template <class A, class DType, int ka, class S>                                                           \
  IfNumber<S, Binary<OP, A, ScalarExp<DType>, DType, ka>> operator sign(const Exp<A, DType, ka>& a,          \
                                                                        const S& s) {                        \
    return F<OP>(a, s);                                                                                      \
  }                                                                                                          \
  template <class A, class DType, int ka, class S>                                                           \
  IfNumber<S, Binary<OP, ScalarExp<DType>, A, DType, ka>> operator sign(const S& s,                          \
                                                                        const Exp<A, DType, ka>& a) {        \
    return F<OP>(s, a);                                                                                      \
  }
TARSIA_DETAIL_ARITHMETIC(+, op::plus)
TARSIA_DETAIL_ARITHMETIC(-, op::minus)
TARSIA_DETAIL_ARITHMETIC(*, op::mul)
TARSIA_DETAIL_ARITHMETIC(/, op::div)
#undef TARSIA_DETAIL_ARITHMETIC

/// A matrix product, scaled. A and B are tensors.
template <class A, class B, bool ltrans, bool rtrans, class DType>
struct DotExp : public Exp<DotExp<A, B, ltrans, rtrans, DType>, DType, type::kComplex> {
  A lhs_;
  B rhs_;
  DType scale_;
  DotExp(const A& a, const B& b, DType scale) : lhs_(a), rhs_(b), scale_(scale) {}
};
template <class A, class B, class DType>
DotExp<A, B, false, false, DType> dot(const RValueExp<A, DType>& a, const RValueExp<B, DType>& b) {
  return DotExp<A, B, false, false, DType>(a.self(), b.self(), DType(1.0f));
}
template <class A, class B, class DType>
DotExp<A, B, true, false, DType> dot(const TransposeExp<A, DType>& a, const RValueExp<B, DType>& b) {
  return DotExp<A, B, true, false, DType>(a.exp, b.self(), DType(1.0f));
}
template <class A, class B, class DType>
DotExp<A, B, false, true, DType> dot(const RValueExp<A, DType>& a, const TransposeExp<B, DType>& b) {
  return DotExp<A, B, false, true, DType>(a.self(), b.exp, DType(1.0f));
}
template <class A, class B, class DType>
DotExp<A, B, true, true, DType> dot(const TransposeExp<A, DType>& a, const TransposeExp<B, DType>& b) {
  return DotExp<A, B, true, true, DType>(a.exp, b.exp, DType(1.0f));
}
template <bool ltrans, bool rtrans, class A, class B, class DType>
DotExp<A, B, ltrans, rtrans, DType> batch_dot(const RValueExp<A, DType>& a, const RValueExp<B, DType>& b) {
  return DotExp<A, B, ltrans, rtrans, DType>(a.self(), b.self(), DType(1.0f));
}

/// A reduction to a vector along one dimension, scaled.
template <class Src, class DType, class Reducer, int dimkeep>
struct ReduceTo1DExp : public Exp<ReduceTo1DExp<Src, DType, Reducer, dimkeep>, DType, type::kComplex> {
  Src src_;
  DType scale_;
  ReduceTo1DExp(const Src& src, DType scale) : src_(src), scale_(scale) {}
};
template <int dimkeep, class Src, class DType, int kind>
ReduceTo1DExp<real_t<Src>, DType, red::sum, dimkeep> sumall_except_dim(const Exp<Src, DType, kind>& e) {
  return ReduceTo1DExp<real_t<Src>, DType, red::sum, dimkeep>(Real<Src>::of(e.self()), DType(1.0f));
}
template <int dimkeep, class Reducer, class Src, class DType, int kind>
ReduceTo1DExp<real_t<Src>, DType, Reducer, dimkeep> reduce_except_dim(const Exp<Src, DType, kind>& e) {
  return ReduceTo1DExp<real_t<Src>, DType, Reducer, dimkeep>(Real<Src>::of(e.self()), DType(1.0f));
}

// Numbers times matrix products and reductions.
template <class A, class B, bool lt, bool rt, class DType>
DotExp<A, B, lt, rt, DType> operator*(const DotExp<A, B, lt, rt, DType>& e, DType scale) {
  return DotExp<A, B, lt, rt, DType>(e.lhs_, e.rhs_, e.scale_ * scale);
}
template <class A, class B, bool lt, bool rt, class DType>
DotExp<A, B, lt, rt, DType> operator*(DType scale, const DotExp<A, B, lt, rt, DType>& e) {
  return DotExp<A, B, lt, rt, DType>(e.lhs_, e.rhs_, e.scale_ * scale);
}
template <class Src, class DType, class Reducer, int dimkeep>
ReduceTo1DExp<Src, DType, Reducer, dimkeep> operator*(const ReduceTo1DExp<Src, DType, Reducer, dimkeep>& e,
                                                      DType scale) {
  return ReduceTo1DExp<Src, DType, Reducer, dimkeep>(e.src_, e.scale_ * scale);
}
template <class Src, class DType, class Reducer, int dimkeep>
ReduceTo1DExp<Src, DType, Reducer, dimkeep> operator*(DType scale,
                                                      const ReduceTo1DExp<Src, DType, Reducer, dimkeep>& e) {
  return ReduceTo1DExp<Src, DType, Reducer, dimkeep>(e.src_, e.scale_ * scale);
}

/// The base of expressions that know their shape: Src is what they are made from. SubType's elements come
/// from Plan<SubType, DType>.
template <class SubType, class Src, int dim, class DType>
struct MakeTensorExp : public Exp<MakeTensorExp<SubType, Src, dim, DType>, DType, type::kChainer> {
  static constexpr int kDim = dim;
  Shape<dim> shape_;
  const SubType& real_self() const { return *static_cast<const SubType*>(this); }
};

}  // namespace expr
}  // namespace mshadow
