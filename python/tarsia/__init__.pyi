# Types of the package tarsia, for type checkers and editors.
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from types import ModuleType
from typing import Any, Literal, TypeVar, overload

from typing_extensions import TypedDict, Unpack

from . import compat as compat
from . import jax as jax
from . import mobula as mobula
from . import testing as testing
from . import torch as torch
from . import tvm_ffi as tvm_ffi
from ._define.attributes import Range as Range
from ._errors import (
    ArgumentError as ArgumentError,
    ArgumentTypeError as ArgumentTypeError,
    ArgumentValueError as ArgumentValueError,
    CompileError as CompileError,
    CompileForbidden as CompileForbidden,
    CompilerCrashed as CompilerCrashed,
    CompileTimeout as CompileTimeout,
    CompileWarning as CompileWarning,
    CudaError as CudaError,
    Diagnostic as Diagnostic,
    Error as Error,
    Interrupted as Interrupted,
    InvalidSource as InvalidSource,
    LoadError as LoadError,
    MissingFunction as MissingFunction,
    MissingOp as MissingOp,
    NotFound as NotFound,
    OpError as OpError,
    OpIndexError as OpIndexError,
    OpTypeError as OpTypeError,
    OpValueError as OpValueError,
    OutOfMemory as OutOfMemory,
    ResourceLimit as ResourceLimit,
    StorageFallbackWarning as StorageFallbackWarning,
    UndefinedBehaviour as UndefinedBehaviour,
    Unsupported as Unsupported,
)
from ._cache.packs import Recording as _Recording
from ._graph import BoundGraph as BoundGraph
from ._graph import CapturedGraph as CapturedGraph
from ._graph import Graph as Graph
from ._graph import GraphValue as GraphValue
from ._graph import Plan as Plan
from ._kernels import KernelTemplate as KernelTemplate
from ._cache.no_compile import NoCompile as _NoCompile
from ._ops import _Ops
from ._session import Cell as Cell
from ._session import Session as Session
from ._sparse import RowSparse as RowSparse
from ._sparse import SparseOutput as SparseOutput
from ._sparse import sparse_parts as sparse_parts
from ._tarsia import (
    BoundOp as BoundOp,
    Expression as Expression,
    Function as Function,
    Kernel as Kernel,
    KernelLaunch as KernelLaunch,
    Op as Op,
    Tensor as Tensor,
    op as op,
)

__all__ = [
    "ArgumentError",
    "ArgumentTypeError",
    "ArgumentValueError",
    "CompileError",
    "CompileForbidden",
    "CompilerCrashed",
    "CompileTimeout",
    "CompileWarning",
    "CudaError",
    "Diagnostic",
    "Error",
    "Interrupted",
    "InvalidSource",
    "LoadError",
    "MissingFunction",
    "MissingOp",
    "NotFound",
    "OpError",
    "OpIndexError",
    "OpTypeError",
    "OpValueError",
    "OutOfMemory",
    "ResourceLimit",
    "StorageFallbackWarning",
    "UndefinedBehaviour",
    "Unsupported",
    "AddedImplementation",
    "BoundGraph",
    "BoundOp",
    "CapturedGraph",
    "Cell",
    "Expression",
    "Function",
    "Graph",
    "GraphValue",
    "Kernel",
    "KernelLaunch",
    "KernelTemplate",
    "Library",
    "Op",
    "Plan",
    "Range",
    "RowSparse",
    "Session",
    "SparseOutput",
    "Tensor",
    "__version__",
    "add_implementation",
    "compile",
    "compile_all",
    "define_op",
    "doctor",
    "elementwise",
    "implementation",
    "load",
    "load_inline",
    "no_compile",
    "op",
    "ops",
    "record",
    "reduction",
    "replay",
    "seed",
    "sparse_parts",
    "stats",
]

_Pair = str | tuple[int, int]
_Author = TypeVar("_Author", bound=Callable[..., None])

__version__: str
ops: _Ops

_Path = str | PathLike[str]
_Text = str | bytes
_Source = _Text | Mapping[str, _Text]

class _CompileOptions(TypedDict, total=False):
    """What every compile takes. scripts/options writes it; docs/options.md has the defaults."""

    headers: Mapping[str, _Text] | None
    include_dirs: Sequence[_Path] | PathLike[str] | None
    defines: Mapping[str, object] | None
    libraries: Sequence[_Path] | PathLike[str] | None
    library_dirs: Sequence[_Path] | PathLike[str] | None
    std: str
    opt: int
    arch: str | int | Sequence[str | int] | None
    ptx: bool
    fast_math: bool
    debug: bool | Literal["undefined", "address", "thread"]
    lineinfo: bool
    host_headers: Literal["own", "system"]
    timeout: float | None
    march: str | None
    openmp: bool
    dev: bool
    cflags: Sequence[str] | None
    undefined: Literal["error", "load"]
    exports: Sequence[str] | None
    device_compiler: Literal["auto", "nvrtc", "clang"]
    maxrregcount: int

class Library:
    """A loaded library, compiled from a string or built ahead of time; its functions and kernels are attributes."""

    @property
    def name(self) -> str: ...
    @property
    def origin(self) -> Literal["compiled", "memory", "disk", "remote", "prebuilt", "unloaded"]: ...
    @property
    def functions(self) -> tuple[str, ...]: ...
    @property
    def kernels(self) -> tuple[str, ...]: ...
    @property
    def templates(self) -> tuple[str, ...]: ...
    @property
    def globals(self) -> tuple[str, ...]: ...
    @property
    def ops(self) -> tuple[str, ...]: ...
    def python_module(self, name: str | None = None) -> ModuleType: ...
    @property
    def symbols(self) -> dict[str, int]: ...
    @property
    def skipped(self) -> dict[str, str]: ...
    @property
    def warnings(self) -> list[Diagnostic]: ...
    @property
    def cubins(self) -> dict[Any, bytes]: ...
    @property
    def device_compilers(self) -> dict[str, str]: ...
    def export(self, path: _Path) -> None: ...
    def unload(self) -> None: ...
    def get_global(self, name: str, device: Any = None) -> Tensor: ...
    @property
    def ready(self) -> bool: ...
    def wait(self, timeout: float | None = None) -> bool: ...
    def __getitem__(self, name: str) -> Any: ...  # Function, Kernel or KernelTemplate
    def __getattr__(self, name: str) -> Any: ...
    def __contains__(self, name: object) -> bool: ...
    def __iter__(self) -> Iterator[str]: ...
    def __copy__(self) -> Library: ...
    def __deepcopy__(self, memo: Any) -> Library: ...

def load_inline(
    source: _Text | Mapping[str, _Text],
    name: str | None = None,
    *,
    functions: Sequence[str] | None = None,
    wait: bool = True,
    **options: Unpack[_CompileOptions],
) -> Library: ...
@overload
def compile_all(
    sources: Iterable[_Source | tuple[_Source, Mapping[str, Any]]],
    *,
    jobs: int | None = None,
    return_exceptions: Literal[False] = False,
    **options: Any,
) -> list[Library]: ...
@overload
def compile_all(
    sources: Iterable[_Source | tuple[_Source, Mapping[str, Any]]],
    *,
    jobs: int | None = None,
    return_exceptions: Literal[True],
    **options: Any,
) -> list[Library | Exception]: ...
def compile(
    source: _Text | Mapping[str, _Text] | PathLike[str],
    output: _Path,
    *,
    name: str | None = None,
    functions: Sequence[str] | None = None,
    **options: Unpack[_CompileOptions],
) -> None: ...
def load(
    path: _Path,
    name: str | None = None,
    *,
    functions: Sequence[str] | None = None,
    wait: bool = True,
    **options: Unpack[_CompileOptions],
) -> Library: ...
@overload
def define_op(author: type[Any] | Callable[..., None], /) -> Op: ...
@overload
def define_op(
    author: None = None,
    /,
    *,
    name: str | None = None,
    outputs: str | Sequence[str] | None = None,
    optional: str | Sequence[str] = (),
    variadic: str | Sequence[str] = (),
    mutable: str | Sequence[str] = (),
    no_gradient: str | Sequence[str] = (),
    hidden: str | Sequence[str] = (),
    inplace: str | Sequence[_Pair] = (),
    forward_inplace: str | Sequence[_Pair] = (),
    backward_inplace: str | Sequence[_Pair] = (),
    devices: str | Sequence[str] = ("cpu", "gpu"),
    sparse: bool = False,
    stateful: bool = False,
    random: bool = False,
    backward: Callable[..., None] | None = None,
    arity: Callable[..., int] | None = None,
    infer_shape: Callable[..., Any] | None = None,
    infer_dtype: Callable[..., Any] | None = None,
    infer_storage: Callable[..., Any] | None = None,
    infer: Callable[..., None] | None = None,
    implementations: Callable[..., None] | Sequence[Callable[..., None]] = (),
) -> Callable[[type[Any] | Callable[..., None]], Op]: ...
def implementation(
    of: Literal["forward", "backward"],
    *,
    devices: str | Sequence[str] | None = None,
    sparse: bool = False,
    when: Callable[..., bool] | None = None,
    priority: int = 0,
    name: str = "",
    inplace: str | Sequence[_Pair] = (),
    workspace: Callable[..., int] | None = None,
    layout: Mapping[str, Sequence[int]] | None = None,
    any_layout: bool = False,
) -> Callable[[_Author], _Author]: ...

class AddedImplementation:
    """What add_implementation has added to an op."""

    op: str
    name: str
    def remove(self) -> None: ...
    def __enter__(self) -> AddedImplementation: ...
    def __exit__(self, *exception: object) -> None: ...

def add_implementation(
    op: Op | str,
    *,
    forward: Callable[..., None] | None = None,
    backward: Callable[..., None] | None = None,
    devices: str | Sequence[str] = ("cpu", "gpu"),
    sparse: bool = False,
    when: Callable[..., bool] | None = None,
    priority: int = 0,
    name: str = "",
    forward_inplace: str | Sequence[_Pair] = (),
    backward_inplace: str | Sequence[_Pair] = (),
    workspace: Callable[..., int] | None = None,
    forward_layout: Mapping[str, Sequence[int]] | None = None,
    backward_layout: Mapping[str, Sequence[int]] | None = None,
    any_layout: bool = False,
) -> AddedImplementation: ...
def elementwise(
    inputs: str,
    outputs: str,
    operation: str,
    name: str = "elementwise",
    *,
    preamble: str = "",
    doc: str = "",
    **options: Unpack[_CompileOptions],
) -> Expression: ...
def reduction(
    inputs: str,
    outputs: str,
    map: str,
    reduce: str,
    post: str | None = None,
    identity: str | None = None,
    name: str = "reduction",
    *,
    reduce_type: str | None = None,
    preamble: str = "",
    doc: str = "",
    **options: Unpack[_CompileOptions],
) -> Expression: ...
def seed(seed: int) -> None: ...
def doctor() -> dict[str, Any]: ...
def stats() -> dict[str, Any]: ...
def no_compile() -> _NoCompile: ...
def record(path: str | bytes | PathLike[str]) -> _Recording: ...
def replay(path: str | bytes | PathLike[str], *, devices: Sequence[Any] | None = None) -> dict[str, Any]: ...
def load_ipython_extension(ipython: Any) -> None: ...
