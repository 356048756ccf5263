"""The command `tarsia pack`: what it writes, programs replay."""

import json
import os
import subprocess
import sys

import places
import pytest
from alone import alone

import tarsia

KERNEL = '#include "near.h"\n__global__ void fill(float* y) { y[threadIdx.x] = NEAR; }\n'
HOST = "int answer() { return 42; }\n"
SCRIPT = """
import sys, tarsia
lib = tarsia.load_inline("template <class T> __global__ void twice(T* x) { *x *= 2; }")
lib.twice["float"]
print("script", sys.argv[1:], __name__)
sys.exit(int(sys.argv[1]))
"""


@pytest.fixture
def command(tmp_path):
    """Runs `tarsia` in a folder of sources; raises unless it ends with `code`."""
    (tmp_path / "near.h").write_text("#define NEAR 4\n")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/fill.cu").write_text(KERNEL.replace("near.h", "../near.h"))
    (tmp_path / "answer.cc").write_text(HOST)
    (tmp_path / "script.py").write_text(SCRIPT)
    env = {**os.environ, "TARSIA_CACHE_DIR": str(tmp_path / "cache"), "TARSIA_COMMAND_PYTHON": sys.executable,
           "TARSIA_SITE_PACKAGES": os.pathsep.join(one for one in sys.path if one.endswith("site-packages"))}

    def run(*words, code=0):
        done = subprocess.run([places.command(), *map(str, words)], cwd=tmp_path, capture_output=True, text=True, timeout=600, env=env)
        assert done.returncode == code, (done.stdout, done.stderr)
        return done.stdout if code == 0 else done.stdout + done.stderr

    run.folder = tmp_path
    return run


@pytest.fixture
def server(command, monkeypatch):
    monkeypatch.setenv("TARSIA_CACHE_DIR", str(command.folder / "server"))
    monkeypatch.chdir(command.folder)
    return command.folder


@alone
def test_each_source_for_each_architecture(command, server):
    told = command("pack", "sub/fill.cu", "answer.cc", "-o", "ops.pack", "--arch", "sm_80,sm_90", "-v")
    assert told == f"3 modules are in ops.pack, {(server / 'ops.pack').stat().st_size} bytes\n"
    assert tarsia.replay("ops.pack", devices=[])["modules"] == 3
    with tarsia.no_compile():
        for arch in ("sm_80", "sm_90"):
            assert list(tarsia.load("sub/fill.cu", arch=arch).cubins) == [arch]
        assert tarsia.load("answer.cc").answer() == 42
        with pytest.raises(tarsia.CompileForbidden):
            tarsia.load("answer.cc", opt=0)
    assert command("pack", "answer.cc", "-O0", "-DX=1", "-o", "ops.pack").startswith("1 modules are in ops.pack")
    tarsia.replay("ops.pack", devices=[])
    with tarsia.no_compile():
        assert tarsia.load("answer.cc", opt=0, defines={"X": "1"}).answer() == 42


def test_a_source_that_does_not_compile_is_told_once_and_leaves_no_pack(command):
    (command.folder / "wrong.cu").write_text("__global__ void k(int* x) { *x = nothing; }\n")
    told = command("pack", "wrong.cu", "answer.cc", "-o", "ops.pack", "--arch", "sm_80,sm_90", code=1)
    assert told.count("wrong.cu:1:") == 1 and "nothing" in told
    assert not (command.folder / "ops.pack").exists()
    assert "cannot read 'missing.cu'" in command("pack", "missing.cu", "-o", "ops.pack", code=1)
    assert "a pack cannot be written to" in command("pack", "answer.cc", "-o", "nowhere/ops.pack", code=1)
    assert "architecture 'sm_x' is unknown" in command("pack", "answer.cc", "-o", "ops.pack", "--arch", "sm_x", code=2)
    assert "-o is required" in command("pack", "answer.cc", code=2)
    assert "a script is packed by itself" in command("pack", "answer.cc", "script.py", "-o", "ops.pack", code=1)
    assert "its arguments stand behind --" in command("pack", "script.py", "answer.cc", "-o", "ops.pack", code=1)
    assert "only a script takes arguments" in command("pack", "answer.cc", "-o", "ops.pack", "--", "word", code=1)


def test_what_the_text_asks_the_time_for_is_told(command):
    (command.folder / "clock.cc").write_text("const char* when() { return __TIME__; }\n")
    told = command("pack", "clock.cc", "answer.cc", "-o", "ops.pack", code=1)
    assert "1 modules are in ops.pack" in told and "clock.cc is not in the pack: its text asks for the time" in told


@alone
def test_a_script_is_run_and_recorded(command, server):
    told = command("pack", "script.py", "-o", "ops.pack", "--arch", "sm_80,sm_90", "--", "0", "--word")
    assert told.splitlines()[0] == "script ['0', '--word'] __main__"
    report = tarsia.replay("ops.pack", devices=[])
    assert told.splitlines()[1] == f"{report['modules']} modules are in ops.pack, {report['bytes']} bytes"
    assert report["modules"] == 4
    (server / "ops.pack").unlink()
    with tarsia.no_compile():
        for arch in ("sm_80", "sm_90"):
            tarsia.load_inline("template <class T> __global__ void twice(T* x) { *x *= 2; }", arch=arch).twice["float"]
    command("pack", "script.py", "-o", "ops.pack", "--", "3", code=3)
    assert not (server / "ops.pack").exists()
    (server / "fails.py").write_text("1 / 0")
    assert "ZeroDivisionError" in command("pack", "fails.py", "-o", "ops.pack", code=1)
    assert not (server / "ops.pack").exists()


def test_help_tells_of_it(command):
    assert "pack " in command("--help")
    told = command("pack", "--help")
    assert "--arch" in told and "-o PACK" in told
    stats = json.loads(command("cache", "stats", "--json"))
    assert stats["compiles"] == 0


def test_a_script_that_leaves_by_os_exit_is_told_of(command):
    (command.folder / "leaves.py").write_text("import os, tarsia\ntarsia.load_inline('int f() { return 1; }')\n"
                                              "if not os.fork(): os._exit(0)\nos.wait()\nos._exit(0)\n")
    assert "ended by os._exit(), so no pack was written" in command("pack", "leaves.py", "-o", "ops.pack", code=1)
    assert not (command.folder / "ops.pack").exists()


def test_a_script_gets_no_options_of_a_compile(command):
    for option in ("-DX=1", "-O3", "-Wno-parentheses"):
        told = command("pack", "script.py", option, "-o", "ops.pack", "--", "0", code=1)
        assert "pack script.py takes no " in told and "calls of tarsia say how they compile" in told
