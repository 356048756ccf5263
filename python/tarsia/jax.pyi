# Types of tarsia.jax, for type checkers and editors.
from collections.abc import Callable, Iterable
from typing import Any

from ._tarsia import Function, Op

__all__ = ["function"]

def function(
    what: Op | Function,
    backward: Function | None = None,
    *,
    outputs: Callable[..., Any] | None = None,
    updates: str | Iterable[str] | None = None,
    gradients: str | Iterable[str] | None = None,
    mutates: str | Iterable[str] | None = None,
    vmap: str | None = "sequential",
    side_effect: bool = False,
) -> Callable[..., Any]: ...
