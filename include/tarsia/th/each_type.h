/* Includes TARSIA_TH_FILE once for each type, with the macros of <tarsia/th/tensor_functions.h>. Whoever
   includes it defines TARSIA_TH_F and TARSIA_TH_FS, for functions of tensors and of storages, and either
   TARSIA_TH_CPU or TARSIA_TH_GPU, or both. It is included several times. */

#define TARSIA_TH_K TARSIA_TH_KIND_OF(TARSIA_TH_R)

#if defined(TARSIA_TH_CPU)
#define TARSIA_TH_STATE
#define TARSIA_TH_STATE_ALONE void
#define TARSIA_TH_KIND_OF(real_) kind_of<real_>(false)

#define TARSIA_TH_T THByteTensor
#define TARSIA_TH_S THByteStorage
#define TARSIA_TH_R unsigned char
#define TARSIA_TH_A long
#include TARSIA_TH_FILE
#undef TARSIA_TH_T
#undef TARSIA_TH_S
#undef TARSIA_TH_R
#define TARSIA_TH_T THCharTensor
#define TARSIA_TH_S THCharStorage
#define TARSIA_TH_R char
#include TARSIA_TH_FILE
#undef TARSIA_TH_T
#undef TARSIA_TH_S
#undef TARSIA_TH_R
#define TARSIA_TH_T THShortTensor
#define TARSIA_TH_S THShortStorage
#define TARSIA_TH_R short
#include TARSIA_TH_FILE
#undef TARSIA_TH_T
#undef TARSIA_TH_S
#undef TARSIA_TH_R
#define TARSIA_TH_T THIntTensor
#define TARSIA_TH_S THIntStorage
#define TARSIA_TH_R int
#include TARSIA_TH_FILE
#undef TARSIA_TH_T
#undef TARSIA_TH_S
#undef TARSIA_TH_R
#define TARSIA_TH_T THLongTensor
#define TARSIA_TH_S THLongStorage
#define TARSIA_TH_R long
#include TARSIA_TH_FILE
#undef TARSIA_TH_T
#undef TARSIA_TH_S
#undef TARSIA_TH_R
#undef TARSIA_TH_A
#define TARSIA_TH_A double
#define TARSIA_TH_IS_FLOATING
#define TARSIA_TH_T THFloatTensor
#define TARSIA_TH_S THFloatStorage
#define TARSIA_TH_R float
#include TARSIA_TH_FILE
#undef TARSIA_TH_T
#undef TARSIA_TH_S
#undef TARSIA_TH_R
#define TARSIA_TH_T THDoubleTensor
#define TARSIA_TH_S THDoubleStorage
#define TARSIA_TH_R double
#include TARSIA_TH_FILE
#undef TARSIA_TH_T
#undef TARSIA_TH_S
#undef TARSIA_TH_R
#undef TARSIA_TH_A
#undef TARSIA_TH_IS_FLOATING

#undef TARSIA_TH_STATE
#undef TARSIA_TH_STATE_ALONE
#undef TARSIA_TH_KIND_OF
#endif

#if defined(TARSIA_TH_GPU)
#define TARSIA_TH_STATE THCState *state_,
#define TARSIA_TH_STATE_ALONE THCState* state_
#define TARSIA_TH_KIND_OF(real_) kind_of<real_>(true)
#define TARSIA_TH_IS_GPU

#define TARSIA_TH_T THCudaByteTensor
#define TARSIA_TH_S THCudaByteStorage
#define TARSIA_TH_R unsigned char
#define TARSIA_TH_A long
#define TARSIA_TH_CPU_T THByteTensor
#include TARSIA_TH_FILE
#undef TARSIA_TH_T
#undef TARSIA_TH_S
#undef TARSIA_TH_R
#undef TARSIA_TH_CPU_T
#define TARSIA_TH_T THCudaCharTensor
#define TARSIA_TH_S THCudaCharStorage
#define TARSIA_TH_R char
#define TARSIA_TH_CPU_T THCharTensor
#include TARSIA_TH_FILE
#undef TARSIA_TH_T
#undef TARSIA_TH_S
#undef TARSIA_TH_R
#undef TARSIA_TH_CPU_T
#define TARSIA_TH_T THCudaShortTensor
#define TARSIA_TH_S THCudaShortStorage
#define TARSIA_TH_R short
#define TARSIA_TH_CPU_T THShortTensor
#include TARSIA_TH_FILE
#undef TARSIA_TH_T
#undef TARSIA_TH_S
#undef TARSIA_TH_R
#undef TARSIA_TH_CPU_T
#define TARSIA_TH_T THCudaIntTensor
#define TARSIA_TH_S THCudaIntStorage
#define TARSIA_TH_R int
#define TARSIA_TH_CPU_T THIntTensor
#include TARSIA_TH_FILE
#undef TARSIA_TH_T
#undef TARSIA_TH_S
#undef TARSIA_TH_R
#undef TARSIA_TH_CPU_T
#define TARSIA_TH_T THCudaLongTensor
#define TARSIA_TH_S THCudaLongStorage
#define TARSIA_TH_R long
#define TARSIA_TH_CPU_T THLongTensor
#include TARSIA_TH_FILE
#undef TARSIA_TH_T
#undef TARSIA_TH_S
#undef TARSIA_TH_R
#undef TARSIA_TH_CPU_T
#undef TARSIA_TH_A
#define TARSIA_TH_A double
#define TARSIA_TH_IS_FLOATING
#define TARSIA_TH_T THCudaTensor
#define TARSIA_TH_S THCudaStorage
#define TARSIA_TH_R float
#define TARSIA_TH_CPU_T THFloatTensor
#include TARSIA_TH_FILE
#undef TARSIA_TH_T
#undef TARSIA_TH_S
#undef TARSIA_TH_R
#undef TARSIA_TH_CPU_T
#define TARSIA_TH_T THCudaDoubleTensor
#define TARSIA_TH_S THCudaDoubleStorage
#define TARSIA_TH_R double
#define TARSIA_TH_CPU_T THDoubleTensor
#include TARSIA_TH_FILE
#undef TARSIA_TH_T
#undef TARSIA_TH_S
#undef TARSIA_TH_R
#undef TARSIA_TH_CPU_T
#undef TARSIA_TH_A
#undef TARSIA_TH_IS_FLOATING
#if defined(TARSIA_TH_WITH_HALF)
#define TARSIA_TH_T THCudaHalfTensor
#define TARSIA_TH_S THCudaHalfStorage
#define TARSIA_TH_R struct __half
#include TARSIA_TH_FILE
#undef TARSIA_TH_T
#undef TARSIA_TH_S
#undef TARSIA_TH_R
#endif

#undef TARSIA_TH_STATE
#undef TARSIA_TH_STATE_ALONE
#undef TARSIA_TH_KIND_OF
#undef TARSIA_TH_IS_GPU
#endif

#undef TARSIA_TH_K
