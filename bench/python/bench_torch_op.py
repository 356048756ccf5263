"""Compares torch.ops.tarsia.f with a direct call of f, with torch.library.custom_op and with a torch.autograd.Function.

The functions do next to nothing. The tensors have four elements and lie on the GPU if there is one. The rounds of all take
turns, and the best of each counts.

    python bench/python/bench_torch_op.py [--rounds 15] [--json FILE]
"""

import argparse
import json
import pathlib
import platform
import timeit

import torch
from report import processor, versions

import tarsia
import tarsia.torch

SOURCE = r"""
#include <tarsia/elementwise.h>
void write(const float* x, float* y) {}
tarsia::Tensor make(const tarsia::Tensor& x) { return tarsia::empty_like(x); }
tarsia::Tensor make_backward(const tarsia::Tensor& dy, const tarsia::Tensor& x) { return tarsia::empty_like(x); }

struct Leaky {
  double slope = 0.25;
  template <class T> TARSIA_HOST_DEVICE T operator()(T x) const { return x > T(0) ? x : T(slope) * x; }
};
struct LeakyGradient : Leaky {
  template <class T> TARSIA_HOST_DEVICE T operator()(T dy, T x, T) const { return x > T(0) ? dy : T(slope) * dy; }
};
TARSIA_ELEMENTWISE(bench_leaky, Leaky, LeakyGradient).attribute("slope", &Leaky::slope);
"""


FUNCTIONS = {}  # emptied in the end: PyTorch never lets go of what is registered


def custom_ops():
    """The same through torch.library.custom_op."""

    @torch.library.custom_op("tarsia_bench::write", mutates_args=("y",))
    def write(x: torch.Tensor, y: torch.Tensor) -> None:
        FUNCTIONS["write"](x, y)

    @torch.library.custom_op("tarsia_bench::make", mutates_args=())
    def make(x: torch.Tensor) -> torch.Tensor:
        return FUNCTIONS["make"](x)

    def save(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    def gradient(ctx, dy):  # as torch.compile wants it: an operator too
        return make_backward(dy, *ctx.saved_tensors)

    @torch.library.custom_op("tarsia_bench::make_backward", mutates_args=())
    def make_backward(dy: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return FUNCTIONS["make_backward"](dy, x)

    make.register_autograd(gradient, setup_context=save)
    return write, make


class Plain(torch.autograd.Function):
    """What one would write by hand for eager mode, with direct calls and no operator."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return FUNCTIONS["make"](x)

    @staticmethod
    def backward(ctx, dy):
        return FUNCTIONS["make_backward"](dy, *ctx.saved_tensors)


def cases(lib, device):
    """Groups of {contender: (statement, names)}."""
    write, make = custom_ops()
    x, y = torch.zeros(4, device=device), torch.zeros(4, device=device)
    wanted = torch.zeros(4, device=device, requires_grad=True)
    dy = torch.ones(4, device=device)
    pair = tarsia.torch.function(lib.make, lib.make_backward, "bench_pair", outputs=torch.empty_like)
    plain = tarsia.torch.function(lib.make, lib.make_backward)
    leaky, operator = tarsia.op("bench_leaky"), tarsia.torch.register(tarsia.op("bench_leaky"))
    step = "f(x).backward(dy)"
    return {
        "writes into a tensor": {
            "tarsia.Function": ("f(x, y)", {"f": lib.write, "x": x, "y": y}),
            "torch.ops.tarsia": ("f(x, y)", {"f": tarsia.torch.register(lib.write), "x": x, "y": y}),
            "torch.library.custom_op": ("f(x, y)", {"f": write, "x": x, "y": y}),
        },
        "gives a tensor": {
            "tarsia.Function": ("f(x)", {"f": lib.make, "x": x}),
            "torch.ops.tarsia": ("f(x)", {"f": tarsia.torch.register(lib.make), "x": x}),
            "torch.library.custom_op": ("f(x)", {"f": make, "x": x}),
            "torch.relu": ("f(x)", {"f": torch.relu, "x": x}),
        },
        "differentiable, no gradient wanted": {
            "tarsia.Op": ("f(x)", {"f": leaky, "x": x}),
            "torch.ops.tarsia, op": ("f(x)", {"f": operator, "x": x}),
            "torch.ops.tarsia, op, attribute": ("f(x, slope=0.5)", {"f": operator, "x": x}),
            "tarsia.torch.function": ("f(x)", {"f": pair, "x": x}),
            "torch.library.custom_op": ("f(x)", {"f": make, "x": x}),
        },
        "forward and backward": {
            "torch.ops.tarsia, op": (step, {"f": operator, "x": wanted, "dy": dy}),
            "tarsia.torch.function": (step, {"f": pair, "x": wanted, "dy": dy}),
            "tarsia.torch.function, no name": (step, {"f": plain, "x": wanted, "dy": dy}),
            "torch.library.custom_op": (step, {"f": make, "x": wanted, "dy": dy}),
            "torch.autograd.Function": (step, {"f": Plain.apply, "x": wanted, "dy": dy}),
            "torch.relu": (step, {"f": torch.relu, "x": wanted, "dy": dy}),
        },
    }


def measure(groups, rounds):
    number = 3000
    timers = {(group, name): timeit.Timer(statement, globals=names)
              for group, members in groups.items() for name, (statement, names) in members.items()}
    best = dict.fromkeys(timers, float("inf"))
    for _ in range(rounds):
        for key, timer in timers.items():
            best[key] = min(best[key], timer.timeit(number) / number)
    return {group: {name: best[group, name] * 1e6 for name in members} for group, members in groups.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    lib = tarsia.load_inline({"bench.cu" if device == "cuda" else "bench.cc": SOURCE})
    FUNCTIONS.update((name, lib[name]) for name in lib.functions)
    results = measure(cases(lib, device), arguments.rounds)
    FUNCTIONS.clear()
    print(f"# A call through torch.ops, tensors on {device}\n  {processor()}; Python {platform.python_version()}, "
          f"{', '.join(versions('torch'))}; best of {arguments.rounds} rounds")
    for group, figures in results.items():
        print(f"\n{group}")
        for name, microseconds in figures.items():
            ours = figures.get("torch.ops.tarsia", figures.get("torch.ops.tarsia, op"))
            print(f"  {name:32} {microseconds:8.2f} us   torch.ops.tarsia / this: {ours / microseconds:.2f}")
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
