"""Comparisons and gradient checks."""

import copy

import numpy as np

from .._compile_options import to_dict, to_path
from .._errors import ArgumentTypeError, ArgumentValueError, explains_misuse
from .glue import backend
from .glue.common import MobulaOperator

__all__ = ["assert_almost_equal", "assert_file_exists", "gradcheck", "to_numpy", "to_tuple"]


@explains_misuse()
def to_numpy(data):
    """A tensor of any framework, a list or a number as an array of NumPy."""
    glue = backend.get_var_glue(data)
    if glue is not None:
        return np.asarray(glue.on_cpu(data.cpu() if hasattr(data, "cpu") else data))
    if hasattr(data, "asnumpy"):
        return data.asnumpy()
    if isinstance(data, (list, tuple, int, float, np.generic)):
        return np.array(data)
    raise ArgumentTypeError(f"a tensor, a list or a number is compared, not {type(data).__name__} {data!r}")


@explains_misuse()
def to_tuple(data):
    """A tuple of the items of a list, or of a single thing."""
    return tuple(data) if isinstance(data, (list, tuple)) else (data,)


@explains_misuse()
def assert_almost_equal(a, b, rtol=1e-5, atol=1e-8):
    """Raises an AssertionError unless |a - b| ≤ atol and |a - b| / |b| ≤ rtol everywhere. atol=None: the second alone. A number
    stands for a tensor of the other's shape."""
    rtol, atol = _number(rtol, "rtol"), None if atol is None else _number(atol, "atol")
    is_number = [isinstance(one, (int, float, np.generic)) for one in (a, b)]
    a, b = to_numpy(a), to_numpy(b)
    if is_number[0] != is_number[1]:
        a, b = np.broadcast_to(a, b.shape if is_number[0] else a.shape), np.broadcast_to(b, a.shape if is_number[1] else b.shape)
    assert a.shape == b.shape, f"the shapes differ: {a.shape} and {b.shape}"
    if a.size == 0:
        return
    a, b = np.atleast_1d(a), np.atleast_1d(b)
    exact = np.result_type(a.dtype, b.dtype, np.float64)
    error = np.abs(a.astype(exact) - b.astype(exact))
    assert not np.isnan(error).any() or (np.isnan(a) == np.isnan(b)).all(), \
        f"NaN at {_place(np.isnan(error))}: {_around(a, np.isnan(error))} and {_around(b, np.isnan(error))}"
    error = np.nan_to_num(error, nan=0)
    if atol is not None:
        _compare("absolute", error, atol, a, b)
    eps = np.finfo(b.dtype).eps if np.issubdtype(b.dtype, np.inexact) else np.finfo(np.float32).eps
    _compare("relative", error / (np.abs(np.nan_to_num(b.astype(exact), nan=0)) + eps), rtol, a, b)


def _number(value, what):
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise ArgumentTypeError(f"{what} must be a number, got {type(value).__name__} {value!r}")
    return value


def _compare(what, error, most, a, b):
    assert error.max() <= most, (f"the largest {what} error is {error.max():g}, more than {most:g}, at {_place(error)}: "
                                 f"{a.ravel()[error.argmax()]} and {b.ravel()[error.argmax()]}\n{_around(a, error)}\n{_around(b, error)}")


def _place(error):
    return tuple(int(k) for k in np.unravel_index(error.argmax(), error.shape))


def _around(data, error):
    """The elements about the largest error, along the last two axes."""
    place = _place(error)
    return data[place[:-2] + tuple(slice(max(0, k - 2), k + 3) for k in place[-2:])]


@explains_misuse()
def assert_file_exists(fname):
    """Raises an AssertionError unless there is such a file."""
    import os

    fname = to_path(fname, "fname")
    assert os.path.exists(fname), f"{fname} does not exist"


@explains_misuse()
def gradcheck(func, inputs, kwargs=None, eps=1e-6, rtol=1e-2, atol=None, sampling=None):
    """Compares the gradients of an operator with differences of its outputs.

    func: an operator of mobula.op.
    inputs: tensors. Those of float64 give differences that tell something.
    kwargs: the operator's parameters.
    sampling: how many elements of each input are moved, or which part of them; all by default.
    """
    if not isinstance(func, MobulaOperator):
        raise ArgumentTypeError(f"gradcheck takes an operator of mobula.op, not {func!r}")
    kwargs, eps = to_dict(kwargs, "kwargs"), _number(eps, "eps")
    if sampling is not None and not _number(sampling, "sampling") >= 0:
        raise ArgumentValueError(f"sampling is a number of elements, or a part from 0 to 1, not {sampling!r}")
    inputs = [to_numpy(one) for one in (inputs if isinstance(inputs, (list, tuple)) else [inputs])]
    instance = func[np.ndarray](**kwargs)

    def run():
        return to_tuple(instance(*copy.deepcopy(inputs)))

    outputs = run()
    dys = [(np.random.normal(0, 0.01, size=y.shape) + 0.1).astype(y.dtype) for y in outputs]
    gradients = to_tuple(instance.backward(copy.deepcopy(dys)))
    for k, x in enumerate(inputs):
        chosen = np.arange(x.size)
        if sampling is not None:
            n = sampling if isinstance(sampling, int) else int(sampling * x.size)
            chosen = np.random.choice(chosen, min(x.size, n), replace=False)
        x = inputs[k] = np.array(x)  # which is moved, element by element
        numeric = gradients[k].copy()
        flat, numeric_flat = x.reshape(-1), numeric.reshape(-1)
        for place in chosen:
            before = flat[place]
            flat[place] = before + eps / 2
            above = run()
            flat[place] = before - eps / 2
            below = run()
            flat[place] = before
            numeric_flat[place] = sum(np.sum(dy * ((up - down) / eps)) for up, down, dy in zip(above, below, dys))
        assert_almost_equal(numeric, gradients[k], rtol=rtol, atol=atol)
