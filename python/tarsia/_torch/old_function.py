"""The call of autograd Functions as instances, as early PyTorch had it: F(…)(x, y), with forward(self, x, y),
backward(self, dy) and state on self.

A call runs a Function of today's kind, whose node stands behind the instance while forward and backward run.
"""

import inspect

import torch

from .._errors import ArgumentTypeError

_NODE = "_tarsia_node"
_MARK = "_is_of_tarsia"


def install():
    """Gives torch.autograd.Function that call. Functions with static methods are called as before."""
    function = torch.autograd.Function
    if getattr(function.__call__, _MARK, False):
        return
    function.__call__ = _call_of(function.__call__)
    function.__init__ = _init_of(function.__init__)
    for name in ("saved_tensors", "needs_input_grad"):
        setattr(function, name, property(_reader(name)))
    function.saved_variables = property(lambda self: _node(self, "saved_variables").saved_tensors)
    for name in ("save_for_backward", "mark_dirty", "mark_non_differentiable"):
        setattr(function, name, _forwarded(name))


def _is_old(kind):
    return not isinstance(inspect.getattr_static(kind, "forward", None), (staticmethod, classmethod))


def _call_of(before):
    def __call__(self, *inputs, **named):
        if not _is_old(type(self)):
            return before(self, *inputs, **named)
        if named:
            raise ArgumentTypeError(f"{type(self).__name__}()(...) takes its inputs by position, and {', '.join(named)} by name: "
                                    "autograd knows inputs by their places")
        return _Bridge.apply(self, *inputs)

    setattr(__call__, _MARK, True)
    return __call__


def _init_of(before):
    def __init__(self, *args, **named):
        if not _is_old(type(self)):  # it warns that nobody should make one
            before(self, *args, **named)

    return __init__


def _reader(name):
    return lambda self: getattr(_node(self, name), name)


def _forwarded(name):
    def method(self, *args):
        return getattr(_node(self, name), name)(*args)

    method.__name__ = name
    return method


def _node(self, name):
    node = self.__dict__.get(_NODE)
    if node is None:
        raise ArgumentTypeError(f"{type(self).__name__}.{name} is there while its forward and backward run")
    return node


class _Within:
    """The node behind an instance, as long as a pass runs: the node holds the instance, and not the other way round."""

    def __init__(self, instance, node):
        self._instance, self._node = instance, node

    def __enter__(self):
        self._before = self._instance.__dict__.get(_NODE)
        self._instance.__dict__[_NODE] = self._node

    def __exit__(self, *_):
        self._instance.__dict__[_NODE] = self._before


class _Bridge(torch.autograd.Function):
    @staticmethod
    def forward(ctx, instance, *inputs):
        ctx.instance, ctx.n_inputs = instance, len(inputs)
        with _Within(instance, ctx):
            return instance.forward(*inputs)

    @staticmethod
    def backward(ctx, *gradients):
        instance = ctx.instance
        with _Within(instance, _Shifted(ctx)):
            made = instance.backward(*gradients)
        made = made if isinstance(made, tuple) else (made,)
        rest = made[ctx.n_inputs:]
        if len(made) < ctx.n_inputs or any(one is not None for one in rest):
            raise ArgumentTypeError(f"{type(instance).__name__}.backward gave {len(made)} gradients; its forward takes "
                                    f"{ctx.n_inputs} inputs, of each of which it has to give one, or None")
        return (None, *made[:ctx.n_inputs])


class _Shifted:
    """A node whose first input, the instance, is left out."""

    def __init__(self, node):
        self._node = node

    @property
    def needs_input_grad(self):
        return self._node.needs_input_grad[1:]

    def __getattr__(self, name):
        return getattr(self._node, name)
