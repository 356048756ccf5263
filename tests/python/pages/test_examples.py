"""The seed examples: each does what its first lines say, by both doors, and passes its own tests."""

import os
import re
import shlex
import subprocess
import sys

import numpy as np
import places
import pytest

import tarsia
from tarsia.testing import assert_op

EXAMPLES = places.REPO / "examples"
CHECKED = sorted(path for path in [*EXAMPLES.glob("*.c*")] if "tarsia check" in path.read_text())


def compiles(name):
    if name.endswith(".cu") and not tarsia.doctor()["works"]["cuda"]:
        pytest.skip("CUDA code does not compile on this machine: see `tarsia doctor`")


def printed_by(name, **environment):
    """What an example prints, run as a program of its own; and what it says on standard error."""
    path = os.pathsep.join([str(places.PACKAGE.parent), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run([sys.executable, EXAMPLES / name], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": path, **environment})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, done.stderr


@pytest.fixture(params=["inline", "prebuilt"])
def load(request, build_library):
    loaded = []

    def load(name):
        text = (EXAMPLES / name).read_text()
        if request.param == "inline":
            compiles(name)
            loaded.append(tarsia.load_inline({name: text}))
        elif name.endswith(".cu"):
            pytest.skip("g++ takes no kernels")
        else:
            loaded.append(tarsia.load(build_library(text)))

    yield load
    for lib in loaded:
        lib.unload()


@pytest.mark.parametrize("path", CHECKED, ids=[path.name for path in CHECKED])
def test_the_command_in_its_first_lines_passes(path, tmp_path):
    compiles(path.name)
    command = re.search(r"^// Test (?:it|them): +(.*)$", path.read_text(), re.MULTILINE).group(1)
    program = places.command()
    done = subprocess.run([program, *shlex.split(command)[1:]], capture_output=True, text=True, cwd=EXAMPLES.parent)
    assert done.returncode == 0, done.stdout + done.stderr


def test_there_are_all():
    assert {path.name for path in CHECKED} >= {"gemm.cc", "relu_variants.cu", "transpose.cc", "round.cu", "quantise.cu"}


def test_gemm(load):
    load("gemm.cc")
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((3, 4), np.float32), rng.standard_normal((4, 5), np.float32)
    bound = tarsia.op("gemm").bind(a, b)
    c, g = bound(a, b), rng.standard_normal((3, 5), np.float32)
    da, db = bound.backward(g, [a, b], c)
    assert np.allclose(c, a @ b, atol=1e-5) and np.allclose(da, g @ b.T, atol=1e-5) and np.allclose(db, a.T @ g, atol=1e-5)
    shapes, dtypes = tarsia.op("gemm").infer([(3, 4), (None, 5)], [None, None])
    assert shapes == [(3, 4), (4, 5), (3, 5)] and dtypes == ["float32"] * 3
    with pytest.raises(ValueError, match=r"op 'gemm', inference: the inner extents differ: \(3, 4\) and \(3, 4\)"):
        tarsia.ops.gemm(a, a)
    stateful = tarsia.op("state_gemm").bind(a, b, start=10)
    assert [round(float(stateful(a, b)[0, 0] - c[0, 0])) for _ in range(3)] == [10, 11, 12]


def test_relus(load):
    load("relu_variants.cu")
    x = np.array([-1, 0, 2, -3], np.float32)
    for name in ("plain_relu", "state_relu"):
        bound = tarsia.op(name).bind(x)
        y = bound(x)
        assert y.tolist() == [0, 0, 2, 0] and bound.backward(np.ones(4, np.float32), x, y)[0].tolist() == [0, 0, 1, 0]
    x = np.full(20000, 1, np.float32)
    tarsia.seed(1)
    y = tarsia.ops.noisy_relu(x, sigma=0.5)
    assert 0.98 < y.mean() < 1.03 and 0.45 < y.std() < 0.52 and y.min() == 0
    tarsia.seed(1)
    assert np.array_equal(tarsia.ops.noisy_relu(x, sigma=0.5), y)
    assert np.array_equal(tarsia.ops.noisy_relu(x, sigma=0), x)
    with pytest.raises(ValueError, match="attribute 'sigma' has to be at least 0, not -1"):
        tarsia.ops.noisy_relu(x, sigma=-1)


def test_transposes(load):
    sparse = pytest.importorskip("scipy.sparse")
    load("transpose.cc")
    dense = np.array([[0, 1, 0, 2], [0, 0, 0, 3], [4, 0, 0, 0]], np.float32)
    x = sparse.csr_matrix(dense)
    y = tarsia.ops.sparse_transpose(x)
    assert np.array_equal(y.toarray(), dense.T) and y.nnz == 4
    bound = tarsia.op("sparse_transpose").bind(x)
    assert np.array_equal(bound.backward(y, x, y)[0].toarray(), dense)
    rows = tarsia.RowSparse(dense[[0, 2]], np.array([0, 2]), dense.shape)
    y = tarsia.ops.sparse_transpose(rows)
    assert y.indices.tolist() == [0, 1, 3] and np.array_equal(y.todense()[:, [0, 2]], dense[[0, 2]].T)
    with pytest.raises(TypeError, match="takes CSR and row-sparse matrices"):
        tarsia.ops.sparse_transpose(dense)
    for storage in ("csr", "row_sparse"):
        assert_op("sparse_transpose", shapes=[(3, 4)], storages=[storage])


def test_round(load):
    load("round.cu")
    x = np.array([0.5, 1.5, -0.4], np.float32)
    bound = tarsia.op("differentiable_round").bind(x)
    assert bound(x).tolist() == [0, 2, 0]
    assert bound.backward(np.array([1, 2, 3], np.float32), x, x)[0].tolist() == [1, 2, 3]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_quantisation(load, dtype):
    load("quantise.cu")
    x = np.array([0.25, 0.75, -1, 200, -200, 12.6], dtype)
    bound = tarsia.op("quantise").bind(x, scale=2)
    expected = np.clip(np.rint(2 * x), -127, 127)
    y = bound(x)
    assert y.dtype == x.dtype and np.array_equal(y, expected)
    g = np.arange(1, 7).astype(dtype)
    assert bound.backward(g, x, y)[0].tolist() == [2, 4, 6, 0, 0, 12]
    out = np.full(6, 10, dtype)
    assert np.array_equal(bound(x, out=out, req="null"), np.full(6, 10))
    assert np.array_equal(bound(x, out=out, req="add"), 10 + expected)
    assert np.array_equal(bound(x, out=out, req="write"), expected)
    assert np.array_equal(bound(out, out=out, req="inplace"), np.clip(2 * expected, -127, 127))
    gradient = np.ones(6, dtype)
    bound.backward(g, x, y, out=gradient, req="add")
    assert gradient.tolist() == [3, 5, 7, 1, 1, 13]
    assert tarsia.ops.quantise(x, scale="1").tolist() == np.clip(np.rint(x), -127, 127).tolist()
    with pytest.raises(ValueError, match="attribute 'scale' has to be from 1e-06 to 1e[+]?06, not 0"):
        tarsia.ops.quantise(x, scale=0)


def test_kernels():
    compiles("kernels.cu")
    out, _ = printed_by("kernels.py")
    assert "void blur<float, 256>(const float *x, float *y, int n) KernelAttributes(registers=" in out
    if "ok" not in out:
        pytest.skip("the example launches nothing: " + out.splitlines()[-1])
    assert "kernel row_sums<float>: argument 'x' (1 of 3) must be a float32 tensor" in out


def test_rms_norm():
    pytest.importorskip("torch")
    compiles("rms_norm.cu")
    out, _ = printed_by("rms_norm.py")
    assert "tarsia::rms_norm_residual(Tensor x, Tensor residual, Tensor weight, *, float eps=" in out
    assert out.endswith("ok\n")


@pytest.mark.parametrize("framework, shown", [("torch", "tarsia::swish(Tensor x, *, float beta=1.) -> Tensor"),
                                              ("jax", "[0.5 0.5 0.5] [1. 1. 1.]")])
def test_ops_of_a_framework(framework, shown):
    pytest.importorskip(framework)
    out, _ = printed_by(f"{framework}_ops.py")
    assert shown in out and out.endswith("ok\n")


def test_elementwise():
    out, error = printed_by("elementwise.py")
    assert not error
    assert "[ 8. 11. 14. 17.]" in out and "(array([ 2, -1]), array([0.5 , 0.75]))" in out


def test_python_op():
    out, error = printed_by("python_op.py", TARSIA_LEAK_WARNINGS="1")
    assert not error  # nothing leaks
    assert "(6, 2)" in out and "[6. 8.]" in out
    assert "tarsia.RowSparse(1 rows of (2, 2), float32) [0]" in out and out.endswith("ok\n")
