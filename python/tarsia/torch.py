"""Functions, ops and expressions as operators of PyTorch: torch.ops.tarsia.NAME.

    import tarsia.torch

    relu = tarsia.torch.register(tarsia.op("relu"))     # differentiable, in torch.compile and torch.export too
    tarsia.torch.register(lib.axpy)                     # torch.ops.tarsia.axpy(2.0, x, y, n)
    tarsia.torch.register(tarsia.elementwise("T x, float a", "T y", "y = a * x", "scale"))
    gelu = tarsia.torch.function(lib.gelu, lib.gelu_backward, name="gelu")
"""

try:
    import torch
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    raise ModuleNotFoundError("tarsia.torch needs PyTorch: pip install torch", name="torch") from None

from . import _schema
from ._compile_options import to_callable, to_dict, to_flag, to_names, to_text, wrong_type
from ._torch import expression as torch_expression, gradient as torch_gradient, ops as torch_ops, register as torch_register
from ._errors import ArgumentTypeError, NotFound, Unsupported, explains_misuse, methods_explain_misuse
from ._library import Library
from ._tarsia import Expression, Function, Op
from ._torch.extension import create_extension
from ._torch.pair import function
from ._torch.register import Overload
from ._schema import OP_ANY_ATTRIBUTES, OP_RANDOM, identifier

__all__ = ["Registered", "create_extension", "function", "options", "register", "registered", "unregister"]


@methods_explain_misuse(module="tarsia.torch")
class Registered(dict):
    """The operators of a library: name to torch.ops.tarsia.NAME. `skipped` says why other parts of the library have no
    operator: name to reason.
    """

    def __init__(self):
        super().__init__()
        self.skipped = {}


@explains_misuse()
def register(what, name=None, *, fake=None, random=False, mutates=None, attributes=None, arguments=None, vmap=None,
             autocast=None, tags=(), numbers=None, backward=None, gradients=None):
    """Registers a function, an op, an expression, or a whole library as operators of PyTorch.

    what: a function (``lib.f``), an op (``tarsia.op("relu")``), the result of tarsia.elementwise or tarsia.reduction, or a
        library, of which everything that has a schema is registered.
    name: "relu" for torch.ops.tarsia.relu, "mine::relu" for torch.ops.mine.relu; by default its own.
    fake: what tracing calls in place of the code: a function of the same parameters that returns empty tensors of the
        right shapes, dtypes and devices. Ops and expressions are inferred. Functions that return tensors or numbers need
        one for torch.compile and torch.export.
    random: it draws random numbers, so two calls differ; for a library, the names of those that do. They get
        torch.Tag.nondeterministic_seeded. You need not name ops that are declared ``.random()``.
    mutates: the names of a function's parameters that it writes to. By default all that the types let it write to:
        ``T*`` and ``tarsia::Tensor``, also in lists and optionals, but not ``const T*``, ``const tarsia::Tensor&`` and
        ``const std::vector<tarsia::Tensor>&``.
    attributes: of an op: values that are the same in every call. The schema then lacks them.
    arguments: of an op that takes attributes without declaring them, as MXNet's extension API has them: those that calls may
        give, name to default or to type (``{"slope": 0.25, "axis": int}``), of bool, int, float or str. Calls pass them by name.
    vmap: the rule for torch.vmap, as torch.library.register_vmap takes it; True: one call for each element of the
        batch.
    autocast: the dtype to which autocasting converts floating-point inputs: one for all devices, or a dict of device
        to dtype.
    tags: further torch.Tags.
    numbers: the names of an expression's inputs that are numbers; the others are tensors. By default, an input with a type of its
        own (``float a``) beside a tensor with a type letter (``T x``) is a number.
    backward: of an expression: what computes its gradient, another expression or a function of Python. Its parameters
        are matched by name: names of the expression's inputs and outputs mean these, the others are the gradients of
        the outputs, in order. It returns the gradients of the inputs that are tensors; what was broadcast is summed.
    gradients: the names of the inputs whose gradients backward gives, in order, if they are not all.

    An op with a backward is differentiable. Inputs that it writes to are states, which have no gradient. An op with state keeps its order in
    compiled graphs, and its state lives as long as the registration. Returns torch.ops.tarsia.NAME; for a library a
    Registered. It replaces what was registered under the name before.
    """
    to_callable(fake, "fake")
    torch_register.check_vmap(vmap)
    mutates = mutates if mutates is None else to_names(mutates, "mutates")
    attributes = attributes if attributes is None else to_dict(attributes, "attributes")
    arguments = arguments if arguments is None else to_dict(arguments, "arguments")
    tags = _given_tags(tags)
    if not isinstance(what, Library):
        random = to_flag(random, "random")
    options = {"fake": fake, "mutates": mutates, "attributes": attributes, "vmap": vmap, "autocast": autocast}
    if isinstance(what, Op):
        options["arguments"] = arguments
    elif arguments is not None:
        raise ArgumentTypeError("arguments are attributes of an op that it does not declare; functions and expressions have parameters")
    if isinstance(what, Expression):
        return _register_expression(what, name, numbers, backward, gradients, random=random, tags=tags, **options)
    if backward is not None or gradients is not None:
        raise ArgumentTypeError("backward is of an expression; of functions tarsia.torch.function(lib.f, lib.f_backward) makes a "
                                "pair, and ops declare their .backward themselves")
    if numbers is not None:
        raise ArgumentTypeError("numbers are inputs of an expression; functions and ops say by themselves what is a number")
    if isinstance(what, Library):
        given = [option for option, value in options.items() if value is not None and option != "autocast"]
        if name is not None or given:
            raise ArgumentTypeError(f"of a whole library {' and '.join(['name'] * (name is not None) + given)} cannot be given: "
                                    f"register the one that it is for by itself")
        return _register_library(what, random, autocast, tags)
    if isinstance(what, Function):
        return _register_function(what, name, random=random, tags=tags, **options)
    if isinstance(what, Op):
        return _register_op(what, name, random=random, tags=tags, **options)
    kind = "a kernel: register a function that launches it" if hasattr(what, "launch") else f"{type(what).__name__}"
    raise ArgumentTypeError(f"register takes a tarsia.Function, tarsia.Op, tarsia.Expression or tarsia.Library, not {kind}")


@explains_misuse()
def options(name="extension"):
    """What a source that includes PyTorch's headers needs: a dict of include_dirs, library_dirs, libraries and defines, for
    ``tarsia.load_inline(source, **tarsia.torch.options())``. They are those of torch.utils.cpp_extension.

    name: what TORCH_EXTENSION_NAME means in the source, the name for ``lib.python_module(name)``.
    """
    import os
    import sysconfig

    name = to_text(name, "name")
    root = os.path.dirname(torch.__file__)
    includes = [os.path.join(root, "include"), os.path.join(root, "include", "torch", "csrc", "api", "include"),
                sysconfig.get_path("include"), sysconfig.get_path("platinclude")]
    libraries = os.path.join(root, "lib")
    there = os.listdir(libraries)
    names = ["c10", "c10_cuda", "torch_cpu", "torch_cuda", "torch", "torch_python"]
    return {
        "include_dirs": list(dict.fromkeys(includes)),
        "library_dirs": [libraries],
        "libraries": [one for one in names if f"lib{one}.so" in there],
        "defines": {"TORCH_EXTENSION_NAME": name, "TORCH_API_INCLUDE_EXTENSION_H": None,
                    "_GLIBCXX_USE_CXX11_ABI": int(torch._C._GLIBCXX_USE_CXX11_ABI)},
    }


@explains_misuse()
def unregister(name):
    """Removes an operator: "relu", or "mine::relu". Calling it afterwards is an error, also for those who kept it."""
    namespace, last = torch_register.split_name(name, None)
    if not torch_register.remove(f"{namespace}::{last}"):
        raise NotFound(f"there is no operator {namespace}::{last} of Tarsia")
    torch_register.remove(f"{namespace}::{last}_backward")


@explains_misuse()
def registered():
    """The qualified names of the operators that are registered: ("tarsia::relu", …)."""
    return torch_register.names()


def _given_tags(tags):
    """A tuple of torch.Tags, one of which may stand for itself."""
    found = (tags,) if isinstance(tags, torch.Tag) else tuple(tags) if isinstance(tags, (list, tuple, set, frozenset)) else (None,)
    if not all(isinstance(one, torch.Tag) for one in found):
        raise wrong_type("tags", "a torch.Tag or a list of them", tags)
    return found


def _tags(random, tags):
    return (*tags, torch.Tag.nondeterministic_seeded) if random else tags


def _register_function(what, name, *, fake, random, mutates, attributes, vmap, autocast, tags):
    if attributes is not None:
        raise ArgumentTypeError("attributes are those of an op; a function has parameters")
    namespace, name = torch_register.split_name(name, torch_ops.operator_name(what.__qualname__))
    overloads, texts = [], set()
    for description in what._description:
        schema = _schema.of_function(description, mutates)
        text = schema.text("f").rpartition("->")[0]
        if text in texts:  # the types behind the pointers differ: the function chooses when it is called
            continue
        texts.add(text)
        cell = torch_ops.function_cell(what, description, schema, fake, mutates)
        overload = f"overload{len(overloads) + 1}" if overloads else ""
        overloads.append(Overload(schema, cell, overload=overload, tags=_tags(random, tags), vmap=vmap,
                                  autocast=torch_register.autocast_rules(autocast)))
    return torch_register.install(namespace, name, overloads)


def _register_op(what, name, *, fake, random, mutates, attributes, arguments, vmap, autocast, tags):
    if mutates is not None:
        raise ArgumentTypeError("an op declares its mutable inputs itself; mutates is for functions")
    namespace, name = torch_register.split_name(name, identifier(what.name))
    description = what._description
    own = _own_attributes(what, description, attributes or {}, arguments or {})
    counts = _schema.counts_of(what, description, attributes or {}, own)
    schema = _schema.of_op(what.name, description, attributes or (), counts, own)
    defaults = {key: value for key, value in own.items() if not isinstance(value, type)}
    op = torch_ops.OpCell(what, description, schema, {**defaults, **(attributes or {})}, fake, counts[0] if counts else description["inputs"])
    differentiable = torch_ops.has_backward(description) and op.can_differentiate()
    tags = _tags(random or description["flags"] & OP_RANDOM, tags)
    if differentiable:
        backward = Overload(torch_ops.backward_schema(schema, op.is_constant), op.backward_cell(), tags=tags, vmap=vmap and True)
        op.use_backward(torch_register.install(namespace, f"{name}_backward", [backward]), backward)
    overload = Overload(schema, op.cell(differentiable), tags=tags, ordered=description["state"], vmap=vmap,
                        autocast=torch_register.autocast_rules(autocast), has_gradient=differentiable)
    return torch_register.install(namespace, name, [overload])


def _own_attributes(op, description, fixed, arguments):
    if arguments and not description["flags"] & OP_ANY_ATTRIBUTES:
        raise ArgumentTypeError(f"{op.name} declares its attributes, and all of them are arguments: arguments is for ops of MXNet's "
                                f"extension API")
    declared = [key for key, *_ in description["attributes"]]
    for key in arguments:
        if key in fixed:
            raise ArgumentTypeError(f"{op.name}: {key!r} is given in attributes and in arguments: it is the same in every call, or it "
                                    f"is not")
        if key in declared:
            raise ArgumentTypeError(f"{op.name} declares {key!r} itself, which is an argument as it is")
    return dict(arguments)


def _register_expression(what, name, numbers, backward, gradients, *, fake, random, mutates, attributes, vmap, autocast, tags):
    if mutates is not None or attributes is not None:
        raise ArgumentTypeError("an expression says itself what it writes (inout), and has no attributes")
    namespace, name = torch_register.split_name(name, torch_expression.name_of(what))
    expression = torch_expression.ExpressionCell(what, numbers)
    tags, gradient = _tags(random, tags), None
    if backward is not None:
        gradient = torch_gradient.Gradient(what, expression, backward, gradients)
    elif gradients is not None:
        raise ArgumentTypeError("gradients are those that backward gives: pass backward=")
    if isinstance(backward, Expression):
        cell = torch_expression.ExpressionCell(backward, gradient.numbers())
        step = Overload(cell.schema, cell.cell(None, why=(
            f"the gradient of {what.name} has no gradient of its own: it cannot be differentiated twice")), tags=tags,
            vmap=vmap and True)
        gradient.run = torch_register.install(namespace, f"{name}_backward", [step])
        gradient.kernel = torch_register.kernel(step.schema, step.cell)
    return torch_register.install(namespace, name, [
        Overload(expression.schema, expression.cell(fake, gradient), tags=tags, vmap=vmap,
                 autocast=torch_register.autocast_rules(autocast))])


def _register_library(library, random, autocast, tags):
    done = Registered()
    drawn = () if random is None or isinstance(random, bool) else to_names(random, "random")
    draws = (lambda name: True) if random is True else (lambda name: name in drawn)
    short = [torch_ops.operator_name(name) for name in library.functions]
    for qualified, last in zip(library.functions, short):
        name = last if short.count(last) == 1 and last not in library.ops else identifier(qualified)
        try:
            done[name] = register(library[qualified], name, random=draws(qualified) or draws(name), autocast=autocast,
                                  tags=tags)
        except Unsupported as error:
            done.skipped[qualified] = str(error)
    for op in library.ops:
        done[identifier(op)] = register(torch_ops.op_named(op), random=draws(op), autocast=autocast, tags=tags)
    return done
