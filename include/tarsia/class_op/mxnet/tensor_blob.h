// mxnet::TBlob: a tensor whose element type and number of dimensions are known when the op runs.
#pragma once

#include <algorithm>

#include <mxnet/base.h>

#if defined(TARSIA_INLINE_SOURCE) && defined(__clang__)
#pragma clang optimize off
#endif
namespace mxnet {

/// A view of memory that is contiguous. It owns nothing.
class TBlob {
 public:
  void* dptr_ = nullptr;
  TShape shape_;
  index_t stride_ = 0;
  int type_flag_ = mshadow::kFloat32;

  TBlob() {}
  template <class DType>
  TBlob(DType* dptr, const TShape& shape, int dev_mask, int dev_id = -1)
      : dptr_(dptr),
        shape_(shape),
        type_flag_(mshadow::DataType<DType>::kFlag),
        dev_mask_(dev_mask),
        m_dev_id(dev_id) {
    set_stride();
  }
  TBlob(void* dptr, const TShape& shape, int dev_mask, int type_flag, int dev_id = -1)
      : dptr_(dptr), shape_(shape), type_flag_(type_flag), dev_mask_(dev_mask), m_dev_id(dev_id) {
    set_stride();
  }
  template <class Device, int dim, class DType>
  TBlob(const mshadow::Tensor<Device, dim, DType>& t)
      : dptr_(t.dptr_),
        shape_(t.shape_),
        type_flag_(mshadow::DataType<DType>::kFlag),
        dev_mask_(Device::kDevMask) {
    set_stride();
  }

  index_t size(index_t i) const { return static_cast<index_t>(shape_[i]); }
  size_t Size() const { return shape_.Size(); }
  int ndim() const { return static_cast<int>(shape_.ndim()); }
  int dev_mask() const { return dev_mask_; }
  int dev_id() const { return m_dev_id; }
  bool CheckContiguous() const { return true; }

  /// The first element. Throws if the elements have another type.
  template <class DType>
  DType* dptr() const {
    CHECK(static_cast<int>(mshadow::DataType<DType>::kFlag) == type_flag_)
        << "TBlob.get_with_shape: data type do not match specified type. Expected: "
        << mshadow::dtype_string(type_flag_) << " v.s. given "
        << mshadow::dtype_string(mshadow::DataType<DType>::kFlag);
    return static_cast<DType*>(dptr_);
  }
  template <class Device, int dim, class DType>
  mshadow::Tensor<Device, dim, DType> get(mshadow::Stream<Device>* stream = nullptr) const {
    check_device<Device>();
    return mshadow::Tensor<Device, dim, DType>(dptr<DType>(), shape_.get<dim>(), stream);
  }
  /// The elements as a tensor of another shape.
  template <class Device, int dim, class DType>
  mshadow::Tensor<Device, dim, DType> get_with_shape(const mshadow::Shape<dim>& shape,
                                                     mshadow::Stream<Device>* stream = nullptr) const {
    check_device<Device>();
    CHECK_EQ(shape_.Size(), shape.Size())
        << "TBlob.get_with_shape: new and old shape do not match total elements";
    return mshadow::Tensor<Device, dim, DType>(dptr<DType>(), shape, shape[dim - 1], stream);
  }
  template <class Device, class DType>
  mshadow::Tensor<Device, 1, DType> FlatTo1D(mshadow::Stream<Device>* stream = nullptr) const {
    return get_with_shape<Device, 1, DType>(mshadow::Shape1(static_cast<index_t>(shape_.Size())), stream);
  }
  template <class Device, class DType>
  mshadow::Tensor<Device, 2, DType> FlatTo2D(mshadow::Stream<Device>* stream = nullptr) const {
    return get_with_shape<Device, 2, DType>(shape_.FlatTo2D(), stream);
  }
  template <class Device, class DType>
  mshadow::Tensor<Device, 3, DType> FlatTo3D(int axis, mshadow::Stream<Device>* stream = nullptr) const {
    return get_with_shape<Device, 3, DType>(shape_.FlatTo3D(static_cast<size_t>(axis)), stream);
  }
  template <class Device, class DType>
  mshadow::Tensor<Device, 3, DType> FlatTo3D(int axis_begin, int axis_end,
                                             mshadow::Stream<Device>* stream = nullptr) const {
    return get_with_shape<Device, 3, DType>(
        shape_.FlatTo3D(static_cast<size_t>(axis_begin), static_cast<size_t>(axis_end)), stream);
  }
  /// The elements in `dim` dimensions: of more than there are, the leading ones have one element; of fewer,
  /// the first one joins the leading ones of the shape.
  template <class Device, int dim, class DType>
  mshadow::Tensor<Device, dim, DType> FlatToKD(mshadow::Stream<Device>* stream = nullptr) const {
    mshadow::Shape<dim> s;
    for (int i = 0; i < dim; ++i) s[i] = 1;
    for (int i = 0; i < ndim(); ++i)
      s[std::max(0, i + dim - ndim())] *= static_cast<index_t>(shape_[static_cast<size_t>(i)]);
    return get_with_shape<Device, dim, DType>(s, stream);
  }
  TBlob reshape(const TShape& shape) const {
    CHECK_EQ(shape_.Size(), shape.Size()) << "Shape size mismatch " << shape_ << " v.s. " << shape;
    TBlob other(*this);
    other.shape_ = shape;
    other.set_stride();
    return other;
  }

  int dev_mask_ = cpu::kDevMask;

 private:
  void set_stride() { stride_ = shape_.ndim() ? static_cast<index_t>(shape_[shape_.ndim() - 1]) : 0; }
  template <class Device>
  void check_device() const {
    CHECK(static_cast<int>(Device::kDevMask) == dev_mask_)
        << "TBlob.get: device type do not match specified type";
  }
  int m_dev_id = -1;
};

}  // namespace mxnet
#if defined(TARSIA_INLINE_SOURCE) && defined(__clang__)
#pragma clang optimize on
#endif
