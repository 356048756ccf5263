"""TARSIA_LOG tells the story of a start."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

PROGRAM = """
import sys
import numpy as np
import tarsia

folder = sys.argv[1]
first = '#include "near.h"\\nint f() { return VALUE; }'
OP = '''
#include <tarsia/op.h>
static void run(tarsia::Context&) {}
TARSIA_OP(logged).input("x").output("y").forward("cpu", run).named("plain").forward("cpu", run).named("better").priority(2);
'''
for _ in range(2):
    tarsia.load_inline(first, "first", include_dirs=[folder])
tarsia.load_inline(OP, "second")
tarsia.load_inline(OP + "int more() { return 1; }", "third")
tarsia.op("logged")(np.ones(1, "float32"))
"""


@pytest.fixture
def story(tmp_path):
    """Runs the program with near.h of a value, and gives the lines that it logs: (level, text), times left out."""
    def run(value, level="debug"):
        (tmp_path / "near.h").write_text(f"#define VALUE {value}\n")
        env = {**os.environ, "TARSIA_LOG": level, "TARSIA_CACHE_DIR": str(tmp_path / "cache")}
        done = subprocess.run([sys.executable, "-c", PROGRAM, str(tmp_path)], env=env, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        lines = re.findall(r"^\[[\d:.]+ \d+ tarsia (\w+)\] (.*)$", done.stderr, re.MULTILINE)
        assert len(lines) == len(done.stderr.splitlines()), done.stderr
        return [(level, re.sub(r"\b[\d.]+ ms\b", "N ms", re.sub(r"\[[0-9a-f]{12}\]", "[KEY]", text))) for level, text in lines]

    run.folder = tmp_path
    return run


def of(lines, level, beginning):
    return [text for found, text in lines if found == level and text.startswith(beginning)]


COLD = [
    "first [KEY]: compiled in N ms, kept in the cache",
    "first: loaded (compiled) in N ms: functions 1, kernels 0, ops 0",
    "first [KEY]: found in memory in N ms",
    "first: loaded (memory) in N ms: functions 1, kernels 0, ops 0",
    "second [KEY]: compiled in N ms, kept in the cache",
    "second: loaded (compiled) in N ms: functions 0, kernels 0, ops 1",
    "third [KEY]: compiled in N ms, kept in the cache",
    "op 'logged': that of third replaces that of second",
    "third: loaded (compiled) in N ms: functions 1, kernels 0, ops 1",
]


def test_info_tells_compiles_loads_hits_and_replaced_ops(story):
    assert [text for _, text in story(1, "info")] == COLD
    warm = [text for _, text in story(1, "info")]
    assert warm[:2] == ["first [KEY]: found on disk in N ms", "first: loaded (disk) in N ms: functions 1, kernels 0, ops 0"]
    assert not any("compiled" in text for text in warm)


def test_debug_tells_why_nothing_was_found_and_what_was_chosen(story):
    cold = story(1)
    assert [text for level, text in cold if level == "info"] == COLD
    assert of(cold, "debug", "first [KEY]: not in") == ["first [KEY]: not in the cache: nothing is kept under this key"]
    assert any(re.fullmatch(r"first \[KEY\]:   parse took N ms", text) for text in of(cold, "debug", "first [KEY]:   "))
    assert of(cold, "debug", "op 'logged'") == ["op 'logged': forward on cpu by implementation 2 of 2, better"]
    changed = story(2)
    assert of(changed, "debug", "first [KEY]: not in") == [
        f"first [KEY]: not in the cache: {story.folder}/near.h changed since it was compiled"]
    assert of(changed, "debug", "second [KEY]: not in") == []


def test_a_corrupt_entry_is_told(story):
    story(1)
    modules = [path for path in pathlib.Path(story.folder / "cache").rglob("*.so") if path.is_file()]
    assert len(modules) == 3
    for path in modules:
        path.chmod(0o600)
        data = bytearray(path.read_bytes())
        data[len(data) // 2:] = bytes(len(data) - len(data) // 2)
        path.write_bytes(data)
    lines = story(1)
    assert len(of(lines, "warning", "")) == 3 and all(" was corrupt and is set aside" in text for text in of(lines, "warning", ""))
    missed = [text for text in of(lines, "debug", "") if ": not in the cache: " in text]
    assert len(missed) == 3 and all(re.search(r": not in the cache: its module [0-9a-f]{12} was damaged$", text) for text in missed), missed


def test_a_failed_compile_is_told(tmp_path):
    code = "import tarsia\ntry: tarsia.load_inline('int f() { return nowhere; }')\nexcept tarsia.CompileError: pass"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300,
                          env={**os.environ, "TARSIA_LOG": "info", "TARSIA_CACHE_DIR": str(tmp_path)})
    assert re.search(r"tarsia info\] source \[[0-9a-f]{12}\]: failed to compile after [\d.]+ ms$", done.stderr.strip())


def lines_of(level, program="import tarsia; tarsia.load_inline('int f() { return 1; }'); tarsia.load_inline('int g() { return 1; }')"):
    done = subprocess.run([sys.executable, "-c", program], env={**os.environ, "TARSIA_LOG": level}, capture_output=True, text=True,
                          timeout=300)
    assert done.returncode == 0, done.stderr
    return [re.sub(r"^\[[\d:.]+ \d+ tarsia", "[tarsia", line) for line in done.stderr.splitlines()]


@pytest.mark.parametrize("level", ["INFO", "Info", "info"])
def test_a_level_is_taken_in_letters_of_either_case(level):
    lines = lines_of(level)
    assert len(lines) >= 4 and all(line.startswith("[tarsia info] ") for line in lines)


@pytest.mark.parametrize("level, silent", [("loud", False), ("4", False), ("", True), ("off", True), ("OFF", True), ("Warning", True)])
def test_an_unknown_level_is_told_once_with_those_that_there_are(level, silent):
    told = f"[tarsia warning] TARSIA_LOG={level} is no level, and nothing is logged: set error, warn, info, debug, trace or off"
    assert lines_of(level) == ([] if silent else [told])


def test_a_forked_child_does_not_tell_again():
    lines = lines_of("loud", """
import os, tarsia
tarsia.load_inline("int f() { return 1; }")
child = os.fork()
if child == 0:
    tarsia.load_inline("int f() { return 1; }")
    os._exit(0)
os.waitpid(child, 0)
""")
    assert len(lines) == 1
