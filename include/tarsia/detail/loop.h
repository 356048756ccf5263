// Loops over the elements of tensors that are broadcast against each other, for kernels and for the CPU. The
// code that tarsia.elementwise and tarsia.reduction generate uses them. <tarsia/detail/loop_plan.h> makes
// them from tensors.
#pragma once

#include <tarsia/device.h>
#include <tarsia/small_floats.h>

namespace tarsia {
namespace detail {

/// The most dimensions of a loop, after dimensions that are contiguous with each other have been merged.
enum { k_loop_dims = 8 };

/// The extents of a loop; the last one varies fastest. Loops of less than 2^31 steps divide by multiplying: q
/// = (high half of n * magic + n) >> shift.
struct LoopDims {
  long long count;
  int ndim;
  int is_small;
  long long shape[k_loop_dims];
  unsigned magic[k_loop_dims];
  unsigned shift[k_loop_dims];
};

/// The positions of each tensor's elements: strides in elements for each dimension of the loop. Bit j of
/// `ones` is set if the innermost stride of tensor j is 0.
template <int n_>
struct LoopSides {
  char* data[n_];
  long long strides[n_][k_loop_dims];
  unsigned long long ones;
};

/// A tensor that an expression indexes itself: x[i] is the i-th element in row-major order for any strides.
template <class T_>
struct RawTensor {
  T_* data;
  long long count;
  int dims;
  int is_contiguous;
  long long extents[k_loop_dims];
  long long strides[k_loop_dims];

  TARSIA_HOST_DEVICE T_& operator[](long long i_) const {
    if (is_contiguous) return data[i_];
    long long at_ = 0;
    for (int d_ = dims - 1; d_ >= 0; --d_) {
      at_ += i_ % extents[d_] * strides[d_];
      i_ /= extents[d_];
    }
    return data[at_];
  }
  TARSIA_HOST_DEVICE long long size() const { return count; }
  TARSIA_HOST_DEVICE int ndim() const { return dims; }
  TARSIA_HOST_DEVICE const long long* shape() const { return extents; }
};

/// `_ind` of an expression: the position in the loop.
struct LoopIndex {
  const LoopDims& dims;
  long long at;

  struct Coordinates {
    const LoopDims& dims;
    long long at;
    TARSIA_HOST_DEVICE long long operator[](int d_) const {
      long long rest_ = at;
      for (int k_ = dims.ndim - 1; k_ > d_; --k_) rest_ /= dims.shape[k_];
      return rest_ % dims.shape[d_];
    }
  };
  TARSIA_HOST_DEVICE Coordinates get() const { return Coordinates{dims, at}; }
  TARSIA_HOST_DEVICE long long size() const { return dims.count; }
  TARSIA_HOST_DEVICE int ndim() const { return dims.ndim; }
  TARSIA_HOST_DEVICE const long long* shape() const { return dims.shape; }
};

/// The smaller or larger of two numbers of any types.
namespace expression {
template <class A_, class B_>
TARSIA_HOST_DEVICE constexpr auto min(A_ a_, B_ b_) -> decltype(a_ + b_) {
  return b_ < a_ ? b_ : a_;
}
template <class A_, class B_>
TARSIA_HOST_DEVICE constexpr auto max(A_ a_, B_ b_) -> decltype(a_ + b_) {
  return a_ < b_ ? b_ : a_;
}
}  // namespace expression

#if defined(__CUDACC__) || defined(__CUDA__)

/// Adds the offsets of step k of a loop, in elements, to `at`.
template <int n_>
__device__ __forceinline__ void add_offsets(const LoopDims& d_, const long long (&strides_)[n_][k_loop_dims],
                                            unsigned long long k_, long long (&at_)[n_]) {
  int dim_ = d_.ndim - 1;
  if (d_.is_small) {
    unsigned rest_ = static_cast<unsigned>(k_);
#pragma unroll 1
    for (; dim_ > 0; --dim_) {
      const unsigned next_ = (__umulhi(rest_, d_.magic[dim_]) + rest_) >> d_.shift[dim_];
      const unsigned here_ = rest_ - next_ * static_cast<unsigned>(d_.shape[dim_]);
#pragma unroll
      for (int j_ = 0; j_ < n_; ++j_) at_[j_] += here_ * strides_[j_][dim_];
      rest_ = next_;
    }
    k_ = rest_;
  } else {
#pragma unroll 1
    for (; dim_ > 0; --dim_) {
      const unsigned long long next_ = k_ / static_cast<unsigned long long>(d_.shape[dim_]);
      const long long here_ = static_cast<long long>(k_ - next_ * d_.shape[dim_]);
#pragma unroll
      for (int j_ = 0; j_ < n_; ++j_) at_[j_] += here_ * strides_[j_][dim_];
      k_ = next_;
    }
  }
#pragma unroll
  for (int j_ = 0; j_ < n_; ++j_) at_[j_] += static_cast<long long>(k_) * strides_[j_][0];
}

template <int bytes_>
struct Word;
template <>
struct Word<1> {
  typedef unsigned char type;
};
template <>
struct Word<2> {
  typedef unsigned short type;
};
template <>
struct Word<4> {
  typedef unsigned type;
};
template <>
struct Word<8> {
  typedef uint2 type;
};
template <>
struct Word<16> {
  typedef uint4 type;
};

/// Neighbouring elements that are loaded and stored at once: at most 16 bytes.
template <class T_, int v_>
struct alignas(sizeof(T_) * v_) Pack {
  T_ item[v_];
};

/// Loads pack `at`, or, if `one` is set, element `at` into every place of a pack.
template <class T_, int v_>
__device__ __forceinline__ void load(Pack<T_, v_>& to_, const char* data_, long long at_, bool one_) {
  if (v_ > 1 && one_) {
    const T_ x_ = reinterpret_cast<const T_*>(data_)[at_];
#pragma unroll
    for (int i_ = 0; i_ < v_; ++i_) to_.item[i_] = x_;
  } else {
    typedef typename Word<sizeof(T_) * v_>::type W_;
    *reinterpret_cast<W_*>(&to_) = reinterpret_cast<const W_*>(data_)[at_];
  }
}
template <class T_, int v_>
__device__ __forceinline__ void store(const Pack<T_, v_>& from_, char* data_, long long at_) {
  typedef typename Word<sizeof(T_) * v_>::type W_;
  reinterpret_cast<W_*>(data_)[at_] = *reinterpret_cast<const W_*>(&from_);
}

/// Returns the value of the lane whose number is larger by `down`.
template <class T_>
__device__ __forceinline__ T_ from_lane_above(const T_& x_, int down_) {
  enum { k_words = (sizeof(T_) + 3) / 4 };
  unsigned words_[k_words] = {};
  T_ y_;
  memcpy(words_, &x_, sizeof(T_));
#pragma unroll
  for (int i_ = 0; i_ < k_words; ++i_) words_[i_] = __shfl_down_sync(0xffffffffu, words_[i_], down_);
  memcpy(&y_, words_, sizeof(T_));
  return y_;
}

#endif

}  // namespace detail
}  // namespace tarsia
