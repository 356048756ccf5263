"""Graphs that the tests make twice: as a tarsia.Graph, and as calls of the same ops one by one. And what the tests
compute of plans by themselves: lifetimes, what may share memory, and the largest sum of bytes that are live."""

import itertools
import pathlib
import random
import re

import numpy as np

import tarsia

FOLDER = pathlib.Path(__file__).parent

# The in-place pairs (input, output) of forward, as graph_ops.cpp declares them.
PAIRS = {
    "gr_neg": [(0, 0)],
    "gr_relu": [(0, 0)],
    "gr_tanh": [(0, 0)],
    "gr_scale": [(0, 0)],
    "gr_add": [(0, 0), (1, 0)],
    "gr_mul": [(0, 0)],
    "gr_sub_reversed": [(0, 0)],
    "gr_add_row": [(0, 0)],
    "gr_times": [(0, 0)],
    "gr_split": [(0, 0)],
    "gr_twins": [(0, 0), (0, 1)],
    "gr_softmax": [(0, 0)],
}


def ones(*shape):
    return np.ones(shape, np.float32)


def shapes_of(op, inputs):
    """The shapes of an op's outputs."""
    if op == "gr_matmul":
        return [(inputs[0][0], inputs[1][1])]
    if op == "gr_sum_all":
        return [()]
    if op == "gr_row_sum":
        return [inputs[0][:1]]
    if op in ("gr_split", "gr_twins"):
        return [inputs[0]] * 2
    return [inputs[0]]


class Model:
    """A graph, and what is needed to do the same without one. Values are numbers."""

    def __init__(self, dtype="float64"):
        self.graph = tarsia.Graph()
        self.dtype = dtype
        self.values = []  # of the graph
        self.shapes = []
        self.kinds = []  # "input", "constant", "parameter", "op"
        self.arrays = {}  # of constants and parameters
        self.inputs = {}  # by name
        self.nodes = []  # (op, inputs, outputs, attributes)
        self.outputs = []

    def _value(self, value, shape, kind):
        self.values.append(value)
        self.shapes.append(tuple(shape))
        self.kinds.append(kind)
        return len(self.values) - 1

    def input(self, name, shape):
        self.inputs[name] = self._value(self.graph.input(name), shape, "input")
        return self.inputs[name]

    def tensor(self, kind, array):
        number = self._value(getattr(self.graph, kind)(array), array.shape, kind)
        self.arrays[number] = array
        return number

    def op(self, op, *inputs, **attributes):
        made = getattr(tarsia.ops, op)(*(self.values[i] for i in inputs), **attributes)
        made = made if isinstance(made, tuple) else (made,)
        shapes = shapes_of(op, [self.shapes[i] for i in inputs])
        outputs = [self._value(value, shape, "op") for value, shape in zip(made, shapes)]
        self.nodes.append((op, inputs, outputs, attributes))
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def output(self, number):
        self.graph.output(self.values[number], name=f"result_{len(self.outputs)}")
        self.outputs.append(number)

    def bytes_of(self, number):
        return int(np.prod(self.shapes[number])) * np.dtype(self.dtype).itemsize

    def bind(self):
        return self.graph.bind(**{name: (self.shapes[number], self.dtype, "cpu") for name, number in self.inputs.items()})

    def eager(self, arrays, wanted=None, instead=None):
        """The results of the ops called one by one. ``instead`` has arrays that stand for values, by number."""
        known = dict(self.arrays)
        known.update({number: arrays[name] for name, number in self.inputs.items()})
        known.update(instead or {})
        for op, inputs, outputs, attributes in self.nodes:
            made = tarsia.op(op)(*(known[i] for i in inputs), **attributes)
            for number, array in zip(outputs, made if isinstance(made, tuple) else (made,)):
                known.setdefault(number, array)
        return [known[number] for number in (self.outputs if wanted is None else wanted)]

    def draw(self, seed):
        """Arrays for the inputs."""
        generator = np.random.default_rng(seed)
        return {name: generator.uniform(-1, 1, self.shapes[number]).astype(self.dtype) for name, number in self.inputs.items()}

    def reach(self):
        """Whether any result depends on an input."""
        reached = set(self.inputs.values())
        for _, inputs, outputs, _ in self.nodes:
            if reached & set(inputs):
                reached |= set(outputs)
        return bool(reached & set(self.outputs))

    def needed(self):
        """The numbers of the nodes that outputs depend on."""
        values, nodes = set(self.outputs), []
        for n in reversed(range(len(self.nodes))):
            _, inputs, outputs, _ = self.nodes[n]
            if values & set(outputs):
                nodes.append(n)
                values |= set(inputs)
        return nodes[::-1]

    def lower_bound(self):
        """The largest sum of live bytes, with every in-place pair used that may be. Nodes run in the order in which
        they were added, and every output is one op's result, once."""
        assert len(set(self.outputs)) == len(self.outputs) and all(self.kinds[o] == "op" for o in self.outputs)
        nodes = [self.nodes[n] for n in self.needed()]
        last = {}
        for step, (_, inputs, outputs, _) in enumerate(nodes):
            for number in (*inputs, *outputs):
                last[number] = step
        for number in self.outputs:
            last[number] = len(nodes)
        buffers, buffer_of, taken = [], {}, set()  # [first, last, bytes]
        for step, (op, inputs, outputs, _) in enumerate(nodes):
            for o, number in enumerate(outputs):
                for i, wanted in PAIRS.get(op, []):
                    given = inputs[i]
                    if (wanted == o and self.kinds[given] == "op" and last[given] == step and given not in taken
                            and self.bytes_of(given) == self.bytes_of(number)
                            and all((k, o) in PAIRS[op] for k, other in enumerate(inputs) if other == given)):
                        taken.add(given)
                        buffer_of[number] = buffer_of[given]
                        break
                else:
                    buffer_of[number] = len(buffers)
                    buffers.append([step, step, self.bytes_of(number)])
                buffers[buffer_of[number]][1] = max(buffers[buffer_of[number]][1], last[number])
        return largest_sum(buffers, len(nodes))


def largest_sum(buffers, n_steps):
    """The largest sum of bytes of [first, last, bytes] that are live at one step, the end included."""
    return max((sum(size for first, last, size in buffers if first <= step <= last) for step in range(n_steps + 1)), default=0)


class Life:
    """A value of a plan that a step makes."""

    def __init__(self, place, step):
        self.place = place
        self.first = self.last = step
        self.reads = []
        self.buffer = None


def check_plan(plan, n_outputs):
    """Checks a plan on the CPU from its steps alone: that no value is overwritten while a step or the caller still
    needs it, and that the lower bound is that of these steps. ``n_outputs``: how many results the graph has."""
    places = {}
    for place in plan.values:
        if place["where"] not in ("input", "held"):
            places.setdefault(place["name"], []).append(place)
    steps, lives, now = plan.steps, [], {}
    for number, step in enumerate(steps):
        for name in step["inputs"]:
            if name in now:
                now[name].reads.append(number)
                now[name].last = number
        for name in step["outputs"]:
            if name is not None:
                now[name] = Life(places[name].pop(0), number)
                lives.append(now[name])
    assert not any(places.values()), "a value that no step makes"
    in_outputs = {}  # the last value in the memory of each output is the output
    for life in lives:
        if life.place["where"].startswith("output "):
            in_outputs[int(life.place["where"].split()[1])] = life
    assert sorted(in_outputs) == list(range(n_outputs))
    for life in in_outputs.values():
        life.last = len(steps)

    # Who continues in whose memory, and whether that was free to take.
    by_name = {}
    shared = {}
    for pair in plan.shared:
        shared.setdefault(pair[1], pair[0])
    made = iter(lives)
    buffers = []
    for number, step in enumerate(steps):
        buffers.append([number, number, step["workspace"]])
        for name, request in zip(step["outputs"], step["requests"]):
            if name is None:
                assert request == "null"
                continue
            life = next(made)
            if request == "inplace":
                before = by_name[shared[name]]
                assert shared[name] in step["inputs"]
            elif request == "add":
                before = [other for other in by_name.values() if other.place["buffer"] == life.place["buffer"]][-1]
            else:
                assert request == "write"
                before = None
            if before is None:
                life.buffer = [number, life.last, life.place["bytes"]]
                buffers.append(life.buffer)
            else:
                life.buffer = before.buffer
                life.buffer[1] = max(life.buffer[1], life.last)
                assert before.place["bytes"] == life.place["bytes"]
                assert before.last <= number, f"{name} is written over a value that is needed later"
                assert before not in in_outputs.values(), f"{name} is written over an output"
                if request == "add":
                    assert number not in before.reads, f"{name} is added to what its own step reads"
                assert where(before.place) == where(life.place)
            by_name[name] = life

    # Memory that is used twice is not needed twice at once.
    sizes = {}
    for life in in_outputs.values():
        sizes[life.place["where"]] = life.place["bytes"]
    for one, other in itertools.combinations(lives, 2):
        if one.buffer is other.buffer or not one.place["bytes"] or not other.place["bytes"]:
            continue
        if one.first <= other.last and other.first <= one.last:
            (area, begin), (other_area, other_begin) = where(one.place), where(other.place)
            assert area != other_area or begin + one.place["bytes"] <= other_begin or other_begin + other.place["bytes"] <= begin, (
                f"{one.place} and {other.place} overlap while both are needed")
    arenas = 0
    for life in lives:
        area, begin = where(life.place)
        assert begin % 64 == 0
        if area.startswith("output "):
            assert life.place["bytes"] <= sizes[area]
        else:
            arenas = max(arenas, begin + life.place["bytes"])
    assert plan.bytes >= arenas + sum(sizes.values())
    assert plan.lower_bound == largest_sum(buffers, len(steps))
    assert plan.bytes >= plan.lower_bound


def where(place):
    return (place["where"].removeprefix("within "), place.get("offset", 0))


# ---- random graphs

UNARY = ["gr_neg", "gr_relu", "gr_tanh", "gr_square", "gr_plain", "gr_scale", "gr_pick", "gr_by_size", "gr_by_dtype"]
BINARY = ["gr_add", "gr_mul", "gr_sub", "gr_sub_reversed"]
SMOOTH_UNARY = ["gr_neg", "gr_tanh", "gr_square", "gr_plain", "gr_scale"]
SMOOTH_BINARY = ["gr_add", "gr_mul", "gr_sub"]


def random_model(seed, smooth=False, most_nodes=24):
    """A graph of square matrices, vectors and numbers. With ``smooth``, every op has a backward and a derivative, and
    numbers stay small."""
    draw = random.Random(seed)
    n = draw.choice([2, 3] if smooth else [0, 1, 2, 3, 4, 5, 8, 16])
    arrays = np.random.default_rng(seed)
    model = Model("float64" if smooth else draw.choice(["float32", "float64"]))
    by_rank = {2: [], 1: [], 0: []}

    def keep(numbers):
        for number in numbers if isinstance(numbers, tuple) else (numbers,):
            by_rank[len(model.shapes[number])].append(number)

    for i in range(draw.randint(1, 3)):
        keep(model.input(f"x{i}", (n,) * draw.choice([1, 2, 2])))
    for kind in ["constant", "parameter"]:
        for _ in range(draw.randint(0, 2)):
            keep(model.tensor(kind, arrays.uniform(-1, 1, (n,) * draw.choice([0, 1, 2])).astype(model.dtype)))
    if not by_rank[2]:
        keep(model.input("m", (n, n)))
    if not by_rank[1]:
        keep(model.op("gr_row_sum", draw.choice(by_rank[2])))

    def some(rank):
        # Late ones more often: chains, along which memory is shared.
        values = by_rank[rank]
        return values[-1] if draw.random() < 0.45 else draw.choice(values)

    def rank():
        return draw.choice([r for r in (2, 2, 2, 1, 1, 0) if by_rank[r]])

    for _ in range(draw.randint(1, most_nodes)):
        what = draw.random()
        if what < 0.35:
            op = draw.choice(SMOOTH_UNARY if smooth else UNARY)
            r = rank()
            if op == "gr_by_size" and r == 0:
                continue
            attributes = {}
            if op == "gr_scale":
                attributes = {"factor": draw.choice([0.5, -0.25, 0.75])}
            elif op == "gr_pick":
                attributes = {"mode": draw.choice(["share", "apart"])}
            keep(model.op(op, some(r), **attributes))
        elif what < 0.65:
            r = rank()
            keep(model.op(draw.choice(SMOOTH_BINARY if smooth else BINARY), some(r), some(r)))
        elif what < 0.73:
            keep(model.op("gr_add_row", some(2), some(1)))
        elif what < 0.80:
            keep(model.op("gr_split" if smooth else draw.choice(["gr_split", "gr_twins"]), some(rank())))
        elif what < 0.86:
            keep(model.op("gr_matmul", some(2), some(2)))
        elif what < 0.91:
            keep(model.op("gr_softmax", some(2)) if smooth or n else model.op("gr_neg", some(2)))
        elif what < 0.95:
            keep(model.op("gr_row_sum", some(2)) if draw.random() < 0.6 else model.op("gr_sum_all", some(rank())))
        elif by_rank[0]:
            keep(model.op("gr_times", some(rank()), some(0)))
        elif not smooth:
            r = rank()
            keep(model.op("gr_sum_of", *(some(r) for _ in range(draw.randint(1, 4)))))
        # Keep what is multiplied over and over within bounds.
        if smooth and draw.random() < 0.4:
            keep(model.op("gr_tanh", some(rank())))
    everything = list(range(len(model.values)))
    for _ in range(draw.randint(1, 4)):
        # The last ones more often; inputs and tensors too, and values that are outputs already.
        model.output(everything[-1 - int(len(everything) * draw.random() ** 2)])
    return model


# ---- blocks as in real models

def matrices(model, count, shape, scale=1.0):
    arrays = np.random.default_rng(7)
    return [model.tensor("parameter", (scale * arrays.standard_normal(shape)).astype(model.dtype)) for _ in range(count)]


def transformer(layers=2, tokens=64, width=32, dtype="float32"):
    """Attention of one head and a feed-forward net, with residuals."""
    model = Model(dtype)
    x = model.input("x", (tokens, width))
    for _ in range(layers):
        # k is transposed by its weights: (width, tokens).
        wq, wv, wo = matrices(model, 3, (width, width), 0.1)
        (wk,) = matrices(model, 1, (width, tokens), 0.1)
        (up,) = matrices(model, 1, (width, 4 * width), 0.1)
        (down,) = matrices(model, 1, (4 * width, width), 0.1)
        (bias,) = matrices(model, 1, (4 * width,), 0.1)
        q = model.op("gr_matmul", x, wq)
        scores = model.op("gr_softmax", model.op("gr_scale", model.op("gr_matmul", q, wk), factor=0.125))
        v = model.op("gr_matmul", x, wv)
        mixed = model.op("gr_matmul", model.op("gr_matmul", scores, v), wo)
        x = model.op("gr_add", x, mixed)
        hidden = model.op("gr_relu", model.op("gr_add_row", model.op("gr_matmul", x, up), bias))
        x = model.op("gr_add", x, model.op("gr_matmul", hidden, down))
    model.last = x
    return model


def graph_error(pattern):
    """A pattern for pytest.raises that finds all of these words in any order."""
    return "".join(f"(?=.*{re.escape(word)})" for word in pattern.split("|"))
