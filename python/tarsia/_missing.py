"""Errors about functions that a library does not have; imported when one is raised."""

from difflib import get_close_matches

from ._errors import NotFound


class MissingFunction(NotFound, AttributeError):
    """No function of that name."""


def missing(library, name):
    """The error for a name that no function has."""
    handle = library._handle
    text = f"library {library.name!r} has no function {name!r}"
    reason = handle.skipped().get(name)
    close = get_close_matches(name, handle.function_names(), n=3)
    if reason:
        text += f": it was not exported: {reason}"
    elif any(kernel[0] == name for kernel in handle.kernels()):
        text += ": it is a kernel; call it from a function of the source"
    elif close:
        text += f"; did you mean {' or '.join(map(repr, close))}?"
    elif handle.function_names():
        text += f"; it has {', '.join(handle.function_names())}"
    return MissingFunction(text)


def ambiguous(library, name, found):
    """The error for a name that several namespaces have."""
    choices = ", ".join(f"lib[{qualified!r}]" for qualified in found)
    return MissingFunction(f"library {library.name!r} has several functions {name!r}: write {choices}")
