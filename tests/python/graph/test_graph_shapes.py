"""Calls with arrays of many shapes: results are exact, plans few, and memory is that of the largest."""


import numpy as np
import pytest
from threads import at_once

import tarsia

# Two implementations by length: the short one may work in place, and the long one needs scratch.
OPS = r"""
#include <tarsia/op.h>
static void next(tarsia::Context& c) {
  for (int64_t i = 0; i < c.input(0).numel(); ++i) c.output(0).data<float>()[i] = c.input(0).data<const float>()[i] / 2 + 1;
}
static void with_scratch(tarsia::Context& c) {
  const int64_t n = c.input(0).numel();
  float* own = c.scratch<float>(n);
  for (int64_t i = 0; i < n; ++i) own[i] = c.input(0).data<const float>()[i] / 2;
  for (int64_t i = 0; i < n; ++i) c.output(0).data<float>()[i] = own[i] + 1;
}
TARSIA_OP(shapes_next)
    .forward("cpu", next).named("short").forward_inplace(0, 0)
    .forward("cpu", with_scratch).named("long").when([](const tarsia::BindInfo& i) { return i.input(0).shape().numel() > 5000; }).priority(1)
    .workspace([](const tarsia::BindInfo& i) { return i.input(0).shape().numel() * int64_t(sizeof(float)); });
static void sum(tarsia::Context& c) {
  for (int64_t i = 0; i < c.output(0).numel(); ++i) c.output(0).data<float>()[i] = c.input(0).data<const float>()[i] + c.input(1).data<const float>()[i];
}
TARSIA_OP(shapes_sum).input("a").input("b").output("y").forward("cpu", sum);
"""


@pytest.fixture(scope="module", autouse=True)
def lib():
    return tarsia.load_inline(OPS)


def network():
    g = tarsia.Graph()
    x = g.input("x")
    y = tarsia.ops.shapes_next(x)
    for _ in range(5):
        y = tarsia.ops.shapes_sum(tarsia.ops.shapes_next(y), tarsia.ops.shapes_next(x))
    g.output(y)
    return g


def computed(x):
    y = x / 2 + 1
    for _ in range(5):
        y = (y / 2 + 1) + (x / 2 + 1)
    return y


def numbers(*shape):
    return np.random.default_rng(shape).uniform(-1, 1, shape).astype(np.float32)


def test_a_few_plans_serve_many_shapes_and_keep_one_arena():
    g = network()
    assert (g.plans, g.kept_bytes) == (0, 0)
    for rows in range(40, 400):
        x = numbers(rows, 10)
        assert np.array_equal(g(x=x), computed(x))
    assert 3 <= g.plans <= 16
    assert g.kept_bytes <= 1.25 * g.bind(x=x).plan.bytes + 8 * 64  # one arena, although 360 shapes have run


def test_shapes_that_come_again_need_no_plan():
    g = network()
    for _ in range(3):
        for rows in (100, 700, 130, 90):
            x = numbers(rows, 10)
            assert np.array_equal(g(x=x), computed(x))
    plans = g.plans
    for rows in (95, 99, 100, 700, 650):
        g(x=numbers(rows, 10))
    assert g.plans == plans


def test_the_implementation_is_chosen_for_the_exact_shape():
    g = network()
    for n in (4900, 5000, 5001, 5100, 4999):
        x = numbers(n)
        assert np.array_equal(g(x=x), computed(x))
        chosen = g.bind(x=x).plan.implementations
        assert {name for node, name in chosen.items() if node.startswith("shapes_next")} == {"long" if n > 5000 else "short"}


def test_a_change_of_the_graph_forgets_plans():
    g = network()
    x = numbers(30)
    g(x=x)
    assert g.plans == 1
    g.output(tarsia.ops.shapes_next(g.value("shapes_next")), "more")
    assert (g.plans, g.kept_bytes) == (0, 0)
    y, more = g(x=x)
    assert np.array_equal(y, computed(x))
    assert np.array_equal(more, (x / 2 + 1) / 2 + 1)


def test_a_binding_of_its_own_plans_exactly_and_is_not_counted():
    g = network()
    g.bind(x=numbers(30))
    assert g.plans == 0


def test_a_registered_graph_shares_memory_among_shapes():
    op = network().register("shapes_network")
    for n in (10, 500, 40, 7000, 6999, 3):
        x = numbers(n)
        assert np.array_equal(op(x), computed(x))


def test_from_several_threads_each_with_shapes_of_its_own():
    g, wrong = network(), []

    def work(seed):
        random = np.random.default_rng(seed)
        for _ in range(60):
            x = numbers(int(random.integers(1, 8000)))
            if not np.array_equal(g(x=x), computed(x)):
                wrong.append(x.shape)

    at_once(work, range(4))
    assert not wrong


# ---- inference alone

def test_inference_tells_what_is_known_of_each_value():
    g = tarsia.Graph()
    x, w = g.input("x"), g.input("w", shape=(None, 2), dtype="float32")
    p, q = g.gr_split(g.gr_matmul(x, w, name="h"), name="two")
    g.output(g.gr_square(p, name="y"))
    assert g.infer()["w"] == ((None, 2), "float32", "dense")
    assert g.infer()["h"][0] in (None, (None, 2))
    values = g.infer(x=((4, 3), "float32"))
    assert values["x"] == ((4, 3), "float32", "dense") and values["h"] == ((4, 2), "float32", "dense")
    assert values["two:0"][0] == values["two:1"][0] == values["y"][0] and list(values) == ["x", "w", "h", "two:0", "two:1", "y"]
    assert g.infer(x=np.ones((4, 3), np.float32)) == values


def test_inference_goes_back_and_names_what_contradicts():
    g = tarsia.Graph()
    x = g.input("x")
    g.output(g.gr_add(x, g.input("w"), name="sum"))
    assert g.infer(w=((5,), "float64"))["x"][:2] == ((5,), "float64")
    with pytest.raises(tarsia.Error, match="sum"):
        g.infer(x=((4,), "float64"), w=((5,), "float64"))
    with pytest.raises(tarsia.ArgumentTypeError, match="there is no input 'v'"):
        g.infer(v=((4,), "float64"))
