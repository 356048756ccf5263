"""Operators of MobulaOP: registration, inputs and parameters, NumPy, PyTorch, requests, and as ops of Tarsia."""

import gc
import importlib
import weakref

import numpy as np
import pytest

import tarsia
import tarsia.mobula as mobula
from tarsia.mobula.const import req
from tarsia.mobula.testing import assert_almost_equal, gradcheck
from tarsia.testing import check

KERNELS = """
#include "mobula_op.h"
namespace mobula {
template <typename T>
MOBULA_KERNEL mo_product_kernel(const int n, const T* a, const T* b, T* c) { parfor(n, [&](int i) { c[i] = a[i] * b[i]; }); }
}
"""


@pytest.fixture
def product(load):
    """a * b by a kernel."""
    load("MoProduct", KERNELS, """
import tarsia.mobula as mobula

@mobula.op.register
class MoProduct:
    '''The product of two tensors.'''

    def forward(self, a, b):
        mobula.func.mo_product(a.size, a, b, self.y)

    def backward(self, dy):
        mobula.func.mo_product(dy.size, dy, self.X[1], self.dX[0])
        mobula.func.mo_product(dy.size, dy, self.X[0], self.dX[1])

    def infer_shape(self, in_shape):
        assert in_shape[0] == in_shape[1]
        return in_shape, [in_shape[0]]
""")
    return mobula.op.MoProduct


@pytest.fixture
def line():
    """slope * x + offset, where the offset may be left out, in Python alone."""
    @mobula.op.register("mo_line")
    class Line:
        def __init__(self, slope=1.0):
            self.slope = slope
            self.seen = []

        def forward(self, x, offset=None):
            self.seen.append(list(self.req))
            self.shapes = [one.shape for one in self.X]
            self.assign(self.y, self.req[0], self.slope * x if offset is None else self.slope * x + offset)

        def backward(self, dy):
            self.seen.append(list(self.req))
            assert self.dx is self.dX[0] and self.dy is self.dY[0] and self.x is self.X[0] and self.y is self.Y[0]
            self.assign(self.dx, self.req[0], self.slope * dy)
            if len(self.X) > 1:
                self.assign(self.dX[1], self.req[1], dy)

        def infer_shape(self, in_shape):
            return in_shape, [in_shape[0]]

    yield Line
    del mobula.glue.CUSTOM_OP_LIST["mo_line"]


def test_numpy(product):
    a, b = np.arange(6.0).reshape(2, 3), np.full((2, 3), 3.0)
    op = product[np.ndarray]()
    y = op(a, b)
    assert type(y) is np.ndarray and (y == 3 * a).all()
    da, db = op.backward()
    assert type(da) is np.ndarray and (da == 3).all() and (db == a).all()
    dy = np.random.rand(2, 3)
    assert all(np.allclose(*pair) for pair in zip(op.backward(dy), (3 * dy, a * dy)))
    assert (product(a, b=b) == y).all()  # forward alone
    assert (op.forward(b, b) == 9).all()
    assert np.allclose(op.backward([dy], in_data=[a, b], out_data=[y])[1], a * dy)
    with pytest.raises(tarsia.ArgumentValueError, match="backward comes after forward"):
        product[np.ndarray]().backward(dy)
    assert product.__doc__ == "The product of two tensors."
    assert mobula.op.Custom("MoProduct") is product and "MoProduct" in mobula.op.CustomList()


@pytest.mark.parametrize("wanted", [req.write, req.inplace, req.add, req.null])
def test_requests(product, line, wanted):
    a, b, dy = (np.random.rand(3, 4) for _ in range(3))
    for op, gradients in ((product[np.ndarray](), (dy * b, dy * a)), (line[np.ndarray](2.0), (2 * dy, dy))):
        op(a, b)
        held = [np.full((3, 4), 10.0), np.full((3, 4), 20.0)]
        op.backward(dy, in_grad=held, req=[wanted, req.write])
        first = {req.add: gradients[0] + 10, req.null: None}.get(wanted, gradients[0])
        assert first is None or np.allclose(held[0], first)
        assert np.allclose(held[1], gradients[1])
    assert op.seen == [["write", "write"], ["null" if wanted == req.null else "write", "write"]]
    assert wanted != req.null or (held[0] == 10).all()
    shared = dy.copy()
    op.backward(shared, in_grad=[shared, np.empty_like(a)], req=["inplace", "write"])
    assert np.allclose(shared, 2 * dy)
    with pytest.raises(tarsia.ArgumentValueError, match="a request is 'null', 'write', 'inplace' or 'add', not 'all'"):
        op.backward(dy, req=["all", "add"])
    with pytest.raises(tarsia.ArgumentValueError, match="a request for each of 2 inputs, got 1"):
        op.backward(dy, req=["add"])


def test_an_operator_compares_its_requests_with_their_names(load):
    load("MoTwice", script="""
import tarsia.mobula as mobula

@mobula.op.register
class MoTwice:
    seen = []

    def forward(self, x):
        if self.req[0] == mobula.const.req.null:
            return
        if self.req[0] in (mobula.const.req.write, mobula.const.req.inplace):
            self.y[...] = 2 * x
        else:
            assert self.req[0] == mobula.const.req.add
            self.y[...] += 2 * x

    def backward(self, dy):
        self.seen.append(self.req[0])
        self.assign(self.dx, self.req[0], 2 * dy)

    def infer_shape(self, in_shape):
        return in_shape, in_shape
""")
    x = np.arange(3.0)
    op = mobula.op.MoTwice[np.ndarray]()
    assert op(x).tolist() == [0, 2, 4]
    held = np.full(3, 10.0)
    for wanted, expected in ((mobula.const.req.add, 12), (mobula.const.req.write, 2), (mobula.const.req.null, 2)):
        op.backward(np.ones(3), in_grad=[held], req=[wanted])
        assert (held == expected).all(), wanted


@pytest.mark.parametrize("wanted, expected", [(req.add, 3.0), (req.null, 0.0)])
def test_gradients_that_nobody_gave_begin_at_zero(line, wanted, expected):
    op = line[np.ndarray](3.0)
    op(np.ones(16))
    garbage = [np.full(16, 7.0) for _ in range(8)]
    del garbage  # its memory is what arrays of this size get next
    assert op.backward(np.ones(16), req=[wanted]).tolist() == [expected] * 16


def test_inputs_and_parameters(line):
    x, offset = np.arange(4.0), np.ones(4)
    assert (line(x) == x).all()
    assert (line(x, offset) == x + 1).all()
    assert (line(x, offset, 3.0) == 3 * x + 1).all()  # what is behind the inputs is a parameter
    assert (line(offset=offset, x=x, slope=3.0) == 3 * x + 1).all()
    assert (line(x, None, slope=2) == 2 * x).all()
    assert (line(x, slope=2, name="node3") == 2 * x).all()
    op = line[np.ndarray](slope=5)
    assert (op(x) == 5 * x).all() and op.shapes == [(4,)]
    assert (op(x, offset) == 5 * x + 1).all() and op.shapes == [(4,), (4,)]
    assert (line[np.ndarray](x, slope=7) == 7 * x).all()
    for call, message in (
        (lambda: line(slope=3), "no argument is a tensor"),
        (lambda: line(offset=offset), "Line: input 'offset' is given, but 'x' before it is not"),
        (lambda: line[np.ndarray]()(), "Line: input 'x' is missing; the inputs are x, offset"),
        (lambda: line(x, x=x), "input 'x' is given twice"),
        (lambda: line(x, 3), "input 'offset' must be a tensor of NumPy, PyTorch or CuPy, got int 3"),
        (lambda: line[int], "takes the type of tensors of NumPy, PyTorch or CuPy, not <class 'int'>"),
        (lambda: line[np.ndarray](steepness=2), r"takes \(slope=1.0\), got steepness"),
    ):
        with pytest.raises(tarsia.ArgumentTypeError, match=message):
            call()


def test_calls_with_what_an_operator_does_not_take_name_it(product):
    a = np.ones(3, np.float32)
    made = mobula.op.MoProduct[np.ndarray]()
    with pytest.raises(tarsia.ArgumentTypeError, match="MoProduct: an instance's call takes no 'foo', but the inputs a, b"):
        made(a, a, foo=3)

    @mobula.op.register
    class MoPicky:
        def forward(self, x):
            return x

        def backward(self, dy):
            return dy

        def infer_shape(self, in_shape):
            assert len(in_shape[0]) == 2, "two dimensions"
            return in_shape, in_shape

    with pytest.raises(tarsia.OpError, match=r"MoPicky: infer_shape does not take inputs of the shapes \(3,\): two dimensions"):
        mobula.op.MoPicky(a)


def test_registration_of_the_wrong_things():
    with pytest.raises(tarsia.ArgumentTypeError, match="operator MoHalf: there is no backward"):
        @mobula.op.register
        class MoHalf:
            def forward(self, x): ...
            def infer_shape(self, in_shape): ...

    with pytest.raises(tarsia.ArgumentTypeError, match="takes a class or the name of an operator, not 3"):
        mobula.op.register(3)
    with pytest.raises(tarsia.MissingOp, match="mobula.op has no operator 'Nothing'"):
        mobula.op.Nothing
    assert not hasattr(mobula.op, "Nothing") and not hasattr(mobula.func, "nothing")


def test_fixed_parameters_and_constants(load):
    @mobula.op.register(constant=4.0, need_top_grad=False)
    class MoConstant:
        def __init__(self, constant):
            self.constant = self.F.array([constant, constant])

        def forward(self):
            return self.constant

        def backward(self, dy):
            return []

        def infer_shape(self, in_shape):
            return [], [self.constant.shape]

    assert MoConstant[np.ndarray]()().tolist() == [4, 4]
    assert MoConstant[np.ndarray]()().dtype == np.float32
    torch = pytest.importorskip("torch")
    assert MoConstant[torch.Tensor]().tolist() == [4, 4]


def test_several_outputs_and_types(load):
    @mobula.op.register
    class MoParts:
        def forward(self, x, y):
            return x * y, x + y

        def backward(self, da, db):
            return da * self.X[1] + db, da * self.X[0] + db

        def infer_shape(self, in_shape):
            return in_shape, in_shape

        def infer_type(self, in_type):
            return in_type, [np.float64, in_type[0]]

    x = np.random.rand(3).astype(np.float32)
    a, b = MoParts(x, x)
    assert a.dtype == np.float64 and b.dtype == np.float32
    del MoParts.op.infer_type
    gradcheck(MoParts, [np.random.rand(3, 2), np.random.rand(3, 2)])
    gradcheck(MoParts, [np.random.rand(9), np.random.rand(9)], sampling=4)
    gradcheck(MoParts, [np.random.rand(9), np.random.rand(9)], sampling=0.5)

    @mobula.op.register
    class MoShort:
        def forward(self, x):
            return x, x

        def backward(self, da, db):
            return self.dY[:0]

        def infer_shape(self, in_shape):
            return in_shape, in_shape * 2

    op = MoShort[np.ndarray]()
    op(x)
    with pytest.raises(tarsia.OpValueError, match="MoShort: backward returned 0 of 1 results; return all, or write them to self.dX"):
        op.backward()


def test_a_wrong_gradient_is_found(load):
    @mobula.op.register
    class MoSquare:
        def __init__(self, error=0):
            self.error = error

        def forward(self, x):
            return self.F.square(x)

        def backward(self, dy):
            return 2 * self.x * dy + self.error

        def infer_shape(self, in_shape):
            return in_shape, in_shape

    x = np.random.rand(3, 4)
    before = x.copy()
    gradcheck(MoSquare, x)
    assert (x == before).all()
    with pytest.raises(AssertionError, match="the largest relative error is"):
        gradcheck(MoSquare, [x], {"error": 0.3})
    assert check(MoSquare.tarsia_op(), shapes=[(3, 4)]).passed
    assert not check(MoSquare.tarsia_op(error=0.3), shapes=[(3, 4)]).passed


def test_ops_of_tarsia(product, line):
    op = product.tarsia_op()
    assert op.name == "mobula_MoProduct"
    report = check(op, shapes=[(3, 4), (3, 4)])
    assert report.passed and any("finite differences" in one.name and one.status == "passed" for one in report.checks), report
    assert (tarsia.ops.mobula_MoProduct(np.full(3, 2.0), np.full(3, 4.0)) == 8).all()
    one = line.tarsia_op("mo_line_of_two", inputs=1, slope=2.0)
    assert check(one, shapes=[(5,)]).passed
    assert check(line.tarsia_op(no_gradient="offset"), shapes=[(5,), (5,)]).passed
    with pytest.raises(tarsia.Error, match="x holds float32 or float64, not int32"):
        one(np.arange(3, dtype=np.int32))
    with pytest.raises(tarsia.ArgumentValueError, match="no_gradient names z; the inputs are x, offset"):
        line.tarsia_op(no_gradient="z")


def test_dtypes_of_an_op_of_tarsia_are_those_of_its_class(load):
    @mobula.op.register
    class MoTake:
        def forward(self, x, index):
            return x[index], (x[index] > 0).astype(np.int32)

        def backward(self, dy, dpositive):
            dx = self.F.zeros_like(self.x)
            np.add.at(dx, np.asarray(self.X[1]), dy.astype(dx.dtype))
            return dx, self.F.zeros_like(self.X[1])

        def infer_shape(self, in_shape):
            return in_shape, [in_shape[1], in_shape[1]]

        def infer_type(self, in_type):
            assert in_type[0] in (np.float32, np.float64)
            return in_type, [np.float64, np.dtype("int32")]

    op = MoTake.tarsia_op(no_gradient=("index",))
    x, index = np.array([1, -2, 3], np.float32), np.array([2, 1])
    y, positive = op(x, index)
    assert (y.dtype, positive.dtype) == (np.float64, np.int32) and y.tolist() == [3, -2] and positive.tolist() == [1, 0]
    with pytest.raises(tarsia.Error, match="x holds float32 or float64, not int64"):
        op(index, index)


def test_frameworks_are_known_without_keeping_types():
    class Passing(np.ndarray):
        pass

    find = mobula.glue.backend.get_var_type_glue
    assert find(Passing).NAME == "NumPy" and find(type("Nothing", (), {})) is None and find(3) is None
    kept = weakref.ref(Passing)
    del Passing
    gc.collect()
    assert kept() is None


def test_what_operators_see_is_mxnets(load):
    @mobula.op.register
    class MoFaces:
        def forward(self, x):
            dot = self.F.dot(x.reshape((2, 12)), self.F.ones((12, 3, 2)))  # the last axis with the first
            assert dot.shape == (2, 3, 2) and dot.dtype == x.dtype
            assert self.F.dot(x[0], x[0].T).shape == (4, 4)
            assert x.size == 24 and x.sum(1, exclude=True).shape == (4,) and x.mean((0, 2)).shape == (4,)
            assert x.reshape((24,)).reshape_like(x).shape == (2, 4, 3)
            assert self.F.zeros((2,)).dtype == x.dtype and self.F.full((2,), 3).shape == (2,)
            assert x.expand_dims(0).shape == (1, 2, 4, 3) and x.as_in_context(x.context).shape == x.shape
            assert isinstance(x.asnumpy(), np.ndarray)
            return x.sum(1, exclude=True)

        def backward(self, dy):
            return self.F.zeros_like(self.x) + dy.reshape((1, 4, 1))

        def infer_shape(self, in_shape):
            return in_shape, [(in_shape[0][1],)]

    x = np.random.rand(2, 4, 3).astype(np.float32)
    assert_almost_equal(MoFaces(x), x.sum((0, 2)))
    gradcheck(MoFaces, x.astype(np.float64))
    torch = pytest.importorskip("torch")
    t = torch.tensor(x, requires_grad=True)
    y = MoFaces(t)
    assert type(y) is torch.Tensor
    assert_almost_equal(y, x.sum((0, 2)))
    y.sum().backward()
    assert (t.grad == 1).all() and type(t.grad) is torch.Tensor


# ---- PyTorch ----


def test_torch_autograd(product):
    torch = pytest.importorskip("torch")
    a, b = (torch.rand(3, 4, dtype=torch.float64, requires_grad=True) for _ in range(2))
    assert torch.autograd.gradcheck(product, (a, b))
    dy = torch.rand(3, 4, dtype=torch.float64)
    (product(a, b) + a).backward(dy)
    assert torch.allclose(a.grad, b * dy + dy) and torch.allclose(b.grad, a * dy)
    product(a, b).sum().backward()  # a gradient that is not contiguous; gradients add up
    assert torch.allclose(b.grad, a * dy + a)
    x = torch.rand(4, 3, dtype=torch.float64).T.requires_grad_()
    assert torch.equal(product(x, x), x * x)
    assert product(torch.tensor([1, 2]), torch.tensor([3, 4])).tolist() == [3, 8]
    first, = torch.autograd.grad(product(a, b).sum(), a, create_graph=True)
    assert torch.equal(first, b)
    with pytest.raises(tarsia.Unsupported, match="MoProduct has a first derivative alone"):
        first.sum().backward()


def test_inputs_that_need_no_gradient_have_the_request_null(line):
    torch = pytest.importorskip("torch")
    x, offset = torch.rand(3, requires_grad=True), torch.rand(3)
    module = line[torch.Tensor](slope=2.0)
    module(x, offset).sum().backward()
    assert module.seen == [["write", "write"], ["write", "null"]] and x.grad.tolist() == [2, 2, 2] and offset.grad is None


def test_modules_and_hooks(product, line):
    torch = pytest.importorskip("torch")
    module = product[torch.Tensor]()
    assert isinstance(module, torch.nn.Module)
    seen = []
    module.register_forward_hook(lambda module, inputs, y: seen.append(("forward", len(inputs))))
    module.register_full_backward_hook(lambda module, dx, dy: seen.append(("backward", len(dx), len(dy))))
    a, b = torch.rand(3, requires_grad=True), torch.rand(3, requires_grad=True)
    a.register_hook(lambda dx: seen.append("tensor"))
    first, second = module(a, b), module(b, b)  # an instance keeps no tensors between its calls
    first.sum().backward()
    assert torch.equal(a.grad, b) and torch.equal(b.grad, a)
    second.sum().backward()
    assert torch.allclose(b.grad, a + 2 * b)
    assert seen[:2] == [("forward", 2)] * 2 and ("backward", 2, 1) in seen and "tensor" in seen
    model = torch.nn.Sequential(line[torch.Tensor](3.0), torch.nn.Linear(3, 1))
    model(torch.rand(2, 3)).sum().backward()
    assert "mo_line" in repr(model)


def test_what_is_written_to_after_forward_is_an_error_of_backward(product):
    torch = pytest.importorskip("torch")
    a, b = torch.rand(3, requires_grad=True), torch.rand(3)
    y = product(a, b)
    b.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_nothing_is_kept(product):
    torch = pytest.importorskip("torch")
    module = product[torch.Tensor]()
    a = torch.rand(3, requires_grad=True)
    kept = weakref.ref(a)
    module(a, a).sum().backward()
    del a
    gc.collect()
    assert kept() is None


def test_frameworks_do_not_mix(product):
    torch = pytest.importorskip("torch")
    with pytest.raises(tarsia.ArgumentTypeError, match="there are NumPy's and PyTorch's: convert one"):
        product(np.ones(3), torch.ones(3))


@pytest.mark.parametrize("name", ["testing", "const", "config", "utils", "func", "op", "op.custom", "op.loader", "op.register", "glue",
                                  "glue.backend", "glue.common", "glue.numpy_glue", "internal.edict", "internal.dtype"])
def test_modules_that_programs_import(name):
    assert importlib.import_module(f"tarsia.mobula.{name}")
