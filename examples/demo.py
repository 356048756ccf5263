"""From a string of C++ and CUDA to a called library: python examples/demo.py (scripts/demo runs it twice)."""

import time

import numpy as np

imported = time.perf_counter()
import tarsia  # noqa: E402 (its time is measured)

SOURCE = r"""
#include <stdexcept>

__global__ void relu_kernel(const float* x, float* y, long n) {
  long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] > 0 ? x[i] : 0;
}

// Launches on the caller's stream.
void relu_gpu(const float* x, float* y, long n, cudaStream_t stream) {
  relu_kernel<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}

void relu_cpu(const float* x, float* y, long n) {
  if (n < 0) throw std::invalid_argument("n is negative");
  for (long i = 0; i < n; i++) y[i] = x[i] > 0 ? x[i] : 0;
}
"""


def milliseconds(begin, end):
    return f"{(end - begin) * 1e3:8.2f} ms"


def main():
    ready = time.perf_counter()
    lib = tarsia.load_inline(SOURCE, name="relu")
    loaded = time.perf_counter()
    print(f"import tarsia   {milliseconds(imported, ready)}")
    print(f"load_inline     {milliseconds(ready, loaded)}   ({lib.origin})")
    print(f"functions       {', '.join(lib.functions)}")
    print(f"kernels         {', '.join(lib.kernels)}")
    print(f"cubins          {', '.join(f'{arch}: {len(cubin)} bytes' for arch, cubin in lib.cubins.items())}")

    x = np.array([-2, -1, 0, 1, 2], dtype=np.float32)
    y = np.empty_like(x)
    begin = time.perf_counter()
    lib.relu_cpu(x, y, x.size)
    end = time.perf_counter()
    print(f"first call      {milliseconds(begin, end)}   relu({x.tolist()}) = {y.tolist()}")
    assert (y == np.maximum(x, 0)).all()

    try:
        lib.relu_cpu(x, y, -1)
    except ValueError as error:
        print(f"its exception   arrives as ValueError: {error}")
    if gpu := gpu_tensors():
        x, y = gpu
        lib.relu_gpu(x, y, x.numel())
        assert (y == x.clamp(min=0)).all()
        print(f"on the GPU      relu({x.tolist()}) = {y.tolist()}")
    else:
        print("no GPU with PyTorch here: the kernel was compiled and loaded, not launched")


def gpu_tensors():
    try:
        import torch
    except ImportError:
        return None
    if not torch.cuda.is_available():
        return None
    x = torch.tensor([-2.0, -1, 0, 1, 2], device="cuda")
    return x, torch.empty_like(x)


main()
