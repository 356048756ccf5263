// mxnet_op::Kernel: a functor for each index, on the CPU by all threads, on the GPU by one kernel. Device
// code sees this file, too.
#pragma once

#include <algorithm>

#include <dmlc/omp.h>
#include <mxnet/base.h>
#include <mxnet/operator.h>

/// Runs its last argument with ReqType as the request, if there is something to write.
#define MXNET_ASSIGN_REQ_SWITCH(req, ReqType, ...)              \
  switch (req) {                                                \
    case ::mxnet::kNullOp:                                      \
      break;                                                    \
    case ::mxnet::kWriteInplace:                                \
    case ::mxnet::kWriteTo: {                                   \
      constexpr ::mxnet::OpReqType ReqType = ::mxnet::kWriteTo; \
      {                                                         \
        __VA_ARGS__                                             \
      }                                                         \
    } break;                                                    \
    case ::mxnet::kAddTo: {                                     \
      constexpr ::mxnet::OpReqType ReqType = ::mxnet::kAddTo;   \
      {                                                         \
        __VA_ARGS__                                             \
      }                                                         \
    } break;                                                    \
    default:                                                    \
      break;                                                    \
  }
/// Writes a value as the request, a number of OpReqType, says.
#define KERNEL_ASSIGN(out, req, val) \
  {                                  \
    switch (static_cast<int>(req)) { \
      case 1:                        \
      case 2:                        \
        (out) = (val);               \
        break;                       \
      case 3:                        \
        (out) += (val);              \
        break;                       \
      default:                       \
        break;                       \
    }                                \
  }
#if defined(__CUDACC__) || defined(__CUDA__) || defined(__CUDACC_RTC__)
#define CUDA_KERNEL_LOOP(i, n)                                                                   \
  for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < static_cast<int>(n); \
       i += static_cast<int>(blockDim.x * gridDim.x))
#endif

namespace mxnet {
namespace op {
namespace mxnet_op {

using namespace mshadow;

template <int ndim>
MSHADOW_XINLINE int ravel(const Shape<ndim>& coord, const Shape<ndim>& shape) {
  int at = 0;
  for (int i = 0; i < ndim; ++i)
    at = at * static_cast<int>(shape[i]) + (shape[i] > coord[i] ? static_cast<int>(coord[i]) : 0);
  return at;
}
template <int ndim>
MSHADOW_XINLINE Shape<ndim> unravel(const int index, const Shape<ndim>& shape) {
  Shape<ndim> coord;
  int rest = index;
  for (int i = ndim - 1; i >= 0; --i) {
    coord[i] = static_cast<index_t>(rest) % shape[i];
    rest = static_cast<int>(static_cast<index_t>(rest) / shape[i]);
  }
  return coord;
}
template <int ndim>
MSHADOW_XINLINE int dot(const Shape<ndim>& coord, const Shape<ndim>& stride) {
  int sum = 0;
  for (int i = 0; i < ndim; ++i) sum += static_cast<int>(coord[i] * stride[i]);
  return sum;
}
template <int ndim>
MSHADOW_XINLINE int unravel_dot(const int index, const Shape<ndim>& shape, const Shape<ndim>& stride) {
  return mxnet_op::dot(unravel(index, shape), stride);
}
/// The steps of a contiguous tensor; 0 along dimensions of one element.
template <int ndim>
MSHADOW_XINLINE Shape<ndim> calc_stride(const Shape<ndim>& shape) {
  Shape<ndim> stride;
  index_t step = 1;
  for (int i = ndim - 1; i >= 0; --i) {
    stride[i] = shape[i] > 1 ? step : 0;
    step *= shape[i];
  }
  return stride;
}

struct fill {
  template <typename DType>
  MSHADOW_XINLINE static void Map(int i, DType* out, const DType value) {
    out[i] = value;
  }
};
struct set_zero {
  template <typename DType>
  MSHADOW_XINLINE static void Map(int i, DType* out) {
    out[i] = DType(0.0f);
  }
};
/// The gradient of an output, times what OP makes of the other elements.
template <typename OP>
struct backward_grad {
  template <typename DType, typename... Args>
  MSHADOW_XINLINE static DType Map(DType gradient, Args... args) {
    return DType(gradient * OP::Map(args...));
  }
};
/// OP of elements and numbers, written as the request says.
template <typename OP, int req>
struct op_with_req {
  typedef OP Operation;
  template <typename DType>
  MSHADOW_XINLINE static void Map(int i, DType* out, const DType* in) {
    KERNEL_ASSIGN(out[i], req, OP::Map(in[i]));
  }
  template <typename DType>
  MSHADOW_XINLINE static void Map(int i, DType* out, const DType* lhs, const DType* rhs) {
    KERNEL_ASSIGN(out[i], req, OP::Map(lhs[i], rhs[i]));
  }
  template <typename DType>
  MSHADOW_XINLINE static void Map(int i, DType* out, const DType* in, const DType value) {
    KERNEL_ASSIGN(out[i], req, OP::Map(in[i], value));
  }
  template <typename DType>
  MSHADOW_XINLINE static void Map(int i, DType* out) {
    KERNEL_ASSIGN(out[i], req, OP::Map());
  }
  template <typename DType>
  MSHADOW_XINLINE static void Map(int i, DType* out, const DType value) {
    KERNEL_ASSIGN(out[i], req, OP::Map(value));
  }
  template <typename DType>
  MSHADOW_XINLINE static void Map(int i, DType* out, const DType* a, const DType* b, const DType value) {
    KERNEL_ASSIGN(out[i], req, OP::Map(a[i], b[i], value));
  }
  template <typename DType>
  MSHADOW_XINLINE static void Map(int i, DType* out, const DType* a, const DType* b, const DType* c) {
    KERNEL_ASSIGN(out[i], req, OP::Map(a[i], b[i], c[i]));
  }
};

#if defined(__CUDACC__) || defined(__CUDA__) || defined(__CUDACC_RTC__)
template <typename OP, typename... Args>
__global__ void mxnet_generic_kernel(int N, Args... args) {
  for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < N;
       i += static_cast<int>(blockDim.x * gridDim.x))
    OP::Map(i, args...);
}
#endif

template <typename OP, typename xpu>
struct Kernel;
template <typename OP>
struct Kernel<OP, cpu> {
  template <typename... Args>
  static void Launch(mshadow::Stream<cpu>*, int N, Args... args) {
    mshadow::tarsia_detail::in_parts(static_cast<size_t>(N > 0 ? N : 0), 1 << 13,
                                     [&](size_t begin, size_t end) {
                                       for (size_t i = begin; i < end; ++i)
                                         OP::Map(static_cast<int>(i), args...);
                                     });
  }
};
#if MSHADOW_USE_CUDA
inline int cuda_get_num_blocks(const int N) {
  return std::min(mshadow::cuda::kMaxGridNum,
                  (N + mshadow::cuda::kBaseThreadNum - 1) / mshadow::cuda::kBaseThreadNum);
}
template <typename OP>
struct Kernel<OP, gpu> {
  template <typename... Args>
  static void Launch(mshadow::Stream<gpu>* s, int N, Args... args) {
    if (N <= 0) return;
    mxnet_generic_kernel<OP, Args...>
        <<<static_cast<unsigned>(cuda_get_num_blocks(N)), mshadow::cuda::kBaseThreadNum, 0,
           mshadow::Stream<gpu>::GetStream(s)>>>(N, args...);
    mshadow::tarsia_detail::check_launch();
  }
};
#endif

}  // namespace mxnet_op
}  // namespace op
}  // namespace mxnet
