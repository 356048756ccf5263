"""Measures direct launches of a kernel, lib.kernel[grid, block](x, y, n), with two and with nine PyTorch tensors.

The yardstick is a bare loop of cuLaunchKernel in C++, itself a function that Tarsia compiles. As far as they are installed,
tvm-ffi, CuPy's RawKernel and Triton are measured too, and torch.library and Tarsia's own operators of PyTorch around a launch
by Tarsia. All launch the same empty kernel and take turns in one run. Prints medians of rounds; the GPU's queue is empty
before each.

    python bench/python/bench_kernel.py [--rounds 30]
"""

import argparse
import statistics
import timeit

import report

import tarsia

SOURCE = """
#include <chrono>
#include <cuda.h>
#include <stdexcept>
__global__ void empty(const float* x, float* y, int n) {}
__global__ void many(const float* a, const float* b, const float* c, const float* d, const float* e, const float* f,
                     const float* g, const float* h, float* i) {}
template <class... A>
double loop(const void* kernel, int loops, cudaStream_t stream, A... a) {
  cudaFunction_t function;
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult found;
  if (cudaGetFuncBySymbol(&function, kernel) ||
      cudaGetDriverEntryPointByVersion("cuLaunchKernel", &entry, 12000, cudaEnableDefault, &found) || !entry)
    throw std::runtime_error("there is no cuLaunchKernel");
  auto launch = (decltype(&cuLaunchKernel))entry;
  void* arguments[] = {&a...};
  auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < loops; ++i) launch((CUfunction)function, 1, 1, 1, 32, 1, 1, 0, stream, arguments, nullptr);
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / loops;
}
// Nanoseconds a launch of `loops`.
double bare(const float* x, float* y, int n, int loops, cudaStream_t stream) {
  return loop((const void*)empty, loops, stream, x, y, n);
}
void launch(const float* x, float* y, int n, cudaStream_t stream) { empty<<<1, 32, 0, stream>>>(x, y, n); }
double bare_many(const float* a, const float* b, const float* c, const float* d, const float* e, const float* f,
                 const float* g, const float* h, float* i, int loops, cudaStream_t stream) {
  return loop((const void*)many, loops, stream, a, b, c, d, e, f, g, h, i);
}
"""

TVM = """
__global__ void empty(const float* x, float* y, int n) {}
__global__ void many_kernel(const float* a, const float* b, const float* c, const float* d, const float* e, const float* f,
                            const float* g, const float* h, float* i) {}
using T = tvm::ffi::TensorView;
static cudaStream_t stream_of(T x) {
  return static_cast<cudaStream_t>(TVMFFIEnvGetStream(x.device().device_type, x.device().device_id));
}
static float* p(T x) { return static_cast<float*>(x.data_ptr()); }
void launch(T x, T y, int64_t n) { empty<<<1, 32, 0, stream_of(x)>>>(p(x), p(y), int(n)); }
void many(T a, T b, T c, T d, T e, T f, T g, T h, T i) {
  many_kernel<<<1, 32, 0, stream_of(a)>>>(p(a), p(b), p(c), p(d), p(e), p(f), p(g), p(h), p(i));
}
"""


def add_tvm(names, two, nine):
    import tvm_ffi.cpp

    tvm = tvm_ffi.cpp.load_inline("bench_kernel_tvm", cuda_sources=TVM, functions=["launch", "many"])
    names |= {"tvm_launch": tvm.launch, "tvm_many": tvm.many}
    two["tvm-ffi: launch(x, y, n)"] = "tvm_launch(x, y, 32)"
    nine["tvm-ffi: many(...)"] = "tvm_many(*t)"


def add_cupy(names, two, nine):
    import cupy

    text = SOURCE[SOURCE.index("__global__ void empty"):SOURCE.index("template")].replace("__global__", 'extern "C" __global__')
    module = cupy.RawModule(code=text)
    names |= {"cupy_empty": module.get_function("empty"), "cupy_many": module.get_function("many"), "one": (1,),
              "warp": (32,), "cx": cupy.zeros(32, cupy.float32), "n": cupy.int32(32)}
    two["CuPy RawKernel, CuPy arrays"] = "cupy_empty(one, warp, (cx, cx, n))"
    nine["CuPy RawKernel, CuPy arrays"] = "cupy_many(one, warp, (cx,) * 9)"


def add_triton(names, two, nine):
    from bench_kernel_triton import empty, many

    names |= {"triton_empty": empty, "triton_many": many}
    two["Triton"] = "triton_empty[(1,)](x, y, 32, num_warps=1)"
    nine["Triton"] = "triton_many[(1,)](*t, num_warps=1)"


def add_torch_library(names, two, nine):
    import torch

    import tarsia.torch

    kept, many = names["kept"], names["many"]

    def launch(x: torch.Tensor, y: torch.Tensor, n: int) -> None:
        kept(x, y, n)

    def launch_nine(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, d: torch.Tensor, e: torch.Tensor, f: torch.Tensor,
                    g: torch.Tensor, h: torch.Tensor, i: torch.Tensor) -> None:
        many(a, b, c, d, e, f, g, h, i)

    names |= {"op": torch.library.custom_op("bench::launch", launch, mutates_args={"y"}),
              "op_many": torch.library.custom_op("bench::launch_nine", launch_nine, mutates_args={"i"}),
              "registered": tarsia.torch.register(names["launch"])}
    two["tarsia: registered, torch.ops.tarsia.launch(x, y, n)"] = "registered(x, y, 32)"
    two["torch.library.custom_op around kept"] = "op(x, y, 32)"
    nine["torch.library.custom_op around kept"] = "op_many(*t)"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=30)
    rounds = parser.parse_args().rounds
    report.print_header("bench_kernel.py: kernels launched from Python")
    lib = tarsia.load_inline(SOURCE, "bench_kernel")
    if not report.gpus():
        return print("  needs a GPU: it was compiled, not run")
    import torch

    number = 500  # below the depth of the launch queue, so that no launch waits
    x, y = torch.zeros(32, device="cuda"), torch.zeros(32, device="cuda")
    t = [torch.zeros(32, device="cuda") for _ in range(9)]
    names = {"x": x, "y": y, "t": t, "k": lib.empty, "kept": lib.empty[1, 32], "many": lib.many[1, 32],
             "launch": lib.launch}
    two = {"tarsia: kept = k[1, 32]; kept(x, y, n)": "kept(x, y, 32)", "tarsia: k[1, 32](x, y, n)": "k[1, 32](x, y, 32)",
           "tarsia: k.launch(x, y, n, grid=1, block=32)": "k.launch(x, y, 32, grid=1, block=32)",
           "tarsia: launch(x, y, n), a function": "launch(x, y, 32)"}
    nine = {"tarsia: kept(...)": "many(*t)"}
    for name, add in (("tvm-ffi", add_tvm), ("CuPy", add_cupy), ("Triton", add_triton),
                      ("torch.library", add_torch_library)):
        try:
            add(names, two, nine)
        except Exception as error:
            print(f"  without {name}: {(str(error) or type(error).__name__).splitlines()[0]}")
    measure("two tensors and an int", rounds, number, lambda: lib.bare(x, y, 32, number), two, names, torch)
    measure("nine tensors", rounds, number, lambda: lib.bare_many(*t, number), nine, names, torch)


def measure(title, rounds, number, loop, statements, names, torch):
    timers = {name: timeit.Timer(statement, globals=names) for name, statement in statements.items()}
    figures = {name: [] for name in ["bare cuLaunchKernel, C++ loop", *timers]}
    for k in range(rounds + 2):
        for name, list_ in figures.items():
            torch.cuda.synchronize()
            figure = timers[name].timeit(number) / number * 1e9 if name in timers else loop()
            if k >= 2:  # two rounds to warm up
                list_.append(figure)
    torch.cuda.synchronize()
    medians = {name: statistics.median(list_) for name, list_ in figures.items()}
    bare, ours = medians["bare cuLaunchKernel, C++ loop"], medians[next(iter(statements))]
    print(f"\n{title}: ns a launch, medians of {rounds} rounds of {number}")
    report.print_table(["", "ns", "best", "more than bare", "this / tarsia"],
                       [[name, f"{ns:.0f}", f"{min(figures[name]):.0f}", f"{ns - bare:+.0f}", ns / ours]
                        for name, ns in medians.items()])


if __name__ == "__main__":
    main()
