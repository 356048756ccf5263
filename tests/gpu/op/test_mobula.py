"""MobulaOP's kernels and operators on a GPU: the text is that of the CPU, and so are the results."""

import ctypes
import warnings

import numpy as np
import pytest
from gpu_support import HOLD, Gate, gpu_count, inline, require_gpus

import tarsia
import tarsia.mobula as mobula
from tarsia.testing import check

torch = pytest.importorskip("torch")

SOURCE = """
#include "mobula_op.h"
struct GmSpan { float* data; int size; int sum; };
namespace mobula {
template <typename T>
MOBULA_DEVICE T gm_larger(T a, T b) { return a > b ? a : b; }
template <typename T>
MOBULA_KERNEL gm_product_kernel(const int n, const T* a, const T* b, T* c) {
  parfor(n, [&](int i) { c[i] = a[i] * b[i]; });
}
template <typename T>
MOBULA_KERNEL gm_larger_kernel(const int n, T least, const T* x, T* y) {
  parfor(n, [&](int i) { y[i] = gm_larger(x[i], least); });
}
template <typename T>
MOBULA_KERNEL gm_sum_kernel(const int n, const T* x, T* out) {
  Reduce(n, x, out, add_residual_reduce_func<T>, add_residual_merge_func<T>, T(0));
}
template <typename T>
MOBULA_KERNEL gm_max_kernel(const int n, const T* x, T* out) { Reduce(n, x, out, max_func<T>, x[0]); }
template <typename T>
MOBULA_KERNEL gm_atomic_kernel(const int n, T* out) { parfor(n, [&](int i) { atomic_add(i % 5, out + i % 7); }); }
MOBULA_KERNEL gm_turns_kernel(const int n, const int rounds, int* out) {
  const int threads = get_num_threads(), t = get_thread_num();
  for (int i = 0; i < rounds; ++i) {
    if (i * 97 % threads == t) ++*out;
    __syncthreads();
  }
  if (t == 0) out[1] = threads;
}
MOBULA_KERNEL gm_two_loops_kernel(const int n, int* x, int* y) {
  parfor(n, [&](int i) { x[i] = i; });
  __syncthreads();
  parfor(n, [&](int i) { y[i] = x[n - 1 - i]; });
}
MOBULA_KERNEL gm_width_kernel(const int n, int* out) {
  out[get_thread_num()] = get_num_threads();
}
MOBULA_FUNC int gm_run(const int n, float* x) {
  KERNEL_RUN(gm_product_kernel<float>)(n, x, x, x);
  float first = 0;
  MemcpyDevToHost(&first, x, sizeof(float));
  float* more = new_array<float>(2);
  MemcpyDevToDev(more, x, 2 * sizeof(float));
  KERNEL_RUN(gm_product_kernel<float>)(2, more, more, more);
  float both[2];
  MemcpyDevToHost(both, more, sizeof(both));
  del_array(more);
  return int(first * 1000 + both[1]);
}
MOBULA_KERNEL gm_check_kernel(const int n, int wanted) { CHECK_EQ(n, wanted) << "as asked"; }
}
MOBULA_KERNEL gm_span_kernel(const int n, GmSpan* span) {
  mobula::parfor(span->size, [&](int i) { span->data[i] += 1; mobula::atomic_add(i, &span->sum); });
}
"""

SCRIPT = """
import tarsia.mobula as mobula

@mobula.op.register
class GmProduct:
    def forward(self, a, b):
        mobula.func.gm_product(a.size, a, b, self.y)

    def backward(self, dy):
        mobula.func.gm_product(dy.size, dy, self.X[1], self.dX[0])
        mobula.func.gm_product(dy.size, dy, self.X[0], self.dX[1])

    def infer_shape(self, in_shape):
        return in_shape, [in_shape[0]]

@mobula.op.register
class GmProject:
    '''x times w, over MXNet's dot and functions without tensors.'''

    def forward(self, x, w):
        scratch = self.F.empty((x.shape[0], w.shape[1]))
        scratch[:] = self.F.dot(x, w)
        return scratch

    def backward(self, dy):
        return self.F.dot(dy, self.X[1].T), self.F.dot(self.X[0].T, dy)

    def infer_shape(self, in_shape):
        return in_shape, [(in_shape[0][0], in_shape[1][1])]
"""


class Span(ctypes.Structure):
    _fields_ = (("data", ctypes.POINTER(ctypes.c_float)), ("size", ctypes.c_int), ("sum", ctypes.c_int))


made = []


def span_of(x):
    tensor = mobula.glue.backend.get_var_glue(x).Tensor(x)
    made.append(Span(ctypes.cast(tensor.data_ptr, ctypes.POINTER(ctypes.c_float)), x.numel(), 0))
    return made[-1]


@pytest.fixture
def func(tmp_path):
    (tmp_path / "Gm").mkdir()
    (tmp_path / "Gm" / "Gm.cpp").write_text(SOURCE)
    (tmp_path / "Gm" / "Gm.py").write_text(SCRIPT)
    mobula.glue.register_cstruct("GmSpan", Span, span_of)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mobula.op.load("Gm", str(tmp_path))
    mobula.func.gm_product.build("cuda", ["float"])
    mobula.func.gm_span.build("cuda")
    require_gpus()
    return mobula.func


def test_elementwise_of_all_types(func):
    for dtype in (torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64, torch.float32, torch.float64):
        for n in (1, 31, 257, 100_003):
            a, b = torch.randint(0, 11, (n,), device="cuda").to(dtype), torch.randint(0, 11, (n,), device="cuda").to(dtype)
            c = torch.zeros(n, dtype=dtype, device="cuda")
            func.gm_product(n, a, b, c)
            assert torch.equal(c, a * b)
            func.gm_larger(n, 5, a, c)
            assert torch.equal(c, a.clamp(min=5))


def test_what_is_not_contiguous_is_copied(func):
    a, b, c = (torch.rand(40, 60, device="cuda") for _ in range(3))
    before = c.clone()
    func.gm_product(1200, a[:, ::2], b.T[:40, :30], c[:, 1::2])
    assert torch.equal(c[:, 1::2], a[:, ::2] * b.T[:40, :30]) and torch.equal(c[:, ::2], before[:, ::2])


def test_a_kernel_has_no_more_threads_than_its_first_argument(func):
    for n in (1, 2, 31, 33, 255, 256, 257, 1000, 70_001):
        out = torch.zeros(n + 64, dtype=torch.int32, device="cuda")
        func.gm_width(n, out)
        threads = int(out[0])
        assert 0 < threads <= n and (out[:threads] == threads).all() and (out[threads:] == 0).all()


@pytest.mark.parametrize("n", [1, 2, 3, 300, 4097, 1_000_000])
def test_barriers_hold_for_all_blocks(func, n):
    out = torch.zeros(2, dtype=torch.int32, device="cuda")
    func.gm_turns(n, 500, out)
    assert out[0] == 500 and 0 < out[1] <= n
    x, y = torch.zeros(2, n, dtype=torch.int32, device="cuda")
    func.gm_two_loops(n, x, y)
    assert torch.equal(y, torch.arange(n - 1, -1, -1, dtype=torch.int32, device="cuda"))


@pytest.mark.parametrize("n", [1, 2, 3, 5, 31, 300, 1_000_003, 10_000_000])
def test_reductions(func, n):
    x = torch.rand(n, dtype=torch.float64, device="cuda")
    out = torch.full_like(x, float("nan"))
    func.gm_sum(n, x, out)
    assert abs(out[0].item() - np.sum(x.cpu().numpy())) <= 1e-7
    func.gm_max(n, x, out)
    assert out[0] == x.max()


def test_atomic_addition(func):
    n = 7 * 5 * 1000
    for dtype in (torch.int32, torch.int64, torch.float32, torch.float64):
        out = torch.zeros(7, dtype=dtype, device="cuda")
        func.gm_atomic(n, out)
        assert (out == 10_000).all()


def test_functions_run_kernels_and_copy(func):
    x = torch.tensor([2.0, 3.0, 4.0], device="cuda")
    assert func.gm_run(3, x) == 4000 + 81
    assert x.tolist() == [4, 9, 16]


def test_structs(func):
    x = torch.zeros(1000, device="cuda")
    func.gm_span(1000, x)
    assert (x == 1).all() and made[-1].sum == 999 * 500  # what the kernel wrote to the struct came back


def test_launches_go_to_the_current_stream_and_wait_for_nothing(func):
    hold = inline(HOLD)
    x, stream, gate = torch.full((1000,), 3.0, device="cuda"), torch.cuda.Stream(), Gate()
    func.gm_product(1000, x, x, x)  # compiled and loaded
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        hold.hold(gate.address)
        func.gm_product(1000, x, x, x)
        done = torch.cuda.Event()
        done.record()
        assert not done.query()
        gate.open()
    stream.synchronize()
    assert (x == 81).all()


def test_a_captured_graph(func):
    x, out = torch.rand(100_000, dtype=torch.float64, device="cuda"), torch.zeros(100_000, dtype=torch.float64, device="cuda")
    func.gm_sum(x.numel(), x, out)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        func.gm_sum(x.numel(), x, out)
    x.fill_(0.5)
    graph.replay()
    torch.cuda.synchronize()
    assert out[0] == 50_000


def test_a_failed_check_ends_the_kernel(func):
    func.gm_check.build("cuda")
    func.gm_product(1, *(torch.zeros(1, device="cuda") for _ in range(3)))
    mobula_check = func.gm_check._source.function(func.gm_check.declaration, ["number", "number"], {}, True)
    mobula_check(3, 3)
    torch.cuda.synchronize()
    with pytest.raises(RuntimeError):
        mobula_check(3, 4)
        torch.cuda.synchronize()


def test_operators_and_autograd(func):
    a, b = (torch.rand(30, 40, dtype=torch.float64, device="cuda", requires_grad=True) for _ in range(2))
    assert torch.autograd.gradcheck(mobula.op.GmProduct, (a[:3, :4].detach().requires_grad_(), b[:3, :4].detach().requires_grad_()))
    mobula.op.GmProduct(a, b).sum().backward()
    assert torch.equal(a.grad, b) and torch.equal(b.grad, a)
    x, w = torch.rand(5, 4, device="cuda", requires_grad=True), torch.rand(4, 3, device="cuda", requires_grad=True)
    y = mobula.op.GmProject(x, w)
    assert y.device == x.device and torch.allclose(y, x @ w)
    y.sum().backward()
    assert torch.allclose(x.grad, w.sum(1).expand(5, 4)) and torch.allclose(w.grad, x.sum(0)[:, None].expand(4, 3))


def test_ops_of_tarsia_agree_with_the_cpu(func):
    report = check(mobula.op.GmProduct.tarsia_op(), shapes=[(30, 40), (30, 40)])
    assert report.passed and any(one.name.startswith("gpu") and one.status == "passed" for one in report.checks), report


def test_tensors_on_different_devices_are_an_error(func):
    with pytest.raises(tarsia.ArgumentValueError, match="gm_product: 'b' is on the CPU, the tensors before it are on GPU 0"):
        func.gm_product(3, torch.ones(3, device="cuda"), torch.ones(3), torch.ones(3, device="cuda"))


def test_the_same_call_on_the_cpu_and_back(func):
    for device in ("cuda", "cpu", "cuda", "cpu"):
        x = torch.full((5,), 3.0, device=device)
        func.gm_product(5, x, x, x)
        assert (x == 9).all()


def test_the_gpus_are_listed(func):
    assert mobula.utils.list_gpus() == list(range(gpu_count()))


def test_cupy(func):
    cupy = pytest.importorskip("cupy")
    a, b = cupy.arange(6, dtype=cupy.float64).reshape(2, 3), cupy.full((2, 3), 3.0)
    op = mobula.op.GmProduct[cupy.ndarray]()
    assert type(op(a, b)) is cupy.ndarray and (op(a, b) == a * b).all()
    da, db = op.backward()
    assert (da == b).all() and (db == a).all()
    c = cupy.zeros((3, 2))
    func.gm_product(6, a.T, b.T, c)
    assert (c == a.T * 3).all()


def test_two_gpus(func):
    require_gpus(2)
    for k in (1, 0):
        x = torch.full((70_000,), 3.0, device=f"cuda:{k}")
        func.gm_product(x.numel(), x, x, x)
        out = torch.zeros_like(x)
        func.gm_sum(x.numel(), x, out)
        assert (x == 9).all() and out[0] == 630_000
