// Elements at places that are told, on the CPU.
#include "places.h"

long compute_float(int which, float* images, float* m, float* index, float* v, float* out) {
  return places::compute<mshadow::cpu, float>(which, images, m, index, v, out, nullptr);
}
long compute_double(int which, double* images, double* m, double* index, double* v, double* out) {
  return places::compute<mshadow::cpu, double>(which, images, m, index, v, out, nullptr);
}
