"""Several GPUs in one process."""


import pytest
from gpu_support import HOLD, RELU, SPIN, Gate, inline, wait_until
from threads import at_once

import tarsia

torch = pytest.importorskip("torch")

SOURCE = SPIN + HOLD + RELU + r"""
#include <tarsia/op.h>
__constant__ float factor = 1;
__device__ int counter;
__managed__ int managed = 0;
int device_of_call(const float* x, cudaStream_t) {
  int device = -1;
  cudaGetDevice(&device);
  return device * 100 + tarsia::detail::host()->call_device().id;
}
void set_factor(float* x, float value) { cudaMemcpyToSymbol(factor, &value, sizeof(value)); }
__global__ void scale_kernel(float* x, long n) { TARSIA_GRID_LOOP(i, n) x[i] *= factor; }
void scale(float* x, long n, cudaStream_t s) { scale_kernel<<<tarsia::blocks(n), 256, 0, s>>>(x, n); }
__global__ void count_kernel(float* x) { *x = float(++counter); ++managed; }
void count(float* x, cudaStream_t s) { count_kernel<<<1, 1, 0, s>>>(x); }
int managed_count() { return managed; }
tarsia::Tensor plus_one(const tarsia::Tensor& x, tarsia::Stream s) {
  tarsia::Tensor y = tarsia::empty_like(x);
  float* buffer = static_cast<float*>(tarsia::scratch(uint64_t(x.bytes()), x.device()));
  cudaMemcpyAsync(buffer, x.data(), size_t(x.bytes()), cudaMemcpyDeviceToDevice, s);
  cudaMemcpyAsync(y.data(), buffer, size_t(x.bytes()), cudaMemcpyDeviceToDevice, s);
  relu_kernel<<<1, 1, 0, s>>>(y.data<float>(), y.data<float>(), 0);
  scale_kernel<<<tarsia::blocks(y.numel()), 256, 0, s>>>(y.data<float>(), y.numel());
  return y;
}
tarsia::Tensor made(int device, int n) {
  tarsia::Tensor y = tarsia::empty({n}, tarsia::int32, tarsia::gpu_device(device));
  cudaSetDevice(device);
  cudaMemset(y.data(), 0, size_t(y.bytes()));
  return y;
}
void two(const float* x, float* y, cudaStream_t s) {}
void random(int64_t* y, cudaStream_t s) {
  tarsia::RandomRange range = tarsia::reserve_random(tarsia::detail::host()->call_device(), 4);
  int64_t values[2] = {int64_t(range.seed), int64_t(range.offset)};
  cudaMemcpyAsync(y, values, sizeof(values), cudaMemcpyHostToDevice, s);
}
TARSIA_OP(two_gpus_relu).forward("gpu", [](tarsia::Context& c) {
  const long n = c.input(0).numel();
  relu_kernel<<<(n + 255) / 256, 256, 0, c.stream()>>>(c.input(0).data<const float>(), c.output(0).data<float>(), n);
});
"""


@pytest.fixture
def lib():
    lib = inline(SOURCE, gpus=2, name="two_gpus")
    assert torch.cuda.current_device() == 0
    yield lib
    assert torch.cuda.current_device() == 0


def test_calls_run_where_their_tensors_are(lib):
    for device in (1, 0, 1):
        x = torch.randn(10_000, device=f"cuda:{device}")
        y = torch.empty_like(x)
        assert lib.device_of_call(x) == 101 * device
        lib.relu(x, y, 10_000)
        assert torch.equal(y, torch.relu(x))
        z = lib.plus_one(x)
        assert z.device == x.device and torch.equal(z, x)
        assert torch.cuda.current_device() == 0


def test_ops_run_where_their_tensors_are(lib):
    x = [torch.randn(1000, device=f"cuda:{i}") for i in range(2)]
    for _ in range(3):
        for tensor in x:
            y = tarsia.ops.two_gpus_relu(tensor)
            assert y.device == tensor.device and torch.equal(y, torch.relu(tensor))
    bound = tarsia.op("two_gpus_relu").bind(x[1])
    assert torch.equal(bound(x[1]), torch.relu(x[1]))
    with pytest.raises(tarsia.Error, match="bind it again"):
        bound(x[0])
    with pytest.raises(tarsia.Error):
        bound(x[1], out=torch.empty(1000, device="cuda:0"))
    assert torch.cuda.current_device() == 0


def test_tensors_of_two_devices_in_one_call_are_refused(lib):
    x, y = torch.zeros(4, device="cuda:0"), torch.zeros(4, device="cuda:1")
    for a, b in ((x, y), (y, x)):
        with pytest.raises(ValueError, match="cuda:[01]"):
            lib.two(a, b)
    lib.two(y, y)


def test_streams_of_each_device(lib):
    streams = [torch.cuda.Stream(device=i) for i in range(2)]
    x = [torch.full((1000,), -1.0, device=f"cuda:{i}") for i in range(2)]
    y = [torch.empty_like(t) for t in x]
    opened, gates = Gate(is_open=True), [Gate(), Gate()]
    for i in range(2):
        lib.relu(x[i], y[i], 1000)
        with torch.cuda.device(i):
            lib.hold(opened.address)  # loading its code would wait
    torch.cuda.synchronize(0)
    torch.cuda.synchronize(1)
    for i in range(2):
        with torch.cuda.stream(streams[i]):  # makes the device current, too
            lib.relu(x[i], y[i], 1000)
            lib.hold(gates[i].address, streams[i])
            x[i].fill_(i + 5)
            lib.relu(x[i], y[i], 1000)
            assert not streams[i].query()
    for i in range(2):
        gates[i].open()
        streams[i].synchronize()
        assert bool((y[i] == i + 5).all())


def test_a_stream_of_the_other_device_is_that_devices_own(lib):
    with torch.cuda.stream(torch.cuda.Stream(device=0)):
        x = torch.randn(1000, device="cuda:1")
        y = torch.empty_like(x)
        lib.relu(x, y, 1000)  # on cuda:1's current stream, not on the one above
        torch.cuda.synchronize(1)
        assert torch.equal(y, torch.relu(x))


def test_variables_are_those_of_each_device(lib):
    x = [torch.ones(4, device=f"cuda:{i}") for i in range(2)]
    lib.set_factor(x[0], 3)
    lib.set_factor(x[1], 5)
    for t in x:
        lib.scale(t, 4)
    assert x[0].tolist() == [3] * 4 and x[1].tolist() == [5] * 4
    for expected in (1, 2, 3):
        lib.count(x[1])
        torch.cuda.synchronize(1)
        assert x[1][0].item() == expected
    lib.count(x[0])
    torch.cuda.synchronize(0)
    assert x[0][0].item() == 1
    assert lib.managed_count() == 4


def test_both_at_once(lib):
    def work(i):
        device = i % 2
        torch.cuda.set_device(device)
        with torch.cuda.stream(torch.cuda.Stream(device=device)):
            for k in range(100):
                x = torch.randn(5000 + k, device=f"cuda:{device}")
                y = tarsia.ops.two_gpus_relu(x)
                z = lib.plus_one(x)
                assert torch.equal(y, torch.relu(x)) and z.device == x.device, f"device {device}, round {k}"

    x = [torch.ones(1, device=f"cuda:{i}") for i in range(2)]
    for t in x:
        lib.set_factor(t, 1)
    at_once(work, range(4))


def test_tensors_made_on_the_other_device(lib):
    t = lib.made(1, 5)
    assert t.device == "cuda:1" and torch.from_dlpack(t).tolist() == t.numpy().tolist() == [0] * 5
    torch.cuda.set_device(0)
    assert lib.made(0, 5).device == "cuda:0"
    cupy = pytest.importorskip("cupy")
    t = lib.made(1, 3)
    torch.cuda.set_device(0)
    array = cupy.from_dlpack(t)
    assert array.device.id == 1 and array.get().tolist() == [0] * 3


def test_random_numbers_of_each_device(lib):
    y = [torch.zeros(2, device=f"cuda:{i}", dtype=torch.int64) for i in range(2)]
    tarsia.seed(7)
    for t in y + [y[1]]:
        lib.random(t)
    assert y[0].tolist() == [127 * 7, 0] and y[1].tolist() == [127 * 7 + 1, 4]


def test_graphs_on_the_other_device(lib):
    x = torch.randn(1000, device="cuda:1")
    y = torch.empty_like(x)
    with torch.cuda.device(1):
        lib.relu(x, y, 1000)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            lib.relu(x, y, 1000)
        x.normal_()
        graph.replay()
        assert torch.equal(y, torch.relu(x))


def test_unloading_with_work_on_both(lib):
    other = tarsia.load_inline(SOURCE.replace("two_gpus_relu", "two_gpus_other"))
    x = [torch.ones(4, device=f"cuda:{i}") for i in range(2)]
    streams = [torch.cuda.Stream(device=i) for i in range(2)]
    for i in range(2):
        with torch.cuda.device(i):
            other.scale(x[i], 4)
            other.spin(0.01, streams[i])
    torch.cuda.synchronize(0), torch.cuda.synchronize(1)
    for i in range(2):
        with torch.cuda.device(i):
            other.spin(0.3, streams[i])
    other.unload()
    del other
    assert not streams[0].query() or not streams[1].query()
    assert wait_until(lambda: streams[0].query() and streams[1].query())
    torch.cuda.synchronize(0), torch.cuda.synchronize(1)
    lib.scale(x[1], 4)
    assert x[1].tolist() == [1] * 4
