"""PyTorch's tensors: an operator is a function of autograd's, and an instance of it a module."""

import ctypes

import torch

from ..._errors import ArgumentTypeError, ArgumentValueError, Unsupported
from ..internal.dtype import NAME_OF_DTYPE
from .common import INPUT_FUNCS, MobulaTensor, assign, construct, ctype_of, get_in_data, get_varnames, infer, run_backward, run_forward
from .faces import excluded

NAME = "PyTorch"
F = torch
gen_cache = {}


class _Size(int):
    """The number of elements, and when called, what torch.Tensor.size gives."""

    _shape: torch.Size

    def __new__(cls, tensor):
        self = super().__new__(cls, tensor.numel())
        self._shape = tensor.shape
        return self

    def __call__(self, dim=None):
        return self._shape if dim is None else self._shape[dim]


def _reduction(name):
    def reduce(self, axis=None, *args, exclude=False, **kwargs):
        plain_reduce = getattr(super(Array, self), name)
        if exclude:
            return plain_reduce(excluded(self.ndim, axis), *args, **kwargs)
        return plain_reduce(*args, **kwargs) if axis is None else plain_reduce(axis, *args, **kwargs)

    reduce.__name__ = name
    return reduce


class Array(torch.Tensor):
    """A tensor as operators see it."""

    sum, mean = map(_reduction, ("sum", "mean"))

    @property
    def size(self):
        return _Size(self)

    def reshape_like(self, other):
        return self.reshape(other.shape)

    def asnumpy(self):
        return plain(self).detach().cpu().numpy()

    def copy(self):
        return self.clone()

    def expand_dims(self, axis):
        return self.unsqueeze(axis)

    @property
    def context(self):
        return self.device

    ctx = context

    def as_in_context(self, context):
        return self.to(context)


def view(x):
    return x if type(x) is Array else x.as_subclass(Array)


def plain(x):
    return x.as_subclass(torch.Tensor) if type(x) is Array else x


class Functions:
    """``self.F``: torch, whose `dot` is MXNet's. What it makes without a tensor has the device of the operator's first input, and its
    dtype if that is a floating-point one."""

    def __init__(self, like=None):
        self._device = like.device if like is not None else None
        self._dtype = like.dtype if like is not None and like.is_floating_point() else None

    def __getattr__(self, name):
        return getattr(torch, name)

    def __dir__(self):
        return dir(torch)

    def _options(self, dtype, device, ctx):
        return {"dtype": dtype or self._dtype, "device": device or ctx or self._device}

    def empty(self, *shape, dtype=None, device=None, ctx=None, **kwargs):
        return view(torch.empty(*shape, **self._options(dtype, device, ctx), **kwargs))

    def zeros(self, *shape, dtype=None, device=None, ctx=None, **kwargs):
        return view(torch.zeros(*shape, **self._options(dtype, device, ctx), **kwargs))

    def ones(self, *shape, dtype=None, device=None, ctx=None, **kwargs):
        return view(torch.ones(*shape, **self._options(dtype, device, ctx), **kwargs))

    def full(self, shape, val, dtype=None, device=None, ctx=None, **kwargs):
        return view(torch.full(shape, val, **self._options(dtype, device, ctx), **kwargs))

    def arange(self, *args, device=None, ctx=None, **kwargs):
        args = [int(one) if isinstance(one, _Size) else one for one in args]
        return view(torch.arange(*args, device=device or ctx or self._device, **kwargs))

    def array(self, source, dtype=None, device=None, ctx=None):
        device = device or ctx or self._device
        if isinstance(source, torch.Tensor):
            return view(source.detach().to(device=device, dtype=dtype, copy=True))
        return view(torch.tensor(source, dtype=dtype, device=device))

    def dot(self, a, b, transpose_a=False, transpose_b=False):
        """The last axis of a times the first axis of b, as in MXNet."""
        a, b = (a.T if transpose_a else a), (b.T if transpose_b else b)
        return torch.matmul(a, b) if b.ndim < 3 else torch.tensordot(a, b, dims=1)


class Tensor(MobulaTensor):
    """A tensor as kernels see it."""

    @property
    def data_ptr(self):
        if self.tensor.is_contiguous():
            return ctypes.c_void_p(self.tensor.data_ptr())
        copy = self.tensor.contiguous()
        return ctypes.c_void_p(copy.data_ptr()), copy

    @property
    def ctype(self):
        return ctype_of(str(self.tensor.dtype).removeprefix("torch."))

    @property
    def dev_id(self):
        return self.tensor.device.index if self.tensor.is_cuda else None


class OpGen:
    """Makes modules of a class of operators, and calls them."""

    def __init__(self, op, name):
        self.op = op
        self.name = name
        self._module = _module_of(op, name, _function_of(op, name))
        self._takes_inputs = bool(get_varnames(op.forward))

    def instance(self, *args, **kwargs):
        return self._module(*args, **kwargs)

    def make(self, *args, **kwargs):
        made = self._module(*args, **kwargs)
        return made if self._takes_inputs else made()

    def call(self, *args, **kwargs):
        inputs, (positional, named) = get_in_data(*args, op=self.op, **kwargs)
        return construct(self._module, self.op, self.name, positional, named)(*inputs)

    __call__ = call


class _FirstAlone(torch.autograd.Function):
    """Passes gradients on, and refuses to be differentiated."""

    @staticmethod
    def forward(ctx, name, n, *tensors):
        ctx.name = name
        return tuple(one.detach() for one in tensors[:n])

    @staticmethod
    def backward(ctx, *_):
        raise Unsupported(f"{ctx.name} has a first derivative alone: its backward is not differentiated. Leave create_graph out, or "
                          "detach() what it gives")


def _function_of(op, name):
    def forward(ctx, instance, *taken):
        inputs = [one.detach() for one in taken]
        try:
            instance._set_functions(inputs)
            shapes = infer(instance, op, [view(one) for one in inputs], torch.get_default_dtype())
            device = inputs[0].device if inputs else None
            made = [torch.empty(shape, dtype=dtype, device=device) for shape, dtype in shapes]
            run_forward(instance, op, view, inputs, made)
        finally:
            instance._end()
        ctx.instance, ctx.n_inputs = instance, len(inputs)
        ctx.save_for_backward(*taken, *made)
        ctx.mark_non_differentiable(*(one for one in made if not (one.is_floating_point() or one.is_complex())))
        return made[0] if len(made) == 1 else tuple(made)

    def backward(ctx, *out_grad):
        with torch.no_grad():
            made = first_derivative(ctx, *out_grad)
        if torch.is_grad_enabled():  # a second derivative is wanted of what depends on these
            given = [k for k, one in enumerate(made) if one is not None]
            marked = _FirstAlone.apply(name, len(given), *(made[k] for k in given), *out_grad, *ctx.saved_tensors[: ctx.n_inputs])
            for k, one in zip(given, marked):
                made[k] = one
        return None, *made

    def first_derivative(ctx, *out_grad):
        instance, wanted = ctx.instance, ctx.needs_input_grad[1:]
        inputs, outputs = ctx.saved_tensors[: ctx.n_inputs], ctx.saved_tensors[ctx.n_inputs :]
        try:
            instance._set_functions(inputs)
            instance.in_data, instance.out_data = [view(one) for one in inputs], [view(one) for one in outputs]
            made = [torch.empty_like(one, memory_format=torch.contiguous_format) for one in inputs]
            run_backward(instance, op, view, out_grad, made, ["write" if one else "null" for one in wanted])
        finally:
            instance._end()
        return [one if is_wanted else None for one, is_wanted in zip(made, wanted)]

    members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type(name, (torch.autograd.Function,), members)


def _module_of(op, name, function):
    def __init__(self, *args, **kwargs):
        torch.nn.Module.__init__(self)
        if op.__init__ is not object.__init__:
            op.__init__(self, *args, **kwargs)
        elif args or kwargs:
            raise ArgumentTypeError(f"{name} takes no parameters, got {', '.join(map(str, kwargs)) or len(args)}")

    def forward(self, *args, **kwargs):
        inputs, (positional, _) = get_in_data(*args, op=op, **kwargs)
        if positional:
            raise ArgumentValueError(f"{name} takes {len(get_varnames(op.forward))} inputs at most, got {len(args)}")
        return function.apply(self, *inputs)

    def set_functions(self, inputs):
        self.__dict__["_functions"] = Functions(inputs[0] if inputs else None)

    def end(self):
        """An instance that stays does not keep the tensors of its last call."""
        for key in ("in_data", "out_data", "in_grad", "out_grad", "req", "_functions"):
            self.__dict__.pop(key, None)

    members = {
        "__init__": __init__,
        "__module__": op.__module__,
        "__doc__": op.__doc__,
        "forward": forward,
        "_forward": op.forward,
        "_backward": op.backward,
        "_set_functions": set_functions,
        "_end": end,
        "assign": assign,
        "F": property(lambda self: self.__dict__.get("_functions") or Functions()),
        **INPUT_FUNCS,
    }
    return type(name, (op, torch.nn.Module), members)


# ---- for kernels ----

_NAMES = {getattr(torch, dtype): name for dtype, name in NAME_OF_DTYPE.items() if hasattr(torch, dtype)}


def describe(x):
    """(C++ type of the elements or None, number of the GPU or None, whether it is contiguous)."""
    return _NAMES.get(x.dtype), x.device.index if x.is_cuda else None, x.is_contiguous()


def contiguous(x):
    return x.detach().contiguous()


def copy_to(x, values):
    x.detach().copy_(values)


def on_cpu(x):
    return plain(x).detach().numpy()
