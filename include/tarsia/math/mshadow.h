// Tensors of mshadow and MXNet's blobs in the functions and lazy expressions of <tarsia/math.h>. In a class
// operator:
//
//   namespace math = tarsia::math;
//   math::assign(math::view(out_data[0]), math::F<mshadow_op::relu>(math::view(in_data[0])) * 0.5,
//                math::On(), math::request_of(req[0]));
#pragma once

#include <mxnet/operator.h>

#include <tarsia/math.h>

#if !defined(__CUDACC_RTC__)

#include <tarsia/detail/macros_push.h>

namespace tarsia {
namespace math {

namespace detail {

/// A view that a Tensor keeps. The elements are somebody else's.
struct KeptView {
  tarsia_storage storage;  // first: its address is what tensors hold
  View view;

  static void release(tarsia_storage* storage_) { delete reinterpret_cast<KeptView*>(storage_); }
};

/// A tensor of borrowed elements whose rows are `row_` elements apart. No tensor if there is no memory.
template <class Extents_>
Tensor borrowed(const void* data_, int mask_, int id_, int type_flag_, const Extents_& extents_, int ndim_,
                int64_t row_) {
  if (ndim_ > TARSIA_MAX_NDIM)
    throw ValueError(Message("math::view: a tensor has ")
                     << ndim_ << " dimensions, and at most " << TARSIA_MAX_NDIM << " will do");
  KeptView* const kept_ = new KeptView();
  View& view_ = kept_->view;
  kept_->storage = {&view_.tensor, 1, 0, nullptr, &KeptView::release};
  Tensor made_ = Tensor::own(&kept_->storage);
  int64_t step_ = 1, size_ = 1;
  for (int i_ = ndim_ - 1; i_ >= 0; --i_) {
    view_.shape[i_] = static_cast<int64_t>(extents_[static_cast<unsigned>(i_)]);
    view_.strides[i_] = step_;
    step_ *= i_ == ndim_ - 1 ? row_ : view_.shape[i_];
    size_ *= view_.shape[i_];
  }
  const bool on_gpu_ = mask_ == ::mshadow::gpu::kDevMask;
  view_.tensor = {const_cast<void*>(data_),
                  {on_gpu_ ? TARSIA_GPU : TARSIA_CPU, id_ > 0 ? id_ : 0},
                  ndim_,
                  ::mshadow::tarsia_detail::dtype_of(type_flag_),
                  view_.shape,
                  view_.strides,
                  0};
  return data_ || !size_ ? made_ : Tensor();
}

inline int device_of(const ::mshadow::Stream<::mshadow::gpu>* stream_) {
  return stream_ ? stream_->device_ : 0;
}
inline int device_of(const ::mshadow::Stream<::mshadow::cpu>*) {
  return 0;
}

}  // namespace detail

/// A blob as a tensor, which borrows the blob's elements: it must not outlive them. It is no tensor if the
/// blob has no memory, as an output whose request is null, or what DeclareBackwardDependency does not name:
/// asking for its elements throws ValueError.
inline Tensor view(const ::mxnet::TBlob& blob_) {
  const int ndim_ = blob_.ndim();
  return detail::borrowed(blob_.dptr_, blob_.dev_mask(), blob_.dev_id(), blob_.type_flag_, blob_.shape_,
                          ndim_,
                          ndim_ ? static_cast<int64_t>(blob_.shape_[static_cast<size_t>(ndim_ - 1)]) : 1);
}
/// A tensor of mshadow's, whose rows may lie apart, likewise.
template <class Device_, int dim_, class T_>
Tensor view(const ::mshadow::Tensor<Device_, dim_, T_>& tensor_) {
  return detail::borrowed(tensor_.dptr_, Device_::kDevMask, detail::device_of(tensor_.stream_),
                          ::mshadow::DataType<typename std::remove_const<T_>::type>::kFlag,
                          tensor_.shape_.shape_, dim_, static_cast<int64_t>(tensor_.stride_));
}

/// A write request of MXNet's.
inline Request request_of(::mxnet::OpReqType request_) {
  return static_cast<Request>(request_);
}

}  // namespace math
}  // namespace tarsia

#include <tarsia/detail/macros_pop.h>

#endif
