"""Graphs are built from ops, constants, parameters, states and other graphs, and infer their shapes both ways."""

import gc

import numpy as np
import pytest
from graph_models import graph_error, ones

import tarsia

F = np.float32


# ---- nodes and values

def test_an_op_on_a_value_adds_a_node_whatever_the_way_it_is_called():
    g = tarsia.Graph()
    x = g.input("x")
    a = tarsia.ops.gr_scale(x, factor=3.0)
    b = g.gr_scale(a, factor=5.0)
    c = g.add("gr_scale", b, factor=7.0)
    d = tarsia.op("gr_scale")(c, factor=2.0)
    e = g.add(tarsia.op("gr_neg"), d)
    g.output(e)
    assert g(x=ones(2)).tolist() == [-210, -210]


def test_inputs_outputs_and_nodes_are_listed_in_their_order():
    g = tarsia.Graph()
    b, a = g.input("b"), g.input("a")
    y = g.gr_sub(a, b, name="difference")
    g.output(y, name="first")
    g.output(b, name="second")
    assert g.inputs == ["b", "a"]
    assert g.outputs == ["first", "second"]
    assert g.nodes == ["b", "a", "difference"]
    first, second = g(a=ones(2) * 5, b=ones(2))
    assert first.tolist() == [4, 4] and second.tolist() == [1, 1]


def test_nodes_without_names_get_different_ones():
    g = tarsia.Graph()
    x = g.input("x")
    for _ in range(4):
        x = g.gr_neg(x)
    assert len(set(g.nodes)) == 5


def test_a_made_up_name_makes_way_for_one_that_the_author_gave():
    g = tarsia.Graph()
    x = g.input("x")
    first = g.gr_neg(x)
    given = g.gr_neg(first, name=first.name + "_1")
    third = g.gr_neg(given)
    assert len({first.name, given.name, third.name}) == 3


def test_a_value_is_found_again_by_its_name():
    g = tarsia.Graph()
    x = g.input("x")
    p, q = g.gr_split(x, name="s")
    assert p.name != q.name
    g.output(g.value(q.name))
    g.output(g.value("x"))
    first, second = g(x=ones(1) * 4)
    assert first.tolist() == [8] and second.tolist() == [4]


def test_an_op_with_several_outputs_gives_a_tuple_and_hidden_ones_are_left_out():
    g = tarsia.Graph()
    x = g.input("x")
    assert isinstance(g.gr_split(x), tuple) and len(g.gr_split(x)) == 2
    assert not isinstance(g.gr_dropout(x), tuple)


def test_attributes_decide_how_many_outputs_there_are():
    g = tarsia.Graph()
    for y in g.gr_copies(g.input("x"), n=5):
        g.output(y)
    assert [float(y[0]) for y in g(x=ones(3))] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("n", [1, 2, 7])
def test_an_op_takes_any_number_of_inputs(n):
    g = tarsia.Graph()
    x = g.input("x")
    g.output(g.gr_sum_of(*[x] * n))
    assert g(x=ones(2)).tolist() == [n, n]


def test_an_optional_input_may_be_left_out():
    g = tarsia.Graph()
    x, b = g.input("x"), g.input("b")
    g.output(g.gr_biased(x, b, name="with_b"))
    g.output(g.gr_biased(x, name="without"))
    g.output(g.gr_biased(x, None, name="none"))
    bound = g.bind(x=((2,), "float32"), b=((2,), "float32"))
    assert [y.tolist() for y in bound(x=ones(2), b=ones(2))] == [[2, 2], [1, 1], [1, 1]]
    assert bound.plan.implementations["with_b"] == "with bias"
    assert bound.plan.implementations["without"] == bound.plan.implementations["none"] == "without bias"


def test_an_input_may_be_a_result_and_so_may_a_value_twice():
    g = tarsia.Graph()
    x = g.input("x")
    y = g.gr_neg(x)
    for value in (x, y, y, x):
        g.output(value)
    given = ones(3)
    results = g(x=given)
    assert [r.tolist() for r in results] == [[1] * 3, [-1] * 3, [-1] * 3, [1] * 3]
    results[0][:] = 7
    results[1][:] = 8
    assert given.tolist() == [1] * 3 and results[2].tolist() == [-1] * 3 and results[3].tolist() == [1] * 3


def test_a_further_output_of_an_op_may_be_a_result_twice():
    g = tarsia.Graph()
    _, q = g.gr_split(g.input("x"), name="s")
    for _ in range(3):
        g.output(q)
    assert len(set(g.outputs)) == 3
    assert [y.tolist() for y in g(x=ones(1))] == [[2], [2], [2]]


def test_a_graph_may_grow_after_it_was_bound():
    g = tarsia.Graph()
    x = g.input("x")
    y = g.gr_plain(x)
    g.output(y)
    bound = g.bind(x=((2,), "float32"))
    assert g(x=ones(2)).tolist() == [2, 2]
    g.output(g.gr_plain(y))
    assert [r.tolist() for r in g(x=ones(2))] == [[2, 2], [3, 3]]
    assert bound(x=ones(2)).tolist() == [2, 2]


def test_a_bound_graph_outlives_its_graph():
    g = tarsia.Graph()
    g.output(g.gr_add(g.input("x"), g.parameter(ones(3))))
    bound = g.bind(x=((3,), "float32"))
    del g
    assert bound(x=ones(3)).tolist() == [2, 2, 2]


def test_texts_of_graphs_values_and_bound_graphs_name_what_they_are():
    g = tarsia.Graph()
    x = g.input("weather")
    y = g.gr_neg(x, name="forecast")
    g.output(y)
    assert "weather" in repr(x) and "forecast" in repr(y)
    assert "weather" in repr(g) and "forecast" in repr(g)
    assert "weather" in repr(g.bind(weather=((2,), "float32")))


def test_a_bound_graph_tells_its_inputs_and_outputs():
    g = tarsia.Graph()
    x, w = g.input("x"), g.input("w")
    y = g.gr_matmul(x, w)
    g.output(y)
    g.output(g.gr_sum_all(y))
    bound = g.bind(x=((2, 3), "float64"), w=((3, 5), "float64"))
    assert bound.inputs == {"x": ((2, 3), "float64"), "w": ((3, 5), "float64")}
    assert list(bound.outputs) == [((2, 5), "float64"), ((), "float64")]


# ---- constants, parameters, states

def test_a_constant_is_a_copy():
    array = ones(3)
    g = tarsia.Graph()
    g.output(g.gr_add(g.input("x"), g.constant(array)))
    array[:] = 100
    assert g(x=ones(3)).tolist() == [2, 2, 2]


def test_a_constant_need_not_be_contiguous():
    array = np.arange(6, dtype=F).reshape(2, 3).T
    g = tarsia.Graph()
    g.output(g.gr_plain(g.constant(array)))
    assert g().tolist() == (array + 1).tolist()


def test_a_change_of_a_parameter_is_seen_by_the_next_call():
    array = ones(3)
    g = tarsia.Graph()
    g.output(g.gr_add(g.input("x"), g.parameter(array, name="p")))
    bound = g.bind(x=((3,), "float32"))
    assert bound(x=ones(3)).tolist() == [2, 2, 2]
    array[1] = 10
    assert bound(x=ones(3)).tolist() == [2, 11, 2]
    assert g(x=ones(3)).tolist() == [2, 11, 2]


def test_a_parameter_that_is_a_result_is_copied():
    array = ones(3)
    g = tarsia.Graph()
    g.output(g.parameter(array))
    bound = g.bind()
    before = bound()
    array[:] = 5
    assert before.tolist() == [1, 1, 1] and bound().tolist() == [5, 5, 5]


def test_a_parameter_lives_as_long_as_the_graph_needs_it():
    g = tarsia.Graph()
    g.output(g.gr_plain(g.parameter(np.full(100_000, 3, F))))
    np.full(100_000, 9, F)  # would reuse the memory
    assert np.all(g() == 4)


def test_a_state_is_changed_by_a_mutable_input():
    total = np.zeros(2, F)
    g = tarsia.Graph()
    g.output(g.gr_running(g.input("x"), g.state(total, name="total")))
    bound = g.bind(x=((2,), "float32"))
    assert bound(x=ones(2)).tolist() == [1, 1]
    assert bound(x=ones(2)).tolist() == [2, 2] and total.tolist() == [2, 2]
    total[:] = 10
    assert bound(x=ones(2)).tolist() == [11, 11] and total.tolist() == [11, 11]


def test_ops_see_a_state_as_the_ops_before_them_left_it():
    total = np.zeros(1, F)
    g = tarsia.Graph()
    x, s = g.input("x"), g.state(total)
    g.output(g.gr_scale(s, factor=10.0))
    g.output(g.gr_running(x, s))
    g.output(g.gr_scale(s, factor=100.0))
    g.output(g.gr_running(x, s))
    g.output(g.gr_scale(s, factor=1000.0))
    assert [float(y[0]) for y in g(x=ones(1))] == [0, 1, 100, 2, 2000]
    assert [float(y[0]) for y in g(x=ones(1))] == [20, 3, 300, 4, 4000]


def test_a_state_is_changed_even_if_nobody_wants_the_result():
    total = np.zeros(1, F)
    g = tarsia.Graph()
    x = g.input("x")
    g.gr_running(g.gr_plain(x), g.state(total))
    g.output(g.gr_neg(x))
    assert g(x=ones(1)).tolist() == [-1] and total.tolist() == [2]


def test_an_input_may_be_changed_where_it_lies():
    g = tarsia.Graph()
    x, s = g.input("x"), g.input("s")
    g.output(g.gr_running(x, s))
    total = ones(2)
    assert g(x=ones(2), s=total).tolist() == [2, 2] and total.tolist() == [2, 2]


@pytest.mark.parametrize("make", [
    lambda g, x: g.constant(np.zeros(2, F), name="fixed"),
    lambda g, x: g.gr_neg(x, name="fixed"),
    lambda g, x: g.parameter(np.zeros(2, F), name="fixed"),
], ids=["constant", "intermediate", "parameter"])
def test_what_is_no_state_cannot_be_given_to_a_mutable_input(make):
    with pytest.raises(tarsia.Error, match=graph_error("changer|fixed")):
        g = tarsia.Graph()
        x = g.input("x")
        g.output(g.gr_running(x, make(g, x), name="changer"))
        g.bind(x=((2,), "float32"))


def test_a_state_that_cannot_be_written_is_refused():
    frozen = ones(2)
    frozen.flags.writeable = False
    with pytest.raises(tarsia.Error, match="read-only"):
        tarsia.Graph().state(frozen)


@pytest.mark.parametrize("kind", ["parameter", "state"])
def test_what_is_not_copied_has_to_be_contiguous(kind):
    with pytest.raises(tarsia.Error, match=graph_error("contiguous|odd")):
        getattr(tarsia.Graph(), kind)(np.ones((2, 3), F).T, name="odd")


@pytest.mark.parametrize("kind", ["constant", "parameter", "state"])
@pytest.mark.parametrize("given", [None, [1, 2], "text", object(), np.array(["a"]), np.array([None])])
def test_what_is_no_tensor_is_refused(kind, given):
    with pytest.raises(tarsia.Error):
        getattr(tarsia.Graph(), kind)(given)


# ---- subgraphs

def test_a_graph_becomes_an_op_that_other_graphs_take():
    inner = tarsia.Graph()
    a, b = inner.input("a"), inner.input("b")
    inner.output(inner.gr_sub(a, b), name="difference")
    inner.output(inner.gr_add(a, b), name="total")
    op = inner.register("gr_inner")
    difference, total = op(ones(2) * 5, ones(2))
    assert difference.tolist() == [4, 4] and total.tolist() == [6, 6]
    g = tarsia.Graph()
    x = g.input("x")
    difference, total = tarsia.ops.gr_inner(g.gr_plain(x), x)
    g.output(g.gr_mul(difference, total))
    assert g(x=ones(2) * 3).tolist() == [7, 7]


def test_graphs_are_nested_several_times():
    graphs = []
    for depth in range(4):
        g = tarsia.Graph()
        x = g.input("x")
        name = f"gr_nested_{depth - 1}"
        g.output(g.gr_plain(x) if depth == 0 else g.add(name, g.add(name, x)))
        g.register(f"gr_nested_{depth}")
        graphs.append(g)
    assert tarsia.ops.gr_nested_3(ones(2)).tolist() == [9, 9]


def test_a_registered_graph_stays_as_it_was():
    g = tarsia.Graph()
    x = g.input("x")
    y = g.gr_plain(x)
    g.output(y)
    op = g.register("gr_as_it_was")
    g.output(g.gr_plain(y))
    assert op(ones(2)).tolist() == [2, 2]
    assert len(g(x=ones(2))) == 2


def test_a_subgraph_keeps_its_state():
    total = np.zeros(1, F)
    inner = tarsia.Graph()
    inner.output(inner.gr_running(inner.input("x"), inner.state(total)))
    inner.register("gr_inner_state")
    g = tarsia.Graph()
    x = g.input("x")
    g.output(g.gr_inner_state(x))
    g.output(g.gr_inner_state(x))
    assert sorted(float(y[0]) for y in g(x=ones(1))) == [1, 2] and total.tolist() == [2]


def test_a_subgraph_changes_the_state_that_it_is_given():
    inner = tarsia.Graph()
    inner.output(inner.gr_running(inner.input("x"), inner.input("total")))
    inner.register("gr_inner_running")
    g = tarsia.Graph()
    x, total = g.input("x"), np.zeros(2, F)
    s = g.state(total)
    g.gr_inner_running(g.gr_plain(x), s)
    g.output(g.gr_inner_running(x, s))
    assert g(x=ones(2)).tolist() == [3, 3] and total.tolist() == [3, 3]
    g.output(g.gr_inner_running(x, g.constant(ones(2), name="fixed"), name="changer"))
    with pytest.raises(tarsia.Error, match=graph_error("changer|fixed")):
        g(x=ones(2))


def test_an_error_within_a_subgraph_names_both_nodes():
    inner = tarsia.Graph()
    inner.output(inner.gr_checked(inner.input("x"), name="inner_check"))
    inner.register("gr_inner_check")
    g = tarsia.Graph()
    g.output(g.gr_inner_check(g.input("x"), name="outer_call"))
    with pytest.raises(ValueError, match=graph_error("inner_check|outer_call|a number is negative")):
        g(x=-ones(2))
    assert g(x=ones(2)).tolist() == [1, 1]


def test_a_subgraph_infers_for_its_outer_graph():
    inner = tarsia.Graph()
    a, b = inner.input("a"), inner.input("b")
    inner.output(inner.gr_matmul(a, b))
    inner.register("gr_inner_matmul")
    g = tarsia.Graph()
    x, w = g.input("x"), g.input("w")
    g.output(g.gr_add(g.gr_inner_matmul(x, w), g.constant(ones(2, 5))))
    bound = g.bind(x=((2, 3), "float32"), w=((None, None), "float32"))
    assert bound.inputs["w"] == ((3, 5), "float32")


def test_a_bound_graph_keeps_a_subgraph_that_was_dropped():
    inner = tarsia.Graph()
    inner.output(inner.gr_plain(inner.input("x")))
    inner.register("gr_inner_dropped")
    g = tarsia.Graph()
    g.output(g.gr_inner_dropped(g.input("x")))
    bound = g.bind(x=((2,), "float32"))
    del inner
    assert bound(x=ones(2)).tolist() == [2, 2]


def test_the_op_of_a_graph_stays_when_the_graph_is_gone():
    inner = tarsia.Graph()
    inner.output(inner.gr_plain(inner.input("x")))
    inner.register("gr_inner_stays")
    del inner
    gc.collect()
    assert tarsia.ops.gr_inner_stays(np.ones(3, np.float32)).shape == (3,)


@pytest.mark.parametrize("name", ["", "1a", "a b", "a\0b", "ä"])
def test_an_op_that_nobody_could_call_is_not_registered(name):
    inner = tarsia.Graph()
    inner.output(inner.gr_plain(inner.input("x")))
    with pytest.raises(tarsia.Error, match="name"):
        inner.register(name)


# ---- inference

def test_shapes_and_dtypes_go_from_inputs_to_outputs():
    g = tarsia.Graph()
    x = g.input("x")
    g.output(g.gr_row_sum(g.gr_matmul(x, g.constant(np.ones((3, 4))))))
    assert list(g.bind(x=((2, 3), "float64")).outputs) == [((2,), "float64")]


def test_the_shape_of_an_input_is_learnt_from_another_input():
    g = tarsia.Graph()
    x, bias = g.input("x"), g.input("bias")
    g.output(g.gr_add_row(x, bias))
    bound = g.bind(x=((4, 6), "float32"), bias=((None,), "float32"))
    assert bound.inputs["bias"] == ((6,), "float32")


def test_the_shape_of_an_input_is_learnt_from_what_becomes_of_it():
    g = tarsia.Graph()
    x, w = g.input("x"), g.input("w")
    y = g.gr_relu(g.gr_matmul(x, w))
    g.output(g.gr_add(g.gr_neg(y), g.constant(ones(4, 7))))
    bound = g.bind(x=((4, 3), "float32"), w=((None, None), "float32"))
    assert bound.inputs["w"] == ((3, 7), "float32")


def test_nothing_at_all_need_be_known_of_an_input_that_others_determine():
    g = tarsia.Graph()
    x, other = g.input("x"), g.input("other")
    g.output(g.gr_add(x, other))
    bound = g.bind(x=((2, 2), "float64"), other=(None, None))
    assert bound.inputs["other"] == ((2, 2), "float64")


def test_inference_goes_back_and_forth_to_a_fixed_point():
    # The last node determines d, which determines c, and so on: against the order of the nodes, and then along it.
    g = tarsia.Graph()
    a, b, c, d = (g.input(name) for name in "abcd")
    y = g.gr_concat(a, b)
    z = g.gr_concat(y, c)
    w = g.gr_add(z, d)
    g.output(w)
    g.output(g.gr_add(c, g.constant(ones(5))))
    g.output(g.gr_add(w, g.constant(ones(20))))
    unknown = ((None,), "float32")
    bound = g.bind(a=((3,), "float32"), b=unknown, c=unknown, d=unknown)
    assert {name: shape for name, (shape, _) in bound.inputs.items()} == {"a": (3,), "b": (12,), "c": (5,), "d": (20,)}


def test_a_long_chain_learns_from_its_end():
    g = tarsia.Graph()
    y = g.input("x")
    for _ in range(300):
        y = g.gr_neg(y)
    g.output(g.gr_add(y, g.constant(np.ones((3, 5)))))
    assert g.bind(x=((None, None), None)).inputs["x"] == ((3, 5), "float64")


def test_what_an_input_says_of_itself_is_used_and_checked():
    g = tarsia.Graph()
    g.output(g.gr_neg(g.input("x", shape=(None, 3), dtype="float32")))
    assert list(g.bind(x=((4, None), "float32")).outputs) == [((4, 3), "float32")]
    assert g(x=ones(4, 3)).shape == (4, 3)
    for shape, dtype in [((4, 2), "float32"), ((3,), "float32"), ((4, 3), "float64")]:
        with pytest.raises(tarsia.Error, match="'x'"):
            g.bind(x=(shape, dtype))


def test_contradicting_shapes_are_an_error_that_names_the_node():
    g = tarsia.Graph()
    g.output(g.gr_add(g.input("x"), g.input("y"), name="culprit"))
    with pytest.raises(tarsia.Error, match=graph_error("culprit|(3,)|(4,)")):
        g.bind(x=((3,), "float32"), y=((4,), "float32"))


def test_contradicting_dtypes_are_an_error_that_names_the_node():
    g = tarsia.Graph()
    g.output(g.gr_add(g.input("x"), g.input("y"), name="culprit"))
    with pytest.raises(tarsia.Error, match=graph_error("culprit|float32|float64")):
        g.bind(x=((3,), "float32"), y=((3,), "float64"))


def test_a_contradiction_that_shows_only_backwards_names_a_node():
    g = tarsia.Graph()
    x, y = g.input("x"), g.input("y")
    a = g.gr_neg(y, name="above")
    g.output(g.gr_add(x, a, name="below"))
    g.output(g.gr_add(y, g.constant(ones(9)), name="beside"))
    with pytest.raises(tarsia.Error) as caught:
        g.bind(x=((3,), "float32"), y=((None,), "float32"))
    assert any(name in str(caught.value) for name in ("above", "below", "beside"))


def test_an_op_that_refuses_shapes_is_named():
    g = tarsia.Graph()
    g.output(g.gr_matmul(g.input("x"), g.input("w"), name="product"))
    with pytest.raises(tarsia.Error, match=graph_error("product|the matrices do not fit")):
        g.bind(x=((2, 3), "float32"), w=((4, 5), "float32"))


@pytest.mark.parametrize("spec", [((None, 3), "float32"), (None, "float32"), ((2, 3), None)])
def test_what_stays_unknown_is_an_error_that_names_the_value(spec):
    g = tarsia.Graph()
    g.output(g.gr_neg(g.input("mystery")))
    with pytest.raises(tarsia.Error, match="mystery"):
        g.bind(mystery=spec)


def test_an_op_that_does_not_infer_backwards_leaves_its_input_unknown():
    g = tarsia.Graph()
    x = g.input("x")
    g.output(g.gr_add(g.gr_as_row(x, name="flat"), g.constant(ones(6))))
    with pytest.raises(tarsia.Error, match="'x'"):
        g.bind(x=((None, 3), "float32"))
    assert list(g.bind(x=((2, 3), "float32")).outputs) == [((6,), "float32")]
