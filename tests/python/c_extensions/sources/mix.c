/* out = a + weight * b, in the C of that time: a status, outputs that are resized, results through pointers.
 */
#include <TH/TH.h>

int mix_forward(THFloatTensor* a, THFloatTensor* b, float weight, THFloatTensor* out) {
  if (!THFloatTensor_isSameSizeAs(a, b)) return 0;
  THFloatTensor_resizeAs(out, a);
  THFloatTensor_cadd(out, a, weight, b);
  return 1;
}

int mix_backward(THFloatTensor* grad_out, float weight, THFloatTensor* grad_a, THFloatTensor* grad_b) {
  THFloatTensor_resizeAs(grad_a, grad_out);
  THFloatTensor_copy(grad_a, grad_out);
  THFloatTensor_resizeAs(grad_b, grad_out);
  THFloatTensor_mul(grad_b, grad_out, weight);
  return 1;
}
