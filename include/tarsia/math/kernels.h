// The kernels of <tarsia/math.h>. They follow strides and dtypes that are known when they run, so that there
// is one for each function and type of computing, and not one for each combination of dtypes.
#pragma once

#include <tarsia/math/elements.h>
#include <tarsia/math/functors.h>

#if defined(__CUDACC__) || defined(__CUDA__) || defined(__CUDACC_RTC__)

namespace tarsia {
namespace math {
namespace detail {

enum { k_threads = 256 };

/// Where step k of a loop is in a tensor, in elements from its first.
__device__ inline long long place_of(const LoopDims& d_, const long long* strides_, long long k_) {
  long long at_ = 0;
  for (int i_ = d_.ndim - 1; i_ > 0; --i_) {
    const long long next_ =
        d_.is_small ? static_cast<long long>(static_cast<unsigned>(k_) / static_cast<unsigned>(d_.shape[i_]))
                    : k_ / d_.shape[i_];
    at_ += (k_ - next_ * d_.shape[i_]) * strides_[i_];
    k_ = next_;
  }
  return at_ + k_ * strides_[0];
}

/// Side n is the output.
template <class F_, class C_, int n_>
__global__ void map_elements(F_ f_, LoopDims d_, Sides<n_ + 1> s_, int request_) {
  TARSIA_GRID_LOOP(k_, d_.count) {
    C_ v_[n_];
#pragma unroll
    for (int j_ = 0; j_ < n_; ++j_) v_[j_] = load<C_>(s_.side[j_], place_of(d_, s_.side[j_].strides, k_));
    store<C_>(s_.side[n_], place_of(d_, s_.side[n_].strides, k_),
              first_of<n_>::call(f_, static_cast<const C_*>(v_)), request_);
  }
}

/// What the threads of a block have seen, taken together; all threads get it.
template <class R_, class C_>
__device__ inline functors::seen<C_> of_block(functors::seen<C_> mine_, functors::seen<C_>* shared_) {
  const int k_ = static_cast<int>(threadIdx.x);
  __syncthreads();
  shared_[k_] = mine_;
  __syncthreads();
  for (int half_ = k_threads / 2; half_ > 0; half_ /= 2) {
    if (k_ < half_) shared_[k_] = R_::both(shared_[k_], shared_[k_ + half_]);
    __syncthreads();
  }
  return shared_[0];
}

/// A block, or a thread, for each element of the output. `x` and `inner` are the input along what is kept and
/// what is reduced.
template <class R_, class C_>
__global__ void reduce_elements(LoopDims kept_, LoopDims reduced_, Side x_, Side inner_, Side out_,
                                int request_) {
  __shared__ functors::seen<C_> shared_[k_threads];
  for (long long i_ = blockIdx.x; i_ < kept_.count; i_ += gridDim.x) {
    const long long first_ = place_of(kept_, x_.strides, i_);
    functors::seen<C_> all_ = R_::template none<C_>();
    for (long long k_ = threadIdx.x; k_ < reduced_.count; k_ += k_threads)
      all_ = R_::both(all_,
                      functors::seen<C_>{load<C_>(x_, first_ + place_of(reduced_, inner_.strides, k_)), k_});
    all_ = of_block<R_>(all_, shared_);
    if (threadIdx.x != 0) continue;
    const auto y_ = R_::result(all_, reduced_.count);
    store(out_, place_of(kept_, out_.strides, i_), y_, request_);
  }
}
template <class R_, class C_>
__global__ void reduce_by_threads(LoopDims kept_, LoopDims reduced_, Side x_, Side inner_, Side out_,
                                  int request_) {
  TARSIA_GRID_LOOP(i_, kept_.count) {
    const long long first_ = place_of(kept_, x_.strides, i_);
    functors::seen<C_> all_ = R_::template none<C_>();
    for (long long k_ = 0; k_ < reduced_.count; ++k_)
      all_ = R_::both(all_,
                      functors::seen<C_>{load<C_>(x_, first_ + place_of(reduced_, inner_.strides, k_)), k_});
    const auto y_ = R_::result(all_, reduced_.count);
    store(out_, place_of(kept_, out_.strides, i_), y_, request_);
  }
}

/// A block for each row of `length` elements, which lie along the last of each side's strides.
template <bool log_, class C_>
__global__ void softmax_rows(LoopDims rows_, long long length_, Side x_, Side out_, int request_) {
  __shared__ functors::seen<C_> shared_[k_threads];
  const long long step_ = x_.strides[k_loop_dims - 1], out_step_ = out_.strides[k_loop_dims - 1];
  for (long long i_ = blockIdx.x; i_ < rows_.count; i_ += gridDim.x) {
    const long long first_ = place_of(rows_, x_.strides, i_), to_ = place_of(rows_, out_.strides, i_);
    functors::seen<C_> top_ = functors::extreme<true, false>::none<C_>();
    for (long long k_ = threadIdx.x; k_ < length_; k_ += k_threads)
      top_ = functors::extreme<true, false>::both(top_,
                                                  functors::seen<C_>{load<C_>(x_, first_ + k_ * step_), k_});
    top_ = of_block<functors::extreme<true, false>>(top_, shared_);
    functors::seen<C_> sum_ = functors::sum<false>::none<C_>();
    for (long long k_ = threadIdx.x; k_ < length_; k_ += k_threads)
      sum_.value += ::exp(load<C_>(x_, first_ + k_ * step_) - top_.value);
    sum_ = of_block<functors::sum<false>>(sum_, shared_);
    const C_ scale_ = log_ ? ::log(sum_.value) : C_(1) / sum_.value;
    for (long long k_ = threadIdx.x; k_ < length_; k_ += k_threads) {
      const C_ less_ = load<C_>(x_, first_ + k_ * step_) - top_.value;
      store<C_>(out_, to_ + k_ * out_step_, log_ ? less_ - scale_ : ::exp(less_) * scale_, request_);
    }
  }
}
template <bool log_, class C_>
__global__ void softmax_gradient_rows(LoopDims rows_, long long length_, Side dy_, Side y_, Side out_,
                                      int request_) {
  __shared__ functors::seen<C_> shared_[k_threads];
  for (long long i_ = blockIdx.x; i_ < rows_.count; i_ += gridDim.x) {
    const long long from_ = place_of(rows_, dy_.strides, i_), of_ = place_of(rows_, y_.strides, i_),
                    to_ = place_of(rows_, out_.strides, i_);
    functors::seen<C_> sum_ = functors::sum<false>::none<C_>();
    for (long long k_ = threadIdx.x; k_ < length_; k_ += k_threads) {
      const C_ g_ = load<C_>(dy_, from_ + k_ * dy_.strides[k_loop_dims - 1]);
      sum_.value += log_ ? g_ : g_ * load<C_>(y_, of_ + k_ * y_.strides[k_loop_dims - 1]);
    }
    sum_ = of_block<functors::sum<false>>(sum_, shared_);
    for (long long k_ = threadIdx.x; k_ < length_; k_ += k_threads) {
      const C_ g_ = load<C_>(dy_, from_ + k_ * dy_.strides[k_loop_dims - 1]),
               v_ = load<C_>(y_, of_ + k_ * y_.strides[k_loop_dims - 1]);
      store<C_>(out_, to_ + k_ * out_.strides[k_loop_dims - 1],
                log_ ? g_ - ::exp(v_) * sum_.value : (g_ - sum_.value) * v_, request_);
    }
  }
}

/// Element k of the output is that of x at the index, along an axis of `extent` elements that are `step`
/// apart. An index out of range gives 0.
template <class C_>
__global__ void gather_elements(LoopDims d_, Side x_, Side index_, Side out_, long long extent_,
                                long long step_, int request_) {
  TARSIA_GRID_LOOP(k_, d_.count) {
    long long i_ = load<long long>(index_, place_of(d_, index_.strides, k_));
    if (i_ < 0 && index_.type != k_uint64) i_ += extent_;
    const bool is_there_ = i_ >= 0 && i_ < extent_;
    const C_ v_ = is_there_ ? load<C_>(x_, place_of(d_, x_.strides, k_) + i_ * step_) : C_(0);
    store<C_>(out_, place_of(d_, out_.strides, k_), v_, request_);
  }
}
/// A thread for each place beside the axis adds its updates one after the other.
template <class C_>
__global__ void scatter_elements(LoopDims beside_, LoopDims along_, Side out_, Side updates_, Side step_in_,
                                 Side index_, long long extent_, long long step_) {
  TARSIA_GRID_LOOP(k_, beside_.count) {
    const long long to_ = place_of(beside_, out_.strides, k_),
                    from_ = place_of(beside_, updates_.strides, k_);
    for (long long j_ = 0; j_ < along_.count; ++j_) {
      long long i_ = load<long long>(index_, place_of(along_, index_.strides, j_));
      if (i_ < 0 && index_.type != k_uint64) i_ += extent_;
      if (i_ < 0 || i_ >= extent_) continue;
      store<C_>(out_, to_ + i_ * step_, load<C_>(updates_, from_ + place_of(along_, step_in_.strides, j_)),
                3);
    }
  }
}

/// c = a b for matrices of m by k and k by n, one of each for each place of a batch. Strides are those of
/// rows and columns, and of the batch's dimensions.
template <class C_>
__global__ void multiply_matrices(LoopDims batch_, Side a_, Side b_, Side c_, long long m_, long long n_,
                                  long long k_, long long ar_, long long ac_, long long br_, long long bc_,
                                  long long cr_, long long cc_, int request_) {
  __shared__ C_ left_[16][17], right_[16][17];
  const int x_ = static_cast<int>(threadIdx.x), y_ = static_cast<int>(threadIdx.y);
  const long long tiles_n_ = (n_ + 15) / 16, tiles_ = tiles_n_ * ((m_ + 15) / 16);
  for (long long t_ = blockIdx.x; t_ < tiles_ * batch_.count; t_ += gridDim.x) {
    const long long at_ = t_ / tiles_, tile_ = t_ % tiles_;
    const long long row_ = tile_ / tiles_n_ * 16 + y_, column_ = tile_ % tiles_n_ * 16 + x_;
    const long long a0_ = place_of(batch_, a_.strides, at_), b0_ = place_of(batch_, b_.strides, at_);
    C_ sum_ = C_(0);
    for (long long from_ = 0; from_ < k_; from_ += 16) {
      left_[y_][x_] =
          row_ < m_ && from_ + x_ < k_ ? load<C_>(a_, a0_ + row_ * ar_ + (from_ + x_) * ac_) : C_(0);
      right_[y_][x_] =
          column_ < n_ && from_ + y_ < k_ ? load<C_>(b_, b0_ + (from_ + y_) * br_ + column_ * bc_) : C_(0);
      __syncthreads();
      for (int i_ = 0; i_ < 16; ++i_) sum_ += left_[y_][i_] * right_[i_][x_];
      __syncthreads();
    }
    if (row_ < m_ && column_ < n_)
      store<C_>(c_, place_of(batch_, c_.strides, at_) + row_ * cr_ + column_ * cc_, sum_, request_);
  }
}

}  // namespace detail
}  // namespace math
}  // namespace tarsia

#endif
