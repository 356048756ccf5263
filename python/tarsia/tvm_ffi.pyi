# Types of tarsia.tvm_ffi, for type checkers and editors.
from typing_extensions import TypedDict

__all__ = ["options"]

class _Options(TypedDict):
    include_dirs: list[str]
    library_dirs: list[str]
    libraries: list[str]

def options() -> _Options: ...
