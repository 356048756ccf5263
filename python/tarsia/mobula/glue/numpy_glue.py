"""NumPy's arrays, for operators and for kernels."""

import ctypes

import numpy as np

from ..internal.dtype import NAME_OF_DTYPE
from .arrays import ArrayOpGen
from .common import MobulaTensor, ctype_of
from .faces import ArrayMethods

NAME = "NumPy"
F = np
gen_cache = {}


class Array(ArrayMethods, np.ndarray):
    """An array as operators see it."""

    def asnumpy(self):
        return self.view(np.ndarray)

    @property
    def context(self):
        return "cpu"

    ctx = context


def view(x):
    return x if type(x) is Array else np.asanyarray(x).view(Array)


def plain(x):
    return x.view(np.ndarray) if type(x) is Array else x


class Tensor(MobulaTensor):
    """A tensor as kernels see it."""

    @property
    def data_ptr(self):
        if self.tensor.flags.c_contiguous:
            return ctypes.c_void_p(self.tensor.ctypes.data)
        copy = np.ascontiguousarray(self.tensor)
        return ctypes.c_void_p(copy.ctypes.data), copy

    @property
    def ctype(self):
        return ctype_of(self.tensor.dtype.name)

    dev_id = None


class OpGen(ArrayOpGen):
    def __init__(self, op, name):
        super().__init__(op, name, np, view, plain)


# ---- for kernels ----

_NAMES = {np.dtype(dtype): name for dtype, name in NAME_OF_DTYPE.items()}


def describe(x):
    """(C++ type of the elements or None, number of the GPU or None, whether it is contiguous)."""
    return _NAMES.get(x.dtype), None, x.flags.c_contiguous


def contiguous(x):
    return np.ascontiguousarray(x)


def copy_to(x, values):
    x[...] = values


def on_cpu(x):
    return x
