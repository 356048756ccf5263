// expect: kernel pointwise
#include <cublas_v2.h>
#include <cufft.h>
#include <cusparse.h>
#include <nvml.h>
#include <cuda_profiler_api.h>
#include <cuComplex.h>
#include <mpi.h>
#include <helper_cuda.h>
__global__ void pointwise(cufftComplex *a, const cuFloatComplex *b, cuDoubleComplex *d) {
  a[threadIdx.x] = cuCmulf(a[threadIdx.x], b[threadIdx.x]);
  d[0] = cuCadd(d[1], make_cuDoubleComplex(1.0, 2.0));
}
