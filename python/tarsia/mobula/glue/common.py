"""What the operators of all frameworks share: registration, inputs and parameters, assignment."""

import inspect

from ..._compile.loading import warn_caller
from ..._compile_options import to_names, to_text
from ..._errors import ArgumentTypeError, ArgumentValueError, OpValueError, explains_misuse
from ..internal.dtype import CTYPE_OF_DTYPE
from . import backend

CUSTOM_OP_LIST = {}  # name → MobulaOperator
CSTRUCT_CONSTRUCTOR = {}  # name of a struct in C++ → (class of ctypes, what makes one of an argument)


class MobulaTensor:
    """A tensor as kernels see it: ``data_ptr``, ``ctype``, and ``dev_id``, the number of its GPU or None."""

    def __init__(self, tensor):
        self.tensor = tensor

    @property
    def F(self):
        """The framework's module."""
        return backend.get_var_glue(self.tensor).F


def ctype_of(dtype):
    """The type of ctypes for the name of a dtype."""
    if dtype not in CTYPE_OF_DTYPE:
        raise ArgumentTypeError(f"ctypes has no type for {dtype}")
    return CTYPE_OF_DTYPE[dtype]


def get_varnames(func):
    """The names of a method's positional parameters, without self."""
    return [p.name for p in list(inspect.signature(func).parameters.values())[1:]
            if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def _defaults(func):
    """How many of them have a default."""
    return sum(p.default is not p.empty for p in list(inspect.signature(func).parameters.values())[1:]
               if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD))


def get_in_data(*args, op, **kwargs):
    """(the inputs, (positional, keyword) parameters of the operator) in the arguments of a call."""
    names = get_varnames(op.forward)
    n_required = len(names) - _defaults(op.forward)
    inputs, parameters = list(args[: len(names)]), args[len(names):]
    for name in names[: len(inputs)]:
        if name in kwargs:
            raise ArgumentTypeError(f"{op.__name__}: input '{name}' is given twice")
    missing = None
    for name in names[len(inputs):]:
        if name in kwargs and missing is None:
            inputs.append(kwargs.pop(name))
        elif name in kwargs:
            raise ArgumentTypeError(f"{op.__name__}: input '{name}' is given, but '{missing}' before it is not")
        else:
            missing = missing or name
    while len(inputs) > n_required and inputs[-1] is None:
        inputs.pop()
    if len(inputs) < n_required:
        raise ArgumentTypeError(f"{op.__name__}: input '{names[len(inputs)]}' is missing; the inputs are {', '.join(names)}")
    for name, value in zip(names, inputs):
        if backend.get_var_glue(value) is None:
            raise ArgumentTypeError(f"{op.__name__}: input '{name}' must be a tensor of NumPy, PyTorch or CuPy, got "
                                    f"{type(value).__name__} {value!r}; parameters that are no tensors are given by name")
    return inputs, (parameters, kwargs)


def construct(made, op, name, positional, named):
    """An instance of an operator. `made` is a class over the author's, `op`, whose parameters they are."""
    try:
        return made(*positional, **named)
    except TypeError:
        signature = inspect.signature(op)
        try:
            signature.bind(*positional, **named)
        except TypeError as error:
            raise ArgumentTypeError(f"{name}: {error}; its parameters are {signature}") from None
        raise


def get_in_shape(in_data):
    """The shapes of tensors."""
    return [tuple(tensor.shape) for tensor in in_data]


def assign(_, dst, req, src):
    """Writes `src` to `dst` as a request says."""
    if not isinstance(req, str) or req not in ("null", "write", "inplace", "add"):
        raise ArgumentValueError(f"a request is 'null', 'write', 'inplace' or 'add', not {req!r}")
    try:
        if req == "add":
            dst[...] += src
        elif req != "null":
            dst[...] = src
    except ValueError as error:
        raise ArgumentValueError(f"what is written to a tensor of the shape {tuple(dst.shape)} does not fit into it: {error}") from error


def infer(instance, op, in_data, default):
    """((shape, dtype) of each output) of an operator's instance. `default`: the dtype where there is no input."""
    shapes = get_in_shape(in_data)
    try:
        inferred = instance.infer_shape(shapes)
    except AssertionError as error:
        raise OpValueError(f"{op.__name__}: infer_shape does not take inputs of the shapes {', '.join(map(str, shapes))}"
                           f"{': ' + str(error) if str(error) else ''}") from error
    if not isinstance(inferred, (list, tuple)) or len(inferred) < 2:
        raise OpValueError(f"{op.__name__}: infer_shape gives the shapes of the inputs and those of the outputs, such as "
                           f"([(2, 3)], [(2, 3)]), not {inferred!r}")
    outputs = [tuple(int(extent) for extent in shape) for shape in inferred[1]]
    dtypes = [tensor.dtype for tensor in in_data]
    first = dtypes[0] if dtypes else default
    if hasattr(op, "infer_type"):
        given = instance.infer_type(dtypes)[1]
    else:
        given = [first] * len(outputs)
    return list(zip(outputs, given))


def run_forward(instance, op, view, inputs, outputs):
    """Lets an instance compute its outputs into memory that is there."""
    instance.in_data = [view(one) for one in inputs]
    instance.out_data = [view(one) for one in outputs]
    instance.req = ["write"] * max(len(inputs), len(outputs))
    given = results(op, "forward", instance._forward(*instance.in_data), len(outputs))
    for one, y, req in zip(given or (), instance.out_data, instance.req):
        instance.assign(y, req, one)


def run_backward(instance, op, view, out_grad, in_grad, requests):
    """Lets an instance that knows its inputs and outputs compute gradients as requests say.

    The class sees "write" and "null" alone. What is added, or may share memory with what the class still reads, is computed
    beside it. So each class honours each request, whatever it makes of self.req.
    """
    copies = {k: view(instance.F.empty_like(in_grad[k])) for k, wanted in enumerate(requests) if wanted in ("add", "inplace")}
    instance.in_grad = [copies.get(k, view(one)) for k, one in enumerate(in_grad)]
    instance.out_grad = [view(one) for one in out_grad]
    instance.req = ["null" if wanted == "null" else "write" for wanted in requests]
    given = results(op, "backward", instance._backward(*instance.out_grad), len(in_grad))
    for one, dx, req in zip(given or (), instance.in_grad, instance.req):
        instance.assign(dx, req, one)
    for k, copy in copies.items():
        instance.assign(view(in_grad[k]), requests[k], copy)
    instance.in_grad = [view(one) for one in in_grad]


def checked_requests(name, requests, n):
    """Requests for n gradients; all are written by default."""
    requests = ["write"] * n if requests is None else to_names(requests, f"{name}: req")
    if len(requests) != n:
        raise ArgumentValueError(f"{name}: backward takes a request for each of {n} inputs, got {len(requests)}")
    for one in requests:
        if one not in ("null", "write", "inplace", "add"):
            raise ArgumentValueError(f"{name}: a request is 'null', 'write', 'inplace' or 'add', not {one!r}")
    return requests


def results(op, what, given, n):
    """The results of an operator's forward or backward as a list of n; None if it wrote them itself."""
    if given is None:
        return None
    items = list(given) if isinstance(given, (list, tuple)) else [given]
    if len(items) < n:
        raise OpValueError(f"{op.__name__}: {what} returned {len(items)} of {n} results; return all, or write them to "
                           f"self.{'Y' if what == 'forward' else 'dX'} and return nothing")
    return items[:n]


class MobulaOperator:
    """A registered operator. Calling it runs it on the framework of its inputs; ``op[numpy.ndarray](parameters…)`` makes an instance,
    which keeps its tensors for ``backward``."""

    def __init__(self, op, name, **attrs):
        self.op = op
        self.name = name
        self.attrs = {key: value for key, value in attrs.items() if key != "need_top_grad"}
        self.__doc__ = op.__doc__

    def __call__(self, *args, **kwargs):
        glue = backend.get_args_glue(*args, **kwargs)
        if glue is None:
            raise ArgumentTypeError(f"{self.name}: no argument is a tensor of NumPy, PyTorch or CuPy; an operator without inputs is "
                                    f"called as {self.name}[numpy.ndarray](…)()")
        return backend.op_gen(glue, self.op, self.name).call(*args, **self._with_attrs(kwargs))

    def __getitem__(self, input_type):
        glue = backend.get_var_type_glue(input_type)
        if glue is None:
            raise ArgumentTypeError(f"{self.name}[…] takes the type of tensors of NumPy, PyTorch or CuPy, not {input_type!r}")

        def make(*args, **kwargs):
            kwargs = self._with_attrs(kwargs)
            generator = backend.op_gen(glue, self.op, self.name)
            try:
                inspect.signature(self.op).bind(*args, **kwargs)
            except TypeError:
                if args:  # inputs, which no constructor takes
                    return generator.call(*args, **kwargs)
                raise ArgumentTypeError(f"{self.name}[{input_type.__name__}](…) takes {inspect.signature(self.op)}, got "
                                        f"{', '.join(kwargs) or 'nothing'}") from None
            return generator.make(*args, **kwargs)

        return make

    @explains_misuse()
    def tarsia_op(self, name=None, *, inputs=None, no_gradient=(), dtypes=("float32", "float64"), devices=("cpu", "gpu"), **parameters):
        """Registers the operator, with these parameters, as an op of Tarsia: for tarsia.ops, graphs and tarsia.testing.check.

        name: of the op; by default mobula_ and the operator's name.
        inputs: how many inputs it has, where some have defaults; by default all.
        no_gradient: the names of inputs without a gradient.
        dtypes: what its first input may hold.
        """
        from .tarsia_op import define

        name = f"mobula_{self.name}" if name is None else to_text(name, "name")
        return define(self, name, inputs, no_gradient, dtypes, devices, self._with_attrs(parameters))

    def _with_attrs(self, kwargs):
        kwargs = {**kwargs, **self.attrs}
        if "name" in kwargs and "name" not in inspect.signature(self.op).parameters:
            del kwargs["name"]  # MXNet's name of a node
        return kwargs

    def __repr__(self):
        return f"<operator {self.name}({', '.join(get_varnames(self.op.forward))})>"


_namespace: dict = {}  # of tarsia.mobula.op, where operators are found by their names


def set_namespace(names):
    global _namespace
    _namespace = names


@explains_misuse()
def register(op_name=None, **attrs):
    """Registers a class as an operator: ``@register``, ``@register("name")`` or ``@register(parameter=3)``."""

    def decorate(op, name=None):
        name = name or op.__name__
        for method in ("forward", "backward", "infer_shape"):
            if not callable(getattr(op, method, None)):
                raise ArgumentTypeError(f"operator {name}: there is no {method}; a class has forward(self, inputs…), backward(self, "
                                        "gradients of the outputs…) and infer_shape(self, in_shape)")
        if name in CUSTOM_OP_LIST:
            warn_caller(f"operator {name} is registered again; the new one takes its place")
        found = CUSTOM_OP_LIST[name] = _namespace[name] = MobulaOperator(op, name, **attrs)
        return found

    if isinstance(op_name, type):
        return decorate(op_name)
    if op_name is not None and not isinstance(op_name, str):
        raise ArgumentTypeError(f"register takes a class or the name of an operator, not {op_name!r}")
    return lambda op: decorate(op, op_name)


@explains_misuse()
def register_cstruct(name, cstruct, constructor=None):
    """Lets kernels and functions that are loaded from now on take pointers to a struct of C++. `constructor` makes one, of the class
    `cstruct` of ctypes, of an argument; by default the class itself, of an argument or of the items of a tuple."""
    import ctypes

    name = to_text(name, "name")
    if not isinstance(cstruct, type) or not issubclass(cstruct, ctypes.Structure):
        raise ArgumentTypeError(f"register_cstruct: {name!r} needs a class that is derived from ctypes.Structure, not {cstruct!r}")
    if constructor is not None and not callable(constructor):
        raise ArgumentTypeError(f"register_cstruct: the constructor of {name!r} must be callable, not {constructor!r}")
    CSTRUCT_CONSTRUCTOR[name] = (cstruct, constructor or cstruct)


INPUT_FUNCS = {
    "X": property(lambda self: self.in_data),
    "Y": property(lambda self: self.out_data),
    "dX": property(lambda self: self.in_grad),
    "dY": property(lambda self: self.out_grad),
    "x": property(lambda self: self.in_data[0]),
    "y": property(lambda self: self.out_data[0]),
    "dx": property(lambda self: self.in_grad[0]),
    "dy": property(lambda self: self.out_grad[0]),
}
