"""Source files for tarsia.load: their text, and where their includes lie."""

import os
import re

from .._compile_options import to_texts
from .._errors import LoadError
from .recipe import Recipe

_QUOTED = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"((?:\.\./)*)|[A-Za-z_])', re.MULTILINE)


def recipe_of(path, name, values):
    """(the recipe of a source file, its texts by their names in diagnostics). The file is called by its last part, so that
    the cache knows it from every working directory."""
    try:
        with open(path, "rb") as file:
            text = file.read()
    except OSError as error:
        raise LoadError(f"cannot read {path}: {error.strerror}") from None
    called = os.path.basename(path)
    return Recipe(to_texts([(called, text)], "a file's name", "the text of {!r}"), name, _with_folders(path, text, values),
                  path), {called: text}


def folders_of(path, text):
    """The folders that the quoted includes of a file's text need; none if it has none."""
    depths = [len(found[1] or "") // 3 for found in _QUOTED.finditer(text.decode("utf-8", "replace"))]
    if not depths:
        return []
    folders = [os.path.dirname(os.path.abspath(path))]
    for _ in range(max(depths)):  # a file above the folder is read only if its own folder is named
        folders.append(os.path.dirname(folders[-1]))
    return list(dict.fromkeys([folders[0], folders[-1]]))


def _with_folders(path, text, values):
    """The values with the folders that the text's own includes need before the user's."""
    folders = folders_of(path, text)
    # Where lines are kept, debuggers find the file itself by this folder.
    if not folders and (values.get("debug") or values.get("lineinfo") or "cflags" in values):
        folders = [os.path.dirname(os.path.abspath(path))]
    return {**values, "include_dirs": [*folders, *values.get("include_dirs", ())]} if folders else values
