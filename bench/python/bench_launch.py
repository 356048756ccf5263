"""Measures launches of a kernel from Python, with two PyTorch tensors.

The yardstick is a bare loop of cuLaunchKernel in C++, itself a function that Tarsia compiles. tvm-ffi and CuPy are measured
too if they are installed. All launch the same empty kernel and take turns in one run. Prints medians of rounds; the GPU's
queue is empty before each.

    python bench/python/bench_launch.py [--rounds 30]
"""

import argparse
import statistics
import timeit

import report

import tarsia

SOURCE = """
#include <tarsia/op.h>
__global__ void empty(const float* x, float* y, int n) {}
void nothing(const float* x, float* y, int n, cudaStream_t stream) {}
void launch(const float* x, float* y, int n, cudaStream_t stream) { empty<<<1, 32, 0, stream>>>(x, y, n); }
void launch_tensors(const tarsia::Tensor& x, const tarsia::Tensor& y, cudaStream_t stream) {
  empty<<<1, 32, 0, stream>>>(x.data<const float>(), y.data<float>(), int(x.numel()));
}
void many(const float* a, const float* b, const float* c, const float* d, const float* e, const float* f,
          const float* g, const float* h, float* i, cudaStream_t stream) {
  empty<<<1, 32, 0, stream>>>(a, i, 1);
}
TARSIA_OP(bench_launch).forward("gpu", [](tarsia::Context& c) {
  empty<<<1, 32, 0, c.stream()>>>(c.input(0).data<const float>(), c.output(0).data<float>(), 1);
});
"""

LOOPS = """
#include <chrono>
#include <cuda.h>
#include <stdexcept>
__global__ void empty(const float* x, float* y, int n) {}
// Nanoseconds a launch of `loops` by cuLaunchKernel, and of as many by <<<>>>.
double bare(const float* x, float* y, int n, int loops, cudaStream_t stream) {
  cudaFunction_t function;
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult found;
  if (cudaGetFuncBySymbol(&function, (const void*)empty) ||
      cudaGetDriverEntryPointByVersion("cuLaunchKernel", &entry, 12000, cudaEnableDefault, &found) || !entry)
    throw std::runtime_error("there is no cuLaunchKernel");
  auto launch = (decltype(&cuLaunchKernel))entry;
  void* arguments[] = {&x, &y, &n};
  auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < loops; ++i) launch((CUfunction)function, 1, 1, 1, 32, 1, 1, 0, stream, arguments, nullptr);
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / loops;
}
double brackets(const float* x, float* y, int n, int loops, cudaStream_t stream) {
  auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < loops; ++i) empty<<<1, 32, 0, stream>>>(x, y, n);
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / loops;
}
"""

TVM = """
__global__ void empty(const float* x, float* y, int n) {}
void nothing(tvm::ffi::TensorView x, tvm::ffi::TensorView y, int64_t n) {}
void launch(tvm::ffi::TensorView x, tvm::ffi::TensorView y, int64_t n) {
  auto stream = static_cast<cudaStream_t>(TVMFFIEnvGetStream(x.device().device_type, x.device().device_id));
  empty<<<1, 32, 0, stream>>>(static_cast<const float*>(x.data_ptr()), static_cast<float*>(y.data_ptr()), int(n));
}
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=30)
    rounds = parser.parse_args().rounds
    report.print_header("bench_launch.py: GPU launches from Python")
    lib, bare_loops = tarsia.load_inline(SOURCE, "bench_launch"), tarsia.load_inline(LOOPS, "bench_launch_loops")
    if not report.gpus():
        return print("  needs a GPU: it was compiled, not run")
    import torch

    number = 500  # below the depth of the launch queue, so that no launch waits
    x, y = torch.zeros(32, device="cuda"), torch.zeros(32, device="cuda")
    names = {"x": x, "y": y, "t": [torch.zeros(32, device="cuda") for _ in range(9)], "launch": lib.launch,
             "launch_tensors": lib.launch_tensors, "many": lib.many, "nothing": lib.nothing,
             "bound": tarsia.op("bench_launch").bind(x)}
    statements = {"tarsia: launch(x, y, n)": "launch(x, y, 32)", "tarsia: launch(x, y), tarsia::Tensor": "launch_tensors(x, y)",
                  "tarsia: bound op, out=y": "bound(x, out=y)", "tarsia: 9 tensors": "many(*t)"}
    idle = {"tarsia: no launch": "nothing(x, y, 32)"}
    try:
        import tvm_ffi.cpp

        tvm = tvm_ffi.cpp.load_inline("bench_launch_tvm", cuda_sources=TVM, functions=["nothing", "launch"])
        names |= {"tvm_nothing": tvm.nothing, "tvm_launch": tvm.launch}
        statements["tvm-ffi: launch(x, y, n)"] = "tvm_launch(x, y, 32)"
        idle["tvm-ffi: no launch"] = "tvm_nothing(x, y, 32)"
    except Exception as error:
        print(f"  without tvm-ffi: {str(error).splitlines()[0]}")
    try:
        import cupy

        kernel = cupy.RawKernel('extern "C" __global__ void empty(const float* x, float* y, int n) {}', "empty")
        names |= {"kernel": kernel, "grid": (1,), "block": (32,), "cx": cupy.zeros(32, cupy.float32), "n": cupy.int32(32)}
        statements["CuPy RawKernel, CuPy arrays"] = "kernel(grid, block, (cx, cx, n))"
    except ImportError as error:
        print(f"  without CuPy: {error}")

    loops = {"bare cuLaunchKernel, C++ loop": bare_loops.bare, "<<<>>>, C++ loop": bare_loops.brackets}
    timers = {name: timeit.Timer(statement, globals=names) for name, statement in (statements | idle).items()}
    figures = {name: [] for name in [*loops, *timers]}
    for k in range(rounds + 2):
        for name in figures:
            torch.cuda.synchronize()
            figure = loops[name](x, y, 32, number) if name in loops else timers[name].timeit(number) / number * 1e9
            if k >= 2:  # two rounds to warm up
                figures[name].append(figure)
    torch.cuda.synchronize()
    medians = {name: statistics.median(list_) for name, list_ in figures.items()}
    bare, ours = medians["bare cuLaunchKernel, C++ loop"], medians["tarsia: launch(x, y, n)"]
    print(f"\nns a call, medians of {rounds} rounds of {number}")
    report.print_table(["", "ns", "best", "more than bare", "this / tarsia"],
                       [[name, f"{ns:.0f}", f"{min(figures[name]):.0f}", "" if name in idle else f"{ns - bare:+.0f}",
                         "" if name in idle else ns / ours] for name, ns in medians.items()])


if __name__ == "__main__":
    main()
