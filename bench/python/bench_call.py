"""Measures a call from Python: a function that does nothing, with two tensors, two arrays, two ints.

The same run measures tvm-ffi, pybind11 and numpy.add on one element, as far as they are installed. The rounds of all
take turns, and the best of each counts. A ratio below 1 means that Tarsia is faster.

    python bench/python/bench_call.py [--rounds 15] [--torch-extension] [--json FILE]

--torch-extension adds a torch.utils.cpp_extension function (its compile takes a minute).
"""

import argparse
import json
import pathlib
import platform
import subprocess
import sys
import sysconfig
import tempfile
import timeit

import numpy as np

import tarsia

SOURCE = """
#include <tarsia/op.h>
void pointers(const float* x, float* y) {}
void tensors(const tarsia::Tensor& x, tarsia::Tensor y) {}
int add(int a, int b) { return a + b; }
int64_t many(const float* a, const float* b, const float* c, const float* d, const float* e, const float* f,
             const float* g, const float* h, float* i) { return 0; }
tarsia::Tensor make(const tarsia::Tensor& x) { return tarsia::empty_like(x); }
"""
EXPORTS = "".join(f"TARSIA_EXPORT({name})\n" for name in ("pointers", "tensors", "add", "many", "make"))

PYBIND11 = """
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
namespace py = pybind11;
PYBIND11_MODULE(bench_pybind11, m) {
  m.def("arrays", [](py::array_t<float, 0> x, py::array_t<float, 0> y) {});
  m.def("add", [](int a, int b) { return a + b; });
}
"""

TVM = """
void pointers(tvm::ffi::TensorView x, tvm::ffi::TensorView y) {}
int64_t add(int64_t a, int64_t b) { return a + b; }
int64_t many(tvm::ffi::TensorView a, tvm::ffi::TensorView b, tvm::ffi::TensorView c, tvm::ffi::TensorView d,
             tvm::ffi::TensorView e, tvm::ffi::TensorView f, tvm::ffi::TensorView g, tvm::ffi::TensorView h,
             tvm::ffi::TensorView i) { return 0; }
"""


def compile_with(text, output, *flags):
    source = output.with_suffix(".cpp")
    source.write_text(text)
    subprocess.run(["g++", "-std=c++20", "-O2", "-DNDEBUG", "-shared", "-fPIC", "-fvisibility=hidden", str(source),
                    "-o", str(output), *flags], check=True)


def tarsia_library(folder):
    include = pathlib.Path(tarsia.__file__).parent / "include"
    output = folder / "libbench.so"
    compile_with(SOURCE + EXPORTS, output, f"-I{include}")
    return tarsia.load(output)


def pybind11_module(folder):
    try:
        import pybind11

        include = pybind11.get_include()
    except ImportError:
        try:
            import torch  # brings pybind11's headers

            include = str(pathlib.Path(torch.__file__).parent / "include")
        except ImportError:
            return None
    output = folder / f"bench_pybind11{sysconfig.get_config_var('EXT_SUFFIX')}"
    compile_with(PYBIND11, output, f"-I{include}", f"-I{sysconfig.get_path('include')}")
    sys.path.insert(0, str(folder))
    import bench_pybind11

    return bench_pybind11


def torch_extension():
    from torch.utils import cpp_extension

    return cpp_extension.load_inline("bench_torch", ["void pointers(torch::Tensor x, torch::Tensor y) {}"],
                                     functions=["pointers"])


def cases(lib, arguments):
    """Groups of (contender, statement, names); the first of each group is Tarsia's."""
    x, y = np.zeros(4, np.float32), np.zeros(4, np.float32)
    one, other = np.zeros(1, np.float32), np.zeros(1, np.float32)
    arrays, ints, tensors, nine, makes = [], [], [], [], []
    arrays.append(("tarsia", "f(x, y)", {"f": lib.pointers, "x": x, "y": y}))
    ints.append(("tarsia", "f(1, 2)", {"f": lib.add}))
    with tempfile.TemporaryDirectory() as folder:
        module = pybind11_module(pathlib.Path(folder))
    if module:
        arrays.append(("pybind11", "f(x, y)", {"f": module.arrays, "x": x, "y": y}))
        ints.append(("pybind11", "f(1, 2)", {"f": module.add}))
    arrays.append(("numpy.add, 1 element", "f(x, y)", {"f": np.add, "x": one, "y": other}))
    try:
        import torch
    except ImportError:
        return {"2 NumPy arrays": arrays, "2 ints": ints}
    a, b = torch.zeros(4), torch.zeros(4)
    t = [torch.zeros(4) for _ in range(9)]
    tensors.append(("tarsia", "f(a, b)", {"f": lib.pointers, "a": a, "b": b}))
    tensors.append(("tarsia, tarsia::Tensor", "f(a, b)", {"f": lib.tensors, "a": a, "b": b}))
    nine.append(("tarsia", "f(*t)", {"f": lib.many, "t": t}))
    makes.append(("tarsia", "f(a)", {"f": lib.make, "a": a}))
    makes.append(("torch.empty_like", "f(a)", {"f": torch.empty_like, "a": a}))
    try:
        import tvm_ffi.cpp

        tvm = tvm_ffi.cpp.load_inline("bench_tvm", cpp_sources=TVM, functions=["pointers", "add", "many"])
        tensors.append(("tvm-ffi", "f(a, b)", {"f": tvm.pointers, "a": a, "b": b}))
        arrays.append(("tvm-ffi", "f(x, y)", {"f": tvm.pointers, "x": x, "y": y}))
        ints.append(("tvm-ffi", "f(1, 2)", {"f": tvm.add}))
        nine.append(("tvm-ffi", "f(*t)", {"f": tvm.many, "t": t}))
    except ImportError:
        pass
    if arguments.torch_extension:
        tensors.append(("torch extension", "f(a, b)", {"f": torch_extension().pointers, "a": a, "b": b}))
    tensors += [case for case in arrays if case[0] in ("pybind11", "numpy.add, 1 element")]
    return {"2 torch tensors": tensors, "2 NumPy arrays": arrays, "2 ints": ints, "9 torch tensors": nine,
            "a torch tensor made": makes}


def measure(groups, rounds):
    number = 20_000
    timers = {(group, name): timeit.Timer(statement, globals=names)
              for group, members in groups.items() for name, statement, names in members}
    best = dict.fromkeys(timers, float("inf"))
    for _ in range(rounds):
        for key, timer in timers.items():
            best[key] = min(best[key], timer.timeit(number) / number)
    return {group: {name: best[group, name] * 1e9 for name, _, _ in members} for group, members in groups.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--torch-extension", action="store_true")
    parser.add_argument("--json")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        lib = tarsia_library(pathlib.Path(folder))
        results = measure(cases(lib, arguments), arguments.rounds)
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, best of {arguments.rounds} rounds")
    for group, figures in results.items():
        print(f"\n{group}")
        ours = figures["tarsia"]
        for name, nanoseconds in figures.items():
            print(f"  {name:24} {nanoseconds:8.1f} ns   tarsia / this: {ours / nanoseconds:.2f}")
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
