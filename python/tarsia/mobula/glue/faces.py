"""Tensors as operators see them: those of their framework, with what MXNet's have besides.

Operators were written for MXNet's tensors first. So ``self.X``, ``self.y`` and the like are views of the caller's tensors, of a
subclass that has ``reshape_like``, ``sum(axis, exclude=True)`` and others; ``self.F`` is the framework's module, whose ``dot`` and
functions without tensors are MXNet's.
"""

import typing


def excluded(ndim, axis):
    """The axes that are not among the given ones."""
    given = {one % ndim for one in ((axis,) if isinstance(axis, int) else axis)} if axis is not None else set()
    return tuple(k for k in range(ndim) if k not in given)


def _reduction(name):
    def reduce(self, axis=None, *args, exclude=False, **kwargs):
        return getattr(super(ArrayMethods, self), name)(excluded(self.ndim, axis) if exclude else axis, *args, **kwargs)

    reduce.__name__ = name
    return reduce


class ArrayMethods:
    """For subclasses of arrays with NumPy's interface."""

    ndim: int
    shape: tuple
    reshape: typing.Callable

    sum, mean, max, min, prod = map(_reduction, ("sum", "mean", "max", "min", "prod"))

    def reshape_like(self, other):
        return self.reshape(other.shape)

    def as_in_context(self, context):
        return self

    def expand_dims(self, axis):
        at = axis % (self.ndim + 1)
        return self.reshape((*self.shape[:at], 1, *self.shape[at:]))


class ArrayFunctions:
    """``self.F`` over a module with NumPy's interface. What it makes without a tensor has the dtype of the operator's first input, if
    that is a floating-point one."""

    def __init__(self, module, view, dtype=None):
        self._module, self._view = module, view
        self._dtype = dtype if dtype is not None and module.issubdtype(dtype, module.floating) else None

    def __getattr__(self, name):
        return getattr(self._module, name)

    def __dir__(self):
        return dir(self._module)

    def _made(self, function, args, dtype, ctx, kwargs):
        if dtype is None:
            dtype = self._dtype
        return self._view(function(*args, **kwargs) if dtype is None else function(*args, dtype=dtype, **kwargs))

    def empty(self, shape, dtype=None, ctx=None, **kwargs):
        return self._made(self._module.empty, (shape,), dtype, ctx, kwargs)

    def zeros(self, shape, dtype=None, ctx=None, **kwargs):
        return self._made(self._module.zeros, (shape,), dtype, ctx, kwargs)

    def ones(self, shape, dtype=None, ctx=None, **kwargs):
        return self._made(self._module.ones, (shape,), dtype, ctx, kwargs)

    def full(self, shape, val, dtype=None, ctx=None, **kwargs):
        return self._made(self._module.full, (shape, val), dtype, ctx, kwargs)

    def array(self, source, dtype=None, ctx=None, **kwargs):
        return self._view(self._module.array(source, dtype=dtype, **kwargs))

    def dot(self, a, b, transpose_a=False, transpose_b=False):
        """The last axis of a times the first axis of b, as in MXNet."""
        a, b = (a.T if transpose_a else a), (b.T if transpose_b else b)
        if self._module.ndim(b) < 3:
            return self._module.dot(a, b)
        return self._module.tensordot(a, b, axes=1)
