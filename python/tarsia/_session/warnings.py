"""Shows the warnings of a cell as Python warnings; imported when it has some."""

from .._compile import warnings
from .._compile.loading import callers_place


def show(cell, text):
    """At the call that ran the cell. A cell that does not compile tells its warnings with its errors."""
    if any(one.severity in ("error", "fatal error") for one in cell.diagnostics):
        return
    if not isinstance(text, str):
        text = bytes(text).decode("utf-8", "surrogateescape")
    rows = [(one.file, one.line, one.column, one.severity, one.message) for one in cell.diagnostics]
    # A cell that runs again has another number, but its warnings are the same.
    warnings.show(rows, [(f"cell {cell.number}", text)], callers_place(), noted_as="cell")
