"""Compares the fused op of examples/rms_norm.cu on a GPU with PyTorch's own functions, one by one and under torch.compile.

All take turns in one run. Prints medians of rounds; events around many calls time each round.

    python bench/python/bench_rms_norm.py [--rows 16384] [--rounds 20]
"""

import argparse
import pathlib
import statistics

import report

import tarsia

SOURCE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "rms_norm.cu"


def composed(x, residual, weight, torch):
    """As models write it: the sum, the norm in float32, and the weight."""
    total = x + residual
    wide = total.float()
    scale = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
    return (wide * scale).to(x.dtype) * weight, total


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=16384)
    parser.add_argument("--rounds", type=int, default=20)
    given = parser.parse_args()
    report.print_header("bench_rms_norm.py: RMSNorm with the residual sum, fused")
    tarsia.load_inline({SOURCE.name: SOURCE.read_text()}, "rms_norm")
    if not report.gpus():
        return print("  needs a GPU: it was compiled, not run")
    import torch
    from tarsia.torch import register

    fused = register(tarsia.op("rms_norm_residual"))

    def own(x, residual, weight):
        total = x + residual
        return torch.nn.functional.rms_norm(total, weight.shape, weight, 1e-6), total

    contenders = {"tarsia": lambda x, r, w: fused(x, r, w), "torch, step by step": lambda x, r, w: composed(x, r, w, torch),
                  "torch, F.rms_norm": own}
    try:
        compiled = torch.compile(lambda x, r, w: composed(x, r, w, torch))
        compiled(*(torch.ones(64, 64, device="cuda") for _ in range(2)), torch.ones(64, device="cuda"))
        contenders["torch.compile"] = compiled
    except Exception as error:
        print(f"  without torch.compile: {str(error).splitlines()[0]}")

    for dtype in (torch.bfloat16, torch.float16, torch.float32):
        for width in (1024, 4096, 8192):
            measure(torch, contenders, dtype, given.rows, width, given.rounds)


def measure(torch, contenders, dtype, rows, width, rounds):
    torch.manual_seed(0)
    x, residual, dy, dsum = (torch.randn(rows, width, device="cuda", dtype=dtype) for _ in range(4))
    weight = torch.randn(width, device="cuda", dtype=dtype)
    learned = [t.clone().requires_grad_() for t in (x, residual, weight)]

    def both(function):
        torch.autograd.grad(function(*learned), learned, (dy, dsum))

    passes = {"forward": lambda function: function(x, residual, weight), "forward and backward": both}
    # What a pass has to move: forward 2 in and 2 out; backward dy, the sum and its gradient in, two gradients out.
    moved = {"forward": 4, "forward and backward": 4 + 5}
    calls = 20
    for name, run in passes.items():
        figures = {contender: [] for contender in contenders}
        for round in range(rounds + 2):
            for contender, function in contenders.items():
                begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                run(function)  # after the others' data have filled the cache
                begin.record()
                for _ in range(calls):
                    run(function)
                end.record()
                end.synchronize()
                if round >= 2:
                    figures[contender].append(begin.elapsed_time(end) / calls * 1e3)
        medians = {contender: statistics.median(list_) for contender, list_ in figures.items()}
        bytes_ = moved[name] * rows * width * x.element_size()
        print(f"\n{str(dtype).removeprefix('torch.')}, {rows} x {width}, {name}: us a call, medians of {rounds} rounds of {calls}")
        report.print_table(["", "us", "GB/s of what must move", "this / tarsia"],
                           [[contender, f"{us:.1f}", f"{bytes_ / us / 1e3:.0f}", us / medians["tarsia"]]
                            for contender, us in medians.items()])


if __name__ == "__main__":
    main()
