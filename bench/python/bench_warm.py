"""Measures a process that finds everything in the caches: from the string to a callable op, and to its first result.

Each round is a new process. Imports and CUDA's context come before the measured time. Prints the medians and the worst times.

    python bench/python/bench_warm.py [--rounds 15] [--without-torch] [--caches DIR]

--caches uses the caches that bench_cold.py --caches kept. Without it, the caches are filled first, which compiles everything
once.
"""

import argparse
import pathlib
import statistics

import contenders
import report


def measure(contender, folder, rounds):
    """The figures of all rounds, or a text."""
    folder = pathlib.Path(folder, contender.__name__)
    if not folder.exists():
        folder.mkdir(parents=True)
        first = report.run_alone("contenders.py", [contender.__name__], folder, timeout=200)
        if isinstance(first, str):
            return first
    figures = []
    for _ in range(rounds):
        figure = report.run_alone("contenders.py", [contender.__name__], folder, timeout=200)
        if isinstance(figure, str):
            return figure
        figures.append(figure)
    return figures


def compare(title, members, arguments, folder):
    rows, ours = [], None
    for name, contender in members.items():
        slow = name.startswith("PyTorch")
        if slow and arguments.without_torch:
            continue
        figures = measure(contender, folder, min(arguments.rounds, 3) if slow else arguments.rounds)
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
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--without-torch", action="store_true")
    parser.add_argument("--caches")
    arguments = parser.parse_args()
    report.print_header("bench_warm.py: a new process, everything cached")
    with report.fresh_folder() as folder:
        folder = arguments.caches or folder
        compare("Host-only ReLU", contenders.HOST_CONTENDERS, arguments, folder)
        if report.gpus():
            compare("Host and device ReLU (CuPy: device alone)", contenders.CUDA_CONTENDERS, arguments, folder)


if __name__ == "__main__":
    main()
