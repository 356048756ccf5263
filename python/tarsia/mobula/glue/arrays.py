"""Operators on arrays with NumPy's interface, which keep no graph: an instance keeps the tensors of its last call for backward."""

from ..._errors import ArgumentTypeError, ArgumentValueError, explains_misuse
from .common import INPUT_FUNCS, assign, checked_requests, construct, get_in_data, get_varnames, infer, run_backward, run_forward
from .faces import ArrayFunctions


class ArrayOpGen:
    """Makes instances of a class of operators, and calls them. `module`: NumPy or CuPy. `view` gives an array its further methods, and
    `plain` takes them away."""

    def __init__(self, op, name, module, view, plain):
        self.op = op
        self.name = name
        self._class = _class_of(op, name, module, view, plain)

    def make(self, *args, **kwargs):
        return self._class(*args, **kwargs)

    def call(self, *args, **kwargs):
        inputs, (positional, named) = get_in_data(*args, op=self.op, **kwargs)
        return construct(self._class, self.op, self.name, positional, named)(*inputs)

    instance = __call__ = make


def _class_of(op, name, module, view, plain):
    def single(items):
        items = [plain(item) for item in items]
        return items[0] if len(items) == 1 else items

    def checked(items, what, numbers=()):
        for one in items:
            if not isinstance(one, (module.ndarray, module.generic, *numbers)):
                raise ArgumentTypeError(f"{name}: {what} must be an array of {module.__name__}, as this instance's tensors are, got "
                                        f"{type(one).__name__} {one!r}")
        return items

    def listed(given, what, numbers=()):
        return [view(one) for one in checked(given if isinstance(given, (list, tuple)) else [given], what, numbers)]

    def forward(self, *args, **kwargs):
        inputs, (positional, named) = get_in_data(*args, op=op, **kwargs)
        if positional:
            raise ArgumentValueError(f"{name} takes {len(get_varnames(op.forward))} inputs at most, got {len(args)}")
        if named:
            raise ArgumentTypeError(f"{name}: an instance's call takes no '{next(iter(named))}', but the inputs {', '.join(get_varnames(op.forward))}; "
                                    "parameters are given when the instance is made")
        self._set_functions(checked(inputs, "an input"))
        shapes = infer(self, op, [view(one) for one in inputs], module.dtype("float32"))
        run_forward(self, op, view, inputs, [module.empty(shape, dtype=dtype) for shape, dtype in shapes])
        return single(self.out_data)

    @explains_misuse()
    def backward(self, out_grad=None, in_data=None, out_data=None, in_grad=None, req=None):
        if in_data is not None:
            self.in_data = listed(in_data, "in_data")
        if out_data is not None:
            self.out_data = listed(out_data, "out_data")
        if self.in_data is None or self.out_data is None:
            raise ArgumentValueError(f"{name}: backward comes after forward, or is given in_data and out_data")
        n = len(self.in_data)
        requests = checked_requests(name, req, n)
        # What nobody gave begins at zero where it is added to, or left as it is.
        in_grad = [module.zeros_like(plain(x)) for x in self.in_data] if in_grad is None else listed(in_grad, "in_grad")
        out_grad = [module.ones_like(plain(y)) for y in self.out_data] if out_grad is None else listed(out_grad, "out_grad", (int, float))
        if len(in_grad) != n or len(out_grad) != len(self.out_data) or not out_grad:
            raise ArgumentValueError(f"{name}: backward takes a gradient for each of {n} inputs and of {len(self.out_data)} outputs; got "
                                     f"{len(in_grad)} and {len(out_grad)}")
        run_backward(self, op, view, out_grad, in_grad, requests)
        return single(self.in_grad)

    def set_functions(self, inputs):
        self.__dict__["_functions"] = ArrayFunctions(module, view, inputs[0].dtype if inputs else None)

    def functions(self):
        found = self.__dict__.get("_functions")
        return found if found is not None else ArrayFunctions(module, view)

    members = {
        "__call__": forward,
        "forward": forward,
        "backward": backward,
        "_forward": op.forward,
        "_backward": op.backward,
        "_set_functions": set_functions,
        "__module__": op.__module__,
        "__doc__": op.__doc__,
        "assign": assign,
        "in_data": None,
        "out_data": None,
        "F": property(functions),
        "op": op,
    }
    return type(name, (op,), {**members, **INPUT_FUNCS})
