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


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--without-torch", action="store_true")
    parser.add_argument("--caches")
    arguments = parser.parse_args()
    report.print_header("bench_cold.py: first compile of a process, caches empty, worker start included")

    def figures(contender, slow):
        return measure(contender, 1 if slow else arguments.rounds, arguments.caches)

    report.compare("Host-only ReLU", contenders.HOST_CONTENDERS, figures, arguments.without_torch)
    if report.gpus():
        report.compare("Host and device ReLU (CuPy: device alone)", contenders.CUDA_CONTENDERS, figures, arguments.without_torch)


if __name__ == "__main__":
    main()
