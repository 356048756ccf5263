"""CUDA sources that take kernels' parts and tensors from mshadow's own device headers compile."""

import pytest

import tarsia

KERNEL = """
#include <mxnet/operator.h>
#include <mshadow/cuda/tensor_gpu-inl.cuh>

struct Span {
  float* at;
  MSHADOW_FORCE_INLINE bool is_empty() const { return at == nullptr; }
  MSHADOW_XINLINE float& operator[](int i) const { return at[i]; }
};
template <typename T>
__global__ void double_kernel(T span, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) span[i] *= 2;
}
template <typename T>
__global__ void warp_kernel(T span) {  // a shuffle of the time before CUDA 9
  float sum = span[threadIdx.x];
  for (int i = 16; i > 0; i /= 2) sum += __shfl_xor(sum, i, 32);
  span[threadIdx.x] = sum;
}
void run_warp(float* x, int n, cudaStream_t stream) { warp_kernel<Span><<<1, 32, 0, stream>>>(Span{x}); }
void run(float* x, int n, cudaStream_t stream) {
  Span span = {x};
  if (span.is_empty()) return;
  dim3 blocks(1), threads(mshadow::cuda::kBaseThreadNum);
  mshadow::cuda::CheckLaunchParam(blocks, threads, "double");
  double_kernel<Span><<<blocks, threads, 0, stream>>>(span, n);
  MSHADOW_CUDA_POST_KERNEL_CHECK(double_kernel);
}
void launch(int x, int y, int threads) { mshadow::cuda::CheckLaunchParam(dim3(x, y), dim3(threads), "too large"); }
"""


def test_a_kernel_by_the_parts_of_the_device_headers():
    library = tarsia.load_inline({"double.cu": KERNEL})
    assert {kernel.partition("<")[0] for kernel in library.kernels} == {"double_kernel", "warp_kernel"}
    library.launch(65535, 1, 1024)
    for sizes in [(1, 65536, 32), (1, 1, 1025)]:
        with pytest.raises(tarsia.Error, match="too large"):
            library.launch(*sizes)
    library.unload()


def test_macros_of_the_source_for_old_shuffles_stay():
    library = tarsia.load_inline({"own.cu": "#define __shfl_down(v) __shfl_down_sync(0xffffffffu, v, 1)\n" + KERNEL
                                  + "__global__ void own_kernel(float* x) { x[threadIdx.x] = __shfl_down(x[threadIdx.x]); }\n"})
    assert "own_kernel" in library.kernels
    library.unload()
