"""CuPy's arrays, for operators and for kernels."""

import ctypes

import cupy as cp

from ..internal.dtype import NAME_OF_DTYPE
from .arrays import ArrayOpGen
from .common import MobulaTensor, ctype_of
from .faces import ArrayMethods

NAME = "CuPy"
F = cp
gen_cache = {}


class Array(ArrayMethods, cp.ndarray):
    """An array as operators see it."""

    def asnumpy(self):
        return cp.asnumpy(self)

    @property
    def context(self):
        return self.device

    ctx = context


def view(x):
    return x if type(x) is Array else cp.asarray(x).view(Array)


def plain(x):
    return x.view(cp.ndarray) if type(x) is Array else x


class Tensor(MobulaTensor):
    """A tensor as kernels see it."""

    @property
    def data_ptr(self):
        if self.tensor.flags.c_contiguous:
            return ctypes.c_void_p(self.tensor.data.ptr)
        copy = cp.ascontiguousarray(self.tensor)
        return ctypes.c_void_p(copy.data.ptr), copy

    @property
    def ctype(self):
        return ctype_of(self.tensor.dtype.name)

    @property
    def dev_id(self):
        return self.tensor.device.id


class OpGen(ArrayOpGen):
    def __init__(self, op, name):
        super().__init__(op, name, cp, view, plain)


# ---- for kernels ----


def describe(x):
    """(C++ type of the elements or None, number of the GPU, whether it is contiguous)."""
    return NAME_OF_DTYPE.get(x.dtype.name), x.device.id, x.flags.c_contiguous


def contiguous(x):
    return cp.ascontiguousarray(x)


def copy_to(x, values):
    x[...] = values


def on_cpu(x):
    return cp.asnumpy(x)
