"""tarsia.reduction against NumPy: axes, strides, types, accuracy, and what is refused."""

import itertools
import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from arrays import strided

import tarsia

TOTAL = tarsia.reduction("T x", "T y", "x", "a + b", None, "0", "total")
NORM = tarsia.reduction("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "norm")
LARGEST = tarsia.reduction("T x", "T y", "x", "a > b ? a : b", name="largest")
ARGMAX = tarsia.reduction("T x", "int64 y", "best{double(x), j}", "a.value > b.value || (a.value == b.value && a.at < b.at) ? a : b",
                          "y = a.at", None, "argmax", reduce_type="best", preamble="struct best { double value; long long at; };")


@pytest.mark.parametrize("seed", range(80))
def test_reduces_any_axes_of_any_strides_as_numpy_does(seed):
    rng = np.random.default_rng(seed)
    shape = tuple(int(n) for n in rng.integers(1, 7, rng.integers(0, 6)))
    if seed % 4 == 0:
        shape = (*shape[:1], int(rng.integers(1000, 9000)))
    if seed % 4 == 1:
        shape = (int(rng.integers(1000, 9000)), *shape[:2])
    x = strided(rng, shape)
    axes = tuple(axis - (len(shape) if rng.random() < 0.5 else 0) for axis in range(len(shape)) if rng.random() < 0.5)
    axis = None if seed % 7 == 0 else axes[0] if len(axes) == 1 else axes
    for keepdims in (False, True):
        expected = x.sum(axis, dtype=np.float64, keepdims=keepdims)
        found = TOTAL(x, axis=axis, keepdims=keepdims)
        assert found.shape == expected.shape and found.dtype == np.float32
        np.testing.assert_allclose(found, expected, rtol=2e-6)
        np.testing.assert_array_equal(LARGEST(x, axis=axis, keepdims=keepdims), x.max(axis, keepdims=keepdims))
        out = strided(rng, expected.shape)
        out = out if out.flags.writeable else out.copy()
        assert NORM(x, axis=axis, keepdims=keepdims, out=out) is out
        np.testing.assert_allclose(out, np.sqrt((x.astype(np.float64) ** 2).sum(axis, keepdims=keepdims)), rtol=2e-6)


@pytest.mark.parametrize("seed", range(24))
def test_the_number_of_an_element(seed):
    rng = np.random.default_rng(seed)
    shape = tuple(int(n) for n in rng.integers(1, 60, rng.integers(1, 4)))
    x = np.floor(strided(rng, shape) / 5)  # ties
    axis = int(rng.integers(-len(shape), len(shape))) if seed % 3 else None
    np.testing.assert_array_equal(ARGMAX(x, axis=axis), x.argmax(axis))
    where = tarsia.reduction("T x", "int64 y", "(long long)i", "min(a, b)", name="first_number")
    numbers = np.arange(x.size).reshape(shape)
    np.testing.assert_array_equal(where(x, axis=axis), numbers.min(axis))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "float16", "float64", "bool"])
def test_types(dtype):
    rng = np.random.default_rng(5)
    x = rng.integers(0, 2 if dtype == "bool" else 9, (50, 70)).astype(dtype)
    np.testing.assert_array_equal(LARGEST(x, axis=0), x.max(0))
    wide = tarsia.reduction("T x", "double y", "x", "a + b", identity="0", name="wide")
    np.testing.assert_array_equal(wide(x, axis=1), x.sum(1, dtype=np.float64))
    any_ = tarsia.reduction("T x", "bool y", "x != 0", "a || b", identity="false", name="any")
    np.testing.assert_array_equal(any_(x, axis=0), x.any(0))


def test_half_floats_are_added_as_floats():
    x = np.ones(100000, np.float16)
    mean = tarsia.reduction("T x", "T y", "x", "a + b", "y = a / n", "0", "mean")
    assert mean(x) == 1 and mean(x).dtype == np.float16
    b = torch.full((3, 5000), 1.5, dtype=torch.bfloat16)
    assert mean(b, axis=1).tolist() == [1.5] * 3 and mean(b, axis=1).dtype == torch.bfloat16


@pytest.mark.parametrize("shape", [(1 << 24,), (1 << 22, 4), (4, 1 << 22), (1 << 12, 1 << 12)])
def test_large_sums_are_exact_to_a_few_roundings(shape):
    rng = np.random.default_rng(1)
    x = rng.random(shape, dtype=np.float32)
    for axis in {0, len(shape) - 1, None}:
        exact = x.sum(axis, dtype=np.float64)
        assert np.max(np.abs(TOTAL(x, axis=axis) - exact) / exact) < 1e-6


def test_results_do_not_depend_on_threads():
    program = ("import numpy as np, tarsia; x = np.random.default_rng(0).standard_normal((3, 1 << 20)).astype(np.float32);"
               "f = tarsia.reduction('T x', 'T y', 'x', 'a + b', None, '0', 'total');"
               "print([r.tobytes().hex() for r in (f(x), f(x, axis=0)[:100], f(x, axis=1), f(x.T, axis=0))])")
    found = {subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True,
                            env={**os.environ, "TARSIA_NUM_THREADS": n}).stdout for n in ("1", "2", "7")}
    assert len(found) == 1


@pytest.mark.parametrize("n", ["abc", "0", "-3", "4x"])
def test_a_number_of_threads_that_is_none_is_refused(n):
    program = ("import numpy as np, tarsia; f = tarsia.reduction('T x', 'T y', 'x', 'a + b', None, '0', 'total');"
               "f(np.zeros((64, 1 << 16), np.float32), axis=1)")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env={**os.environ, "TARSIA_NUM_THREADS": n})
    assert done.returncode == 1 and f"the environment variable TARSIA_NUM_THREADS is '{n}', which is no number of threads" in done.stderr, done.stderr


def test_several_inputs_and_outputs():
    rng = np.random.default_rng(2)
    x, w = rng.random((6, 50)), rng.random(50)
    moments = tarsia.reduction("T x, T w", "T mean, T variance", "sums{w * x, w * x * x, w}", "sums{a.x + b.x, a.xx + b.xx, a.w + b.w}",
                               "mean = a.x / a.w; variance = a.xx / a.w - mean * mean", "sums{0, 0, 0}", "moments",
                               reduce_type="sums", preamble="struct sums { double x, xx, w; };")
    mean, variance = moments(x, w, axis=-1)
    np.testing.assert_allclose(mean, np.average(x, axis=-1, weights=w))
    np.testing.assert_allclose(variance, np.average(x ** 2, axis=-1, weights=w) - np.average(x, axis=-1, weights=w) ** 2)
    mean, variance = moments(x, 1.0)
    np.testing.assert_allclose([mean, variance], [x.mean(), x.var()])


def test_torch_tensors():
    x = torch.randn(7, 300)
    y = NORM(x, axis=1, keepdims=True)
    assert isinstance(y, torch.Tensor)
    torch.testing.assert_close(y, x.norm(dim=1, keepdim=True))


def test_no_elements():
    assert TOTAL(np.zeros((0, 3))).tolist() == 0
    assert TOTAL(np.zeros((0, 3)), axis=0).tolist() == [0, 0, 0]
    assert TOTAL(np.zeros((0, 3)), axis=1).tolist() == []
    assert LARGEST(np.zeros((0, 3)), axis=1).shape == (0,)
    with pytest.raises(ValueError, match="largest: there are no elements to reduce, and no identity is declared"):
        LARGEST(np.zeros((0, 3)), axis=0)
    product = tarsia.reduction("T x, T y", "T z", "x * y", "a + b", identity="0", name="product")
    for shape, other in itertools.product([(2, 0), (2, 3, 0), (0, 3, 1), (3, 0, 2)], [(1,), (2, 1), (3, 1), (3, 1, 1)]):
        try:
            expected = np.broadcast_to(np.zeros(shape), np.broadcast_shapes(shape, other))
        except ValueError:
            continue
        for axis in (None, *range(expected.ndim), (0, expected.ndim - 1)):
            np.testing.assert_array_equal(product(np.zeros(shape), np.zeros(other), axis=axis), expected.sum(axis))


def test_no_axes_reduce_each_element_alone():
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(NORM(x, axis=()), x)
    assert NORM(np.full((), -3.0)) == 3
    with pytest.raises(TypeError, match="norm: an input has to be a tensor, got numbers alone"):
        NORM(3.0)


@pytest.mark.parametrize(("options", "kind", "message"), [
    ({"axis": 2}, ValueError, "axis 2 is out of range for inputs of 2 dimensions"),
    ({"axis": (0, -2)}, ValueError, "axis 0 is given twice"),
    ({"axis": "x"}, TypeError, "axis must be an int, a tuple of ints or None, got str"),
    ({"axis": 1.0}, TypeError, "axis must be an int"),
    ({"axis": True}, TypeError, "axis must be an int"),
    ({"axis": 0, "out": np.zeros(3)}, ValueError, r"output 'y' has shape \(3,\), the result \(4,\)"),
    ({"axis": 0, "out": np.zeros(4, np.float32)}, TypeError, "T is float64 by 'x' and float32 by 'y'"),
    ({"size": 3}, TypeError, "there is no parameter 'size', and axis, keepdims, out and stream"),
])
def test_bad_arguments_are_named(options, kind, message):
    with pytest.raises(kind, match="total: .*" + message):
        TOTAL(np.ones((3, 4)), **options)


def test_outputs_over_inputs_are_refused():
    x = np.ones((4, 4))
    with pytest.raises(ValueError, match="total: output 'y' overlaps input 'x'"):
        TOTAL(x, axis=0, out=x[0])


@pytest.mark.parametrize(("arguments", "message"), [
    (("T x", "T y, T z", "x", "a + b"), "with several outputs post has to assign each"),
    (("T x", "T y", "x", "x + 1"), "reduce puts two values together, a and b"),
    (("T x", "T y", "x", "a + b", "a"), "output 'y' is never assigned: post has to hold"),
    (("T x", "raw T y", "x", "a + b"), "cannot be raw"),
    (("raw T x", "T y", "x[0]", "a + b"), "there is no input to reduce"),
    (("T a", "T y", "a", "a + b"), "the name 'a' is taken"),
    (("T x", "T y", " ", "a + b"), "map is empty"),
])
def test_bad_declarations_are_told_at_once(arguments, message):
    with pytest.raises(ValueError, match=message):
        tarsia.reduction(*arguments)


@pytest.mark.parametrize("part", ["map", "reduce", "post", "identity"])
def test_errors_stand_in_the_users_text(part):
    texts = {"map": "x", "reduce": "a + b", "post": "y = a", "identity": "0"}
    texts[part] += " + nothing"
    with pytest.raises(tarsia.CompileError) as caught:
        tarsia.reduction("T x", "T y", **texts, name="wrong")(np.ones(3))
    diagnostic = caught.value.diagnostics[0]
    assert diagnostic.file == f"wrong: {part}" and diagnostic.line == 1
    assert "nothing" in diagnostic.message and diagnostic.source_line == texts[part]


def test_keepdims_is_a_bool():
    x = np.ones((2, 3), np.float32)
    assert TOTAL(x, axis=0, keepdims=np.True_).shape == (1, 3) and TOTAL(x, axis=0, keepdims=0).shape == (3,)
    for wrong in ("no", None, 1.0, [True]):
        with pytest.raises(tarsia.ArgumentTypeError, match="keepdims must be a bool, got"):
            TOTAL(x, axis=0, keepdims=wrong)
