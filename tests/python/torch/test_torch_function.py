"""Differentiable functions of PyTorch from a forward and a backward function."""

import gc
import inspect
import weakref

import pytest

import tarsia

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script_method")
import tarsia.torch  # noqa: E402

SOURCE = r"""
#include <tarsia/op.h>
#include <cmath>
#include <optional>
#include <tuple>

// Written into what the caller gives.
void relu(const float* x, float* y, long n) { for (long i = 0; i < n; i++) y[i] = x[i] > 0 ? x[i] : 0; }
void relu_backward(const float* dy, const float* y, float* dx, long n) {
  for (long i = 0; i < n; i++) dx[i] = y[i] > 0 ? dy[i] : 0;
}

// Returned, with a number among the parameters; the output goes into backward after its gradient.
static void map(const tarsia::Tensor& x, tarsia::Tensor& y, double (*f)(double)) {
  for (long i = 0; i < x.numel(); i++) y.data<double>()[i] = f(x.data<double>()[i]);
}
tarsia::Tensor scaled_exp(const tarsia::Tensor& x, double scale = 1) {
  tarsia::Tensor y = tarsia::empty_like(x);
  map(x, y, std::exp);
  for (long i = 0; i < y.numel(); i++) y.data<double>()[i] *= scale;
  return y;
}
tarsia::Tensor scaled_exp_backward(const tarsia::Tensor& dy, const tarsia::Tensor& y) {
  tarsia::Tensor dx = tarsia::empty_like(y);
  for (long i = 0; i < y.numel(); i++) dx.data<double>()[i] = dy.data<const double>()[i] * y.data<const double>()[i];
  return dx;
}

// y = a * b + c, c may be missing; two outputs.
std::tuple<tarsia::Tensor, tarsia::Tensor> fused(const tarsia::Tensor& a, const tarsia::Tensor& b, const std::optional<tarsia::Tensor>& c) {
  tarsia::Tensor y = tarsia::empty_like(a), z = tarsia::empty_like(a);
  for (long i = 0; i < a.numel(); i++) {
    const double ab = a.data<const double>()[i] * b.data<const double>()[i];
    y.data<double>()[i] = ab + (c ? c->data<const double>()[i] : 0);
    z.data<double>()[i] = 2 * a.data<const double>()[i];
  }
  return {y, z};
}
std::tuple<tarsia::Tensor, tarsia::Tensor, tarsia::Tensor> fused_backward(
    const tarsia::Tensor& dy, const tarsia::Tensor& dz, const tarsia::Tensor& a, const tarsia::Tensor& b) {
  tarsia::Tensor da = tarsia::empty_like(a), db = tarsia::empty_like(a);
  for (long i = 0; i < a.numel(); i++) {
    const double g = dy.data<const double>()[i];
    da.data<double>()[i] = g * b.data<const double>()[i] + 2 * dz.data<const double>()[i];
    db.data<double>()[i] = g * a.data<const double>()[i];
  }
  return {da, db, dy};  // that of c is that of y
}

// Rows of a table: the index has no gradient.
void gather(const float* table, const long* index, float* out, long rows, long n) {
  for (long i = 0; i < n; i++) for (long k = 0; k < rows; k++) out[i * rows + k] = table[index[i] * rows + k];
}
void gather_backward(const float* grad, const long* index, float* table_grad, long rows, long n, const float* table) {
  for (long i = 0; i < n; i++) for (long k = 0; k < rows; k++) table_grad[index[i] * rows + k] = 0;
  for (long i = 0; i < n; i++) for (long k = 0; k < rows; k++) table_grad[index[i] * rows + k] += grad[i * rows + k];
}

// What cannot be paired.
void no_gradient_backward(const float* x, float* dx) {}
void strange_backward(const float* dy, const float* x, float* dx, int what) {}
float number(const float* x) { return 0; }
tarsia::Tensor writes_and_returns(float* x) { return {}; }
int over(int a) { return a; }
int over(float a) { return 0; }
"""


@pytest.fixture(scope="module")
def lib():
    return tarsia.load_inline(SOURCE)


def relu(lib, name):
    return tarsia.torch.function(lib.relu, lib.relu_backward, name, outputs=lambda x, n: torch.empty_like(x))


def scaled_exp(lib, name):
    return tarsia.torch.function(lib.scaled_exp, lib.scaled_exp_backward, name, outputs=lambda x, scale=None: torch.empty_like(x))


def fused(lib, name):
    return tarsia.torch.function(lib.fused, lib.fused_backward, name, mutates=(),
                                 outputs=lambda a, b, c: (torch.empty_like(a), torch.empty_like(a)))


@pytest.fixture(params=[None, "paired"], ids=["plain", "registered"])
def name(request):
    yield request.param
    if request.param in [one.split("::")[1] for one in tarsia.torch.registered()]:
        tarsia.torch.unregister(request.param)
    torch._dynamo.reset()


def test_outputs_that_are_written(lib, name):
    f = relu(lib, name)
    x = torch.tensor([[-1.0, 2, 3], [4, -5, 6]], requires_grad=True)
    y = f(x, 6)
    assert torch.equal(y, x.relu())
    y.t().sum().backward()  # an expanded gradient
    assert torch.equal(x.grad, (x > 0).float())
    x.grad = None
    (f(x, 6) * f(x.t(), n=6).t()).sum().backward()
    assert torch.equal(x.grad, 2 * x.detach().relu())
    with torch.no_grad():
        assert not f(x, 6).requires_grad
    assert f(torch.ones(2), 2).grad_fn is None


def test_outputs_that_are_returned(lib, name):
    f = scaled_exp(lib, name)
    x = torch.randn(3, dtype=torch.float64, requires_grad=True)
    assert torch.allclose(f(x), x.exp()) and torch.allclose(f(x, scale=2.0), 2 * x.exp())
    assert torch.autograd.gradcheck(lambda x: f(x, 3.0), [x])
    assert torch.autograd.gradcheck(f, [x])


def test_several_outputs_and_what_is_missing(lib, name):
    f = fused(lib, name)
    a, b, c = (torch.randn(4, dtype=torch.float64, requires_grad=True) for _ in range(3))
    assert torch.autograd.gradcheck(f, [a, b, c])
    assert torch.autograd.gradcheck(lambda a, b: f(a, b, None), [a, b])
    y, z = f(a, a, None)
    z.sum().backward()  # nothing flows to y
    assert a.grad.tolist() == [2] * 4
    y, z = f(a.detach(), b, c)
    y.sum().backward()
    assert torch.equal(b.grad, a) and c.grad.tolist() == [1] * 4


def test_gradients_of_some(lib, name):
    f = tarsia.torch.function(lib.gather, lib.gather_backward, name, gradients="table",
                              outputs=lambda table, index, rows, n: table.new_empty(len(index), table.shape[1]))
    table = torch.arange(6.0).reshape(2, 3).requires_grad_()
    index = torch.tensor([1, 0, 1])
    rows = f(table, index, 3, 3)
    assert torch.equal(rows, table[index])
    rows.sum().backward()
    assert table.grad.tolist() == [[1] * 3, [2] * 3]


def test_twice_is_an_error(lib, name):
    f = scaled_exp(lib, name)
    x = torch.randn(3, dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(f(x).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="scaled_exp cannot be differentiated twice"):
        gradient.sum().backward()


def test_registered_pairs_are_operators(lib):
    f = relu(lib, "paired")
    assert f is torch.ops.tarsia.paired
    assert re_version(f.default._schema) == "tarsia::paired(Tensor x, SymInt n) -> Tensor"
    x = torch.randn(6, requires_grad=True)
    results = torch.library.opcheck(f.default, (x, 6))
    assert set(results.values()) == {"SUCCESS"}, results
    train = torch.compile(lambda x: (f(x, x.numel()) * x).sum(), fullgraph=True, backend="aot_eager", dynamic=True)
    for n in (4, 7):
        x = torch.randn(n, requires_grad=True)
        train(x).backward()
        assert torch.allclose(x.grad, 2 * x.detach().relu())
    g = fused(lib, "paired")
    arguments = [torch.randn(3, dtype=torch.float64, requires_grad=True) for _ in range(2)]
    results = torch.library.opcheck(g.default, (*arguments, None))
    assert set(results.values()) == {"SUCCESS"}, results
    tarsia.torch.unregister("paired")
    with pytest.raises(tarsia.NotFound, match="was taken out"):
        g(*arguments, None)


def re_version(schema):
    import re

    return re.sub(r"[.]version\d+", "", str(schema))


def test_plain_functions_tell_of_themselves(lib):
    f = scaled_exp(lib, None)
    assert f.__name__ == "scaled_exp" and str(inspect.signature(f)) == "(x, scale=None)"
    assert "Differentiable, by tarsia::Tensor scaled_exp_backward" in f.__doc__
    with pytest.raises(TypeError, match="missing a required argument: 'x'"):
        f()
    alive = weakref.ref(lib.scaled_exp)
    assert alive() is not None
    del f
    gc.collect()


def test_only_what_backward_reads_is_kept(lib):
    f = relu(lib, None)
    x = torch.randn(6, requires_grad=True)
    saved = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: saved.append(t) or t, lambda t: t):
        y = f(x, 6)
    assert len(saved) == 1 and saved[0].data_ptr() == y.data_ptr()


def test_what_does_not_fit_is_told(lib):
    pair, empty = tarsia.torch.function, lambda x, n: torch.empty_like(x)
    for arguments, options, message in [
        ((lib.relu, lib.relu_backward), {}, "relu writes its outputs 'y': outputs= has to make them"),
        ((lib.relu, lib.no_gradient_backward), {"outputs": empty}, "takes no gradient of an output"),
        ((lib.relu, lib.strange_backward), {"outputs": empty}, "nothing is known of its parameter 'what'. relu has x, n, y"),
        ((lib.number, lib.relu_backward), {}, "number has to give tensors"),
        ((lib.writes_and_returns, lib.relu_backward), {}, "writes to 'x' and returns something"),
        ((lib.over, lib.relu_backward), {}, "forward has overloads: over has to be one function"),
        ((lib.relu, print), {}, "backward is a tarsia.Function, such as lib.f, not builtin"),
        ((lib.gather, lib.gather_backward), {"outputs": empty}, "gives 1 gradients, for 2 tensors .table, index.: name those"),
        ((lib.relu, lib.relu_backward), {"outputs": empty, "vmap": True}, "give it a name"),
    ]:
        with pytest.raises(TypeError, match=message):
            pair(*arguments, **options)
    with pytest.raises(ValueError, match="gradients names 'w'; the tensors that relu reads are x"):
        pair(lib.relu, lib.relu_backward, outputs=empty, gradients="w")
    with pytest.raises(TypeError, match="outputs= gives 1 empty tensors"):
        pair(lib.relu, lib.relu_backward, outputs=lambda x, n: None)(torch.ones(2), 2)
