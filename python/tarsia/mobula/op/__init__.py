"""Operators: ``register`` makes them of classes, ``load`` of a folder's sources. They are members of this module by their names."""

from ..glue import common as _common
from .custom import Custom, CustomList
from .loader import load, search_path
from .register import register

__all__ = ["Custom", "CustomList", "load", "register", "search_path"]

_common.set_namespace(globals())


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    from ..._errors import MissingOp

    raise MissingOp(f"mobula.op has no operator {name!r}; op.load of its folder, or op.register of its class, makes it. There are "
                    f"{', '.join(sorted(_common.CUSTOM_OP_LIST)) or 'none so far'}")
