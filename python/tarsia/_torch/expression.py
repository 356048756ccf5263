"""Operators of PyTorch over expressions: the schema and the inference of tarsia.elementwise and tarsia.reduction.

Both follow from the declaration alone, so that tracing compiles nothing.
"""

import hashlib

import torch

from .._compile_options import to_names
from .._errors import ArgumentTypeError, ArgumentValueError, OpValueError
from .._expressions.expression import TYPES
from .._schema import Argument, Schema, identifier
from .register import Cell, refusal, save_nothing

_NAMES = {getattr(torch, name): name for name in TYPES if hasattr(torch, name)}
_NUMBERS = {"bool": "bool", "float16": "float", "bfloat16": "float", "float32": "float", "float64": "float"}  # or SymInt
_WIDEST = "bool", "int64", "float64"  # what Python's numbers are


def name_of(expression):
    """What its operator is called: those without a name of their own must not take each other's."""
    if expression.name != expression.kind:
        return identifier(expression.name)
    said = repr((expression.headline(), expression.texts, expression.preamble, sorted(expression.options.items(), key=str)))
    return f"{expression.name}_{hashlib.sha256(said.encode()).hexdigest()[:8]}"


class ExpressionCell:
    """An expression as its operator runs it. ``numbers``: the names of the inputs that are numbers; None: those with a
    type of their own, where a tensor with a type letter stands beside them."""

    def __init__(self, expression, numbers=None):
        self._call, self._name = expression, expression.name
        self._is_reduction = expression.kind == "reduction"
        self.numbers = self._check(expression, numbers)
        self.taken = [p for p in expression.params if not p.is_output or p.is_raw or p.is_inout]
        self.made = [p for p in expression.params if p.is_output and not (p.is_raw or p.is_inout)]
        self._params, self._outputs = expression.params, expression.outputs
        self._is_size_known = any(not p.is_raw and p.name not in self.numbers for p in self.taken)  # what the shape is
        self._needs_size = all(p.is_raw for p in self.taken)
        self._has_tensors = len(self.numbers) < len(self.taken)
        self.schema = self._schema({p.name for p in expression.params})

    def _check(self, expression, numbers):
        walked = [p for p in expression.params if not p.is_raw and (not p.is_output or p.is_inout)]
        inputs = [p for p in walked if not p.is_output]
        if numbers is None:
            lettered = any(p.is_letter for p in walked)
            return {p.name for p in inputs if lettered and not p.is_letter}
        numbers = set(to_names(numbers, "numbers"))
        unknown = numbers - {p.name for p in inputs}
        if unknown:
            raise ArgumentValueError(f"numbers names {', '.join(map(repr, sorted(unknown)))}; the inputs of {expression.name} that "
                                     f"may be numbers are {', '.join(p.name for p in inputs) or 'none'}")
        if self._is_reduction and len(numbers) == len(inputs):
            raise ArgumentValueError(f"{expression.name} reduces a tensor: numbers must not name all of {', '.join(sorted(numbers))}")
        return numbers

    def _schema(self, taken):
        arguments = []
        for p in self.taken:
            if p.name not in self.numbers:
                type = "Tensor"
            else:
                type = "Scalar" if p.is_letter else _NUMBERS.get(p.dtype, "SymInt")
            arguments.append(Argument(identifier(p.name), type, p.name, p.is_output))
        more = [("int[1]?", "axis", "None"), ("bool", "keepdims", "False")] if self._is_reduction else \
            [] if self._is_size_known else [("SymInt?", "size", "None")]
        arguments += [Argument(name, type, name, default=default, keyword=True) for type, name, default in more
                      if name not in taken]
        return Schema(tuple(arguments), ("Tensor",) * len(self.made))

    def cell(self, fake, gradient=None, why=None):
        """gradient: a Gradient; why: what is said where it has none."""
        is_plain = len(self.made) == len(self._outputs) and self._has_tensors
        call, infer = self._call if is_plain else self.call, self.infer if fake is None else fake
        if gradient is not None:
            return Cell(call, infer, gradient.save, gradient.gradients)
        return Cell(call, infer, save_nothing, refusal(why or (
            f"{self._name} has no gradient: register it with backward=, an expression or a function that computes one, or "
            f"detach() what no gradient is wanted of")))

    def call(self, *args, **given):
        """With outputs among the arguments, or without any tensor that says whose the outputs are."""
        made = iter([None] * len(self.made))
        if not self._has_tensors:
            made, given = iter(self._several(self.infer(*args, **given))), {}
        read = iter(args)
        result = self._call(*(next(made) if p in self.made else next(read) for p in self._params), **given)
        results = [one for one, p in zip(self._several(result), self._outputs) if p in self.made]
        return None if not results else results[0] if len(results) == 1 else tuple(results)

    @staticmethod
    def _several(result):
        return result if isinstance(result, tuple) else (result,)

    # ---- what tracing sees ----

    def infer(self, *args, axis=None, keepdims=False, size=None):
        given = list(zip(self.taken, args))
        tensors = [(p, value) for p, value in given if isinstance(value, torch.Tensor)]
        for p, value in tensors:
            if value.device != tensors[0][1].device:
                raise ArgumentValueError(f"{self._name}: all tensors have to be on one device: {tensors[0][0].name!r} is on "
                                         f"{tensors[0][1].device}, {p.name!r} on {value.device}")
        letters = self._letters(given)
        shape = self._shape([(p, value) for p, value in tensors if not p.is_raw], size)
        if self._is_reduction:
            shape = self._reduced(shape, axis, keepdims)
        device = tensors[0][1].device if tensors else torch.device("cpu")
        made = []
        for p in self.made:
            dtype = letters.get(p.type) if p.is_letter else p.dtype
            if dtype is None:
                raise ArgumentTypeError(f"{self._name}: output {p.name!r} has the type {p.type}, which no input tells; declare it "
                                        f"with a type such as float")
            made.append(torch.empty(shape, dtype=getattr(torch, dtype), device=device))
        return None if not made else made[0] if len(made) == 1 else tuple(made)

    def _letters(self, given):
        letters, tellers = {}, {}
        for p, value in given:
            if not isinstance(value, torch.Tensor):
                continue
            dtype = _NAMES.get(value.dtype)
            if dtype is None:
                raise ArgumentTypeError(f"{self._name}: {p.name!r} has elements of {value.dtype}, which expressions do not take")
            if not p.is_letter and dtype != p.dtype:
                raise ArgumentTypeError(f"{self._name}: {p.name!r} is declared as {p.type}, which is {p.dtype}, and was given "
                                        f"{dtype}; convert it, or declare it with a type letter such as T")
            if p.is_letter and letters.setdefault(p.type, dtype) != dtype:
                raise ArgumentTypeError(f"{self._name}: {p.type} is {letters[p.type]} by {tellers[p.type]!r} and {dtype} by "
                                        f"{p.name!r}; convert one of them, or give it a type letter of its own")
            tellers.setdefault(p.type, p.name)
        numbers = {}
        for p, value in given:
            if p.is_letter and p.type not in letters:
                rank = 0 if isinstance(value, (bool, torch.SymBool)) else 1 if isinstance(value, (int, torch.SymInt)) else 2
                numbers[p.type] = max(rank, numbers.get(p.type, 0))
        return {**letters, **{letter: _WIDEST[rank] for letter, rank in numbers.items()}}

    def _shape(self, walked, size):
        """What the inputs broadcast to, which the outputs that are given have to have."""
        inputs = [(p, value) for p, value in walked if not p.is_output]
        outputs = [(p, value) for p, value in walked if p.is_output]
        if size is not None:
            return (size,)
        if self._needs_size:
            raise ArgumentValueError(f"{self._name}: no tensor tells how many elements there are; pass size=")
        shape = self._broadcast(inputs)
        if not outputs:
            return shape
        wanted = tuple(outputs[0][1].shape)
        for p, value in outputs:
            if tuple(value.shape) != wanted:
                raise OpValueError(f"{self._name}: outputs {outputs[0][0].name!r} and {p.name!r} have the shapes {wanted} and "
                                  f"{tuple(value.shape)}, which have to be the same")
        if self._broadcast([*inputs, outputs[0]]) != wanted:
            raise OpValueError(f"{self._name}: output {outputs[0][0].name!r} has shape {wanted}, the inputs broadcast to {shape}")
        return wanted

    def _broadcast(self, tensors):
        shapes = [tuple(value.shape) for _, value in tensors]
        try:
            return tuple(torch.broadcast_shapes(*shapes))
        except RuntimeError as error:
            if not all(isinstance(extent, int) for shape in shapes for extent in shape):
                raise
            said = ", ".join(f"{shape} of {p.name!r}" for (p, _), shape in zip(tensors, shapes))
            raise OpValueError(f"{self._name}: shapes {said} do not broadcast: counted from the end, extents have to be equal "
                              f"or 1") from error

    def _reduced(self, shape, axis, keepdims):
        n = len(shape)
        axes = range(n) if axis is None else [axis] if isinstance(axis, int) else axis
        gone = set()
        for one in axes:
            if not -n <= one < n:
                raise ArgumentValueError(f"{self._name}: axis {one} is out of range for inputs of {n} dimensions")
            if one % n in gone:
                raise ArgumentValueError(f"{self._name}: axis {one % n} is given twice")
            gone.add(one % n)
        if keepdims:
            return tuple(1 if d in gone else extent for d, extent in enumerate(shape))
        return tuple(extent for d, extent in enumerate(shape) if d not in gone)
