"""What an author says of one implementation of an op: where it applies, which tensors share memory, and how they lie."""

import inspect
import operator
import typing

from .._errors import ArgumentTypeError, explains_misuse


class Implementation(typing.NamedTuple):
    """One implementation of an op: what `implementation` says of a function."""

    of: str  # "forward" or "backward"
    devices: typing.Any = None  # None: the op's
    sparse: bool = False
    when: typing.Any = None
    priority: int = 0
    name: str = ""
    inplace: typing.Any = ()
    workspace: typing.Any = None
    layout: typing.Any = None
    any_layout: bool = False


def names_of(value, what):
    names = [value] if isinstance(value, str) else list(value) if hasattr(value, "__iter__") else [value]
    if not all(isinstance(name, str) for name in names):
        raise ArgumentTypeError(f"{what} must be a str or a list of them, got {value!r}")
    return names


def checked_devices(given, where):
    devices = names_of(given, f"{where}: devices")
    if not devices or set(devices) - {"cpu", "gpu"}:
        raise ArgumentTypeError(f"{where}: devices are 'cpu' and 'gpu', not {devices}")
    return devices


def specs_of(one, of, devices, requests, pairs, layouts):
    """An Implementation of "forward" or "backward" as the extension takes it, once for each of its devices. requests: whether
    its function looks at the write requests. pairs and layouts: as pairs_of and layouts_of give them."""
    return [{"backward": of == "backward", "gpu": device == "gpu", "sparse": bool(one.sparse), "requests": requests,
             "priority": one.priority, "name": one.name, "applies": one.when is not None, "workspace": one.workspace is not None,
             "inplace": pairs, "layouts": layouts, "any_layout": one.any_layout} for device in devices]


def layouts_of(layout, parameters, inputs, outputs, of, where):
    """[(the registry's name of a tensor, its axes)] of what an author gives as {parameter: axes}."""
    if layout is None:
        return []
    if not isinstance(layout, dict):
        raise ArgumentTypeError(f'{where} is a dict, such as {{"x": (0, 2, 3, 1)}}, not {layout!r}')
    names = [*inputs, *outputs]
    if of == "backward":
        names = [*(f"d{one}" for one in outputs), *names, *(f"d{one}" for one in inputs)]
    layouts = []
    for parameter, axes in layout.items():
        if parameter not in parameters:
            raise ArgumentTypeError(f"{where} names '{parameter}', which is no tensor of the function; there are {', '.join(parameters)}")
        try:
            axes = [operator.index(axis) for axis in axes]
        except TypeError:
            raise ArgumentTypeError(f"{where}: the axes of '{parameter}' are numbers, such as (0, 2, 3, 1), not {axes!r}") from None
        if sorted(axes) != list(range(len(axes))) or not axes:
            raise ArgumentTypeError(f"{where}: the axes of '{parameter}' are each of 0 to {max(len(axes), 1) - 1} once, not {tuple(axes)}")
        layouts.append((names[parameters.index(parameter)], axes))
    return layouts


@explains_misuse()
def implementation(of, *, devices=None, sparse=False, when=None, priority=0, name="", inplace=(), workspace=None, layout=None,
                   any_layout=False):
    """Marks a method, or a function for `define_op(implementations=…)`, as one more implementation of the op.

        @tarsia.define_op
        class matmul:
            def forward(self, x, w, y): ...                    # dense tensors

            @tarsia.implementation("forward", sparse=True)     # sparse ones
            def forward_sparse(self, x, w, y): ...

    of: "forward" or "backward".
    devices: "cpu" or "gpu"; by default the op's devices.
    sparse: the implementation takes sparse tensors. Dense ones go to an implementation without it.
    when(self, inputs…, outputs…): whether the implementation takes these tensors. It sees their shape, dtype and storage. Attributes are
        members of self, or keyword-only parameters of a function.
    priority: among the implementations that apply, the one with the highest priority runs.
    name: for people, and for `info.choose(name)` in infer.
    inplace: "x -> y", pairs of the function's own parameters that may share memory; in backward such as "dy -> dx". Also numbers,
        (0, 0), which in backward count output gradients, inputs and outputs in one row, and input gradients.
    workspace(self, inputs…, outputs…): the most bytes of scratch that a run takes.
    layout: {"x": (0, 2, 3, 1)}, the axes of parameters of the function in memory, from the outermost to the innermost. The function gets
        such tensors with strides; their shape keeps the op's order. Others, and those with another number of dimensions, are row-major.
    any_layout: the function does the same to each element wherever it lies. A graph gives it tensors of one shape in the layout that
        they have, as if they were row-major.
    """
    if of not in ("forward", "backward"):
        raise ArgumentTypeError(f"an implementation is of 'forward' or 'backward', not {of!r}")
    if when is not None and not inspect.isfunction(when):
        raise ArgumentTypeError(f"implementation: when is a function of what is known of inputs and outputs, not {when!r}")
    if workspace is not None and not inspect.isfunction(workspace):
        raise ArgumentTypeError(f"implementation: workspace is a function of what is known of inputs and outputs, not {workspace!r}")
    if not isinstance(priority, int):
        raise ArgumentTypeError(f"implementation: priority is an int, not {priority!r}")

    def mark(function):
        function.__tarsia_implementation__ = Implementation(of, devices, bool(sparse), when, priority, str(name), inplace, workspace,
                                                            layout, bool(any_layout))
        return function

    return mark


def implementation_of(function):
    """What `implementation` said of it; or None."""
    return getattr(function, "__tarsia_implementation__", None)


def listed(pairs):
    """In-place pairs as a list; a single one may stand alone."""
    is_one = isinstance(pairs, tuple) and len(pairs) == 2 and all(isinstance(k, int) for k in pairs)
    return list(pairs) if hasattr(pairs, "__iter__") and not isinstance(pairs, str) and not is_one else [pairs]


def pairs_of(given, sources, targets, what):
    """In-place pairs as numbers: each is a text such as "x -> y", or two numbers."""
    pairs = []
    for pair in listed(given):
        sides = [side.strip() for side in pair.split("->")] if isinstance(pair, str) else pair
        for k, names in enumerate((sources, targets)) if isinstance(sides, (list, tuple)) and len(sides) == 2 else ():
            if sides[k] in names:
                sides = [*sides[:k], names.index(sides[k]), *sides[k + 1:]]
        if not isinstance(sides, (list, tuple)) or len(sides) != 2 or not all(isinstance(side, int) and side >= 0 for side in sides):
            raise ArgumentTypeError(f"{what} is pairs of an input and an output that may share memory, such as '{sources[0] if sources else 'x'} -> "
                                    f"{targets[0] if targets else 'y'}'")
        pairs.append(tuple(sides))
    return pairs
