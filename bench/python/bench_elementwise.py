"""Compares elementwise ops and reductions of one line with copies of memory, CuPy, PyTorch and NumPy, in one run.

On a GPU, prints the bytes read and written per second at large sizes, and the ratio to a copy from device to device
(cudaMemcpyAsync). On the CPU, prints milliseconds, with those of NumPy and PyTorch. Then prints the time of a call with
one element. All figures are medians of rounds in which all take turns.

    python bench/python/bench_elementwise.py [--megabytes 1024] [--rounds 20]
"""

import argparse
import statistics
import time
import timeit

import numpy as np
import report

import tarsia

SAXPY = tarsia.elementwise("T x, T y, float a", "T z", "z = a * x + y", "saxpy")
GELU = tarsia.elementwise("T x", "T y", "y = x * T(0.5) * (1 + erf(x * T(0.70710678118654752)))", "gelu")
TOTAL = tarsia.reduction("T x", "T y", "x", "a + b", None, "0", "total")
NORM = tarsia.reduction("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "norm")


def cases(xp, make, n, columns):
    """(what, bytes of it, {who: statement}) with the names of `make`'s arrays. n elements of float32, or their bytes. Of a strided
    input the bytes are those that it spans: memory is read in sectors of 32 bytes, each of which holds some of it."""
    rows = n // columns
    make(x=(n,), y=(n,), z=(n,), h=(2 * n, "float16"), k=(2 * n, "float16"), m=(rows, columns), w=(rows, columns),
         b=(columns,), c=(rows, 1), o=(rows,), p=(columns,), s=())
    return [
        ("saxpy, float32", 12 * n, {"tarsia": "SAXPY(x, y, 2.0, z)", "CuPy": "cupy_saxpy(x, y, f2, z)",
                                    "PyTorch": "torch.add(y, x, alpha=2.0, out=z)",
                                    "NumPy": "np.multiply(x, np.float32(2), out=z); np.add(z, y, out=z)"}),
        ("saxpy, float16", 12 * n, {"tarsia": "SAXPY(h, k, 2.0, k)", "CuPy": "cupy_saxpy(h, k, f2, k)",
                                    "PyTorch": "torch.add(k, h, alpha=2.0, out=k)"}),
        ("gelu, float32", 8 * n, {"tarsia": "GELU(x, z)", "CuPy": "cupy_gelu(x, z)",
                                  "PyTorch": "torch.nn.functional.gelu(x)"}),
        ("x + row", 8 * n, {"tarsia": "SAXPY(m, b, 1.0, w)", "CuPy": "cupy_saxpy(m, b, f1, w)",
                            "PyTorch": "torch.add(m, b, out=w)", "NumPy": "np.add(m, b, out=w)"}),
        ("x + column", 8 * n, {"tarsia": "SAXPY(m, c, 1.0, w)", "CuPy": "cupy_saxpy(m, c, f1, w)",
                               "PyTorch": "torch.add(m, c, out=w)", "NumPy": "np.add(m, c, out=w)"}),
        ("x[:, ::2] + y[:, 1::2]", 10 * n, {"tarsia": "SAXPY(m[:, ::2], w[:, 1::2], 1.0)",
                                           "PyTorch": "torch.add(m[:, ::2], w[:, 1::2])", "NumPy": "m[:, ::2] + w[:, 1::2]"}),
        ("sum of all", 4 * n, {"tarsia": "TOTAL(x, s)", "CuPy": "cupy_total(x, s)", "PyTorch": "x.sum()", "NumPy": "x.sum()"}),
        ("sum of all, odd size", 4 * n, {"tarsia": "TOTAL(x[:-1], s)", "PyTorch": "x[:-1].sum()", "NumPy": "x[:-1].sum()"}),
        ("sums of rows", 4 * n, {"tarsia": "TOTAL(m, o, axis=1)", "CuPy": "cupy_total(m, o, axis=1)", "PyTorch": "m.sum(1)",
                                 "NumPy": "m.sum(1)"}),
        ("sums of columns", 4 * n, {"tarsia": "TOTAL(m, p, axis=0)", "CuPy": "cupy_total(m, p, axis=0)", "PyTorch": "m.sum(0)",
                                    "NumPy": "m.sum(0)"}),
        ("norms of rows, float16", 4 * n, {"tarsia": "NORM(h.reshape(-1, columns), axis=1)",
                                           "PyTorch": "h.view(-1, columns).norm(dim=1)"}),
    ]


def cupy_names():
    import cupy

    return {
        "cupy_saxpy": cupy.ElementwiseKernel("T x, T y, float32 a", "T z", "z = a * x + y", "saxpy"),
        "cupy_gelu": cupy.ElementwiseKernel("T x", "T y", "y = x * T(0.5) * (1 + erf(x * T(0.70710678118654752)))", "gelu"),
        "cupy_total": cupy.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total"),
    }


def on_gpu(megabytes, rounds):
    import torch

    n, columns = megabytes * (1 << 20) // 4, 4096
    arrays = {"torch": {}, "cupy": {}}

    def make(**shapes):
        for name, shape in shapes.items():
            dtype = shape[-1] if shape and isinstance(shape[-1], str) else "float32"
            extents = shape[:-1] if dtype != "float32" else shape
            arrays["torch"][name] = torch.rand(extents, device="cuda").to(getattr(torch, dtype))

    common = {"SAXPY": SAXPY, "GELU": GELU, "TOTAL": TOTAL, "NORM": NORM, "torch": torch, "columns": columns}
    found = cases(torch, make, n, columns)
    spaces = {"tarsia": common | arrays["torch"], "PyTorch": common | arrays["torch"]}
    contenders = ["tarsia", "PyTorch"]
    try:
        import cupy

        spaces["CuPy"] = cupy_names() | {"f1": np.float32(1), "f2": np.float32(2)} | {
            name: cupy.from_dlpack(array) for name, array in arrays["torch"].items()}
        contenders.insert(1, "CuPy")
    except ImportError as error:
        print(f"  without CuPy: {error}")

    def seconds(function):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        function()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) / 1e3

    x, z = arrays["torch"]["x"], arrays["torch"]["z"]
    rows, worst = [], {}
    for what, moved, statements in found:
        functions = {who: eval(f"lambda: {statements[who]}", spaces[who]) for who in contenders if who in statements}
        functions["copy"] = lambda: z.copy_(x)
        times = {who: [] for who in functions}
        for k in range(rounds + 3):
            for who, function in functions.items():
                took = seconds(function)
                if k >= 3:
                    times[who].append(took)
        speeds = {who: (8 * n if who == "copy" else moved) / statistics.median(list_) / 1e12 for who, list_ in times.items()}
        worst[what] = speeds["tarsia"] / speeds["copy"]
        rows.append([what, speeds["tarsia"], worst[what],
                     *(speeds[who] / speeds["copy"] if who in speeds else "-" for who in contenders[1:])])
    print(f"\nGPU, {megabytes} MB a tensor of float32: TB/s read and written, and that over a copy's, {8 * n / 1e9:.1f} GB moved by it")
    report.print_table(["", "tarsia TB/s", "tarsia / copy", *(f"{who} / copy" for who in contenders[1:])], rows)
    print(f"  the least of tarsia: {min(worst.values()):.2f} of a copy, in {min(worst, key=worst.get)}")


def on_cpu(rounds):
    try:
        import torch
    except ImportError:
        torch = None
    for n, columns in ((1 << 24, 4096), (1 << 14, 128)):
        arrays, rng = {}, np.random.default_rng(0)

        def make(**shapes):
            for name, shape in shapes.items():
                dtype = shape[-1] if shape and isinstance(shape[-1], str) else "float32"
                extents = shape[:-1] if dtype != "float32" else shape
                arrays[name] = np.asarray(rng.random(extents, dtype=np.float32)).astype(dtype)

        found = cases(np, make, n, columns)
        common = {"SAXPY": SAXPY, "GELU": GELU, "TOTAL": TOTAL, "NORM": NORM, "np": np, "columns": columns}
        spaces = {"tarsia": common | arrays, "NumPy": common | arrays}
        if torch:
            spaces["PyTorch"] = common | {"torch": torch} | {name: torch.from_numpy(array) for name, array in arrays.items()}
        rows = []
        for what, _, statements in found:
            timers = {who: timeit.Timer(statements[who], globals=spaces[who]) for who in spaces if who in statements}
            number = 1 if n > 1 << 20 else 100
            times = {who: [] for who in timers}
            for k in range(rounds + 2):
                for who, timer in timers.items():
                    took = timer.timeit(number) / number
                    if k >= 2:
                        times[who].append(took)
            medians = {who: statistics.median(list_) for who, list_ in times.items()}
            rows.append([what, medians["tarsia"] * 1e6, *(medians[who] / medians["tarsia"] if who in medians else "-"
                                                         for who in ("NumPy", "PyTorch"))])
        print(f"\nCPU, {n:,} elements of float32")
        report.print_table(["", "tarsia us", "NumPy / tarsia", "PyTorch / tarsia"], rows)


def one_element(rounds):
    x, y, z = np.ones((3, 1), np.float32)
    names = {"SAXPY": SAXPY, "TOTAL": TOTAL, "np": np, "x": x, "y": y, "z": z}
    statements = {"tarsia: SAXPY(x, y, 2.0, z)": "SAXPY(x, y, 2.0, z)", "tarsia: SAXPY(x, y, 2.0)": "SAXPY(x, y, 2.0)",
                  "tarsia: TOTAL(x)": "TOTAL(x)", "NumPy: np.add(x, y, out=z)": "np.add(x, y, out=z)", "NumPy: x.sum()": "x.sum()"}
    try:
        import torch

        names |= {"torch": torch, "tx": torch.ones(1), "ty": torch.ones(1), "tz": torch.ones(1)}
        statements |= {"tarsia: SAXPY(tx, ty, 2.0, tz), PyTorch's tensors": "SAXPY(tx, ty, 2.0, tz)",
                       "PyTorch: torch.add(ty, tx, alpha=2.0, out=tz)": "torch.add(ty, tx, alpha=2.0, out=tz)",
                       "PyTorch: tx.sum()": "tx.sum()"}
        if report.gpus():
            names |= {name: torch.ones(1, device="cuda") for name in ("gx", "gy", "gz")}
            statements |= {"tarsia on the GPU: SAXPY(gx, gy, 2.0, gz)": "SAXPY(gx, gy, 2.0, gz)",
                           "PyTorch on the GPU: torch.add(gy, gx, alpha=2.0, out=gz)": "torch.add(gy, gx, alpha=2.0, out=gz)"}
            try:
                import cupy

                names |= cupy_names() | {"f2": np.float32(2), "cx": cupy.ones(1, "f"), "cy": cupy.ones(1, "f"), "cz": cupy.ones(1, "f")}
                statements["CuPy: cupy_saxpy(cx, cy, f2, cz)"] = "cupy_saxpy(cx, cy, f2, cz)"
            except ImportError:
                pass
    except ImportError:
        pass
    timers = {name: timeit.Timer(statement, globals=names) for name, statement in statements.items()}
    times = {name: [] for name in timers}
    for k in range(rounds + 2):
        for name, timer in timers.items():
            if "torch" in names and report.gpus():
                names["torch"].cuda.synchronize()
            took = timer.timeit(500) / 500
            if k >= 2:
                times[name].append(took)
    print("\na call at one element")
    report.print_table(["", "ns"], [[name, f"{statistics.median(list_) * 1e9:.0f}"] for name, list_ in times.items()])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--megabytes", type=int, default=1024, help="of each large tensor on the GPU")
    parser.add_argument("--rounds", type=int, default=20)
    arguments = parser.parse_args()
    report.print_header("bench_elementwise.py: elementwise ops and reductions")
    begin = time.perf_counter()
    SAXPY(np.ones(1, np.float32), np.ones(1, np.float32), 1.0)
    print(f"  the first call compiled, or took from the cache, in {(time.perf_counter() - begin) * 1e3:.0f} ms")
    if report.gpus():
        on_gpu(arguments.megabytes, arguments.rounds)
    else:
        print("  needs a GPU for its first part")
    on_cpu(arguments.rounds)
    one_element(arguments.rounds)


if __name__ == "__main__":
    main()
