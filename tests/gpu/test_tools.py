"""NVIDIA's tools name the lines of a kernel in a string."""

import os
import shutil
import subprocess
import sys

import pytest
from gpu_support import PACKAGE, inline, require_gpus

SOURCE = """
__device__ float shifted(const float* x, int i) { return x[i + 1]; }
__global__ void shift(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = shifted(x, i + (i == n - 1 ? 1 << 28 : 0));
}
void run() {
  float* x;
  cudaMalloc(&x, 4096);
  shift<<<1, 32>>>(x, x + 512, 32);
  cudaDeviceSynchronize();
}
"""
PROGRAM = f"import tarsia; tarsia.load_inline({{'shift.cu': {SOURCE!r}}}, lineinfo=True).run()"


def output_of(*words):
    done = subprocess.run([*words, sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=110)
    return done.stdout + done.stderr


def tool(name):
    found = shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/local/cuda/bin"]))
    return found or pytest.skip(f"there is no {name}")


def test_compute_sanitizer_names_the_lines_of_a_bad_read():
    inline({"shift.cu": SOURCE}, lineinfo=True)
    said = output_of(tool("compute-sanitizer"), "--tool", "memcheck")
    assert "Invalid __global__ read of size 4 bytes" in said, said
    assert "at shifted(const float *, int)" in said and "in shift.cu:2" in said, said
    assert "shift(const float *, float *, int)" in said and "in shift.cu:5" in said, said


SCRIPT = f"""import tarsia
lib = tarsia.load_inline(r'''{SOURCE}''')
lib.run()
"""
MAIN = SOURCE + "int main() { run(); return 0; }\n"
RACY = """
__global__ void total(int* out) {
  __shared__ int parts[64];
  parts[threadIdx.x] = threadIdx.x;
  if (threadIdx.x == 0) for (int i = 0; i < 64; ++i) *out += parts[i];
}
int main() {
  int* out;
  if (cudaMalloc(&out, 4) || cudaMemset(out, 0, 4)) return 1;
  total<<<1, 64>>>(out);
  return cudaDeviceSynchronize();
}
"""


def sanitized(folder, name, text, *options):
    require_gpus()
    tool("compute-sanitizer")
    (folder / name).write_text(text)
    command = next(str(place) for place in (PACKAGE / "bin" / "tarsia", PACKAGE.parents[1] / "bin" / "tarsia") if place.exists())
    env = {**os.environ, "TARSIA_COMMAND_PYTHON": sys.executable, "PYTHONPATH": str(PACKAGE.parent)}
    return subprocess.run([command, "sanitize", *options, name], cwd=folder, env=env, capture_output=True, text=True, timeout=110)


@pytest.mark.parametrize("name, text, first, second", [
    ("shift.cu", MAIN, "shift.cu:2", "shift.cu:5"),
    ("oob.py", SCRIPT, "source:2 (oob.py:3)", "source:5 (oob.py:6)")])
def test_sanitize_shows_a_bad_read_as_an_error(tmp_path, name, text, first, second):
    done = sanitized(tmp_path, name, text)
    assert done.returncode == 1, done.stderr
    assert f"{first}: error: Invalid __global__ read of size 4 bytes, in shifted(const float *, int)" in done.stderr, done.stderr
    assert "    2 | __device__ float shifted(const float* x, int i) { return x[i + 1]; }" in done.stderr
    assert f"{second}: note: called from shift(const float *, float *, int)" in done.stderr, done.stderr
    assert "by thread (31,0,0) in block (0,0,0)" in done.stderr and "tarsia: memcheck found" in done.stderr, done.stderr


def test_sanitize_shows_races_and_clean_programs(tmp_path):
    done = sanitized(tmp_path, "race.cu", RACY, "--tool", "racecheck")
    assert done.returncode == 1 and "race.cu:4: error: Race reported between Write access" in done.stderr, done.stderr
    assert "race.cu:5: note: and Read access" in done.stderr, done.stderr
    fixed = RACY.replace("  if (threadIdx.x == 0) for", "  __syncthreads();\n  if (threadIdx.x == 0) for")
    done = sanitized(tmp_path, "fixed.cu", fixed, "--all")
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stderr.splitlines() if line.startswith("tarsia:")] == [
        f"tarsia: {tool} found nothing in fixed.cu" for tool in ("memcheck", "racecheck", "initcheck", "synccheck")], done.stderr


def test_cuda_gdb_stops_at_a_line():
    inline({"shift.cu": SOURCE}, lineinfo=True)
    said = output_of(tool("cuda-gdb"), "-batch", "-nx", "-ex", "set breakpoint pending on", "-ex", "break shift.cu:5", "-ex", "run",
                     "-ex", "continue", "-ex", "bt", "--args")  # before the kernel is there, the line is that of the host's next code
    assert "shift<<<(1,1,1),(32,1,1)>>>" in said and "shift.cu:5" in said and "y[i] = shifted(x, i" in said, said
