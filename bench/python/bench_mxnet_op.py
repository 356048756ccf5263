"""Measures a call from Python of an op for MXNet's extension API, loaded from its source and from a library that g++ built.

The op is the 2 by 2 product of bench/api/bench_mxnet_op.cpp, whose own work takes about 10 ns.

    python bench/python/bench_mxnet_op.py [--rounds 15]
"""

import argparse
import pathlib
import re
import subprocess
import tempfile
import timeit

import numpy as np

import tarsia

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE = re.search(r'k_source\[\] = R"\((.*?)\)";', (ROOT / "bench/api/bench_mxnet_op.cpp").read_text(), re.S).group(1)
CALLS = 100_000


def built(folder):
    source, library = pathlib.Path(folder) / "gemm.cc", pathlib.Path(folder) / "gemm.so"
    source.write_text(SOURCE)
    subprocess.run(["g++", "-O2", "-std=c++17", "-shared", "-fPIC", f"-I{ROOT / 'include'}", source, "-o", library],
                   check=True)
    return tarsia.load(library)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    tensors = {"NumPy arrays": [np.ones((2, 2), np.float32) for _ in range(3)]}
    try:
        import torch

        tensors["torch tensors"] = [torch.ones(2, 2) for _ in range(3)]
    except ImportError:
        pass
    with tempfile.TemporaryDirectory() as folder:
        libraries, timers = [], {}
        for door, load in (("source", lambda: tarsia.load_inline(SOURCE)), ("built library", lambda: built(folder))):
            libraries.append(load())
            for kind, (a, b, c) in tensors.items():
                bound = tarsia.op("bench_gemm").bind(a, b)
                names = {"f": bound, "a": a, "b": b, "c": c}
                timers[kind, door, "into memory that is there"] = timeit.Timer("f(a, b, out=c)", globals=names)
                timers[kind, door, "making the output"] = timeit.Timer("f(a, b)", globals=names)
        best = dict.fromkeys(timers, float("inf"))
        for _ in range(rounds):
            for key, timer in timers.items():
                best[key] = min(best[key], timer.timeit(CALLS // 10) / (CALLS // 10))
    print(f"A 2 by 2 product by a bound op for MXNet's API, best of {rounds} rounds of {CALLS // 10} calls, in ns")
    for (kind, door, what), seconds in best.items():
        print(f"  {kind:14} {door:14} {what:26} {seconds * 1e9:8.1f}")


if __name__ == "__main__":
    main()
