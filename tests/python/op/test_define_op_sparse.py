"""Sparse tensors and inference of storage in ops written in Python: as ops of C++ have them."""

import gc
import sys
import weakref

import numpy as np
import pytest
from arrays import row_sparse
import torch

import tarsia
from tarsia.testing import assert_op

sparse = pytest.importorskip("scipy.sparse")

lib = tarsia.load_inline("""
#include <cstdint>
void doubled(const float* x, float* y, long n) { for (long i = 0; i < n; ++i) y[i] = 2 * x[i]; }
void copied(const int64_t* x, int64_t* y, long n) { for (long i = 0; i < n; ++i) y[i] = x[i]; }
""")


@tarsia.define_op
class pys_double:
    """Doubles a tensor of any storage; of sparse ones the kernel fills what is allocated."""

    sparse = True

    def infer_storage(self, x):
        return x

    def forward(self, x, y):
        self.double(x, y)

    def backward(self, dy, x, y, dx):
        self.double(dy, dx)

    def double(self, x, y):
        if isinstance(y, tarsia.SparseOutput):
            values, indices, indptr = tarsia.sparse_parts(x)
            made = y.allocate(len(indices))
            lib.doubled(values, made[0], int(np.prod(values.shape)))
            lib.copied(indices, made[1], len(indices))
            assert (indptr is None) == (made[2] is None) == (y.storage == "row_sparse")
            if indptr is not None:
                lib.copied(indptr, made[2], len(indptr))
        else:
            y[...] = 2 * x


@tarsia.define_op(sparse=True, infer_storage=lambda x: x, backward=lambda dy, x, y, dx: dx.__setitem__(..., 3 * dy))
def pys_triple(x, y):
    """The same in one line: y[...] = takes a matrix of the framework."""
    y[...] = tarsia.RowSparse(3 * x.data, x.indices, x.shape) if isinstance(x, tarsia.RowSparse) else 3 * x


def csr(dense, dtype=np.float32):
    return sparse.csr_matrix(np.asarray(dense, dtype))


DENSE = [[0, 1, 0], [0, 0, 0], [2, 0, 3]]


@pytest.mark.parametrize(("op", "factor"), [(pys_double, 2), (pys_triple, 3)])
def test_sparse_tensors_go_in_and_out(op, factor):
    x = csr(DENSE)
    bound = op.bind(x)
    y = bound(x)
    assert isinstance(y, sparse.csr_matrix) and y.nnz == 3 and y.dtype == np.float32
    assert np.array_equal(y.toarray(), factor * x.toarray())
    (dx,) = bound.backward(y, x, y)
    assert isinstance(dx, sparse.csr_matrix) and np.array_equal(dx.toarray(), factor * y.toarray())
    r = row_sparse({1: (1, 2), 4: (3, 4)})
    made = op(r)
    assert isinstance(made, tarsia.RowSparse) and np.array_equal(made.todense(), factor * r.todense())
    assert op(np.ones(2, np.float32)).tolist() == [factor] * 2
    assert op(csr(np.zeros((2, 3)))).nnz == 0 and len(op(row_sparse({})).indices) == 0


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support")
def test_sparse_tensors_of_torch():
    dense = torch.tensor(DENSE, dtype=torch.float32)
    for op, factor in ((pys_double, 2), (pys_triple, 3)):
        x = dense.to_sparse_csr()
        y = op(x)
        assert y.layout is torch.sparse_csr and torch.equal(y.to_dense(), factor * dense)
        (dx,) = op.bind(x).backward(y, x, y)
        assert dx.layout is torch.sparse_csr and torch.equal(dx.to_dense(), factor**2 * dense)
        r = tarsia.RowSparse(torch.ones(1, 2), torch.tensor([3]), (5, 2))
        made = op(r)
        assert isinstance(made.data, torch.Tensor) and torch.equal(made.todense(), factor * r.todense())
        out = torch.tensor([[3.0, 0, 0], [0, 0, 0], [0, 0, 1]]).to_sparse_csr()
        before = out.to_dense()
        assert op.bind(x)(x, out=out, req="add") is out and torch.equal(out.to_dense(), before + factor * dense)


def test_the_function_gets_the_callers_own_objects():
    seen = []

    @tarsia.define_op(sparse=True, infer_shape=lambda x, w: (x[0], w[1]))
    def pys_matmul(x, w, y):
        seen.append(x)
        y[...] = x @ w

    x, w = csr(DENSE), np.arange(6, dtype=np.float32).reshape(3, 2)
    y = pys_matmul(x, w)
    assert isinstance(y, np.ndarray) and np.array_equal(y, x.toarray() @ w)
    assert seen[0] is x


def test_write_requests_of_sparse_outputs():
    x = csr(DENSE)
    bound, out = pys_double.bind(x), csr([[5, 5, 0], [0, 0, 0], [0, 0, -6]])
    before = out.toarray()
    assert bound(x, out=out, req="null") is out and np.array_equal(out.toarray(), before)
    assert bound(x, out=out, req="add") is out and np.array_equal(out.toarray(), before + 2 * x.toarray())
    for request in ("write", "inplace"):
        assert np.array_equal(bound(x, out=out, req=request).toarray(), 2 * x.toarray())
    gradient = csr([[1, 0, 0], [0, 0, 0], [0, 0, 1]])
    bound.backward(x, x, None, out=gradient, req="add")
    assert gradient.toarray().tolist() == [[1, 2, 0], [0, 0, 0], [4, 0, 7]]
    asked = []

    @tarsia.define_op(sparse=True, infer_storage=lambda x: x)
    def pys_asked(x, y, *, requests):
        asked.append((requests, y.current is None))
        y[...] = x + y.current if requests[0] == "add" else x

    bound, out = pys_asked.bind(x), csr(np.eye(3))
    bound(x, out=out, req="add")
    assert np.array_equal(out.toarray(), np.eye(3) + DENSE)
    bound(x, out=out)
    assert np.array_equal(out.toarray(), DENSE)
    assert asked == [(("add",), False), (("write",), True)]


def test_an_output_whose_size_is_not_told_has_no_elements_and_the_last_allocation_counts():
    @tarsia.define_op(sparse=True, infer_storage=lambda x: x)
    def pys_twice(x, y, *, times: int = 0):
        for k in range(times):
            values, indices, indptr = y.allocate(k + 1)
            values[:], indices[:], indptr[:] = k + 1, np.arange(k + 1), [0, *[k + 1] * (len(indptr) - 1)]

    x = csr(DENSE)
    assert pys_twice(x).nnz == 0
    assert pys_twice(x, times=2).toarray().tolist() == [[2, 2, 0], [0] * 3, [0] * 3]


def test_storage_of_outputs_may_differ():
    @tarsia.define_op(sparse=True, outputs=("left", "right"), infer_storage=lambda x: ["csr", "dense"], infer_shape=lambda x: [x, x[:1]])
    def pys_split(x, left, right):
        left[...] = sparse.csr_matrix(x)
        right[...] = (x != 0).sum(1)

    left, right = pys_split(np.array(DENSE, np.float32))
    assert left.nnz == 3 and left.toarray().tolist() == DENSE and right.tolist() == [1, 0, 2]


def test_inference_of_everything_in_both_directions():
    calls = []

    @tarsia.define_op
    class pys_infer:
        sparse = True

        def infer(self, a, b, c):
            calls.append((a.storage, b.storage, c.storage))
            for one, other in ((a, b), (b, a)):
                one.dtype = one.dtype or other.dtype
                one.storage = one.storage or other.storage
            if a.shape is not None and b.shape is None:
                b.shape = (a.shape[1], None)
            elif b.shape is not None and a.shape is None:
                a.shape = (None, b.shape[0])
            if a.shape is not None:
                c.shape = (a.shape[0], b.shape[1])
            c.dtype, c.storage = a.dtype, "csr" if a.storage == b.storage == "csr" else "dense"

        def forward(self, a, b, c):
            c[...] = a @ b

    op = tarsia.op("pys_infer")
    a, b = csr(DENSE), csr(np.ones((3, 2)))
    assert isinstance(op(a, b), sparse.csr_matrix) and np.array_equal(op(a, b).toarray(), a.toarray() @ b.toarray())
    assert isinstance(op(a, b.toarray()), np.ndarray)
    assert op.infer([(2, 3), None], ["float32", None]) == ([(2, 3), (3, None), (2, None)], ["float32"] * 3)
    assert op.infer([None, (3, 4)], None) == ([(None, 3), (3, 4), (None, 4)], [None] * 3)
    assert op.infer([(2, 3), (3, 4)], ["float32"] * 2, ["csr", None])[2] == ["csr", "csr", "csr"]
    assert calls[-1] == ("csr", None, None)
    assert op.infer([(2, 3), (3, 4)], ["float32"] * 2, [None, None])[2] == ["dense", "dense", "dense"]
    assert pys_double.infer([(2, 3)], ["float32"], ["row_sparse"]) == ([(2, 3)] * 2, ["float32"] * 2, ["row_sparse"] * 2)
    with pytest.raises(ValueError, match="infer got 1 shapes and 2 storages"):
        pys_double.infer([(2, 3)], ["float32"], ["csr", "csr"])
    with pytest.raises(ValueError, match="there is no storage 'coo'; there are 'dense', 'row_sparse', 'csr'"):
        pys_double.infer([(2, 3)], ["float32"], ["coo"])


def test_inference_of_what_is_known_otherwise_is_an_error():
    @tarsia.define_op(sparse=True)
    class pys_conflict:
        wrong: str = "storage"

        def infer(self, x, y):
            y.shape, y.dtype = x.shape, x.dtype
            setattr(x, self.wrong, {"storage": "row_sparse", "shape": (7, 7), "dtype": "int8"}[self.wrong])

        def forward(self, x, y):
            raise AssertionError("it was called")

    x = csr(DENSE)
    for wrong, message in (("storage", r"input 'x' is float32 \(3, 3\) csr, but the op infers float32 \(3, 3\) row-sparse"),
                           ("shape", r"input 'x' is float32 \(3, 3\) csr, but the op infers float32 \(7, 7\) csr"),
                           ("dtype", r"input 'x' is float32 \(3, 3\) csr, but the op infers int8 \(3, 3\) csr")):
        with pytest.raises(ValueError, match=f"op 'pys_conflict': {message}"):
            pys_conflict(x, wrong=wrong)


@pytest.mark.parametrize(("options", "error", "message"), [
    ({"infer_storage": lambda x: "coo"}, TypeError, "infer_storage: 'coo' is no storage: 'dense', 'row_sparse' or 'csr'"),
    ({"infer_storage": lambda x: ["csr", "csr"]}, TypeError, r"infer_storage gives one item for each of 1 outputs, not \['csr', 'csr'\]"),
    ({"infer": lambda x, y: setattr(y, "storage", 3)}, TypeError, "infer: 3 is no storage: 'dense', 'row_sparse' or 'csr'"),
    ({"infer": lambda x, y: setattr(y, "shape", "ab")}, TypeError, "infer: 'ab' is no shape: a tuple of ints"),
    ({"infer": lambda x, y: setattr(y, "colour", 3)}, tarsia.OpError, "AttributeError: .*colour"),
    ({"infer": lambda x, y: y}, TypeError, "infer sets what it can in its arguments and returns nothing, but returned a Meta"),
    ({"infer": lambda x, y: None}, tarsia.OpError, "output 'y' is left unknown"),
])
def test_inference_that_gives_what_there_is_not(options, error, message):
    @tarsia.define_op(sparse=True, **options)
    def pys_strange(x, y):
        raise AssertionError("it was called")

    with pytest.raises(error, match=message):
        pys_strange(csr(DENSE))


def test_errors_of_sparse_outputs():
    @tarsia.define_op(sparse=True, infer_storage=lambda x: "csr")
    def pys_failing(x, y, *, what: str):
        exec(what, {"x": x, "y": y, "np": np, "tarsia": tarsia})

    x = csr(DENSE)
    for what, error, message in (
            ("y[...] = np.ones((3, 3))", TypeError, r"output 'y' is CSR, and takes scipy.sparse.csr_matrix or torch.sparse_csr, not a numpy.ndarray"),
            ("y[...] = tarsia.RowSparse(np.ones((1, 3)), np.array([0]), (3, 3))", TypeError, "output 'y' is CSR, .* not a tarsia.*RowSparse"),
            ("y[...] = x.tocoo()", TypeError, "go in as CSR, not COO: call tocsr"),
            ("y[...] = x[:2]", ValueError, r"output 'y' has the shape \(3, 3\), not \(2, 3\)"),
            ("y[0] = x", IndexError, r"output 'y' is written as a whole: y\[...\] = matrix"),
            ("y.allocate(-1)", ValueError, "a size of output 0 is negative"),
            ("y.allocate('x')", TypeError, "allocate takes the number of elements, got str"),
            ("y.allocate(1 << 70)", ValueError, "allocate: the number of elements is too large")):
        with pytest.raises(error, match=message):
            pys_failing(x, what=what)


def test_a_sparse_output_that_is_kept_is_of_no_use_and_no_harm():
    kept = []

    @tarsia.define_op(sparse=True, infer_storage=lambda x: x)
    def pys_kept(x, y):
        values, indices, indptr = y.allocate(1)
        values[:], indices[:], indptr[:] = 1, 0, [0, 1, 1, 1]
        kept.append((y, values, indices, indptr))

    made = pys_kept(csr(DENSE))
    output, values, indices, indptr = kept.pop()
    values[:] = 7
    assert made.toarray()[0, 0] == 7 and indptr.tolist() == [0, 1, 1, 1]  # it is the same memory
    with pytest.raises(RuntimeError, match="the call that the output belongs to has ended"):
        output.allocate(1)


def test_a_copy_that_ends_with_the_call_is_not_kept():
    kept = []

    @tarsia.define_op(sparse=True, infer_storage=lambda x: x)
    def pys_keeps(x, y, *, requests):
        if requests[0] == "add":
            kept.append(y.current)

    x, out = csr(DENSE), csr(np.eye(3))
    with pytest.raises(tarsia.OpError, match="a tensor was kept beyond the call, whose memory ends with it: keep a copy"):
        pys_keeps.bind(x)(x, out=out, req="add")
    kept.clear()


@pytest.mark.parametrize(("make", "message"), [
    (lambda: tarsia.define_op(lambda x, y: None, name="f", infer_storage=lambda x: x), "op 'f': infer_storage without an implementation that takes sparse tensors: sparse=True"),
    (lambda: tarsia.define_op(lambda x, y: None, name="f", infer_storage=lambda: 1, sparse=True), "infer_storage takes 1 arguments"),
    (lambda: tarsia.define_op(lambda x, y: None, name="f", infer=lambda x: 1), "infer takes 2 arguments"),
    (lambda: tarsia.define_op(lambda x, y: None, name="f", infer=lambda x, y: 1, infer_dtype=lambda x: 1),
     "op 'f': infer tells all that infer_dtype would: define one of them"),
])
def test_bad_definitions_are_told_at_once(make, message):
    with pytest.raises(TypeError, match=message):
        make()


def test_an_op_without_sparse_gets_dense_tensors():
    @tarsia.define_op
    def pys_dense(x, y):
        y[...] = x

    with pytest.warns(tarsia.StorageFallbackWarning, match="op 'pys_dense', forward: .* converts input 'x': csr -> dense"):
        assert np.array_equal(pys_dense(csr(DENSE)), DENSE)


def test_it_passes_the_tests_of_ops():
    for storage in ("dense", "csr", "row_sparse"):
        assert_op("pys_double", shapes=[(3, 4)], dtypes=["float32"], storages=[storage])
    assert_op("pys_triple", shapes=[(3, 4)], dtypes=["float64"], storages=["csr"])


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support")
def test_it_is_an_operator_of_torch_in_eager_mode():
    from tarsia.torch import register, unregister

    operator = register(pys_double)
    x = torch.tensor(DENSE, dtype=torch.float32)
    assert torch.equal(operator(x.to_sparse_csr()).to_dense(), 2 * x)
    unregister("pys_double")


def test_nothing_is_left_behind():
    x = csr(DENSE)
    pys_double(x)
    before = sys.getrefcount(x.data)
    gone = []
    for _ in range(20):
        y = pys_double(x)
        gone.append(weakref.ref(y.data))
        pys_triple(x)
        pys_double.bind(x)(x, out=y, req="add")
    del y
    gc.collect()
    after = sys.getrefcount(x.data)
    assert after == before and not any(reference() is not None for reference in gone)


def test_the_parts_of_a_sparse_tensor():
    values, indices, indptr = tarsia.sparse_parts(csr(DENSE))
    assert values.tolist() == [1, 2, 3] and indices.tolist() == [1, 0, 2] and indptr.tolist() == [0, 1, 1, 3]
    assert indices.dtype == indptr.dtype == np.int64
    rows = row_sparse({1: (1, 2)})
    assert tarsia.sparse_parts(rows)[0] is rows.data and tarsia.sparse_parts(rows)[2] is None
    with pytest.raises(TypeError, match="numpy.ndarray is no sparse tensor: there are scipy.sparse.csr_matrix"):
        tarsia.sparse_parts(np.ones(3))
