"""Sparse tensors in ops for MXNet's extension API: CSR of SciPy and PyTorch, row-sparse."""

import gc
import pathlib
import sys

import numpy as np
import pytest

import tarsia

DENSE = np.array([[0, 1, 0, 0], [2, 0, 3, 0], [0, 0, 0, 0]], np.float32)
OPS = ("mx_transpose_v", "mx_transpose_p")


@pytest.fixture(scope="module", params=["inline", "built"], autouse=True)
def library(request, build_library):
    text = (pathlib.Path(__file__).parent / "sparse.cc").read_text()
    lib = tarsia.load_inline(text) if request.param == "inline" else tarsia.load(build_library(text))
    yield lib
    lib.unload()


@pytest.mark.parametrize("name", OPS)
def test_csr_of_scipy(name):
    sparse = pytest.importorskip("scipy.sparse")
    x = sparse.csr_matrix(DENSE)
    bound = tarsia.op(name).bind(x)
    for _ in range(2):
        y = bound(x)
        assert isinstance(y, sparse.csr_matrix) and y.has_sorted_indices and np.array_equal(y.toarray(), DENSE.T)
    empty = sparse.csr_matrix((3, 4), dtype=np.float32)
    assert bound(empty).nnz == 0 and bound(empty).shape == (4, 3)
    with pytest.raises(TypeError, match="as CSR, not COO: call tocsr"):
        bound(x.tocoo())


@pytest.mark.parametrize("name", OPS)
def test_csr_of_torch(name):
    torch = pytest.importorskip("torch")
    x = torch.from_numpy(DENSE).to_sparse_csr()
    y = tarsia.op(name).bind(x)(x)
    assert y.layout is torch.sparse_csr and torch.equal(y.to_dense(), torch.from_numpy(DENSE).T)


@pytest.mark.parametrize("name", OPS)
def test_row_sparse(name):
    x = tarsia.RowSparse(DENSE[:2], np.array([0, 1]), DENSE.shape)
    y = getattr(tarsia.ops, name)(x)
    assert isinstance(y, tarsia.RowSparse) and y.shape == (4, 3)
    assert y.indices.tolist() == [0, 1, 2] and np.array_equal(y.todense(), DENSE.T)
    assert repr(y) == "tarsia.RowSparse(3 rows of (4, 3), float32)"
    none = tarsia.RowSparse(np.zeros((0, 4), np.float32), np.zeros(0, np.int64), (3, 4))
    assert len(getattr(tarsia.ops, name)(none).indices) == 0
    with pytest.raises(ValueError, match="has to have the shape"):
        tarsia.RowSparse(DENSE, np.array([0, 1]), DENSE.shape)


def test_row_sparse_of_torch():
    torch = pytest.importorskip("torch")
    x = tarsia.RowSparse(torch.from_numpy(DENSE[:2]), torch.tensor([0, 1]), DENSE.shape)
    y = tarsia.ops.mx_transpose_p(x)
    assert isinstance(y.data, torch.Tensor) and torch.equal(y.todense(), torch.from_numpy(DENSE).T)


@pytest.mark.parametrize("name", OPS)
def test_dense_inputs_that_the_op_refuses_are_an_error_of_the_op(name):
    with pytest.raises(tarsia.OpError, match=f"op '{name}', inference: inferSType failed"):
        getattr(tarsia.ops, name)(DENSE)


def test_requests_and_gradients():
    x = tarsia.RowSparse(DENSE[:2], np.array([0, 1]), DENSE.shape)
    bound = tarsia.op("mx_transpose_p").bind(x)
    assert bound(x, req="null") is None
    y = bound(x)
    with pytest.raises(ValueError, match="req='add' needs the tensor to write to"):
        bound(x, req="add")
    with pytest.raises(TypeError, match="out has to be a row-sparse tensor, as the op makes them"):
        bound(x, out=DENSE)
    total = tarsia.RowSparse(y.data.copy(), y.indices.copy(), y.shape)
    assert bound(x, out=total, req="add") is total and np.array_equal(total.todense(), 2 * y.todense())
    (dx,) = bound.backward([y], [x], [y])
    assert np.array_equal(dx.todense(), DENSE)


def test_nothing_is_left_behind():
    x = tarsia.RowSparse(DENSE[:2], np.array([0, 1]), DENSE.shape)
    bound = tarsia.op("mx_transpose_p").bind(x)
    bound(x)
    before = [sys.getrefcount(x.data), sys.getrefcount(x.indices)]
    for _ in range(50):
        bound(x)
        bound(x, req="null")
    gc.collect()
    assert [sys.getrefcount(x.data), sys.getrefcount(x.indices)] == before
