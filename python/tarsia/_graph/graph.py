"""Graphs: built in Python, kept and planned in C++."""

import json
import numbers
import sys
import threading
from collections import OrderedDict

from .. import _tarsia
from .._errors import ArgumentTypeError, ArgumentValueError, MissingOp, NotFound, make, methods_explain_misuse
from .._schema import inputs_by_name
from .._sparse import warn_of_graph
from .bound import BoundGraph

_NO_VALUE = 0xFFFFFFFF
_CONSTANT, _PARAMETER, _STATE = 1, 2, 3
_registered = {}  # what keeps graphs that are registered as ops, by name
_KEYWORDS = ("self", "out", "req")
_MOST_BINDINGS = 64  # that a graph keeps for calls with arrays


def _operators(op):
    """The operator of `op`, and the one for a number on the value's left."""

    def operator(self, other):
        return self.graph.add(op, self, self._operand(op, other))

    def from_right(self, other):
        return self.graph.add(op, self._operand(op, other), self)

    return operator, from_right


@methods_explain_misuse(made="inputs and nodes of a tarsia.Graph give one")
class GraphValue:
    """A value of a graph. Ops take it in place of a tensor, and add a node.

    ``+ - * / // % ** @ < <= > >=``, ``-x`` and ``abs(x)`` add nodes of the ops of ``tarsia.ops``: ``add``, ``dot`` and
    so on. The other operand is a value of the same graph or a number, which takes the dtype of the value. Arrays are an
    ArgumentTypeError: they go in with ``g.constant(array)``. ``==`` asks whether two objects are the same.
    """

    __slots__ = ("_id", "graph")
    __array_ufunc__ = None  # NumPy leaves operators to this class

    def __init__(self, graph, number):
        self.graph = graph
        self._id = number

    @property
    def name(self):
        """The name of its node, with ``:1`` and so on for further outputs."""
        return self.graph._name_of(self._id)

    def __repr__(self):
        return f"<tarsia.GraphValue {self.name}>"

    def _operand(self, op, other):
        """The other operand of `op` as a value of this graph."""
        if isinstance(other, GraphValue):
            if other.graph is not self.graph:
                raise ArgumentValueError(f"graph, {op}: the operands are values of two graphs; take both from one")
            return other
        if isinstance(other, numbers.Real) and not isinstance(other, bool):
            if op == "dot":
                raise ArgumentTypeError("graph, dot: @ takes values of a graph, not a number; write x * number")
            try:
                value = float(other)
            except OverflowError:
                value = None
            if value is None or (isinstance(other, numbers.Integral) and int(value) != other):
                raise ArgumentValueError(f"graph, {op}: the number has more digits than a double; put it in with g.constant(array)")
            return self.graph.add("fill", self, value=value)
        raise ArgumentTypeError(
            f"graph, {op}: an operand is a value of the graph or a number, not {type(other).__name__}; "
            "arrays go in with g.constant(array) or g.parameter(array)"
        )

    __add__, __radd__ = _operators("add")
    __sub__, __rsub__ = _operators("subtract")
    __mul__, __rmul__ = _operators("multiply")
    __truediv__, __rtruediv__ = _operators("divide")
    __floordiv__, __rfloordiv__ = _operators("floor_divide")
    __mod__, __rmod__ = _operators("remainder")
    __pow__, __rpow__ = _operators("power")
    __matmul__, __rmatmul__ = _operators("dot")
    __lt__, __gt__ = _operators("less")[0], _operators("greater")[0]  # Python turns 1 < x into x > 1
    __le__, __ge__ = _operators("less_equal")[0], _operators("greater_equal")[0]

    def __array__(self, dtype=None, copy=None):
        raise ArgumentTypeError("graph: a value has no elements before the graph runs; make it an output and call the graph")

    def __bool__(self):
        raise ArgumentTypeError("graph: a value is neither true nor false before the graph runs; ask `value is None`, or call the graph")

    def __neg__(self):
        return self.graph.add("negative", self)

    def __abs__(self):
        return self.graph.add("abs", self)


def _device(text):
    """(is_gpu, number) of "cpu", "gpu" or "gpu:1"."""
    name = str(text)
    if name == "cpu":
        return (False, 0)
    kind, _, number = name.partition(":")
    if kind in ("gpu", "cuda") and ((number.isdigit() and number.isascii() and len(number) < 4) or not number):
        return (True, int(number or 0))
    raise ArgumentValueError(f"graph: a device is 'cpu', 'gpu' or 'gpu:1', not {text!r}")


def _name(text, what):
    """A name that C++ can hold; None stands for none."""
    if text is None:
        return ""
    if not isinstance(text, str):
        raise ArgumentTypeError(f"graph: the name of {what} is a str, not {text!r}")
    if "\0" in text or not text.isascii():
        raise ArgumentValueError(f"graph: {text!r} cannot name {what}: write letters, digits and underscores")
    return text


def _shape(who, shape):
    """A shape as a tuple of ints and None; None if it is unknown."""
    if shape is None:
        return None
    if isinstance(shape, bool) or not hasattr(shape, "__index__") and not isinstance(shape, (tuple, list)):
        raise ArgumentTypeError(f"{who}: a shape is a tuple of ints, with None for an unknown extent, not {shape!r}")
    extents = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    for extent in extents:
        if extent is None:
            continue
        if isinstance(extent, bool) or not hasattr(extent, "__index__"):
            raise ArgumentTypeError(f"{who}: an extent is an int or None, not {extent!r}")
        if not -1 <= extent.__index__() < 1 << 63:
            raise ArgumentValueError(f"{who}: an extent is from 0 to 2**63 - 1, not {extent!r}")
    return extents


def _spec_of_array(name, array):
    """(shape, dtype, device, storage) of a tensor of any framework for the input of that name; None if it is none. Bytes hold numbers
    for other calls; an input that is bytes is rather a mistake."""
    return None if isinstance(array, (bytes, bytearray)) else _tarsia.tensor_spec(array, f"input '{name}'")


def _revived(text, ops):
    """The graph of a pickle. `ops` are there when its text is read."""
    return Graph.from_json(text)


@methods_explain_misuse
class Graph:
    """A graph of registered ops.

    Build it with :meth:`input`, :meth:`constant`, :meth:`parameter` and :meth:`state`, with ops called on its values,
    ``tarsia.ops.relu(x)`` or ``g.relu(x)``, and :meth:`output`. Then :meth:`bind` it to shapes and run it. One thread
    at a time builds a graph. Errors are those of the ops, with the node's name.
    """

    def __init__(self, _handle=None):
        if not isinstance(_handle, (type(None), _tarsia.GraphHandle)):
            raise ArgumentTypeError("Graph() takes no arguments: inputs are added by input()")
        self._handle = _handle or _tarsia.GraphHandle()
        self._described = None
        self._bindings = OrderedDict()
        self._lock = threading.Lock()

    # ---- building

    def input(self, name, shape=None, dtype=None, storage="dense"):
        """Adds an input. ``shape`` (None for an unknown extent) and ``dtype`` are checked when it is bound."""
        if _name(name, "an input") in _KEYWORDS:
            raise ArgumentValueError(f"graph: '{name}' cannot name an input: calls and bind take it as their own keyword")
        if name is None:
            raise ArgumentTypeError("graph: an input needs a name")
        if not isinstance(storage, str):
            raise ArgumentTypeError(f"graph, input '{name}': a storage is 'dense', 'row_sparse' or 'csr', not {storage!r}")
        return self._changed(self._handle.input(name, _shape(f"graph, input '{name}'", shape), dtype, storage))

    def constant(self, array, name=None):
        """Adds a copy of an array, which never changes."""
        torch = sys.modules.get("torch")
        if type(array).__module__ == "numpy":
            import numpy

            array = numpy.asarray(array, order="C")  # numbers of NumPy too
        elif torch is not None and isinstance(array, torch.Tensor) and array.layout is torch.strided:
            array = array.contiguous()
        return self._changed(self._handle.tensor(_CONSTANT, _name(name, "a constant"), array))

    def parameter(self, array, name=None):
        """Adds an array of the caller's, which may be changed between calls. It is not copied."""
        return self._changed(self._handle.tensor(_PARAMETER, _name(name, "a parameter"), array))

    def state(self, array, name=None):
        """Adds an array of the caller's that ops of the graph change: auxiliary state. It is not copied."""
        return self._changed(self._handle.tensor(_STATE, _name(name, "a state"), array))

    def add(self, op, *inputs, name=None, device=None, **attributes):
        """Adds a node of a registered op, by name or as a tarsia.Op. Gives its output, or a tuple of several.

        ``name`` names the node, and ``device`` ("cpu", "gpu", "gpu:1") places it; without one, it runs where the
        graph is bound. If the op has an attribute of such a name, it is that.
        """
        if isinstance(op, GraphValue):  # g.add(x, y) is g.NAME(x, y) for the op 'add'
            op, inputs = "add", (op, *inputs)
        if isinstance(op, str):
            op = _tarsia.op(op)
        if not isinstance(op, _tarsia.Op):
            raise ArgumentTypeError(f"graph: add takes an op or its name, not {op!r}")
        if name is not None or device is not None:
            declared = {attribute[0] for attribute in op._description["attributes"]}
            if name is not None and "name" in declared:
                attributes["name"], name = name, None
            if device is not None and "device" in declared:
                attributes["device"], device = device, None
        if attributes:
            inputs, attributes = inputs_by_name(op, op._description, inputs, attributes)
        numbers = [_NO_VALUE if value is None else self._number(value, op) for value in inputs]
        outputs = self._handle.add(
            op,
            _name(name, "a node"),
            numbers,
            tuple(attributes),
            tuple(attributes.values()),
            None if device is None else _device(device),
        )
        made = tuple(self._changed(output) for output in outputs)
        return made[0] if len(made) == 1 else made

    def output(self, value, name=None):
        """Makes a value a result. A bound graph gives results in the order of these calls."""
        self._handle.output(self._number(value, None), _name(name, "an output"))
        self._forget()

    def gradient(self, loss, wrt, seed=None):
        """Adds the gradient of ``loss``, summed up with ``seed`` as weights (ones), for each value of ``wrt``."""
        one = not isinstance(wrt, (list, tuple))
        numbers = [self._number(value, None) for value in ([wrt] if one else wrt)]
        start = _NO_VALUE if seed is None else self._number(seed, None)
        found = [self._changed(v) for v in self._handle.gradient(self._number(loss, None), start, numbers)]
        return found[0] if one else found

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            op = _tarsia.op(name)
        except NotFound as error:
            raise MissingOp(str(error)) from None

        def add(*inputs, **options):
            return self.add(op, *inputs, **options)

        add.__name__ = name
        return add

    # ---- running

    def bind(self, *, implementation=None, **inputs):
        """Infers, chooses implementations, and plans memory for inputs of these shapes.

        Each input is an array, or ``(shape, dtype)``, ``(shape, dtype, device)`` or ``(shape, dtype, device,
        storage)``. The graph runs on the device of its inputs. Where ops have several implementations,
        ``implementation="measure"`` takes the fastest on this machine, ``"priority"`` the first by priority, and None
        does what ``TARSIA_IMPLEMENTATION`` says.
        """
        if "implementation" in self.inputs:  # a graph may have an input of that name
            inputs["implementation"], implementation = implementation, None
        return self._bind(inputs, implementation)

    def infer(self, **inputs):
        """What is known of the graph's values if that is known of its inputs: the first pass of :meth:`bind` alone.

        Inputs are given as to :meth:`bind`; those left out are unknown. Gives a dict of the names of all values to ``(shape, dtype,
        storage)``: None for what stays unknown, and for unknown extents. Shapes and dtypes that contradict each other are errors that
        name the node.
        """
        specs, device, _ = self._specs(inputs, partly=True)
        names = self._value_names()
        return {names[number]: value for number, value in enumerate(self._handle.infer(specs, device))}

    def _specs(self, inputs, partly=False):
        """(shape, dtype, storage) of each input, the device of all, and their names. `partly`: None for those that are not given."""
        names = self.inputs
        specs: list = []
        devices = {}
        for name in names:
            if name not in inputs:
                if partly:
                    specs.append(None)
                    continue
                raise ArgumentTypeError(f"graph: bind lacks input '{name}'; it takes {', '.join(names)}")
            shape, dtype, device, storage = self._spec(name, inputs.pop(name))
            specs.append((shape, dtype, storage))
            if device is not None:
                devices[name] = _device(device)
        if inputs:
            raise ArgumentTypeError(f"graph: there is no input '{next(iter(inputs))}'; it takes {', '.join(names)}")
        if len(set(devices.values())) > 1:
            where = ", ".join(f"{name} on {f'gpu:{number}' if is_gpu else 'cpu'}" for name, (is_gpu, number) in devices.items())
            raise ArgumentValueError(f"graph: its inputs are on several devices: {where}; put them on one")
        return specs, next(iter(devices.values()), (False, 0)), names

    def _bind(self, inputs, implementation=None, dynamic=False):
        specs, device, names = self._specs(inputs)
        bound = make(BoundGraph, self._handle.bind(specs, device, implementation, dynamic), tuple(names))
        if any(storage != "dense" for _, _, storage in specs):
            warn_of_graph(bound.plan._storage_conversions)
        return bound

    def __call__(self, *args, out=None, req=None, **inputs):
        """Binds to these arrays and runs. Plans are kept, and shapes of about one size share one and its memory."""
        names = self.inputs
        if len(args) > len(names):
            takes = f"{len(names)} inputs, {', '.join(names)}, not" if names else "no inputs, and got"
            raise ArgumentTypeError(f"graph: it takes {takes} {len(args)}")
        arrays = dict(zip(names, args, strict=False))
        for name, array in inputs.items():
            if name in arrays:
                raise ArgumentTypeError(f"graph: input '{name}' is given twice")
            arrays[name] = array
        key = (_tarsia.op_generation(), tuple((name, _spec_of_array(name, arrays[name])) for name in sorted(arrays)))
        with self._lock:
            bound = self._bindings.get(key)
            if bound is not None:
                self._bindings.move_to_end(key)
        if bound is None:
            bound = self._bind(dict(arrays), dynamic=True)
            with self._lock:
                self._bindings[key] = bound
                while len(self._bindings) > _MOST_BINDINGS:
                    self._bindings.popitem(last=False)
        return bound(**arrays, out=out, req=req)

    def register(self, name, differentiable=False):
        """Registers the graph as it is now as an op, which other graphs, PyTorch and JAX take as any other.

        With ``differentiable``, the op has a backward. The op stays until another of its name is registered. Gives
        the tarsia.Op.
        """
        if not isinstance(name, str):
            raise ArgumentTypeError(f"graph: the name of an op is a str, not {name!r}")
        _registered[name] = self._handle.register_as(_name(name, "an op"), differentiable)
        return _tarsia.op(name)

    @property
    def plans(self):
        """How many plans of memory calls with arrays have needed since the graph changed."""
        return self._handle.shared()[0]

    @property
    def kept_bytes(self):
        """The bytes of the arenas that calls with arrays have used, and that the next ones use again."""
        return self._handle.shared()[1]

    # ---- describing

    @property
    def inputs(self):
        """The names of the inputs, in order."""
        return [one["name"] for one in self._description()["inputs"]]

    @property
    def outputs(self):
        """The names of the outputs, in order."""
        return [one["name"] for one in self._description()["outputs"]]

    @property
    def nodes(self):
        """The names of the nodes, in order."""
        return [one["name"] for one in self._description()["nodes"]]

    def value(self, name):
        """The value of a node by its name, as :attr:`GraphValue.name` gives it."""
        if not isinstance(name, str):
            raise ArgumentTypeError(f"graph: value() takes the name of a value, a str, not {type(name).__name__}")
        node_name, _, index = name.partition(":")
        number = int(index or 0) if index.isdecimal() or not index else None
        for node in self._description()["nodes"]:
            if number is not None and node["name"] == node_name and number < len(node["outputs"]):
                return make(GraphValue, self, node["outputs"][number])
        raise ArgumentValueError(f"graph: there is no value '{name}'")

    def to_json(self):
        """The graph as JSON, its tensors included; docs/graph.md describes the format."""
        return self._handle.to_json()

    @classmethod
    def from_json(cls, text, device=None):
        """Reads what :meth:`to_json` wrote. Unknown fields and cycles are errors that name the node.

        ``device`` ("cpu", "gpu", "gpu:1") is where its constants, parameters and states lie; without one, they lie where the text says.
        """
        if not isinstance(text, str):
            raise ArgumentTypeError(f"graph, JSON: a str is needed, not {type(text).__name__}")
        try:
            text.encode()
        except UnicodeEncodeError:
            raise ArgumentValueError("graph, JSON: the text cannot be encoded as UTF-8") from None
        return cls(_tarsia.GraphHandle(text, None if device is None else _device(device)))

    def __reduce__(self):
        """A copy, or a pickle, is another graph. A pickle brings the ops along; those that cannot be pickled are an error."""
        from .. import op

        names = {node["op"] for node in json.loads(self.to_json())["nodes"] if node.get("op")}
        return _revived, (self.to_json(), [op(name) for name in sorted(names)])

    def __repr__(self):
        described = self._description()
        return f"<tarsia.Graph ({', '.join(self.inputs)}) -> ({', '.join(self.outputs)}), {len(described['nodes'])} nodes>"

    # ---- within

    def _changed(self, number):
        self._forget()
        return make(GraphValue, self, number)

    def _forget(self):
        self._described = None
        self._bindings.clear()
        self._handle.forget()

    def _description(self):
        if self._described is None:
            self._described = json.loads(self._handle.describe())
        return self._described

    def _value_names(self):
        """The names of all values by their numbers."""
        names = {}
        for node in self._description()["nodes"]:
            several = len(node["outputs"]) > 1
            for i, number in enumerate(node["outputs"]):
                names[number] = node["name"] + (f":{i}" if several else "")
        return names

    def _name_of(self, number):
        return self._value_names().get(number, "?")

    def _number(self, value, op):
        if not isinstance(value, GraphValue):
            where = f"graph, {op.name}" if op is not None else "graph"
            raise ArgumentTypeError(
                f"{where}: a value of the graph is needed, not {type(value).__name__}; "
                "arrays go in with g.constant(array) or g.parameter(array)"
            )
        if value.graph is not self:
            raise ArgumentValueError("graph: a value of another graph cannot be used here")
        return value._id

    @staticmethod
    def _spec(name, given):
        is_spec = isinstance(given, (tuple, list)) and 2 <= len(given) <= 4
        is_spec = is_spec and (given[0] is None or isinstance(given[0], (int, tuple, list)))
        array = None if isinstance(given, (tuple, list)) else _spec_of_array(name, given)
        if array is not None:
            return array
        if not is_spec:
            raise ArgumentTypeError(f"graph: input '{name}' is an array or (shape, dtype, device), not {given!r}")
        shape, dtype, *rest = given
        device = rest[0] if rest else None
        storage = rest[1] if len(rest) > 1 else "dense"
        if not isinstance(storage, str):
            raise ArgumentTypeError(f"graph, input '{name}': a storage is 'dense', 'row_sparse' or 'csr', not {storage!r}")
        return (_shape(f"graph, input '{name}'", shape), dtype, device, storage)


def _add_node(op, inputs, attributes):
    """Adds a node for a call of an op with a graph's values."""
    values = [*inputs, *attributes.values()]
    values += [one for value in values if isinstance(value, (list, tuple)) for one in value]
    graph = next(value.graph for value in values if isinstance(value, GraphValue))
    return graph.add(op, *inputs, **attributes)


_tarsia.set_graph_value(GraphValue, _add_node)
