"""The gradient of an expression that is an operator of PyTorch: another expression, or a function of Python."""

import inspect

import torch

from .._errors import ArgumentTypeError, ArgumentValueError
from . import register
from .._tarsia import Expression

_WITHOUT = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


class Gradient:
    """How an expression's backward is called. Its parameters are found by their names: those of inputs and outputs of
    the expression, the others are the gradients of its outputs, in order. It gives the gradients of the inputs that
    are tensors, or of those that `gradients` names.

    Where a reduction has taken dimensions away, its outputs and their gradients have them back, with one element, so
    that they broadcast against the inputs. What was broadcast is summed; a function of Python may have done so itself.
    """

    def __init__(self, expression, cell, backward, gradients):
        self._name, self._taken, self._numbers = expression.name, cell.taken, cell.numbers
        self._is_reduction = expression.kind == "reduction"
        if cell.schema.written or not cell.schema.returns:
            raise ArgumentTypeError(f"{self._name} writes to what it is given, which has no gradient: leave backward= out")
        self.backward = backward
        is_expression = self._is_of_elements = isinstance(backward, Expression)
        if is_expression:
            self.title = backward.name
            names = [p.name for p in backward.params if not p.is_output]
            if any(p.is_inout or p.is_raw for p in backward.outputs):
                raise ArgumentTypeError(f"{self.title}, the gradient of {self._name}, gives its outputs: neither inout nor raw")
        elif callable(backward):
            self.title = getattr(backward, "__name__", "backward")
            try:
                names = list(inspect.signature(backward).parameters)
            except ValueError:
                raise ArgumentTypeError(f"backward is an expression or a function of Python, whose parameters have names; {self.title} tells none")\
                    from None
        else:
            raise ArgumentTypeError(f"backward is an expression or a function, not {type(backward).__name__}")
        self.sources = self._sources(names, [p.name for p in cell.made])
        keys = self._keys(gradients)
        if is_expression and len(backward.outputs) != len(keys):
            raise ArgumentTypeError(f"{self.title} gives {len(backward.outputs)} gradients, for {len(keys)} inputs "
                                    f"({', '.join(keys)}): name those that have one, gradients=(…)")
        indices = {p.name: i for i, p in enumerate(self._taken)}
        self._targets = [indices[key] for key in keys]
        self.run = self.kernel = backward  # or its operator, and what that runs

    def _sources(self, names, outputs):
        inputs = {p.name: i for i, p in enumerate(self._taken)}
        rest = list(range(len(outputs)))
        sources = []
        for name in names:
            if name in inputs:
                sources.append(("input", inputs[name]))
            elif name in outputs:
                sources.append(("output", outputs.index(name)))
            elif rest:
                sources.append(("gradient", rest.pop(0)))
            else:
                raise ArgumentTypeError(f"{self.title}: nothing is known of its input {name!r}. {self._name} has "
                                        f"{', '.join([*inputs, *outputs])}; others are the gradients of the outputs, in order")
        if 0 in rest:
            raise ArgumentTypeError(f"{self.title} takes no gradient of an output: an input of a name that {self._name} does not have")
        return sources

    def _keys(self, gradients):
        able = [p.name for p in self._taken if p.name not in self._numbers and p.dtype not in _WITHOUT]
        if gradients is None:
            return [p.name for p in self._taken if p.name in able and not p.is_raw]
        keys = [gradients] if isinstance(gradients, str) else list(gradients)
        unknown = [key for key in keys if key not in able]
        if unknown:
            raise ArgumentValueError(f"gradients names {', '.join(map(repr, unknown))}; the inputs of {self._name} that can have "
                                     f"one are {', '.join(able) or 'none'}")
        return keys

    def numbers(self):
        """The names of what an expression's backward takes as numbers."""
        return [self._taken[i].name for pool, i in self.sources if pool == "input" and self._taken[i].name in self._numbers]

    def save(self, ctx, inputs, attributes, result):
        pools = {"input": inputs, "output": result if isinstance(result, tuple) else (result,)}
        values = [pools[pool][i] if pool in pools else None for pool, i in self.sources]
        ctx.save_for_backward(*[value if isinstance(value, torch.Tensor) else None for value in values])
        whole = torch.broadcast_shapes(*(value.shape for p, value in zip(self._taken, inputs)
                                         if isinstance(value, torch.Tensor) and not p.is_raw))
        ctx.call = ([None if isinstance(value, torch.Tensor) else value for value in values], whole,
                    [(inputs[i].shape, inputs[i].dtype) for i in self._targets], attributes)

    def gradients(self, ctx, needs, *gradients):
        others, whole, metas, attributes = ctx.call
        values = []
        for (pool, i), tensor, other in zip(self.sources, ctx.saved_tensors, others):
            value = gradients[i] if pool == "gradient" else other if tensor is None else tensor
            values.append(value if pool == "input" else self._with_dimensions(value, len(whole), attributes))
        run = self.kernel if register.runs_direct(gradients[0]) else self.run
        made = run(*values)
        made = made if isinstance(made, (tuple, list)) else (made,)
        if len(made) != len(self._targets):
            raise ArgumentTypeError(f"{self.title} gives {len(self._targets)} gradients, not {len(made)}")
        row = [None] * len(needs)
        for i, gradient, (shape, dtype) in zip(self._targets, made, metas):
            if needs[i] and gradient is not None:
                if not self._taken[i].is_raw and (gradient.shape != shape or self._is_of_elements and shape != whole):
                    gradient = gradient.expand(torch.broadcast_shapes(gradient.shape, whole)).sum_to_size(shape)
                row[i] = gradient.to(dtype)
        return row

    def _with_dimensions(self, value, n, attributes):
        if not self._is_reduction or attributes.get("keepdims"):
            return value
        axis = attributes.get("axis")
        axes = range(n) if axis is None else [axis] if isinstance(axis, int) else axis
        for one in sorted(one % n for one in axes):
            value = value.unsqueeze(one)
        return value
