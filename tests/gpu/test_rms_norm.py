"""The fused op of examples/rms_norm.cu: on a GPU it gives what PyTorch's own functions give, gradients included."""

import pathlib

import pytest
from gpu_support import require_gpus

torch = pytest.importorskip("torch")

SOURCE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "rms_norm.cu"
TOLERANCE = {torch.float32: 2e-5, torch.float16: 6e-3, torch.bfloat16: 5e-2}


@pytest.fixture(scope="module")
def fused():
    import tarsia.torch

    require_gpus()
    tarsia.load_inline({SOURCE.name: SOURCE.read_text()})
    return tarsia.torch.register(tarsia.op("rms_norm_residual"))


def reference(x, residual, weight):
    total = x + residual
    wide = total.double()
    return wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6) * weight.double(), total


SHAPES = [(1, 1), (3, 7), (5, 64), (300, 1000), (2, 3, 4096), (1000, 8192), (4, 40000), (3, 33000), (0, 8)]


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_values_and_gradients(fused, dtype):
    for shape in SHAPES:
        compare(fused, dtype, shape)


def compare(fused, dtype, shape):
    torch.manual_seed(0)
    x, residual = (torch.randn(shape, device="cuda", dtype=dtype, requires_grad=True) for _ in range(2))
    weight = torch.randn(shape[-1], device="cuda", dtype=dtype, requires_grad=True)
    y, total = fused(x, residual, weight)
    wanted, wanted_total = reference(x, residual, weight)
    torch.testing.assert_close(total, wanted_total)
    torch.testing.assert_close(y.double(), wanted, atol=TOLERANCE[dtype], rtol=TOLERANCE[dtype])
    dy, dsum = torch.randn_like(y), torch.randn_like(y)
    found = torch.autograd.grad([y, total], [x, residual, weight], [dy, dsum])
    wanted = torch.autograd.grad([wanted, wanted_total], [x, residual, weight], [dy.double(), dsum])
    rows = max(1, x.numel() // shape[-1])
    for a, b, scale in zip(found, wanted, (1, 1, rows ** 0.5)):
        assert torch.isfinite(a).all()
        torch.testing.assert_close(a.double(), b.double(), atol=4 * scale * TOLERANCE[dtype], rtol=2 * TOLERANCE[dtype])


def test_rows_that_are_not_aligned(fused):
    buffer = torch.randn(8 * 64 + 1, device="cuda", dtype=torch.float16)
    x = buffer[1:].view(8, 64)
    y, total = fused(x, x, torch.ones(64, device="cuda", dtype=torch.float16))
    torch.testing.assert_close(y.double(), reference(x, x, torch.ones(64, device="cuda"))[0], atol=6e-3, rtol=6e-3)


def test_gradients_are_the_same_each_time(fused):
    torch.manual_seed(1)
    leaves = [torch.randn(4000, 2048, device="cuda", dtype=torch.bfloat16, requires_grad=True) for _ in range(2)]
    leaves.append(torch.randn(2048, device="cuda", dtype=torch.bfloat16, requires_grad=True))

    def gradients():
        y, total = fused(*leaves)
        return torch.autograd.grad((y * y).sum() + total.sum(), leaves)

    for a, b in zip(gradients(), gradients()):
        assert torch.equal(a, b)


def test_in_a_compiled_graph(fused):
    model = torch.compile(lambda x, r, w: fused(x, r, w)[0].sum(), fullgraph=True, backend="aot_eager")
    leaves = [torch.randn(16, 256, device="cuda", requires_grad=True) for _ in range(2)]
    leaves.append(torch.ones(256, device="cuda", requires_grad=True))
    model(*leaves).backward()
    wanted = torch.autograd.grad(reference(*leaves)[0].sum(), leaves)
    for leaf, gradient in zip(leaves, wanted):
        torch.testing.assert_close(leaf.grad, gradient.float(), atol=1e-4, rtol=1e-4)
