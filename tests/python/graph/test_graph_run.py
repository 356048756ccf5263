"""Bound graphs run: with results of their own or the caller's, over and over, and from many threads at once."""

import gc

import numpy as np
import pytest
from graph_models import ones, transformer
from threads import at_once

import tarsia

F = np.float32


def square_minus():
    """x² - y, by way of values in between, some of them in the result's memory."""
    g = tarsia.Graph()
    x, y = g.input("x"), g.input("y")
    g.output(g.gr_sub(g.gr_square(g.gr_plain(g.gr_neg(g.gr_neg(x)))), g.gr_plain(y)))
    return g


def expected(x, y):
    return (x + 1) ** 2 - (y + 1)


# ---- calls

def test_inputs_are_given_by_name_or_in_order():
    bound = square_minus().bind(x=((3,), "float32"), y=((3,), "float32"))
    x, y = np.arange(3, dtype=F), ones(3)
    for result in (bound(x, y), bound(x=x, y=y), bound(y=y, x=x), bound(x, y=y)):
        assert np.array_equal(result, expected(x, y))
    g = square_minus()
    for result in (g(x, y), g(y=y, x=x), g(x, y=y)):
        assert np.array_equal(result, expected(x, y))


def test_one_result_comes_bare_and_several_as_a_tuple():
    g = tarsia.Graph()
    x = g.input("x")
    g.output(g.gr_neg(x))
    assert isinstance(g(x=ones(2)), np.ndarray)
    g.output(g.gr_plain(x))
    assert isinstance(g(x=ones(2)), tuple) and len(g(x=ones(2))) == 2


def test_a_graph_without_inputs_runs():
    g = tarsia.Graph()
    g.output(g.gr_plain(g.constant(ones(3))))
    assert g().tolist() == g.bind()().tolist() == [2, 2, 2]


def test_numbers_and_tensors_without_elements_go_through():
    g = tarsia.Graph()
    x = g.input("x")
    g.output(g.gr_neg(g.gr_plain(x)))
    g.output(g.gr_sum_all(x))
    for shape in [(), (0,), (3, 0, 2), (1, 1, 1, 1)]:
        y, total = g(x=ones(*shape))
        assert y.shape == shape and np.all(y == -2) and total == np.prod(shape)


def test_a_transformer_gives_what_its_ops_give():
    model = transformer(layers=2)
    model.output(model.last)
    arrays = model.draw(1)
    assert model.bind()(**arrays).tobytes() == model.eager(arrays)[0].tobytes()


def test_a_strided_input_is_refused_by_its_name_as_ops_refuse_it():
    g = square_minus()
    x, y = np.arange(24, dtype=F).reshape(4, 6).T, np.arange(24, dtype=F).reshape(6, 4)
    with pytest.raises(tarsia.Error, match="'x' is not contiguous"):
        g(x=x, y=y)
    with pytest.raises(tarsia.Error, match="'y' is not contiguous"):
        g.bind(x=((4, 6), "float32"), y=((4, 6), "float32"))(x=x.T, y=y.T)


def test_one_array_may_be_several_inputs():
    x = np.arange(5, dtype=F)
    assert np.array_equal(square_minus()(x=x, y=x), expected(x, x))


# ---- results

def test_earlier_results_stay_valid():
    bound = square_minus().bind(x=((1000,), "float32"), y=((1000,), "float32"))
    results = [bound(x=np.full(1000, i, F), y=ones(1000)) for i in range(30)]
    for i, result in enumerate(results):
        assert np.all(result == (i + 1) ** 2 - 2)


def test_results_do_not_overlap_one_another_or_the_inputs():
    g = tarsia.Graph()
    x = g.input("x")
    y = g.gr_plain(x)
    for value in (x, y, g.gr_neg(y), y):
        g.output(value)
    given = ones(64)
    tensors = [given, *g(x=given)]
    assert not any(np.shares_memory(a, b) for i, a in enumerate(tensors) for b in tensors[:i])


def test_results_are_written_where_the_caller_says():
    bound = square_minus().bind(x=((4,), "float32"), y=((4,), "float32"))
    out = np.zeros(4, F)
    result = bound(x=ones(4), y=ones(4), out=out)
    assert result is out or np.shares_memory(result, out)
    assert out.tolist() == [2] * 4
    assert square_minus()(x=ones(4) * 2, y=ones(4), out=out).tolist() == [7] * 4 and out.tolist() == [7] * 4


def test_several_results_are_written_where_the_caller_says():
    g = tarsia.Graph()
    for value in g.gr_split(g.gr_plain(g.input("x"))):
        g.output(value)
    outs = (np.zeros(3, F), np.zeros(3, F))
    g(x=ones(3), out=outs)
    assert outs[0].tolist() == [3] * 3 and outs[1].tolist() == [4] * 3


@pytest.mark.parametrize("which", ["x", "y"])
def test_a_result_may_be_written_over_an_input(which):
    # Values in between lie in the result's memory before the other input is read.
    arrays = {"x": np.arange(64, dtype=F), "y": np.arange(64, dtype=F)[::-1].copy()}
    right = expected(arrays["x"], arrays["y"])
    bound = square_minus().bind(x=((64,), "float32"), y=((64,), "float32"))
    bound(**arrays, out=arrays[which])
    assert np.array_equal(arrays[which], right)


@pytest.mark.parametrize("shift", [-1, 1, 8, -8])
def test_a_result_may_overlap_an_input_in_part(shift):
    memory = np.arange(100, dtype=F)
    y = ones(64)
    x, out = memory[10:74], memory[10 + shift : 74 + shift]
    right = expected(x.copy(), y)
    square_minus().bind(x=((64,), "float32"), y=((64,), "float32"))(x=x, y=y, out=out)
    assert np.array_equal(out, right)


def test_results_may_be_swapped_with_the_inputs():
    g = tarsia.Graph()
    x, y = g.input("x"), g.input("y")
    g.output(g.gr_plain(x))
    g.output(g.gr_neg(y))
    a, b = np.arange(8, dtype=F), np.arange(8, dtype=F) * 10
    right = (a + 1, -b)
    g(x=a, y=b, out=(b, a))
    assert np.array_equal(b, right[0]) and np.array_equal(a, right[1])


@pytest.mark.parametrize("kind", ["parameter", "state"])
def test_a_result_may_be_written_over_a_parameter(kind):
    # As an optimizer does: p = p - (p + x)². The result's memory must not be used before p was read for the last time.
    p = np.arange(64, dtype=F)
    g = tarsia.Graph()
    own = getattr(g, kind)(p)
    step = g.gr_square(g.gr_plain(g.gr_square(g.gr_add(own, g.input("x")))))
    g.output(g.gr_sub(own, step))
    x = ones(64)
    right = p - ((p + x) ** 2 + 1) ** 2
    g.bind(x=((64,), "float32"))(x=x, out=p)
    assert np.array_equal(p, right)


def test_a_result_may_be_written_over_a_parameter_that_a_later_result_needs():
    p = np.arange(8, dtype=F)
    g = tarsia.Graph()
    own = g.parameter(p)
    g.output(g.gr_plain(g.input("x")))
    g.output(g.gr_neg(own))
    before = p.copy()
    out = (p, np.zeros(8, F))
    g(x=np.zeros(8, F), out=out)
    assert np.array_equal(out[1], -before) and p.tolist() == [1] * 8


def test_results_of_the_wrong_kind_are_refused():
    bound = square_minus().bind(x=((4,), "float32"), y=((4,), "float32"))
    frozen = ones(4)
    frozen.flags.writeable = False
    for out in [np.zeros(5, F), np.zeros(4), np.zeros((2, 2), F), frozen, [1.0] * 4, "text", (np.zeros(4, F),) * 2]:
        with pytest.raises(tarsia.Error):
            bound(x=ones(4), y=ones(4), out=out)
    assert bound(x=ones(4), y=ones(4)).tolist() == [2] * 4


# ---- requests

def test_a_result_is_added():
    bound = square_minus().bind(x=((64,), "float32"), y=((64,), "float32"))
    out = np.arange(64, dtype=F)
    bound(x=ones(64), y=ones(64), out=out, req="add")
    assert np.array_equal(out, np.arange(64, dtype=F) + 2)
    square_minus()(x=ones(64), y=ones(64), out=out, req="add")
    assert np.array_equal(out, np.arange(64, dtype=F) + 4)


def test_a_result_is_added_to_an_input():
    x, y = np.arange(64, dtype=F), ones(64)
    right = x + expected(x, y)
    square_minus().bind(x=((64,), "float32"), y=((64,), "float32"))(x=x, y=y, out=x, req="add")
    assert np.array_equal(x, right)


def test_each_result_has_a_request_of_its_own():
    g = tarsia.Graph()
    for value in g.gr_copies(g.gr_plain(g.input("x")), n=3):
        g.output(value)
    outs = tuple(np.full(4, 10, F) for _ in range(3))
    g(x=np.zeros(4, F), out=outs, req=["add", "write", "null"])
    assert [float(out[0]) for out in outs] == [11, 2, 10]


def test_an_unknown_request_is_refused():
    with pytest.raises(tarsia.Error, match="multiply"):
        square_minus()(x=ones(2), y=ones(2), out=ones(2), req="multiply")


# ---- many calls

def test_many_threads_call_one_bound_graph_at_once():
    g = tarsia.Graph()
    x = g.input("x")
    y = x
    for _ in range(3):
        y = g.gr_square(g.gr_slow(y))
    g.output(y)
    g.output(g.gr_sum_all(g.gr_sub(y, x)))
    bound = g.bind(x=((256,), "float64"))
    wrong = []

    def call(number):
        for i in range(8):
            x = np.full(256, (number + i / 8) / 8)
            y = x
            for _ in range(3):
                y = (y + 1) * (y + 1)
            result, total = bound(x=x)
            if not np.array_equal(result, y) or not np.isclose(total, (y - x).sum()):
                wrong.append((number, i))

    at_once(call, range(8))
    assert not wrong


def test_calls_overlap():
    g = tarsia.Graph()
    g.output(g.gr_meet(g.input("x")))
    bound = g.bind(x=((1,), "float32"))
    assert at_once(lambda _: bound(x=np.full(1, 6, F))[0], range(6)) == [7] * 6  # each waits for all six


def test_many_threads_bind_and_call_one_graph_at_once():
    g = square_minus()
    wrong = []

    def call(number):
        for i in range(20):
            n = 1 + (number + i) % 5
            x, y = np.full(n, number, F), np.full(n, i, F)
            if not np.array_equal(g(x=x, y=y), expected(x, y)):
                wrong.append((number, i))

    at_once(call, range(6))
    assert not wrong


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def growth(function, warm, times):
    for _ in range(warm):
        function()
    gc.collect()
    before = resident()
    for _ in range(times):
        function()
    gc.collect()
    return resident() - before


def test_memory_does_not_grow_from_call_to_call():
    model = transformer(layers=1, tokens=64, width=32)
    model.output(model.last)
    bound, arrays = model.bind(), model.draw(1)
    out = bound(**arrays)
    assert growth(lambda: bound(**arrays), 20, 300) < 4e6
    assert growth(lambda: bound(**arrays, out=out), 20, 300) < 4e6
    assert growth(lambda: bound(**arrays, out=out, req="add"), 20, 300) < 4e6


def test_memory_does_not_grow_from_call_to_call_if_calls_fail():
    g = tarsia.Graph()
    g.output(g.gr_plain(g.gr_checked(g.gr_square(g.gr_plain(g.gr_checked(g.input("x")))))))
    bound = g.bind(x=((100_000,), "float32"))
    bad = -ones(100_000)

    def call():
        with pytest.raises(ValueError):
            bound(x=bad)

    assert growth(call, 20, 200) < 4e6


def test_memory_does_not_grow_from_binding_to_binding():
    def bind():
        g = tarsia.Graph()
        x = g.input("x")
        y = g.gr_matmul(g.gr_plain(x), g.constant(np.ones((100, 100))))
        g.output(g.gradient(g.gr_square(y), wrt=x))
        bound = g.bind(x=((100, 100), "float64"))
        g.bind(x=((50, 100), "float64"))
        bound(x=np.ones((100, 100)))
        bound.plan.svg()
        g.to_json()

    assert growth(bind, 10, 40) < 6e6


def test_memory_does_not_grow_with_registered_graphs_of_one_name():
    def register():
        g = tarsia.Graph()
        g.output(g.gr_add(g.input("x"), g.constant(np.ones(50_000))))
        g.register("gr_registered_often")(np.ones(50_000))

    assert growth(register, 10, 100) < 10e6  # 40 MB if each were kept


# ---- shapes, and what is kept for them

def test_one_graph_runs_on_many_shapes_and_dtypes():
    g = square_minus()
    for n in range(100):
        for dtype in (np.float32, np.float64):
            x, y = np.arange(n, dtype=dtype), np.ones(n, dtype)
            result = g(x=x, y=y)
            assert result.dtype == dtype and np.array_equal(result, expected(x, y))


def counts():
    """(inferences, states, runs) of gr_probe so far."""
    return np.array(tarsia.ops.gr_probe_counts(ones(1)).tolist())


def test_a_call_with_arrays_binds_once_for_each_shape_and_dtype():
    g = tarsia.Graph()
    g.output(g.gr_probe(g.input("x")))
    g(x=ones(3))
    before = counts()
    for _ in range(5):
        g(x=ones(3))
    assert (counts() - before).tolist() == [0, 0, 5]
    before = counts()
    g(x=ones(4))
    g(x=np.ones(3))
    g(x=ones(3, 1))
    assert counts()[1] - before[1] == 3
    before = counts()
    for x in (ones(4), np.ones(3), ones(3, 1), ones(3)):
        g(x=x)
    assert (counts() - before).tolist() == [0, 0, 4]


def test_a_call_in_order_finds_what_a_call_by_name_has_bound():
    g = tarsia.Graph()
    x, y = g.input("x"), g.input("y")
    g.output(g.gr_probe(g.gr_add(x, y)))
    g(x=ones(3), y=ones(3))
    before = counts()
    g(ones(3), ones(3))
    g(y=ones(3), x=ones(3))
    assert (counts() - before).tolist() == [0, 0, 2]


def test_a_bound_graph_does_not_infer_again():
    g = tarsia.Graph()
    g.output(g.gr_probe(g.input("x")))
    bound = g.bind(x=((3,), "float32"))
    before = counts()
    for _ in range(4):
        bound(x=ones(3))
    assert (counts() - before).tolist() == [0, 0, 4]


def test_nodes_that_no_output_needs_do_not_run():
    g = tarsia.Graph()
    x = g.input("x")
    g.gr_probe(x)
    g.output(g.gr_neg(x))
    bound = g.bind(x=((3,), "float32"))
    before = counts()
    bound(x=ones(3))
    assert counts()[2] == before[2]


def test_each_node_runs_once():
    g = tarsia.Graph()
    y = g.gr_probe(g.input("x"))
    for _ in range(3):
        g.output(g.gr_neg(y))
    g.output(y)
    bound = g.bind(x=((3,), "float32"))
    before = counts()
    bound(x=ones(3))
    assert counts()[2] - before[2] == 1


def test_an_op_that_is_loaded_anew_is_taken_by_the_next_call(load_text):
    source = '#include <tarsia/op.h>\nTARSIA_OP(gr_replaced).forward("cpu", [](tarsia::Context& c) {' \
             ' for (int64_t i = 0; i < c.input(0).numel(); ++i) c.output(0).data<float>()[i] = NUMBER; });'
    load_text(source.replace("NUMBER", "1"))
    g = tarsia.Graph()
    g.output(g.gr_replaced(g.input("x")))
    bound = g.bind(x=((2,), "float32"))
    assert g(x=ones(2)).tolist() == [1, 1]
    load_text(source.replace("NUMBER", "2"))
    assert g(x=ones(2)).tolist() == [2, 2]
    assert bound(x=ones(2)).tolist() == [1, 1]


def test_random_ops_draw_new_numbers_in_each_call_and_the_same_after_a_seed():
    g = tarsia.Graph()
    g.output(g.gr_dropout(g.input("x")))
    bound = g.bind(x=((500,), "float32"))
    tarsia.seed(5)
    first, second = bound(x=ones(500)), bound(x=ones(500))
    assert not np.array_equal(first, second) and set(first.tolist()) == {0, 2}
    tarsia.seed(5)
    assert np.array_equal(bound(x=ones(500)), first) and np.array_equal(bound(x=ones(500)), second)


def test_two_random_nodes_draw_different_numbers():
    g = tarsia.Graph()
    x = g.input("x")
    g.output(g.gr_dropout(x))
    g.output(g.gr_dropout(x))
    first, second = g(x=ones(500))
    assert not np.array_equal(first, second)


def test_arrays_of_pytorch_go_in_and_come_out():
    torch = pytest.importorskip("torch")
    g = square_minus()
    x, y = torch.arange(4, dtype=torch.float32), torch.ones(4)
    result = g(x=x, y=y)
    assert isinstance(result, torch.Tensor) and torch.equal(result, (x + 1) ** 2 - (y + 1))
    bound = g.bind(x=x, y=y)
    assert torch.equal(bound(x, y), result)
