"""tarsia.add_implementation: implementations in Python for ops that others declare."""

import inspect

from .. import _tarsia
from .._compile.loading import forget_ops
from .._errors import ArgumentTypeError, explains_misuse, make, methods_explain_misuse
from .define import VARIADIC, Definition, parameters_of, spec_of, takes_any_keyword
from .implementations import Implementation, checked_devices, layouts_of, pairs_of, specs_of


@methods_explain_misuse(made="tarsia.add_implementation gives one")
class AddedImplementation:
    """What add_implementation has added to an op. remove() takes it away again, as does the end of a `with`."""

    def __init__(self, op, name, remove):
        self.op, self.name, self._remove = op, name, remove

    def remove(self):
        """Takes the implementation away. What is bound to it goes on with it."""
        remove, self._remove = self._remove, None
        if remove is not None:
            remove()
            forget_ops()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.remove()

    def __repr__(self):
        return f"<tarsia.AddedImplementation {self.name or 'without a name'} of {self.op}{'' if self._remove else ', removed'}>"


class _Extension(Definition):
    """Functions that are added to a registered op."""

    def __init__(self, name, functions, one):
        described = _tarsia.op(name)._description
        outputs = [port[0] for port in described["outputs"]]
        self.name, self.author, self.functions = name, None, dict(functions)
        self.attributes = []
        self.inputs, self.outputs = [port[0] for port in described["inputs"]], outputs
        self.variadic = any(port[1] & VARIADIC for port in described["inputs"])
        self.variadic_output = any(port[1] & VARIADIC for port in described["outputs"])
        self.names = [attribute[0] for attribute in described["attributes"]]
        n_in, n_out = len(self.inputs), len(outputs)
        wanted = {"forward": n_in + n_out, "backward": 2 * n_out + 2 * n_in, "when": n_in + n_out, "workspace": n_in + n_out}
        tensors, self.keywords = {}, {}
        for what, function in functions.items():
            tensors[what], keywords = parameters_of(function)
            unknown = sorted(set(keywords) - {"requests", *self.names})
            if unknown:
                raise ArgumentTypeError(f"add_implementation: {what} has a parameter '{unknown[0]}' that is no attribute of op '{name}'")
            if len(tensors[what]) != wanted[what]:
                raise ArgumentTypeError(f"add_implementation: {what} of op '{name}' takes {wanted[what]} tensors, not {len(tensors[what])}")
            self.keywords[what] = list(keywords)
        self.takes_others = {what for what, function in functions.items() if takes_any_keyword(function)}
        devices = checked_devices(one.devices, "add_implementation")
        self.implementations, implementations = [], []
        for what in ("forward", "backward"):
            if what not in functions:
                continue
            n = n_in if what == "forward" else 2 * n_out + n_in
            pairs = pairs_of(one.inplace[what], tensors[what][:n], tensors[what][n:], f"add_implementation: {what}_inplace")
            layout = (one.layout or {}).get(what)
            layouts = layouts_of(layout, tensors[what], self.inputs, outputs, what, f"add_implementation: {what}_layout")
            self.implementations += [what] * len(devices)
            implementations += specs_of(one, what, devices, "requests" in self.keywords[what], pairs, layouts)
        self.spec = spec_of(name, functions[self.implementations[0]], implementations, extends=True)

    def create(self, values, others):
        return dict(zip(self.names, values)), dict(others)

    def _about(self, what, _index):
        return what


@explains_misuse()
def add_implementation(op, *, forward=None, backward=None, devices=("cpu", "gpu"), sparse=False, when=None, priority=0, name="",
                       forward_inplace=(), backward_inplace=(), workspace=None, forward_layout=None, backward_layout=None, any_layout=False):
    """Adds an implementation in Python to a registered op, whoever declares it.

        added = tarsia.add_implementation("relu", forward=lambda x, y: fast.relu(x, y, x.size), devices="cpu", name="fast", priority=10)
        …
        added.remove()

    op: a tarsia.Op or its name.
    forward(inputs…, outputs…), backward(output gradients…, inputs…, outputs…, input gradients…): functions as of define_op. Attributes
        are keyword-only parameters.
    devices, sparse, when, priority, name, workspace: as of tarsia.implementation.
    forward_inplace, backward_inplace: pairs of the functions' parameters that may share memory, such as "x -> y" and "dy -> dx".
    forward_layout, backward_layout: the axes of the functions' parameters in memory, as layout= of tarsia.implementation.
    any_layout: as of tarsia.implementation, for both functions.

    The op keeps it until it is removed; also when a library registers the op anew, with the same signature. A later one of the same name
    replaces it.
    """
    functions = {what: function for what, function in (("forward", forward), ("backward", backward), ("when", when),
                                                       ("workspace", workspace)) if function is not None}
    for what, function in functions.items():
        if not inspect.isfunction(function):
            raise ArgumentTypeError(f"add_implementation: {what} is a function, not {function!r}")
    if forward is None and backward is None:
        raise ArgumentTypeError("add_implementation takes forward=, backward= or both")
    if not isinstance(priority, int):
        raise ArgumentTypeError(f"add_implementation: priority is an int, not {priority!r}")
    op = getattr(op, "name", op)
    if not isinstance(op, str):
        raise ArgumentTypeError(f"add_implementation takes an op or its name, not {op!r}")
    one = Implementation("", devices, sparse, when, priority, str(name), {"forward": forward_inplace, "backward": backward_inplace}, workspace,
                         {"forward": forward_layout, "backward": backward_layout}, bool(any_layout))
    definition = _Extension(op, functions, one)
    remove = _tarsia.define_op(definition, definition.spec)
    forget_ops()
    return make(AddedImplementation, op, one.name, remove)
