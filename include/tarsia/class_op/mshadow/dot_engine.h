// Products of matrices, of vectors and matrices, and of batches of matrices.
#pragma once

#include <mshadow/expr_engine.h>

namespace mshadow {
namespace tarsia_detail {

/// Matrices of m by k and k by n, one of each of a batch; the rows of each are `ld` elements apart.
struct Product {
  long m, n, k, lda, ldb, ldc;
  long batch = 1, step_a = 0, step_b = 0, step_c = 0;
};

/// out = alpha * lhs * rhs + beta * out. A row of `out` is computed at a time, from rows of `rhs` if that is
/// not transposed, so that the innermost loop runs along memory.
template <bool ltrans, bool rtrans, class DType>
void multiply(Stream<cpu>*, const DType* lhs, const DType* rhs, DType* out, const Product& p, DType alpha,
              DType beta) {
  typedef typename accumulated<DType>::type A;
  const size_t each = static_cast<size_t>(p.n) * static_cast<size_t>(p.k);
  in_parts(static_cast<size_t>(p.m * p.batch), each ? k_grain / each + 1 : 1, [&](size_t begin, size_t end) {
    enum { k_width = 256 };
    A sums[k_width];
    for (size_t at = begin; at < end; ++at) {
      const long b = static_cast<long>(at) / p.m, i = static_cast<long>(at) % p.m;
      const DType *left = lhs + b * p.step_a, *right = rhs + b * p.step_b;
      DType* to = out + b * p.step_c + i * p.ldc;
      for (long j0 = 0; j0 < p.n; j0 += k_width) {
        const long width = p.n - j0 < k_width ? p.n - j0 : static_cast<long>(k_width);
        for (long j = 0; j < width; ++j) sums[j] = A(0);
        if (rtrans) {
          for (long j = 0; j < width; ++j) {
            const DType* row = right + (j0 + j) * p.ldb;
            A sum = A(0);
            for (long k = 0; k < p.k; ++k)
              sum +=
                  static_cast<A>(ltrans ? left[k * p.lda + i] : left[i * p.lda + k]) * static_cast<A>(row[k]);
            sums[j] = sum;
          }
        } else {
          for (long k = 0; k < p.k; ++k) {
            const A factor = static_cast<A>(ltrans ? left[k * p.lda + i] : left[i * p.lda + k]);
            const DType* row = right + k * p.ldb + j0;
            for (long j = 0; j < width; ++j) sums[j] += factor * static_cast<A>(row[j]);
          }
        }
        for (long j = 0; j < width; ++j)
          to[j0 + j] =
              static_cast<DType>(beta == DType(0.0f) ? static_cast<A>(alpha) * sums[j]
                                                     : static_cast<A>(alpha) * sums[j] +
                                                           static_cast<A>(beta) * static_cast<A>(to[j0 + j]));
      }
    }
  });
}

#if MSHADOW_USE_CUDA
}  // namespace tarsia_detail
}  // namespace mshadow
#include <mshadow/cublas.h>
namespace mshadow {
namespace tarsia_detail {
template <bool ltrans, bool rtrans, class DType>
void multiply(Stream<gpu>* stream, const DType* lhs, const DType* rhs, DType* out, const Product& p,
              DType alpha, DType beta) {
  typedef typename accumulated<DType>::type A;
  if (!p.m || !p.n || !p.batch) return;
  if (p.k && cublas_multiply(Stream<gpu>::GetStream(stream), ltrans, rtrans, lhs, rhs, out, p, alpha, beta))
    return;
  const dim3 grid(static_cast<unsigned>((p.n + 15) / 16),
                  static_cast<unsigned>((p.m + 15) / 16 < 65535 ? (p.m + 15) / 16 : 65535),
                  static_cast<unsigned>(p.batch));
  CHECK_LE(p.batch, 65535) << "a batch of more than 65535 matrices";
  cuda::multiply_tiles<A, DType, ltrans, rtrans><<<grid, dim3(16, 16), 0, Stream<gpu>::GetStream(stream)>>>(
      lhs, rhs, out, p.m, p.n, p.k, p.lda, p.ldb, p.ldc, p.step_a, p.step_b, p.step_c, static_cast<A>(alpha),
      static_cast<A>(beta));
  check_launch();
}
#endif

}  // namespace tarsia_detail

namespace expr {

/// What an assignment does to the result of a product: out = alpha * product + beta * out.
template <class Saver, class DType>
struct ProductScale;
template <class DType>
struct ProductScale<sv::saveto, DType> {
  static DType alpha(DType scale) { return scale; }
  static DType beta() { return DType(0.0f); }
};
template <class DType>
struct ProductScale<sv::plusto, DType> {
  static DType alpha(DType scale) { return scale; }
  static DType beta() { return DType(1.0f); }
};
template <class DType>
struct ProductScale<sv::minusto, DType> {
  static DType alpha(DType scale) { return DType(-scale); }
  static DType beta() { return DType(1.0f); }
};

template <class Saver, bool lt, bool rt, class Device, class DType>
void multiply_matrices(const Tensor<Device, 2, DType>& out, const Tensor<Device, 2, DType>& lhs,
                       const Tensor<Device, 2, DType>& rhs, DType scale) {
  tarsia_detail::Product p;
  p.m = lt ? lhs.size(1) : lhs.size(0);
  p.k = lt ? lhs.size(0) : lhs.size(1);
  p.n = rt ? rhs.size(0) : rhs.size(1);
  p.lda = lhs.stride_, p.ldb = rhs.stride_, p.ldc = out.stride_;
  CHECK_EQ(p.k, static_cast<long>(rt ? rhs.size(1) : rhs.size(0)))
      << "dot: the inner extents differ, of " << lhs.shape_ << (lt ? " transposed" : "") << " and "
      << rhs.shape_ << (rt ? " transposed" : "");
  CHECK(p.m == static_cast<long>(out.size(0)) && p.n == static_cast<long>(out.size(1)))
      << "dot: a product of " << p.m << " by " << p.n << " is assigned to a tensor of shape " << out.shape_;
  tarsia_detail::multiply<lt, rt>(out.stream_, lhs.dptr_, rhs.dptr_, out.dptr_, p,
                                  ProductScale<Saver, DType>::alpha(scale),
                                  ProductScale<Saver, DType>::beta());
}

template <class Saver, class Device, bool lt, bool rt, class DType>
struct ExpComplexEngine<Saver, Tensor<Device, 2, DType>,
                        DotExp<Tensor<Device, 2, DType>, Tensor<Device, 2, DType>, lt, rt, DType>, DType> {
  static void Eval(Tensor<Device, 2, DType>* dst,
                   const DotExp<Tensor<Device, 2, DType>, Tensor<Device, 2, DType>, lt, rt, DType>& e) {
    multiply_matrices<Saver, lt, rt>(*dst, e.lhs_, e.rhs_, e.scale_);
  }
};
/// A row times a matrix.
template <class Saver, class Device, bool rt, class DType>
struct ExpComplexEngine<Saver, Tensor<Device, 1, DType>,
                        DotExp<Tensor<Device, 1, DType>, Tensor<Device, 2, DType>, false, rt, DType>, DType> {
  static void Eval(Tensor<Device, 1, DType>* dst,
                   const DotExp<Tensor<Device, 1, DType>, Tensor<Device, 2, DType>, false, rt, DType>& e) {
    multiply_matrices<Saver, false, rt>(dst->FlatTo2D(), e.lhs_.FlatTo2D(), e.rhs_, e.scale_);
  }
};
/// A column times a row.
template <class Saver, class Device, class DType>
struct ExpComplexEngine<Saver, Tensor<Device, 2, DType>,
                        DotExp<Tensor<Device, 1, DType>, Tensor<Device, 1, DType>, true, false, DType>,
                        DType> {
  static void Eval(Tensor<Device, 2, DType>* dst,
                   const DotExp<Tensor<Device, 1, DType>, Tensor<Device, 1, DType>, true, false, DType>& e) {
    multiply_matrices<Saver, true, false>(*dst, e.lhs_.FlatTo2D(), e.rhs_.FlatTo2D(), e.scale_);
  }
};
/// A matrix times a matrix for each of a batch.
template <class Saver, class Device, bool lt, bool rt, class DType>
struct ExpComplexEngine<Saver, Tensor<Device, 3, DType>,
                        DotExp<Tensor<Device, 3, DType>, Tensor<Device, 3, DType>, lt, rt, DType>, DType> {
  static void Eval(Tensor<Device, 3, DType>* dst,
                   const DotExp<Tensor<Device, 3, DType>, Tensor<Device, 3, DType>, lt, rt, DType>& e) {
    const Tensor<Device, 3, DType>&lhs = e.lhs_, &rhs = e.rhs_;
    tarsia_detail::Product p;
    p.m = lt ? lhs.size(2) : lhs.size(1);
    p.k = lt ? lhs.size(1) : lhs.size(2);
    p.n = rt ? rhs.size(1) : rhs.size(2);
    p.lda = lhs.stride_, p.ldb = rhs.stride_, p.ldc = dst->stride_;
    p.batch = dst->size(0);
    p.step_a = p.lda * lhs.size(1), p.step_b = p.ldb * rhs.size(1), p.step_c = p.ldc * dst->size(1);
    CHECK(lhs.size(0) == dst->size(0) && rhs.size(0) == dst->size(0) &&
          p.k == static_cast<long>(rt ? rhs.size(2) : rhs.size(1)) &&
          p.m == static_cast<long>(dst->size(1)) && p.n == static_cast<long>(dst->size(2)))
        << "batch_dot: shapes " << lhs.shape_ << " and " << rhs.shape_ << " do not give " << dst->shape_;
    tarsia_detail::multiply<lt, rt>(dst->stream_, lhs.dptr_, rhs.dptr_, dst->dptr_, p,
                                    ProductScale<Saver, DType>::alpha(e.scale_),
                                    ProductScale<Saver, DType>::beta());
  }
};

}  // namespace expr

/// dst = alpha * lhs * rhs + beta * dst for each matrix of a batch; lhs may be transposed, and rhs.
template <bool transpose_left, bool transpose_right, class Device, class DType>
void BatchGEMM(Tensor<Device, 3, DType> dst, const Tensor<Device, 3, DType>& lhs,
               const Tensor<Device, 3, DType>& rhs, DType alpha, DType beta, Tensor<Device, 1, DType*>) {
  tarsia_detail::Product p;
  p.m = transpose_left ? lhs.size(2) : lhs.size(1);
  p.k = transpose_left ? lhs.size(1) : lhs.size(2);
  p.n = transpose_right ? rhs.size(1) : rhs.size(2);
  p.lda = lhs.stride_, p.ldb = rhs.stride_, p.ldc = dst.stride_;
  p.batch = dst.size(0);
  p.step_a = p.lda * lhs.size(1), p.step_b = p.ldb * rhs.size(1), p.step_c = p.ldc * dst.size(1);
  tarsia_detail::multiply<transpose_left, transpose_right>(dst.stream_, lhs.dptr_, rhs.dptr_, dst.dptr_, p,
                                                           alpha, beta);
}

}  // namespace mshadow
