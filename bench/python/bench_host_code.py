"""Compares the speed of host code: Tarsia's defaults and g++ -O3 -march=native, on the same arrays, in one run.

Loops over 4,096 floats: an axpy and a stencil with default options on both sides, a dot product with fast math on both. The
arrays begin at a cache line. Each time is the best of rounds in which both sides take turns. The speed is g++'s time divided
by Tarsia's: more than 1 means that Tarsia's code is faster. Needs g++.

    python bench/python/bench_host_code.py [--rounds 30]
"""

import argparse
import ctypes
import pathlib
import subprocess
import tempfile

import numpy as np
import report

import tarsia

SOURCE = r"""
#include <chrono>
#define APART __attribute__((noinline))
static APART void axpy(float a, const float* x, float* y, int n) { for (int i = 0; i < n; ++i) y[i] += a * x[i]; }
static APART void stencil(const float* x, float* y, int n) {
  for (int i = 1; i < n - 1; ++i) y[i] = 0.25f * x[i - 1] + 0.5f * x[i] + 0.25f * x[i + 1];
}
static APART float dot(const float* x, const float* y, int n) { float s = 0; for (int i = 0; i < n; ++i) s += x[i] * y[i]; return s; }
static volatile float sink;
extern "C" double nanoseconds(int loop, const float* x, float* y, int n, int times) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < times; ++i) {
    if (loop == 0) axpy(0.001f, x, y, n);
    if (loop == 1) stencil(x, y, n);
    if (loop == 2) sink = dot(x, y, n);
    asm volatile("" ::: "memory");
  }
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count() / times;
}
"""
N, TIMES = 4096, 500
LOOPS = [("axpy", 0, False), ("stencil", 1, False), ("dot product, fast math", 2, True)]


def aligned_floats():
    room = np.zeros(4 * N + 64, np.uint8)
    start = -room.ctypes.data % 64
    return room[start:start + 4 * N].view(np.float32)


def with_gxx(folder, fast_math):
    path = pathlib.Path(folder) / f"loops{fast_math}.so"
    source = pathlib.Path(folder) / "loops.cpp"
    source.write_text(SOURCE)
    flags = ["-ffast-math"] if fast_math else []
    subprocess.run(["g++", "-O3", "-march=native", "-shared", "-fPIC", *flags, source, "-o", path], check=True)
    function = ctypes.CDLL(str(path)).nanoseconds
    function.restype = ctypes.c_double
    return lambda loop, x, y: function(loop, ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(y.ctypes.data), N, TIMES)


def with_tarsia(fast_math, **options):
    library = tarsia.load_inline(SOURCE, functions=["nanoseconds"], fast_math=fast_math, **options)
    return lambda loop, x, y: library.nanoseconds(loop, x, y, N, TIMES)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=30)
    rounds = parser.parse_args().rounds
    report.print_header("Host code against g++ -O3 -march=native: ns for 4,096 floats")
    x, y = aligned_floats(), aligned_floats()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, loop, fast_math in LOOPS:
            sides = {"g++": with_gxx(folder, fast_math), "tarsia": with_tarsia(fast_math),
                     "tarsia, march='x86-64'": with_tarsia(fast_math, march="x86-64")}
            best = dict.fromkeys(sides, float("inf"))
            for _ in range(rounds):
                for side, run in sides.items():
                    best[side] = min(best[side], run(loop, x, y))
            rows.append([name, *best.values(), best["g++"] / best["tarsia"]])
    report.print_table(["", "g++", "tarsia", "tarsia, march='x86-64'", "speed"], rows)


if __name__ == "__main__":
    main()
