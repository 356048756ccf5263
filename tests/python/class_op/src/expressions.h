// Functions that compute expressions of mshadow, for any device.
#pragma once
#include <dmlc/logging.h>
#include <mshadow/tensor.h>

#include "mshadow_op.h"

namespace expressions {
using namespace mshadow;
using namespace mshadow::expr;
namespace functors = mxnet::op::mshadow_op;

/// Computes expression number `which` of a (2,3,4), v (3) and m (12,5) into out. Returns how many elements it
/// has.
template <typename xpu, typename T>
long compute(int which, T* pa, T* pv, T* pm, T* pout, Stream<xpu>* s) {
  Tensor<xpu, 3, T> a(pa, Shape3(2, 3, 4), s);
  Tensor<xpu, 1, T> v(pv, Shape1(3), s);
  Tensor<xpu, 2, T> m(pm, Shape2(12, 5), s), flat(pa, Shape2(2, 12), s);
  Tensor<xpu, 3, T> out(pout, a.shape_, s);
  switch (which) {
    case 0:
      out = a * T(2) + T(1) / (a * a + T(1)) - T(3);
      return 24;
    case 1:
      out = F<functors::maximum>(a, T(0));
      return 24;
    case 2:
      out = broadcast<1>(v, a.shape_) * a;
      return 24;
    case 3: {
      Tensor<xpu, 1, T> o(pout, v.shape_, s);
      o = T(2) * sumall_except_dim<1>(a * a);
      return 3;
    }
    case 4: {
      Tensor<xpu, 1, T> o(pout, Shape1(4), s);
      o = reduce_except_dim<2, red::maximum>(a);
      return 4;
    }
    case 5: {
      Tensor<xpu, 2, T> o(pout, Shape2(2, 5), s);
      o = T(0);
      o += dot(flat, m) * T(2);
      return 10;
    }
    case 6: {
      Tensor<xpu, 2, T> o(pout, Shape2(5, 2), s);
      o = dot(m.T(), flat.T());
      return 10;
    }
    case 7: {
      Tensor<xpu, 2, T> o(pout, Shape2(2, 4), s);
      o = reduce_with_axis<red::sum, false>(a, 1);
      return 8;
    }
    case 8: {
      Tensor<xpu, 2, T> o(pout, Shape2(2, 3), s);
      o = reduce_with_axis<red::maximum, true>(a, 2);
      return 6;
    }
    case 9:
      out = a / broadcast_with_axis(reduce_with_axis<red::sum, false>(F<functors::square>(a), 1), 0, 3);
      return 24;
    case 10: {
      Tensor<xpu, 3, T> o(pout, Shape3(4, 3, 2), s);
      o = swapaxis<0, 2>(a);
      return 24;
    }
    case 11: {
      Tensor<xpu, 2, T> o(pout, Shape2(6, 4), s);
      o = reshape(a, o.shape_);
      return 24;
    }
    case 12: {
      Tensor<xpu, 3, T> o(pout, Shape3(2, 2, 4), s);
      o = slice<1>(a, 1, 3);
      return 16;
    }
    case 13: {
      out = T(0);
      slice<2>(out, 1, 3) = slice<2>(a, 0, 2);
      slice<1>(out, 2, 3) += T(1);
      return 24;
    }
    case 14: {
      Tensor<xpu, 3, T> o(pout, Shape3(2, 6, 4), s);
      o = concat<1>(a, a);
      return 48;
    }
    case 15:
      out = tcast<T>(F<functors::floor>(tcast<float>(a) * 3.0f));
      return 24;
    case 16: {
      Tensor<xpu, 2, T> o(pout, Shape2(5, 12), s);
      o = F<functors::identity>(m.T());
      return 60;
    }
    case 17: {
      Tensor<xpu, 2, T> o(pout, m.shape_, s);
      Softmax(o, m);
      return 60;
    }
    case 18: {
      Tensor<xpu, 2, T> o(pout, Shape2(7, 3), s);
      o = repmat(v, 7);
      return 21;
    }
    case 19: {
      Tensor<xpu, 3, T> o(pout, Shape3(2, 5, 8), s);
      o = pad(a, 1, 2);
      return 80;
    }
    case 20: {
      Tensor<xpu, 3, T> o(pout, Shape3(2, 2, 2), s);
      o = crop(a, Shape2(2, 2), 1, 1);
      return 8;
    }
    case 21: {
      Tensor<xpu, 3, T> o(pout, Shape3(2, 2, 3), s);
      o = pool<red::maximum>(a, 2, 2, 1);
      return 12;
    }
    case 22: {
      Tensor<xpu, 3, T> o(pout, Shape3(2, 6, 8), s);
      o = upsampling_nearest(a, 2);
      return 96;
    }
    case 23:
      out = mirror(a);
      return 24;
    case 24: {
      Tensor<xpu, 4, T> o(pout, Shape4(1, 2, 3, 4), s);
      o = chpool<red::sum>(reshape(a, o.shape_), 3);
      return 24;
    }
    case 25: {
      Tensor<xpu, 1, T> o(pout, Shape1(5), s);
      o = sum_rows(m);
      return 5;
    }
    case 26:
      out = F<functors::identity>(a);
      out -= a * T(3);
      out *= a;
      out /= a + T(10);
      return 24;
    case 27: {
      Tensor<xpu, 3, T> o(pout, Shape3(2, 4, 4), s);
      o = batch_dot<true, false>(a, a);
      return 32;
    }
    default:
      LOG(FATAL) << "there is no expression " << which;
  }
  return 0;
}
}  // namespace expressions
