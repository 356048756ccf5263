# Types of tarsia.mobula.op, for type checkers and editors.
from collections.abc import Callable, KeysView
from os import PathLike
from typing import Any, overload

from ..glue.common import MobulaOperator

__all__ = ["Custom", "CustomList", "load", "register", "search_path"]

search_path: list[str]

def Custom(op_name: str) -> MobulaOperator: ...
def CustomList() -> KeysView[str]: ...
def load(module_name: str | PathLike[str], path: str | PathLike[str] = "") -> None: ...
@overload
def register(op_name: type[Any]) -> MobulaOperator: ...
@overload
def register(op_name: str | None = None, **attrs: Any) -> Callable[[type[Any]], MobulaOperator]: ...

# Operators that were registered.
def __getattr__(name: str) -> MobulaOperator: ...
