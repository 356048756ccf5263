"""One op string for the CPU and the GPU: results, streams, graphs, replacing."""

import threading

import numpy as np
import pytest
from gpu_support import HOLD, Gate, inline, wait_until
from threads import at_once

import tarsia

torch = pytest.importorskip("torch")

SOURCE = r"""
#include <tarsia/op.h>
template <class T>
__global__ void relu_kernel(const T* x, T* y, long n) {
  TARSIA_GRID_LOOP(i, n) y[i] = x[i] > T(0) ? x[i] : T(0);
}
template <class T>
__global__ void relu_grad_kernel(const T* dy, const T* x, T* dx, long n) {
  TARSIA_GRID_LOOP(i, n) dx[i] = x[i] > T(0) ? dy[i] : T(0);
}

void relu_cpu(tarsia::Context& c) {
  TARSIA_DISPATCH(c.input(0).dtype(), T, (float, double, int), {
    const T* x = c.input(0).data<const T>();
    T* y = c.output(0).data<T>();
    for (int64_t i = 0; i < c.input(0).numel(); ++i) y[i] = x[i] > 0 ? x[i] : 0;
  });
}
void relu_gpu(tarsia::Context& c) {
  const long n = c.input(0).numel();
  TARSIA_DISPATCH(c.input(0).dtype(), T, (float, double, int), {
    relu_kernel<T><<<tarsia::blocks(n), 256, 0, c.stream()>>>(c.input(0).data<const T>(), c.output(0).data<T>(), n);
  });
}
void relu_grad_gpu(tarsia::Context& c) {
  const long n = c.out_grad(0).numel();
  relu_grad_kernel<float><<<tarsia::blocks(n), 256, 0, c.stream()>>>(
      c.out_grad(0).data<const float>(), c.forward_input(0).data<const float>(), c.in_grad(0).data<float>(), n);
}
TARSIA_OP(gpu_relu).input("x").output("y").forward("cpu", relu_cpu).forward("gpu", relu_gpu).backward("gpu", relu_grad_gpu);
"""

SCALE = r"""
#include <tarsia/op.h>
__global__ void scale_kernel(const float* x, float* y, long n) { TARSIA_GRID_LOOP(i, n) y[i] = x[i] * FACTOR; }
void scale(tarsia::Context& c) {
  const long n = c.input(0).numel();
  scale_kernel<<<tarsia::blocks(n), 256, 0, c.stream()>>>(c.input(0).data<const float>(), c.output(0).data<float>(), n);
}
TARSIA_OP(gpu_scale).forward("gpu", scale);
"""


@pytest.fixture
def relu():
    lib = inline(SOURCE, name="gpu_relu")
    assert lib.ops == ("gpu_relu",) and {"relu_kernel<float>", "relu_grad_kernel<float>"} <= set(lib.kernels)
    return tarsia.ops.gpu_relu


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("shape", [(), (0,), (1,), (255,), (3, 5, 7), (1000, 1003)], ids=str)
def test_the_gpu_gives_what_torch_gives(relu, dtype, shape):
    x = (torch.randn(shape) * 10).to(getattr(torch, dtype))
    y = relu(x.cuda())
    assert y.is_cuda and y.dtype == x.dtype and y.shape == x.shape
    assert torch.equal(y.cpu(), torch.relu(x))
    assert torch.equal(relu(x), torch.relu(x))
    assert np.array_equal(relu(x.numpy()), torch.relu(x).numpy())


def test_large_tensors(relu):
    x = torch.randn(100_000_007, device="cuda")
    assert torch.equal(relu(x), torch.relu(x))


def test_out_is_filled_and_given_back(relu):
    x, out = torch.randn(1000, device="cuda"), torch.full((1000,), 7.0, device="cuda")
    assert relu(x, out=out) is out and torch.equal(out, torch.relu(x))
    assert relu(x, out=x) is x and torch.equal(x, out)


def test_gradients(relu):
    x, dy = torch.randn(10000, device="cuda"), torch.randn(10000, device="cuda")
    bound = tarsia.op("gpu_relu").bind(x)
    assert bound.has_backward and not tarsia.op("gpu_relu").bind(x.cpu()).has_backward
    assert torch.equal(bound.backward(dy, x, bound(x))[0], torch.where(x > 0, dy, 0))


def test_a_bound_op_runs_where_it_was_bound(relu):
    x = torch.ones(4, device="cuda")
    bound = tarsia.op("gpu_relu").bind(x)
    assert torch.equal(bound(x), x)
    with pytest.raises(tarsia.Error, match="bound to GPU 0"):
        bound(x.cpu())
    with pytest.raises(tarsia.Error, match="bind it again"):
        bound(torch.ones(5, device="cuda"))
    with pytest.raises(tarsia.Error, match="not contiguous"):
        bound(torch.ones(8, device="cuda")[::2])
    with pytest.raises(TypeError, match=r"float16 is none of \(float, double, int\)"):
        relu(torch.ones(4, device="cuda", dtype=torch.float16))
    assert torch.equal(bound(x), x)


def test_an_op_without_gpu_code_says_so():
    inline('#include <tarsia/op.h>\nTARSIA_OP(gpu_none).forward("cpu", [](tarsia::Context&) {});')
    with pytest.raises(tarsia.Error, match="gpu"):
        tarsia.ops.gpu_none(torch.ones(4, device="cuda"))


def test_work_is_ordered_on_a_side_stream(relu):
    lib = inline(HOLD)
    n = 1 << 20
    opened, gate = Gate(is_open=True), Gate()
    lib.hold(opened.address)  # loading its code would wait
    x, y = torch.full((n,), -1.0, device="cuda"), torch.zeros(n, device="cuda")
    stream = torch.cuda.Stream()  # does not wait for the default stream, nor that for it
    stream.wait_stream(torch.cuda.current_stream())
    relu(x, out=y)
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        lib.hold(gate.address, stream)
        x.fill_(3.0)
        made = relu(x)
        relu(x, out=y)
        assert not stream.query()
    gate.open()
    stream.synchronize()
    assert bool((made == 3).all()) and bool((y == 3).all())


def test_a_cuda_graph_replays_it(relu):
    x = torch.randn(1 << 16, device="cuda")
    y = torch.empty_like(x)
    bound = tarsia.op("gpu_relu").bind(x)
    bound(x, out=y)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        bound(x, out=y)
        made = relu(y - 1)  # its output comes from the graph's own memory
    for _ in range(3):
        x.normal_()
        graph.replay()
        assert torch.equal(y, torch.relu(x)) and torch.equal(made, torch.relu(torch.relu(x) - 1))


def test_no_compile_starts_during_capture(relu):
    x = torch.ones(16, device="cuda")
    relu(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        with pytest.raises(tarsia.Error, match="captur"):
            tarsia.load_inline("int never_seen_before(int x) { return x + 1; }")
        y = relu(x)
    graph.replay()
    assert torch.equal(y, x)


def test_many_threads_on_streams_of_their_own(relu):
    def work(seed):
        with torch.cuda.stream(torch.cuda.Stream()):
            generator = torch.Generator("cuda").manual_seed(seed)
            for n in (1000, 4096, 1000, 77777):
                x = torch.randn(n, device="cuda", generator=generator)
                for _ in range(50):
                    y = relu(x)
                assert torch.equal(y, torch.relu(x)), f"thread {seed}, {n} elements"

    at_once(work, range(8))


def test_an_op_is_replaced_while_it_is_called():
    first = inline(SCALE, name="gpu_scale", defines={"FACTOR": "2.0f"})
    stop, seen, failures = threading.Event(), set(), []

    def work():
        try:
            with torch.cuda.stream(torch.cuda.Stream()):
                x = torch.ones(10000, device="cuda")
                while not stop.is_set():
                    y = tarsia.ops.gpu_scale(x)
                    if not bool((y == y[0]).all()):
                        failures.append("two versions in one result")
                    seen.add(float(y[0]))
        except Exception as error:
            failures.append(repr(error))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    assert wait_until(lambda: 2.0 in seen or failures)
    second = tarsia.load_inline(SCALE, name="gpu_scale", defines={"FACTOR": "3.0f"})
    first.unload()
    del first
    assert wait_until(lambda: 3.0 in seen or failures)
    third = tarsia.load_inline(SCALE, name="gpu_scale", defines={"FACTOR": "4.0f"})
    second.unload()
    assert wait_until(lambda: 4.0 in seen or failures)
    stop.set()
    for thread in threads:
        thread.join()
    assert not failures and seen == {2.0, 3.0, 4.0}
    assert float(tarsia.ops.gpu_scale(torch.ones(1, device="cuda"))) == 4
    third.unload()
    assert "gpu_scale" not in tarsia.ops


def test_an_old_binding_finishes_on_the_old_code():
    first = inline(SCALE, name="gpu_scale", defines={"FACTOR": "2.0f"})
    x = torch.ones(8, device="cuda")
    bound = tarsia.op("gpu_scale").bind(x)
    second = tarsia.load_inline(SCALE, name="gpu_scale", defines={"FACTOR": "3.0f"})
    first.unload()
    del first
    assert bound(x).tolist() == [2] * 8 and tarsia.ops.gpu_scale(x).tolist() == [3] * 8
    second.unload()
    assert bound(x).tolist() == [2] * 8
