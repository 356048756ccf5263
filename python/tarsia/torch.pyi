# Types of tarsia.torch, for type checkers and editors.
from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from typing import Any, overload

import torch
from typing_extensions import TypedDict

from . import Library
from ._tarsia import Expression, Function, Op

__all__ = ["Registered", "create_extension", "function", "options", "register", "registered", "unregister"]

_Paths = str | PathLike[str] | Iterable[str | PathLike[str]]

class _Options(TypedDict):
    include_dirs: list[str]
    library_dirs: list[str]
    libraries: list[str]
    defines: dict[str, object]

class Registered(dict[str, Any]):
    """The operators of a library: name to torch.ops.tarsia.NAME."""

    skipped: dict[str, str]
    def __init__(self) -> None: ...

@overload
def register(
    what: Library,
    *,
    random: bool | Iterable[str] = False,
    autocast: torch.dtype | Mapping[str, torch.dtype] | None = None,
    tags: torch.Tag | Iterable[torch.Tag] = (),
) -> Registered: ...
@overload
def register(
    what: Function | Op,
    name: str | None = None,
    *,
    fake: Callable[..., Any] | None = None,
    random: bool = False,
    mutates: str | Iterable[str] | None = None,
    attributes: Mapping[str, Any] | None = None,
    arguments: Mapping[str, Any] | None = None,
    vmap: bool | Callable[..., Any] | None = None,
    autocast: torch.dtype | Mapping[str, torch.dtype] | None = None,
    tags: torch.Tag | Iterable[torch.Tag] = (),
) -> Any: ...
@overload
def register(
    what: Expression,
    name: str | None = None,
    *,
    fake: Callable[..., Any] | None = None,
    random: bool = False,
    vmap: bool | Callable[..., Any] | None = None,
    autocast: torch.dtype | Mapping[str, torch.dtype] | None = None,
    tags: torch.Tag | Iterable[torch.Tag] = (),
    numbers: str | Iterable[str] | None = None,
    backward: Expression | Callable[..., Any] | None = None,
    gradients: str | Iterable[str] | None = None,
) -> Any: ...
def options(name: str = "extension") -> _Options: ...
def unregister(name: str) -> None: ...
def registered() -> tuple[str, ...]: ...
def function(
    forward: Function,
    backward: Function,
    name: str | None = None,
    *,
    outputs: Callable[..., Any] | None = None,
    gradients: str | Iterable[str] | None = None,
    mutates: str | Iterable[str] | None = None,
    status: int | None = None,
    random: bool = False,
    vmap: bool | Callable[..., Any] | None = None,
    autocast: torch.dtype | Mapping[str, torch.dtype] | None = None,
) -> Callable[..., Any]: ...
def create_extension(
    name: str,
    headers: _Paths = (),
    sources: _Paths = (),
    verbose: bool = False,
    with_cuda: bool = False,
    package: bool = False,
    relative_to: str | PathLike[str] = ".",
    *,
    include_dirs: _Paths = (),
    define_macros: Iterable[tuple[str, object]] = (),
    undef_macros: Iterable[str] = (),
    extra_objects: _Paths = (),
    extra_compile_args: str | Iterable[str] | Mapping[str, Iterable[str]] = (),
    extra_link_args: str | Iterable[str] = (),
    libraries: Iterable[str] = (),
    library_dirs: Iterable[str | PathLike[str]] = (),
    language: str | None = None,
    **options: Any,
) -> Any: ...
