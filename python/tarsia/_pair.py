"""Matches the parameters of a forward and a backward function."""

from ._compile_options import to_names
from ._errors import ArgumentTypeError, ArgumentValueError
from ._schema import INT, NONE, Argument, Schema, of_function
from ._tarsia import Function


class Pair:
    """Where the arguments of backward come from, and whose gradients it gives.

    ``schema``: of forward without what it writes to, which is in its returns instead. ``parameters``, ``written``: all
    of forward's, and the indices of those. ``backward_parameters``, ``made``: backward's, and the indices of those that
    it writes gradients to. ``sources``: for each of the others ("input" | "output" | "gradient", index), ``read``: their
    Arguments. ``targets``: the indices in ``schema`` of those whose gradients they are, those made first.
    """

    def __init__(self, forward, backward, gradients=None, mutates=None, status=None):
        for what, role in ((forward, "forward"), (backward, "backward")):
            if not isinstance(what, Function):
                raise ArgumentTypeError(f"{role} is a tarsia.Function, such as lib.f, not {type(what).__name__}")
            if len(what._description) != 1:
                raise ArgumentTypeError(f"{role} has overloads: {what.__name__} has to be one function")
        self.forward, self.backward = forward, backward
        self.status = status
        self._mutates = None if mutates is None else set(to_names(mutates, "mutates"))
        self._plan_forward()
        self._plan_backward(gradients)

    def _schema_of(self, function):
        description = self._described(function)
        if self._mutates is None:
            return of_function(description)
        return of_function(description, self._mutates & {name for name, _ in description[3]})

    def _described(self, function):
        """What describes the function. A status is checked, and is no result."""
        description = function._description[0]
        if self.status is None:
            return description
        if description[-1][0] != INT:
            raise ArgumentTypeError(f"status={self.status!r} is of functions that return an int; {function.__name__} does not")
        return (*description[:-1], (NONE, *description[-1][1:]))

    def _plan_forward(self):
        name, described, result = self.forward.__name__, self._schema_of(self.forward), self._described(self.forward)[-1]
        self.written, self.parameters = described.written, described.arguments
        if self.written and result[0] != NONE:
            raise ArgumentTypeError(f"{name} writes to {self.names_of_written()} and returns something: it has to do either. "
                                    f"Declare what it only reads const")
        if any(self.parameters[i].type != "Tensor" for i in self.written):
            raise ArgumentTypeError(f"{name}: an output is a tensor, neither a list nor optional")
        if self.written and self._mutates is None and not any(one.is_tensor for one in self.parameters if not one.writes):
            raise ArgumentTypeError(f"{name} may write to all its tensors by their types: name those that it does write to, and "
                                    f"those of the backward function, mutates=(…)")
        returns = ("Tensor",) * len(self.written) or described.returns
        if set(returns) != {"Tensor"}:
            raise ArgumentTypeError(f"{name} has to give tensors, not {', '.join(returns) or 'nothing'}")
        read = tuple(one for i, one in enumerate(self.parameters) if i not in self.written)
        self.schema = Schema(read, returns)

    def names_of_written(self):
        return ", ".join(repr(self.parameters[i].name) for i in self.written)

    def _plan_backward(self, gradients):
        described, name, forward = self._schema_of(self.backward), self.backward.__name__, self.forward.__name__
        inputs = {one.key: i for i, one in enumerate(self.schema.arguments)}
        outputs = {self.parameters[i].key: k for k, i in enumerate(self.written)}
        n_outputs = len(self.schema.returns)
        rest = [("gradient", k) for k in range(n_outputs)]
        if not self.written:
            rest += [("output", k) for k in range(n_outputs)]
        self.sources, self.made, self.read = [], [], []
        for i, one in enumerate(described.arguments):
            if i in described.written:
                self.made.append(i)
                continue
            if one.key in inputs:
                source = "input", inputs[one.key]
            elif one.key in outputs:
                source = "output", outputs[one.key]
            elif rest and one.is_tensor:
                source = rest.pop(0)
            else:
                raise ArgumentTypeError(f"{name}: nothing is known of its parameter {one.name!r}. {forward} has "
                                        f"{', '.join([*inputs, *outputs])}; tensors of other names are the gradients of the "
                                        f"outputs, in order, and then the outputs that it returns")
            self.sources.append(source)
            self.read.append(one)
        if rest and rest[0] == ("gradient", 0):
            raise ArgumentTypeError(f"{name} takes no gradient of an output: a tensor that {forward} has no parameter of "
                                    f"that name for")
        self.backward_parameters = described.arguments
        self.targets = self._targets_of(gradients, len(self.made) + len(described.returns))

    def _targets_of(self, gradients, n):
        name, forward = self.backward.__name__, self.forward.__name__
        tensors = {one.key: i for i, one in enumerate(self.schema.arguments) if one.type in ("Tensor", "Tensor?")}
        keys = list(tensors) if gradients is None else to_names(gradients, "gradients")
        unknown = [key for key in keys if key not in tensors]
        if unknown:
            raise ArgumentValueError(f"gradients names {', '.join(map(repr, unknown))}; the tensors that {forward} reads are "
                                     f"{', '.join(tensors) or 'none'}")
        if len(keys) != n:
            raise ArgumentTypeError(f"{name} gives {n} gradients, for {len(keys)} tensors ({', '.join(keys)}): name those that "
                                    f"have one, gradients=(…)")
        return [tensors[key] for key in keys]

    def backward_schema(self):
        """What an operator of backward takes: after what it reads, the shapes and dtypes of the gradients."""
        shapes = [Argument(f"shape{k + 1}", "SymInt[]", "") for k in range(len(self.targets))]
        # Work-around: PyTorch 2.11 does not trace a list of dtypes.
        # Trigger: a pair of functions within what torch.compile or torch.export trace. Symptom: they fail over an
        # argument of type ScalarType[]. Removal: PyTorch 2.11 is no longer supported.
        dtypes = [Argument(f"dtype{k + 1}", "ScalarType", "") for k in range(len(self.targets))]
        return Schema((*self.read, *shapes, *dtypes), ("Tensor",) * len(self.targets))
