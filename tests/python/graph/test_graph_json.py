"""Graphs are written as JSON and read back, and what is wrong in it is said, with the node's name."""

import json
import math
import os
import subprocess
import sys

import numpy as np
import pytest
from graph_models import FOLDER, graph_error, transformer

import tarsia

F = np.float32


def again(g):
    return tarsia.Graph.from_json(g.to_json())


def small():
    """A graph that has every kind of node: as JSON, for changes."""
    g = tarsia.Graph()
    x = g.input("x", shape=(None, 3), dtype="float64")
    c, p = g.constant(np.ones((2, 3)), name="c"), g.parameter(np.full((2, 3), 2.0), name="p")
    total = g.state(np.zeros((2, 3)), name="total")
    a = g.gr_add(x, c, name="a")
    s, t = g.gr_split(a, name="s")
    y = g.gr_mul(g.gr_scale(s, name="scaled", factor=0.25), g.gr_mul(t, p, name="m"), name="y")
    g.output(y)
    g.output(g.gradient(g.gr_add(y, g.gr_square(a, name="q"), name="loss"), wrt=x), name="dx")
    g.output(g.gr_running(a, total, name="r"))
    return json.loads(g.to_json())


def node(graph, name):
    return next(n for n in graph["nodes"] if n["name"] == name)


def read(graph):
    return tarsia.Graph.from_json(graph if isinstance(graph, str) else json.dumps(graph))


# ---- there and back

def test_a_graph_with_every_kind_of_node_gives_the_same_after_a_round_trip():
    text = json.dumps(small())
    first, second = read(text), read(read(text).to_json())
    assert first.inputs == second.inputs and first.outputs == second.outputs and first.nodes == second.nodes
    x = np.arange(6.0).reshape(2, 3)
    for one, other in zip(first(x=x), second(x=x)):
        assert one.tobytes() == other.tobytes()


def test_json_is_readable():
    graph = small()
    assert graph["version"] == 1 and isinstance(graph["format"], str)
    scaled = node(graph, "scaled")
    assert scaled["op"] == "gr_scale" and scaled["attributes"] == {"factor": 0.25} and scaled["inputs"] == ["s:0"]
    assert "\n" in read(json.dumps(graph)).to_json()


def test_a_transformer_gives_the_same_after_a_round_trip():
    model = transformer(layers=1, tokens=16, width=16)
    model.output(model.last)
    for gradient in model.graph.gradient(model.values[model.last], wrt=[model.values[model.inputs["x"]]]):
        model.graph.output(gradient)
    arrays = model.draw(1)
    for one, other in zip(model.graph(**arrays), again(model.graph)(**arrays)):
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "int32", "int64", "uint64", "float16", "float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 5)])
def test_tensors_of_every_dtype_and_shape_go_through(dtype, shape):
    array = np.asarray(np.random.default_rng(1).integers(0, 3, shape)).astype(dtype)
    g = tarsia.Graph()
    for kind in ("constant", "parameter", "state"):
        g.output(getattr(g, kind)(array.copy()))
    for result in again(g)():
        assert result.shape == shape and str(result.dtype) == dtype and result.tobytes() == array.tobytes()


def test_numbers_that_are_no_ordinary_ones_go_through_in_tensors():
    array = np.array([math.inf, -math.inf, math.nan, -0.0, 5e-324, 1.7976931348623157e308])
    g = tarsia.Graph()
    g.output(g.constant(array))
    assert again(g)().tobytes() == array.tobytes()


ATTRIBUTES = [
    {},
    {"flag": True},
    {"flag": False},
    {"count": -(2**63)},
    {"count": 2**63 - 1},
    {"large": 2**64 - 1},
    {"level": 0.1},
    {"level": 1e308},
    {"level": 5e-324},
    {"level": -0.0},
    {"level": 3},
    {"level": math.inf},
    {"level": -math.inf},
    {"level": math.nan},
    {"word": ""},
    {"word": "Käse, \"quoted\" \\ and\nlines \t 漢字 😀"},
    {"word": "inf"},
    {"word": "3"},
    {"word": "None"},
    {"sizes": []},
    {"sizes": [3, -4, 5]},
    {"levels": [0.5, math.inf, -1]},
    {"words": ["a", "", "bc"]},
    {"maybe": None},
    {"maybe": 0.0},
    {"maybe": math.inf},
    {"flag": True, "count": 7, "level": 0.75, "word": "w", "sizes": [9], "levels": [1.5], "words": ["x"], "maybe": 2.5},
]


@pytest.mark.parametrize("attributes", ATTRIBUTES, ids=[repr(a) for a in ATTRIBUTES])
def test_attributes_of_every_kind_go_through(attributes):
    g = tarsia.Graph()
    g.output(g.gr_attributes(g.input("x"), **attributes))
    wanted = tarsia.ops.gr_attributes(np.ones(1, F), **attributes)
    assert g(x=np.ones(1, F)).tobytes() == wanted.tobytes()
    assert again(g)(x=np.ones(1, F)).tobytes() == wanted.tobytes()
    assert again(g).to_json() == g.to_json()
    json.loads(g.to_json(), parse_constant=lambda text: pytest.fail(f"{text} is no JSON"))


def test_attributes_may_be_texts_as_in_calls():
    graph = {"format": "tarsia-graph", "version": 1, "outputs": [{"name": "y", "value": "y"}], "nodes": [
        {"name": "x", "kind": "input", "shape": None, "dtype": None, "storage": "dense"},
        {"name": "y", "kind": "op", "op": "gr_scale", "inputs": ["x"], "attributes": {"factor": "2.5"}}]}
    assert read(graph)(x=np.ones(2, F)).tolist() == [2.5, 2.5]


def test_absent_inputs_and_devices_go_through():
    g = tarsia.Graph()
    x = g.input("x")
    g.output(g.gr_biased(x, None, device="cpu", name="b"))
    assert node(json.loads(g.to_json()), "b")["inputs"] in (["x", None], ["x"])
    assert again(g)(x=np.ones(2, F)).tolist() == [1, 1]


def test_what_an_input_says_of_itself_goes_through():
    g = tarsia.Graph()
    g.output(g.gr_neg(g.input("x", shape=(None, 3), dtype="float32")))
    with pytest.raises(tarsia.Error, match="'x'"):
        again(g).bind(x=((2, 4), "float32"))


def test_nodes_stand_in_any_order():
    graph = small()
    wanted = read(graph)(x=np.ones((2, 3)))
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(len(graph["nodes"]))
        mixed = {**graph, "nodes": [graph["nodes"][i] for i in order]}
        assert [r.tobytes() for r in read(mixed)(x=np.ones((2, 3)))] == [r.tobytes() for r in wanted]
    backwards = {**graph, "nodes": graph["nodes"][::-1]}
    assert sorted(read(backwards).nodes) == sorted(read(graph).nodes)


def test_the_order_of_inputs_is_that_of_the_text():
    g = tarsia.Graph()
    b, a = g.input("b"), g.input("a")
    g.output(g.gr_sub(a, b))
    assert again(g).inputs == ["b", "a"]
    assert again(g)(np.full(1, 3.0), np.full(1, 10.0)).tolist() == [7]


def test_an_order_that_changes_a_state_stays():
    g = tarsia.Graph()
    x, s = g.input("x"), g.state(np.zeros(1))
    g.output(g.gr_scale(s, factor=10.0))
    g.output(g.gr_running(x, s))
    g.output(g.gr_scale(s, factor=100.0))
    assert [float(y[0]) for y in again(g)(x=np.ones(1))] == [0, 1, 100]


@pytest.mark.parametrize("backwards", [False, True])
def test_a_graph_of_five_thousand_nodes_in_a_row_goes_through(backwards):
    g = tarsia.Graph()
    value = g.input("x")
    for _ in range(5000):
        value = g.gr_neg(value)
    g.output(value)
    graph = json.loads(g.to_json())
    if backwards:
        graph["nodes"].reverse()
    assert read(graph)(x=np.ones(2, F)).tolist() == [1, 1]


def test_graphs_as_ops_go_through_by_their_name():
    inner = tarsia.Graph()
    inner.output(inner.gr_plain(inner.input("x")))
    inner.register("gr_json_inner")
    g = tarsia.Graph()
    g.output(g.gr_json_inner(g.gr_json_inner(g.input("x"))))
    assert again(g)(x=np.ones(2, F)).tolist() == [3, 3]


def test_a_graph_that_was_read_grows_as_any_other():
    g = read(small())
    g.output(g.gr_neg(g.value("a")), name="more")
    assert g(x=np.ones((2, 3)))[-1].tolist() == [[-2] * 3] * 2


# ---- what is wrong is said

def change(of, /, **fields):
    """Gives a node other fields; ... takes a field away."""
    def make(graph):
        for field, value in fields.items():
            if value is ...:
                del node(graph, of)[field]
            else:
                node(graph, of)[field] = value
    return make


def change_gradient(**fields):
    return lambda graph: next(n for n in graph["nodes"] if n.get("of") == "a").update(fields)


def top(**fields):
    def make(graph):
        for field, value in fields.items():
            if value is ...:
                del graph[field]
            else:
                graph[field] = value
    return make


def cycle(graph):
    node(graph, "a")["inputs"] = ["y", "c"]


def output(**fields):
    return lambda graph: graph["outputs"][0].update(fields)


WRONG = {
    "another format": (top(format="onnx"), "format"),
    "no format": (top(format=...), "format"),
    "a format that is no text": (top(format=1), "format"),
    "a later version": (top(version=2), "2"),
    "a version that is a text": (top(version="1"), "version"),
    "a version that is no whole number": (top(version=1.0), "version 1.0 is not known"),
    "no version": (top(version=...), "version"),
    "an unknown field": (top(author="me"), "author"),
    "no nodes": (top(nodes=...), "nodes"),
    "nodes that are no list": (top(nodes={}), "nodes"),
    "a node that is no object": (lambda graph: graph["nodes"].append(3), "node"),
    "no outputs": (top(outputs=...), "outputs"),
    "outputs that are no list": (top(outputs="y"), "outputs"),
    "an output that is no object": (top(outputs=["y"]), "output"),
    "an output of an unknown value": (output(value="nowhere"), "nowhere"),
    "an output with an unknown field": (output(colour="red"), "colour"),
    "an output whose name is no name": (output(name="a b"), "a b"),
    "two outputs of one name": (lambda graph: graph["outputs"].append(dict(graph["outputs"][0])), "y"),
    "an output of an index that is not there": (output(value="s:2"), "s:2"),
    "a node without name": (change("a", name=...), "name"),
    "a node whose name is a number": (change("a", name=7), "name"),
    "a node whose name is empty": (lambda graph: graph["nodes"].append({**node(graph, "q"), "name": ""}), "name"),
    "a node whose name is no name": (lambda graph: graph["nodes"].append({**node(graph, "q"), "name": "q q"}), "q q"),
    "two nodes of one name": (lambda graph: graph["nodes"].append(dict(node(graph, "a"))), "'a'"),
    "a node without kind": (change("a", kind=...), "'a'|kind"),
    "an unknown kind": (change("a", kind="loop"), "'a'|loop"),
    "an unknown field of a node": (change("a", colour="red"), "'a'|colour"),
    "an unknown field of an input": (change("x", colour="red"), "'x'|colour"),
    "an unknown field of a tensor": (change("c", colour="red"), "'c'|colour"),
    "a field of another kind of node": (change("a", data=""), "'a'|data"),
    "an input that is missing": (change("a", inputs=["x", "nowhere"]), "'a'|nowhere"),
    "an index that is missing": (change("y", inputs=["s:2", "m"]), "'y'|s:2"),
    "an index that is no number": (change("y", inputs=["s:one", "m"]), "'y'|s:one"),
    "an index below zero": (change("y", inputs=["s:-1", "m"]), "'y'|s:-1"),
    "an enormous index": (change("y", inputs=["s:99999999999999999999", "m"]), "'y'"),
    "two indices": (change("y", inputs=["s:0:0", "m"]), "'y'"),
    "inputs that are no list": (change("a", inputs="x"), "'a'|inputs"),
    "an input that is a number": (change("a", inputs=["x", 3]), "'a'|inputs"),
    "too few inputs": (change("a", inputs=["x"]), "'a'"),
    "too many inputs": (change("a", inputs=["x", "c", "c"]), "'a'"),
    "an input that must not be absent": (change("a", inputs=["x", None]), "'a'"),
    "no inputs": (change("a", inputs=...), "'a'|inputs"),
    "a node that depends on itself": (change("a", inputs=["a", "c"]), "'a'"),
    "nodes in a circle": (cycle, "itself"),
    "an unknown op": (change("a", op="gr_ad"), "'a'|gr_ad"),
    "an op whose name is a number": (change("a", op=3), "'a'|op"),
    "no op": (change("a", op=...), "'a'|op"),
    "an unknown attribute": (change("scaled", attributes={"factr": 2}), "'scaled'|factr"),
    "an attribute of another type": (change("scaled", attributes={"factor": "much"}), "'scaled'|factor"),
    "an attribute that is an object": (change("scaled", attributes={"factor": {}}), "'scaled'"),
    "attributes that are a list": (change("scaled", attributes=[]), "'scaled'|attributes"),
    "no attributes": (change("scaled", attributes=...), "'scaled'|attributes"),
    "an unknown device": (change("a", device="tpu"), "'a'|tpu"),
    "a device that is a number": (change("a", device=0), "'a'|device"),
    "a shape that is a number": (change("x", shape=3), "'x'|shape"),
    "an extent below zero": (change("x", shape=[-1, 3]), "'x'|extent"),
    "an extent that is a text": (change("x", shape=["n", 3]), "'x'|extent"),
    "an extent that is no integer": (change("x", shape=[1.5, 3]), "'x'|extent"),
    "an extent beyond 64 bits": (change("x", shape=[2**63, 3]), "'x'|extent"),
    "33 dimensions": (change("x", shape=[1] * 33), "'x'|32"),
    "no shape": (change("x", shape=...), "'x'|shape"),
    "an unknown dtype": (change("x", dtype="float31"), "'x'|float31"),
    "a dtype that is a number": (change("x", dtype=1), "'x'|dtype"),
    "an unknown storage": (change("x", storage="wood"), "'x'|wood"),
    "a tensor without data": (change("c", data=...), "'c'|data"),
    "data that is no base64": (change("c", data="!!!"), "'c'|data"),
    "data that is too short": (change("c", data="AAAA"), "'c'|data"),
    "no data at all": (change("c", data=""), "'c'|data"),
    "data that is too long": (lambda graph: node(graph, "c").update(data="AAAA" + node(graph, "c")["data"]), "'c'|data"),
    "data that is a list": (change("c", data=[0] * 48), "'c'|data"),
    "data without its last character": (lambda graph: node(graph, "p").update(data=node(graph, "p")["data"][:-1]), "'p'|data"),
    "a tensor of an unknown shape": (change("c", shape=[None, 3]), "'c'|shape"),
    "a tensor of an unknown dtype": (change("c", dtype=None), "'c'|dtype"),
    "a tensor that no memory holds": (change("c", shape=[2**40, 2**40]), "'c'"),
    "a tensor that would fill all memory": (change("c", shape=[2**50]), "'c'"),
    "a gradient of a node that is missing": (change_gradient(of="nowhere"), "nowhere"),
    "a gradient of an input": (change_gradient(of="x"), "gradient"),
    "a gradient of nothing": (change_gradient(of=None), "of"),
    "a gradient of itself": (lambda graph: next(n for n in graph["nodes"] if n.get("of") == "a").update(of=next(n for n in graph["nodes"] if n.get("of") == "a")["name"]), "itself"),
    "a gradient with too few inputs": (change_gradient(inputs=["x"]), "gradient"),
    "a gradient that wants nothing known": (change_gradient(wanted=[1, 0]), "wanted"),
    "a gradient that wants too much": (change_gradient(wanted=[True] * 3), "gradient"),
    "a gradient that adds to what is missing": (change_gradient(add_to=["nowhere", None]), "nowhere"),
    "a gradient that adds too often": (change_gradient(add_to=[None] * 3), "gradient"),
    "a sum of one": (lambda graph: graph["nodes"].append({"name": "z", "kind": "sum", "inputs": ["a"]}), "'z'"),
    "a sum of an absent value": (lambda graph: graph["nodes"].append({"name": "z", "kind": "sum", "inputs": ["a", None]}), "'z'"),
    "a fill without number": (lambda graph: graph["nodes"].append({"name": "z", "kind": "fill", "inputs": ["a"]}), "'z'|number"),
    "a fill with a text": (lambda graph: graph["nodes"].append({"name": "z", "kind": "fill", "inputs": ["a"], "number": "one"}), "'z'|number"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_an_error_that_names_the_node(what):
    make, words = WRONG[what]
    graph = small()
    make(graph)
    with pytest.raises(tarsia.Error, match="(?s)" + graph_error(words)):
        read(graph)


@pytest.mark.parametrize("text", ["", "{", "nonsense", "[]", "null", "3", '"text"', "{}", "[" * 100_000, '{"a":' * 100_000, "\x00", "\ufeff{}", "{}{}", "{'a': 1}"])
def test_what_is_no_graph_is_an_error(text):
    with pytest.raises(tarsia.Error, match="JSON|graph"):
        read(text)


def test_something_behind_the_graph_is_an_error():
    with pytest.raises(tarsia.Error):
        read(json.dumps(small()) + "x")


def test_text_that_cannot_be_encoded_is_an_error():
    with pytest.raises(tarsia.Error):
        read(json.dumps(small()).replace('"scaled"', '"\ud800"'))


def test_a_field_that_stands_twice_is_an_error():
    text = json.dumps(small())
    assert text.count('"version": 1') == 1
    with pytest.raises(tarsia.Error, match="version"):
        read(text.replace('"version": 1', '"version": 1, "version": 1'))


@pytest.mark.parametrize("where", ["nodes", "outputs"])
def test_a_graph_without_nodes_or_outputs_is_read_but_not_bound(where):
    graph = small()
    graph["outputs"] = []
    if where == "nodes":
        graph["nodes"] = []
    with pytest.raises(tarsia.Error, match="output"):
        read(graph).bind(**({"x": ((2, 3), "float64")} if where == "outputs" else {}))


@pytest.mark.parametrize("length", [2, 3, 1000])
def test_circles_of_any_length_are_found(length):
    nodes = [{"name": f"n{i}", "kind": "op", "op": "gr_neg", "attributes": {}, "inputs": [f"n{(i + 1) % length}"]} for i in range(length)]
    with pytest.raises(tarsia.Error, match=r"node 'n\d+'.*itself"):
        read({"format": "tarsia-graph", "version": 1, "nodes": nodes, "outputs": [{"name": "y", "value": "n0"}]})


def test_a_diamond_is_no_circle():
    nodes = [{"name": "x", "kind": "input", "shape": None, "dtype": None, "storage": "dense"}]
    for i in range(40):
        before = nodes[-1]["name"]
        nodes += [{"name": f"{side}{i}", "kind": "op", "op": "gr_scale", "attributes": {}, "inputs": [before]} for side in "lr"]
        nodes.append({"name": f"n{i}", "kind": "op", "op": "gr_add", "attributes": {}, "inputs": [f"l{i}", f"r{i}"]})
    for order in (nodes, nodes[::-1]):
        g = read({"format": "tarsia-graph", "version": 1, "nodes": order, "outputs": [{"name": "y", "value": "n39"}]})
        assert g(x=np.ones(1)).tolist() == [1]


def test_a_node_whose_inputs_are_all_one_value_is_no_circle():
    nodes = [{"name": "y", "kind": "op", "op": "gr_sum_of", "attributes": {}, "inputs": ["a", "a", "x", "a"]},
             {"name": "a", "kind": "op", "op": "gr_add", "attributes": {}, "inputs": ["x", "x"]},
             {"name": "x", "kind": "input", "shape": None, "dtype": None, "storage": "dense"}]
    assert read({"format": "tarsia-graph", "version": 1, "nodes": nodes, "outputs": [{"name": "y", "value": "y"}]})(x=np.ones(1)).tolist() == [7]


# ---- whatever the text, the process lives

def in_a_process(code):
    """Runs code in a process of its own, in which the ops are loaded."""
    paths = os.environ["TARSIA_TEST_GRAPH_OPS"].split(os.pathsep)
    head = f"import json, random, sys\nsys.path[:0] = {[str(FOLDER), *sys.path]!r}\nimport numpy as np\nimport tarsia\nfor path in {paths!r}:\n    tarsia.load(path)\n"
    done = subprocess.run([sys.executable, "-c", head + code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, (done.returncode, done.stdout[-2000:], done.stderr[-2000:])
    return done.stdout


def test_attributes_within_attributes_are_an_error_however_deep():
    in_a_process("""
graph = '{"format": "tarsia-graph", "version": 1, "outputs": [], "nodes": [{"name": "y", "kind": "op", "op": "gr_scale", "inputs": [], "attributes": {"factor": %s}}]}'
for depth in (10, 1000, 300_000):
    try:
        tarsia.Graph.from_json(graph % ("[" * depth + "]" * depth))
    except tarsia.Error as error:
        assert len(str(error)) < 10_000
    else:
        raise AssertionError(depth)
""")


def test_texts_that_were_changed_at_random_are_read_or_refused():
    out = in_a_process("""
from test_graph_json import small
whole = small()
counts = {"refused": 0, "bound": 0, "not bound": 0}
pool = [None, True, 0, -1, 3, 2**40, 2**63, 1.5, "", "x", "a", "s:1", "s", "y", "dx", "nowhere", "op", "input", "gradient", "sum", "fill", [], {}, ["x"], ["a", "a"], [None, None], [True, True]]

def places(at):
    for key in (at if isinstance(at, dict) else range(len(at))):
        yield at, key
        if isinstance(at[key], (dict, list)):
            yield from places(at[key])

for seed in range(400):
    draw = random.Random(seed)
    graph = json.loads(json.dumps(whole))
    for _ in range(draw.choice([1, 1, 2, 3])):
        at, key = draw.choice(list(places(graph)))
        what = draw.random()
        if what < 0.2:
            del at[key]
        elif what < 0.6:
            at[key] = draw.choice(pool)
        else:
            others = [other[k] for other, k in places(graph)]
            at[key] = json.loads(json.dumps(draw.choice(others)))
    print(seed, file=sys.stderr)
    try:
        g = tarsia.Graph.from_json(json.dumps(graph))
    except tarsia.Error:
        counts["refused"] += 1
        continue
    tarsia.Graph.from_json(g.to_json())
    try:
        bound = g.bind(**{name: ((2, 3), "float64") for name in g.inputs})
        bound(**{name: np.ones((2, 3)) for name in g.inputs})
        bound.plan.svg()
        counts["bound"] += 1
    except tarsia.Error as error:
        counts["not bound"] += 1
print(json.dumps(counts))
""")
    counts = json.loads(out.strip().splitlines()[-1])
    assert counts["refused"] > 200 and counts["bound"] > 5


def test_graphs_are_copied_and_pickled():
    import copy
    import pickle

    g = read(json.dumps(small()))
    x = np.arange(6.0).reshape(2, 3)
    others = copy.copy(g), copy.deepcopy({"g": g})["g"], pickle.loads(pickle.dumps(g))
    given = [one.tobytes() for one in g(x=x)]  # once: it has a state
    for other in others:
        assert other is not g and other.nodes == g.nodes and [one.tobytes() for one in other(x=x)] == given


def test_a_pickled_graph_brings_its_ops_along(tmp_path):
    import pickle

    lib = tarsia.load_inline("""#include <tarsia/op.h>
    TARSIA_OP(gr_brought).forward("cpu", [](tarsia::Context& c) { c.output(0).data<float>()[0] = 2 * c.input(0).data<const float>()[0]; });""")
    g = tarsia.Graph()
    g.output(tarsia.ops.gr_brought(g.input("x")))
    (tmp_path / "graph.pickle").write_bytes(pickle.dumps(g))
    code = f"import pickle, numpy\nprint(float(pickle.load(open({str(tmp_path / 'graph.pickle')!r}, 'rb'))(x=numpy.float32([4]))[0]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "8.0\n", done.stderr
    assert lib.ops == ("gr_brought",)

    tarsia.define_op(lambda x, y: None, name="gr_of_python")
    g.output(tarsia.ops.gr_of_python(g.input("z")))
    with pytest.raises(TypeError, match="op 'gr_of_python' cannot be pickled"):
        pickle.dumps(g)
