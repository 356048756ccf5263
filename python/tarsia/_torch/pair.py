"""A differentiable function of PyTorch from a forward and a backward function."""

import inspect
import typing

import torch

from .._errors import ArgumentTypeError, OpError, Unsupported, explains_misuse
from . import register
from .._compile_options import to_callable, to_flag
from .._pair import Pair
from .ops import operator_name
from .register import Cell, Overload, refusal, save_nothing


@explains_misuse()
def function(forward, backward, name=None, *, outputs=None, gradients=None, mutates=None, status=None, random=False,
             vmap=None, autocast=None):
    """Makes a differentiable function from a forward and a backward function, ``lib.gelu`` and ``lib.gelu_backward``.

    The parameters of backward are matched by name. One that forward also has gets the same argument, or the output of
    that name. The others get the gradients of the outputs, in order, and after these the outputs that forward returns. What
    backward writes to or returns are the gradients.

    name: registers the function as torch.ops.tarsia.NAME, so that torch.compile and torch.export take it.
    outputs: a function of forward's parameters that returns empty tensors for its outputs. If forward writes its outputs
        (``T*``), it is required: it makes them, and they are no parameters of the result. Otherwise it serves tracing alone.
    gradients: the names of forward's parameters whose gradients backward gives, in order; by default all the tensors
        that forward reads.
    mutates: as in register(), for both functions: the names of what they write to, if the types say too much.
    status: the int that both functions return where they succeed, such as 1. Another one is an OpError that names the
        function.
    random, vmap, autocast: as in register(); they need a name.

    The function can be differentiated once.
    """
    register.check_vmap(vmap)
    random, outputs = to_flag(random, "random"), to_callable(outputs, "outputs")
    if name is None and (random or vmap is not None or autocast is not None):
        raise ArgumentTypeError("random, vmap and autocast are of a registered operator: give it a name")
    if status is not None and (not isinstance(status, int) or isinstance(status, bool)):
        raise ArgumentTypeError(f"status is the int that the functions return where they succeed, not {status!r}")
    pair = _Pair(Pair(forward, backward, gradients, mutates, status), outputs)
    if name is None:
        return pair.plain()
    namespace, name = register.split_name(name, None)
    tags = (torch.Tag.nondeterministic_seeded,) if random else ()
    step = Overload(pair.plan.backward_schema(), pair.backward_cell(), tags=tags, vmap=vmap and True)
    pair.run_backward = register.install(namespace, f"{name}_backward", [step])
    pair.backward_kernel = register.kernel(step.schema, step.cell)
    overload = Overload(pair.plan.schema, pair.cell(), tags=tags, vmap=vmap,
                        autocast=register.autocast_rules(autocast))
    return register.install(namespace, name, [overload])


class _Pair:
    def __init__(self, plan, outputs):
        self.plan, self._make_outputs = plan, outputs
        self._forward, self._backward = (_checked(one, plan.status) for one in (plan.forward, plan.backward))
        self._name = plan.forward.__name__
        if plan.written and outputs is None:
            raise ArgumentTypeError(f"{self._name} writes its outputs {plan.names_of_written()}: outputs= has to make them")
        self._leader = next(i for i, source in enumerate(plan.sources) if source[0] == "gradient")
        self.run_backward: typing.Any = None  # set when they are made
        self.backward_kernel: typing.Any = None

    def call(self, *args):
        """Forward, as the operator is called."""
        if not self.plan.written:
            result = _call(self._forward, self.plan.parameters, args)
            if any(one is arg for one in _several(result) for arg in args):
                raise ArgumentTypeError(f"{self._name} gave one of its arguments as its result: it has to return a new tensor")
            return result
        made = self._outputs(*args)
        given, outputs = iter(args), iter(made)
        row = [next(outputs) if i in self.plan.written else next(given, None) for i in range(len(self.plan.parameters))]
        _call(self._forward, self.plan.parameters, row)
        return made[0] if len(made) == 1 else made

    def _outputs(self, *args):
        made = _several(self._make_outputs(*args))
        if len(made) != len(self.plan.schema.returns) or not all(isinstance(one, torch.Tensor) for one in made):
            raise ArgumentTypeError(f"outputs= gives {len(self.plan.schema.returns)} empty tensors, not {made!r}")
        return tuple(made)

    def infer(self, *args):
        if self._make_outputs is None:
            raise Unsupported(f"{self._name} gives tensors whose shapes nothing tells before it runs: tracing "
                              f"needs outputs=, a function of its parameters that gives empty tensors like them")
        made = self._outputs(*args)
        return made[0] if len(made) == 1 else made

    def save(self, ctx, inputs, _attributes, result):
        inputs = (*inputs, *[None] * (len(self.plan.schema.arguments) - len(inputs)))
        outputs = _several(result)
        pools = {"input": inputs, "output": outputs}
        values = [pools[pool][i] if pool in pools else None for pool, i in self.plan.sources]
        ctx.save_for_backward(*[value if isinstance(value, torch.Tensor) else None for value in values])
        targets = [inputs[i] for i in self.plan.targets]
        ctx.call = ([None if isinstance(value, torch.Tensor) else value for value in values],
                    [() if x is None else tuple(x.shape) for x in targets],
                    [torch.float32 if x is None else x.dtype for x in targets])

    def gradients(self, ctx, needs, *gradients):
        others, shapes, dtypes = ctx.call
        values = [gradients[i] if pool == "gradient" else tensor if tensor is not None else other
                  for (pool, i), tensor, other in zip(self.plan.sources, ctx.saved_tensors, others)]
        run = self.backward_kernel if register.runs_direct(gradients[0]) else self.run_backward
        made = _several(run(*values, *shapes, *dtypes))
        row = [None] * len(needs)
        for i, gradient in zip(self.plan.targets, made):
            if i < len(needs) and needs[i]:
                row[i] = gradient
        return row

    def _split(self, values):
        """The arguments of backward, and the shapes and dtypes of the gradients."""
        n, k = len(self.plan.sources), len(self.plan.targets)
        return list(values[:n]), values[n:n + k], values[n + k:]

    def call_backward(self, *values):
        """Backward, as its operator is called."""
        read, shapes, dtypes = self._split(values)
        for i, (pool, _) in enumerate(self.plan.sources):
            if pool == "gradient":  # that of a sum is one element, expanded
                read[i] = register.contiguous(read[i])
        device = read[self._leader].device
        gradients = [torch.empty(shapes[k], dtype=dtypes[k], device=device) for k in range(len(self.plan.made))]
        given, made = iter(read), iter(gradients)
        row = [next(made) if i in self.plan.made else next(given) for i in range(len(self.plan.backward_parameters))]
        result = _call(self._backward, self.plan.backward_parameters, row)
        if result is not None:
            gradients += _several(result)
        for k, gradient in enumerate(gradients):
            if gradient is None:
                gradients[k] = torch.zeros(shapes[k], dtype=dtypes[k], device=device)
            elif any(gradient is value for value in values):
                gradients[k] = gradient.clone()
        return gradients[0] if len(gradients) == 1 else tuple(gradients)

    def infer_backward(self, *values):
        values, shapes, dtypes = self._split(values)
        device = values[self._leader].device
        made = [torch.empty(shape, dtype=dtype, device=device) for shape, dtype in zip(shapes, dtypes)]
        return made[0] if len(made) == 1 else tuple(made)

    def cell(self):
        return Cell(self.call, self.infer, self.save, self.gradients)

    def backward_cell(self):
        return Cell(self.call_backward, self.infer_backward, save_nothing, refusal(
            f"{self.plan.backward.__name__} has no gradient of its own: {self._name} cannot be differentiated twice"))

    def plain(self):
        """The function without an operator."""
        run = _autograd_function(self._name, self.plan.schema, self.cell())
        cell, schema = self.backward_cell(), self.plan.backward_schema()
        self.run_backward = _autograd_function(self.plan.backward.__name__, schema, cell)
        self.backward_kernel = register.kernel(schema, cell)
        signature = inspect.Signature([
            inspect.Parameter(one.name, inspect.Parameter.POSITIONAL_OR_KEYWORD,
                              default=inspect.Parameter.empty if one.default is None else None)
            for one in self.plan.schema.arguments])
        n_arguments = len(self.plan.schema.arguments)

        def differentiable(*args, **named):
            if named or len(args) != n_arguments:
                bound = signature.bind(*args, **named)
                bound.apply_defaults()
                args = bound.args
            return run(*args)

        differentiable.__name__ = differentiable.__qualname__ = operator_name(self.plan.forward.__qualname__)
        differentiable.__doc__ = f"{self.plan.forward.__doc__}\n\nDifferentiable, by {self.plan.backward.__doc__}"
        differentiable.__signature__ = signature  # type: ignore[attr-defined]
        return differentiable


def _autograd_function(name, schema, cell):
    """Calls a Cell as its operator would, differentiably, without the dispatcher. torch.func wants forward and what is
    saved apart, which costs more."""
    call = register.kernel(schema, cell)

    def forward(ctx, *args):
        result = call(*args)
        cell.save(ctx, args, {}, result)
        return result

    def save(ctx, inputs, output):
        cell.save(ctx, inputs, {}, output)

    def backward(ctx, *gradients):
        return tuple(cell.gradients(ctx, ctx.needs_input_grad, *gradients))

    methods = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    apply = register.subclass(name, torch.autograd.Function, methods).apply
    methods = {**methods, "forward": staticmethod(call), "setup_context": staticmethod(save)}
    apply_apart = register.subclass(name, torch.autograd.Function, methods).apply
    return lambda *args: (apply_apart if torch._C._are_functorch_transforms_active() else apply)(*args)


def _checked(function, status):
    """The function, whose status is checked and is no result. What it writes to are new tensors, of which autograd need not
    be told."""
    if status is None:
        return function
    quiet = function._quiet

    def call(*args):
        found = quiet(*args)
        if found != status:
            raise OpError(f"{function.__name__}() returned {found}, not {status}, which means success")

    return call


def _call(function, parameters, row):
    """Calls with None for default arguments at the end, which are left out."""
    row = list(row)
    while row and row[-1] is None and parameters[len(row) - 1].default is not None:
        row.pop()
    return function(*row)


def _several(result):
    return tuple(result) if isinstance(result, (tuple, list)) else (result,)
