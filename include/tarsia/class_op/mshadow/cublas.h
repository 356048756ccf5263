// Products of matrices by cuBLAS, where the machine has it: it is opened when the first product needs it.
#pragma once

#include <dlfcn.h>

#include <map>
#include <mutex>

#include <mshadow/base.h>

namespace mshadow {
namespace tarsia_detail {

struct Product;

/// cuBLAS's functions, by their C interface.
class Cublas {
 public:
  typedef struct cublasContext* Handle;

  int (*create)(Handle*) = nullptr;
  int (*set_stream)(Handle, CUstream_st*) = nullptr;
  int (*sgemm)(Handle, int, int, int, int, int, const float*, const float*, int, long long, const float*, int,
               long long, const float*, float*, int, long long, int) = nullptr;
  int (*dgemm)(Handle, int, int, int, int, int, const double*, const double*, int, long long, const double*,
               int, long long, const double*, double*, int, long long, int) = nullptr;

  static Cublas& get() {
    static Cublas* const one = new Cublas();  // handles may be in use when the process ends
    return *one;
  }
  /// Holds the library's handle of the current device while it lives: a handle is for one thread at a time.
  class Locked {
   public:
    explicit Locked(CUstream_st* stream) : m_lock(get().m_mutex) {
      int device = 0;
      if (!get().dgemm || cudaGetDevice(&device) != cudaSuccess) return;
      Handle& handle = get().m_handles[device];
      if (!handle && get().create(&handle) != 0) handle = nullptr;
      if (handle && get().set_stream(handle, stream) == 0) m_handle = handle;
    }
    Handle handle() const { return m_handle; }

   private:
    std::lock_guard<std::mutex> m_lock;
    Handle m_handle = nullptr;
  };

 private:
  Cublas() {
    void* library = nullptr;
    for (const char* name : {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "libcublas.so"})
      if (!library) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library) return;
    find(library, "cublasCreate_v2", create);
    find(library, "cublasSetStream_v2", set_stream);
    find(library, "cublasSgemmStridedBatched", sgemm);
    find(library, "cublasDgemmStridedBatched", dgemm);
    if (!create || !set_stream || !sgemm) dgemm = nullptr;
  }
  template <class F>
  static void find(void* library, const char* name, F& function) {
    function = reinterpret_cast<F>(dlsym(library, name));
  }
  std::mutex m_mutex;
  std::map<int, Handle> m_handles;
};

inline int cublas_gemm(Cublas::Handle h, int ta, int tb, int m, int n, int k, const float* alpha,
                       const float* a, int lda, long long sa, const float* b, int ldb, long long sb,
                       const float* beta, float* c, int ldc, long long sc, int batch) {
  return Cublas::get().sgemm(h, ta, tb, m, n, k, alpha, a, lda, sa, b, ldb, sb, beta, c, ldc, sc, batch);
}
inline int cublas_gemm(Cublas::Handle h, int ta, int tb, int m, int n, int k, const double* alpha,
                       const double* a, int lda, long long sa, const double* b, int ldb, long long sb,
                       const double* beta, double* c, int ldc, long long sc, int batch) {
  return Cublas::get().dgemm(h, ta, tb, m, n, k, alpha, a, lda, sa, b, ldb, sb, beta, c, ldc, sc, batch);
}

/// False if cuBLAS is not there or cannot do it. cuBLAS's matrices lie by columns, so the product is that of
/// the transposed matrices in the other order.
template <class DType, class P>
bool cublas_multiply(CUstream_st* stream, bool ltrans, bool rtrans, const DType* lhs, const DType* rhs,
                     DType* out, const P& p, DType alpha, DType beta) {
  const long most = 0x7fffffff;
  if (p.m > most || p.n > most || p.k > most || p.lda > most || p.ldb > most || p.ldc > most ||
      p.batch > most)
    return false;
  const Cublas::Locked cublas(stream);
  return cublas.handle() &&
         cublas_gemm(cublas.handle(), rtrans, ltrans, static_cast<int>(p.n), static_cast<int>(p.m),
                     static_cast<int>(p.k), &alpha, rhs, static_cast<int>(p.ldb), p.step_b, lhs,
                     static_cast<int>(p.lda), p.step_a, &beta, out, static_cast<int>(p.ldc), p.step_c,
                     static_cast<int>(p.batch)) == 0;
}
template <class P>
bool cublas_multiply(CUstream_st*, bool, bool, const half::half_t*, const half::half_t*, half::half_t*,
                     const P&, half::half_t, half::half_t) {
  return false;
}

}  // namespace tarsia_detail
}  // namespace mshadow
