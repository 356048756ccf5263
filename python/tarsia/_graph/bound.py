"""A graph bound to shapes, dtypes and a device."""

from .. import _tarsia
from .._errors import ArgumentTypeError, make, methods_explain_misuse
from .plan import Plan


@methods_explain_misuse(made="bind() of a tarsia.Graph gives one")
class BoundGraph:
    """Runs a graph. Call it with the inputs by name or in order; a single output comes bare, several as a tuple.

    ``out=`` takes a tensor, or a tuple of tensors, to write to; without it, results are fresh memory that stays
    valid. Calls from several threads may overlap: each has memory of its own. On a GPU, a call puts its work on the
    current stream of the tensors' framework and does not wait.
    """

    def __init__(self, op, inputs):
        self._op = op
        self._inputs = inputs
        self._plan = None

    @property
    def plan(self):
        """The :class:`Plan`: bytes, sharing, implementations and conversions."""
        if self._plan is None:
            self._plan = make(Plan, self._op)
        return self._plan

    @property
    def inputs(self):
        """(shape, dtype) of each input, by name."""
        return dict(zip(self._inputs, self._op.inputs, strict=True))

    @property
    def outputs(self):
        """(shape, dtype) of each output."""
        return self._op.outputs

    def __call__(self, *args, out=None, req=None, **inputs):
        if inputs:
            args = self._in_order(args, inputs)
        return self._op(*args, out=out, req=req)

    def _in_order(self, args, inputs):
        rest = self._inputs[len(args) :]
        try:
            ordered = (*args, *(inputs.pop(name) for name in rest))
        except KeyError as missing:
            raise ArgumentTypeError(f"graph: input {missing} is missing; it takes {', '.join(self._inputs)}") from None
        if inputs:
            name = next(iter(inputs))
            twice = name in self._inputs
            raise ArgumentTypeError(
                f"graph: input '{name}' is given twice"
                if twice
                else f"graph: there is no input '{name}'; it takes {', '.join(self._inputs)}"
            )
        return ordered

    def capture(self):
        """Captures a run on a GPU as a CUDA graph. Gives a :class:`CapturedGraph`.

        The graph runs once with zeros meanwhile, which leaves its states as they were.
        """
        return make(CapturedGraph, _tarsia.CapturedGraph(self._op), self)

    def __repr__(self):
        return f"<tarsia.BoundGraph {', '.join(self._inputs)}>"


@methods_explain_misuse(made="capture() of a tarsia.BoundGraph gives one")
class CapturedGraph:
    """A bound graph as a CUDA graph. Call it like the graph: inputs are copied in, and results are fresh memory.

    To save the copies, fill :attr:`inputs` and read :attr:`outputs` in place, and call :meth:`replay`, all on one
    stream.
    """

    def __init__(self, captured, bound):
        self._captured = captured
        self._bound = bound

    @property
    def inputs(self):
        """The tensors that a replay reads, by name: tarsia.Tensor at fixed addresses."""
        return dict(zip(self._bound._inputs, self._captured.inputs, strict=True))

    @property
    def outputs(self):
        """The tensors that a replay overwrites, in order."""
        return tuple(self._captured.outputs)

    def replay(self, stream=None):
        """Launches the graph on a stream (an int, or an object of PyTorch or CuPy), without waiting."""
        self._captured.replay(stream)

    def __call__(self, *args, **inputs):
        results = self._captured.run(list(self._bound._in_order(args, inputs)))
        return results[0] if len(results) == 1 else results
