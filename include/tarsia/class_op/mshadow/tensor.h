// mshadow: tensors whose number of dimensions is known to the compiler, and lazy expressions of them. On the
// GPU, the assignment of an expression is one kernel.
#pragma once

#include <mshadow/base.h>
#include <mshadow/plan.h>
#include <mshadow/shape.h>

#include <mshadow/expression.h>
#include <mshadow/stream.h>

namespace mshadow {

/// The base of tensors and of parts of them that may be assigned to.
template <class Container, class Device, int dimension, class DType>
struct TRValue : public expr::RValueExp<Container, DType> {};

/// A view of memory: it owns nothing, and copies of it share the elements. Rows are stride_ elements apart.
template <class Device, int dimension, class DType = default_real_t>
struct Tensor : public TRValue<Tensor<Device, dimension, DType>, Device, dimension, DType> {
  static constexpr bool kDevCPU = Device::kDevCPU;
  static constexpr int kSubdim = dimension - 1;

  DType* dptr_ = nullptr;
  Shape<dimension> shape_;
  index_t stride_ = 0;
  Stream<Device>* stream_ = nullptr;

  MSHADOW_XINLINE Tensor() {}
  MSHADOW_XINLINE explicit Tensor(const Shape<dimension>& shape) : shape_(shape) {}
  MSHADOW_XINLINE Tensor(DType* dptr, const Shape<dimension>& shape)
      : dptr_(dptr), shape_(shape), stride_(shape[kSubdim]) {}
  MSHADOW_XINLINE Tensor(DType* dptr, const Shape<dimension>& shape, Stream<Device>* stream)
      : dptr_(dptr), shape_(shape), stride_(shape[kSubdim]), stream_(stream) {}
  MSHADOW_XINLINE Tensor(DType* dptr, const Shape<dimension>& shape, index_t stride, Stream<Device>* stream)
      : dptr_(dptr), shape_(shape), stride_(stride), stream_(stream) {}
  Tensor(const Tensor&) = default;
  /// Refers to the other tensor's memory: no element is copied.
  Tensor& operator=(const Tensor&) = default;
  template <class E, int kind>
  Tensor& operator=(const expr::Exp<E, DType, kind>& e) {
    return this->__assign(e);
  }
  Tensor& operator=(const DType& s) { return this->__assign(s); }

  MSHADOW_XINLINE void set_stream(Stream<Device>* stream) { stream_ = stream; }
  MSHADOW_XINLINE index_t size(index_t i) const { return shape_[i]; }
  template <int startdim>
  MSHADOW_XINLINE size_t MemSize() const {
    size_t n = stride_;
    for (int i = startdim; i < kSubdim; ++i) n *= shape_[i];
    return n;
  }
  /// The elements between the first and the end of the last row.
  MSHADOW_XINLINE size_t MSize() const { return MemSize<0>(); }
  MSHADOW_XINLINE bool CheckContiguous() const { return shape_[kSubdim] == stride_; }
  MSHADOW_XINLINE Tensor<Device, 2, DType> FlatTo2D() const {
    return Tensor<Device, 2, DType>(dptr_, shape_.FlatTo2D(), stride_, stream_);
  }
  MSHADOW_XINLINE Tensor<Device, 1, DType> FlatTo1D() const {
    return Tensor<Device, 1, DType>(dptr_, shape_.FlatTo1D(), stride_, stream_);
  }
  MSHADOW_XINLINE Tensor<Device, kSubdim, DType> operator[](index_t i) const {
    return Tensor<Device, kSubdim, DType>(dptr_ + MemSize<1>() * i, shape_.SubShape(), stride_, stream_);
  }
  /// The part from `begin` to `end` of the first dimension.
  MSHADOW_XINLINE Tensor Slice(index_t begin, index_t end) const {
    Shape<dimension> s = shape_;
    s[0] = end - begin;
    return Tensor(dptr_ + MemSize<1>() * begin, s, stride_, stream_);
  }
  expr::TransposeExp<Tensor, DType> T() const { return expr::TransposeExp<Tensor, DType>(*this); }
};

template <class Device, class DType>
struct Tensor<Device, 1, DType> : public TRValue<Tensor<Device, 1, DType>, Device, 1, DType> {
  static constexpr bool kDevCPU = Device::kDevCPU;

  DType* dptr_ = nullptr;
  Shape<1> shape_;
  index_t stride_ = 0;
  Stream<Device>* stream_ = nullptr;

  MSHADOW_XINLINE Tensor() {}
  MSHADOW_XINLINE explicit Tensor(const Shape<1>& shape) : shape_(shape) {}
  MSHADOW_XINLINE Tensor(DType* dptr, const Shape<1>& shape)
      : dptr_(dptr), shape_(shape), stride_(shape[0]) {}
  MSHADOW_XINLINE Tensor(DType* dptr, const Shape<1>& shape, Stream<Device>* stream)
      : dptr_(dptr), shape_(shape), stride_(shape[0]), stream_(stream) {}
  MSHADOW_XINLINE Tensor(DType* dptr, const Shape<1>& shape, index_t stride, Stream<Device>* stream)
      : dptr_(dptr), shape_(shape), stride_(stride), stream_(stream) {}
  Tensor(const Tensor&) = default;
  /// Refers to the other tensor's memory: no element is copied.
  Tensor& operator=(const Tensor&) = default;
  template <class E, int kind>
  Tensor& operator=(const expr::Exp<E, DType, kind>& e) {
    return this->__assign(e);
  }
  Tensor& operator=(const DType& s) { return this->__assign(s); }

  MSHADOW_XINLINE void set_stream(Stream<Device>* stream) { stream_ = stream; }
  MSHADOW_XINLINE index_t size(index_t) const { return shape_[0]; }
  MSHADOW_XINLINE size_t MSize() const { return shape_[0]; }
  MSHADOW_XINLINE bool CheckContiguous() const { return true; }
  MSHADOW_XINLINE Tensor FlatTo1D() const { return *this; }
  MSHADOW_XINLINE Tensor<Device, 2, DType> FlatTo2D() const {
    return Tensor<Device, 2, DType>(dptr_, shape_.FlatTo2D(), stride_, stream_);
  }
  MSHADOW_XINLINE Tensor Slice(index_t begin, index_t end) const {
    return Tensor(dptr_ + begin, Shape1(end - begin), end - begin, stream_);
  }
  MSHADOW_XINLINE DType& operator[](index_t i) { return dptr_[i]; }
  MSHADOW_XINLINE const DType& operator[](index_t i) const { return dptr_[i]; }
  expr::TransposeExp<Tensor, DType> T() const { return expr::TransposeExp<Tensor, DType>(*this); }
};

}  // namespace mshadow

#include <mshadow/dot_engine.h>
#include <mshadow/expr_engine.h>
#include <mshadow/extension.h>
#include <mshadow/index_ops.h>
#include <mshadow/memory.h>
#include <mshadow/random.h>
#include <mshadow/softmax.h>
