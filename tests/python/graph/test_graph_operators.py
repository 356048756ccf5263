"""Operators on a graph's values add nodes of the registered ops."""

import operator

import numpy as np
import pytest

import tarsia

A = np.array([[1.0, 2.0], [3.0, 5.0]], np.float32)
B = np.array([[2.0, 4.0], [8.0, 0.5]], np.float32)
BINARY = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow]
COMPARISONS = [operator.lt, operator.le, operator.gt, operator.ge]


def run(function):
    """What a function of two values gives for A and B, and again after the graph went through JSON."""
    g = tarsia.Graph()
    g.output(function(g.input("a"), g.input("b")))
    found = g(a=A, b=B)
    again = tarsia.Graph.from_json(g.to_json())(a=A, b=B)
    assert found.dtype == again.dtype and np.array_equal(found, again)
    return found


@pytest.mark.parametrize("op", [*BINARY, *COMPARISONS, operator.matmul])
def test_an_operator_between_values_computes_what_numpy_does(op):
    found = run(op)
    assert found.dtype == op(A, B).dtype
    np.testing.assert_allclose(found, op(A, B), rtol=1e-5)


@pytest.mark.parametrize("number", [3, 1.5, np.float32(1.5), np.int64(3)])
@pytest.mark.parametrize("op", [*BINARY, *COMPARISONS])
def test_a_number_stands_on_either_side_and_takes_the_dtype_of_the_value(op, number):
    for function in (lambda a, b: op(a, number), lambda a, b: op(number, a)):
        expected = function(A, B)
        found = run(function)
        assert found.dtype == (bool if op in COMPARISONS else np.float32)
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_signs_are_operators_too():
    assert np.array_equal(run(lambda a, b: abs(-a)), A) and np.array_equal(run(lambda a, b: -a), -A)


def test_operators_have_gradients():
    g = tarsia.Graph()
    a, b = g.input("a"), g.input("b")
    y = (a @ b) * 2.0 - a / b
    for one in g.gradient(y, wrt=[a, b]):
        g.output(one)
    da, db = g(a=A, b=B)
    ones = np.ones_like(A)
    np.testing.assert_allclose(da, 2 * ones @ B.T - 1 / B, rtol=1e-5)
    np.testing.assert_allclose(db, 2 * A.T @ ones + A / B**2, rtol=1e-5)


@pytest.mark.parametrize("wrong", [A, [1.0], "2", None, True])
def test_another_operand_is_an_error_that_names_op_and_remedy(wrong):
    x = tarsia.Graph().input("x")
    for function in (lambda: x + wrong, lambda: wrong + x):
        with pytest.raises(tarsia.ArgumentTypeError, match=r"graph, add: .* g\.constant\(array\)"):
            function()


def test_a_value_of_another_graph_is_an_error_that_names_the_op():
    x, y = tarsia.Graph().input("x"), tarsia.Graph().input("y")
    with pytest.raises(tarsia.ArgumentValueError, match="graph, multiply: the operands are values of two graphs"):
        x * y


def test_a_product_of_matrices_refuses_a_number():
    x = tarsia.Graph().input("x")
    with pytest.raises(tarsia.ArgumentTypeError, match=r"graph, dot: .*write x \* number"):
        x @ 2


def test_equality_adds_no_node():
    g = tarsia.Graph()
    x = g.input("x")
    assert x == x and x in {x} and len(g.nodes) == 1


def test_a_fraction_beside_whole_numbers_is_an_error():
    g = tarsia.Graph()
    g.output(g.input("a") * 2.5)
    with pytest.raises(tarsia.OpValueError, match="fill.*no whole number, and x is int32: cast x"):
        g(a=np.arange(3, dtype=np.int32))
    assert g(a=np.ones(3, np.float32)).tolist() == [2.5] * 3


@pytest.mark.parametrize("number", [2**53 + 1, -(2**63) + 1, 10**400])
def test_a_number_that_no_double_holds_is_an_error(number):
    x = tarsia.Graph().input("x")
    with pytest.raises(tarsia.ArgumentValueError, match="graph, add: the number has more digits than a double.*g.constant"):
        x + number
    assert (x + 2**60).graph is x.graph


def test_a_value_is_neither_true_nor_false():
    g = tarsia.Graph()
    x, y = g.input("x"), g.input("y")
    for ask in (lambda: bool(x < y), lambda: 0 < x < 1, lambda: max(x, y), lambda: x or y):
        with pytest.raises(tarsia.ArgumentTypeError, match="neither true nor false"):
            ask()
    assert x in [x] and x not in [y]
