/* What THC/THC.h declares: tensors on GPUs, and CUDA's state. */
#ifndef TARSIA_TH_GPU_H
#define TARSIA_TH_GPU_H

#include <tarsia/th/cpu.h>

#include <tarsia/detail/macros_push.h>

/* The same as CUDA's headers say, which may come before or after. */
typedef struct CUstream_st* cudaStream_t;

#define TARSIA_TH_F(result_, name_, parameters_, ...) \
  TARSIA_TH_HIDDEN result_ TARSIA_TH_PASTE(TARSIA_TH_T, name_) parameters_;
#define TARSIA_TH_FS(result_, name_, parameters_, ...) \
  TARSIA_TH_HIDDEN result_ TARSIA_TH_PASTE(TARSIA_TH_S, name_) parameters_;
#define TARSIA_TH_GPU

TARSIA_TH_BEGIN
/* The one state. Sources declare it themselves: extern THCState *state; */
TARSIA_TH_HIDDEN cudaStream_t THCState_getCurrentStream(THCState* state_);
TARSIA_TH_HIDDEN int THCState_getCurrentDevice(THCState* state_);
TARSIA_TH_HIDDEN int THCState_getNumDevices(THCState* state_);
/* Memory that THCudaFree gives back, ordered on the current stream. Returns 0, cudaSuccess. */
TARSIA_TH_HIDDEN int tarsia_th_cuda_malloc(void** memory_, size_t bytes_);
TARSIA_TH_HIDDEN int tarsia_th_cuda_free(void* memory_);

#define TARSIA_TH_FILE <tarsia/th/tensor_functions.h>
#define TARSIA_TH_WITH_HALF
#include <tarsia/th/each_type.h>
#undef TARSIA_TH_WITH_HALF
#undef TARSIA_TH_FILE
#define TARSIA_TH_FILE <tarsia/th/value_functions.h>
#include <tarsia/th/each_type.h>
#undef TARSIA_TH_FILE
#undef TARSIA_TH_GPU
#undef TARSIA_TH_F
#undef TARSIA_TH_FS

/* To the CPU: copyCuda from a GPU's tensor of the same elements, copyCudaFloat and its kin from those of
 * others. */
#define TARSIA_TH_TO_CPU(tensor_, same_)                                                               \
  TARSIA_TH_HIDDEN void tensor_##_copyCuda(THCState* state_, tensor_* r_, same_* t_);                  \
  TARSIA_TH_HIDDEN void tensor_##_copyCudaByte(THCState* state_, tensor_* r_, THCudaByteTensor* t_);   \
  TARSIA_TH_HIDDEN void tensor_##_copyCudaChar(THCState* state_, tensor_* r_, THCudaCharTensor* t_);   \
  TARSIA_TH_HIDDEN void tensor_##_copyCudaShort(THCState* state_, tensor_* r_, THCudaShortTensor* t_); \
  TARSIA_TH_HIDDEN void tensor_##_copyCudaInt(THCState* state_, tensor_* r_, THCudaIntTensor* t_);     \
  TARSIA_TH_HIDDEN void tensor_##_copyCudaLong(THCState* state_, tensor_* r_, THCudaLongTensor* t_);   \
  TARSIA_TH_HIDDEN void tensor_##_copyCudaFloat(THCState* state_, tensor_* r_, THCudaTensor* t_);      \
  TARSIA_TH_HIDDEN void tensor_##_copyCudaDouble(THCState* state_, tensor_* r_, THCudaDoubleTensor* t_);
TARSIA_TH_TO_CPU(THByteTensor, THCudaByteTensor)
TARSIA_TH_TO_CPU(THCharTensor, THCudaCharTensor)
TARSIA_TH_TO_CPU(THShortTensor, THCudaShortTensor)
TARSIA_TH_TO_CPU(THIntTensor, THCudaIntTensor)
TARSIA_TH_TO_CPU(THLongTensor, THCudaLongTensor)
TARSIA_TH_TO_CPU(THFloatTensor, THCudaTensor)
TARSIA_TH_TO_CPU(THDoubleTensor, THCudaDoubleTensor)
#undef TARSIA_TH_TO_CPU

/* Column-major, as in Fortran. */
TARSIA_TH_HIDDEN void THCudaBlas_Sgemm(THCState* state_, char ta_, char tb_, long m_, long n_, long k_,
                                       float alpha_, float* a_, long lda_, float* b_, long ldb_, float beta_,
                                       float* c_, long ldc_);
TARSIA_TH_HIDDEN void THCudaBlas_Dgemm(THCState* state_, char ta_, char tb_, long m_, long n_, long k_,
                                       double alpha_, double* a_, long lda_, double* b_, long ldb_,
                                       double beta_, double* c_, long ldc_);
TARSIA_TH_HIDDEN void THCudaBlas_Sgemv(THCState* state_, char t_, long m_, long n_, float alpha_, float* a_,
                                       long lda_, float* x_, long incx_, float beta_, float* y_, long incy_);
TARSIA_TH_HIDDEN void THCudaBlas_Dgemv(THCState* state_, char t_, long m_, long n_, double alpha_, double* a_,
                                       long lda_, double* x_, long incx_, double beta_, double* y_,
                                       long incy_);

/* 1 if `n_` tensors of any types of THC lie on one GPU; null ones count as there. */
TARSIA_TH_HIDDEN int tarsia_th_on_one_gpu(unsigned n_, ...);
TARSIA_TH_END

#define THCudaTensor_checkGPU(state_, n_, ...) ((void)(state_), tarsia_th_on_one_gpu((n_), __VA_ARGS__))
#define THCudaIntTensor_checkGPU THCudaTensor_checkGPU
#define THCudaLongTensor_checkGPU THCudaTensor_checkGPU
#define THCudaByteTensor_checkGPU THCudaTensor_checkGPU
#define THCudaDoubleTensor_checkGPU THCudaTensor_checkGPU
#define THCudaMalloc(state_, memory_, bytes_) \
  ((void)(state_), tarsia_th_cuda_malloc((void**)(memory_), (bytes_)))
#define THCudaFree(state_, memory_) ((void)(state_), tarsia_th_cuda_free(memory_))
#define THCudaCheck(error_)                                                                            \
  do {                                                                                                 \
    const cudaError_t tarsia_error_ = (error_);                                                        \
    if (tarsia_error_)                                                                                 \
      tarsia_th_check_cuda((int)tarsia_error_, cudaGetErrorString(tarsia_error_), __FILE__, __LINE__); \
  } while (0)
#define THC_API TH_API
#define THC_EXTERNC TH_EXTERNC
#define THCTensor TH_CONCAT_3(TH, CReal, Tensor)
#define THCTensor_(name_) TH_CONCAT_4(TH, CReal, Tensor_, name_)
#define THCStorage TH_CONCAT_3(TH, CReal, Storage)
#define THCStorage_(name_) TH_CONCAT_4(TH, CReal, Storage_, name_)
#define THCAssertSameGPU(expression_) \
  if (!(expression_))                 \
  THError("some of the tensors are on different GPUs, or on the CPU: move them to one GPU")

#include <tarsia/detail/macros_pop.h>

#endif
