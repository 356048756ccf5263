// The kernels by which the GPU evaluates expressions. Device code sees this file, too.
#pragma once

#include <mshadow/plan.h>

#if defined(__CUDACC__) || defined(__CUDA__) || defined(__CUDACC_RTC__)
/// Adds to a half that other threads may add to. A half lies in one word of 32 bits with another.
__device__ inline void atomicAdd(mshadow::half::half_t* to, mshadow::half::half_t value) {
  const unsigned long long at = reinterpret_cast<unsigned long long>(to);
  unsigned* word = reinterpret_cast<unsigned*>(at & ~3ull);
  const unsigned shift = at & 2 ? 16 : 0;
  unsigned seen = *word, before;
  do {
    before = seen;
    mshadow::half::half_t sum = mshadow::half::half_t::Binary(static_cast<unsigned short>(before >> shift));
    sum += value;
    seen =
        atomicCAS(word, before, (before & ~(0xffffu << shift)) | static_cast<unsigned>(sum.half_) << shift);
  } while (seen != before);
}
#endif

namespace mshadow {
namespace cuda {

const int kBaseThreadBits = 8;
const int kBaseThreadNum = 1 << kBaseThreadBits;
const int kMaxGridNum = 65535;
const int kMaxGridDim = 65535;
const int kBaseGridNum = 1024;
const int kMaxThreadsPerBlock = 1024;
const int kMemUnit = 32;
const int kMemUnitBits = 5;

#if defined(__CUDACC__) || defined(__CUDA__) || defined(__CUDACC_RTC__)

/// One element after the other; `cols` is the length of a row. Divisions of 32 bits are the faster ones.
template <class Saver, class Dst, class P>
__global__ void map_plan(Dst dst, P plan, unsigned long long total, index_t cols) {
  if (total <= 0x7fffffffu) {
    const unsigned step = gridDim.x * blockDim.x, n = static_cast<unsigned>(total);
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
      const index_t y = i / cols, x = i - y * cols;
      Saver::Save(dst.REval(y, x), plan.Eval(y, x));
    }
    return;
  }
  const unsigned long long step = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
  for (unsigned long long i = static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < total; i += step) {
    const index_t y = static_cast<index_t>(i / cols), x = static_cast<index_t>(i % cols);
    Saver::Save(dst.REval(y, x), plan.Eval(y, x));
  }
}

/// Reduces 2^x_bits values, one for each thread of x; buf[0] has the result. All threads of the block call
/// it.
template <class Reducer, int x_bits, class DType>
__device__ inline void Reduce1D(DType* buf) {
  const int k = static_cast<int>(threadIdx.x);
  __syncthreads();
  for (int half = (1 << x_bits) / 2; half > 0; half /= 2) {
    if (k < half) {
      DType mine = buf[k];
      Reducer::Reduce(mine, static_cast<DType>(buf[k + half]));
      buf[k] = mine;
    }
    __syncthreads();
  }
}
/// What the threads of a block have, reduced; all threads get it.
template <class Reducer, class A>
__device__ inline A reduce_block(A value, A* shared) {
  shared[threadIdx.x] = value;
  Reduce1D<Reducer, kBaseThreadBits>(shared);
  return shared[0];
}

/// A block for each kept index. An element of it is at place (outer, kept, inner) of all rows, and a column.
template <class Saver, class Reducer, class A, class DType, class Dst, class P>
__global__ void reduce_rows(Dst dst, P plan, DType scale, index_t n_outer, index_t n_kept, index_t n_inner,
                            index_t cols) {
  __shared__ A shared[kBaseThreadNum];
  for (index_t kept = blockIdx.x; kept < n_kept; kept += gridDim.x) {
    A sum;
    Reducer::SetInitValue(sum);
    const unsigned long long count = static_cast<unsigned long long>(n_outer) * n_inner * cols;
    for (unsigned long long i = threadIdx.x; i < count; i += blockDim.x) {
      const unsigned long long row = i / cols, outer = row / n_inner;
      Reducer::Reduce(sum, static_cast<A>(plan.Eval(static_cast<index_t>((outer * n_kept + kept) * n_inner +
                                                                         row - outer * n_inner),
                                                    static_cast<index_t>(i - row * cols))));
    }
    const A all = reduce_block<Reducer>(sum, shared);
    if (threadIdx.x == 0) Saver::Save(dst.REval(0, kept), DType(all * static_cast<A>(scale)));
    __syncthreads();
  }
}

/// The last dimension is kept: a block reduces 32 columns, 8 rows at a time.
template <class Saver, class Reducer, class A, class DType, class Dst, class P>
__global__ void reduce_columns(Dst dst, P plan, DType scale, index_t rows, index_t cols) {
  __shared__ A shared[kBaseThreadNum];
  const index_t column = threadIdx.x % 32, first = threadIdx.x / 32;
  for (unsigned long long base = static_cast<unsigned long long>(blockIdx.x) * 32; base < cols;
       base += static_cast<unsigned long long>(gridDim.x) * 32) {
    const unsigned long long x = base + column;
    A sum;
    Reducer::SetInitValue(sum);
    if (x < cols)
      for (unsigned long long y = first; y < rows; y += kBaseThreadNum / 32)
        Reducer::Reduce(sum, static_cast<A>(plan.Eval(static_cast<index_t>(y), static_cast<index_t>(x))));
    shared[threadIdx.x] = sum;
    __syncthreads();
    if (first == 0 && x < cols) {
      for (int k = 1; k < kBaseThreadNum / 32; ++k)
        Reducer::Reduce(sum, static_cast<A>(shared[32 * k + column]));
      Saver::Save(dst.REval(0, static_cast<index_t>(x)), DType(sum * static_cast<A>(scale)));
    }
    __syncthreads();
  }
}

/// A product of matrices, one of each of a batch, by tiles of 16 by 16.
template <class A, class DType, bool ltrans, bool rtrans>
__global__ void multiply_tiles(const DType* lhs, const DType* rhs, DType* out, long m, long n, long k,
                               long lda, long ldb, long ldc, long step_a, long step_b, long step_c, A alpha,
                               A beta) {
  __shared__ A left[16][17], right[16][17];
  lhs += blockIdx.z * step_a, rhs += blockIdx.z * step_b, out += blockIdx.z * step_c;
  const int tx = static_cast<int>(threadIdx.x), ty = static_cast<int>(threadIdx.y);
  for (long row0 = static_cast<long>(blockIdx.y) * 16; row0 < m; row0 += static_cast<long>(gridDim.y) * 16) {
    const long row = row0 + ty, column = static_cast<long>(blockIdx.x) * 16 + tx;
    A sum = A(0);
    for (long at = 0; at < k; at += 16) {
      // Neighbouring threads read neighbouring elements, whichever way the matrix lies.
      const long lr = row0 + (ltrans ? tx : ty), lk = at + (ltrans ? ty : tx);
      A value = A(0);
      if (lr < m && lk < k) value = static_cast<A>(ltrans ? lhs[lk * lda + lr] : lhs[lr * lda + lk]);
      left[ltrans ? tx : ty][ltrans ? ty : tx] = value;
      const long rc = static_cast<long>(blockIdx.x) * 16 + (rtrans ? ty : tx), rk = at + (rtrans ? tx : ty);
      value = A(0);
      if (rc < n && rk < k) value = static_cast<A>(rtrans ? rhs[rc * ldb + rk] : rhs[rk * ldb + rc]);
      right[rtrans ? tx : ty][rtrans ? ty : tx] = value;
      __syncthreads();
      for (int i = 0; i < 16; ++i) sum += left[ty][i] * right[i][tx];
      __syncthreads();
    }
    if (row < m && column < n) {
      DType& to = out[row * ldc + column];
      to = static_cast<DType>(beta == A(0) ? alpha * sum : alpha * sum + beta * static_cast<A>(to));
    }
  }
}

#endif
}  // namespace cuda
}  // namespace mshadow
