// Expressions on the CPU.
#include "expressions.h"

long compute_float(int which, float* a, float* v, float* m, float* out) {
  return expressions::compute<mshadow::cpu, float>(which, a, v, m, out, nullptr);
}
long compute_double(int which, double* a, double* v, double* m, double* out) {
  return expressions::compute<mshadow::cpu, double>(which, a, v, m, out, nullptr);
}
