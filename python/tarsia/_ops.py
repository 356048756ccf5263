"""Registered operations by name."""

from . import _tarsia
from ._errors import MissingOp, NotFound


class _Ops:
    """The registered ops as attributes: ``tarsia.ops.relu(x)``. Iterating gives their names."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            found = _tarsia.op(name)
        except NotFound as error:
            raise MissingOp(str(error)) from None
        self.__dict__[name] = found  # it follows the registry by itself
        return found

    def __getitem__(self, name):
        return _tarsia.op(name)

    def __iter__(self):
        return iter(_tarsia.op_names())

    def __contains__(self, name):
        return name in _tarsia.op_names()

    def __len__(self):
        return len(_tarsia.op_names())

    def __dir__(self):
        return _tarsia.op_names()

    def __repr__(self):
        return f"<tarsia.ops {', '.join(_tarsia.op_names())}>"


ops = _Ops()
