// Tensors that own memory, copies, and functions of whole tensors.
#pragma once

#include <mshadow/tensor.h>

namespace mshadow {

/// Copies elements between tensors of one shape, of any devices.
template <class To, class From, int dim, class DType>
void Copy(Tensor<To, dim, DType> to, const Tensor<From, dim, DType>& from, Stream<gpu>* stream = nullptr) {
  CHECK_EQ(to.shape_, from.shape_) << "Copy: the shapes differ";
#if MSHADOW_USE_CUDA
  const Shape<2> s = to.shape_.FlatTo2D();
  if (!s.Size()) return;
  const cudaError_t error =
      cudaMemcpy2DAsync(to.dptr_, to.stride_ * sizeof(DType), from.dptr_, from.stride_ * sizeof(DType),
                        s[1] * sizeof(DType), s[0], cudaMemcpyDefault, Stream<gpu>::GetStream(stream));
  if (error != cudaSuccess) LOG(FATAL) << "Copy: " << cudaGetErrorString(error);
#else
  LOG(FATAL) << "GPU is not enabled: the source that copies from or to a GPU is a CUDA source";
#endif
}
template <int dim, class DType>
void Copy(Tensor<cpu, dim, DType> to, const Tensor<cpu, dim, DType>& from, Stream<cpu>* = nullptr) {
  CHECK_EQ(to.shape_, from.shape_) << "Copy: the shapes differ";
  const Shape<2> s = to.shape_.FlatTo2D();
  for (index_t y = 0; y < s[0]; ++y)
    memcpy(static_cast<void*>(to.dptr_ + static_cast<size_t>(y) * to.stride_),
           from.dptr_ + static_cast<size_t>(y) * from.stride_, s[1] * sizeof(DType));
}

/// Gives a tensor memory. FreeSpace gives it back.
template <int dim, class DType>
void AllocSpace(Tensor<cpu, dim, DType>* t, bool = true) {
  t->stride_ = t->shape_[dim - 1];
  t->dptr_ = new DType[t->shape_.Size()];
}
template <int dim, class DType>
void FreeSpace(Tensor<cpu, dim, DType>* t) {
  delete[] t->dptr_;
  t->dptr_ = nullptr;
}
#if MSHADOW_USE_CUDA
template <int dim, class DType>
void AllocSpace(Tensor<gpu, dim, DType>* t, bool = true) {
  t->stride_ = t->shape_[dim - 1];
  void* memory = nullptr;
  const cudaError_t error = cudaMalloc(&memory, t->shape_.Size() * sizeof(DType));
  if (error != cudaSuccess) LOG(FATAL) << cudaGetErrorString(error);
  t->dptr_ = static_cast<DType*>(memory);
}
template <int dim, class DType>
void FreeSpace(Tensor<gpu, dim, DType>* t) {
  cudaFree(t->dptr_);
  t->dptr_ = nullptr;
}
#endif
template <class Device, class DType, int dim>
Tensor<Device, dim, DType> NewTensor(const Shape<dim>& shape, DType value, bool pad = true,
                                     Stream<Device>* stream = nullptr) {
  Tensor<Device, dim, DType> t(shape);
  t.stream_ = stream;
  AllocSpace(&t, pad);
  MapExp<sv::saveto>(&t, expr::ScalarExp<DType>(value));
  return t;
}

/// A tensor that owns its memory.
template <class Device, int dim, class DType = default_real_t>
class TensorContainer : public Tensor<Device, dim, DType> {
  typedef Tensor<Device, dim, DType> Base;

 public:
  explicit TensorContainer(bool = true) { this->shape_ = Shape<dim>(); }
  explicit TensorContainer(const Shape<dim>& shape) { allocate(shape); }
  TensorContainer(const Shape<dim>& shape, DType value) {
    allocate(shape);
    this->__assign(value);
  }
  TensorContainer(const TensorContainer& other) {
    allocate(other.shape_);
    Copy(static_cast<Base&>(*this), static_cast<const Base&>(other), this->stream_);
  }
  TensorContainer& operator=(const TensorContainer& other) {
    Resize(other.shape_);
    Copy(static_cast<Base&>(*this), static_cast<const Base&>(other), this->stream_);
    return *this;
  }
  ~TensorContainer() {
    if (this->dptr_) FreeSpace(static_cast<Base*>(this));
  }
  void Resize(const Shape<dim>& shape) {
    if (this->dptr_ && this->shape_ == shape) return;
    if (this->dptr_) FreeSpace(static_cast<Base*>(this));
    allocate(shape);
  }
  void Resize(const Shape<dim>& shape, DType value) {
    Resize(shape);
    this->__assign(value);
  }
  void Release() {
    if (this->dptr_) FreeSpace(static_cast<Base*>(this));
    this->shape_ = Shape<dim>();
  }
  TensorContainer& operator=(DType s) {
    this->__assign(s);
    return *this;
  }
  template <class E, int kind>
  TensorContainer& operator=(const expr::Exp<E, DType, kind>& e) {
    this->__assign(e);
    return *this;
  }

 private:
  void allocate(const Shape<dim>& shape) {
    this->shape_ = shape;
    AllocSpace(static_cast<Base*>(this));
  }
};

}  // namespace mshadow
