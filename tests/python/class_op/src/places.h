// Expressions and functions of mshadow by which elements go to places that are told, for any device.
#pragma once
#include <mshadow/packet-inl.h>
#include <mxnet/io.h>
#include <mxnet/op_attr_types.h>

#include "mshadow_op.h"

namespace places {
using namespace mshadow;
using namespace mshadow::expr;
namespace functors = mxnet::op::mshadow_op;

/// Computes number `which` of images (2,3,4,5), m (4,6), index (4) and v (4) into out. Returns how many
/// elements it has.
template <typename xpu, typename T>
long compute(int which, T* pimages, T* pm, T* pindex, T* pv, T* pout, Stream<xpu>* s) {
  Tensor<xpu, 4, T> images(pimages, Shape4(2, 3, 4, 5), s);
  Tensor<xpu, 2, T> m(pm, Shape2(4, 6), s);
  Tensor<xpu, 1, T> index(pindex, Shape1(4), s), v(pv, Shape1(4), s);
  const auto matrix = [&](int rows, int cols) { return Tensor<xpu, 2, T>(pout, Shape2(rows, cols), s); };
  const auto vector = [&](int n) { return Tensor<xpu, 1, T>(pout, Shape1(n), s); };
  switch (which) {
    case 0:
      vector(12) = range<T>(1, 7, 2, 4);
      return 12;
    case 1:
      matrix(18, 12) = unpack_patch2col(images, 2, 3, 1, 1, 1, 1);
      return 0;  // another shape than the patches': an error
    case 2:
      matrix(18, 18) = unpack_patch2col(images, 2, 3, 1);
      return 18 * 18;
    case 3:
      matrix(12, 8) = unpack_patch2col(images, 2, 2, 1, 2, 2, 1) * T(2);
      return 12 * 8;
    case 4: {
      Tensor<xpu, 4, T> to(pout, images.shape_, s);
      to = pack_col2patch(unpack_patch2col(images, 2, 2, 1, 2, 2, 1), images.shape_, 2, 2, 1, 2, 2, 1);
      return 120;
    }
    case 5:
      matrix(4, 6) = one_hot_encode(index, 6);
      return 24;
    case 6:
      vector(4) = mat_choose_row_element(m, index);
      return 4;
    case 7:
      matrix(4, 6) = mat_fill_row_element(m, v, index) + T(1);
      return 24;
    case 8:
      matrix(4, 6) = take(index, m);
      return 24;
    case 9:
      matrix(5, 6) = take_grad(index, m, 5);
      return 30;
    case 10:
    case 11: {
      Tensor<xpu, 2, T> to = matrix(5, 6);
      to = T(1);
      if (which == 10)
        AddTakeGrad(to, index, m);
      else
        IndexFill(to, index, m);
      return 30;
    }
    case 12:
      matrix(4, 4) = implicit_dot(m, m.T()) - T(1);
      return 16;
    case 13:
    case 14: {
      Tensor<xpu, 4, T> to(pout, images.shape_, s);
      to = flip(images, which == 13 ? 1 : 3);
      return 120;
    }
    case 15: {
      Tensor<xpu, 1, T> keys = vector(4), values(pout + 4, Shape1(4), s);
      keys = index * T(1);
      values = v * T(1);
      SortByKey(keys, values, false);
      return 8;
    }
    case 16:
      VectorDot(vector(1), v, v);
      return 1;
    case 17:
      SmoothSoftmaxGrad(matrix(4, 6), m, index, 0.25f);
      return 24;
    case 18:
      SmoothSoftmaxGrad(matrix(4, 6), m, index, T(1), 0.25f);
      return 24;
    case 19:
      vector(4) = F<functors::gamma_grad>(v);
      return 4;
    case 20:
      vector(4) = F<functors::gammaln_grad>(v);
      return 4;
    case 21:
      vector(4) = reduce_with_axis<functors::nansum, false>(m / F<functors::sign>(m - scalar<T>(T(3))), 1);
      return 4;
    case 22:
      vector(4) = reduce_with_axis<functors::product, false>(m, 1);
      return 4;
    case 23:
      matrix(4, 6) = F<functors::nanprod_grad>(m, broadcast<0>(v, m.shape_)) +
                     F<functors::nansum_grad>(m, broadcast<0>(v, m.shape_));
      return 24;
    case 24: {
      Tensor<xpu, 2, T> to = matrix(5, 6);
      to = T(1);
      Tensor<xpu, 1, T> order(pout + 30, Shape1(4), s);
      order = range<T>(0, 4);
      AddTakeGradLargeBatch(to, index, order, m);
      return 30;
    }
    case 25: {
      Tensor<xpu, 4, T> to(pout, images.shape_, s);
      to = images * broadcast_to(reshape(v, Shape4(1, 1, 4, 1)), mxnet::TShape(images.shape_));
      return 120;
    }
    default:
      return -1;
  }
}

/// What files for the CPU say of the GPU.
#if MXNET_USE_CUDA
inline cudaError_t state_of(const Stream<gpu>& s) {
  return s.blas_handle_ownership_ == Stream<gpu>::OwnHandle ? cudaSuccess : cudaErrorUnknown;
}
#endif

/// A kernel that has tensors as arguments.
#if MSHADOW_USE_CUDA
template <typename T>
__global__ void own_kernel(Tensor<gpu, 4, T> to, const Tensor<gpu, 4, T> from, Tensor<gpu, 1, T> v) {
  for (index_t i = 0; i < from.size(0); ++i)
    for (index_t k = 0; k < from.size(3); ++k) {
      to[i][0][0][k] = from[i][0][0][k] + v[0];
      atomicAdd(&to[0][0][0][0], from[i][0][0][k]);
    }
}
#endif
}  // namespace places
