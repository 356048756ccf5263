"""Several implementations of an op written in Python: by storage, predicate, priority and device."""

import numpy as np
import pytest

import tarsia
from tarsia.testing import check

sparse = pytest.importorskip("scipy.sparse")
DENSE = np.array([[0, 1, 0], [0, 0, 0], [2, 0, 3]], np.float32)


@tarsia.define_op
class pyw_matmul:
    """Dense ones as they are, sparse ones otherwise."""

    def infer_shape(self, x, w):
        return x[0], w[1]

    def __init__(self):
        self.seen = []
        pyw_seen.append(self.seen)

    def forward(self, x, w, y):
        self.seen.append("dense")
        y[...] = x @ w

    @tarsia.implementation("forward", sparse=True)
    def forward_sparse(self, x, w, y):
        self.seen.append("sparse")
        y[...] = (x @ w) if isinstance(w, np.ndarray) else (x @ w).toarray()

    @tarsia.implementation("forward", when=lambda self, x, w, y: x.shape == (1, 1) and x.dtype == "float32", priority=1, name="tiny")
    def forward_tiny(self, x, w, y, *, requests):
        self.seen.append("tiny " + requests[0])
        y[...] = x[0, 0] * w + (y if requests[0] == "add" else 0)

    def backward(self, dy, x, w, y, dx, dw):
        dx[...], dw[...] = dy @ w.T, x.T @ dy

    @tarsia.implementation("backward", sparse=True)
    def backward_sparse(self, dy, x, w, y, dx, dw):
        self.seen.append("backward")
        dx[...] = sparse.csr_matrix(dy @ w.T)
        dw[...] = x.T @ dy


pyw_seen = []


def test_the_implementation_is_chosen_by_storage_predicate_and_priority():
    op, w = tarsia.op("pyw_matmul"), np.ones((3, 2), np.float32)
    x = sparse.csr_matrix(DENSE)
    pyw_seen.clear()
    assert np.array_equal(op(DENSE, w), DENSE @ w) and pyw_seen[-1] == ["dense"]
    bound = op.bind(x, w)
    y = bound(x, w)
    assert np.array_equal(y, DENSE @ w) and pyw_seen[-1] == ["sparse"]
    dx, dw = bound.backward(y, [x, w], y)
    assert isinstance(dx, sparse.csr_matrix) and np.array_equal(dx.toarray(), y @ w.T) and np.array_equal(dw, DENSE.T @ y)
    assert pyw_seen[-1] == ["sparse", "backward"]
    one = np.full((1, 1), 3, np.float32)
    assert op(one, one).tolist() == [[9]] and pyw_seen[-1] == ["tiny write"]
    out = np.ones((1, 1), np.float32)
    assert op.bind(one, one)(one, one, out=out, req="add").tolist() == [[10]] and pyw_seen[-1] == ["tiny add"]
    assert op(one.astype(float), one.astype(float)).tolist() == [[9]] and pyw_seen[-1] == ["dense"]


def test_functions_have_implementations_too():
    @tarsia.implementation("forward", when=lambda x, y, *, least: x.shape[0] >= least, priority=2)
    def long(x, y, *, least):
        y[...] = least

    @tarsia.define_op(implementations=long)
    def pyw_long(x, y, *, least: int = 4):
        y[...] = 0

    assert pyw_long(np.ones(4)).tolist() == [4] * 4 and pyw_long(np.ones(3)).tolist() == [0] * 3
    assert pyw_long(np.ones(3), least=2).tolist() == [2] * 3
    assert check("pyw_long", dtypes=["float64"], shapes=[(5,)], gradient=False).passed


def test_the_plain_forward_may_be_qualified():
    @tarsia.define_op
    class pyw_only:
        @tarsia.implementation("forward", when=lambda self, x, y: y.shape == (2,), devices="cpu")
        def forward(self, x, y):
            y[...] = x

    assert pyw_only(np.ones(2)).tolist() == [1, 1]
    with pytest.raises(tarsia.Unsupported, match="op 'pyw_only' has no forward on the CPU that takes these inputs"):
        pyw_only(np.ones(3))


def test_a_predicate_that_raises_is_an_error_of_the_op():
    @tarsia.define_op(implementations=tarsia.implementation("forward", when=lambda x, y: x.shape[7] > 0, priority=1)(lambda x, y: None))
    def pyw_raises(x, y):
        y[...] = x

    with pytest.raises(IndexError, match=r"op 'pyw_raises', when: IndexError: tuple index out of range \(.*test_define_op_implementations.py:\d+\)"):
        pyw_raises(np.ones(2))


def one(x, y):
    y[...] = x


@pytest.mark.parametrize(("make", "error", "message"), [
    (lambda: tarsia.implementation("sideways"), TypeError, "implementation is of 'forward' or 'backward', not 'sideways'"),
    (lambda: tarsia.implementation("forward", when=3), TypeError, "when is a function"),
    (lambda: tarsia.implementation("forward", priority="high"), TypeError, "priority is an int"),
    (lambda: tarsia.define_op(name="f", implementations=one)(lambda x, y: None), TypeError, "needs tarsia.implementation"),
    (lambda: tarsia.define_op(name="f", implementations=tarsia.implementation("forward")(lambda x, y, z: None))(one), TypeError,
     "op 'f': .*lambda.* takes 2 arguments .*, not 3"),
    (lambda: tarsia.define_op(name="f", implementations=tarsia.implementation("forward", when=lambda x: 1)(lambda x, y: None))(one), TypeError,
     "op 'f': .*when.* takes 2 arguments .*, not 1"),
    (lambda: tarsia.define_op(name="f", implementations=tarsia.implementation("forward", devices="tpu")(lambda x, y: None))(one), TypeError,
     "devices are 'cpu' and 'gpu'"),
    (lambda: tarsia.define_op(name="f", implementations=tarsia.implementation("forward")(lambda x, y: None))(one), tarsia.Error,
     "has two forward implementations for cpu that always apply"),
])
def test_bad_implementations_are_told_at_once(make, error, message):
    with pytest.raises(error, match=message):
        make()
