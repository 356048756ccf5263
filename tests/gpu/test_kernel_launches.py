"""Kernels launched directly from Python."""

import ctypes

import numpy as np
import pytest
from gpu_support import HOLD, Gate, inline, require_gpus, run_python
from threads import at_once

import tarsia

torch = pytest.importorskip("torch")

SAXPY = r"""
__global__ void saxpy(int n, float a, const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}
"""


def grid(n, block=256):
    return (n + block - 1) // block


def test_a_kernel_runs_on_torch_tensors():
    lib = inline(SAXPY)
    n = 100_003
    x, y = torch.randn(n, device="cuda"), torch.randn(n, device="cuda")
    expected = y + 2.5 * x
    lib.saxpy[grid(n), 256](n, 2.5, x, y)
    torch.testing.assert_close(y, expected)
    launch = lib.saxpy[grid(n), 256]
    for _ in range(3):
        launch(n, -2.5 / 3, x, y)
    torch.testing.assert_close(y, expected - 2.5 * x, atol=1e-5, rtol=1e-5)
    lib.saxpy.launch(n, a=1, x=x, y=y, grid=grid(n), block=(256,))
    torch.testing.assert_close(y, expected - 1.5 * x, atol=1e-5, rtol=1e-5)


def test_a_launch_counts_the_versions_of_what_it_writes_to():
    lib = inline(SAXPY)
    w, x, y = torch.ones(8, device="cuda", requires_grad=True), torch.ones(8, device="cuda"), torch.ones(8, device="cuda")
    z = (w * y).sum()
    before = x._version, y._version
    lib.saxpy[1, 256](8, 2.5, x, y)
    assert (x._version, y._version) == (before[0], before[1] + 1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()
    with pytest.raises(tarsia.ArgumentValueError, match="saxpy: writes to argument 4, a leaf that requires a gradient"):
        lib.saxpy[1, 256](8, 2.5, x, w)
    with torch.no_grad():
        lib.saxpy[1, 256](8, 2.5, x, w)
    assert w.tolist() == [3.5] * 8


def test_cupy_arrays_and_their_stream():
    cupy = pytest.importorskip("cupy")
    lib = inline(SAXPY + HOLD)
    n = 1 << 16
    x, y = cupy.ones(n, cupy.float32), cupy.zeros(n, cupy.float32)
    opened, gate = Gate(is_open=True), Gate()
    lib.hold_kernel[1, 1](opened.address)  # loading its code would wait
    lib.saxpy[grid(n), 256](n, 0.0, x, y)
    cupy.cuda.Device().synchronize()
    torch.cuda.synchronize()
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        lib.hold_kernel[1, 1, 0, stream](gate.address)
        lib.saxpy[grid(n), 256](n, 3.0, x, y)
    assert not stream.done
    gate.open()
    stream.synchronize()
    assert (y == 3).all()


def test_every_kind_of_number_arrives():
    lib = inline(r"""
#include <cuda_bf16.h>
#include <cuda_fp16.h>
enum Mode : short { slow = -3, fast = 300 };
struct Particle { float x, y; int id; double mass; };
__global__ void numbers(bool b, signed char c, unsigned short s, int i, long long l, unsigned long long u, float f, double d,
                        Mode mode, __half h, __nv_bfloat16 g, Particle p, float4 v, double* out) {
  double all[] = {double(b), double(c), double(s), double(i), double(l), double(u), f, d, double(mode), __half2float(h),
                  __bfloat162float(g), p.x, p.y, double(p.id), p.mass, v.x, v.y, v.z, v.w};
  for (int k = 0; k < sizeof(all) / 8; ++k) out[k] = all[k];
}
""")
    particle = np.array((1.5, -2.5, 77, 1e-3), np.dtype([("x", "f4"), ("y", "f4"), ("id", "i4"), ("mass", "f8")], align=True))
    out = torch.zeros(19, dtype=torch.float64, device="cuda")
    lib.numbers[1, 1](True, -7, 65535, -2**31, -2**40, 2**63, 0.5, 1 / 3, 300, 0.25, -3.0, particle, (1, 2.5, 3, 4), out)
    assert out.tolist() == [1, -7, 65535, -2.0**31, -2.0**40, 2.0**63, 0.5, 1 / 3, 300, 0.25, -3.0, 1.5, -2.5, 77, 1e-3,
                            1, 2.5, 3, 4]


def test_more_than_sixteen_parameters():
    names = [f"a{i}" for i in range(40)]
    lib = inline("__global__ void many(" + ", ".join(f"float {n}" for n in names) + ", float* y) { *y = "
                 + " + ".join(f"{i + 1} * {n}" for i, n in enumerate(names)) + "; }")
    y = torch.zeros(1, device="cuda")
    lib.many[1, 1](*[float(i) for i in range(40)], y)
    assert y.item() == sum(i * (i + 1) for i in range(40))


def test_none_is_a_null_pointer_and_c_void_p_an_address():
    lib = inline("__global__ void is_null(const float* x, int* y) { *y = x == nullptr; }")
    y = torch.zeros(1, dtype=torch.int32, device="cuda")
    lib.is_null[1, 1](None, y)
    assert y.item() == 1
    lib.is_null[1, 1](y.float(), ctypes.c_void_p(y.data_ptr()))
    assert y.item() == 0


def test_overloads_are_chosen_by_dtype():
    lib = inline("__global__ void which(float* x) { *x = 4; }\n__global__ void which(double* x) { *x = 8; }")
    for dtype, expected in ((torch.float32, 4), (torch.float64, 8)):
        x = torch.zeros(1, dtype=dtype, device="cuda")
        lib.which[1, 1](x)
        assert x.item() == expected


def test_the_current_stream_is_taken_and_nothing_waits():
    lib = inline(SAXPY + HOLD)
    x, y = torch.ones(8, device="cuda"), torch.zeros(8, device="cuda")
    y.sum().item()  # loading its code would wait
    opened, gate = Gate(is_open=True), Gate()
    lib.hold_kernel[1, 1](opened.address)
    lib.saxpy[1, 8](8, 0.0, x, y)
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        lib.hold_kernel[1, 1, 0, stream](gate.address)
        lib.saxpy[1, 8](8, 1.0, x, y)
        assert not stream.query()
    assert y.sum().item() == 0  # the default stream did not wait
    gate.open()
    stream.synchronize()
    assert y.sum().item() == 8


def test_an_explicit_stream():
    lib = inline(SAXPY + HOLD)
    x, y = torch.ones(8, device="cuda"), torch.zeros(8, device="cuda")
    opened = Gate(is_open=True)
    lib.hold_kernel[1, 1](opened.address)  # loading its code would wait
    lib.saxpy[1, 8](8, 0.0, x, y)
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    for form in (stream, stream.cuda_stream):
        gate = Gate()
        lib.hold_kernel[1, 1, 0, form](gate.address)
        lib.saxpy[1, 8, 0, form](8, 1.0, x, y)
        assert not stream.query()
        gate.open()
        stream.synchronize()
    assert y.sum().item() == 16


def test_a_graph_captures_launches():
    lib = inline(SAXPY)
    x, y = torch.ones(64, device="cuda"), torch.zeros(64, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        lib.saxpy[1, 64](64, 2.0, x, y)  # the kernel's first launch: its code is loaded while the graph is captured
    for _ in range(3):
        graph.replay()
    torch.cuda.synchronize()
    assert y.sum().item() == 3 * 2 * 64


def test_threads_launch_at_once():
    lib = inline(SAXPY)
    y = [torch.zeros(256, device="cuda") for _ in range(8)]
    x = torch.ones(256, device="cuda")
    torch.cuda.synchronize()

    def work(i):
        for _ in range(200):
            lib.saxpy[1, 256](256, 1.0, x, y[i])

    at_once(work, range(8))
    torch.cuda.synchronize()
    assert [t.sum().item() for t in y] == [200 * 256.0] * 8


# ---- shared memory, cooperative grids, clusters ----


def test_dynamic_shared_memory_beyond_48_kb():
    lib = inline(r"""
__global__ void last(int n, int* y) {
  extern __shared__ int tile[];
  for (int i = threadIdx.x; i < n; i += blockDim.x) tile[i] = i;
  __syncthreads();
  if (threadIdx.x == 0) *y = tile[n - 1];
}
__global__ void with_static(int n, int* y) {
  __shared__ int own[4096];
  extern __shared__ int tile[];
  own[threadIdx.x] = 1; tile[n - 1 - threadIdx.x] = 2;
  __syncthreads();
  if (threadIdx.x == 0) *y = own[255] + tile[n - 1];
}
""")
    y = torch.zeros(1, dtype=torch.int32, device="cuda")
    for kilobytes in (16, 48, 64, 96):
        n = kilobytes * 256
        lib.last[1, 256, 4 * n](n, y)
        assert y.item() == n - 1
    lib.with_static[1, 256, 40 * 1024](40 * 256, y)  # 16 KB of its own: more than 48 together
    assert y.item() == 3
    with pytest.raises(ValueError, match=r"kernel last: 1048576 bytes of shared memory are more than the \d+ that GPU 0 has"):
        lib.last[1, 256, 1 << 20](1, y)
    lib.last[1, 256, 4](1, y)
    torch.cuda.synchronize()


def test_a_cooperative_grid_synchronises():
    lib = inline(r"""
#include <cooperative_groups.h>
__global__ void sum(const int* x, int* part, int* total) {
  auto grid = cooperative_groups::this_grid();
  if (threadIdx.x == 0) part[blockIdx.x] = x[blockIdx.x];
  grid.sync();
  if (grid.thread_rank() == 0) { int s = 0; for (int i = 0; i < gridDim.x; ++i) s += part[i]; *total = s; }
}
""")
    most = lib.sum.occupancy(64).grid
    assert most >= 1
    blocks = min(most, 64)
    x = torch.arange(blocks, dtype=torch.int32, device="cuda")
    part, total = torch.zeros_like(x), torch.zeros(1, dtype=torch.int32, device="cuda")
    lib.sum.launch(x, part, total, grid=blocks, block=64, cooperative=True)
    assert total.item() == blocks * (blocks - 1) // 2
    with pytest.raises(ValueError, match="too large for a cooperative launch: all blocks run at once, and GPU 0 holds"):
        lib.sum.launch(x, part, total, grid=most + 1, block=64, cooperative=True)


def test_clusters_share_memory():
    lib = inline(r"""
#include <cooperative_groups.h>
__global__ void exchange(int* y) {
  __shared__ int mine;
  auto cluster = cooperative_groups::this_cluster();
  mine = 10 + cluster.block_rank();
  cluster.sync();
  unsigned other = (cluster.block_rank() + 1) % cluster.num_blocks();
  y[blockIdx.x] = *cluster.map_shared_rank(&mine, other) + 100 * cluster.num_blocks();
  cluster.sync();
}
""")
    if torch.cuda.get_device_capability() < (9, 0):
        pytest.skip("clusters need a GPU of compute capability 9.0")
    y = torch.zeros(8, dtype=torch.int32, device="cuda")
    lib.exchange.launch(y, grid=8, block=1, cluster=4)
    assert y.tolist() == [411, 412, 413, 410] * 2
    big = torch.zeros(16, dtype=torch.int32, device="cuda")
    lib.exchange.launch(big, grid=16, block=1, cluster=16)  # beyond the portable 8
    assert big.tolist() == [1610 + (i + 1) % 16 for i in range(16)]
    with pytest.raises(ValueError, match="no multiple of the cluster"):
        lib.exchange.launch(y, grid=7, block=1, cluster=4)


# ---- what kernels tell ----


NEEDS = r"""
__global__ void __launch_bounds__(128) bounded(float* x) {
  __shared__ float tile[250];
  tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = tile[127 - threadIdx.x];
}
__global__ void spills(int* x, int n) {
  int all[300];
  for (int i = 0; i < 300; ++i) all[i] = x[i];
  for (int i = 0; i < n; ++i) all[x[i] % 300] += all[i % 300];
  for (int i = 0; i < 300; ++i) x[i] = all[i];
}
__global__ void plain(float* x) { x[threadIdx.x] += 1; }
"""


def test_attributes_agree_with_the_code():
    lib = inline(NEEDS)
    probe = """
import sys, tarsia
lib = tarsia.load_inline(sys.argv[1], arch=sys.argv[2])
print([tuple(getattr(lib, name).attributes) for name in ("bounded", "spills", "plain")])
"""
    major, minor = torch.cuda.get_device_capability()
    by_code = eval(run_python(probe, NEEDS, f"sm_{major}{minor}", CUDA_VISIBLE_DEVICES=""))
    for name, code in zip(("bounded", "spills", "plain"), by_code):
        driver = getattr(lib, name).attributes
        assert (driver.registers, driver.shared, driver.max_threads, driver.binary_version) == (code[0], code[1], code[4], code[6])
        assert (driver.local > 0) == (code[2] > 0), (driver, code)
    assert lib.bounded.attributes.shared == 1000 and lib.bounded.attributes.max_threads == 128


def test_occupancy_and_a_block_that_fills_the_gpu():
    lib = inline(SAXPY)
    occupancy = lib.saxpy.occupancy(256)
    properties = torch.cuda.get_device_properties(0)
    assert occupancy.blocks * 256 <= properties.max_threads_per_multi_processor
    assert occupancy.grid == occupancy.blocks * properties.multi_processor_count
    assert occupancy.fraction == pytest.approx(occupancy.blocks * 256 / properties.max_threads_per_multi_processor)
    assert lib.saxpy.occupancy(256, shared_bytes=48 * 1024).blocks < occupancy.blocks
    block = lib.saxpy.suggest_block()
    assert block % 32 == 0 and 32 <= block <= 1024
    assert lib.saxpy.suggest_block(limit=64) <= 64
    x = torch.ones(4096, device="cuda")
    y = torch.zeros_like(x)
    lib.saxpy[grid(4096, block), block](4096, 1.0, x, y)
    assert y.sum().item() == 4096


# ---- variables ----


def test_variables_are_tensors_over_the_kernels_memory():
    lib = inline(r"""
__constant__ float table[4][8];
namespace ns { __device__ int counter = 5; }
__managed__ long total = 1;
__global__ void use(float* y) { *y = table[3][7]; ns::counter += 1; total += 41; }
""")
    table = torch.from_dlpack(lib.get_global("table"))
    assert table.shape == (4, 8) and table.dtype == torch.float32 and table.is_cuda
    table.copy_(torch.arange(32, dtype=torch.float32, device="cuda").reshape(4, 8))
    y = torch.zeros(1, device="cuda")
    lib.use[1, 1](y)
    assert y.item() == 31
    assert torch.from_dlpack(lib.get_global("counter")).item() == 6
    assert lib.get_global("ns::counter", device="cuda:0").numpy() == 6
    torch.cuda.synchronize()
    assert torch.from_dlpack(lib.get_global("total")).item() == 42


def test_a_variable_outlives_its_library():
    lib = inline("__device__ int kept[3] = {1, 2, 3};\n__global__ void touch(int* x) { x[0] = kept[0]; }")
    kept = torch.from_dlpack(lib.get_global("kept"))
    lib.unload()
    del lib
    assert kept.tolist() == [1, 2, 3]


# ---- templates ----


TEMPLATES = r"""
#include <cuda_fp16.h>
template <class T, int N = 256> __global__ void axpy(T a, const T* x, T* y, int n) {
  int i = blockIdx.x * N + threadIdx.x;
  if (i < n) y[i] = T(float(y[i]) + float(a) * float(x[i]));
}
struct Twice { template <class T> __device__ T operator()(T x) const { return x + x; } };
template <class F, class T> __global__ void map(F f, T* x) { x[threadIdx.x] = f(x[threadIdx.x]); }
template <class T> __global__ void large(T* y, int n) {
  extern __shared__ char bytes[];
  bytes[n - 1] = 42;
  __syncthreads();
  *y = T(bytes[n - 1]);
}
__device__ int counter;
template <class T> __global__ void count(T* x) { atomicAdd(&counter, 1); *x = 1; }
template __global__ void count<float>(float*);
void count_from_host(float* x, cudaStream_t stream) { count<float><<<1, 1, 0, stream>>>(x); }
"""


@pytest.mark.parametrize("dtype, name", [("float32", "float"), ("float64", "double"), ("float16", "__half")])
def test_templates_are_instantiated_and_deduced(dtype, name):
    lib = inline(TEMPLATES)
    n = 1000
    x, y = torch.randn(n, device="cuda").to(getattr(torch, dtype)), torch.zeros(n, dtype=getattr(torch, dtype), device="cuda")
    lib.axpy[name, 128][grid(n, 128), 128](n=n, a=2.0, x=x, y=y)
    torch.testing.assert_close(y, 2 * x)
    lib.axpy[getattr(torch, dtype)][grid(n), 256](-1.0, x, y, n)
    torch.testing.assert_close(y, x)
    lib.axpy.launch(1.0, x, y, n, grid=grid(n), block=256)
    torch.testing.assert_close(y, 2 * x)


def test_a_functor_of_the_source_and_large_shared_memory():
    lib = inline(TEMPLATES)
    x = torch.arange(32, dtype=torch.int32, device="cuda")
    lib.map["Twice"].launch(b"\0", x, grid=1, block=32)
    assert x.tolist() == [2 * i for i in range(32)]
    y = torch.zeros(1, device="cuda")
    lib.large["float"][1, 1, 100 * 1024](y, 100 * 1024)
    assert y.item() == 42


def test_an_instantiation_of_the_source_shares_the_librarys_variables():
    lib = inline(TEMPLATES)
    x = torch.zeros(1, device="cuda")
    lib.count["float"][1, 1](x)
    lib.count_from_host(x)
    lib.count.launch(x, grid=1, block=1)
    assert torch.from_dlpack(lib.get_global("counter")).item() == 3
    with pytest.raises(Exception, match="the variable 'counter' is used by count<double>"):
        lib.count["double"]


def test_an_instantiation_outlives_its_library_and_template():
    lib = inline(TEMPLATES)
    kernel = lib.axpy["float", 64]
    lib.unload()
    del lib
    x, y = torch.ones(64, device="cuda"), torch.zeros(64, device="cuda")
    kernel[1, 64](3.0, x, y, 64)
    assert y.sum().item() == 192
    assert kernel.attributes.max_threads == 1024 and ".entry" in kernel.ptx


# ---- errors ----


def test_a_block_beyond_the_kernels_bounds():
    lib = inline("__global__ void __launch_bounds__(64) small(float* x) { x[threadIdx.x] = 1; }")
    x = torch.zeros(1024, device="cuda")
    with pytest.raises(ValueError, match=r"kernel small: the block \(128, 1, 1\) has 128 threads, more than the 64"):
        lib.small[1, 128](x)
    lib.small[1, 64](x)
    assert x.sum().item() == 64


def test_tensors_on_the_cpu_are_refused():
    lib = inline(SAXPY)
    x, y = torch.ones(8), torch.ones(8, device="cuda")
    with pytest.raises(ValueError, match=r"kernel saxpy: argument 'x' .* must be on a GPU.*pass x.cuda\(\)"):
        lib.saxpy[1, 8](8, 1.0, x, y)
    pinned = torch.ones(8).pin_memory()
    lib.saxpy[1, 8](8, 1.0, pinned, y)
    assert y.sum().item() == 16


def test_two_gpus():
    require_gpus(2)
    lib = inline(SAXPY, gpus=2)
    x = [torch.ones(8, device=f"cuda:{i}") for i in range(2)]
    y = [torch.zeros(8, device=f"cuda:{i}") for i in range(2)]
    for i in (1, 0, 1):
        lib.saxpy[1, 8](8, 1.0, x[i], y[i])
    assert torch.cuda.current_device() == 0
    assert y[0].sum().item() == 8 and y[1].sum().item() == 16
    with pytest.raises(ValueError, match="argument 'y' .* must be on cuda:1"):
        lib.saxpy[1, 8](8, 1.0, x[1], y[0])
    with pytest.raises(ValueError, match="the stream belongs to GPU 0, and the launch is on GPU 1"):
        lib.saxpy[1, 8, 0, torch.cuda.Stream(0)](8, 1.0, x[1], y[1])
    first = torch.from_dlpack(inline("__device__ int where = 3;\n__global__ void k(int* y) { *y = where; }", gpus=2)
                              .get_global("where", device=1))
    assert first.device.index == 1 and first.item() == 3


CRASH = r"""
import numpy as np, torch, tarsia
lib = tarsia.load_inline('''
__global__ void good(float* x) { x[0] += 1; }
__global__ void bad(float* x) { x[1ll << 40] = 1; }
int answer() { return 42; }
''')
x = torch.zeros(8, device="cuda")
for _ in range(3):
    lib.good[1, 1](x)
try:
    lib.bad[1, 1](x)
    for _ in range(10000):
        lib.good[1, 1](x)
        torch.cuda._sleep(1000)
    print("no error")
except (tarsia.CudaError, RuntimeError) as error:
    print(type(error).__name__, error)
for _ in range(2):
    try:
        lib.good[1, 1](x)
        print("launched")
    except tarsia.CudaError as error:
        print("AGAIN", error)
print(lib.answer())
print(tarsia.load_inline("int more() { return 7; }").more())
"""


def test_an_illegal_address_names_the_kernels_and_python_lives_on():
    require_gpus()
    out = run_python(CRASH)
    lines = out.splitlines()
    assert "no error" not in lines and "launched" not in lines
    again = [line for line in lines if line.startswith("AGAIN")]
    assert len(again) == 2 and "kernel bad" in again[0] and "TARSIA_DEBUG_SYNC" in again[0]
    assert "ILLEGAL_ADDRESS" in again[0]
    assert lines[-2:] == ["42", "7"]


def test_debug_sync_names_the_one():
    require_gpus()
    out = run_python(CRASH, TARSIA_DEBUG_SYNC=1)
    first = out.splitlines()[0]
    assert first.startswith("CudaError kernel bad failed: CUDA_ERROR_ILLEGAL_ADDRESS"), out


def test_debug_sync_lets_graphs_be_captured():
    require_gpus()
    out = run_python(r"""
import torch, tarsia
lib = tarsia.load_inline("__global__ void add(float* x) { x[0] += 1; }\nvoid f(float* x, cudaStream_t s) { add<<<1, 1, 0, s>>>(x); }")
x = torch.zeros(1, device="cuda")
lib.add[1, 1](x); lib.f(x)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    lib.add[1, 1](x)
    lib.f(x)
graph.replay()
torch.cuda.synchronize()
print(x.item())
""", TARSIA_DEBUG_SYNC=1)
    assert out.strip() == "4.0"


def test_a_kernel_outlives_its_library_while_it_runs():
    lib = inline(HOLD)
    opened, gate = Gate(is_open=True), Gate()
    kernel = lib.hold_kernel
    kernel[1, 1](gate.address)
    held = torch.cuda.current_stream().record_event()
    del lib
    kernel[1, 1](opened.address)
    del kernel
    assert not held.query()  # neither waited for the kernel
    gate.open()
    torch.cuda.synchronize()  # it ended without a fault
