"""Cells of a session: how long an expression, a new function and a new kernel take, early and late in a session; the first two
beside clang-repl, the kernel beside bare NVRTC.

    python bench/python/bench_repl.py [--cells 200]

Each is typed once: nothing is in the cache. A session alternates functions and expressions that call them; the medians are of
ten cells around the 10th and of the last ten. clang-repl gets the same text on standard input; its time is that of all cells,
less that of none, by their number. The two take turns, five sessions each: what is told is the median of the five. Kernels have
a session of their own; after each, NVRTC alone compiles the same text. It keeps on disk what it has compiled, so each run has
other texts. Where there is a GPU, the cell launches its kernel, too, and the driver does so with what NVRTC made; both wait
for it. At last it tells how much memory the compiler has of its own, and how long a process with as much takes to fork: a compiler
could do so after each cell.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time


def texts(n):
    cells = []
    for i in range(n // 2):
        cells.append(f"int f{i}(int a) {{ return a + {i}; }}")
        cells.append(f"f{i}({i})")
    return cells


def tarsia_times(cells, folder):
    import tarsia

    os.environ["TARSIA_CACHE_DIR"] = tempfile.mkdtemp(dir=folder)
    session = tarsia.Session()
    session.run("0")  # starts the compiler
    times, memory = [], []
    for i, text in enumerate(cells):
        begin = time.perf_counter()
        session.run(text).raise_if_failed()
        times.append(1e3 * (time.perf_counter() - begin))
        if i in (10, len(cells) - 1):
            memory.append(own_memory_of_compiler())
    return times, memory


def own_memory_of_compiler():
    """MiB of the compiler's memory that no file backs."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/status") as file:
                status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
        except OSError:  # it has ended
            continue
        if status["Name"] == "tarsia-compiler" and int(status["PPid"]) == os.getpid():
            return int(status["RssAnon"].split()[0]) / 1024
    sys.exit("there is no compiler")


def fork_time(mib):
    """Of a process with so much memory of its own: until the fork has returned, and until a child that writes to a tenth of
    it has ended."""
    memory = bytearray(int(mib) << 20)
    memory[::4096] = b"x" * len(memory[::4096])
    times = []
    for _ in range(9):
        begin = time.perf_counter()
        pid = os.fork()
        if pid == 0:
            part = len(memory) // 10
            memory[:part:4096] = b"y" * len(memory[:part:4096])
            os._exit(0)
        forked = time.perf_counter()
        os.waitpid(pid, 0)
        times.append((1e3 * (forked - begin), 1e3 * (time.perf_counter() - begin)))
    return [statistics.median(one) for one in zip(*times)]


def host_rows(cells, folder, program):
    """Of a session whose cache is new: rows of early and late cells, the median of all, the time of a cell in clang-repl, and
    the compiler's memory, early and late."""
    times, memory = tarsia_times(cells, folder)
    rows = [(some[5:10], some[-5:]) for some in (times[0::2], times[1::2])] + [(times[10:20], times[-10:])]
    medians = [(statistics.median(early), statistics.median(late)) for early, late in rows]
    return medians, statistics.median(times), clang_repl_time(program, cells) if program else None, memory


def kernel_times(n):
    """Of so many cells with a new kernel each, of NVRTC for the same texts, and whether the kernels were launched."""
    import tarsia
    from nvrtc import Driver, Nvrtc

    gpu = next((line["detail"] for line in tarsia.doctor()["lines"] if line["part"] == "GPU 0" and line["found"]), None)
    arch = gpu.rpartition(" ")[2] if gpu else "sm_90"
    bare, driver, session = Nvrtc(), None, tarsia.Session(arch=arch)
    if gpu:
        session.run("float* p; cudaMalloc(&p, 4096);").raise_if_failed()  # makes the context
        driver = Driver()
    mine, theirs, salt = [], [], time.time_ns() // 1000 % 1000000
    for i in range(n + 1):
        name = f"k{i}"
        text = f"__global__ void {name}(float* x, int n) {{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] = x[i] * {salt}{i}.5f; }}"
        begin = time.perf_counter()
        session.run(text + (f"\n{name}<<<1, 32>>>(p, 32);" if gpu else "")).raise_if_failed()
        middle = time.perf_counter()
        cubin = bare.compile(text, arch)
        if driver:
            driver.launch(cubin, f"_Z{len(name)}{name}Pfi")
        mine.append(1e3 * (middle - begin))
        theirs.append(1e3 * (time.perf_counter() - middle))
    return mine[1:], theirs[1:], gpu is not None  # the first one starts the compiler and its NVRTC


def clang_repl_time(program, cells):
    def whole(some):
        begin = time.perf_counter()
        subprocess.run([program], input="".join(text + "\n" for text in some), capture_output=True, text=True, check=True)
        return 1e3 * (time.perf_counter() - begin)

    return (whole(cells) - whole([])) / len(cells)


def start_times():
    """From the start of the program to its prompt, and to the answer to what was typed before that."""
    import pty
    import select

    def once():
        begin = time.perf_counter()
        pid, terminal = pty.fork()
        if pid == 0:
            os.environ["TERM"] = "xterm-256color"
            os.execv(sys.executable, [sys.executable, "-m", "tarsia", "repl"])
        os.write(terminal, b"6 * 7\r")

        told = b""

        def until(text):
            nonlocal told
            while text not in told:
                if not select.select([terminal], [], [], 10)[0]:
                    sys.exit(f"no {text!r} in {told!r}")
                told += os.read(terminal, 4096)
            told = told[told.index(text) + len(text):]
            return 1e3 * (time.perf_counter() - begin)

        times = until(b">>> "), until(b"42")
        until(b">>> ")
        os.write(terminal, b"\x04")
        while True:  # the terminal's queue is short
            try:
                if not os.read(terminal, 4096):
                    break
            except OSError:
                break
        os.waitpid(pid, 0)
        return times

    once()  # from now on the cell is in the cache
    return [statistics.median(times) for times in zip(*(once() for _ in range(5)))]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cells", type=int, default=200)
    cells = texts(parser.parse_args().cells)
    program = shutil.which("clang-repl-22")
    # What is deleted is deleted at the end: ext4 makes files more slowly for minutes after that.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        measure(cells, folder, program)


def measure(cells, folder, program):
    rounds = [host_rows(cells, folder, program) for _ in range(5)]
    print(f"{'':24}{'10th':>10}{'last':>10}{'ratio':>8}   ms, medians of {len(cells)} cells")

    def print_row(name, row):
        first, last = (statistics.median(medians[row][i] for medians, *_ in rounds) for i in (0, 1))
        ratio = statistics.median(medians[row][1] / medians[row][0] for medians, *_ in rounds)
        print(f"{name:24}{first:10.1f}{last:10.1f}{ratio:8.2f}")

    print_row("a new function", 0)
    print_row("an expression", 1)
    print_row("all cells", 2)
    if program:
        mine, theirs, ratio = (statistics.median(one) for one in zip(*((m, t, m / t) for _, m, t, _ in rounds)))
        print(f"a cell in clang-repl: {theirs:.1f} ms; Tarsia's median {mine:.1f} ms, {ratio:.1f} of it")
    else:
        print("clang-repl-22 is not here (Debian's clang-tools-22)")
    os.environ["TARSIA_CACHE_DIR"] = tempfile.mkdtemp(dir=folder)
    try:
        kernels, bare, launches = kernel_times(len(cells) // 4)
    except RuntimeError as error:  # there is no NVRTC
        print(error)
    else:
        first, last = statistics.median(kernels[5:15]), statistics.median(kernels[-10:])
        print(f"{'a new kernel, launched' if launches else 'a new kernel':24}{first:10.1f}{last:10.1f}{last / first:8.2f}")
        print(f"{'the same in bare NVRTC':24}{statistics.median(bare[5:15]):10.1f}{statistics.median(bare[-10:]):10.1f}"
              f"   Tarsia takes {statistics.median(k / b for k, b in zip(kernels, bare)):.2f} of it")
    memory = rounds[0][3]
    print("the compiler's own memory: {:.0f} MiB, and {:.0f} MiB after the last cell;".format(*memory),
          "a fork of so much: {:.1f} ms, {:.1f} ms with the child's end".format(*fork_time(memory[-1])))
    print("start to prompt: {:.0f} ms; to the answer to what was typed meanwhile: {:.0f} ms".format(*start_times()))


if __name__ == "__main__":
    main()
