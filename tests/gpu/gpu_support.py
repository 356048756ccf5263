"""What the GPU tests share."""

import ctypes
import fcntl
import functools
import gc
import hashlib
import importlib
import os
import pathlib
import shutil
import subprocess
import sys
import time

import pytest

import tarsia

PACKAGE = pathlib.Path(tarsia.__file__).parent
INCLUDE = PACKAGE / "include"
OPS = pathlib.Path(__file__).resolve().parents[1] / "ops"  # headers with ops that tests of several folders share

# Keeps a GPU busy for a while, on one thread of one block.
SPIN = r"""
__device__ void tarsia_test_spin(double seconds) {
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  while (now - begin < (unsigned long long)(seconds * 1e9));
}
__global__ void spin_kernel(double seconds) { tarsia_test_spin(seconds); }
void spin(double seconds, cudaStream_t stream) { spin_kernel<<<1, 1, 0, stream>>>(seconds); }
"""

# Holds a stream until the Gate whose address it gets is open; a minute at most, so that a test that waits for it fails.
HOLD = r"""
__device__ void tarsia_test_wait(long gate) {
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  while (!*(const volatile int*)gate && now - begin < 60000000000ull);
}
__global__ void hold_kernel(long gate) { tarsia_test_wait(gate); }
void hold(long gate, cudaStream_t stream) { hold_kernel<<<1, 1, 0, stream>>>(gate); }
"""

RELU = r"""
__global__ void relu_kernel(const float* x, float* y, long n) {
  long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] > 0 ? x[i] : 0;
}
void relu(const float* x, float* y, long n, cudaStream_t stream) {
  relu_kernel<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
"""


class Gate:
    """What kernels of HOLD wait for."""

    def __init__(self, is_open=False):
        import torch
        self._flag = torch.full((1,), int(is_open), dtype=torch.int32, pin_memory=True)
        self.address = self._flag.data_ptr()  # of the host and of the GPU

    def open(self):
        self._flag[0] = 1


@functools.lru_cache
def gpu_count():
    """How many GPUs there are. Asked in another process: this one must not use CUDA before it forks."""
    probe = ("import ctypes; cuda = ctypes.CDLL('libcuda.so.1'); n = ctypes.c_int(); "
             "assert cuda.cuInit(0) == 0 and cuda.cuDeviceGetCount(ctypes.byref(n)) == 0; print(n.value)")
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, timeout=60)
    return int(done.stdout) if done.returncode == 0 else 0


def require_gpus(n=1):
    """Skips the test where there are fewer."""
    if gpu_count() < n:
        pytest.skip("needs a GPU" if n == 1 else f"needs {n} GPUs, there is {gpu_count() or 'none'}")


def inline(source, *, gpus=1, **options):
    """Compiles and loads; where GPUs are missing the test ends here, as skipped."""
    lib = tarsia.load_inline(source, **options)
    if gpu_count() < gpus:
        pytest.skip("compiled and loaded; running it " + ("needs a GPU" if gpus == 1 else f"needs {gpus} GPUs"))
    return lib


def run_python(text, *arguments, timeout=90, **environment):
    """Runs a Python program in a process of its own, gives what it printed."""
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join([str(PACKAGE.parent), os.environ.get("PYTHONPATH", "")]),
                 **{name: str(value) for name, value in environment.items()}}
    done = subprocess.run([sys.executable, "-c", text, *map(str, arguments)], capture_output=True, text=True,
                          timeout=timeout, env=variables)
    assert done.returncode == 0, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def nvcc():
    """The path of nvcc, or the test is skipped."""
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    found = shutil.which("nvcc") or next(
        (str(path) for home in homes if home and (path := pathlib.Path(home, "bin/nvcc")).exists()), None)
    if not found:
        pytest.skip("needs nvcc")
    return found


def build_with_nvcc(text, suffix, *flags):
    """The path of what nvcc makes of the text for this machine's GPU, made once for all tests."""
    program = nvcc()
    require_gpus()
    folder = pathlib.Path(os.environ["TARSIA_CACHE_DIR"] + "-nvcc")
    folder.mkdir(exist_ok=True)
    output = folder / (hashlib.sha256("\0".join([text, *map(str, flags)]).encode()).hexdigest()[:16] + suffix)
    with open(f"{output}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not output.exists():
            source, part = output.with_suffix(".cu"), output.with_suffix(".part")
            source.write_text(text)
            done = subprocess.run([program, "-arch=native", *map(str, flags), str(source), "-o", str(part)],
                                  capture_output=True, text=True, timeout=100)
            assert done.returncode == 0, done.stdout + done.stderr
            part.rename(output)
    return output


def tarsia_command():
    """The command `tarsia`: the package's own, or the test is skipped."""
    program = PACKAGE / "bin/tarsia"
    if not program.exists():
        program = shutil.which("tarsia")
    if not program:
        pytest.skip("this build has no command tarsia")
    return str(program)


def flush_c():
    """Writes what C code has printed."""
    ctypes.CDLL(None).fflush(None)


def wait_until(condition, seconds=10):
    """Whether the condition came true in time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        gc.collect()
        time.sleep(0.02)
    return True


def mapped_modules():
    """How many of the libraries that Tarsia loaded are mapped: they lie in memory, or in its cache."""
    cache = os.environ.get("TARSIA_CACHE_DIR", "/nowhere")
    with open("/proc/self/maps") as maps:
        return len({line.split()[4] for line in maps if "/memfd:tarsia" in line or cache in line})  # inodes


def suite(folder, module):
    """A module of tests that run on the CPU, of a folder of tests/python: its tests and fixtures run on the GPU, too."""
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python" / folder))
    pytest.register_assert_rewrite(module)
    return importlib.import_module(module)


class OnGpu:
    """A library whose functions take arrays of NumPy: it copies them to the GPU, and back what the function wrote."""

    def __init__(self, library, **names):
        self._library, self._names = library, names  # names: of the library, for those that are asked for

    def __getattr__(self, name):
        function = getattr(self._library, self._names.get(name, name))

        def call(*arguments):
            import numpy as np
            import torch

            there = [torch.from_numpy(np.ascontiguousarray(one)).cuda() if isinstance(one, np.ndarray) else one for one in arguments]
            try:
                return function(*there)
            finally:
                for here, copy in zip(arguments, there):
                    if isinstance(here, np.ndarray):
                        here[...] = copy.cpu().numpy()

        return call
