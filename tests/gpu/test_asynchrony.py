"""Nothing waits for the GPU behind the caller's back, and code stays as long as it runs."""

import gc
import threading

import pytest
from gpu_support import HOLD, RELU, SPIN, Gate, inline, mapped_modules, wait_until

import tarsia

torch = pytest.importorskip("torch")

BUSY = 2.0  # seconds for which a kernel keeps the GPU busy

SOURCE = SPIN + HOLD + RELU + r"""
#include <tarsia/op.h>
__global__ void late_kernel(long gate, int* y, int value) {
  tarsia_test_wait(gate);
  *y = value;
}
void write_late(int* y, long gate, int value, cudaStream_t s) { late_kernel<<<1, 1, 0, s>>>(gate, y, value); }
__global__ void square_kernel(const float* x, float* y, long n) { TARSIA_GRID_LOOP(i, n) y[i] = x[i] * x[i]; }
__global__ void sum_kernel(const float* x, long n, float* y) {
  float sum = 0;
  for (long i = 0; i < n; ++i) sum += x[i];
  *y = sum;
}
tarsia::Tensor sum_of_squares(const tarsia::Tensor& x, tarsia::Stream s) {
  const long n = x.numel();
  tarsia::Tensor y = tarsia::empty({}, tarsia::float32, x.device());
  float* squares = static_cast<float*>(tarsia::scratch(n * sizeof(float), x.device()));
  square_kernel<<<tarsia::blocks(n), 256, 0, s>>>(x.data<const float>(), squares, n);
  sum_kernel<<<1, 1, 0, s>>>(squares, n, y.data<float>());
  return y;
}
tarsia::Tensor made(int n, float value, tarsia::Stream s) {
  tarsia::Tensor y = tarsia::empty({n}, tarsia::float32, tarsia::gpu_device());
  tarsia::Tensor ones = tarsia::empty({n}, tarsia::float32, tarsia::gpu_device());
  cudaMemsetAsync(ones.data(), 0, n * sizeof(float), s);
  cudaMemsetAsync(y.data(), 0, n * sizeof(float), s);
  return y;
}
tarsia::Tensor copied(const tarsia::Tensor& x, tarsia::Stream s) {
  tarsia::Tensor y = tarsia::empty_like(x);
  cudaMemcpyAsync(y.data(), x.data(), x.numel() * sizeof(float), cudaMemcpyDefault, s);
  return y;
}
tarsia::Tensor fails(const tarsia::Tensor& x, tarsia::Stream) { return tarsia::empty({1L << 50}, x.dtype(), x.device()); }
TARSIA_OP(gpu_async).forward("gpu", [](tarsia::Context& c) {
  const long n = c.input(0).numel();
  float* squares = c.scratch<float>(n);
  square_kernel<<<tarsia::blocks(n), 256, 0, c.stream()>>>(c.input(0).data<const float>(), squares, n);
  relu_kernel<<<(n + 255) / 256, 256, 0, c.stream()>>>(squares, c.output(0).data<float>(), n);
});
"""


@pytest.fixture
def lib():
    lib = inline(SOURCE, name="gpu_async")
    # Everything once: CUDA loads kernels when they are first launched, and may wait for the GPU then.
    x, y = torch.ones(10, device="cuda"), torch.zeros(1, device="cuda", dtype=torch.int32)
    stream, opened = torch.cuda.Stream(), Gate(is_open=True)
    for s in (None, stream):
        lib.spin(0, s)
        lib.hold(opened.address, s)
        lib.write_late(y, opened.address, 1, s)
        lib.relu(x, torch.empty_like(x), 10, s)
        lib.sum_of_squares(x, s)
        lib.made(10, 1, s)
    assert tarsia.ops.gpu_async(x).tolist() == [1] * 10
    torch.cuda.synchronize()
    return lib


def test_calls_without_tensors_go_to_the_current_stream(lib):
    stream = torch.cuda.Stream()
    for call in (lib.hold, lambda address: lib.hold_kernel[1, 1](address),
                 lambda address: lib.hold_kernel.launch(address, grid=1, block=1)):
        gate = Gate()
        with torch.cuda.stream(stream):
            call(gate.address)
        assert not stream.query() and torch.cuda.default_stream().query()
        gate.open()
        stream.synchronize()
    gate = Gate()
    lib.hold(gate.address)
    assert stream.query() and not torch.cuda.default_stream().query()
    gate.open()
    torch.cuda.synchronize()


@pytest.mark.parametrize("side", [False, True], ids=["default stream", "side stream"])
def test_calls_return_while_the_gpu_works(lib, side):
    x, y = torch.ones(1000, device="cuda"), torch.zeros(1000, device="cuda")
    bound = tarsia.op("gpu_async").bind(x)
    stream = torch.cuda.Stream() if side else torch.cuda.current_stream()

    def calls():
        for _ in range(20):
            lib.relu(x, y, 1000)
            total = lib.sum_of_squares(x)
            bound(x, out=y)
            made = bound(x)
            lib.made(1000, 1, stream)
        return total, made

    with torch.cuda.stream(stream):
        calls()  # PyTorch gets memory for this stream
        torch.cuda.synchronize()
        gate = Gate()
        lib.hold(gate.address, stream)
        held = stream.record_event()
        total, made = calls()
        assert not held.query()
    gate.open()
    stream.synchronize()
    assert total.item() == 1000 and bool((y == 1).all()) and bool((made == 1).all())


def test_memory_of_a_call_with_a_stream_is_that_stream_s(lib):
    x, stream = torch.ones(1 << 20, device="cuda"), torch.cuda.Stream()
    double = tarsia.elementwise("float32 x", "float32 y", "y = 2 * x", "doubled")
    double(x)
    torch.cuda.synchronize()
    for call in (lambda s: lib.copied(x, s), lambda s: double(x, stream=s)):
        for s in (stream, stream.cuda_stream):
            lib.spin(BUSY / 4, stream)
            y = call(s)
            assert torch.cuda.current_stream() == torch.cuda.default_stream()
            address = y.data_ptr()
            del y  # the kernel that writes it has not begun
            assert torch.empty_like(x).data_ptr() != address
            with torch.cuda.stream(stream):
                assert torch.empty_like(x).data_ptr() == address
    with torch.cuda.stream(stream):  # and the other way round
        address = lib.copied(x, 0).data_ptr()
        assert torch.cuda.current_stream() == stream
    assert torch.empty_like(x).data_ptr() == address
    with pytest.raises((tarsia.Error, RuntimeError)):
        lib.fails(x, stream)
    assert torch.cuda.current_stream() == torch.cuda.default_stream()


def test_compiling_and_loading_do_not_wait(lib):
    x = torch.ones(10, device="cuda")
    y = torch.empty_like(x)
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    gate = Gate()
    lib.hold(gate.address, stream)
    other = tarsia.load_inline("int seven() { return 7; }\n__global__ void k() {}\nvoid run() { k<<<1, 1>>>(); }")
    assert other.seven() == 7
    other.unload()
    del other
    gc.collect()
    assert not stream.query()
    gate.open()
    lib.relu(x, y, 10)
    torch.cuda.synchronize()
    assert torch.equal(x, y)


@pytest.mark.parametrize("how", ["unload", "forget"])
def test_unloading_while_a_kernel_runs(how):
    text = SOURCE.replace("gpu_async", "gpu_unload") + f"\n// {how}"
    before = mapped_modules()
    lib = inline(text)
    y, opened, gate = torch.zeros(1, device="cuda", dtype=torch.int32), Gate(is_open=True), Gate()
    lib.write_late(y, opened.address, 1)
    torch.cuda.synchronize()
    mapped = mapped_modules()
    assert mapped > before
    stream = torch.cuda.Stream()
    lib.write_late(y, gate.address, 42, stream)
    lib.unload()
    if how == "forget":
        del lib
        gc.collect()
    assert not stream.query()
    assert mapped_modules() == mapped  # its code is still needed
    assert "gpu_unload" not in tarsia.ops
    gate.open()
    torch.cuda.synchronize()
    assert y.item() == 42
    lib = None
    assert wait_until(lambda: mapped_modules() == before), "it is still mapped, 10 s after its last kernel"
    again = tarsia.load_inline(text)
    again.write_late(y, opened.address, 7)
    assert y.item() == 7


def test_a_bound_op_keeps_its_library(lib):
    x = torch.ones(10, device="cuda")
    bound = tarsia.op("gpu_async").bind(x)
    before = mapped_modules()
    other = tarsia.load_inline("int eight() { return 8; }\n__global__ void k() {}\nvoid run() { k<<<1, 1>>>(); }")
    assert other.eight() == 8
    lib.unload()
    del lib
    other.unload()
    del other
    gc.collect()
    # Where the one that nothing needs has gone, the other would have gone, too.
    assert wait_until(lambda: mapped_modules() == before)
    assert bound(x).tolist() == [1] * 10


def test_results_may_be_dropped_while_they_are_written(lib):
    x = torch.ones(100_000, device="cuda")
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        lib.spin(0.1, stream)
        for _ in range(200):
            tarsia.ops.gpu_async(x)
            lib.made(100_000, 1, stream)
        y = tarsia.ops.gpu_async(x)
    stream.synchronize()
    assert bool((y == 1).all())


def test_scratch_of_calls_on_several_streams_stays_apart(lib):
    streams = [torch.cuda.Stream() for _ in range(4)]
    inputs = [torch.full((50_000,), float(i + 1), device="cuda") for i in range(4)]
    torch.cuda.synchronize()
    results = []
    for stream in streams:
        lib.spin(0.05, stream)
    for _ in range(25):
        for x, stream in zip(inputs, streams):
            with torch.cuda.stream(stream):
                results.append((x, lib.sum_of_squares(x)))
    torch.cuda.synchronize()
    for x, total in results:
        assert total.item() == pytest.approx(50_000 * x[0].item() ** 2, rel=1e-3)


def test_scratch_within_a_captured_graph(lib):
    x = torch.ones(1000, device="cuda")
    y = torch.empty_like(x)
    bound = tarsia.op("gpu_async").bind(x)
    bound(x, out=y)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        bound(x, out=y)
    for value in (2.0, 3.0):
        x.fill_(value)
        graph.replay()
        assert bool((y == value * value).all())


def test_other_threads_run_during_a_call():
    lib = inline(r"""
    #include <chrono>
    #include <future>
    static std::promise<void> s_begun, s_gate;
    bool doze(cudaStream_t) {
      s_begun.set_value();
      return s_gate.get_future().wait_for(std::chrono::minutes(1)) == std::future_status::ready;
    }
    bool has_begun(cudaStream_t) { return s_begun.get_future().wait_for(std::chrono::minutes(1)) == std::future_status::ready; }
    void open() { s_gate.set_value(); }
    int synchronize() { return int(cudaDeviceSynchronize()); }
    """)
    woken = []
    thread = threading.Thread(target=lambda: woken.append(lib.doze()))
    thread.start()
    assert lib.has_begun()
    lib.open()
    thread.join()
    assert woken == [True] and lib.synchronize() == 0
