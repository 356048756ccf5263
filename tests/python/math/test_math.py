"""The routines of <tarsia/math.h> against NumPy: every dtype, strides, broadcasting, write requests."""

import itertools
import pathlib

import ml_dtypes
import numpy as np
import pytest

import tarsia

SOURCE = pathlib.Path(__file__).parent / "routines.cpp"
NULL, WRITE, INPLACE, ADD = range(4)
FLOATS = ["float16", "bfloat16", "float32", "float64"]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
TOLERANCE = {"float16": 2e-3, "bfloat16": 1.6e-2, "float32": 3e-6, "float64": 1e-12}


def dtype(name):
    return np.dtype(ml_dtypes.bfloat16) if name == "bfloat16" else np.dtype(name)


@pytest.fixture(scope="module")
def lib(build_library):
    return tarsia.load(build_library(SOURCE.read_text()))


def close(got, expected, name, scale=1):
    expected = np.asarray(expected)
    np.testing.assert_allclose(got.astype(np.float64), expected.astype(np.float64), rtol=scale * TOLERANCE[name], atol=scale * TOLERANCE[name])


def numbers(shape, name, low=-3, high=3, seed=0):
    rng = np.random.default_rng(seed)
    if name == "bool":
        return rng.random(shape) < 0.5
    if "int" in name:
        return rng.integers(max(low, 0) if name[0] == "u" else low, high + 1, shape).astype(name) if shape else np.array(2, name)
    return np.asarray(rng.random(shape) * (high - low) + low).astype(dtype(name))


# Each gives an array with the same elements that lies otherwise in memory.
LAYOUTS = {
    "contiguous": lambda x: x.copy(),
    "transposed": lambda x: x.T.copy().T,
    "every second": lambda x: np.repeat(x, 2, axis=-1)[..., ::2] if x.ndim else x,
    "reversed": lambda x: np.ascontiguousarray(x[::-1])[::-1] if x.ndim else x,
}


@pytest.fixture(params=LAYOUTS)
def layout(request):
    return LAYOUTS[request.param]


UNARY = {
    "sqrt": (np.sqrt, 0.1, 4), "rsqrt": (lambda x: 1 / np.sqrt(x), 0.1, 4), "cbrt": (np.cbrt, -3, 3), "reciprocal": (np.reciprocal, 0.5, 3),
    "exp": (np.exp, -3, 3), "exp2": (np.exp2, -3, 3), "expm1": (np.expm1, -3, 3), "log": (np.log, 0.1, 4), "log2": (np.log2, 0.1, 4),
    "log10": (np.log10, 0.1, 4), "log1p": (np.log1p, -0.5, 4), "sin": (np.sin, -3, 3), "cos": (np.cos, -3, 3), "tan": (np.tan, -1, 1),
    "asin": (np.arcsin, -1, 1), "acos": (np.arccos, -1, 1), "atan": (np.arctan, -3, 3), "sinh": (np.sinh, -2, 2), "cosh": (np.cosh, -2, 2),
    "tanh": (np.tanh, -3, 3), "asinh": (np.arcsinh, -3, 3), "acosh": (np.arccosh, 1, 4), "atanh": (np.arctanh, -0.9, 0.9),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), -4, 4), "silu": (lambda x: x / (1 + np.exp(-x)), -4, 4),
    "softplus": (lambda x: np.log1p(np.exp(x)), -4, 4), "negative": (np.negative, -3, 3), "abs": (np.abs, -3, 3), "square": (np.square, -3, 3),
    "relu": (lambda x: np.maximum(x, 0), -3, 3), "identity": (lambda x: x, -3, 3), "copy": (lambda x: x, -3, 3), "sign": (np.sign, -3, 3),
    "floor": (np.floor, -3, 3), "ceil": (np.ceil, -3, 3), "trunc": (np.trunc, -3, 3), "round": (np.round, -3, 3),
}


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("function", UNARY)
def test_functions_of_one_element(lib, function, name):
    of, low, high = UNARY[function]
    x = numbers((5, 7), name, low, high)
    out = np.empty_like(x)
    lib.unary(function, out, x, WRITE)
    close(out, of(x.astype(np.float64)), name, 4)


@pytest.mark.parametrize("function, of", [("erf", "erf"), ("erfc", "erfc"), ("gelu", None)])
def test_error_functions(lib, function, of):
    special = pytest.importorskip("scipy.special")
    x = numbers((50,), "float64")
    out = np.empty_like(x)
    lib.unary(function, out, x, WRITE)
    close(out, getattr(special, of)(x) if of else x / 2 * (1 + special.erf(x / np.sqrt(2))), "float64")


@pytest.mark.parametrize("name", INTEGERS + ["bool"])
@pytest.mark.parametrize("function", ["abs", "square", "relu", "copy", "sign", "floor", "ceil", "trunc", "round", "logical_not", "isnan", "isfinite"])
def test_functions_of_whole_numbers(lib, function, name):
    x = numbers((5, 7), name)
    out = np.empty_like(x)
    lib.unary(function, out, x, WRITE)
    of = {"relu": lambda x: np.maximum(x, 0), "copy": lambda x: x, "sign": lambda x: np.sign(x.astype(np.int64))}.get(function) or getattr(np, function)
    np.testing.assert_array_equal(out, of(x).astype(out.dtype))


def test_tests_of_floats(lib):
    x = np.array([1, np.nan, np.inf, -np.inf, 0, -0.0], np.float32)
    out = np.empty(6, bool)
    for function in ("isnan", "isinf", "isfinite", "logical_not"):
        lib.unary(function, out, x, WRITE)
        np.testing.assert_array_equal(out, getattr(np, function)(x))


BINARY = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide, "power": np.power, "maximum": np.maximum,
    "minimum": np.minimum, "remainder": np.remainder, "floor_divide": np.floor_divide, "atan2": np.arctan2, "hypot": np.hypot,
}
COMPARE = ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "logical_and", "logical_or", "logical_xor"]


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("function", BINARY)
def test_functions_of_two_elements(lib, function, name):
    low = 0.5 if function == "power" else -3
    a, b = numbers((5, 7), name, low, 3), numbers((5, 7), name, low, 3, seed=1)
    out = np.empty_like(a)
    lib.binary(function, out, a, b, WRITE)
    close(out, BINARY[function](a.astype(np.float64), b.astype(np.float64)), name, 8)


@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize("function", [one for one in BINARY if one not in ("divide", "atan2", "hypot")])
def test_functions_of_two_whole_numbers(lib, function, name):
    a, b = numbers((6, 7), name, -9, 9), numbers((6, 7), name, -4, 4, seed=1)
    if function == "power":
        b = np.abs(b)
    out = np.empty_like(a)
    lib.binary(function, out, a, b, WRITE)
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(out, BINARY[function](a, b))


@pytest.mark.parametrize("name", INTEGERS + FLOATS + ["bool"])
@pytest.mark.parametrize("function", COMPARE)
def test_comparisons(lib, function, name):
    a, b = numbers((6, 7), name, -2, 2), numbers((6, 7), name, -2, 2, seed=1)
    b[0] = a[0]
    out = np.empty(a.shape, bool)
    lib.binary(function, out, a, b, WRITE)
    np.testing.assert_array_equal(out, getattr(np, function)(a, b))


def test_whole_numbers_at_their_limits(lib):
    most, least = np.iinfo(np.int64).max, np.iinfo(np.int64).min
    a, b = np.array([most, least, 2**62, least]), np.array([1, -1, 3, 0])
    out = np.empty(4, np.int64)
    for function in ("remainder", "floor_divide", "less"):
        lib.binary(function, out, a, b, WRITE)
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(out, BINARY.get(function, np.less)(a, b))
    large = np.array([2**64 - 1, 2**63], np.uint64)
    out = np.empty(2, np.uint64)
    lib.binary("floor_divide", out, large, np.array([3, 2], np.uint64), WRITE)
    assert out.tolist() == [(2**64 - 1) // 3, 2**62]


@pytest.mark.parametrize("request_", [NULL, WRITE, INPLACE, ADD])
@pytest.mark.parametrize("shapes", [((3, 4), (3, 4)), ((3, 1), (4,)), ((), (3, 4)), ((1, 1), (1,)), ((), ()), ((0, 4), (4,)), ((2, 1, 3), (5, 1))])
def test_broadcasting_strides_and_requests(lib, shapes, request_, layout):
    a, b = (layout(numbers(shape, "float32", seed=i)) for i, shape in enumerate(shapes))
    expected = np.multiply(a, b)
    out = layout(np.full(expected.shape, 7, np.float32))
    lib.binary("multiply", out, a, b, request_)
    close(out, {NULL: np.full(expected.shape, 7), ADD: expected + 7}.get(request_, expected), "float32")


@pytest.mark.parametrize("request_", [WRITE, ADD])
@pytest.mark.parametrize("name", FLOATS + INTEGERS)
def test_requests_of_every_dtype(lib, name, request_):
    a, b = numbers((3, 300), name, 0, 3), numbers((3, 300), name, 0, 3, seed=1)
    out = np.full(a.shape, 5, a.dtype)
    lib.binary("add", out, a, b, request_)
    expected = a.astype(np.float64) + b.astype(np.float64) + (5 if request_ == ADD else 0)
    close(out, expected, name if name in TOLERANCE else "float64")


def test_adding_keeps_what_the_output_holds(lib):
    for name, value in (("float64", 1e17 + 16), ("int64", 2**62 + 1), ("int32", 2**30 + 1)):
        out = np.full(3, value, name)
        lib.binary("add", out, np.ones(3, np.float32), np.ones(3, np.float32), ADD)
        np.testing.assert_array_equal(out, np.full(3, value, name) + np.array(2, name))
    for name in ("float16", "float32", "float64"):  # whole numbers that are added to a part of one
        out = np.full(3, 0.5, name)
        lib.binary("add", out, np.ones(3, np.int32), np.ones(3, np.int32), ADD)
        np.testing.assert_array_equal(out, np.full(3, 2.5, name))


@pytest.mark.parametrize("to", FLOATS + INTEGERS + ["bool"])
@pytest.mark.parametrize("name", FLOATS + INTEGERS + ["bool"])
def test_casts(lib, name, to):
    x = numbers((2, 9), name, 0, 6)
    out = np.empty(x.shape, dtype(to))
    lib.unary("cast", out, x, WRITE)
    np.testing.assert_array_equal(out, x.astype(dtype(to)))


def test_dtypes_of_a_call_may_differ(lib):
    out = np.empty((2, 3), np.float64)
    lib.binary("add", out, numbers((2, 3), "int8"), numbers((3,), "float64", seed=1), WRITE)
    close(out, numbers((2, 3), "int8") + numbers((3,), "float64", seed=1), "float64")
    large = np.array([2**63], np.uint64)
    lib.binary("add", out[:1, :1], large, np.array([-1]), WRITE)
    assert out[0, 0] == float(2**63)


def test_numbers_beside_tensors(lib):
    x = np.array([1, 2, 3], np.int32)
    out = np.empty(3, np.int32)
    lib.add_whole(out, 2**40 + 5, x)
    np.testing.assert_array_equal(out, x + 5)
    out = np.empty(3, np.float64)
    lib.add_number(out, x, 0.5)
    np.testing.assert_array_equal(out, x + 0.5)
    half = np.array([1, 2], np.float16)
    lib.add_number(half, half, 0.5)
    assert half.tolist() == [1.5, 2.5]
    big = np.empty(2, np.int64)
    lib.fill_whole(big, 2**62 + 1)
    assert big.tolist() == [2**62 + 1] * 2
    lib.fill(big[::-1], 3.0, ADD)
    assert big.tolist() == [2**62 + 4] * 2


def test_choosing_and_bounds(lib, layout):
    c, a, b = layout(numbers((4, 5), "bool")), layout(numbers((4, 5), "float32")), numbers((5,), "float32", seed=2)
    out = layout(np.zeros((4, 5), np.float32))
    lib.where(out, c, a, b)
    np.testing.assert_array_equal(out, np.where(c, a, b))
    lib.clip(out, a, -1, 1)
    np.testing.assert_array_equal(out, np.clip(a, -1, 1))
    lib.mix(out, a, b, 2.0)
    close(out, a + 2 * b, "float32")


def test_large_tensors_on_several_threads(lib):
    x = numbers((700, 900), "float32")
    out = np.empty_like(x)
    lib.unary("tanh", out, x, WRITE)
    close(out, np.tanh(x), "float32")
    for axes in ([0], [1], []):
        total = np.empty(np.sum(x, axis=tuple(axes) or None).shape, np.float32)
        lib.reduce("sum", total, x, axes, WRITE)
        np.testing.assert_allclose(total, np.sum(x.astype(np.float64), axis=tuple(axes) or None), rtol=1e-4, atol=1e-3)


REDUCTIONS = {"sum": np.sum, "mean": np.mean, "prod": np.prod, "max": np.max, "min": np.min, "any": np.any, "all": np.all}
AXES = [[], [0], [1], [-1], [0, 2], [2, 1], [0, 1, 2]]


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axes", AXES, ids=str)
@pytest.mark.parametrize("function", REDUCTIONS)
def test_reductions(lib, function, axes, keepdims, layout):
    x = layout(numbers((3, 4, 5), "float64", 0.5, 1.5))
    expected = REDUCTIONS[function](x, axis=tuple(axes) or None, keepdims=keepdims)
    out = layout(np.full(np.shape(expected), 2.0))
    lib.reduce(function, out, x, axes, WRITE)
    close(out, expected, "float64")
    lib.reduce(function, out, x, axes, ADD)
    close(out, 2.0 * np.asarray(expected, float), "float64")
    lib.reduce(function, out, x, axes, NULL)
    close(out, 2.0 * np.asarray(expected, float), "float64")


@pytest.mark.parametrize("name", FLOATS + INTEGERS)
@pytest.mark.parametrize("function", ["sum", "prod", "max", "min", "mean"])
def test_reductions_of_every_dtype(lib, function, name):
    x = numbers((4, 9), name, 1, 2)
    for axis in (0, 1):
        expected = REDUCTIONS[function](x.astype(np.float64), axis=axis)
        out = np.empty(expected.shape, dtype(name))
        lib.reduce(function, out, x, [axis], WRITE)
        if name in TOLERANCE:
            close(out, expected, name, 2)
        else:
            np.testing.assert_array_equal(out, np.trunc(expected).astype(np.int64).astype(name))


def test_reductions_of_nothing(lib):
    x, out = np.empty((0, 3), np.float32), np.empty(3, np.float32)
    for function, value in {"sum": 0, "prod": 1, "any": 0, "all": 1}.items():
        lib.reduce(function, out, x, [0], WRITE)
        assert out.tolist() == [value] * 3
    lib.reduce("mean", out, x, [0], WRITE)
    assert np.isnan(out).all()
    with pytest.raises(ValueError, match="math::max: there are no elements to choose from"):
        lib.reduce("max", out, x, [0], WRITE)
    lib.reduce("max", np.empty(0, np.float32), np.empty((0, 3), np.float32), [1], WRITE)
    scalar = np.array(2.5)
    out = np.empty(())
    lib.reduce("sum", out, scalar, [], WRITE)
    assert out == 2.5


@pytest.mark.parametrize("function", ["argmax", "argmin"])
@pytest.mark.parametrize("axes", [[], [0], [1], [2]], ids=str)
def test_places_of_extremes(lib, function, axes, layout):
    x = layout(numbers((3, 4, 5), "int32", 0, 3))
    expected = getattr(np, function)(x, axis=axes[0] if axes else None)
    out = np.empty(np.shape(expected), np.int64)
    lib.reduce(function, out, x, axes, WRITE)
    np.testing.assert_array_equal(out, expected)


def test_nan_is_the_extreme(lib):
    x = np.array([[1, np.nan, 3], [np.inf, 2, -np.inf]], np.float32)
    for function in ("max", "min", "argmax", "argmin"):
        out = np.empty(2, np.float32)
        lib.reduce(function, out, x, [1], WRITE)
        np.testing.assert_array_equal(out, getattr(np, function)(x, axis=1))
        columns = np.empty(3, np.float32)
        lib.reduce(function, columns, x, [0], WRITE)
        np.testing.assert_array_equal(columns, getattr(np, function)(x, axis=0))


@pytest.mark.parametrize("shape", [(3, 4), (1, 4), (3, 1), (4,), (1,), (), (2, 3, 4)])
def test_sums_to_a_shape(lib, shape):
    x = numbers((2, 3, 4), "float32")
    out = np.ones(shape, np.float32)
    expected = x
    for _ in range(3 - len(shape)):
        expected = expected.sum(0)
    expected = expected.sum(tuple(i for i, n in enumerate(shape) if n == 1), keepdims=True)
    lib.sum_to(out, x, ADD)
    close(out, expected + 1, "float32", 4)


@pytest.mark.parametrize("axes", [[], [0, 1, 2], [2, 0, 1], [1, 0, 2], [-1, 0, 1]], ids=str)
def test_transposing(lib, axes, layout):
    x = layout(numbers((2, 3, 4), "int16"))
    expected = np.transpose(x, axes or None)
    out = layout(np.zeros(expected.shape, np.int16))
    lib.transpose(out, x, axes, WRITE)
    np.testing.assert_array_equal(out, expected)
    lib.transpose(out, x, axes, ADD)
    np.testing.assert_array_equal(out, 2 * expected)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("name", FLOATS)
def test_softmax(lib, name, log, axis, layout):
    x = layout(numbers((3, 4, 5), name, -4, 4))
    wide = x.astype(np.float64)
    expected = np.exp(wide - wide.max(axis, keepdims=True))
    expected /= expected.sum(axis, keepdims=True)
    expected = np.log(expected) if log else expected
    out = layout(np.zeros(x.shape, x.dtype))
    lib.softmax(out, x, axis, log, WRITE)
    close(out, expected, name, 4)
    lib.softmax(out, x, axis, log, ADD)
    close(out, 2 * expected, name, 8)


def test_softmax_at_its_limits(lib):
    x = np.array([[1e4, 0, -1e4], [-np.inf, 0, 0]], np.float32)
    out = np.empty_like(x)
    lib.softmax(out, x, -1, False, WRITE)
    assert out.tolist() == [[1, 0, 0], [0, 0.5, 0.5]]
    lib.softmax(x, x, -1, False, INPLACE)
    np.testing.assert_array_equal(x, out)
    for shape in ((0, 3), (3, 0)):
        lib.softmax(np.empty(shape), np.empty(shape), -1, False, WRITE)


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("index_shape", [(), (2,), (2, 3), (0,)], ids=str)
def test_gathering_and_scattering(lib, index_shape, axis, layout):
    x = layout(numbers((3, 4, 5), "float32"))
    index = numbers(index_shape, "int32", -3, 2, seed=3)
    expected = np.take(x, index, axis=axis)
    out = np.ones(expected.shape, np.float32)
    lib.gather(out, x, index, axis, ADD)
    close(out, expected + 1, "float32")
    lib.gather(out, x, index, axis, WRITE)
    np.testing.assert_array_equal(out, expected)
    updates = layout(numbers(expected.shape, "float32", seed=4))
    to, moved = layout(np.ones((3, 4, 5), np.float32)), np.ones((3, 4, 5), np.float32)
    lib.scatter_add(to, index, updates, axis)
    at = axis % 3
    rows = np.moveaxis(updates, range(at, at + index.ndim), range(index.ndim)) if index.ndim else updates
    target = np.moveaxis(moved, at, 0)
    for place in np.ndindex(index.shape):
        target[index[place]] += rows[place]
    close(to, moved, "float32")


def test_an_index_that_there_is_not(lib):
    with pytest.raises(IndexError, match="math::gather: index 3 is none of an axis of 3 elements"):
        lib.gather(np.empty(1, np.float32), np.ones(3, np.float32), np.array([3]), 0, WRITE)
    with pytest.raises(IndexError, match="math::scatter_add: index -4 is none of"):
        lib.scatter_add(np.ones(3, np.float32), np.array([-4]), np.empty(1, np.float32), 0)


@pytest.mark.parametrize("left, right", list(itertools.product([False, True], repeat=2)))
@pytest.mark.parametrize("name", FLOATS + ["int32", "uint8"])
def test_products_of_matrices(lib, name, left, right, layout):
    a, b = numbers((7, 300), name, -2, 2), numbers((300, 9), name, -2, 2, seed=1)
    expected = a.astype(np.float64) @ b.astype(np.float64)
    a, b = (layout(x.T if flip else x) for x, flip in ((a, left), (b, right)))
    if "int" in name:
        expected = expected.astype(np.int64)
        out = layout(np.ones((7, 9), name))
        lib.dot(out, a, b, left, right, ADD)
        return np.testing.assert_array_equal(out, (expected + 1).astype(name))
    out = layout(np.ones((7, 9), dtype(name)))
    lib.dot(out, a, b, left, right, WRITE)
    close(out, expected, name, 30)
    lib.dot(out, a, b, left, right, ADD)
    close(out, 2 * expected, name, 60)


@pytest.mark.parametrize("shapes", [((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 5)), ((1, 4), (4, 1)), ((3, 0), (0, 2)), ((0, 4), (4, 2))], ids=str)
def test_products_with_vectors_and_of_nothing(lib, shapes, layout):
    a, b = (layout(numbers(shape, "float64", seed=i)) for i, shape in enumerate(shapes))
    expected = np.dot(a, b)
    out = np.full(np.shape(expected), 3.0)
    lib.dot(out, a, b, False, False, WRITE)
    close(out, expected, "float64", 4)
    lib.dot(out, a, b, False, False, NULL)
    close(out, expected, "float64", 4)


@pytest.mark.parametrize("name", ["float32", "float64", "float16", "int64"])
@pytest.mark.parametrize("shapes", [((6, 3, 4), (6, 4, 5)), ((2, 1, 3, 4), (6, 4, 5)), ((3, 4), (6, 4, 5)), ((0, 3, 4), (4, 5)), ((6, 4), (2, 4, 3))], ids=str)
def test_batches_of_products(lib, shapes, name, layout):
    a, b = (layout(numbers(shape, name, -2, 2, seed=i)) for i, shape in enumerate(shapes))
    expected = np.matmul(a.astype(np.float64), b.astype(np.float64))
    out = layout(np.ones(expected.shape, name))
    lib.batch_dot(out, a, b, False, False, ADD)
    close(out, expected + 1, name if name in TOLERANCE else "float64", 8)


def test_a_large_product(lib):
    a, b = numbers((300, 200), "float32"), numbers((200, 310), "float32", seed=1)
    out = np.empty((300, 310), np.float32)
    lib.dot(out, a, b, False, False, WRITE)
    np.testing.assert_allclose(out, a @ b, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("call, error, message", [
    (lambda lib: lib.binary("add", np.empty((2, 3)), np.ones((2, 3)), np.ones((4,)), WRITE), ValueError, r"add: shapes \(2, 3\) of 'input 1' and \(4,\) of 'input 2' do not broadcast"),
    (lambda lib: lib.unary("exp", np.empty((2, 3)), np.ones((2, 4)), WRITE), ValueError, r"exp: output 'out' has shape \(2, 3\), the inputs broadcast to \(2, 4\)"),
    (lambda lib: lib.unary("exp", np.empty(2), np.ones(2, np.complex64), WRITE), TypeError, "math::exp: 'input 1' has elements of complex64"),
    (lambda lib: lib.reduce("sum", np.empty(2), np.ones((2, 3)), [0], WRITE), ValueError, r"sum: output 'out' has shape \(2,\), the result \(3,\)"),
    (lambda lib: lib.reduce("sum", np.empty(2), np.ones((2, 3)), [1, -1], WRITE), ValueError, "math::sum: axis -1 is given twice"),
    (lambda lib: lib.reduce("sum", np.empty(2), np.ones((2, 3)), [2], WRITE), IndexError, "dimension 2 is asked for of 2 dimensions"),
    (lambda lib: lib.transpose(np.empty((3, 2)), np.ones((2, 3)), [0], WRITE), ValueError, "math::transpose: there are 1 axes for 2 dimensions"),
    (lambda lib: lib.dot(np.empty((2, 2)), np.ones((2, 3)), np.ones((2, 2)), False, False, WRITE), ValueError, r"shapes \(2, 3\) and \(2, 2\) do not go together: there are 3 columns on the left, and 2 rows on the right"),
    (lambda lib: lib.dot(np.empty((2, 3)), np.ones((2, 3)), np.ones((3, 2)), False, False, WRITE), ValueError, "'out' has shape"),
    (lambda lib: lib.dot(np.empty((2, 2)), np.ones((2, 2, 2)), np.ones((2, 2)), False, False, WRITE), ValueError, "batch_dot takes batches"),
    (lambda lib: lib.gather(np.empty(2), np.ones(3), np.ones(2), 0, WRITE), TypeError, "'index' holds no integers"),
    (lambda lib: lib.gather(np.empty(3), np.ones(3), np.array([0, 1]), 0, WRITE), ValueError, "with the shape of 'index' in the place of axis 0"),
    (lambda lib: lib.sum_to(np.empty((2,)), np.ones((2, 3)), WRITE), ValueError, "does not broadcast to"),
])
def test_mistakes(lib, call, error, message):
    with pytest.raises(error, match=message):
        call(lib)


def test_outputs_that_overlap_an_input(lib):
    memory = np.arange(10.0)
    with pytest.raises(ValueError, match="exp: output 'out' overlaps input 'input 1' in memory"):
        lib.unary("exp", memory[1:6], memory[:5], WRITE)
    lib.unary("negative", memory, memory, INPLACE)
    np.testing.assert_array_equal(memory, -np.arange(10.0))
    with pytest.raises(ValueError, match="overlaps"):
        lib.transpose(memory[:9].reshape(3, 3), memory[:9].reshape(3, 3), [], WRITE)
