/* What TH/TH.h declares: tensors on the CPU. */
#ifndef TARSIA_TH_CPU_H
#define TARSIA_TH_CPU_H

#include <tarsia/detail/macros_push.h>

#include <tarsia/th/apply.h>
#include <tarsia/th/general.h>
#include <tarsia/th/types.h>

#define TARSIA_TH_PASTE(a_, b_) TARSIA_TH_PASTE_2(a_, b_)
#define TARSIA_TH_PASTE_2(a_, b_) a_##_##b_

#define TARSIA_TH_F(result_, name_, parameters_, ...) \
  TARSIA_TH_HIDDEN result_ TARSIA_TH_PASTE(TARSIA_TH_T, name_) parameters_;
#define TARSIA_TH_FS(result_, name_, parameters_, ...) \
  TARSIA_TH_HIDDEN result_ TARSIA_TH_PASTE(TARSIA_TH_S, name_) parameters_;
#define TARSIA_TH_CPU

TARSIA_TH_BEGIN
#define TARSIA_TH_FILE <tarsia/th/tensor_functions.h>
#include <tarsia/th/each_type.h>
#undef TARSIA_TH_FILE
#define TARSIA_TH_FILE <tarsia/th/value_functions.h>
#include <tarsia/th/each_type.h>
#undef TARSIA_TH_FILE
#define TARSIA_TH_FILE <tarsia/th/cpu_functions.h>
#include <tarsia/th/each_type.h>
#undef TARSIA_TH_FILE

TARSIA_TH_HIDDEN THLongStorage* THLongStorage_newWithSize1(long a_);
TARSIA_TH_HIDDEN THLongStorage* THLongStorage_newWithSize2(long a_, long b_);
TARSIA_TH_HIDDEN THLongStorage* THLongStorage_newWithSize3(long a_, long b_, long c_);
TARSIA_TH_HIDDEN THLongStorage* THLongStorage_newWithSize4(long a_, long b_, long c_, long d_);
TARSIA_TH_HIDDEN long THLongStorage_get(const THLongStorage* self_, ptrdiff_t i_);
TARSIA_TH_HIDDEN void THLongStorage_set(THLongStorage* self_, ptrdiff_t i_, long value_);

/* Column-major, as in Fortran: c = alpha * op(a) * op(b) + beta * c; `t` transposes. */
TARSIA_TH_HIDDEN void THFloatBlas_gemm(char ta_, char tb_, long m_, long n_, long k_, float alpha_, float* a_,
                                       long lda_, float* b_, long ldb_, float beta_, float* c_, long ldc_);
TARSIA_TH_HIDDEN void THDoubleBlas_gemm(char ta_, char tb_, long m_, long n_, long k_, double alpha_,
                                        double* a_, long lda_, double* b_, long ldb_, double beta_,
                                        double* c_, long ldc_);
TARSIA_TH_HIDDEN void THFloatBlas_gemv(char t_, long m_, long n_, float alpha_, float* a_, long lda_,
                                       float* x_, long incx_, float beta_, float* y_, long incy_);
TARSIA_TH_HIDDEN void THDoubleBlas_gemv(char t_, long m_, long n_, double alpha_, double* a_, long lda_,
                                        double* x_, long incx_, double beta_, double* y_, long incy_);
TARSIA_TH_HIDDEN void THFloatBlas_axpy(long n_, float a_, float* x_, long incx_, float* y_, long incy_);
TARSIA_TH_HIDDEN void THDoubleBlas_axpy(long n_, double a_, double* x_, long incx_, double* y_, long incy_);
TARSIA_TH_HIDDEN void THFloatBlas_copy(long n_, float* x_, long incx_, float* y_, long incy_);
TARSIA_TH_HIDDEN void THFloatBlas_swap(long n_, float* x_, long incx_, float* y_, long incy_);
TARSIA_TH_HIDDEN void THFloatBlas_scal(long n_, float a_, float* x_, long incx_);
TARSIA_TH_HIDDEN float THFloatBlas_dot(long n_, float* x_, long incx_, float* y_, long incy_);
TARSIA_TH_HIDDEN void THDoubleBlas_copy(long n_, double* x_, long incx_, double* y_, long incy_);
TARSIA_TH_HIDDEN void THDoubleBlas_swap(long n_, double* x_, long incx_, double* y_, long incy_);
TARSIA_TH_HIDDEN void THDoubleBlas_scal(long n_, double a_, double* x_, long incx_);
TARSIA_TH_HIDDEN double THDoubleBlas_dot(long n_, double* x_, long incx_, double* y_, long incy_);
TARSIA_TH_END

#undef TARSIA_TH_CPU
#undef TARSIA_TH_F
#undef TARSIA_TH_FS

/* The functions of a type whose name is a macro: THTensor_(size) where `Real` is Float. */
#define THTensor TH_CONCAT_3(TH, Real, Tensor)
#define THTensor_(name_) TH_CONCAT_4(TH, Real, Tensor_, name_)
#define THStorage TH_CONCAT_3(TH, Real, Storage)
#define THStorage_(name_) TH_CONCAT_4(TH, Real, Storage_, name_)
#define THBlas_(name_) TH_CONCAT_4(TH, Real, Blas_, name_)

#include <tarsia/detail/macros_pop.h>

#endif
