// Tensors of mshadow and MXNet's blobs in the functions and lazy expressions of <tarsia/math.h>. A class
// operator writes with them:
//
//   namespace math = tarsia::math;
//   math::assign(math::view(out_data[0]), math::F<mshadow_op::relu>(math::view(in_data[0])) * 0.5,
//   math::On(),
//                math::request_of(req[0]));
#pragma once

#include <mxnet/operator.h>

#include <tarsia/math.h>

#if !defined(__CUDACC_RTC__)

#include <tarsia/detail/macros_push.h>

namespace tarsia {
namespace math {

/// A tensor of mshadow's, or a blob, as a tensor of Tarsia's. It owns nothing: the elements, and the blob,
/// have to be there as long as it is. It cannot be copied; make another.
class Borrowed : public Tensor {
 public:
  /// All elements of a blob, in its shape. It is no tensor if the blob has no memory, as an output whose
  /// request is null, or what DeclareBackwardDependency does not name: asking for its elements throws
  /// ValueError.
  explicit Borrowed(const ::mxnet::TBlob& blob_)
      : Tensor(blob_.dptr_ || !blob_.Size() ? &m_view : nullptr), m_view() {
    refer(blob_.dptr_, blob_.dev_mask(), blob_.dev_id(), blob_.type_flag_, blob_.ndim());
    m_view.shape = const_cast<int64_t*>(blob_.shape_.data());
  }
  /// The elements of a tensor, whose rows may lie apart. It is no tensor if that has no memory.
  template <class Device_, int dim_, class T_>
  explicit Borrowed(const ::mshadow::Tensor<Device_, dim_, T_>& tensor_)
      : Tensor(tensor_.dptr_ || !tensor_.shape_.Size() ? &m_view : nullptr), m_view() {
    static_assert(dim_ <= k_most, "tarsia: a tensor has at most 8 dimensions here");
    refer(const_cast<typename std::remove_const<T_>::type*>(tensor_.dptr_), Device_::kDevMask,
          device_of(tensor_.stream_), ::mshadow::DataType<typename std::remove_const<T_>::type>::kFlag, dim_);
    m_view.shape = m_shape;
    m_view.strides = m_strides;
    int64_t step_ = 1;
    for (int i_ = dim_ - 1; i_ >= 0; --i_) {
      m_shape[i_] = static_cast<int64_t>(tensor_.shape_[i_]);
      m_strides[i_] = step_;
      step_ *= i_ == dim_ - 1 && dim_ > 1 ? static_cast<int64_t>(tensor_.stride_) : m_shape[i_];
    }
  }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;

 private:
  enum { k_most = 8 };

  void refer(void* data_, int mask_, int id_, int type_flag_, int ndim_) {
    m_view.data = data_;
    m_view.device.type = mask_ == ::mshadow::gpu::kDevMask ? TARSIA_GPU : TARSIA_CPU;
    m_view.device.id = id_ > 0 ? id_ : 0;
    m_view.ndim = ndim_;
    m_view.dtype = ::mshadow::tarsia_detail::dtype_of(type_flag_);
  }
  static int device_of(const ::mshadow::Stream<::mshadow::gpu>* stream_) {
    return stream_ ? stream_->device_ : 0;
  }
  static int device_of(const ::mshadow::Stream<::mshadow::cpu>*) { return 0; }

  tarsia_tensor m_view;
  int64_t m_shape[k_most], m_strides[k_most];
};

/// A blob, for the functions and expressions of this statement.
inline Borrowed view(const ::mxnet::TBlob& blob_) {
  return Borrowed(blob_);
}
/// A tensor of mshadow's, likewise.
template <class Device_, int dim_, class T_>
Borrowed view(const ::mshadow::Tensor<Device_, dim_, T_>& tensor_) {
  return Borrowed(tensor_);
}

/// A write request of MXNet's.
inline Request request_of(::mxnet::OpReqType request_) {
  return static_cast<Request>(request_);
}

}  // namespace math
}  // namespace tarsia

#include <tarsia/detail/macros_pop.h>

#endif
