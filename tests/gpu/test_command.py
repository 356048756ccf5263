"""The command on a GPU: bench and show."""

import re
import subprocess

import pytest
from gpu_support import PACKAGE, RELU, require_gpus

COMMANDS = [PACKAGE / "bin" / "tarsia", PACKAGE.parents[1] / "bin" / "tarsia"]

OP = """
#include <tarsia/op.h>
__global__ void twice_kernel(const float* x, float* y, long n) { TARSIA_GRID_LOOP(i, n) y[i] = 2 * x[i]; }
static void twice(tarsia::Context& c) {
  const tarsia::Tensor x = c.input(0), y = c.output(0);
  twice_kernel<<<tarsia::blocks(x.numel()), 256, 0, c.stream()>>>(x.data<const float>(), y.data<float>(), x.numel());
}
TARSIA_OP(bench_twice).input("x").output("y").forward("gpu", twice);
"""


@pytest.fixture
def command(tmp_path):
    (tmp_path / "relu.cu").write_text(RELU)
    (tmp_path / "twice.cu").write_text(OP)
    program = next(str(place) for place in COMMANDS if place.exists())
    return lambda *words: subprocess.run([program, *words], cwd=tmp_path, capture_output=True, text=True, timeout=100)


@pytest.mark.parametrize("words", [("relu.cu", "relu", "float32[4096]", "float32[4096]", "4096"), ("twice.cu", "bench_twice", "float32[64,64]")])
def test_bench_measures_with_events(command, words):
    require_gpus()
    done = command("bench", *words)
    number = r"[\d.]+ (?:ns|us|ms)"
    assert re.fullmatch(rf"{words[1]}: {number} median, {number} to {number} \(quartiles\), {number} least; \d+ samples of \d+ calls?, "
                        "CUDA's events\n", done.stdout), done.stderr


def test_show_counts_registers(command):
    require_gpus()
    done = command("show", "relu.cu", "--regs", "--ptx")
    assert done.returncode == 0 and "relu_kernel" in done.stdout and ".entry" in done.stdout, done.stderr
