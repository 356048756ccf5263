"""Ops that are written in Python: what stands behind ``tarsia.define_op`` and ``tarsia.add_implementation``."""

from .added import AddedImplementation, add_implementation
from .attributes import Range
from .define import define_op, describe_exception
from .implementations import implementation

__all__ = ["AddedImplementation", "Range", "add_implementation", "define_op", "describe_exception", "implementation"]
