/* What stands between PyTorch and the kernel. */
#include <THC/THC.h>
#include "shift_kernel.h"

extern THCState* state;

int shift_cuda(THCudaTensor* x, float by, THCudaTensor* y) {
  THCAssertSameGPU(THCudaTensor_checkGPU(state, 2, x, y));
  THArgCheck(THCudaTensor_isContiguous(state, x), 1, "x has to be contiguous");
  THCudaTensor_resizeAs(state, y, x);
  shift_launch(THCudaTensor_data(state, x), by, THCudaTensor_data(state, y), THCudaTensor_nElement(state, x),
               THCState_getCurrentStream(state));
  return 1;
}

int add_cuda(THCudaTensor* a, THCudaTensor* b, THCudaTensor* out) {
  THCudaTensor* other = THCudaTensor_newContiguous(state, b);
  THCudaTensor_resizeAs(state, out, a);
  THCudaTensor_zero(state, out);
  THCudaTensor_cadd(state, out, a, 2.0, other);
  THCudaTensor_free(state, other);
  return 1;
}

long largest_cuda(THCudaLongTensor* x, THLongTensor* host) {
  THLongTensor_resize1d(host, THCudaLongTensor_nElement(state, x));
  THLongTensor_copyCuda(state, host, x);
  return THCudaLongTensor_maxall(state, x);
}
