"""Kernels launched from Python without a C++ function around them.

    python examples/kernels.py

Without a GPU it shows what the kernels need, and launches nothing.
"""

import tarsia

SOURCE = r"""
__constant__ float weights[3];

// y[i] = sum of weights[k] * x[i + k - 1]
template <class T, int BLOCK = 256> __global__ void blur(const T* x, T* y, int n) {
  int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
  for (int k = -1; k <= 1; ++k)
    if (i + k >= 0 && i + k < n) sum += weights[k + 1] * float(x[i + k]);
  y[i] = T(sum);
}
template __global__ void blur<float>(const float*, float*, int);  // in the library, so that it shares `weights`

// The sum of each row, by one block a row.
template <class T> __global__ void row_sums(const T* x, T* sums, int n) {
  extern __shared__ float part[];
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum += float(x[blockIdx.x * (long)n + i]);
  part[threadIdx.x] = sum;
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = T(part[0]);
}
"""


def main():
    lib = tarsia.load_inline(SOURCE, "kernels")

    # 1. What there is. An instantiation that the source does not name is compiled when it is first asked for.
    blur, row_sums = lib.blur["float"], lib.row_sums["float"]
    for kernel in (blur, row_sums):
        print(kernel.signatures[0], kernel.attributes)

    try:
        import torch
    except ImportError:
        return print("PyTorch is not installed: nothing is launched")
    if not torch.cuda.is_available():
        return print("there is no GPU: nothing is launched")

    # 2. A variable of the library is a tensor.
    torch.from_dlpack(lib.get_global("weights")).copy_(torch.tensor([0.25, 0.5, 0.25], device="cuda"))

    # 3. A launch: grid and block, then the arguments. It goes to PyTorch's current stream, and nothing waits.
    x = torch.randn(1000, 4096, device="cuda")
    y = torch.empty_like(x)
    blur[(x.numel() + 255) // 256, 256](x, y, x.numel())
    flat = torch.nn.functional.pad(x.flatten(), (1, 1))
    torch.testing.assert_close(y.flatten(), 0.25 * flat[:-2] + 0.5 * flat[1:-1] + 0.25 * flat[2:])

    # 4. Dynamic shared memory, and a type that follows from the tensors.
    for dtype in (torch.float32, torch.float64):
        z = x.to(dtype)
        sums = torch.empty(len(z), dtype=dtype, device="cuda")
        lib.row_sums.launch(z, sums, z.shape[1], grid=len(z), block=256, shared=256 * 4)
        torch.testing.assert_close(sums, z.sum(1), atol=1e-2, rtol=1e-4)

    # 5. What is wrong is said with the names of the kernel and the parameter.
    try:
        row_sums[1000, 256, 1024](x.double(), sums, 4096)
    except TypeError as error:
        print(str(error).splitlines()[0])
    print("ok")


if __name__ == "__main__":
    main()
