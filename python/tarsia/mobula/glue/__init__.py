"""What joins operators and kernels to the frameworks: NumPy, PyTorch, CuPy."""

from . import backend, common
from .common import CUSTOM_OP_LIST, register, register_cstruct

__all__ = ["CUSTOM_OP_LIST", "backend", "common", "register", "register_cstruct"]
