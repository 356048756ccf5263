"""Inputs that calls of ops give by name."""

import numpy as np
import pytest

import tarsia

SOURCE = r"""
#include <tarsia/op.h>
using tarsia::Context;

static void subtract(Context& c) {
  for (int64_t i = 0; i < c.input("a").numel(); ++i)
    c.output(0).data<float>()[i] = c.input("a").data<const float>()[i] - c.attribute<float>("factor") * c.input("b").data<const float>()[i];
}
TARSIA_OP(named_two).input("a").input("b").output("y").attribute("factor", 1.0f).forward("cpu", subtract);

static void pick(Context& c) {  // 1 if a is there, and 10 if c is
  c.output(0).data<float>()[0] = (c.input("a") ? 1 : 0) + (c.input("c") ? 10 : 0);
}
TARSIA_OP(named_optional).optional_input("a").input("b").optional_input("c").output("y")
    .infer([](tarsia::BindInfo& i) { i.output(0) = i.input("b"); }).forward("cpu", pick);

static void count(Context& c) { c.output(0).data<float>()[0] = float(c.n_inputs()); }
TARSIA_OP(named_many).input("first").variadic_input("others").output("y")
    .infer([](tarsia::BindInfo& i) { i.output(0) = i.input(0); }).forward("cpu", count);
"""

A, B = np.array([5.0], np.float32), np.array([2.0], np.float32)


@pytest.fixture(scope="module", autouse=True)
def lib():
    return tarsia.load_inline(SOURCE)


def test_calls_name_inputs_in_any_order():
    two = tarsia.ops.named_two
    for _ in range(2):
        assert two(b=B, a=A)[0] == two(A, b=B)[0] == two(A, B)[0] == 3
        assert two(factor=2.0, b=B, a=A)[0] == two(A, b=B, factor=2.0)[0] == 1
    out = np.zeros(1, np.float32)
    assert two(b=B, out=out, a=A) is out
    assert out[0] == 3


def test_bindings_and_explanations_name_them_too():
    op = tarsia.op("named_two")
    bound = op.bind(b=B, a=A, factor=2.0)
    assert bound(A, B)[0] == bound(b=B, a=A)[0] == bound(A, b=B)[0] == 1
    assert op.explain(b=B, a=A) == op.explain(A, B)


def test_what_is_not_named_is_absent():
    pick = tarsia.ops.named_optional
    assert pick(b=B)[0] == 0
    assert pick(b=B, a=A)[0] == 1
    assert pick(c=A, b=B)[0] == 10
    assert pick(None, B, c=A)[0] == 10
    with pytest.raises(tarsia.ArgumentError, match="'a'"):
        tarsia.ops.named_two(b=B)


def test_the_input_of_any_number_is_a_list():
    many = tarsia.ops.named_many
    assert many(A, others=[A, B, A])[0] == 4
    assert many(others=(A, B), first=A)[0] == 3
    assert many(first=A, others=B)[0] == 2
    assert many(first=A)[0] == 1
    with pytest.raises(tarsia.ArgumentTypeError, match="named_many: input 'others' is given twice"):
        many(A, B, others=[A])


@pytest.mark.parametrize("call", [lambda: tarsia.ops.named_two(A, B, a=A), lambda: tarsia.op("named_two").bind(A, B)(A, a=A),
                                  lambda: tarsia.op("named_two").bind(A, B, a=A)])
def test_an_input_given_twice_is_an_error(call):
    with pytest.raises(tarsia.ArgumentTypeError, match="named_two: input 'a' is given twice, by its place and by its name"):
        call()


def test_unknown_names_are_unknown_attributes():
    with pytest.raises(tarsia.ArgumentError, match="'c'"):
        tarsia.ops.named_two(A, B, c=A)


def test_graphs_and_jax_take_names():
    g = tarsia.Graph()
    x, z = g.input("x"), g.input("z")
    g.output(tarsia.ops.named_two(b=x, a=z))
    g.output(g.named_two(b=z, a=x, factor=2.0))
    first, second = g.bind(x=A, z=B)(x=A, z=B)
    assert (first[0], second[0]) == (-3, 1)
    g.output(tarsia.ops.named_many(first=x, others=[z, z]))
    assert g(x=A, z=B)[2][0] == 3
    with pytest.raises(tarsia.ArgumentTypeError, match="input 'a' is given twice"):
        g.named_two(x, a=z)
    pytest.importorskip("jax", exc_type=ImportError)
    from tarsia import jax as tarsia_jax

    two = tarsia_jax.function(tarsia.op("named_two"))
    assert two(b=B, a=A, factor=2.0)[0] == 1
