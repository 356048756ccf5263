// A BLAS for products of matrices on the CPU: the one of NumPy or SciPy if the process has it, else OpenBLAS,
// MKL or the system's, which is opened when the first product needs it.
#pragma once

#include <tarsia/detail/macros_push.h>

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>

#include <tarsia/detail/support.h>

namespace tarsia {
namespace math {
namespace detail {

/// The functions of a BLAS by their C interface, with integers of 32 or of 64 bits. Both are null if there is
/// none.
struct Blas {
  void *sgemm, *dgemm;
  bool long_integers;
};

/// Names of cblas_sgemm; NumPy's own copy has a prefix.
TARSIA_DETAIL_SUPPORT bool take_blas(void* library_, Blas& blas_) {
  static constexpr const char* k_names[][2] = {{"cblas_sgemm", "cblas_dgemm"},
                                               {"scipy_cblas_sgemm", "scipy_cblas_dgemm"},
                                               {"cblas_sgemm64_", "cblas_dgemm64_"},
                                               {"scipy_cblas_sgemm64_", "scipy_cblas_dgemm64_"}};
  for (int i_ = 0; i_ < 4; ++i_) {
    void *const s_ = dlsym(library_, k_names[i_][0]), *const d_ = dlsym(library_, k_names[i_][1]);
    if (!s_ || !d_) continue;
    blas_.sgemm = s_, blas_.dgemm = d_, blas_.long_integers = i_ >= 2;
    return true;
  }
  return false;
}

/// The process's BLAS. TARSIA_BLAS names another one: a library's path, or "none". Thread-safe.
TARSIA_DETAIL_SUPPORT const Blas& blas() {
  static const Blas found_ = [] {
    Blas blas_ = {nullptr, nullptr, false};
    if (const char* const given_ = ::getenv("TARSIA_BLAS")) {
      void* const library_ = dlopen(given_, RTLD_NOW | RTLD_LOCAL);
      if (library_) take_blas(library_, blas_);
      return blas_;
    }
    // The walk holds a lock of the loader's, under which nothing may be opened: it copies one path.
    struct Look {
      int skipped;  // libraries that were looked at before
      char path[4096];
      static int at(dl_phdr_info* info_, size_t, void* look_) {
        Look& l_ = *static_cast<Look*>(look_);
        if (!info_->dlpi_name || !__builtin_strstr(info_->dlpi_name, "openblas") || l_.skipped-- > 0)
          return 0;
        const size_t n_ = __builtin_strlen(info_->dlpi_name);
        if (n_ < sizeof l_.path) __builtin_memcpy(l_.path, info_->dlpi_name, n_ + 1);
        return 1;
      }
    };
    for (int k_ = 0; !blas_.sgemm; ++k_) {
      Look look_ = {k_, {}};
      dl_iterate_phdr(&Look::at, &look_);
      if (!look_.path[0]) break;
      if (void* const library_ = dlopen(look_.path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD))
        take_blas(library_, blas_);
    }
    for (const char* name_ :
         {"libopenblas.so.0", "libmkl_rt.so.2", "libblis.so.4", "libcblas.so.3", "libblas.so.3"}) {
      if (blas_.sgemm) break;
      void* const library_ = dlopen(name_, RTLD_NOW | RTLD_LOCAL);
      if (library_ && !take_blas(library_, blas_)) dlclose(library_);
    }
    return blas_;
  }();
  return found_;
}

/// c = a b + beta c, by the BLAS. Matrices lie by rows, or by columns if they are transposed; `ld` is what
/// their rows, or columns, are apart. False if there is no BLAS, or it has no such integers.
template <class C_>
bool multiply_by_blas(void* function_, bool ta_, bool tb_, long long m_, long long n_, long long k_,
                      const C_* a_, long long lda_, const C_* b_, long long ldb_, C_ beta_, C_* c_,
                      long long ldc_) {
  if (!function_) return false;
  enum { k_by_rows = 101, k_plain = 111, k_transposed = 112 };
  const int x_ = ta_ ? k_transposed : k_plain, y_ = tb_ ? k_transposed : k_plain;
  if (blas().long_integers) {
    typedef void (*Gemm)(int, int, int, long long, long long, long long, C_, const C_*, long long, const C_*,
                         long long, C_, C_*, long long);
    reinterpret_cast<Gemm>(function_)(k_by_rows, x_, y_, m_, n_, k_, C_(1), a_, lda_, b_, ldb_, beta_, c_,
                                      ldc_);
    return true;
  }
  for (long long one_ : {m_, n_, k_, lda_, ldb_, ldc_})
    if (one_ > 0x7fffffff) return false;
  typedef void (*Gemm)(int, int, int, int, int, int, C_, const C_*, int, const C_*, int, C_, C_*, int);
  reinterpret_cast<Gemm>(function_)(k_by_rows, x_, y_, static_cast<int>(m_), static_cast<int>(n_),
                                    static_cast<int>(k_), C_(1), a_, static_cast<int>(lda_), b_,
                                    static_cast<int>(ldb_), beta_, c_, static_cast<int>(ldc_));
  return true;
}
inline bool multiply_by_blas(bool ta_, bool tb_, long long m_, long long n_, long long k_, const float* a_,
                             long long lda_, const float* b_, long long ldb_, float beta_, float* c_,
                             long long ldc_) {
  return multiply_by_blas<float>(blas().sgemm, ta_, tb_, m_, n_, k_, a_, lda_, b_, ldb_, beta_, c_, ldc_);
}
inline bool multiply_by_blas(bool ta_, bool tb_, long long m_, long long n_, long long k_, const double* a_,
                             long long lda_, const double* b_, long long ldb_, double beta_, double* c_,
                             long long ldc_) {
  return multiply_by_blas<double>(blas().dgemm, ta_, tb_, m_, n_, k_, a_, lda_, b_, ldb_, beta_, c_, ldc_);
}
/// Whole numbers have none.
template <class C_>
bool multiply_by_blas(bool, bool, long long, long long, long long, const C_*, long long, const C_*, long long,
                      C_, C_*, long long) {
  return false;
}

}  // namespace detail
}  // namespace math
}  // namespace tarsia

#include <tarsia/detail/macros_pop.h>
