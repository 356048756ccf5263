// Elements at places that are told, on a GPU.
#include "places.h"

long compute_gpu(int which, float* images, float* m, float* index, float* v, float* out, cudaStream_t stream) {
  mshadow::Stream<mshadow::gpu> s;
  s.stream_ = stream;
  return places::compute<mshadow::gpu, float>(which, images, m, index, v, out, &s);
}
long compute_gpu_double(int which, double* images, double* m, double* index, double* v, double* out, cudaStream_t stream) {
  mshadow::Stream<mshadow::gpu> s;
  s.stream_ = stream;
  return places::compute<mshadow::gpu, double>(which, images, m, index, v, out, &s);
}
void own(float* images, float* v, cudaStream_t stream) {
  mshadow::Tensor<mshadow::gpu, 4, float> t(images, mshadow::Shape4(2, 3, 4, 5));
  places::own_kernel<float><<<1, 1, 0, stream>>>(t, t, mshadow::Tensor<mshadow::gpu, 1, float>(v, mshadow::Shape1(4)));
}
void own_half(__half* images, __half* v, cudaStream_t stream) {
  using mshadow::half::half_t;
  mshadow::Tensor<mshadow::gpu, 4, half_t> t(reinterpret_cast<half_t*>(images), mshadow::Shape4(2, 3, 4, 5));
  mshadow::Tensor<mshadow::gpu, 1, half_t> one(reinterpret_cast<half_t*>(v), mshadow::Shape1(4));
  places::own_kernel<mshadow::half::half_t><<<1, 1, 0, stream>>>(t, t, one);
}
