// Softmax of rows, and of the channels of images; and its gradient under a cross entropy. Device code sees
// this file, too.
#pragma once

#include <mshadow/expr_engine.h>

namespace mshadow {
namespace expr {

/// A tensor less `at` where the label says so, and less `elsewhere` in the other places; 0 where the label is
/// to be ignored.
template <class DType, int dim>
struct SoftmaxGradExp;
template <class DType, int dim>
class Plan<SoftmaxGradExp<DType, dim>, DType> {
 public:
  Plan(const DType* src, index_t stride, const DType* label, index_t label_stride, index_t classes,
       bool ignores, DType ignored, DType at, DType elsewhere)
      : src_(src),
        label_(label),
        stride_(stride),
        label_stride_(label_stride),
        classes_(classes),
        ignores_(ignores),
        ignored_(ignored),
        at_(at),
        elsewhere_(elsewhere) {}
  MSHADOW_XINLINE DType Eval(index_t y, index_t x) const {
    const DType label = dim == 2 ? label_[y] : label_[static_cast<size_t>(y / classes_) * label_stride_ + x];
    if (ignores_ && label == ignored_) return DType(0.0f);
    const DType value = src_[static_cast<size_t>(y) * stride_ + x];
    return DType(value - (static_cast<int>(label) == static_cast<int>(dim == 2 ? x : y % classes_)
                              ? at_
                              : elsewhere_));
  }

 private:
  const DType *src_, *label_;
  index_t stride_, label_stride_, classes_;
  bool ignores_;
  DType ignored_, at_, elsewhere_;
};
}  // namespace expr

namespace tarsia_detail {
/// Where elements are whose softmax is taken: `inner` rows of them lie side by side.
struct SoftmaxRows {
  long inner, outer, step;
  MSHADOW_XINLINE long first(long row) const { return row / inner * outer + row % inner; }
};
}  // namespace tarsia_detail

#if defined(__CUDACC__) || defined(__CUDA__) || defined(__CUDACC_RTC__)
namespace cuda {
/// A block for each row.
template <class A, class DType>
__global__ void softmax_rows(DType* out, tarsia_detail::SoftmaxRows to, const DType* in,
                             tarsia_detail::SoftmaxRows from, long rows, long classes) {
  __shared__ A shared[kBaseThreadNum];
  for (long row = blockIdx.x; row < rows; row += gridDim.x) {
    const DType* x = in + from.first(row);
    DType* y = out + to.first(row);
    A top;
    red::maximum::SetInitValue(top);
    for (long c = threadIdx.x; c < classes; c += blockDim.x)
      red::maximum::Reduce(top, static_cast<A>(x[c * from.step]));
    top = reduce_block<red::maximum>(top, shared);
    __syncthreads();
    A sum = A(0);
    for (long c = threadIdx.x; c < classes; c += blockDim.x)
      sum += A(::exp(static_cast<A>(x[c * from.step]) - top));
    sum = reduce_block<red::sum>(sum, shared);
    for (long c = threadIdx.x; c < classes; c += blockDim.x)
      y[c * to.step] = DType(A(::exp(static_cast<A>(x[c * from.step]) - top)) / sum);
    __syncthreads();
  }
}
}  // namespace cuda
#endif

namespace tarsia_detail {
template <class DType>
void softmax(Stream<cpu>*, DType* out, SoftmaxRows to, const DType* in, SoftmaxRows from, size_t rows,
             long classes) {
  typedef typename accumulated<DType>::type A;
  in_parts(rows, classes ? k_grain / static_cast<size_t>(classes) + 1 : rows, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      const DType* x = in + from.first(static_cast<long>(row));
      DType* y = out + to.first(static_cast<long>(row));
      A top, sum = A(0);
      red::maximum::SetInitValue(top);
      for (long c = 0; c < classes; ++c) red::maximum::Reduce(top, static_cast<A>(x[c * from.step]));
      for (long c = 0; c < classes; ++c) {
        const A e = A(std::exp(static_cast<A>(x[c * from.step]) - top));
        y[c * to.step] = DType(e);
        sum += e;
      }
      for (long c = 0; c < classes; ++c) y[c * to.step] = DType(static_cast<A>(y[c * to.step]) / sum);
    }
  });
}
#if MSHADOW_USE_CUDA
template <class DType>
void softmax(Stream<gpu>* stream, DType* out, SoftmaxRows to, const DType* in, SoftmaxRows from, size_t rows,
             long classes) {
  if (!rows || !classes) return;
  cuda::softmax_rows<typename accumulated<DType>::type, DType>
      <<<blocks_for(rows * cuda::kBaseThreadNum), cuda::kBaseThreadNum, 0, Stream<gpu>::GetStream(stream)>>>(
          out, to, in, from, static_cast<long>(rows), classes);
  check_launch();
}
#endif
template <class Device, int dim, class DType>
SoftmaxRows rows_of(const Tensor<Device, dim, DType>& t) {
  const long stride = t.stride_;
  return dim == 2 ? SoftmaxRows{1, stride, 1} : SoftmaxRows{t.size(dim - 1), t.size(1) * stride, stride};
}
}  // namespace tarsia_detail

/// Along the last of two dimensions, or the second of three.
template <class Device, int dim, class DType>
void Softmax(Tensor<Device, dim, DType> dst, const Tensor<Device, dim, DType>& in) {
  static_assert(dim == 2 || dim == 3, "mshadow: Softmax takes two or three dimensions");
  CHECK_EQ(dst.shape_, in.shape_) << "Softmax: shape mismatch";
  tarsia_detail::softmax(
      dst.stream_, dst.dptr_, tarsia_detail::rows_of(dst), in.dptr_, tarsia_detail::rows_of(in),
      static_cast<size_t>(in.size(0)) * in.shape_.ProdShape(2, dim), static_cast<long>(in.size(1)));
}

namespace tarsia_detail {
template <class Device, int dim, int label_dim, class DType>
void softmax_grad(Tensor<Device, dim, DType>& dst, const Tensor<Device, dim, DType>& src,
                  const Tensor<Device, label_dim, DType>& label, const DType* ignored, float alpha) {
  static_assert((dim == 2 || dim == 3) && label_dim == dim - 1,
                "mshadow: SoftmaxGrad takes two or three dimensions, and labels without that of the classes");
  CHECK_EQ(dst.shape_, src.shape_) << "SoftmaxGrad: shape mismatch";
  CHECK(label.size(0) == src.size(0) && (dim == 2 || label.size(1) == src.size(2)))
      << "SoftmaxGrad: labels of " << label.shape_ << " for " << src.shape_;
  const index_t classes = src.size(1);
  const double elsewhere = classes > 1 ? static_cast<double>(alpha) / (classes - 1) : 0;
  map<sv::saveto>(dst.stream_, expr::MakePlan(dst),
                  expr::Plan<expr::SoftmaxGradExp<DType, dim>, DType>(
                      src.dptr_, src.stride_, label.dptr_, label.stride_, classes, ignored != nullptr,
                      ignored ? *ignored : DType(0.0f), DType(1.0f - alpha), DType(elsewhere)),
                  dst.shape_.FlatTo2D());
}
}  // namespace tarsia_detail

/// The softmax less 1 at each label; 0 for rows whose label is `ignore_label`.
template <class Device, int dim, int label_dim, class DType>
void SoftmaxGrad(Tensor<Device, dim, DType> dst, const Tensor<Device, dim, DType>& src,
                 const Tensor<Device, label_dim, DType>& label) {
  tarsia_detail::softmax_grad(dst, src, label, static_cast<const DType*>(nullptr), 0);
}
template <class Device, int dim, int label_dim, class DType>
void SoftmaxGrad(Tensor<Device, dim, DType> dst, const Tensor<Device, dim, DType>& src,
                 const Tensor<Device, label_dim, DType>& label, const DType& ignore_label) {
  tarsia_detail::softmax_grad(dst, src, label, &ignore_label, 0);
}

/// The same for labels that are smoothed: `alpha` of each row's weight is shared by the other classes.
template <class Device, int dim, int label_dim, class DType>
void SmoothSoftmaxGrad(Tensor<Device, dim, DType> dst, const Tensor<Device, dim, DType>& src,
                       const Tensor<Device, label_dim, DType>& label, const float alpha) {
  tarsia_detail::softmax_grad(dst, src, label, static_cast<const DType*>(nullptr), alpha);
}
template <class Device, int dim, int label_dim, class DType>
void SmoothSoftmaxGrad(Tensor<Device, dim, DType> dst, const Tensor<Device, dim, DType>& src,
                       const Tensor<Device, label_dim, DType>& label, const DType& ignore_label,
                       const float alpha) {
  tarsia_detail::softmax_grad(dst, src, label, &ignore_label, alpha);
}

}  // namespace mshadow
