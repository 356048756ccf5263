"""Ranges for a profiler that is attached by NVTX's means, and line information then."""

import os
import pathlib
import subprocess
import sys

import pytest


HERE = pathlib.Path(__file__).parents[1]
SOURCE = "int f() { return 4; }"
KERNEL = "tarsia.load_inline('__global__ void k(int* x) { *x = 1; }', arch='sm_90')"


@pytest.fixture(scope="module")
def profiler(tmp_path_factory):
    library = tmp_path_factory.mktemp("profiler") / "profiler.so"
    subprocess.run(["gcc", "-Wall", "-Werror", "-shared", "-fPIC", "-I/usr/local/cuda/include", HERE / "support/profiler.c", "-o", library],
                   check=True)
    return str(library)


def run(code, tmp_path, **environment):
    """What a fresh process prints, what it says beside, and what the profiler was told."""
    record = tmp_path / "record"
    record.unlink(missing_ok=True)
    done = subprocess.run([sys.executable, "-c", "import tarsia\n" + code], text=True, check=True, capture_output=True,
                          env={**os.environ, "TARSIA_CACHE_DIR": str(tmp_path / "cache"), "PROFILER_RECORD": str(record), **environment})
    return done.stdout.split(), done.stderr, record.read_text().splitlines() if record.exists() else []


def test_compiles_and_loads_are_ranges(profiler, tmp_path):
    code = f"print(tarsia.load_inline({SOURCE!r}, name='four').f())"
    out, _, told = run(code, tmp_path, NVTX_INJECTION64_PATH=profiler)
    assert out == ["4"]
    assert told == ["initialize ", "domain Tarsia", "begin compile four", "end ", "begin load four", "end "]
    _, _, told = run(code, tmp_path, NVTX_INJECTION64_PATH=profiler)  # from the cache
    assert told == ["initialize ", "domain Tarsia", "begin load four", "end "]


def test_ranges_end_where_compiles_fail(profiler, tmp_path):
    code = """
for source in "int f() { return x; }", "int g() { return 5; }":
    try: print(tarsia.load_inline(source, name="five").g())
    except tarsia.CompileError: print("failed")"""
    out, _, told = run(code, tmp_path, NVTX_INJECTION64_PATH=profiler)
    assert out == ["failed", "5"]
    assert told[2:] == ["begin compile five", "end "] * 2 + ["begin load five", "end "]


def test_threads_have_ranges_of_their_own(profiler, tmp_path):
    code = """
import concurrent.futures
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    print(sum(pool.map(lambda i: tarsia.load_inline(f"int f() {{ return {i}; }}", name=f"n{i}").f(), range(4))))"""
    _, _, told = run(code, tmp_path, NVTX_INJECTION64_PATH=profiler)
    assert told.count("domain Tarsia") == 1 and told.count("end ") == 8
    assert sorted(line for line in told if line.startswith("begin")) == sorted(f"begin {what} n{i}" for what in ("compile", "load") for i in range(4))


def test_launches_are_ranges(profiler, tmp_path):
    code = f"""
lib = {KERNEL}
try: lib.k[1, 1](None)
except tarsia.CudaError: pass  # of a machine without a GPU, or one that is no sm_90"""
    _, _, told = run(code, tmp_path, NVTX_INJECTION64_PATH=profiler)
    assert told[-2] == "begin launch k" and told[-1] == "end ", told


def test_kernels_have_lines_while_a_profiler_is_attached(profiler, tmp_path):
    code = f"print({KERNEL}.origin)"
    assert run(code, tmp_path)[0] == ["compiled"]
    assert run(code, tmp_path, NVTX_INJECTION64_PATH=profiler)[0] == ["compiled"]
    assert run(code.replace("arch=", "lineinfo=True, arch="), tmp_path)[0] == ["disk"]
    assert run(code, tmp_path, NVTX_INJECTION64_PATH=profiler, TARSIA_LINEINFO="0")[0] == ["disk"]


def test_a_profiler_that_takes_none_or_cannot_be_loaded_changes_nothing(profiler, tmp_path):
    code = f"print({KERNEL}.origin)"
    assert run(code, tmp_path)[0] == ["compiled"]
    assert run(code, tmp_path, NVTX_INJECTION64_PATH=profiler, PROFILER_REFUSES="1") == (["disk"], "", [])
    out, errors, told = run(code, tmp_path, NVTX_INJECTION64_PATH="/no/such.so", TARSIA_LOG="warn")
    assert out == ["disk"] and "/no/such.so" in errors and not told
    assert run(code, tmp_path, NVTX_INJECTION64_PATH=sys.executable)[0] == ["disk"]
