#!/usr/bin/env python3
"""Compiles published CUDA programs, a file each, with nvcc and with Tarsia; with --run, compares the output of both builds.

    bench/programs.py FOLDER_OR_FILE... [-I DIR]... [-D NAME[=VALUE]]... [--run] [--measure REGEX] [--jobs N]

A file NAME.args beside NAME.cu holds the words that the program is run with.

The reference is `nvcc -std=c++17 -gencode arch=compute_90,code=sm_90 FILE`: nvcc's own default standard, and the architecture
of --arch. Programs that nvcc refuses do not count. Tarsia compiles with a running worker and an empty cache, each text for the first time; its
standard is --std. --jobs is the number of compiles at once, one by default. Times of several compiles at once are only good
for comparisons under the same load. Programs run with a time limit. nvcc's build runs twice: where its two outputs differ
(times, addresses), lines are compared without their numbers. --measure compares a speed that the programs print: the number
that REGEX's group finds, the best of three runs of each build, one run at a time.

Needs tarsia on Python's path, and nvcc on PATH or in /usr/local/cuda/bin.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

RUN = "import os, sys, tarsia\ncode = tarsia.load(sys.argv[1]).main(*sys.argv[2:])\nsys.exit(code)\n"
NUMBER = re.compile(rb"[-+]?(0x[0-9a-fA-F]+|[0-9]*\.?[0-9]+([eE][-+]?[0-9]+)?|nan|inf)")


def find_nvcc():
    found = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    return found if pathlib.Path(found).exists() else None


class Program:
    def __init__(self, path, folder):
        self.path = path
        self.nvccs, self.ours = folder / "nvccs", folder / "ours.so"
        self.result = {"program": str(path)}
        folder.mkdir(parents=True)


def compile_with_nvcc(nvcc, program, arguments):
    # Not -arch: scripts/corpus says why.
    architecture = f"arch=compute_{arguments.arch.removeprefix('sm_')},code={arguments.arch}"
    command = [nvcc, "-std=c++17", "-gencode", architecture, "-w", "-I", program.path.parent, "-o", program.nvccs, program.path]
    command += [word for one in arguments.include for word in ("-I", one)] + [f"-D{one}" for one in arguments.define]
    start = time.perf_counter()
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=600)
    except subprocess.TimeoutExpired:
        program.result["nvcc"] = "took more than 600 s"
        return
    program.result["nvcc_ms"] = 1000 * (time.perf_counter() - start)
    if done.returncode != 0:
        program.result["nvcc"] = (done.stdout + done.stderr)[-2000:]


def compile_with_tarsia(program, arguments):
    import tarsia

    start = time.perf_counter()
    try:
        data = program.path.read_bytes()
        try:
            text = data.decode()
        except UnicodeDecodeError:
            text = data.decode("latin-1")
        tarsia.compile({program.path.name: text}, program.ours, arch=arguments.arch, std=arguments.std,
                       include_dirs=[one.resolve() for one in (program.path.parent, *arguments.include)],
                       defines={name: value or None for name, _, value in (one.partition("=") for one in arguments.define)},
                       timeout=600)
    except Exception as error:  # whatever it is, it counts as refused
        program.result["tarsia"] = f"{type(error).__name__}: {error}"[:4000]
    program.result["tarsia_ms"] = 1000 * (time.perf_counter() - start)


def run_build(command, folder, limit):
    folder.mkdir(exist_ok=True)
    try:
        done = subprocess.run([str(part) for part in command], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=limit)
    except subprocess.TimeoutExpired:
        return None, b"", b""
    own_names = re.compile(rb"[^\s\[\]()<>]*/%s|\b%s\b" % ((b"(nvccs|ours(\\.so)?)",) * 2))  # programs print argv[0]
    return done.returncode, own_names.sub(b"PROGRAM", done.stdout), done.stderr


def same_but_for_noise(ours, first, second):
    """Whether the output is that of nvcc's build, apart from numbers in lines of a form that differ in its own runs."""
    lines = [text.split(b"\n") for text in (ours, first, second)]
    masked = [[NUMBER.sub(b"#", line) for line in text] for text in lines]
    if masked[1] != masked[2]:
        return True  # there is nothing to hold on to
    noisy = {form for form, one, other in zip(masked[1], lines[1], lines[2]) if one != other}
    return masked[0] == masked[1] and all(mine == one or form in noisy for form, mine, one in zip(masked[0], lines[0], lines[1]))


def run_both(program, arguments):
    folder = program.ours.parent
    given = program.path.with_suffix(".args")
    words = given.read_text().split() if given.exists() else []
    first = run_build([program.nvccs, *words], folder / "a", arguments.limit)
    second = run_build([program.nvccs, *words], folder / "b", arguments.limit)
    ours = run_build([sys.executable, "-c", RUN, program.ours, *words], folder / "c", arguments.limit)
    result = program.result
    if first[0] is None:
        result["run"] = "nvcc's build took too long"
    elif ours[:2] == first[:2]:
        result["run"] = "same"
    elif ours[0] == first[0] and first[:2] != second[:2] and same_but_for_noise(ours[1], first[1], second[1]):
        result["run"] = "same but for numbers that change"
    else:
        result["run"] = "different"
        result["codes"] = [first[0], ours[0]]
        result["printed"] = [part.decode(errors="replace")[-3000:] for part in (first[1], ours[1], first[2], ours[2])]


def measure_both(program, arguments):
    """The best that each build prints of what --measure names."""
    best = {}
    for name, command in (("nvcc", [program.nvccs]), ("tarsia", [sys.executable, "-c", RUN, program.ours])):
        found = []
        for _ in range(3):
            _, out, _ = run_build(command, program.ours.parent / "measured", arguments.limit)
            found += [float(one) for one in re.findall(arguments.measure, out.decode(errors="replace"))]
        best[name] = max(found, default=None)
    program.result["measured"] = best


def quantiles(values):
    values = sorted(values)
    return {q: values[min(len(values) - 1, int(q * len(values)))] for q in (0, 0.25, 0.5, 0.75, 0.9, 1)} if values else {}


def show(what, values, form):
    print(f"{what:28}" + "  ".join(f"{int(100 * q)}%: {form.format(v)}" for q, v in quantiles(values).items()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", type=pathlib.Path)
    parser.add_argument("--run", action="store_true", help="run both builds and compare what they print")
    parser.add_argument("--measure", metavar="REGEX", help="compare a speed that the programs print")
    parser.add_argument("-I", dest="include", type=pathlib.Path, action="append", default=[], metavar="DIR")
    parser.add_argument("-D", dest="define", action="append", default=[], metavar="NAME[=VALUE]")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit", type=float, default=60, help="seconds for one run")
    parser.add_argument("--std", default="c++20", help="Tarsia's standard")
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--no-nvcc", action="store_true", help="Tarsia alone")
    parser.add_argument("--nvcc-results", type=pathlib.Path, help="a file of --json: nvcc's answers and times are taken from it")
    parser.add_argument("--json", type=pathlib.Path, help="write all results into this file")
    arguments = parser.parse_args()
    nvcc = None if arguments.no_nvcc else find_nvcc()
    if not nvcc and (arguments.run or arguments.measure):
        sys.exit("programs.py: --run and --measure need nvcc")

    with tempfile.TemporaryDirectory(prefix="tarsia-programs-") as temporary:
        os.environ["TARSIA_CACHE_DIR"] = temporary + "/cache"
        import tarsia

        files = sorted(file for path in arguments.paths for file in ([path] if path.is_file() else path.rglob("*.cu")))
        programs = [Program(file, pathlib.Path(temporary) / str(i)) for i, file in enumerate(files)]
        if arguments.nvcc_results:
            known = {entry["program"]: entry for entry in json.loads(arguments.nvcc_results.read_text())}
            for program in programs:
                program.result |= {k: v for k, v in known.get(str(program.path), {}).items() if k.startswith("nvcc")}
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            started = threading.Barrier(arguments.jobs)

            def start_worker(i):
                started.wait()  # so that each is a worker of its own
                tarsia.compile({"start.cu": f"__global__ void k{i}() {{}}\n"}, f"{temporary}/start{i}.so", arch=arguments.arch)

            list(pool.map(start_worker, range(arguments.jobs)))
            if nvcc:
                list(pool.map(lambda program: "nvcc_ms" in program.result or compile_with_nvcc(nvcc, program, arguments), programs))
            accepted = [program for program in programs if "nvcc" not in program.result]
            list(pool.map(lambda program: compile_with_tarsia(program, arguments), accepted))
            taken = [program for program in accepted if "tarsia" not in program.result]
            if arguments.run:
                list(pool.map(lambda program: run_both(program, arguments), taken))
        if arguments.measure:
            for program in taken:
                measure_both(program, arguments)

        for program in accepted:
            if "tarsia" in program.result:
                print(f"REFUSED {program.path}\n    " + program.result["tarsia"].replace("\n", "\n    ")[:1500])
            elif program.result.get("run") == "different":
                print(f"DIFFERENT {program.path}: exit codes {program.result['codes']}")
        for program in taken:
            if measured := program.result.get("measured"):
                ours, theirs = measured["tarsia"], measured["nvcc"]
                ratio = f"{ours / theirs:.3f} of nvcc's" if ours and theirs else "no speed printed"
                print(f"{program.path}: {ours} with Tarsia, {theirs} with nvcc: {ratio}")
        print(f"{len(programs)} programs; nvcc takes {len(accepted)}" if nvcc else f"{len(programs)} programs")
        print(f"Tarsia takes {len(taken)} of {len(accepted)}: {100 * len(taken) / max(1, len(accepted)):.1f} %")
        show("Tarsia's time, ms", [program.result["tarsia_ms"] for program in taken], "{:.0f}")
        timed = [program.result for program in taken if "nvcc_ms" in program.result]
        if timed:
            show("nvcc's time, ms", [result["nvcc_ms"] for result in timed], "{:.0f}")
            ratios = [result["tarsia_ms"] / result["nvcc_ms"] for result in timed]
            show("Tarsia's time / nvcc's", ratios, "{:.3f}")
            print(f"median of the ratios: {statistics.median(ratios):.3f}")
        if arguments.run:
            outcomes = [program.result["run"] for program in taken]
            print("runs: " + ", ".join(f"{outcomes.count(kind)} {kind}" for kind in sorted(set(outcomes))))
        if arguments.json:
            arguments.json.write_text(json.dumps([program.result for program in programs], indent=1))
        sys.stdout.flush()
    return 0 if len(taken) == len(accepted) and not any(p.result.get("run") == "different" for p in taken) else 1


if __name__ == "__main__":
    sys.exit(main())
