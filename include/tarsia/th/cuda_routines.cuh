// Defines the functions of THC that run kernels or copy between the CPU and GPUs. Tarsia's compiler compiles this text
// beside sources that call some of them. It defines those whose name a macro TARSIA_TH_WANTED_name has as `~, 1`.
#include <tarsia/device.h>
#include <tarsia/th/functors.h>

#if !defined(__CUDACC_RTC__)
#include <tarsia/th/cpu_loops.h>
#include <tarsia/th/gpu.h>
#endif

namespace tarsia {
namespace th {
namespace gpu {

enum { k_dims = 16, k_threads = 256, k_tile = 16 };

/// A tensor as kernels get it. Without dimensions, its elements lie one after the other.
struct Side {
  void* data;
  int ndim;
  long size[k_dims];
  long stride[k_dims];
};

template <class T_>
__device__ T_& at(const Side& s_, long i_) {
  long offset_ = s_.ndim ? 0 : i_;
  for (int d_ = s_.ndim - 1; d_ >= 0; --d_) {
    offset_ += i_ % s_.size[d_] * s_.stride[d_];
    i_ /= s_.size[d_];
  }
  return static_cast<T_*>(s_.data)[offset_];
}

template <class T_>
__global__ void tarsia_th_fill(Side r_, long n_, T_ value_) {
  TARSIA_GRID_LOOP(i_, n_) at<T_>(r_, i_) = value_;
}
template <class T_, class F_>
__global__ void tarsia_th_convert(Side r_, Side t_, long n_) {
  TARSIA_GRID_LOOP(i_, n_) at<T_>(r_, i_) = static_cast<T_>(at<F_>(t_, i_));
}
template <class T_, class F_>
__global__ void tarsia_th_map_1(Side r_, Side t_, long n_, F_ f_) {
  TARSIA_GRID_LOOP(i_, n_) at<T_>(r_, i_) = f_(at<T_>(t_, i_));
}
template <class T_, class F_>
__global__ void tarsia_th_map_2(Side r_, Side t_, Side s_, long n_, F_ f_) {
  TARSIA_GRID_LOOP(i_, n_) at<T_>(r_, i_) = f_(at<T_>(t_, i_), at<T_>(s_, i_));
}
template <class T_, class F_>
__global__ void tarsia_th_map_3(Side r_, Side t_, Side a_, Side b_, long n_, F_ f_) {
  TARSIA_GRID_LOOP(i_, n_) at<T_>(r_, i_) = f_(at<T_>(t_, i_), at<T_>(a_, i_), at<T_>(b_, i_));
}
/// One block, so that the order of the sum is always the same.
template <class T_, class S_, class F_>
__global__ void tarsia_th_reduce(S_* r_, Side t_, long n_, F_ f_) {
  __shared__ S_ parts_[k_threads];
  S_ sum_ = F_::first();
  for (long i_ = threadIdx.x; i_ < n_; i_ += k_threads) sum_ = f_(sum_, static_cast<S_>(at<T_>(t_, i_)));
  parts_[threadIdx.x] = sum_;
  __syncthreads();
  for (int half_ = k_threads / 2; half_ > 0; half_ /= 2) {
    if (threadIdx.x < half_) parts_[threadIdx.x] = f_(parts_[threadIdx.x], parts_[threadIdx.x + half_]);
    __syncthreads();
  }
  if (threadIdx.x == 0) *r_ = parts_[0];
}
template <class T_>
__global__ void tarsia_th_dot(double* r_, Side a_, Side b_, long n_) {
  __shared__ double parts_[k_threads];
  double sum_ = 0;
  for (long i_ = threadIdx.x; i_ < n_; i_ += k_threads)
    sum_ += static_cast<double>(at<T_>(a_, i_)) * static_cast<double>(at<T_>(b_, i_));
  parts_[threadIdx.x] = sum_;
  __syncthreads();
  for (int half_ = k_threads / 2; half_ > 0; half_ /= 2) {
    if (threadIdx.x < half_) parts_[threadIdx.x] += parts_[threadIdx.x + half_];
    __syncthreads();
  }
  if (threadIdx.x == 0) *r_ = parts_[0];
}
/// c = alpha * a * b + beta * c, by tiles in shared memory; elements lie by strides.
template <class T_>
__global__ void tarsia_th_multiply(long m_, long n_, long k_, T_ alpha_, const T_* a_, long a0_, long a1_,
                                   const T_* b_, long b0_, long b1_, T_ beta_, T_* c_, long c0_, long c1_) {
  __shared__ T_ left_[k_tile][k_tile + 1], right_[k_tile][k_tile + 1];
  const long i_ = static_cast<long>(blockIdx.x) * k_tile + threadIdx.y;
  const long j_ = static_cast<long>(blockIdx.y) * k_tile + threadIdx.x;
  T_ sum_ = 0;
  for (long l_ = 0; l_ < k_; l_ += k_tile) {
    const long x_ = l_ + threadIdx.x, y_ = l_ + threadIdx.y;
    left_[threadIdx.y][threadIdx.x] = i_ < m_ && x_ < k_ ? a_[i_ * a0_ + x_ * a1_] : T_(0);
    right_[threadIdx.y][threadIdx.x] = y_ < k_ && j_ < n_ ? b_[y_ * b0_ + j_ * b1_] : T_(0);
    __syncthreads();
    for (int p_ = 0; p_ < k_tile; ++p_) sum_ += left_[threadIdx.y][p_] * right_[p_][threadIdx.x];
    __syncthreads();
  }
  if (i_ >= m_ || j_ >= n_) return;
  T_& to_ = c_[i_ * c0_ + j_ * c1_];
  to_ = alpha_ * sum_ + (beta_ == T_(0) ? T_(0) : beta_ * to_);
}

#if !defined(__CUDACC_RTC__)

using namespace th;

inline void check(cudaError_t error_) {
  if (error_) throw CallError(TARSIA_CUDA_ERROR, cudaGetErrorString(error_));
}
inline cudaStream_t stream() {
  return static_cast<cudaStream_t>(detail::attached()->current_stream(-1));
}
inline void wait() {
  check(cudaStreamSynchronize(stream()));
}
inline bool is_on_gpu(const View* v_) {
  return v_->storage && v_->storage->device >= 0;
}
inline Side side(const View* v_, Kind kind_) {
  Side s_ = {data(v_, kind_), 0, {}, {}};
  if (is_contiguous(v_)) return s_;
  if (v_->ndim > k_dims) throw ValueError("a tensor of more than 16 dimensions, which is not contiguous");
  s_.ndim = v_->ndim;
  for (int i_ = 0; i_ < v_->ndim; ++i_) s_.size[i_] = v_->size[i_], s_.stride[i_] = v_->stride[i_];
  return s_;
}
template <class T_>
Side side(const View* v_) {
  return side(v_, kind_of<T_>(true));
}
inline unsigned grid(ptrdiff_t n_) {
  return blocks(n_, k_threads);
}

template <class T_>
void fill(View* r_, T_ value_) {
  const ptrdiff_t n_ = count(r_);
  if (!n_) return;
  tarsia_th_fill<T_><<<grid(n_), k_threads, 0, stream()>>>(side<T_>(r_), n_, value_);
  check(cudaGetLastError());
}
template <class T_>
void fill_storage(Storage* s_, T_ value_) {
  if (!s_->size) return;
  const Side all_ = {s_->data, 0, {}, {}};
  tarsia_th_fill<T_><<<grid(s_->size), k_threads, 0, stream()>>>(all_, s_->size, value_);
  check(cudaGetLastError());
}

template <class T_, class F_>
void convert(View* r_, const View* t_, ptrdiff_t n_) {
  tarsia_th_convert<T_, F_><<<grid(n_), k_threads, 0, stream()>>>(side<T_>(r_), side<F_>(t_), n_);
  check(cudaGetLastError());
}
template <class T_>
void transfer(View* r_, const View* t_, ptrdiff_t n_, cudaMemcpyKind direction_) {
  check(cudaMemcpyAsync(data(r_, kind_of<T_>(true)), data(t_, kind_of<T_>(true)),
                        static_cast<size_t>(n_) * sizeof(T_), direction_, stream()));
  wait();
}
/// A tensor that ends with the function.
struct Temporary {
  View* view;
  explicit Temporary(View* view_) : view(view_) {}
  Temporary(const Temporary&) = delete;
  ~Temporary() { release(view); }
};
/// Copies between any places. What crosses between the CPU and a GPU lies in one piece and has the type of the result.
template <class T_, class F_>
void copy(View* r_, View* t_) {
  const ptrdiff_t n_ = count(r_);
  if (n_ != count(t_))
    throw ValueError(Message("a tensor of shape ") << *t_ << " is to be copied into one of shape " << *r_
                                                   << ": they have other numbers of elements");
  if (!n_) return;
  if (is_on_gpu(r_) && is_on_gpu(t_)) return convert<T_, F_>(r_, t_, n_);
  if (!is_on_gpu(r_) && !is_on_gpu(t_)) return cpu::copy<T_, F_>(r_, t_);
  if (is_on_gpu(r_)) {
    const Temporary from_(new_like(t_, kind_of<T_>(false)));
    cpu::copy<T_, F_>(from_.view, t_);
    if (is_contiguous(r_)) return transfer<T_>(r_, from_.view, n_, cudaMemcpyHostToDevice);
    const Temporary there_(new_like(t_, kind_of<T_>(true)));
    transfer<T_>(there_.view, from_.view, n_, cudaMemcpyHostToDevice);
    return convert<T_, T_>(r_, there_.view, n_);
  }
  const Temporary from_(new_like(t_, kind_of<T_>(true)));
  convert<T_, F_>(from_.view, t_, n_);
  if (is_contiguous(r_)) return transfer<T_>(r_, from_.view, n_, cudaMemcpyDeviceToHost);
  const Temporary here_(new_like(t_, kind_of<T_>(false)));
  transfer<T_>(here_.view, from_.view, n_, cudaMemcpyDeviceToHost);
  cpu::copy<T_, T_>(r_, here_.view);
}
template <class T_>
void set_element(View* v_, std::initializer_list<long> index_, T_ value_) {
  T_* to_ = reinterpret_cast<T_*>(data(v_, kind_of<T_>(true))) + cpu::offset_of(v_, index_);
  check(cudaMemcpyAsync(to_, &value_, sizeof value_, cudaMemcpyHostToDevice, stream()));
  wait();
}
template <class T_>
T_ read(const T_* from_) {
  T_ value_;
  check(cudaMemcpyAsync(&value_, from_, sizeof value_, cudaMemcpyDeviceToHost, stream()));
  wait();
  return value_;
}
template <class T_>
T_ get_element(const View* v_, std::initializer_list<long> index_) {
  return read(reinterpret_cast<const T_*>(data(v_, kind_of<T_>(true))) + cpu::offset_of(v_, index_));
}

template <class F_, class T_ = typename F_::element>
void map(View* r_, Kind kind_, View* t_, F_ f_) {
  prepare(r_, kind_, t_, {});
  const ptrdiff_t n_ = count(t_);
  if (!n_) return;
  tarsia_th_map_1<T_, F_><<<grid(n_), k_threads, 0, stream()>>>(side<T_>(r_), side<T_>(t_), n_, f_);
  check(cudaGetLastError());
}
template <class F_, class T_ = typename F_::element>
void map(View* r_, Kind kind_, View* t_, View* s_, F_ f_) {
  prepare(r_, kind_, t_, {s_});
  const ptrdiff_t n_ = count(t_);
  if (!n_) return;
  tarsia_th_map_2<T_, F_><<<grid(n_), k_threads, 0, stream()>>>(side<T_>(r_), side<T_>(t_), side<T_>(s_), n_, f_);
  check(cudaGetLastError());
}
template <class F_, class T_ = typename F_::element>
void map(View* r_, Kind kind_, View* t_, View* a_, View* b_, F_ f_) {
  prepare(r_, kind_, t_, {a_, b_});
  const ptrdiff_t n_ = count(t_);
  if (!n_) return;
  tarsia_th_map_3<T_, F_>
      <<<grid(n_), k_threads, 0, stream()>>>(side<T_>(r_), side<T_>(t_), side<T_>(a_), side<T_>(b_), n_, f_);
  check(cudaGetLastError());
}
template <class T_, class F_>
typename F_::sum reduce(View* t_, F_ f_) {
  typedef typename F_::sum S_;
  S_* sum_ = static_cast<S_*>(scratch(sizeof(S_), device_of(Kind{1, true})));
  tarsia_th_reduce<T_, S_, F_><<<1, k_threads, 0, stream()>>>(sum_, side<T_>(t_), count(t_), f_);
  check(cudaGetLastError());
  return read(sum_);
}
template <class T_>
double dot(View* a_, View* b_, Kind) {
  if (count(a_) != count(b_)) throw ValueError("dot() is asked for of tensors of other numbers of elements");
  double* sum_ = static_cast<double*>(scratch(sizeof(double), device_of(Kind{1, true})));
  tarsia_th_dot<T_><<<1, k_threads, 0, stream()>>>(sum_, side<T_>(a_), side<T_>(b_), count(a_));
  check(cudaGetLastError());
  return read(sum_);
}

template <class T_>
void multiply(long m_, long n_, long k_, T_ alpha_, const T_* a_, long a0_, long a1_, const T_* b_, long b0_, long b1_,
              T_ beta_, T_* c_, long c0_, long c1_) {
  if (m_ <= 0 || n_ <= 0) return;
  const dim3 tiles_(static_cast<unsigned>((m_ + k_tile - 1) / k_tile),
                    static_cast<unsigned>((n_ + k_tile - 1) / k_tile));
  tarsia_th_multiply<T_><<<tiles_, dim3(k_tile, k_tile), 0, stream()>>>(m_, n_, k_, alpha_, a_, a0_, a1_, b_, b0_, b1_,
                                                                       beta_, c_, c0_, c1_);
  check(cudaGetLastError());
}
template <class T_>
void gemm(char ta_, char tb_, long m_, long n_, long k_, T_ alpha_, const T_* a_, long lda_, const T_* b_, long ldb_,
          T_ beta_, T_* c_, long ldc_) {
  const bool is_a_ = ta_ == 't' || ta_ == 'T', is_b_ = tb_ == 't' || tb_ == 'T';
  // The transposed product: blocks then run along the columns of c, which lie one after the other.
  multiply<T_>(n_, m_, k_, alpha_, b_, is_b_ ? 1 : ldb_, is_b_ ? ldb_ : 1, a_, is_a_ ? 1 : lda_, is_a_ ? lda_ : 1, beta_, c_,
               ldc_, 1L);
}
template <class T_>
void gemv(char t_, long m_, long n_, T_ alpha_, const T_* a_, long lda_, const T_* x_, long incx_, T_ beta_, T_* y_,
          long incy_) {
  const bool is_t_ = t_ == 't' || t_ == 'T';
  multiply<T_>(is_t_ ? n_ : m_, 1, is_t_ ? m_ : n_, alpha_, a_, is_t_ ? lda_ : 1, is_t_ ? 1 : lda_, x_, incx_, 1L, beta_,
               y_, incy_, 1L);
}
template <class T_>
void addmm(View* r_, Kind kind_, T_ beta_, View* t_, T_ alpha_, View* a_, View* b_) {
  check_product(a_, b_, t_);
  if (r_ != t_) {
    resize_as(r_, kind_, t_);
    copy<T_, T_>(r_, t_);
  }
  multiply<T_>(a_->size[0], b_->size[1], a_->size[1], alpha_, reinterpret_cast<T_*>(data(a_, kind_)), a_->stride[0],
               a_->stride[1], reinterpret_cast<T_*>(data(b_, kind_)), b_->stride[0], b_->stride[1], beta_,
               reinterpret_cast<T_*>(data(r_, kind_)), r_->stride[0], r_->stride[1]);
}
template <class T_>
void addmv(View* r_, Kind kind_, T_ beta_, View* t_, T_ alpha_, View* a_, View* b_) {
  check_product(a_, b_, t_);
  if (r_ != t_) {
    resize_as(r_, kind_, t_);
    copy<T_, T_>(r_, t_);
  }
  multiply<T_>(a_->size[0], 1L, a_->size[1], alpha_, reinterpret_cast<T_*>(data(a_, kind_)), a_->stride[0], a_->stride[1],
               reinterpret_cast<T_*>(data(b_, kind_)), b_->stride[0], 1L, beta_, reinterpret_cast<T_*>(data(r_, kind_)),
               r_->stride[0], 1L);
}

#endif

}  // namespace gpu
}  // namespace th
}  // namespace tarsia

#if !defined(__CUDACC_RTC__)

#define TARSIA_TH_CAT(a_, b_) TARSIA_TH_CAT_2(a_, b_)
#define TARSIA_TH_CAT_2(a_, b_) a_##b_
#define TARSIA_TH_SECOND(...) TARSIA_TH_SECOND_2(__VA_ARGS__)
#define TARSIA_TH_SECOND_2(a_, b_, ...) b_
#define TARSIA_TH_IS_WANTED(symbol_) TARSIA_TH_SECOND(TARSIA_TH_CAT(TARSIA_TH_WANTED_, symbol_), 0, 0)
#define TARSIA_TH_EMIT(symbol_, ...) \
  TARSIA_TH_CAT(TARSIA_TH_EMIT_, TARSIA_TH_IS_WANTED(symbol_))(symbol_, __VA_ARGS__)
#define TARSIA_TH_EMIT_0(symbol_, ...)
#define TARSIA_TH_EMIT_1(symbol_, result_, parameters_, ...) \
  extern "C" TARSIA_TH_HIDDEN result_ symbol_ parameters_ {  \
    using namespace tarsia::th::gpu;                         \
    return __VA_ARGS__;                                      \
  }
#define TARSIA_TH_F(result_, name_, parameters_, ...) \
  TARSIA_TH_EMIT(TARSIA_TH_PASTE(TARSIA_TH_T, name_), result_, parameters_, __VA_ARGS__)
#define TARSIA_TH_FS(result_, name_, parameters_, ...) \
  TARSIA_TH_EMIT(TARSIA_TH_PASTE(TARSIA_TH_S, name_), result_, parameters_, __VA_ARGS__)

#define TARSIA_TH_GPU
#define TARSIA_TH_FILE <tarsia/th/value_functions.h>
#include <tarsia/th/each_type.h>
#undef TARSIA_TH_FILE
#undef TARSIA_TH_GPU

#define TARSIA_TH_COPY(tensor_, real_, name_, from_, element_)                                  \
  TARSIA_TH_EMIT(TARSIA_TH_PASTE(tensor_, name_), void, (THCState*, tensor_* r_, from_* t_), \
                 (tarsia::th::gpu::copy<real_, element_>(tarsia::th::tensor(r_), tarsia::th::tensor(t_))))
#define TARSIA_TH_TO_CPU(tensor_, real_, same_)                               \
  TARSIA_TH_COPY(tensor_, real_, copyCuda, same_, real_)                       \
  TARSIA_TH_COPY(tensor_, real_, copyCudaByte, THCudaByteTensor, unsigned char) \
  TARSIA_TH_COPY(tensor_, real_, copyCudaChar, THCudaCharTensor, char)          \
  TARSIA_TH_COPY(tensor_, real_, copyCudaShort, THCudaShortTensor, short)       \
  TARSIA_TH_COPY(tensor_, real_, copyCudaInt, THCudaIntTensor, int)             \
  TARSIA_TH_COPY(tensor_, real_, copyCudaLong, THCudaLongTensor, long)          \
  TARSIA_TH_COPY(tensor_, real_, copyCudaFloat, THCudaTensor, float)            \
  TARSIA_TH_COPY(tensor_, real_, copyCudaDouble, THCudaDoubleTensor, double)
TARSIA_TH_TO_CPU(THByteTensor, unsigned char, THCudaByteTensor)
TARSIA_TH_TO_CPU(THCharTensor, char, THCudaCharTensor)
TARSIA_TH_TO_CPU(THShortTensor, short, THCudaShortTensor)
TARSIA_TH_TO_CPU(THIntTensor, int, THCudaIntTensor)
TARSIA_TH_TO_CPU(THLongTensor, long, THCudaLongTensor)
TARSIA_TH_TO_CPU(THFloatTensor, float, THCudaTensor)
TARSIA_TH_TO_CPU(THDoubleTensor, double, THCudaDoubleTensor)

#define TARSIA_TH_BLAS(gemm_, gemv_, real_)                                                                          \
  TARSIA_TH_EMIT(gemm_, void,                                                                                        \
                 (THCState*, char ta_, char tb_, long m_, long n_, long k_, real_ alpha_, real_* a_, long lda_,       \
                  real_* b_, long ldb_, real_ beta_, real_* c_, long ldc_),                                          \
                 gemm<real_>(ta_, tb_, m_, n_, k_, alpha_, a_, lda_, b_, ldb_, beta_, c_, ldc_))                      \
  TARSIA_TH_EMIT(gemv_, void,                                                                                        \
                 (THCState*, char t_, long m_, long n_, real_ alpha_, real_* a_, long lda_, real_* x_, long incx_,    \
                  real_ beta_, real_* y_, long incy_),                                                               \
                 gemv<real_>(t_, m_, n_, alpha_, a_, lda_, x_, incx_, beta_, y_, incy_))
TARSIA_TH_BLAS(THCudaBlas_Sgemm, THCudaBlas_Sgemv, float)
TARSIA_TH_BLAS(THCudaBlas_Dgemm, THCudaBlas_Dgemv, double)

#endif
