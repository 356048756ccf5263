// Softmax of rows, and of the channels of images; and its gradient under a cross entropy. Device code sees
// this file, too.
#pragma once

#include <mshadow/expr_engine.h>

namespace mshadow {
namespace expr {

/// A tensor less 1 where the label says so; 0 where the label is to be ignored.
template <class DType, int dim>
struct SoftmaxGradExp;
template <class DType, int dim>
class Plan<SoftmaxGradExp<DType, dim>, DType> {
 public:
  Plan(const DType* src, const DType* label, index_t stride, index_t classes, bool ignores, DType ignored)
      : src_(src), label_(label), stride_(stride), classes_(classes), ignores_(ignores), ignored_(ignored) {}
  MSHADOW_XINLINE DType Eval(index_t y, index_t x) const {
    const DType label = dim == 2 ? label_[y] : label_[static_cast<size_t>(y / classes_) * stride_ + x];
    if (ignores_ && label == ignored_) return DType(0.0f);
    const DType value = src_[static_cast<size_t>(y) * stride_ + x];
    return static_cast<int>(label) == static_cast<int>(dim == 2 ? x : y % classes_)
               ? DType(value - DType(1.0f))
               : value;
  }

 private:
  const DType *src_, *label_;
  index_t stride_, classes_;
  bool ignores_;
  DType ignored_;
};
}  // namespace expr

#if defined(__CUDACC__) || defined(__CUDA__) || defined(__CUDACC_RTC__)
namespace cuda {
/// A block for each row. Elements of a row are `inner` apart.
template <class A, class DType>
__global__ void softmax_rows(DType* out, const DType* in, long rows, long classes, long inner) {
  __shared__ A shared[kBaseThreadNum];
  for (long row = blockIdx.x; row < rows; row += gridDim.x) {
    const long base = row / inner * classes * inner + row % inner;
    A top;
    red::maximum::SetInitValue(top);
    for (long c = threadIdx.x; c < classes; c += blockDim.x)
      red::maximum::Reduce(top, static_cast<A>(in[base + c * inner]));
    top = reduce_block<red::maximum>(top, shared);
    __syncthreads();
    A sum = A(0);
    for (long c = threadIdx.x; c < classes; c += blockDim.x)
      sum += A(::exp(static_cast<A>(in[base + c * inner]) - top));
    sum = reduce_block<red::sum>(sum, shared);
    for (long c = threadIdx.x; c < classes; c += blockDim.x)
      out[base + c * inner] = DType(A(::exp(static_cast<A>(in[base + c * inner]) - top)) / sum);
    __syncthreads();
  }
}
}  // namespace cuda
#endif

namespace tarsia_detail {
template <class DType>
void softmax(Stream<cpu>*, DType* out, const DType* in, size_t rows, size_t classes, size_t inner) {
  typedef typename accumulated<DType>::type A;
  in_parts(rows, classes ? k_grain / classes + 1 : rows, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      const size_t base = row / inner * classes * inner + row % inner;
      A top, sum = A(0);
      red::maximum::SetInitValue(top);
      for (size_t c = 0; c < classes; ++c) red::maximum::Reduce(top, static_cast<A>(in[base + c * inner]));
      for (size_t c = 0; c < classes; ++c) {
        const A e = A(std::exp(static_cast<A>(in[base + c * inner]) - top));
        out[base + c * inner] = DType(e);
        sum += e;
      }
      for (size_t c = 0; c < classes; ++c)
        out[base + c * inner] = DType(static_cast<A>(out[base + c * inner]) / sum);
    }
  });
}
#if MSHADOW_USE_CUDA
template <class DType>
void softmax(Stream<gpu>* stream, DType* out, const DType* in, size_t rows, size_t classes, size_t inner) {
  if (!rows || !classes) return;
  cuda::softmax_rows<typename accumulated<DType>::type, DType>
      <<<blocks_for(rows * cuda::kBaseThreadNum), cuda::kBaseThreadNum, 0, Stream<gpu>::GetStream(stream)>>>(
          out, in, static_cast<long>(rows), static_cast<long>(classes), static_cast<long>(inner));
  check_launch();
}
#endif
}  // namespace tarsia_detail

/// Along the last of two dimensions, or the second of three.
template <class Device, class DType>
void Softmax(Tensor<Device, 2, DType> dst, const Tensor<Device, 2, DType>& in) {
  CHECK_EQ(dst.shape_, in.shape_) << "Softmax: shape mismatch";
  tarsia_detail::softmax(dst.stream_, dst.dptr_, in.dptr_, in.size(0), in.size(1), 1);
}
template <class Device, class DType>
void Softmax(Tensor<Device, 3, DType> dst, const Tensor<Device, 3, DType>& in) {
  CHECK_EQ(dst.shape_, in.shape_) << "Softmax: shape mismatch";
  tarsia_detail::softmax(dst.stream_, dst.dptr_, in.dptr_, static_cast<size_t>(in.size(0)) * in.size(2),
                         in.size(1), in.size(2));
}

namespace tarsia_detail {
template <class Device, int dim, class DType>
void softmax_grad(Tensor<Device, dim, DType>& dst, const Tensor<Device, dim, DType>& src, const DType* label,
                  bool ignores, DType ignored) {
  CHECK_EQ(dst.shape_, src.shape_) << "SoftmaxGrad: shape mismatch";
  const index_t classes = src.size(1);
  map<sv::saveto>(dst.stream_, expr::MakePlan(dst),
                  expr::Plan<expr::SoftmaxGradExp<DType, dim>, DType>(src.dptr_, label, src.stride_, classes,
                                                                      ignores, ignored),
                  dst.shape_.FlatTo2D());
}
}  // namespace tarsia_detail

/// The softmax less 1 at each label; 0 for rows whose label is `ignore_label`.
template <class Device, class DType>
void SoftmaxGrad(Tensor<Device, 2, DType> dst, const Tensor<Device, 2, DType>& src,
                 const Tensor<Device, 1, DType>& label) {
  tarsia_detail::softmax_grad(dst, src, label.dptr_, false, DType(0.0f));
}
template <class Device, class DType>
void SoftmaxGrad(Tensor<Device, 2, DType> dst, const Tensor<Device, 2, DType>& src,
                 const Tensor<Device, 1, DType>& label, const DType& ignore_label) {
  tarsia_detail::softmax_grad(dst, src, label.dptr_, true, ignore_label);
}
template <class Device, class DType>
void SoftmaxGrad(Tensor<Device, 3, DType> dst, const Tensor<Device, 3, DType>& src,
                 const Tensor<Device, 2, DType>& label) {
  tarsia_detail::softmax_grad(dst, src, label.dptr_, false, DType(0.0f));
}
template <class Device, class DType>
void SoftmaxGrad(Tensor<Device, 3, DType> dst, const Tensor<Device, 3, DType>& src,
                 const Tensor<Device, 2, DType>& label, const DType& ignore_label) {
  tarsia_detail::softmax_grad(dst, src, label.dptr_, true, ignore_label);
}

}  // namespace mshadow
