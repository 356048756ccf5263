"""Whole CUDA programs, taken as nvcc takes them: each compiles, and on a GPU prints its `// expect:` lines."""

import json
import os
import subprocess

import places
import pytest

PROGRAMS = sorted((places.REPO / "tests" / "programs").glob("*.cu"))
by_name = pytest.mark.parametrize("program", PROGRAMS, ids=[program.stem for program in PROGRAMS])


@pytest.fixture(scope="module")
def command(tmp_path_factory):
    """Runs `tarsia` with words and gives the finished process; `.works` says what the doctor found."""
    program = places.command()
    environment = {**os.environ, "TARSIA_CACHE_DIR": str(tmp_path_factory.mktemp("cache"))}

    def run(*words):
        return subprocess.run([program, *map(str, words)], capture_output=True, text=True, timeout=300, env=environment)

    run.works = json.loads(run("doctor", "--json").stdout)["works"]
    return run


def expected(program):
    marked = [line for line in program.read_bytes().decode(errors="replace").splitlines() if line.startswith("// expect:")]
    return "".join(line.removeprefix("// expect:").removeprefix(" ") + "\n" for line in marked)


@by_name
def test_it_compiles(command, program, tmp_path):
    if not command.works["cuda"]:
        pytest.skip("CUDA code does not compile on this machine: see `tarsia doctor`")
    assert expected(program), "a program says in `// expect:` lines what it prints"
    done = command("compile", program, "-o", tmp_path / "program.so")
    assert done.returncode == 0, done.stderr


@by_name
def test_it_prints_what_it_should(command, program):
    if not command.works["gpu"]:
        pytest.skip("needs a GPU")
    done = command("run", program)
    assert done.stdout == expected(program), done.stderr
    assert done.returncode == 0
