"""Errors about functions that a library does not have; imported when one is raised."""

from difflib import get_close_matches

from ._errors import MissingFunction, NotFound


def missing(library, name):
    """The error for a name that no function and no kernel has."""
    names = library._names()
    text = f"library {library.name!r} has no function {'or kernel ' if library.kernels else ''}{name!r}"
    reason = library._handle.skipped().get(name)
    close = get_close_matches(name, names, n=3)
    if reason:
        text += f": it was not exported: {reason}"
    elif close:
        text += f"; did you mean {' or '.join(map(repr, close))}?"
    elif names:
        text += f"; it has {', '.join(names)}"
    return MissingFunction(text)


def missing_global(library, name, names, found):
    """The error for a name that no device variable has, or several."""
    if found:
        return NotFound(f"library {library.name!r} has several variables {name!r}: {', '.join(found)}")
    has = f"it has {', '.join(names)}" if names else "it has none"
    return NotFound(f"library {library.name!r} has no variable {name!r} in device memory; {has}")


def ambiguous(library, name, found):
    """The error for a name that several namespaces have."""
    choices = ", ".join(f"lib[{qualified!r}]" for qualified in found)
    return MissingFunction(f"library {library.name!r} has several called {name!r}: write {choices}")
