"""Kernels of MobulaOP on the CPU, against the same loops under g++ -O3 -fopenmp.

Each measurement runs in a process of its own, for the two OpenMP libraries keep their threads spinning, and the contenders take
turns. A kernel is called by mobula.func, a loop of g++'s by ctypes; both calls cost little beside a million elements.

    python bench/python/bench_mobula.py [--rounds 5] [--size 1000000] [--threads N]

On a machine that is busy with other things, only --threads 1 tells anything: threads that wait for each other wait for the others.
"""

import argparse
import ctypes
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import timeit

from report import print_header, print_table

# name: (parameters besides n, the loop's body, how many arrays of floats, the last of which is written)
LOOPS = {
    "axpy": ("const T* x, T* y", "y[i] = T(0.5) * x[i] + y[i];", 2),
    "logistic": ("const T* x, T* y", "y[i] = T(1) / (T(1) + std::exp(-x[i]));", 2),
    "norm": ("const T* x, const T* z, T* y", "y[i] = std::sqrt(x[i] * x[i] + z[i] * z[i]);", 3),
    "polynomial": ("const T* x, T* y",
                   "T s = 0; for (int k = 0; k < 8; ++k) s = s * x[i] + T(k); y[i] = s;", 2),
    "gather": ("const T* x, T* y", "y[i] = x[(i * 7919LL) & 0xffff] + x[i];", 2),
}

KERNEL = """
#include "mobula_op.h"
namespace mobula {{
template <typename T>
MOBULA_KERNEL {name}_kernel(const int n, {parameters}) {{
  parfor(n, [&](int i) {{ {body} }});
}}
}}
"""

LOOP = """
#include <cmath>
typedef float T;
extern "C" void {name}(const int n, {parameters}) {{
#pragma omp parallel for
  for (int i = 0; i < n; ++i) {{ {body} }}
}}
"""


def measure(contender, name, size, folder):
    """Seconds of a call: the best of many."""
    import numpy as np

    parameters, body, n = LOOPS[name]
    arrays = [np.random.default_rng(k).random(max(size, 1 << 16), dtype=np.float32) for k in range(n)]
    if contender == "mobula":
        import tarsia.mobula as mobula

        place = pathlib.Path(folder) / name
        place.mkdir(exist_ok=True)
        (place / f"{name}.cpp").write_text(KERNEL.format(name=name, parameters=parameters, body=body))
        mobula.op.load(name, folder)
        kernel = getattr(mobula.func, name)

        def call():
            kernel(size, *arrays)
    else:
        source, library = pathlib.Path(folder) / f"{name}_loop.cpp", pathlib.Path(folder) / f"{name}_loop.so"
        if not library.exists():
            source.write_text(LOOP.format(name=name, parameters=parameters, body=body))
            subprocess.run(["g++", "-O3", "-fopenmp", "-shared", "-fPIC", source, "-o", library], check=True)
        loop = getattr(ctypes.CDLL(str(library)), name)
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays]

        def call():
            loop(size, *pointers)
    once = timeit.timeit(call, number=1)
    return min(once, *timeit.repeat(call, number=1, repeat=max(5, min(500, int(0.5 / once)))))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--size", type=int, default=1_000_000)
    parser.add_argument("--threads", type=int, help="of both; by default as many as there are cores")
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)  # what a process of its own does
    arguments = parser.parse_args()
    if arguments.measure:
        contender, name, folder = arguments.measure
        print(json.dumps(measure(contender, name, arguments.size, folder)))
        return
    environment = {**os.environ, **({"OMP_NUM_THREADS": str(arguments.threads)} if arguments.threads else {})}
    print_header(f"MobulaOP's kernels on the CPU, {arguments.size:,} floats, threads: {arguments.threads or 'all'}")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in LOOPS:
            best = {"mobula": float("inf"), "g++": float("inf")}
            for _ in range(arguments.rounds):
                for contender in best:
                    done = subprocess.run([sys.executable, __file__, "--size", str(arguments.size), "--measure", contender, name, folder],
                                          check=True, stdout=subprocess.PIPE, env=environment)
                    best[contender] = min(best[contender], json.loads(done.stdout))
            rows.append([name, best["mobula"] * 1e6, best["g++"] * 1e6, best["mobula"] / best["g++"]])
    print_table(["loop", "kernel, µs", "g++ -O3 -fopenmp, µs", "ratio"], rows)


if __name__ == "__main__":
    main()
