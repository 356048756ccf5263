"""Calls of kernels without a GPU: what stands for GPU memory, and how far a call comes."""

import pytest

import tarsia

F32 = "<f4"


class OnGpu:
    """Stands for a tensor in GPU memory; nobody looks at the memory before the launch."""

    def __init__(self, typestr=F32, shape=(256,), strides=None, read_only=False, address=0x7F0000000000):
        self._interface = {"version": 3, "typestr": typestr, "shape": shape, "strides": strides,
                           "data": (address, read_only)}

    @property
    def __cuda_array_interface__(self):
        return self._interface


def passes(kernel, *args, **kwargs):
    """The arguments are taken: what is refused after them is a grid without blocks, before any GPU is asked."""
    with pytest.raises(ValueError, match="has no blocks along x"):
        kernel[0, 1](*args, **kwargs)


def refuses(kind, message, call, *args, **kwargs):
    with pytest.raises(kind, match=message) as caught:
        call(*args, **kwargs)
    assert isinstance(caught.value, tarsia.Error)
    assert "kernel " in str(caught.value)
