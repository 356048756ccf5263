// cuBLAS for products of matrices on a GPU: it is opened when the first product needs it.
#pragma once

#include <tarsia/math/elementwise.h>

#if !defined(__CUDACC_RTC__) && (defined(__CUDACC__) || defined(__CUDA__))

#include <tarsia/detail/macros_push.h>

#include <dlfcn.h>

#include <map>
#include <mutex>

namespace tarsia {
namespace math {
namespace detail {

/// cuBLAS's functions, by their C interface.
class Cublas {
 public:
  typedef struct cublasContext* Handle;
  typedef int (*Gemm)(Handle, int, int, int, int, int, const void*, const void*, int, int, long long,
                      const void*, int, int, long long, const void*, void*, int, int, long long, int, int,
                      int);

  int (*create)(Handle*) = nullptr;
  int (*set_stream)(Handle, CUstream_st*) = nullptr;
  Gemm gemm = nullptr;

  static Cublas& get() {
    static Cublas* const one_ = new Cublas();  // handles may be in use when the process ends
    return *one_;
  }
  /// Holds the handle of the current device while it lives: a handle is for one thread at a time.
  class Locked {
   public:
    explicit Locked(CUstream_st* stream_) : m_lock(get().m_mutex), m_handle(nullptr) {
      int device_ = 0;
      if (!get().gemm || cudaGetDevice(&device_) != cudaSuccess) return;
      Handle& handle_ = get().m_handles[device_];
      if (!handle_ && get().create(&handle_) != 0) handle_ = nullptr;
      if (handle_ && get().set_stream(handle_, stream_) == 0) m_handle = handle_;
    }
    Handle handle() const { return m_handle; }

   private:
    std::lock_guard<std::mutex> m_lock;
    Handle m_handle;
  };

 private:
  Cublas() {
    void* library_ = nullptr;
    for (const char* name_ : {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "libcublas.so"})
      if (!library_) library_ = dlopen(name_, RTLD_NOW | RTLD_LOCAL);
    if (!library_) return;
    create = reinterpret_cast<int (*)(Handle*)>(dlsym(library_, "cublasCreate_v2"));
    set_stream = reinterpret_cast<int (*)(Handle, CUstream_st*)>(dlsym(library_, "cublasSetStream_v2"));
    gemm = reinterpret_cast<Gemm>(dlsym(library_, "cublasGemmStridedBatchedEx"));
    if (!create || !set_stream) gemm = nullptr;
  }
  std::mutex m_mutex;
  std::map<int, Handle> m_handles;
};

/// A batch of matrices: rows and columns are `rs` and `cs` elements apart, and the matrices `step`.
struct Batch {
  char* data;
  long long rs, cs, step;
};

/// c = a b + beta c for matrices by rows or by columns. False if cuBLAS is not there or cannot do it.
/// cuBLAS's matrices lie by columns, so the product is that of the transposed matrices in the other order.
inline bool multiply_by_cublas(CUstream_st* stream_, int type_, const Batch& a_, const Batch& b_,
                               const Batch& c_, long long m_, long long n_, long long k_, long long batch_,
                               bool add_) {
  enum { k_real_32 = 0, k_real_64 = 1, k_real_16 = 2, k_real_16b = 14, k_compute_32 = 68, k_compute_64 = 70 };
  const int of_ = type_ == k_float32    ? k_real_32
                  : type_ == k_float64  ? k_real_64
                  : type_ == k_float16  ? k_real_16
                  : type_ == k_bfloat16 ? k_real_16b
                                        : -1;
  const auto lies_ = [](const Batch& x_, long long rows_, long long columns_, bool& across_, long long& ld_) {
    across_ = !(x_.cs == 1 || columns_ == 1);
    ld_ = across_ ? x_.cs : x_.rs;
    if (across_ && x_.rs != 1 && rows_ != 1) return false;
    const long long least_ = across_ ? rows_ : columns_;
    if ((across_ ? columns_ : rows_) == 1 && ld_ < least_) ld_ = least_;
    return ld_ >= least_ && ld_ <= 0x7fffffff;
  };
  bool ta_, tb_, tc_;
  long long lda_, ldb_, ldc_;
  if (of_ < 0 || m_ > 0x7fffffff || n_ > 0x7fffffff || k_ > 0x7fffffff || batch_ > 0x7fffffff ||
      !lies_(a_, m_, k_, ta_, lda_) || !lies_(b_, k_, n_, tb_, ldb_) || !lies_(c_, m_, n_, tc_, ldc_) || tc_)
    return false;
  const Cublas::Locked cublas_(stream_);
  if (!cublas_.handle()) return false;
  const float one_ = 1, beta_ = add_ ? 1.0f : 0.0f;
  const double one_64_ = 1, beta_64_ = add_ ? 1.0 : 0.0;
  const bool wide_ = of_ == k_real_64;
  return Cublas::get().gemm(cublas_.handle(), tb_, ta_, static_cast<int>(n_), static_cast<int>(m_),
                            static_cast<int>(k_), wide_ ? static_cast<const void*>(&one_64_) : &one_, b_.data,
                            of_, static_cast<int>(ldb_), b_.step, a_.data, of_, static_cast<int>(lda_),
                            a_.step, wide_ ? static_cast<const void*>(&beta_64_) : &beta_, c_.data, of_,
                            static_cast<int>(ldc_), c_.step, static_cast<int>(batch_),
                            wide_ ? k_compute_64 : k_compute_32, -1) == 0;
}

}  // namespace detail
}  // namespace math
}  // namespace tarsia

#include <tarsia/detail/macros_pop.h>

#endif
