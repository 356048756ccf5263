"""Class operators of MXNet on a GPU: what they compute on the CPU, they compute there; an expression is one kernel."""

import pathlib
import sys

import pytest
from gpu_support import inline

import tarsia

torch = pytest.importorskip("torch")

CLASS_OP = pathlib.Path(__file__).parents[2] / "python/class_op"
SRC = CLASS_OP / "src"


def texts(*names):
    return {name: (SRC / name).read_text() for name in names}


@pytest.fixture(scope="module")
def shrink():
    lib = inline(texts("shrink.cc", "shrink.cu"), headers=texts("shrink-inl.h"))
    assert lib.device_compilers["shrink.cu"] == "nvrtc"
    return lib


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-6), ("float64", 1e-12), ("float16", 4e-3)])
@pytest.mark.parametrize("kind", ["soft", "hard"])
def test_shrink_is_what_it_is_on_the_cpu(shrink, dtype, tolerance, kind):
    x = torch.randn(33, 7, 5, dtype=torch.float64).to(getattr(torch, dtype))
    dy = torch.randn_like(x)
    results = []
    for device in ("cpu", "cuda"):
        there, gradient = x.to(device), dy.to(device)
        bound = tarsia.op("Shrink").bind(there, kind=kind, bound=0.5, scale=1.5)
        y = bound(there)
        added = torch.ones_like(there)
        bound(there, out=added, req="add")
        dx = torch.ones_like(there)
        bound.backward(gradient, there, y, out=dx, req="add")
        results.append([one.cpu() for one in (y, added, dx)])
    for on_cpu, on_gpu in zip(*results):
        torch.testing.assert_close(on_gpu, on_cpu, rtol=tolerance, atol=tolerance)


def test_gradients_by_autograd(shrink):
    import tarsia.torch

    x = torch.randn(64, 32, device="cuda", requires_grad=True)
    operator = tarsia.torch.register(tarsia.op("Shrink"))
    operator(x, bound=0.5).sum().backward()
    torch.testing.assert_close(x.grad, (x.abs() > 0.5).float())
    tarsia.torch.unregister("Shrink")


@pytest.fixture(scope="module")
def expressions():
    return inline(texts("expressions.cu"), headers=texts("expressions.h"))


def test_expressions_are_what_numpy_gives(expressions):
    import numpy as np

    sys.path.insert(0, str(CLASS_OP))
    from test_class_op_expressions import EXPRESSIONS

    for which, expected in enumerate(EXPRESSIONS):
        random = np.random.default_rng(which)
        a, v, m = (random.standard_normal(shape).astype(np.float32) for shape in ((2, 3, 4), 3, (12, 5)))
        out = torch.full((100,), float("nan"), device="cuda")
        n = expressions.compute_float(which, *(torch.tensor(one, device="cuda") for one in (a, v, m)), out)
        wanted = expected(a, v, m)
        assert n == wanted.size and out[n:].isnan().all(), which
        np.testing.assert_allclose(out[:n].cpu().numpy(), wanted.ravel(), rtol=1e-4, atol=1e-4, err_msg=str(which))
