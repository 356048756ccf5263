"""Where values lie: what is taken over by a value of another shape, alignment, and memory that ops take themselves."""

import warnings

import numpy as np
import pytest

import tarsia

F = np.float32


@pytest.mark.parametrize("shapes", [((1, 5), (5,)), ((5,), (1, 5)), ((1, 1), (1,)), ((1, 3, 1), (3, 1)), ((), (1,))])
def test_a_value_of_fewer_dimensions_is_taken_over(shapes):
    g = tarsia.Graph()
    x, w = g.input("x"), g.input("w")
    g.output(x + (-w))
    x, w = (np.arange(1, 1 + np.prod(shape, dtype=int), dtype=F).reshape(shape) for shape in shapes)
    assert np.array_equal(g(x=x, w=w), x - w)
    out = np.empty_like(x - w)
    assert np.array_equal(tarsia.ops.add(x, w, out=out), x + w)
    assert np.array_equal(tarsia.ops.add(x.copy(), w, out=out), x + w)
    over = w.copy()
    assert np.array_equal(tarsia.ops.add(x, over, out=over.reshape((x + w).shape)), x + w)


def test_a_value_of_another_number_of_elements_is_not_taken_over():
    g = tarsia.Graph()
    x, w = g.input("x"), g.input("w")
    g.output(tarsia.ops.less(-x, w))  # eight bytes in, eight bytes out
    plan = g.bind(x=((1,), "float64"), w=((8,), "float64")).plan
    assert plan.shared == []
    assert g(x=np.ones(1), w=np.linspace(-4, 3, 8)).tolist() == [False] * 4 + [True] * 4


def test_values_lie_aligned_though_the_callers_output_is_not():
    g = tarsia.Graph()
    wide = tarsia.ops.cast(g.input("x"), dtype="float64")
    g.output(tarsia.ops.cast(tarsia.ops.negative(-wide), dtype="uint8"))
    bound = g.bind(x=((1024,), "uint8"))
    x = np.arange(1024).astype(np.uint8)
    for shift in range(5):
        out = np.empty(1024 + shift, np.uint8)[shift:]
        assert bound(x=x, out=out) is out and np.array_equal(out, x)


def test_the_plan_counts_the_memory_of_graphs_within():
    inner = tarsia.Graph()
    x = inner.input("x")
    for _ in range(2):
        x = inner.gr_square(x)
    inner.output(inner.gr_sum_all(inner.gr_square(x)))
    inner.register("gp_within")
    g = tarsia.Graph()
    x = g.input("x")
    g.output(g.gp_within(g.gp_within(x) * x))
    alone, plan = inner.bind(x=((1000,), "float32")).plan, g.bind(x=((1000,), "float32")).plan
    assert plan.bytes >= alone.bytes + 4000 and plan.bytes >= plan.lower_bound >= alone.lower_bound


def test_the_plan_counts_what_conversions_and_requests_take():
    sparse = pytest.importorskip("scipy.sparse")
    g = tarsia.Graph()
    g.output(g.gr_sum_all(g.input("x", storage="csr")))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bound = g.bind(x=((100, 100), "float32", "cpu", "csr"))
        assert float(bound(x=sparse.csr_matrix(np.eye(100, dtype=F)))) == 100
    assert bound.plan.workspace >= 40_000 and bound.plan.bytes >= 40_000
