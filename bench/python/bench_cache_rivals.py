#!/usr/bin/env python3
"""The cache beside ccache and CuPy's, and beside what it is meant to reach: hits, many processes at one cold source, and a
store that is silent.

    bench/python/bench_cache_rivals.py [--rounds N] [--processes N] [--bench-cache PATH] [--folder DIR]

Both sides get the same host-only source in one run, by turns. ccache keeps the object of `g++ -O2 -fPIC -c`, which is not linked yet;
Tarsia a module that is. `tarsia compile` and `ccache g++` are programs that a shell starts; the rows "in Python" are calls in a
process that lives. ccache's stores are HTTP ones, with its own defaults. CuPy's rows need CuPy and a GPU. PATH is the build's
bench_cache, for the rows that it measures; without it they are left out.

Needs tarsia on Python's path; ccache and g++ for ccache's rows, nginx and redis-server for those of shared stores.
"""

import argparse
import json
import os
import pathlib
import shutil
import socket
import statistics
import subprocess
import sys
import time

import bench_remote
import bench_warm
import contenders
import report

SOURCE = """#include <algorithm>
#include <cmath>
#include <vector>
float relu(const float* x, float* y, int n, float scale) {{
  std::vector<float> kept(x, x + n);
  std::sort(kept.begin(), kept.end());
  for (int i = 0; i < n; ++i) y[i] = std::max(x[i], 0.0f) * scale + {0};
  return std::sqrt(kept[n / 2]);
}}
"""

# Waits until the gate closes, then loads; tells when it was done, and whether it compiled. It ends when the second gate closes: an
# interpreter that ends takes longer than a hit.
WAITING = """
import os, sys, time, tarsia
text = open(sys.argv[1]).read()
tarsia.load_inline("int warm() { return 1; }")  # of the folder: from now on the process has read and imported what it needs
assert tarsia.stats()["cache"]["compiles"] == 0
print("ready", flush=True)
os.read(int(sys.argv[2]), 1)
library = tarsia.load_inline(text)
done = time.monotonic()
print(done, tarsia.stats()["cache"]["compiles"], flush=True)
os.read(int(sys.argv[3]), 1)
"""

# Loads each source from the folder; beside that, opens the same files by dlopen alone.
WARM = """
import ctypes, glob, json, os, shutil, sys, time, tarsia
paths = sys.argv[1:]
texts = [open(path).read() for path in paths]
tarsia.load_inline(texts[0])
took = []
for text in texts[1:]:
    began = time.perf_counter()
    library = tarsia.load_inline(text)
    took.append((time.perf_counter() - began) * 1e6)
    assert library.origin == "disk", library.origin
opened = []
for i, path in enumerate(glob.glob(os.environ["TARSIA_CACHE_DIR"] + "/1/module/*/*.so")):
    copy = shutil.copy(path, f"{os.environ['TARSIA_CACHE_DIR']}/copy{i}.so")
    began = time.perf_counter()
    ctypes.CDLL(copy)
    opened.append((time.perf_counter() - began) * 1e6)
print(json.dumps([took, opened[1:]]))
"""


def took(words, **env):
    """The ms that a program takes from its start to its end."""
    began = time.perf_counter()
    subprocess.run(list(map(str, words)), check=True, stdout=subprocess.DEVNULL, env={**os.environ, **env})
    return (time.perf_counter() - began) * 1000


class Ccache:
    """ccache with g++ and folders of its own."""

    name = "ccache g++"

    def __init__(self, folder):
        self.env = {"CCACHE_DIR": str(folder / "ccache"), "CCACHE_COMPILERCHECK": "mtime",
                    "CCACHE_CONFIGPATH": str(folder / "no-ccache.conf")}
        self.folder = folder

    def words(self, source):
        return ["ccache", "g++", "-O2", "-fPIC", "-c", source, "-o", self.folder / (source.stem + f"-{os.urandom(4).hex()}.o")]

    def compiles(self):
        told = subprocess.run(["ccache", "--print-stats"], check=True, capture_output=True, text=True, env={**os.environ, **self.env}).stdout
        return int(dict(line.split("\t") for line in told.splitlines())["cache_miss"])


class Tarsia:
    name = "tarsia compile"

    def __init__(self, folder):
        self.env = {"TARSIA_CACHE_DIR": str(folder / "tarsia")}
        self.folder = folder

    def words(self, source):
        return [bench_remote.tarsia_command(), "compile", source, "-o", self.folder / (source.stem + f"-{os.urandom(4).hex()}.so")]


def write_sources(folder, name, n):
    paths = [folder / f"{name}{i}.cc" for i in range(n)]
    for i, path in enumerate(paths):
        path.write_text(SOURCE.format(i) + f"// {name}\n")
    return paths


def programs_hit(sides, folder, rounds):
    """Hits and misses of programs, in ms."""
    source, *cold = write_sources(folder, "hit", 1 + min(rounds, 10))
    misses, hits = {side.name: [] for side in sides}, {side.name: [] for side in sides}
    for path in [source, *cold]:
        for side in sides:
            misses[side.name].append(took(side.words(path), **side.env))
    for _ in range(rounds):
        for side in sides:
            hits[side.name].append(took(side.words(source), **side.env))
    return [[name, statistics.median(hits[name]), min(hits[name]), statistics.median(misses[name])] for name in hits]


def warm(folder):
    """Times of tarsia.load_inline with modules from the folder, and of dlopen alone, in µs."""
    paths = write_sources(folder, "warm", 101)
    env = {**os.environ, "TARSIA_CACHE_DIR": str(folder / "warm")}
    fill = "import sys, tarsia\nfor path in sys.argv[1:]: tarsia.load_inline(open(path).read())"
    subprocess.run([sys.executable, "-c", fill, *paths], check=True, env=env)
    done = subprocess.run([sys.executable, "-c", WARM, *paths], check=True, capture_output=True, text=True, env=env)
    return json.loads(done.stdout)


def stampede_of_tarsia(source, folder, n):
    """The ms until the process that compiles has its library, and until the last of n has it; and how many compiled."""
    (wait_end, gate), (leave_end, leave_gate) = os.pipe(), os.pipe()
    env = {**os.environ, "TARSIA_CACHE_DIR": str(folder)}
    subprocess.run([sys.executable, "-c", 'import tarsia; tarsia.load_inline("int warm() { return 1; }")'], check=True, env=env)
    processes = [subprocess.Popen([sys.executable, "-c", WAITING, source, str(wait_end), str(leave_end)], pass_fds=[wait_end, leave_end],
                                  text=True, stdout=subprocess.PIPE, env=env) for _ in range(n)]
    os.close(wait_end)
    os.close(leave_end)
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    began = time.monotonic()
    os.close(gate)
    told = [process.stdout.readline().split() for process in processes]
    os.close(leave_gate)
    for process in processes:
        process.communicate()
    done = {int(compiles): [] for _, compiles in told}
    for when, compiles in told:
        done[int(compiles)].append((float(when) - began) * 1000)
    return min(done[1]), max(max(times) for times in done.values()), sum(int(compiles) for _, compiles in told)


def stampede_of_ccache(side, source, n):
    """The same: the first that has its object, and the last."""
    wait_end, gate = os.pipe()
    before = side.compiles()
    processes = [subprocess.Popen(["bash", "-c", 'read -r line <&$0; exec "$@"', str(wait_end), *map(str, side.words(source))], pass_fds=[wait_end],
                                  env={**os.environ, **side.env}) for _ in range(n)]
    os.close(wait_end)
    time.sleep(1)
    began = time.monotonic()
    os.close(gate)
    ends = []
    left = {process.pid: process for process in processes}
    while left:
        pid, status = os.wait()
        ends.append((time.monotonic() - began) * 1000)
        left.pop(pid).returncode = status
        assert status == 0
    return ends[0], ends[-1], side.compiles() - before


def stampedes(folder, ccache, n):
    rows = []
    for i, source in enumerate(write_sources(folder, "stampede", 3)):
        first, last, compiles = stampede_of_tarsia(source, folder / f"stampede{i}", n)
        rows.append([f"tarsia.load_inline, round {i + 1}", first, last, last - first, compiles])
    beyond = [row[3] for row in rows]
    compiles = max(row[4] for row in rows)
    if ccache:
        first, last, n_compiles = stampede_of_ccache(ccache, write_sources(folder, "ccache-stampede", 1)[0], n)
        rows.append([ccache.name, first, last, last - first, n_compiles])
    return rows, beyond, compiles


def silence_of_ccache(side, folder):
    """How many ms longer each of three compiles takes with a store that is silent."""
    sources = write_sources(folder, "silent", 6)
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/cache"
        pairs = [(took(side.words(without), **side.env), took(side.words(beside), **side.env, CCACHE_REMOTE_STORAGE=url, CCACHE_SECONDARY_STORAGE=url))
                 for without, beside in zip(sources[::2], sources[1::2], strict=True)]
    return [beside - without for without, beside in pairs]


def bench_cache(program, name):
    """For each argument of a benchmark, by turns: the µs that it takes, as a median, and the least. Each time is short, so that
    on a busy machine some fall between the work of others."""
    done = subprocess.run([program, f"--benchmark_filter=^{name}/", "--benchmark_repetitions=100", "--benchmark_min_time=0.01",
                           "--benchmark_enable_random_interleaving=true", "--benchmark_format=json"],
                          check=True, capture_output=True, text=True)
    times = {}
    for one in json.loads(done.stdout)["benchmarks"]:
        if one["run_type"] == "iteration":
            times.setdefault(one["run_name"], []).append(one["real_time"])
    return [(statistics.median(each), min(each)) for each in times.values()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--processes", type=int, default=64)
    parser.add_argument("--bench-cache", help="the build's bench_cache")
    parser.add_argument("--folder", help="where the caches lie; by default in the folder for temporary files")
    parser.add_argument("--without-torch", action="store_true", default=True, help=argparse.SUPPRESS)  # bench_warm asks
    arguments = parser.parse_args()
    report.print_header("bench_cache_rivals.py: the cache beside others")
    print(f"  load of the machine: {', '.join(f'{load:.1f}' for load in os.getloadavg())}")
    os.environ.pop("TARSIA_REMOTE", None)
    with report.fresh_folder(arguments.folder) as temporary:
        folder = pathlib.Path(temporary)
        ccache = Ccache(folder) if shutil.which("ccache") and shutil.which("g++") else None
        if ccache:
            version = subprocess.run(["ccache", "--version"], check=True, capture_output=True, text=True).stdout.splitlines()[0]
            gcc = subprocess.run(["g++", "--version"], check=True, capture_output=True, text=True).stdout.splitlines()[0]
            print(f"  {version}, {gcc}")
        else:
            print("  ccache's rows are left out: install ccache and g++ for them")
        sides = [Tarsia(folder), *([ccache] if ccache else [])]
        print("\nA program that hits: ms from its start to its end")
        report.print_table(["", "hit, median", "least", "miss, median"], programs_hit(sides, folder, arguments.rounds))

        loads, opens = warm(folder)
        print("In Python, a module from the folder that this process has not seen: µs")
        report.print_table(["", "median", "least"], [["tarsia.load_inline", statistics.median(loads), min(loads)],
                                                     ["dlopen alone, of the same modules", statistics.median(opens), min(opens)]])
        if report.gpus():
            bench_warm.compare("A kernel from the cache, in a new process (CuPy: its own cache of cubins)",
                               {name: one for name, one in contenders.CUDA_CONTENDERS.items() if "PyTorch" not in name and "ffi" not in name},
                               arguments, folder)
        else:
            print("CuPy's rows are left out: no GPU\n")

        print(f"{arguments.processes} processes at one cold source: ms until the last has what it asked for")
        rows, beyond, compiles = stampedes(folder, ccache, arguments.processes)
        report.print_table(["", "who compiles (ccache: the first)", "the last", "more", "compiles"], rows)

        builder, reader = bench_remote.make_keys(folder)
        silent = {scheme: bench_remote.silent(scheme, folder, reader) for scheme in ("http", "redis")}
        print("A store that accepts connections and says nothing: ms that a compile takes longer")
        rows = [[f"tarsia, {scheme}", first, later] for scheme, (first, later) in silent.items()]
        if ccache:
            first, *later = silence_of_ccache(ccache, folder)
            rows.append([f"{ccache.name}, http", first, statistics.median(later)])
        report.print_table(["", "the first", "later ones"], rows)

        reach = []
        opened = statistics.median(opens)
        reach.append(["load_inline from the folder, less dlopen, µs", 300.0, statistics.median(loads) - opened, min(loads) - min(opens)])
        for script in ("redis", "http-cache"):
            remote, _ = bench_remote.hits(script, 200, folder, builder, reader)
            reach.append([f"a signed hit, less dlopen, {script}, µs", 400.0, statistics.median(remote) * 1000 - opened, min(remote) * 1000 - min(opens)])
        reach += [[f"{arguments.processes} processes: compiles", 1, compiles, ""],
                  [f"{arguments.processes} processes: the last behind the compile, ms", 50.0, statistics.median(beyond), min(beyond)]]
        for scheme, (first, later) in silent.items():
            reach += [[f"silent, {scheme}: the first, ms", 500.0, first, ""], [f"silent, {scheme}: later ones, ms", 1.0, later, ""]]
        if arguments.bench_cache:  # last: file systems are slow for a while after so many files went
            [(alone, alone_least)] = bench_cache(arguments.bench_cache, "checksum")
            reach.append(["the checksum of 64 KiB alone, µs", "", alone, alone_least])
            for name, what in (("find", "a module of 64 KiB found and verified"), ("disk", "… from the text, with all that a process sets up"),
                               ("store", "a module of 64 KiB kept")):
                (none, least), (many, many_least) = bench_cache(arguments.bench_cache, f"{name}/entries")
                reach += [[what + ", µs", 30.0 if name == "find" else "", none, least],
                          ["… beside 100,000 entries, of that", "" if name == "store" else 1.1, many / none, many_least / least]]
        print("What it is meant to reach")
        report.print_table(["", "at most", "median", "least"], reach)


if __name__ == "__main__":
    main()
