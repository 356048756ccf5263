"""Calls to the kernel that fail, processes that end between two of them, and a clock that is wrong."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parents[1]
KINDS = {"EIO": 0, "EINTR": 1, "ENOSPC": 2, "short": 3}
DIES = 4

PRELUDE = """
import ctypes, json, os, sys, tarsia
faults = ctypes.CDLL(os.environ["LD_PRELOAD"])
kind = int(sys.argv[1]) if len(sys.argv) > 1 else 0

def outcome(i, value, prefix):
    try:
        lib = tarsia.load_inline(f"int f() {{ return {value}; }} // {prefix}{i}")
        return lib.f(), lib.origin
    except tarsia.Error as error:
        return type(error).__name__, str(error)
"""


@pytest.fixture(scope="module")
def preload(tmp_path_factory):
    library = tmp_path_factory.mktemp("faults") / "faults.so"
    subprocess.run(["gcc", "-O1", "-Wall", "-Werror", "-shared", "-fPIC", HERE / "support/faults.c", "-o", library, "-ldl"], check=True)
    return str(library)


def run(code, folder, preload, *arguments, **environment):
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", PRELUDE + code, *map(str, arguments)], text=True, capture_output=True,
                          env={**os.environ, "TARSIA_CACHE_DIR": str(folder), "LD_PRELOAD": preload, **environment})
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def damage(folder):
    """What `tarsia cache verify` says of the folder, and the temporary files that were left in it."""
    done = subprocess.run([sys.executable, "-m", "tarsia", "cache", "verify"], env={**os.environ, "TARSIA_CACHE_DIR": str(folder)},
                          text=True, capture_output=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return [str(path) for path in folder.rglob("*") if "tmp" in path.name]


@pytest.mark.parametrize("kind", KINDS)
def test_each_call_that_fails_gives_a_result_or_an_error_of_tarsias(preload, tmp_path, kind):
    reached, wrong, errors = run("""
outcome(0, 7, "warm-up")
wrong, errors, n = [], 0, 0
while True:
    faults.arm(n, kind)
    got = outcome(n, n, "cold")
    if not faults.disarm(): break
    if got[0] != n:
        errors += 1
        if got[0] not in ("Error", "ResourceLimit", "LoadError", "CompilerCrashed", "NotFound"): wrong.append((n, got))
    if outcome(n, n, "cold")[0] != n: wrong.append((n, "again"))
    n += 1
print(json.dumps([n, wrong, errors]))""", tmp_path / "cache", preload, KINDS[kind])
    assert reached > 5 and not wrong, wrong
    if kind in ("EINTR", "short"):
        assert errors == 0  # neither is an error
    assert not damage(tmp_path / "cache")


@pytest.mark.parametrize("kind", KINDS)
def test_a_hit_on_disk_whose_calls_fail_is_a_hit_a_compile_or_an_error(preload, tmp_path, kind):
    cache = tmp_path / "cache"
    assert run("print(json.dumps([outcome(i, i, 'disk')[0] for i in range(120)]))", cache, preload) == list(range(120))
    reached, wrong, origins = run("""
outcome(0, 7, "warm-up")
wrong, origins = [], {}
for n in range(120):
    faults.arm(n, kind)
    value, origin = outcome(n, n, "disk")
    if not faults.disarm(): break
    if value != n and value not in ("Error", "ResourceLimit", "LoadError", "NotFound"): wrong.append((n, value, origin))
    if outcome(n, n, "disk")[0] != n: wrong.append((n, "again"))
    if value == n: origins[origin] = origins.get(origin, 0) + 1
print(json.dumps([n, wrong, origins]))""", cache, preload, KINDS[kind])
    assert not wrong and reached < 119, (reached, wrong)
    if kind in ("EINTR", "short"):
        assert set(origins) <= {"disk"}
    assert not damage(cache)


def test_a_process_that_ends_between_any_two_changes_leaves_the_old_or_the_new(preload, tmp_path):
    deaths, wrong = run("""
outcome(0, 7, "warm-up")
wrong, n = [], 0
while True:
    child = os.fork()
    if child == 0:
        faults.arm(n, kind)
        outcome(n, n, "dies")
        os._exit(0 if faults.disarm() else 5)  # 0: the call was that of a process that it starts
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5: break
    value, origin = outcome(n, n, "dies")
    if value != n: wrong.append((n, value, origin))
    n += 1
print(json.dumps([n, wrong]))""", tmp_path / "cache", preload, DIES)
    assert deaths > 5 and not wrong, wrong
    damage(tmp_path / "cache")


@pytest.mark.parametrize("years", [-1, 1])
def test_a_wall_clock_that_is_a_year_off_changes_nothing(preload, tmp_path, years):
    clock = {"FAULTS_CLOCK": str(years * 365 * 86400)}
    code = """
lib = tarsia.load_inline('#include "value.h"\\nint f() { return VALUE; }', include_dirs=[sys.argv[2]])
print(json.dumps([lib.f(), lib.origin]))"""
    cache, header = tmp_path / "cache", tmp_path / "value.h"
    for value in 1, 2:
        header.write_text(f"#define VALUE {value}\n")
        assert run(code, cache, preload, 0, tmp_path, **clock) == [value, "compiled"]
        assert run(code, cache, preload, 0, tmp_path) == [value, "disk"]
        assert run(code, cache, preload, 0, tmp_path, **clock) == [value, "disk"]


def test_a_wall_clock_that_is_set_during_a_wait_ends_none(preload, tmp_path):
    code = """
import threading
faults.set_clock.argtypes = [ctypes.c_int64]
done = threading.Event()
def step():
    for i in range(1 << 30):
        faults.set_clock((-1, 1, 0)[i % 3] * 365 * 86400)
        if done.wait(0.001): return
thread = threading.Thread(target=step)
thread.start()
body = "".join(f"template <int N> struct S{i} {{ static int g() {{ return S{i}<N - 1>::g() + N; }} }}; "
               f"template <> struct S{i}<0> {{ static int g() {{ return {i}; }} }};" for i in range(20))
lib = tarsia.load_inline(body + "int f() { return " + " + ".join(f"S{i}<300>::g()" for i in range(20)) + "; }")
done.set()
thread.join()
print(json.dumps([lib.f(), lib.origin]))"""
    processes = [subprocess.Popen([sys.executable, "-c", PRELUDE + code], text=True, stdout=subprocess.PIPE,
                                  env={**os.environ, "TARSIA_CACHE_DIR": str(tmp_path / "cache"), "LD_PRELOAD": preload}) for _ in range(4)]
    got = [json.loads(process.communicate(timeout=300)[0]) for process in processes]
    assert {value for value, _ in got} == {20 * 45150 + 190}
    assert [origin for _, origin in got].count("compiled") == 1
