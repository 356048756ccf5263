"""Mistakes in building, binding and calling graphs are errors of Tarsia that name what is wrong."""

import array
import ctypes

import numpy as np
import pytest
from graph_models import graph_error, ones
from threads import at_once

import tarsia

F = np.float32


def simple():
    """(graph, its input): y = x + 1."""
    g = tarsia.Graph()
    x = g.input("x")
    g.output(g.gr_plain(x, name="plus"), name="y")
    return g, x


def two_inputs():
    g = tarsia.Graph()
    g.output(g.gr_sub(g.input("first"), g.input("second"), name="minus"))
    return g


class Capsules:
    """A tensor with DLPack's methods alone."""

    def __init__(self, held):
        self.held = held

    def __dlpack__(self, **options):
        return self.held.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.held.__dlpack_device__()


class Interface:
    """A tensor of whose class nothing is known: the object has the interface."""

    def __init__(self, held):
        self.held, self.__array_interface__ = held, held.__array_interface__


def tensors(held):
    """Tensors over an array's memory, of all kinds that ops take."""
    return {"numpy": held, "capsules": Capsules(held), "interface": Interface(held), "memoryview": memoryview(held),
            "array": array.array("f", held.ravel()), "ctypes": (ctypes.c_float * held.size)(*held.ravel())}


def listed(tensor):
    return np.from_dlpack(tensor).tolist()


def test_graphs_take_the_tensors_that_ops_take():
    for kind, given in tensors(np.arange(1, 5, dtype=F)).items():
        assert listed(tarsia.ops.gr_plain(given)) == [2, 3, 4, 5], kind
        g, _ = simple()
        assert g.bind(x=given).inputs == {"x": ((4,), "float32")}, kind
        for run in (lambda: g(given), lambda: g(x=given), lambda: g.bind(x=given)(given)):
            assert listed(run()) == [2, 3, 4, 5], kind
        for add in ("constant", "parameter", "state"):
            g = tarsia.Graph()
            g.output(g.gr_plain(getattr(g, add)(given)))
            assert listed(g()) == [2, 3, 4, 5], (kind, add)


def test_sparse_inputs_of_a_graph_bind_by_themselves():
    x = tarsia.RowSparse(np.ones((1, 3), F), np.zeros(1, int), (2, 3))
    g, _ = simple()
    assert "row_sparse" in str(g.bind(x=x).plan)
    assert listed(g.bind(x=x)(x)) == listed(g(x)) == [[2, 2, 2], [1, 1, 1]]
    for add in ("constant", "parameter"):
        with pytest.raises(tarsia.ArgumentValueError, match=f"graph: the {add} is sparse, as inputs alone may be: pass it as an input"):
            getattr(g, add)(x)
    with pytest.raises(tarsia.ArgumentTypeError, match="graph: the state is written to, and sparse tensors cannot be"):
        g.state(x)


def test_what_is_no_tensor_of_a_graph_is_told_why():
    g, _ = simple()
    strided, fixed = Capsules(np.arange(8, dtype=F)[::2]), ones(3)
    fixed.flags.writeable = False
    for add in ("constant", "parameter", "state"):
        with pytest.raises(tarsia.ArgumentTypeError, match=f"graph: the {add} must be a tensor of numbers, such as a NumPy array, got list"):
            getattr(g, add)([1.0])
        with pytest.raises(tarsia.ArgumentValueError, match=f"graph: the {add} is not contiguous: pass a contiguous copy"):
            getattr(g, add)(strided)
    with pytest.raises(tarsia.ArgumentValueError, match="graph: the state is written to, but is read-only; pass a copy"):
        g.state(fixed)
    with pytest.raises(tarsia.ArgumentTypeError, match="graph: input 'x' .*object"):
        g(np.array([None]))


# ---- building

def test_a_value_of_another_graph_is_refused_everywhere():
    g, x = simple()
    other, y = simple()
    uses = [
        lambda: g.gr_neg(y), lambda: g.gr_add(x, y), lambda: g.gr_add(y, x), lambda: tarsia.ops.gr_add(x, y), lambda: g.add("gr_neg", y),
        lambda: g.output(y), lambda: g.gradient(y, wrt=x), lambda: g.gradient(x, wrt=y), lambda: g.gradient(x, wrt=[x, y]),
        lambda: g.gradient(x, wrt=x, seed=y), lambda: g.gr_sum_of(x, x, y),
    ]
    nodes = g.nodes
    for use in uses:
        with pytest.raises(tarsia.Error, match="another graph"):
            use()
    assert g.nodes == nodes and g.outputs == ["y"] and g(x=ones(1)).tolist() == [2]


@pytest.mark.parametrize("given", [ones(2), [1.0, 2.0], 3.0, "x", object()], ids=["array", "list", "number", "text", "object"])
def test_what_is_no_value_is_refused_as_an_input_of_an_op(given):
    g, x = simple()
    for use in (lambda: g.gr_add(x, given), lambda: tarsia.ops.gr_add(x, given), lambda: tarsia.ops.gr_add(given, x), lambda: g.add("gr_add", given, x)):
        with pytest.raises(tarsia.Error, match="gr_add|value"):
            use()
    with pytest.raises(tarsia.Error, match="value"):
        g.output(given)


def test_an_array_given_as_a_value_says_how_arrays_go_in():
    g, x = simple()
    with pytest.raises(TypeError, match=graph_error("gr_add|constant|parameter")):
        tarsia.ops.gr_add(x, ones(2))


def test_an_unknown_op_is_an_error_with_a_suggestion():
    g, x = simple()
    for use in (lambda: g.gr_squar(x), lambda: g.add("gr_squar", x), lambda: tarsia.ops.gr_squar(x)):
        with pytest.raises(tarsia.NotFound, match=graph_error("gr_squar|gr_square")):
            use()
    assert not hasattr(g, "gr_squar")


def test_an_op_is_a_name_or_an_op():
    g, x = simple()
    for op in (3, None, object(), b"gr_neg"):
        with pytest.raises(tarsia.Error):
            g.add(op, x)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_wrong_number_of_inputs_names_the_op(count):
    g, x = simple()
    with pytest.raises(tarsia.Error, match="gr_add"):
        g.gr_add(*[x] * count)


def test_an_input_that_is_no_optional_one_cannot_be_absent():
    g, x = simple()
    with pytest.raises(tarsia.Error, match=graph_error("gr_add|'a'")):
        g.gr_add(None, x)


@pytest.mark.parametrize(("attributes", "words"), [
    ({"factr": 2.0}, "gr_scale|factr|factor"), ({"factor": "much"}, "gr_scale|factor"), ({"factor": None}, "gr_scale|factor"),
    ({"factor": [1.0]}, "gr_scale|factor"), ({"factor": object()}, "gr_scale|factor"),
])
def test_wrong_attributes_name_the_op_and_the_attribute(attributes, words):
    g, x = simple()
    with pytest.raises(tarsia.Error, match=graph_error(words)):
        g.gr_scale(x, **attributes)
    assert g(x=ones(1)).tolist() == [2]


def test_an_attribute_that_is_required_is_missed_when_the_node_is_made(load_text):
    load_text('#include <tarsia/op.h>\nTARSIA_OP(gr_required).attribute<int>("must").forward("cpu", [](tarsia::Context&) {});')
    g, x = simple()
    with pytest.raises(tarsia.Error, match=graph_error("gr_required|must")):
        g.gr_required(x)


def test_errors_name_the_graph_once():
    g, x = simple()
    with pytest.raises(tarsia.Error, match="^graph, node 'x': there is a 'x' already"):
        g.gr_neg(x, name="x")
    with pytest.raises(tarsia.Error, match="^graph, gr_neg: a value of the graph is needed, not int"):
        g.gr_neg(1)
    with pytest.raises(tarsia.Error, match="^graph: a value of the graph is needed, not int"):
        g.output(1)


def test_names_are_given_once():
    g, x = simple()
    for use in (lambda: g.input("x"), lambda: g.input("plus"), lambda: g.gr_neg(x, name="plus"), lambda: g.gr_neg(x, name="x"),
                lambda: g.constant(ones(1), name="x"), lambda: g.parameter(ones(1), name="plus"), lambda: g.state(ones(1), name="plus")):
        with pytest.raises(tarsia.Error, match="already"):
            use()
    with pytest.raises(tarsia.Error, match=graph_error("'y'|already")):
        g.output(x, name="y")
    assert g.inputs == ["x"] and g.outputs == ["y"] and g(x=ones(1)).tolist() == [2]


@pytest.mark.parametrize("name", ["", "1x", "a b", "a:0", "a.b", "a\0b", "ä"])
def test_names_are_identifiers(name):
    g, x = simple()
    uses = [lambda: g.input(name)]
    if name:  # otherwise a name is made up
        uses += [lambda: g.gr_neg(x, name=name), lambda: g.output(x, name=name), lambda: g.constant(ones(1), name=name)]
    for use in uses:
        with pytest.raises(tarsia.Error, match="name"):
            use()


@pytest.mark.parametrize("name", [3, None, b"x", ["x"]])
def test_names_are_texts(name):
    g, x = simple()
    with pytest.raises(tarsia.Error):
        g.input(name)
    if name is not None:
        for use in (lambda: g.gr_neg(x, name=name), lambda: g.output(x, name=name), lambda: g.constant(ones(1), name=name)):
            with pytest.raises(tarsia.Error):
                use()


@pytest.mark.parametrize("options", [{"shape": 3.5}, {"shape": "ab"}, {"shape": (-2,)}, {"shape": (2**63,)}, {"shape": (1,) * 33}, {"dtype": "float31"},
                                     {"dtype": 3}, {"storage": "wood"}, {"storage": 3}])
def test_an_input_of_an_impossible_kind_is_refused(options):
    with pytest.raises(tarsia.Error):
        tarsia.Graph().input("x", **options)


@pytest.mark.parametrize("device", ["tpu", "gpu:", "gpu:x", "gpu:-1", "cpu:7", 3, "gpu:99999999999999999999"])
def test_an_unknown_device_is_refused(device):
    g, x = simple()
    with pytest.raises(tarsia.Error):
        g.output(g.gr_neg(x, device=device))
        g.bind(x=((1,), "float32"))
    with pytest.raises(tarsia.Error):
        g.bind(x=((1,), "float32", device))


@pytest.mark.parametrize("name", ["nowhere", "", "x:1", "x:one", "x:-1", "x:0:0", "plus:99999999999999999999"])
def test_an_unknown_value_is_refused(name):
    with pytest.raises(tarsia.Error, match="value"):
        simple()[0].value(name)


def test_a_failed_node_leaves_the_graph_as_it_was():
    g, x = simple()
    before = (g.nodes, g.to_json())
    for use in (lambda: g.gr_add(x), lambda: g.gr_scale(x, factor="much", name="bad"), lambda: g.gr_neg(x, name="a b")):
        with pytest.raises(tarsia.Error):
            use()
    assert (g.nodes, g.to_json()) == before
    g.output(g.gr_neg(x, name="bad"))


# ---- binding

def test_a_graph_without_outputs_is_not_bound():
    g = tarsia.Graph()
    g.gr_neg(g.input("x"))
    for use in (lambda: g.bind(x=((1,), "float32")), lambda: g(x=ones(1)), lambda: g.register("gr_no_outputs")):
        with pytest.raises(tarsia.Error, match="output"):
            use()


def test_a_missing_input_is_named():
    g = two_inputs()
    bound = g.bind(first=((2,), "float32"), second=((2,), "float32"))
    uses = [lambda: g.bind(first=((2,), "float32")), lambda: g(first=ones(2)), lambda: g(ones(2)), lambda: bound(first=ones(2)), lambda: bound(ones(2))]
    for use in uses:
        with pytest.raises(tarsia.Error, match="second"):
            use()
    for use in (lambda: g.bind(), lambda: g(), lambda: bound()):
        with pytest.raises(tarsia.Error, match="first"):
            use()


def test_an_unknown_input_is_named():
    g, _ = simple()
    bound = g.bind(x=((2,), "float32"))
    for use in (lambda: g.bind(x=((2,), "float32"), z=((2,), "float32")), lambda: g(x=ones(2), z=ones(2)), lambda: g(ones(2), z=ones(2)),
                lambda: bound(x=ones(2), z=ones(2)), lambda: bound(ones(2), z=ones(2))):
        with pytest.raises(tarsia.Error, match=graph_error("'z'|x")):
            use()


def test_an_input_that_is_given_twice_is_named():
    g = two_inputs()
    bound = g.bind(first=((2,), "float32"), second=((2,), "float32"))
    for use in (lambda: g(ones(2), ones(2), first=ones(2)), lambda: bound(ones(2), ones(2), first=ones(2)), lambda: bound(ones(2), first=ones(2), second=ones(2))):
        with pytest.raises(tarsia.Error, match=graph_error("first|twice")):
            use()


def test_too_many_inputs_are_refused():
    g, _ = simple()
    bound = g.bind(x=((2,), "float32"))
    with pytest.raises(tarsia.Error):
        bound(ones(2), ones(2))
    with pytest.raises(tarsia.Error):
        g(ones(2), ones(2))


@pytest.mark.parametrize("spec", [None, 3, "float32", (), ((2,),), (2, 3, 4, 5, 6), ((2,), "float32", "cpu", "dense", 1), ((-2,), "float32"), ((2.5,), "float32"),
                                  (("a",), "float32"), ((2**62, 2**62), "float32"), ((2,), "float31"), ((2,), 7), ("ab", "float32"), ((2,), "float32", "tpu"),
                                  ((2,), "float32", "cpu", "wood"), ((1,) * 33, "float32"), [1.0, 2.0],
                                  pytest.param(object(), id="object")], ids=repr)
def test_an_impossible_input_is_refused_when_it_is_bound(spec):
    g, _ = simple()
    with pytest.raises(tarsia.Error, match="x|shape|dtype|device|storage|extent|memory"):
        g.bind(x=spec)


def test_inputs_on_several_devices_are_refused():
    g = two_inputs()
    with pytest.raises(tarsia.Error, match=graph_error("device|first|second")):
        g.bind(first=((2,), "float32", "cpu"), second=((2,), "float32", "gpu"))
    with pytest.raises(tarsia.Error, match=graph_error("device|first|second")):
        g.bind(first=((2,), "float32", "gpu:0"), second=((2,), "float32", "gpu:1"))


def test_an_op_without_an_implementation_for_the_device_is_named():
    g, _ = simple()
    with pytest.raises(tarsia.Error, match="plus|GPU|gpu|CUDA"):
        g.bind(x=((2,), "float32", "gpu"))


def test_an_op_without_an_implementation_for_these_inputs_is_named(load_text):
    load_text('#include <tarsia/op.h>\nTARSIA_OP(gr_only_two).forward("cpu", [](tarsia::Context&) {})'
              '.when([](const tarsia::BindInfo& i) { return i.input(0).size(0) == 2; });')
    g = tarsia.Graph()
    g.output(g.gr_only_two(g.input("x"), name="picky"))
    g.bind(x=((2,), "float32"))
    with pytest.raises(tarsia.Unsupported, match=graph_error("picky|gr_only_two")):
        g.bind(x=((3,), "float32"))


def test_an_error_of_inference_comes_with_its_kind_and_its_node():
    g = tarsia.Graph()
    g.output(g.gr_matmul(g.input("a"), g.input("b"), name="product"))
    with pytest.raises(ValueError, match=graph_error("product|gr_matmul|matrices are needed")):
        g.bind(a=((2, 3), "float32"), b=((3,), "float32"))


# ---- calling

@pytest.mark.parametrize("given", [np.ones(3, F), np.ones((2, 1), F), np.ones(2), np.ones(2, np.int32), [1.0, 2.0], 3.0, None, "text"], ids=repr)
def test_an_input_of_another_kind_than_was_bound_is_refused(given):
    g, _ = simple()
    bound = g.bind(x=((2,), "float32"))
    with pytest.raises(tarsia.Error, match="x"):
        bound(x=given)
    assert bound(x=ones(2)).tolist() == [2, 2]


@pytest.mark.parametrize("given", [[1.0, 2.0], 3.0, None, "text", object()], ids=["list", "number", "None", "text", "object"])
def test_a_graph_is_called_with_arrays(given):
    g, _ = simple()
    with pytest.raises(tarsia.Error, match="x"):
        g(x=given)


def test_an_op_that_throws_names_its_node_and_the_graph_works_afterwards():
    g = tarsia.Graph()
    x = g.input("x")
    g.output(g.gr_plain(x))
    g.output(g.gr_neg(g.gr_checked(g.gr_plain(x), name="strict")))
    bound = g.bind(x=((2,), "float32"))
    for _ in range(3):
        with pytest.raises(ValueError, match=graph_error("strict|gr_checked|a number is negative")) as caught:
            bound(x=-5 * ones(2))
        assert isinstance(caught.value, tarsia.OpValueError)
        first, second = bound(x=ones(2))
        assert first.tolist() == [2, 2] and second.tolist() == [-2, -2]


def test_an_error_keeps_its_kind():
    g = tarsia.Graph()
    g.output(g.gr_take(g.input("table"), g.input("rows"), name="lookup"))
    bound = g.bind(table=((3, 2), "float32"), rows=((1,), "int64"))
    with pytest.raises(IndexError, match=graph_error("lookup|there is no row 7")):
        bound(table=ones(3, 2), rows=np.array([7]))
    assert bound(table=ones(3, 2), rows=np.array([2])).tolist() == [[1, 1]]


def test_the_first_of_two_errors_is_told():
    g = tarsia.Graph()
    x = g.input("x")
    g.output(g.gr_checked(x, name="one"))
    g.output(g.gr_checked(x, name="two"))
    with pytest.raises(ValueError, match="'one'"):
        g(x=-ones(2))


def test_a_failed_call_leaves_the_inputs_alone():
    g = tarsia.Graph()
    x = g.input("x")
    g.output(g.gr_checked(g.gr_neg(g.gr_plain(x))))
    given = ones(4)
    with pytest.raises(ValueError):
        g(x=given)
    assert given.tolist() == [1] * 4


def test_errors_in_many_threads_stay_with_their_threads():

    g = tarsia.Graph()
    g.output(g.gr_take(g.input("table"), g.input("rows")))
    bound = g.bind(table=((3, 2), "float32"), rows=((1,), "int64"))
    wrong = []

    def call(number):
        for _ in range(30):
            try:
                bound(table=ones(3, 2), rows=np.array([number]))
                if number >= 3:
                    wrong.append((number, "no error"))
            except IndexError as error:
                if number < 3 or f"there is no row {number} (" not in str(error):
                    wrong.append((number, str(error)))

    at_once(call, range(8))
    assert not wrong


def test_an_op_of_python_that_raises_names_its_node():
    @tarsia.define_op
    def gr_python(x, y):
        if x[0] < 0:
            raise KeyError("negative")
        y[...] = x + 1

    g = tarsia.Graph()
    g.output(g.gr_python(g.gr_plain(g.input("x")), name="pythonic"))
    bound = g.bind(x=((2,), "float32"))
    assert bound(x=ones(2)).tolist() == [3, 3]
    with pytest.raises(Exception, match="pythonic") as caught:
        bound(x=-5 * ones(2))
    assert isinstance(caught.value, (tarsia.Error, KeyError))
    assert bound(x=ones(2)).tolist() == [3, 3]


def test_inputs_named_like_options_work_or_are_refused():
    for name in ("out", "req", "differentiable", "self"):
        g = tarsia.Graph()
        try:
            x = g.input(name)
        except tarsia.Error as error:
            assert name in str(error)
            continue
        g.output(g.gr_plain(x))
        bound = g.bind(**{name: ((2,), "float32")})
        assert bound(ones(2)).tolist() == [2, 2]
        assert g(ones(2)).tolist() == [2, 2]


def test_an_input_of_a_graph_is_no_function_list_array_or_number():
    _, x = simple()
    for use in (lambda: x(), lambda: x[0], lambda: np.asarray(x), lambda: len(x), lambda: float(x)):
        with pytest.raises((TypeError, tarsia.Error)):
            use()
