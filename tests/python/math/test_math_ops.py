"""The routines of <tarsia/math.h> as ops: against NumPy and PyTorch, with gradients."""

import contextlib
import re

import numpy as np
import pytest

import tarsia
from places import REPO
from tarsia.testing import check

torch = pytest.importorskip("torch")

NAMES = set(re.findall(r"X_\((\w+)\)", (REPO / "include/tarsia/math/op_names.h").read_text().partition("MATH_OPS(X_)")[2]))


@pytest.fixture(scope="module", autouse=True)
def ops(build_library):
    """All of them at once, from g++: each would be compiled when it is first asked for."""
    declared = "\n".join(f"TARSIA_MATH_OP({name});" for name in sorted(NAMES))
    lib = tarsia.load(build_library(f"#include <tarsia/math/ops.h>\n{declared}\n"))
    assert set(lib.ops) == NAMES
    yield
    for name in ("dot", "softmax"):
        with contextlib.suppress(tarsia.NotFound):  # the tests that register it may run in another process
            tarsia.torch.unregister(f"math_ops::{name}")
    lib.unload()


def numbers(shape, low=-2.0, high=2.0, seed=0):
    return np.random.default_rng(seed).uniform(low, high, shape)


# What PyTorch computes, and from which numbers.
UNARY = {
    "sqrt": (torch.sqrt, 0.2, 3), "rsqrt": (torch.rsqrt, 0.2, 3), "cbrt": (lambda x: x.sign() * x.abs() ** (1 / 3), 0.2, 3),
    "reciprocal": (torch.reciprocal, 0.2, 3), "exp": (torch.exp, -2, 2), "exp2": (torch.exp2, -2, 2), "expm1": (torch.expm1, -2, 2),
    "log": (torch.log, 0.2, 3), "log2": (torch.log2, 0.2, 3), "log10": (torch.log10, 0.2, 3), "log1p": (torch.log1p, -0.5, 3),
    "sin": (torch.sin, -2, 2), "cos": (torch.cos, -2, 2), "tan": (torch.tan, -1, 1), "asin": (torch.asin, -0.9, 0.9),
    "acos": (torch.acos, -0.9, 0.9), "atan": (torch.atan, -2, 2), "sinh": (torch.sinh, -2, 2), "cosh": (torch.cosh, -2, 2),
    "tanh": (torch.tanh, -2, 2), "asinh": (torch.asinh, -2, 2), "acosh": (torch.acosh, 1.2, 3), "atanh": (torch.atanh, -0.9, 0.9),
    "erf": (torch.erf, -2, 2), "erfc": (torch.erfc, -2, 2), "sigmoid": (torch.sigmoid, -3, 3), "silu": (torch.nn.functional.silu, -3, 3),
    "softplus": (torch.nn.functional.softplus, -3, 3), "gelu": (torch.nn.functional.gelu, -3, 3), "negative": (torch.neg, -2, 2),
    "abs": (torch.abs, -2, 2), "square": (torch.square, -2, 2), "relu": (torch.relu, -2, 2), "identity": (lambda x: x.clone(), -2, 2),
    "sign": (torch.sign, -2, 2), "floor": (torch.floor, -2, 2), "ceil": (torch.ceil, -2, 2), "trunc": (torch.trunc, -2, 2), "round": (torch.round, -2, 2),
}
BINARY = {
    "add": (torch.add, -2, 2), "subtract": (torch.sub, -2, 2), "multiply": (torch.mul, -2, 2), "divide": (torch.div, 0.3, 2),
    "power": (torch.pow, 0.3, 2), "maximum": (torch.maximum, -2, 2), "minimum": (torch.minimum, -2, 2), "remainder": (torch.remainder, 0.3, 2),
    "atan2": (torch.atan2, 0.3, 2), "hypot": (torch.hypot, 0.3, 2),
}
COMPARE = ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "logical_and", "logical_or", "logical_xor"]
SHAPES = [((3, 4), (3, 4)), ((3, 1), (4,)), ((), (2, 3)), ((2, 1, 3), (5, 1)), ((0, 3), (3,))]


def strided(x):
    """The same numbers in every other element, the last one first."""
    if x is None or not x.ndim:
        return x
    view = np.zeros((*x.shape[:-1], 2 * x.shape[-1]), x.dtype)[..., ::-2]
    view[...] = x
    return view


def compare(name, reference, arrays, seed=9, **attributes):
    """The op's results and gradients, for the requests write and add, beside PyTorch's; of arrays with gaps, too."""
    compare_as(lambda x: x, name, reference, arrays, seed, attributes)
    compare_as(strided, name, reference, arrays, seed, attributes)


def compare_as(lie, name, reference, arrays, seed, attributes):
    op = tarsia.op(name)
    tensors = [torch.tensor(one, requires_grad=one.dtype == np.float64) for one in arrays]
    expected = reference(*tensors)
    bound = op.bind(*arrays, **attributes)
    arrays = [lie(one) for one in arrays]
    y = bound(*arrays)
    np.testing.assert_allclose(y, expected.detach().numpy(), rtol=1e-9, atol=1e-9)
    added = np.full(y.shape, 2.0, y.dtype)
    bound(*arrays, out=added, req="add")
    np.testing.assert_allclose(added, expected.detach().numpy() + 2, rtol=1e-9, atol=1e-9)
    dy = numbers(y.shape, seed=seed)
    wanted = [one for one in tensors if one.requires_grad]
    gradients = torch.autograd.grad(expected, wanted, torch.tensor(dy)) if expected.requires_grad else [torch.zeros_like(one) for one in wanted]
    for request in ("write", "add"):
        outs = [np.full(one.shape, 3.0, one.dtype) if t.requires_grad else None for one, t in zip(arrays, tensors)]
        bound.backward(lie(dy), *arrays, lie(y), out=outs, req=[request if t.requires_grad else "null" for t in tensors])
        got = [one for one in outs if one is not None]
        for one, gradient in zip(got, gradients):
            np.testing.assert_allclose(one, gradient.numpy() + (3 if request == "add" else 0), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", UNARY)
def test_ops_of_one_input(name):
    reference, low, high = UNARY[name]
    for shape in ((3, 4), (), (0, 3)):
        compare(name, reference, [numbers(shape, low, high)])


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("name", BINARY)
def test_ops_of_two_inputs(name, shapes):
    reference, low, high = BINARY[name]
    compare(name, reference, [numbers(shape, low, high, seed=i) for i, shape in enumerate(shapes)])


@pytest.mark.parametrize("name", COMPARE)
def test_comparisons_give_bools(name):
    a, b = np.round(numbers((3, 4))), np.round(numbers((4,), seed=1))
    y = tarsia.ops[name](a, b)
    assert y.dtype == bool
    np.testing.assert_array_equal(y, getattr(np, name)(a, b))


def test_dtypes_of_results():
    whole = np.array([1, 2, 4], np.int32)
    assert tarsia.ops.exp(whole).dtype == np.float64 and tarsia.ops.divide(whole, whole).dtype == np.float64
    assert tarsia.ops.add(whole, whole).dtype == np.int32 and tarsia.ops.mean(whole).dtype == np.float64
    assert tarsia.ops.sum(whole).dtype == np.int32 and tarsia.ops.argmax(whole).dtype == np.int64
    assert tarsia.ops.isnan(whole).dtype == bool and tarsia.ops.floor_divide(whole, whole).tolist() == [1, 1, 1]
    half = np.ones(3, np.float16)
    assert tarsia.ops.exp(half).dtype == np.float16
    with pytest.raises(tarsia.OpError, match="dtypes float16 and int32 have to be the same"):
        tarsia.ops.add(whole, half)


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axes", [[], [0], [1], [-1], [0, 2]], ids=str)
@pytest.mark.parametrize("name", ["sum", "mean", "prod", "max", "min"])
def test_reductions(name, axes, keepdims):
    x = numbers((2, 3, 4))
    if name == "prod":
        x[0, 0, 0] = x[1, 2, :2] = 0

    def reference(x):
        over = axes or [0, 1, 2]
        if name in ("sum", "mean"):
            return getattr(torch, name)(x, dim=over, keepdim=keepdims)
        if name in ("max", "min"):
            return getattr(torch, f"a{name}")(x, dim=over, keepdim=keepdims)
        for axis in sorted((one % 3 for one in over), reverse=True):
            x = torch.prod(x, dim=axis, keepdim=keepdims)
        return x

    compare(name, reference, [x], axes=axes, keepdims=keepdims)


def test_extremes_share_their_gradient():
    x = np.array([[1.0, 2.0, 2.0], [3.0, 0.0, 3.0]])
    bound = tarsia.op("max").bind(x, axes=[1])
    (dx,) = bound.backward(np.array([1.0, 4.0]), x, bound(x))
    np.testing.assert_array_equal(dx, [[0, 0.5, 0.5], [2, 0, 2]])


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax(name, axis):
    compare(name, lambda x: getattr(torch, name)(x, axis), [numbers((3, 4, 5))], axis=axis)


@pytest.mark.parametrize("axes", [[], [1, 2, 0], [0, 2, 1], [-1, 0, 1]], ids=str)
def test_transpose(axes):
    compare("transpose", lambda x: x.permute(*(axes or [2, 1, 0])), [numbers((2, 3, 4))], axes=axes)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_gather(axis):
    index = np.array([[0, 1], [-1, 1]])
    size = (3, 4, 5)[axis]
    compare("gather", lambda x, index: torch.index_select(x, axis, index.flatten() % size).unflatten(axis % 3, (2, 2)), [numbers((3, 4, 5)), index], axis=axis)


@pytest.mark.parametrize("transposed", [(False, False), (True, False), (False, True), (True, True)], ids=str)
def test_dot(transposed):
    left, right = transposed
    a, b = numbers((4, 3) if left else (3, 4)), numbers((5, 4) if right else (4, 5), seed=1)
    compare("dot", lambda a, b: (a.T if left else a) @ (b.T if right else b), [a, b], transpose_a=left, transpose_b=right)


@pytest.mark.parametrize("shapes", [((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 5)), ((3, 0), (0, 5))], ids=str)
def test_dot_of_vectors(shapes):
    compare("dot", torch.matmul, [numbers(shape, seed=i) for i, shape in enumerate(shapes)])


@pytest.mark.parametrize("transposed", [(False, False), (True, False), (False, True), (True, True)], ids=str)
@pytest.mark.parametrize("batches", [((2,), (2,)), ((), (2,)), ((2,), ()), ((3, 1), (2,)), ((0,), (1,))], ids=str)
def test_batch_dot(batches, transposed):
    left, right = transposed
    a = numbers((*batches[0], *((4, 3) if left else (3, 4))))
    b = numbers((*batches[1], *((5, 4) if right else (4, 5))), seed=1)
    compare("batch_dot", lambda a, b: torch.matmul(a.mT if left else a, b.mT if right else b), [a, b], transpose_a=left, transpose_b=right)


@pytest.mark.parametrize("shapes", [((4,), (2, 4, 5)), ((2, 3, 4), (4,))], ids=str)
def test_batch_dot_with_vectors(shapes):
    compare("batch_dot", torch.matmul, [numbers(shape, seed=i) for i, shape in enumerate(shapes)])


def test_choosing_bounds_and_casts():
    condition = numbers((3, 4)) > 0
    compare("where", torch.where, [condition, numbers((3, 4)), numbers((4,), seed=1)])
    compare("clip", lambda x: torch.clip(x, -1, 0.5), [numbers((3, 4))], low=-1, high=0.5)
    compare("cast", lambda x: x.double().clone(), [numbers((3, 4))], dtype="float64")
    x = numbers((3, 4)).astype(np.float32)
    assert tarsia.ops.cast(x, dtype="int8").dtype == np.int8 and tarsia.ops.fill(x, value=2).tolist() == [[2] * 4] * 3
    with pytest.raises(tarsia.Error, match="there is no dtype 'float'"):
        tarsia.ops.cast(x, dtype="float")
    for dtype in ("complex64", "float8_e4m3fn"):
        with pytest.raises(tarsia.Error, match=f"there is no dtype '{dtype}'"):
            tarsia.ops.cast(x, dtype=dtype)


def test_gradients_by_differences():
    """What `tarsia check` does, for some of each kind."""
    for name, shapes, attributes in (("exp", [(3, 4)], {}), ("multiply", [(3, 1), (4,)], {}), ("sum", [(3, 4)], {"axes": [0]}), ("mean", [(3, 4)], {}),
                                     ("softmax", [(3, 4)], {"axis": 0}), ("dot", [(3, 4), (4, 2)], {}), ("transpose", [(3, 4)], {})):
        report = check(name, shapes=shapes, attributes=attributes)
        assert report.passed, [one for one in report.checks if one.status == 'failed']


def test_pytorch_differentiates_them():
    dot = tarsia.torch.register(tarsia.op("dot"), name="math_ops::dot")
    softmax = tarsia.torch.register(tarsia.op("softmax"), name="math_ops::softmax")
    a, b = torch.randn(3, 4, dtype=torch.float64, requires_grad=True), torch.randn(4, 5, dtype=torch.float64, requires_grad=True)
    torch.autograd.gradcheck(lambda a, b: softmax(dot(a, b)), (a, b))


def test_what_is_nan_takes_the_gradient_of_an_extreme():
    x = np.array([[1.0, np.nan, 2.0, np.nan], [3.0, 5.0, 5.0, 0.0]])
    bound = tarsia.op("max").bind(x, axes=[1])
    y = bound(x)
    np.testing.assert_array_equal(bound.backward(np.array([6.0, 8.0]), x, y)[0], [[0, 3, 0, 3], [0, 4, 4, 0]])


def test_whole_numbers_that_no_double_holds_are_clipped_and_filled():
    x = np.array([2**60 + 1, -5, 7])
    np.testing.assert_array_equal(tarsia.ops.clip(x, low=0, high=2**53), [2**53, 0, 7])
    for value in (2.5, np.nan):
        with pytest.raises(tarsia.OpValueError, match="no whole number, and x is int64: cast x"):
            tarsia.ops.fill(np.arange(3), value=value)
    for value, dtype in ((300, "int8"), (-129, "int8"), (-1, "uint16"), (2**63, "int64"), (np.inf, "int32")):
        with pytest.raises(tarsia.OpValueError, match=f"beyond the range of x, which is {dtype}: cast x"):
            tarsia.ops.fill(np.arange(3, dtype=dtype), value=value)
    for value, dtype in ((-128, "int8"), (65535, "uint16"), (-(2**63), "int64"), (2**63, "uint64")):
        assert tarsia.ops.fill(np.arange(3, dtype=dtype), value=value).tolist() == [value] * 3
    assert np.signbit(tarsia.ops.fill(np.ones(2), value=-0.0)).all() and np.isnan(tarsia.ops.fill(np.ones(2), value=np.nan)).all()


def test_an_input_with_other_strides_may_share_the_output_s_memory():
    x, b = numbers((4, 4)), numbers((4, 4), seed=1)
    for view in (lambda one: one.T, lambda one: one[::-1], lambda one: one[:, ::-1]):
        out = x.copy()
        assert tarsia.ops.add(view(out), b, out=out, req="inplace") is out
        np.testing.assert_array_equal(out, view(x) + b)
    memory = np.arange(10.0)
    tarsia.ops.negative(memory[::2], out=memory[:5])
    assert memory.tolist() == [0, -2, -4, -6, -8, 5, 6, 7, 8, 9]
    memory = np.arange(10.0)
    tarsia.ops.negative(memory[8::-2], out=memory[5:])
    assert memory.tolist() == [0, 1, 2, 3, 4, -8, -6, -4, -2, 0]
    with pytest.raises(ValueError, match="output 'y' is not contiguous"):
        tarsia.ops.negative(x, out=x.T)


def test_pytorch_s_views_are_taken_as_they_are():
    x = torch.arange(12.0).reshape(3, 4)
    assert torch.equal(tarsia.ops.add(x.T, x.T), 2 * x.T)
    assert torch.equal(tarsia.ops.sum(x.T, axes=[0]), x.sum(1))
    assert torch.equal(tarsia.ops.relu(torch.ones(1).expand(3)), torch.ones(3))
