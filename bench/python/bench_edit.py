"""Measures an edit: the compile of a changed source in a process whose compiler is running.

* Kernels that include CUB, cooperative_groups.h or curand_kernel.h: the second version and those after it, against bare
  NVRTC (nvrtcCompileProgram, no precompiled headers) on the kernel's text.
* ReLU, host and device: versions never seen before, against bare NVRTC on the kernel alone.
* A host-only C-style op: versions never seen before. bench_worker compares its compile with bare Clang.

Both sides take turns in one run; prints medians. The versions differ in a number, and each is compiled once.

    python bench/python/bench_edit.py [--rounds 7] [--pause 3]

--pause is the number of seconds between the first version and the second, the time of an edit.
"""

import argparse
import os
import statistics
import time

import contenders
import report
from nvrtc import Nvrtc

import tarsia

KERNELS = {
    "cub/block/block_reduce.cuh": """
#include <cub/block/block_reduce.cuh>
__global__ void kernel(const float* x, float* y) {
  using Reduce = cub::BlockReduce<float, 256>;
  __shared__ typename Reduce::TempStorage storage;
  float sum = Reduce(storage).Sum(x[blockIdx.x * 256 + threadIdx.x] * VERSION.0f);
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}
""",
    "cooperative_groups.h": """
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void kernel(const float* x, float* y) {
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<32>(block);
  float sum = x[block.thread_rank()] * VERSION.0f;
  for (int step = 16; step > 0; step /= 2) sum += tile.shfl_down(sum, step);
  if (tile.thread_rank() == 0) y[tile.meta_group_rank()] = sum;
}
""",
    "curand_kernel.h": """
#include <curand_kernel.h>
__global__ void kernel(const float* x, float* y) {
  curandStatePhilox4_32_10_t state;
  curand_init(VERSION, threadIdx.x, 0, &state);
  y[threadIdx.x] = x[threadIdx.x] + curand_normal(&state);
}
""",
}
LAUNCH = "void run(const float* x, float* y, cudaStream_t s) { kernel<<<1, 256, 0, s>>>(x, y); }\n"


def milliseconds(work):
    begin = time.perf_counter()
    work()
    return (time.perf_counter() - begin) * 1e3


def headers(nvrtc, arch, arguments):
    rows = []
    for header, text in KERNELS.items():
        version = lambda k: text.replace("VERSION", str(k))  # noqa: E731
        first = milliseconds(lambda: tarsia.load_inline(version(1) + LAUNCH, arch=arch))
        nvrtc.compile(version(1), arch, *nvrtc.include_options)
        time.sleep(arguments.pause)
        ours, bare = [], []
        for k in range(2, 2 + arguments.rounds):
            ours.append(milliseconds(lambda: tarsia.load_inline(version(k) + LAUNCH, arch=arch)))
            bare.append(milliseconds(lambda: nvrtc.compile(version(k), arch, *nvrtc.include_options)))
        rows.append([header, first, ours[0], statistics.median(ours), statistics.median(bare), statistics.median(bare) / ours[0],
                     statistics.median(bare) / statistics.median(ours)])
    print("\nVersions of a kernel with a large header, ms")
    report.print_table(["", "first version", "second", "median of later", "bare NVRTC", "bare / second", "bare / later"], rows)


def relu(nvrtc, arch, rounds):
    ours, bare = [], []
    text = contenders.CUDA.replace(": 0", ": VERSION.0f")
    kernel = contenders.KERNEL.replace(": 0", ": VERSION.0f")
    for k in range(100, 103 + rounds):
        source, device = text.replace("VERSION", str(k)), kernel.replace("VERSION", str(k))
        ours.append(milliseconds(lambda: tarsia.load_inline(source, arch=arch)))
        bare.append(milliseconds(lambda: nvrtc.compile(device, arch)))
    ours, bare = statistics.median(ours[3:]), statistics.median(bare[3:])  # after three to warm up
    print("ReLU never seen before, the worker alive, ms")
    report.print_table(["host and device, to callable", "bare NVRTC, device alone", "tarsia / bare"], [[f"{ours:.2f}", bare, ours / bare]])


def host(rounds):
    ours = []
    for k in range(100, 103 + rounds):
        source = contenders.HOST.replace(": 0", f": {k}.0f")
        ours.append(milliseconds(lambda: tarsia.load_inline(source)))
    print("Host-only C-style op never seen before, the worker alive, ms to callable")
    report.print_table(["median", "best", "worst"], [[f"{statistics.median(ours[3:]):.2f}", min(ours[3:]), max(ours[3:])]])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--pause", type=float, default=3)
    arguments = parser.parse_args()
    report.print_header("bench_edit.py: changed sources, the compiler running")
    with report.fresh_folder() as folder:
        os.environ["TARSIA_CACHE_DIR"] = folder
        try:
            nvrtc = Nvrtc()
            arch = next(iter(tarsia.load_inline("__global__ void kernel() {}").cubins))
        except (RuntimeError, tarsia.Error) as error:
            print(f"  kernels are left out: {error}")
        else:
            headers(nvrtc, arch, arguments)
            relu(nvrtc, arch, 3 * arguments.rounds)
        host(3 * arguments.rounds)


if __name__ == "__main__":
    main()
