"""Operators with as many inputs as are passed count them, and errors name the op, the inputs and what to do."""

import pathlib

import numpy as np
import pytest

import tarsia

SRC = pathlib.Path(__file__).parent / "src"


@pytest.fixture(scope="module", autouse=True)
def join():
    lib = tarsia.load_inline({"join.cc": (SRC / "join.cc").read_text()})
    yield tarsia.op("Join")
    lib.unload()


def matrices(*widths, dtype=np.float32):
    return [np.arange(2 * n, dtype=dtype).reshape(2, n) + i for i, n in enumerate(widths)]


@pytest.mark.parametrize("widths", [(3,), (3, 2), (1, 2, 3, 4)])
def test_the_inputs_are_counted(join, widths):
    xs = matrices(*widths)
    expected = np.concatenate(xs, 1)
    np.testing.assert_array_equal(tarsia.ops.Join(*xs), expected)
    np.testing.assert_array_equal(tarsia.ops.Join(*xs, num_args=len(xs)), expected)
    np.testing.assert_array_equal(tarsia.ops.Join(*xs, twice=True), expected * 2)


def test_the_gradient_of_counted_inputs(join):
    xs = matrices(3, 2)
    bound = join.bind(*xs)
    y = bound(*xs)
    gradients = bound.backward(y, xs, y)
    for x, gradient in zip(xs, gradients, strict=True):
        np.testing.assert_array_equal(gradient, x)


def test_counted_inputs_have_names():
    x, y = matrices(3, 2)
    np.testing.assert_array_equal(tarsia.ops.Join(arg0=x, arg1=y, num_args=2), np.concatenate([x, y], 1))


def test_a_count_that_contradicts():
    with pytest.raises((TypeError, ValueError), match=r"op 'Join'.*num_args is 3.*2 inputs.*leave num_args out"):
        tarsia.ops.Join(*matrices(3, 3), num_args=3)


def test_a_count_that_nobody_gives():
    with pytest.raises((TypeError, ValueError), match="op 'Join'.*1 input"):
        tarsia.ops.Join()


def test_shapes_that_contradict_are_named():
    with pytest.raises(ValueError, match=r"op 'Join'.*different numbers of rows.*arg0 \(2, 3\) float32, arg1 \(3, 3\) float32"):
        tarsia.ops.Join(np.ones((2, 3), np.float32), np.ones((3, 3), np.float32))


def test_an_element_type_that_the_switch_does_not_know():
    with pytest.raises(tarsia.Error, match=r"op .Join.*arg0 and arg1 are int32, and the operator takes float32, float64 or float16 here: convert arg0 and arg1"):
        tarsia.ops.Join(*matrices(3, 2, dtype=np.int32))
