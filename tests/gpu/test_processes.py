"""CUDA and processes: nothing is initialised before it is needed, forking, starting warm, machines without a GPU."""

import pytest
from gpu_support import RELU, require_gpus, run_python

torch = pytest.importorskip("torch")

# What the programs below share.
HEAD = f"RELU = r'''{RELU}'''\n" + r"""
import ctypes, os, sys
import tarsia

def cuda_is_initialised():
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return cuda.cuDeviceGetCount(ctypes.byref(ctypes.c_int())) != 3  # CUDA_ERROR_NOT_INITIALIZED

def children():
    found = []
    for task in os.listdir("/proc/self/task"):
        try:
            found += open(f"/proc/self/task/{task}/children").read().split()
        except OSError:
            pass  # a kernel without it, or a thread that has gone
    return found

def check(lib, device="cuda"):
    import torch
    x = torch.randn(1000, device=device)
    y = torch.empty_like(x)
    lib.relu(x, y, 1000)
    assert torch.equal(y, torch.relu(x))
"""


def test_loading_does_not_initialise_cuda(tmp_path):
    require_gpus()
    run_python(HEAD + r"""
import torch
lib = tarsia.load_inline(RELU)
assert not torch.cuda.is_initialized() and not cuda_is_initialised()
tarsia.load_inline("#include <tarsia/op.h>\nTARSIA_OP(quiet).forward(\"gpu\", [](tarsia::Context&) {});")
lib.functions, lib.kernels, lib.cubins, lib.relu.signatures, tarsia.op("quiet")
assert not torch.cuda.is_initialized() and not cuda_is_initialised()
major, minor = torch.cuda.get_device_capability()
assert list(lib.cubins) == [f"sm_{major}{minor}"]  # found all the same
check(lib)
""", TARSIA_CACHE_DIR=tmp_path)


def test_a_warm_process_starts_no_worker(tmp_path):
    require_gpus()
    text = HEAD + r"""
lib = tarsia.load_inline(RELU)
workers = tarsia.stats()["workers_started"]
print(lib.origin, workers, len(children()), cuda_is_initialised())
check(lib)
"""
    first = run_python(text, TARSIA_CACHE_DIR=tmp_path)
    second = run_python(text, TARSIA_CACHE_DIR=tmp_path)
    assert first.split()[0] == "compiled" and int(first.split()[1]) >= 1
    assert second.split() == ["disk", "0", "0", "False"]


def test_a_child_forked_after_loading_uses_cuda():
    require_gpus()
    run_python(HEAD + r"""
lib = tarsia.load_inline(RELU)
for _ in range(3):
    child = os.fork()
    if child == 0:
        code = 1
        try:
            check(lib)
            check(tarsia.load_inline(RELU + "\n// " + str(os.getpid())))  # compiles by a worker of its own
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
check(lib)
check(tarsia.load_inline(RELU + "\n// the parent"))
""")


def test_torchs_worker_processes_use_loaded_libraries():
    require_gpus()
    run_python(HEAD + r"""
import torch
lib = tarsia.load_inline("void twice(float* x, int n) { for (int i = 0; i < n; ++i) x[i] *= 2; }\n" + RELU)

class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 8
    def __getitem__(self, i):
        x = torch.full((4,), float(i))
        lib.twice(x, 4)
        return x

loader = torch.utils.data.DataLoader(Data(), batch_size=4, num_workers=2)
assert [float(x) for batch in loader for x in batch[:, 0]] == [2.0 * i for i in range(8)]
check(lib)
""")


def test_without_a_visible_gpu_the_rest_works():
    run_python(HEAD + r"""
lib = tarsia.load_inline(RELU + '''
#include <tarsia/op.h>
int add(int a, int b) { return a + b; }
tarsia::Tensor made() { return tarsia::empty({4}, tarsia::float32, tarsia::gpu_device()); }
''')
assert list(lib.cubins) == ["sm_90"] and lib.add(2, 3) == 5
try:
    lib.made()
except tarsia.CudaError as error:
    assert str(error)
else:
    raise AssertionError("a tensor was made on a GPU that is hidden")
assert lib.add(2, 3) == 5
""", CUDA_VISIBLE_DEVICES="")


def test_the_process_ends_quietly():
    require_gpus()
    for text in (
        "lib = tarsia.load_inline(RELU); check(lib)",
        "lib = tarsia.load_inline(RELU); check(lib); lib.unload()",
        "check(tarsia.load_inline(RELU)); import gc; gc.collect()",
        "import torch; torch.zeros(1, device='cuda'); lib = tarsia.load_inline(RELU); check(lib); del torch",
        "lib = tarsia.load_inline(RELU); check(lib); sys.modules['__main__'].kept = lib.relu",
    ):
        assert run_python(HEAD + text) == ""


# Two kernels by their names, one that is instantiated, and those of an op.
PACKED = r"""
#include <tarsia/op.h>
template <class T> __global__ void twice(T* x) { x[threadIdx.x] *= 2; }
__device__ int counter = 5;
__global__ void count(int* y) { *y = ++counter; }
__global__ void add_kernel(const float* x, float* y, long n) { TARSIA_GRID_LOOP(i, n) y[i] = x[i] + 1; }
void add(tarsia::Context& c) {
  const long n = c.input(0).numel();
  add_kernel<<<tarsia::blocks(n), 256, 0, c.stream()>>>(c.input(0).data<const float>(), c.output(0).data<float>(), n);
}
TARSIA_OP(packed_add).forward("gpu", add);
"""


def test_a_replay_loads_kernels_before_they_are_asked_for(tmp_path):
    require_gpus()
    head = HEAD + f"PACKED = r'''{PACKED}'''\nPACK = {str(tmp_path / 'ops.pack')!r}\n" + r"""
def run():
    import torch
    lib = tarsia.load_inline(PACKED)
    x = torch.ones(4, device="cuda")
    lib.twice["float"][1, 4](x)
    y = torch.zeros(1, dtype=torch.int32, device="cuda")
    lib.count[1, 1](y)
    lib.count[1, 1](y)
    assert x.tolist() == [2.0] * 4 and y.item() == 7 and tarsia.ops.packed_add(x).tolist() == [3.0] * 4
"""
    run_python(head + r"""
with tarsia.record(PACK):
    run()
""", TARSIA_CACHE_DIR=tmp_path / "builder")
    program = head + r"""
report = tarsia.replay(PACK, devices=[])
assert report["gpus"] == [] and not cuda_is_initialised()
child = os.fork()  # as a server does
if child == 0:
    report = tarsia.replay(PACK)
    assert report["gpus"] and report["known"] == report["modules"] >= 2 and cuda_is_initialised()
    with tarsia.no_compile():
        run()
    counts = tarsia.stats()
    assert counts["cache"]["compiles"] == counts["workers_started"] == 0
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""
    run_python(program, TARSIA_CACHE_DIR=tmp_path / "server")
    run_python(program, TARSIA_CACHE_DIR=tmp_path / "image", TARSIA_COMPILER="/nowhere")
