// Functions of whole tensors that write where an index says: sums of rows, rows, and sorting. Device code
// sees this file, too.
#pragma once

#include <mshadow/expr_engine.h>
#include <mshadow/extension/index.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace mshadow {
namespace tarsia_detail {
template <class T>
MSHADOW_XINLINE bool is_number(const T& key) {
  return key == key;
}
/// Whether a key stands before another. What is no number stands behind all numbers, in both orders.
template <class T>
MSHADOW_XINLINE bool sorts_before(const T& a, const T& b, bool ascends) {
  return is_number(a) && (!is_number(b) || (ascends ? a < b : b < a));
}
}  // namespace tarsia_detail

#if defined(__CUDACC__) || defined(__CUDA__) || defined(__CUDACC_RTC__)
namespace cuda {
/// A thread for each column goes through the rows in turn: the result does not depend on the threads' order.
template <bool adds, class Out, class IndexType, class DType>
__global__ void write_rows(Out* out, index_t stride, index_t n_out, const IndexType* index, const DType* in,
                           index_t in_stride, index_t rows, index_t cols) {
  for (index_t x = blockIdx.x * blockDim.x + threadIdx.x; x < cols; x += gridDim.x * blockDim.x)
    for (index_t y = 0; y < rows; ++y) {
      Out& to = out[static_cast<size_t>(expr::place_of(index[y], n_out)) * stride + x];
      const Out value = static_cast<Out>(in[static_cast<size_t>(y) * in_stride + x]);
      to = adds ? Out(to + value) : value;
    }
}
/// A thread for each element of the rows at which a run of the sorted index begins.
template <class A, class IndexType, class DType>
__global__ void add_runs(DType* out, index_t stride, index_t n_out, const IndexType* sorted,
                         const IndexType* order, index_t n, const DType* in, index_t in_stride, index_t n_in,
                         index_t cols) {
  const unsigned long long total = static_cast<unsigned long long>(n) * cols;
  for (unsigned long long i = static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < total; i += static_cast<unsigned long long>(gridDim.x) * blockDim.x) {
    const index_t y = static_cast<index_t>(i / cols), x = static_cast<index_t>(i % cols);
    const index_t at = expr::place_of(sorted[y], n_out);
    if (y && expr::place_of(sorted[y - 1], n_out) == at) continue;
    DType& to = out[static_cast<size_t>(at) * stride + x];
    A sum = static_cast<A>(to);
    for (index_t k = y; k < n && expr::place_of(sorted[k], n_out) == at; ++k)
      sum += static_cast<A>(in[static_cast<size_t>(expr::place_of(order[k], n_in)) * in_stride + x]);
    to = DType(sum);
  }
}
/// Each thread counts what stands before its element, and writes it there.
template <class K, class V>
__global__ void sort_by_rank(const K* keys, const V* values, K* sorted_keys, V* sorted_values, index_t n,
                             bool ascends) {
  for (index_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    const K key = keys[i];
    index_t rank = 0;
    for (index_t k = 0; k < n; ++k) {
      const K other = keys[k];
      rank += tarsia_detail::sorts_before(other, key, ascends) ||
              (k < i && !tarsia_detail::sorts_before(key, other, ascends));
    }
    sorted_keys[rank] = key;
    sorted_values[rank] = values[i];
  }
}
}  // namespace cuda
#endif

namespace tarsia_detail {

/// Memory for the length of the call.
template <class T>
T* scratch_for(Stream<cpu>*, size_t n) {
  return static_cast<T*>(::mxnet::tarsia_detail::scratch(n * sizeof(T), false, 0));
}
#if MSHADOW_USE_CUDA
template <class T>
T* scratch_for(Stream<gpu>* stream, size_t n) {
  return static_cast<T*>(::mxnet::tarsia_detail::scratch(n * sizeof(T), true, stream ? stream->device_ : 0));
}
#endif

template <bool adds, class Out, class IndexType, class DType>
void write_rows(Stream<cpu>*, Out* out, index_t stride, index_t n_out, const IndexType* index,
                const DType* in, index_t in_stride, index_t rows, index_t cols) {
  for (index_t y = 0; y < rows; ++y) {
    Out* to = out + static_cast<size_t>(expr::place_of(index[y], n_out)) * stride;
    for (index_t x = 0; x < cols; ++x) {
      const Out value = static_cast<Out>(in[static_cast<size_t>(y) * in_stride + x]);
      to[x] = adds ? Out(to[x] + value) : value;
    }
  }
}
template <class IndexType, class DType>
void add_runs(Stream<cpu>*, DType* out, index_t stride, index_t n_out, const IndexType* sorted,
              const IndexType* order, index_t n, const DType* in, index_t in_stride, index_t n_in,
              index_t cols) {
  typedef typename accumulated<DType>::type A;
  in_parts(cols, n ? k_grain / n + 1 : cols, [&](size_t begin, size_t end) {
    std::vector<A> sums(end - begin);
    for (index_t y = 0; y < n;) {
      const index_t at = expr::place_of(sorted[y], n_out);
      DType* to = out + static_cast<size_t>(at) * stride + begin;
      for (size_t x = 0; x < sums.size(); ++x) sums[x] = static_cast<A>(to[x]);
      for (; y < n && expr::place_of(sorted[y], n_out) == at; ++y) {
        const DType* from = in + static_cast<size_t>(expr::place_of(order[y], n_in)) * in_stride + begin;
        for (size_t x = 0; x < sums.size(); ++x) sums[x] += static_cast<A>(from[x]);
      }
      for (size_t x = 0; x < sums.size(); ++x) to[x] = DType(sums[x]);
    }
  });
}
template <class K, class V>
void sort_by_key(Stream<cpu>*, K* keys, V* values, index_t n, bool ascends) {
  std::vector<index_t> order(n);
  for (index_t i = 0; i < n; ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](index_t a, index_t b) { return sorts_before(keys[a], keys[b], ascends); });
  const std::vector<K> old_keys(keys, keys + n);
  const std::vector<V> old_values(values, values + n);
  for (index_t i = 0; i < n; ++i) keys[i] = old_keys[order[i]], values[i] = old_values[order[i]];
}
#if MSHADOW_USE_CUDA
template <bool adds, class Out, class IndexType, class DType>
void write_rows(Stream<gpu>* stream, Out* out, index_t stride, index_t n_out, const IndexType* index,
                const DType* in, index_t in_stride, index_t rows, index_t cols) {
  if (!rows || !cols) return;
  cuda::write_rows<adds, Out, IndexType, DType>
      <<<blocks_for(cols), cuda::kBaseThreadNum, 0, Stream<gpu>::GetStream(stream)>>>(
          out, stride, n_out, index, in, in_stride, rows, cols);
  check_launch();
}
template <class IndexType, class DType>
void add_runs(Stream<gpu>* stream, DType* out, index_t stride, index_t n_out, const IndexType* sorted,
              const IndexType* order, index_t n, const DType* in, index_t in_stride, index_t n_in,
              index_t cols) {
  if (!n || !cols) return;
  cuda::add_runs<typename accumulated<DType>::type, IndexType, DType>
      <<<blocks_for(static_cast<size_t>(n) * cols), cuda::kBaseThreadNum, 0,
         Stream<gpu>::GetStream(stream)>>>(out, stride, n_out, sorted, order, n, in, in_stride, n_in, cols);
  check_launch();
}
template <class K, class V>
void sort_by_key(Stream<gpu>* stream, K* keys, V* values, index_t n, bool ascends) {
  if (!n) return;
  K* sorted_keys = scratch_for<K>(stream, n);
  V* sorted_values = scratch_for<V>(stream, n);
  CUstream_st* on = Stream<gpu>::GetStream(stream);
  cuda::sort_by_rank<K, V>
      <<<blocks_for(n), cuda::kBaseThreadNum, 0, on>>>(keys, values, sorted_keys, sorted_values, n, ascends);
  check_launch();
  cudaError_t error = cudaMemcpyAsync(keys, sorted_keys, n * sizeof(K), cudaMemcpyDeviceToDevice, on);
  if (error == cudaSuccess)
    error = cudaMemcpyAsync(values, sorted_values, n * sizeof(V), cudaMemcpyDeviceToDevice, on);
  if (error != cudaSuccess) LOG(FATAL) << "SortByKey: " << cudaGetErrorString(error);
}
#endif

template <bool adds, class Device, class IndexType, class DType>
void write_where_told(const char* name, Tensor<Device, 2, DType>& dst,
                      const Tensor<Device, 1, IndexType>& index, const Tensor<Device, 2, DType>& src) {
  CHECK(index.size(0) == src.size(0) && dst.size(1) == src.size(1))
      << name << ": " << index.shape_ << " numbers and " << src.shape_ << " do not go into " << dst.shape_;
  CHECK(dst.size(0) || !index.size(0)) << name << ": there is no row to write to";
  if (!dst.shape_.Size() || !index.size(0)) return;
  typedef typename accumulated<DType>::type A;
  if constexpr (adds && sizeof(A) != sizeof(DType)) {
    Tensor<Device, 2, A> sums(scratch_for<A>(dst.stream_, dst.shape_.Size()), dst.shape_, dst.stream_);
    sums = expr::tcast<A>(dst);
    write_rows<true>(dst.stream_, sums.dptr_, sums.stride_, dst.size(0), index.dptr_, src.dptr_, src.stride_,
                     src.size(0), src.size(1));
    dst = expr::tcast<DType>(sums);
  } else {
    write_rows<adds>(dst.stream_, dst.dptr_, dst.stride_, dst.size(0), index.dptr_, src.dptr_, src.stride_,
                     src.size(0), src.size(1));
  }
}
}  // namespace tarsia_detail

// The first and the last row stand for rows beyond them. Sums of halves are kept as floats.

/// Adds each row of `src` to the row of `dst` that the index says.
template <class Device, class IndexType, class DType>
void AddTakeGrad(Tensor<Device, 2, DType> dst, const Tensor<Device, 1, IndexType>& index,
                 const Tensor<Device, 2, DType>& src) {
  tarsia_detail::write_where_told<true>("AddTakeGrad", dst, index, src);
}
/// The same for an index that is sorted; row i of it is row order[i] of `src`.
template <class Device, class IndexType, class DType>
void AddTakeGradLargeBatch(Tensor<Device, 2, DType> dst, const Tensor<Device, 1, IndexType>& sorted,
                           const Tensor<Device, 1, IndexType>& order, const Tensor<Device, 2, DType>& src) {
  CHECK_EQ(sorted.shape_, order.shape_) << "AddTakeGradLargeBatch: the indices have different lengths";
  CHECK(dst.size(1) == src.size(1)) << "AddTakeGradLargeBatch: rows of " << src.shape_ << " do not go into "
                                    << dst.shape_;
  CHECK(dst.size(0) || !sorted.size(0)) << "AddTakeGradLargeBatch: there is no row to write to";
  CHECK(src.size(0) || !sorted.size(0)) << "AddTakeGradLargeBatch: there is no row to take from";
  tarsia_detail::add_runs(dst.stream_, dst.dptr_, dst.stride_, dst.size(0), sorted.dptr_, order.dptr_,
                          sorted.size(0), src.dptr_, src.stride_, src.size(0), src.size(1));
}
/// Writes each row of `src` to the row of `dst` that the index says.
template <class Device, class IndexType, class DType>
void IndexFill(Tensor<Device, 2, DType> dst, const Tensor<Device, 1, IndexType>& index,
               const Tensor<Device, 2, DType>& src) {
  tarsia_detail::write_where_told<false>("IndexFill", dst, index, src);
}
/// Sorts keys, and values along with them. What is alike keeps its order. NaN comes last, in both orders.
template <class Device, class K, class V>
void SortByKey(Tensor<Device, 1, K> keys, Tensor<Device, 1, V> values, bool ascends = true) {
  CHECK_EQ(keys.shape_, values.shape_) << "SortByKey: as many values as keys";
  tarsia_detail::sort_by_key(keys.stream_, keys.dptr_, values.dptr_, keys.size(0), ascends);
}
/// The sum of the products of two vectors' elements.
template <class Device, class DType>
void VectorDot(Tensor<Device, 1, DType> dst, const Tensor<Device, 1, DType>& lhs,
               const Tensor<Device, 1, DType>& rhs) {
  CHECK(lhs.size(0) == rhs.size(0) && dst.size(0) == 1)
      << "VectorDot: vectors of " << lhs.shape_ << " and " << rhs.shape_ << " into " << dst.shape_;
  expr::multiply_matrices<sv::saveto, false, true>(dst.FlatTo2D(), lhs.FlatTo2D(), rhs.FlatTo2D(),
                                                   DType(1.0f));
}

}  // namespace mshadow
