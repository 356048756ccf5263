"""Measures the first compile of a process with empty caches: from the string to a callable op, and to its first result.

Each round is a new process with caches of its own. Imports and CUDA's context come before the measured time; the start
of Tarsia's compiler is part of it. Prints the medians and the worst times.

    python bench/python/bench_cold.py [--rounds 5] [--without-torch] [--caches DIR]

PyTorch compiles once, the others --rounds times. --caches keeps the caches of each contender's last round for
bench_warm.py --caches.
"""

import argparse
import pathlib
import shutil
import statistics

import contenders
import report


def measure(contender, rounds, keep):
    """The figures of all rounds, or a text."""
    figures = []
    for k in range(rounds):
        with report.fresh_folder() as folder:
            if keep and k == rounds - 1:
                folder = pathlib.Path(keep, contender.__name__)
                shutil.rmtree(folder, ignore_errors=True)
            figure = report.run_alone("contenders.py", [contender.__name__], folder, timeout=200)
            if isinstance(figure, str):
                return figure
            figures.append(figure)
    return figures


def compare(title, members, arguments):
    rows, ours = [], None
    for name, contender in members.items():
        slow = name.startswith("PyTorch")
        if slow and arguments.without_torch:
            continue
        figures = measure(contender, 1 if slow else arguments.rounds, arguments.caches)
        if isinstance(figures, str):
            rows.append([name, "not run:", figures[:60], "", "", ""])
            continue
        callable_, result = (statistics.median(figure[key] for figure in figures) for key in ("callable", "result"))
        worst = max(figure["callable"] for figure in figures)
        ours = ours or (callable_, result)
        rows.append([name, callable_, worst, result, callable_ / ours[0], result / ours[1]])
    print(f"\n{title}")
    report.print_table(["", "ms to callable", "worst", "ms to result", "this / tarsia", "to result"], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--without-torch", action="store_true")
    parser.add_argument("--caches")
    arguments = parser.parse_args()
    report.print_header("bench_cold.py: first compile of a process, caches empty, worker start included")
    compare("Host-only ReLU", contenders.HOST_CONTENDERS, arguments)
    if report.gpus():
        compare("Host and device ReLU (CuPy: device alone)", contenders.CUDA_CONTENDERS, arguments)


if __name__ == "__main__":
    main()
