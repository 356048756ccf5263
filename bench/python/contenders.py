"""One op, ReLU, written for each system that bench_cold.py and bench_warm.py compare.

A contender is a function that does everything that is not measured (imports, inputs, CUDA's context) and returns
(load, call): load() makes the op callable, call(load's result) runs it once and checks the result.

    python contenders.py NAME      prints {"callable": ms, "result": ms} as measured in this process
"""

import json
import os
import sys
import time

HOST = """
void relu(const float* x, float* y, int n) {
  for (int i = 0; i < n; ++i) y[i] = x[i] > 0 ? x[i] : 0;
}
"""
HOST_TVM = """
void relu(tvm::ffi::TensorView x, tvm::ffi::TensorView y) {
  const float* a = static_cast<const float*>(x.data_ptr());
  float* b = static_cast<float*>(y.data_ptr());
  for (int64_t i = 0; i < x.size(0); ++i) b[i] = a[i] > 0 ? a[i] : 0;
}
"""
HOST_TORCH = """
void relu(torch::Tensor x, torch::Tensor y) {
  const float* a = x.data_ptr<float>();
  float* b = y.data_ptr<float>();
  for (int64_t i = 0; i < x.numel(); ++i) b[i] = a[i] > 0 ? a[i] : 0;
}
"""
KERNEL = """
__global__ void relu_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] > 0 ? x[i] : 0;
}
"""
CUDA = KERNEL + """
void relu(const float* x, float* y, int n, cudaStream_t stream) {
  relu_kernel<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
"""
CUDA_TVM = KERNEL + """
void relu(tvm::ffi::TensorView x, tvm::ffi::TensorView y) {
  int n = int(x.size(0));
  auto stream = static_cast<cudaStream_t>(TVMFFIEnvGetStream(x.device().device_type, x.device().device_id));
  relu_kernel<<<(n + 255) / 256, 256, 0, stream>>>(static_cast<const float*>(x.data_ptr()), static_cast<float*>(y.data_ptr()), n);
}
"""
CUDA_TORCH = "#include <c10/cuda/CUDAStream.h>\n" + KERNEL + """
void relu(torch::Tensor x, torch::Tensor y) {
  int n = int(x.numel());
  relu_kernel<<<(n + 255) / 256, 256, 0, c10::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
}
"""
N = 1000


def torch_tensors(device):
    import torch

    x = torch.randn(N, device=device)
    y = torch.zeros_like(x)

    def check():
        assert torch.equal(y, torch.where(x > 0, x, 0.0))  # waits for the GPU

    check_before = torch.where(x > 0, x, 0.0)  # what the check uses is loaded now
    torch.equal(check_before, y)
    return x, y, check


def tarsia_host(**options):
    import numpy as np

    import tarsia

    x = np.random.randn(N).astype(np.float32)
    y = np.zeros_like(x)

    def call(f):
        f(x, y, N)
        assert np.array_equal(y, np.maximum(x, 0))

    return lambda: tarsia.load_inline(HOST, **options).relu, call


def tarsia_any_cpu():
    return tarsia_host(march="x86-64")


def tarsia_cuda():
    import tarsia

    x, y, check = torch_tensors("cuda")

    def call(f):
        f(x, y, N)
        check()

    return lambda: tarsia.load_inline(CUDA).relu, call


def tvm_host():
    import tvm_ffi.cpp

    x, y, check = torch_tensors("cpu")

    def call(f):
        f(x, y)
        check()

    return lambda: tvm_ffi.cpp.load_inline("bench_relu", cpp_sources=HOST_TVM, functions=["relu"]).relu, call


def tvm_cuda():
    import tvm_ffi.cpp

    x, y, check = torch_tensors("cuda")

    def call(f):
        f(x, y)
        check()

    return lambda: tvm_ffi.cpp.load_inline("bench_relu", cuda_sources=CUDA_TVM, functions=["relu"]).relu, call


def torch_host():
    from torch.utils import cpp_extension

    x, y, check = torch_tensors("cpu")

    def call(f):
        f(x, y)
        check()

    return lambda: cpp_extension.load_inline("bench_relu", [HOST_TORCH], functions=["relu"]).relu, call


def torch_cuda():
    import torch
    from torch.utils import cpp_extension

    x, y, check = torch_tensors("cuda")
    os.environ.setdefault("TORCH_CUDA_ARCH_LIST", "{}.{}".format(*torch.cuda.get_device_capability()))

    def call(f):
        f(x, y)
        check()

    return lambda: cpp_extension.load_inline("bench_relu", ["void relu(torch::Tensor x, torch::Tensor y);"], [CUDA_TORCH],
                                             functions=["relu"], verbose=False).relu, call


def cupy_cuda():
    import cupy
    import numpy as np

    values = np.random.randn(N).astype(np.float32)
    x, y = cupy.asarray(values), cupy.asarray(np.zeros(N, np.float32))

    def load():
        kernel = cupy.RawKernel('extern "C" ' + KERNEL.strip(), "relu_kernel")
        kernel.compile()
        return kernel

    def call(kernel):
        kernel(((N + 255) // 256,), (256,), (x, y, np.int32(N)))
        assert np.array_equal(y.get(), np.maximum(values, 0))

    return load, call


HOST_CONTENDERS = {"tarsia": tarsia_host, "tarsia, march=x86-64": tarsia_any_cpu, "tvm-ffi": tvm_host, "PyTorch load_inline": torch_host}
CUDA_CONTENDERS = {"tarsia": tarsia_cuda, "CuPy RawKernel (device only)": cupy_cuda, "tvm-ffi": tvm_cuda,
                   "PyTorch load_inline": torch_cuda}


def main():
    load, call = globals()[sys.argv[1]]()
    begin = time.perf_counter()
    op = load()
    ready = time.perf_counter()
    call(op)
    end = time.perf_counter()
    print(json.dumps({"callable": (ready - begin) * 1e3, "result": (end - begin) * 1e3}))


if __name__ == "__main__":
    main()
