"""Operators of PyTorch in compiled graphs, exported programs, vmap, autocast, on meta tensors and in threads."""

import os
import subprocess
import sys

import pytest
from threads import at_once
from torch_support import functions_library, nothing_stays, ops_library  # noqa: F401

import tarsia

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script_method")

ops = torch.ops.tarsia


def model(x, leaky, axpy):
    y = torch.zeros_like(x)
    axpy(2.0, leaky(x, slope=0.1), y, x.numel())
    return (y * leaky(x)).sum()


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled_graphs(lib, backend):
    if backend == "inductor":
        needs_a_compiler()
    leaky, axpy = tarsia.torch.register(tarsia.op("t_leaky")), tarsia.torch.register(lib.axpy)
    compiled = torch.compile(model, fullgraph=True, backend=backend, dynamic=True)
    for n in (5, 6, 9):
        x = torch.randn(n)
        assert torch.allclose(compiled(x, leaky, axpy), model(x, leaky, axpy))
    product = tarsia.torch.register(tarsia.op("t_product"))
    train = torch.compile(lambda x: (product(leaky(x), x) * 3).sum(), fullgraph=True, backend=backend)
    x = torch.randn(5, requires_grad=True)
    train(x).backward()
    expected = torch.where(x > 0, 6 * x, 1.5 * x)
    assert torch.allclose(x.grad, expected)


def needs_a_compiler():
    try:
        subprocess.run(["g++", "--version"], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("inductor needs g++")


KEPT_BY_PYTORCH = """
import sys
import torch
import tarsia

SOURCES = {
    "reads": "void put(const float* x, float* y, int n) { for (int i = 0; i < n; ++i) y[i] = x[i]; }",
    "writes": "void put(float* x, float* y, int n) { for (int i = 0; i < n; ++i) { y[i] = x[i]; x[i] = 5; } }",
}
for name in sys.argv[1:]:
    tarsia.torch.register(tarsia.load_inline(SOURCES[name]).put)

def model(x):
    x, y = x + 1, torch.zeros_like(x)
    torch.ops.tarsia.put(x, y, x.numel())
    return x + y

print(torch.compile(model, fullgraph=True)(torch.ones(3)).tolist(), torch.compiler.config.cache_key_tag)
"""


def test_graphs_that_other_processes_compiled(tmp_path):
    needs_a_compiler()
    environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(tmp_path), "TORCH_COMPILE_CACHE_KEY_TAG": "mine"}

    def run(*names):
        done = subprocess.run([sys.executable, "-c", KEPT_BY_PYTORCH, *names], capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stderr
        result, _, tag = done.stdout.rpartition(" mine tarsia:")
        assert len(tag.strip()) == 16
        return result

    assert run("reads", "writes") == "[7.0, 7.0, 7.0]"  # of put.version2, which the processes below lack
    assert run("reads") == "[4.0, 4.0, 4.0]"
    assert run("writes") == "[7.0, 7.0, 7.0]"


def test_exported_programs():
    leaky = tarsia.torch.register(tarsia.op("t_leaky"))

    class Module(torch.nn.Module):
        def forward(self, x):
            return leaky(x, slope=0.5) + 1

    x = torch.randn(2, 3)
    program = torch.export.export(Module(), (x,), dynamic_shapes={"x": {0: torch.export.Dim("n", min=1, max=64)}})
    assert leaky.default in [node.target for node in program.graph.nodes]
    for n in (2, 5):
        x = torch.randn(n, 3)
        assert torch.allclose(program.module()(x), Module()(x))


def test_inferred_shapes_in_graphs():
    take = tarsia.torch.register(tarsia.op("t_take"))
    compiled = torch.compile(lambda t, i: take(t, i).sum(1), fullgraph=True, backend="aot_eager")
    table = torch.randn(4, 3)
    for index in (torch.tensor([1, 2]), torch.tensor([0, 1, 2, 3, 3])):
        assert torch.allclose(compiled(table, index), table[index].sum(1))


def test_vmap_where_it_is_declared():
    x = torch.randn(4, 3)
    leaky = tarsia.torch.register(tarsia.op("t_leaky"), vmap=lambda info, dims, x, **k: (ops.t_leaky(x, **k), dims[0]))
    assert torch.equal(torch.vmap(leaky)(x), leaky(x))
    assert torch.equal(torch.vmap(leaky, in_dims=1, out_dims=1)(x), leaky(x))
    take = tarsia.torch.register(tarsia.op("t_take"), vmap=True)
    table, index = torch.randn(2, 4, 3), torch.tensor([[1, 0], [3, 3]])
    assert torch.equal(torch.vmap(take)(table, index), torch.stack([table[k][index[k]] for k in range(2)]))
    assert torch.equal(torch.vmap(take, (None, 0))(table[0], index), torch.stack([table[0][i] for i in index]))
    split = tarsia.torch.register(tarsia.op("t_split"), vmap=True)
    assert all(torch.equal(a, b) for a, b in zip(torch.vmap(split)(x), split(x)))
    product = tarsia.torch.register(tarsia.op("t_product"), vmap=True)
    x.requires_grad_()
    torch.vmap(product)(x, x).sum().backward()
    assert torch.allclose(x.grad, 2 * x)


def test_autocast_on_request():
    product = tarsia.torch.register(tarsia.op("t_product"), autocast=torch.float32)
    a, b = torch.randn(3), torch.randn(3)
    with torch.autocast("cpu", torch.bfloat16):
        assert product(a.bfloat16(), b.bfloat16()).dtype == torch.float32
    assert product(a.bfloat16(), b.bfloat16()).dtype == torch.bfloat16
    leaky = tarsia.torch.register(tarsia.op("t_leaky"), autocast={"cpu": torch.bfloat16})
    with torch.autocast("cpu", torch.bfloat16):
        assert leaky(a).dtype == torch.bfloat16


def test_meta_tensors():
    take = tarsia.torch.register(tarsia.op("t_take"))
    rows = take(torch.empty(4, 3, device="meta"), torch.empty(2, device="meta", dtype=torch.int64))
    assert rows.device.type == "meta" and rows.shape == (2, 3)
    with pytest.raises(ValueError, match="input 'a' and input 'b' have to be of one shape and dtype"):
        tarsia.torch.register(tarsia.op("t_product"))(torch.empty(2, device="meta"), torch.empty(3, device="meta"))


def test_threads(lib):
    axpy, leaky = tarsia.torch.register(lib.axpy), tarsia.torch.register(tarsia.op("t_leaky"))

    def work(seed):
        x = torch.full((100,), float(seed), requires_grad=True)
        for _ in range(50):
            y = torch.zeros(100)
            axpy(2.0, x.detach(), y, 100)
            x.grad = None
            leaky(x).sum().backward()
            assert y[99] == 2 * seed and x.grad[0] == 1
        for _ in range(10):
            tarsia.torch.register(lib.axpy)

    at_once(work, range(1, 9))
