"""Measures a process that finds everything in the caches: from the string to a callable op, and to its first result.

Each round is a new process. Imports and CUDA's context come before the measured time. Prints the medians and the worst times.

    python bench/python/bench_warm.py [--rounds 15] [--without-torch] [--caches DIR]

--caches uses the caches that bench_cold.py --caches kept. Without it, the caches are filled first, which compiles everything
once.
"""

import argparse
import pathlib

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


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--without-torch", action="store_true")
    parser.add_argument("--caches")
    arguments = parser.parse_args()
    report.print_header("bench_warm.py: a new process, everything cached")
    with report.fresh_folder() as folder:
        folder = arguments.caches or folder

        def figures(contender, slow):
            return measure(contender, folder, min(arguments.rounds, 3) if slow else arguments.rounds)

        report.compare("Host-only ReLU", contenders.HOST_CONTENDERS, figures, arguments.without_torch)
        if report.gpus():
            report.compare("Host and device ReLU (CuPy: device alone)", contenders.CUDA_CONTENDERS, figures, arguments.without_torch)


if __name__ == "__main__":
    main()
