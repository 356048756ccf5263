"""Whole CUDA programs print what nvcc's build of them prints."""

import pathlib
import subprocess

import pytest
from gpu_support import build_with_nvcc, inline, require_gpus, run_python, tarsia_command

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = sorted(HERE.glob("programs/*.cu"))
ARGUMENTS = {"saxpy": [[], ["1000"]], "kernel_table": [[], ["add:3", "relu", "scale:2.5", "clip:9"], ["relu", "nonsense"]]}
CASES = [(program, arguments) for program in PROGRAMS for arguments in ARGUMENTS.get(program.stem, [[]])]

RUN = """
import os, pathlib, sys, tarsia
path = pathlib.Path(sys.argv[1])
lib = tarsia.load_inline({path.name: path.read_text()}, name=path.stem)
code = lib.main(*sys.argv[2:])
print(f"exit code {code}", flush=True)
"""


@pytest.mark.parametrize("program, arguments", CASES, ids=[" ".join([p.stem, *a]) for p, a in CASES])
def test_it_prints_what_nvccs_build_prints(program, arguments):
    lib = inline({program.name: program.read_text()}, name=program.stem)
    assert "main" in lib.functions
    nvccs = subprocess.run([build_with_nvcc(program.read_text(), "", "-std=c++17"), *arguments], capture_output=True, text=True)
    assert nvccs.returncode >= 0 and nvccs.stdout
    assert run_python(RUN, program, *arguments) == f"{nvccs.stdout}exit code {nvccs.returncode}\n"


def test_main_runs_again_and_again():
    program = HERE / "programs/saxpy.cu"
    lib = inline({program.name: program.read_text()})
    assert lib.main.signatures and [lib.main("1000") for _ in range(3)] == [0, 0, 0]


@pytest.mark.parametrize("arguments", [[], ["add:1", "scale:3"], ["nonsense"]], ids=" ".join)
def test_the_command_runs_a_program(arguments):
    require_gpus()
    command = tarsia_command()
    program = HERE / "programs/kernel_table.cu"
    nvccs = subprocess.run([build_with_nvcc(program.read_text(), "", "-std=c++17"), *arguments], capture_output=True, text=True)
    ours = subprocess.run([command, "run", program, *arguments], capture_output=True, text=True, timeout=100)
    assert (ours.stdout, ours.returncode) == (nvccs.stdout, nvccs.returncode), ours.stderr


def test_the_command_lists_what_a_source_without_main_holds(tmp_path):
    command = tarsia_command()
    source = tmp_path / "ops.cu"
    source.write_text('#include <tarsia/op.h>\n__global__ void my_kernel(int* y) { *y = 1; }\n'
                      'void my_function(int* y, cudaStream_t s) { my_kernel<<<1, 1, 0, s>>>(y); }\n'
                      'TARSIA_OP(my_op).forward("gpu", [](tarsia::Context&) {});\n')
    done = subprocess.run([command, "run", source], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    for name in ("my_kernel", "void my_function(int *y, cudaStream_t s)", "my_op"):
        assert name in done.stdout


def test_the_doctor_finds_everything_on_this_machine():
    require_gpus()
    done = subprocess.run([tarsia_command(), "doctor"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "sm_" in done.stdout
