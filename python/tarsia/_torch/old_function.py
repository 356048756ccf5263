"""The call of autograd Functions as instances, as early PyTorch had it: F(…)(x, y), with forward(self, x, y),
backward(self, dy) and state on self.

A call runs a Function of today's kind, whose node stands behind the instance while forward and backward run. Afterwards, the
instance has what early PyTorch left on it; forward and backward also run when they are called directly.
"""

import inspect
import weakref

import torch

from .._errors import ArgumentTypeError, Error

_NODE = "_tarsia_node"
_LEFT = "_tarsia_left"
_MARK = "_is_of_tarsia"


def install():
    """Gives torch.autograd.Function that call. Functions with static methods are called as before."""
    function = torch.autograd.Function
    if getattr(function.__call__, _MARK, False):
        return
    function.__call__ = _call_of(function.__call__)
    function.__init__ = _init_of(function.__init__)
    function.saved_tensors = property(_saved_tensors)
    function.saved_variables = property(_saved_variables)
    function.needs_input_grad = property(_needs_input_grad)
    function.save_for_backward = _save_for_backward
    for name in ("mark_dirty", "mark_non_differentiable"):
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
        outputs = _Bridge.apply(self, *inputs)
        left = _left(self)
        if left.living_node() is None:  # nothing needs a gradient, and nothing is kept for one
            left.saved = ()
        return outputs

    setattr(__call__, _MARK, True)
    return __call__


def _init_of(before):
    def __init__(self, *args, **named):
        if not _is_old(type(self)):  # it warns that nobody should make one
            before(self, *args, **named)

    return __init__


class _Left:
    """What stays on an instance when no pass runs. The node holds the instance, and not the other way round: `saved` has other
    tensors over the saved ones' memory, which know of no graph. It is None once backward has run."""

    node, saved, needs = None, (), None

    def living_node(self):
        return self.node and self.node()


def _left(self):
    return self.__dict__.setdefault(_LEFT, _Left())


def _saved_variables(self):
    left = _left(self)
    node = self.__dict__.get(_NODE) or left.living_node()
    if node is not None:
        return node.saved_tensors
    if left.saved is None:
        raise Error(f"{type(self).__name__}: its backward has run, which freed the saved tensors; call it again, or run backward "
                    "with retain_graph=True and keep the output")
    return left.saved


def _saved_tensors(self):
    found = _saved_variables(self)
    return found if self.__dict__.get(_NODE) is not None else _without_graph(found)


def _without_graph(tensors):
    return tuple(one.detach() if isinstance(one, torch.Tensor) else one for one in tensors)


def _needs_input_grad(self):
    node = self.__dict__.get(_NODE)
    needs = node.needs_input_grad if node is not None else _left(self).needs
    if needs is None:
        raise ArgumentTypeError(f"{type(self).__name__}.needs_input_grad follows from the inputs of a call, and there was none")
    return needs


def _save_for_backward(self, *tensors):
    node = self.__dict__.get(_NODE)
    if node is not None:
        node.save_for_backward(*tensors)
    _left(self).saved = _without_graph(tensors)


def _forwarded(name):
    def method(self, *args):
        node = self.__dict__.get(_NODE)
        if node is not None:  # a forward that is called directly tells autograd nothing
            getattr(node, name)(*args)

    method.__name__ = name
    return method


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
        node, left = _Shifted(ctx), _left(instance)
        left.node, left.saved, left.needs = weakref.ref(ctx), (), node.needs_input_grad
        with _Within(instance, node):
            return instance.forward(*inputs)

    @staticmethod
    def backward(ctx, *gradients):
        instance = ctx.instance
        with _Within(instance, _Shifted(ctx)):
            made = instance.backward(*gradients)
        left = _left(instance)
        if left.living_node() is ctx:
            left.saved = None
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
