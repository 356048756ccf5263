# Types of tarsia.mobula.func, for type checkers and editors.
from collections.abc import Mapping, Sequence
from typing import Any, Literal

__all__ = ["MobulaFunc", "bind"]

class MobulaFunc:
    name: str
    signature: str
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def build(self, ctx: Literal["cpu", "cuda"], template_types: Sequence[str] | Mapping[str, str] | None = None) -> None: ...

def bind(functions: Mapping[str, MobulaFunc]) -> None: ...

# Kernels and functions of the sources that were loaded.
def __getattr__(name: str) -> MobulaFunc: ...
