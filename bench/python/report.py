"""Parts that the benchmarks share: the machine's description, tables, and contenders in processes of their own."""

import importlib.metadata
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def processor():
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
        name = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        name = platform.machine()
    return f"{name}, {len(os.sched_getaffinity(0))} cores"


def gpus():
    try:
        done = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
                              capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return done.stdout.strip().splitlines() if done.returncode == 0 else []


def versions(*packages):
    found = []
    for package in packages:
        try:
            found.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            pass
    return found


def print_header(title):
    """The benchmark's name, and on what it ran."""
    import tarsia

    nvrtc = [line["detail"].split(",")[0] for line in tarsia.doctor()["lines"] if line["part"] == "NVRTC"]
    print(f"# {title}")
    print(f"  {processor()}; {'; '.join(gpus()) or 'no GPU'}")
    print("  " + ", ".join([f"tarsia {tarsia.__version__}", f"Python {platform.python_version()}",
                            *(f"NVRTC {version}" for version in nvrtc),
                            *versions("torch", "apache-tvm-ffi", "cupy-cuda13x", "triton", "numpy", "pybind11")]))


def print_table(columns, rows):
    """`rows` hold texts and numbers; the first column is left-aligned, the rest right-aligned."""
    texts = [[format_number(cell) for cell in row] for row in [columns, *rows]]
    widths = [max(len(row[i]) for row in texts) for i in range(len(columns))]
    for row in texts:
        print("  " + "  ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                               for i, (cell, width) in enumerate(zip(row, widths))))
    print(flush=True)


def format_number(cell):
    if not isinstance(cell, float):
        return str(cell)
    return f"{cell:,.0f}" if abs(cell) >= 1000 else f"{cell:.1f}" if abs(cell) >= 100 else f"{cell:.2f}"


def compare(title, members, measure, without_torch):
    """A table of contenders, by name, whose first is Tarsia's. `measure(contender, slow)` gives the figures of all rounds, or a
    text that says why there are none; PyTorch is slow."""
    rows, ours = [], None
    for name, contender in members.items():
        slow = name.startswith("PyTorch")
        if slow and without_torch:
            continue
        figures = measure(contender, slow)
        if isinstance(figures, str):
            rows.append([name, "not run:", figures[:60], "", "", ""])
            continue
        callable_, result = (statistics.median(figure[key] for figure in figures) for key in ("callable", "result"))
        worst = max(figure["callable"] for figure in figures)
        ours = ours or (callable_, result)
        rows.append([name, callable_, worst, result, callable_ / ours[0], result / ours[1]])
    print(f"\n{title}")
    print_table(["", "ms to callable", "worst", "ms to result", "this / tarsia", "to result"], rows)


CACHES = ("TARSIA_CACHE_DIR", "TORCH_EXTENSIONS_DIR", "TVM_FFI_CACHE_DIR", "CUPY_CACHE_DIR", "CUDA_CACHE_PATH", "HOME")


def run_alone(script, arguments, caches, timeout):
    """Runs a script of this folder in a process of its own with these caches. Gives the JSON of its last line, or a
    text that says why there is none."""
    environment = dict(os.environ)
    for name in CACHES:
        environment[name] = str(pathlib.Path(caches, name.lower()))
        pathlib.Path(environment[name]).mkdir(parents=True, exist_ok=True)
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [package_path(), environment.get("PYTHONPATH")]))
    try:
        done = subprocess.run([sys.executable, str(HERE / script), *arguments], capture_output=True, text=True,
                              env=environment, timeout=timeout)
    except subprocess.TimeoutExpired:
        return f"took longer than {timeout} s"
    lines = done.stdout.strip().splitlines()
    if done.returncode == 0 and lines:
        return json.loads(lines[-1])
    error = done.stderr.strip().splitlines()
    return error[-1] if error else f"exit code {done.returncode}"


def package_path():
    """Where this process found tarsia: HOME is another one in the processes that it starts."""
    import tarsia

    return str(pathlib.Path(tarsia.__file__).parent.parent)


def fresh_folder(within=None):
    return tempfile.TemporaryDirectory(prefix="tarsia-bench-", dir=within)
