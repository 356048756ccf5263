"""Modules of this package that are imported late, when a program may have no descriptors left to read them.

Importing tarsia costs little, since most of the package waits until it is asked for. What Python raises when a file of it cannot
be opened then is an OSError about a file that the user has never heard of. Here it becomes a tarsia.Error that says what to do.
"""

import sys
from importlib.machinery import PathFinder

from . import _errors


class _Finder:
    """Finds the package's modules as Python does. It stands first in sys.meta_path."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if not name.startswith("tarsia."):
            return None
        try:
            spec = PathFinder.find_spec(name, path, target)
        except OSError as error:
            raise _errors.of_import(error) from None
        if spec is not None and hasattr(spec.loader, "exec_module"):
            spec.loader.exec_module = _told(spec.loader.exec_module)
        return spec


def _told(exec_module):
    def exec_module_or_tell(module):
        try:
            exec_module(module)
        except (OSError, ImportError) as error:
            told = _errors.of_import(error)
            if told is error:
                raise
            raise told from None

    return exec_module_or_tell


sys.meta_path.insert(0, _Finder)
