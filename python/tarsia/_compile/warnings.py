"""Shows the compiler's warnings about the user's own text as Python warnings. Imported when there are some."""

import types
import warnings

from .._errors import CompileWarning, Diagnostic
from .recipe import LONE_NAME

_MOST_SHOWN = 10  # of one source
_shown = set()  # what this process has shown: (text, the line of the source)


def show(rows, texts, place, shown_name=None, paths=None, noted_as=None):
    """Warns of those diagnostics that are about the user's own texts, or about no text: an op that replaces another.

    texts: (name, text) pairs, a lone text by the name None.

    rows: as LibraryHandle.warnings() has them.
    place: (file, globals, line) of the call that compiled, which each warning is shown at where its line of the source
        does not stand in that file.
    shown_name: what a text is called to the user, by its name.
    paths: the files of texts that are files, by their names. Their warnings are shown there, and those about no text at the first.

    noted_as: what the texts are called where it is noted that a warning was shown; by default as they are shown.

    Each text is shown once in a process. A filter that makes errors of them raises the first.
    """
    own = {name if name is not None else LONE_NAME: text for name, text in texts}
    found = [Diagnostic(*row) for row in rows if row[3] == "warning" and row[0] in own]
    fresh = {(row[4], None): (row[4], Diagnostic(*row)) for row in rows if row[3] == "warning" and not row[0]}
    if found:
        _find_places(found, own, place)
    for one in found:
        # Sources without names share one. The line tells them apart.
        name, where = shown_name(one.file) if shown_name else one.file, f":{one.line}: {one.message}"
        fresh[(noted_as or name) + where, one.source_line] = name + where, one
    fresh = {key: one for key, one in fresh.items() if key not in _shown}
    for i, (key, (text, one)) in enumerate(fresh.items()):
        if i == _MOST_SHOWN and len(fresh) > i + 1:
            _warn(f"{len(fresh) - i} more warnings, which the library's .warnings has", None, place, paths)
            _shown.update(fresh)
            return
        _warn(text, one, place, paths)
        _shown.add(key)  # not if it became an error: then it is one the next time, too


def _warn(text, diagnostic, place, paths):
    file, variables, line = place
    if paths:
        named = diagnostic is not None and diagnostic.file in paths
        file, line = (paths[diagnostic.file], diagnostic.line) if named else (next(iter(paths.values())), 1)
    elif diagnostic is not None and diagnostic.origin:
        file, _, line = diagnostic.origin.rpartition(":")
    warning = CompileWarning(text)
    warning.diagnostic = diagnostic
    warnings.warn_explicit(warning, None, file, int(line), module=variables.get("__name__") or "<unknown>")


def _find_places(diagnostics, own, place):
    from .. import _diagnose

    found = types.SimpleNamespace(diagnostics=diagnostics)
    lone = own.get(LONE_NAME) if list(own) == [LONE_NAME] else None
    try:
        _diagnose.explain(found, lone if lone is not None else own, None, place)
    except OSError:  # no descriptor is left to read with
        pass


def of_last_compile():
    """The warnings of what this thread compiled last."""
    import json

    from .. import _tarsia

    return json.loads(_tarsia.stats())["last_warnings"]
