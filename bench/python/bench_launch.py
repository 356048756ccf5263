"""What launching a kernel from Python costs, with two PyTorch tensors, compared in one run with a bare loop of
cuLaunchKernel in C++, and with tvm-ffi and CuPy as far as they are installed.

    python bench/python/bench_launch.py [--rounds 20]
"""

import argparse
import timeit

import torch

import tarsia

SOURCE = """
#include <chrono>
#include <cuda.h>
__global__ void empty(const float* x, float* y, int n) {}
void nothing(const float* x, float* y, int n, cudaStream_t stream) {}
void launch(const float* x, float* y, int n, cudaStream_t stream) { empty<<<1, 32, 0, stream>>>(x, y, n); }
void many(const float* a, const float* b, const float* c, const float* d, const float* e, const float* f,
          const float* g, const float* h, float* i, cudaStream_t stream) {
  empty<<<1, 32, 0, stream>>>(a, i, 1);
}
// Nanoseconds a launch of `loops` by cuLaunchKernel.
double bare(const float* x, float* y, int n, int loops, cudaStream_t stream) {
  cudaFunction_t function;
  void* entry = nullptr;
  cudaGetFuncBySymbol(&function, (const void*)empty);
  cudaGetDriverEntryPoint("cuLaunchKernel", &entry, cudaEnableDefault);
  auto launch = (decltype(&cuLaunchKernel))entry;
  void* arguments[] = {&x, &y, &n};
  auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < loops; ++i) launch((CUfunction)function, 1, 1, 1, 32, 1, 1, 0, stream, arguments, nullptr);
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / loops;
}
"""

TVM_CUDA = """
__global__ void empty(const float* x, float* y, int n) {}
void nothing(tvm::ffi::TensorView x, tvm::ffi::TensorView y, int64_t n) {}
void launch(tvm::ffi::TensorView x, tvm::ffi::TensorView y, int64_t n) {
  auto stream = static_cast<cudaStream_t>(TVMFFIEnvGetStream(x.device().device_type, x.device().device_id));
  empty<<<1, 32, 0, stream>>>(static_cast<const float*>(x.data_ptr()), static_cast<float*>(y.data_ptr()), int(n));
}
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=20)
    rounds = parser.parse_args().rounds
    lib = tarsia.load_inline(SOURCE, "bench_launch")
    x, y = torch.zeros(32, device="cuda"), torch.zeros(32, device="cuda")
    nine = [torch.zeros(32, device="cuda") for _ in range(9)]
    names = {"lib": lib, "x": x, "y": y, "t": nine, "nothing": lib.nothing, "launch": lib.launch, "many": lib.many}
    statements = {"tarsia, no launch": "nothing(x, y, 32)", "tarsia, launch": "launch(x, y, 32)",
                  "tarsia, launch, 9 tensors": "many(*t)"}
    try:
        import tvm_ffi.cpp

        tvm = tvm_ffi.cpp.load_inline("bench_launch_tvm", cuda_sources=TVM_CUDA, functions=["nothing", "launch"])
        names |= {"tvm_nothing": tvm.nothing, "tvm_launch": tvm.launch}
        statements |= {"tvm-ffi, no launch": "tvm_nothing(x, y, 32)", "tvm-ffi, launch": "tvm_launch(x, y, 32)"}
    except ImportError:
        pass
    try:
        import cupy

        kernel = cupy.RawKernel('extern "C" __global__ void empty(const float* x, float* y, int n) {}', "empty")
        names |= {"kernel": kernel, "grid": (1,), "block": (32,), "cx": cupy.zeros(32, cupy.float32)}
        statements["CuPy RawKernel"] = "kernel(grid, block, (cx, cx, 32))"
    except ImportError:
        pass
    number = 1000  # below the depth of the launch queue
    timers = {name: timeit.Timer(statement, globals=names) for name, statement in statements.items()}
    best = dict.fromkeys(["bare cuLaunchKernel", *timers], float("inf"))
    for _ in range(rounds):
        torch.cuda.synchronize()
        best["bare cuLaunchKernel"] = min(best["bare cuLaunchKernel"], lib.bare(x, y, 32, number))
        for name, timer in timers.items():
            torch.cuda.synchronize()
            best[name] = min(best[name], timer.timeit(number) / number * 1e9)
    bare = best["bare cuLaunchKernel"]
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, best of {rounds} rounds of {number}")
    for name, nanoseconds in best.items():
        more = "" if "no launch" in name else f"   {nanoseconds - bare:+8.0f} ns against bare"
        print(f"  {name:28} {nanoseconds:8.0f} ns{more}")


if __name__ == "__main__":
    main()
