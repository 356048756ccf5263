// Expressions on a GPU.
#include "expressions.h"

long compute_float(int which, float* a, float* v, float* m, float* out, cudaStream_t stream) {
  mshadow::Stream<mshadow::gpu> s;
  s.stream_ = stream;
  return expressions::compute<mshadow::gpu, float>(which, a, v, m, out, &s);
}
