"""What all doors to a library share: the load itself, its warnings, and the words for what went wrong."""

import os
import sys

from .. import _tarsia
from . import recipe as _recipe


def compile_and_load(recipe, options, place, quiet):
    """The handle of a recipe's library. Warns at `place`, unless quiet."""
    file, _, line = place
    handle = _tarsia.load_inline(recipe.files, options, *() if recipe.path is not None else (os.fsencode(file), line))
    forget_ops()
    _recipe.note_ops(recipe, handle.ops())
    warnings = None if quiet else handle.warnings()
    if warnings:
        try:
            warn(warnings, recipe, place)
        except Warning:  # a filter wants errors
            handle.unload()
            raise
    return handle


def warn(rows, recipe, place):
    """Shows the compiler's warnings that are about the user's own text."""
    try:
        from .warnings import show
    except OSError:  # no descriptor is left to import with: .warnings has them
        return
    show(rows, recipe.texts(), place, recipe.shown_name, recipe.paths)


def forget_ops():
    """Lets go of the ops that tarsia.ops keeps, whose library may have been replaced or unloaded."""
    module = sys.modules.get("tarsia._ops")
    if module:
        module.ops.__dict__.clear()


# What may stand between a caller and this package: a context manager that decorates a function, an operator of PyTorch.
_BETWEEN = ("tarsia.", "contextlib.", "torch.")


def callers_place():
    """Where the code stands that called into this package: (file, globals, line)."""
    frame = sys._getframe(1)
    while frame.f_back is not None and f"{frame.f_globals.get('__name__')}.".startswith(_BETWEEN):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_globals, frame.f_lineno


def warn_caller(warning):
    """Shows a warning, or a text as a UserWarning, where the code stands that called into this package."""
    import warnings

    file, variables, line = callers_place()
    category = UserWarning if isinstance(warning, str) else None
    warnings.warn_explicit(warning, category, file, line, variables.get("__name__") or "<unknown>",
                           variables.setdefault("__warningregistry__", {}))


def explain(error, source, headers, place, recipe=None):
    """Adds the lines of the source, and where it stands in a .py file, to a compile error."""
    if getattr(error, "diagnostics", None):
        try:
            from .. import _diagnose

            _diagnose.explain(error, source, headers, place)
        except OSError:  # no descriptor is left to import or to read with: the error stands without the lines
            pass
        for diagnostic in error.diagnostics if recipe is not None and recipe.path is not None else ():
            diagnostic.file = recipe.shown_name(diagnostic.file)
