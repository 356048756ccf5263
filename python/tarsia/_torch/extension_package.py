"""The package that the build() of a C extension writes: importing it compiles the extension, or takes it from the cache."""

import os

from .. import _errors

_PACKAGE = '''"""The functions of the C extension {name}. Written by its build script."""

from .{module} import lib as _lib

__all__ = list(_lib.__all__)
globals().update((_name, getattr(_lib, _name)) for _name in __all__)
'''
_MODULE = '''"""The C extension {name}, compiled by Tarsia when it is imported. Written by its build script."""

import os

from tarsia.torch import create_extension

ffi = None  # what the builder of early PyTorch gave beside lib
lib = create_extension(
    {name!r},
    headers={headers!r},
    sources={sources!r},
    relative_to=os.path.join(os.path.dirname(os.path.abspath(__file__)), {up!r}, "build.py"),
    **{options!r},
)
'''


def write(name, base, headers, sources, options):
    """Writes the package NAME below the folder `base`. Paths in it are relative, so that both may be moved together."""
    parts = name.split(".")
    folder = os.path.join(base, *parts)
    here = [[os.path.relpath(os.path.join(base, one), base) for one in paths] for paths in (headers, sources)]
    kept = {key: _plain(value, base) for key, value in options.items() if value not in ((), [], None)}
    module = f"_{parts[-1]}"
    try:
        os.makedirs(folder, exist_ok=True)
        for depth in range(1, len(parts)):
            init = os.path.join(base, *parts[:depth], "__init__.py")
            if not os.path.exists(init):
                _put(init, "")
        _put(os.path.join(folder, f"{module}.py"), _MODULE.format(
            name=name, headers=here[0], sources=here[1], options=kept,
            up=os.path.join(*[".."] * len(parts))))
        _put(os.path.join(folder, "__init__.py"), _PACKAGE.format(name=name, module=module))
    except OSError as error:
        raise _errors.Error(f"extension {name!r}: its package cannot be written to {folder}: {error.strerror}") from None


def _plain(value, base):
    """Lists of texts, with paths below `base` relative to it."""
    if isinstance(value, dict):
        return {key: _plain(one, base) for key, one in value.items()}
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, str):
        return os.path.relpath(value, base) if os.path.isabs(value) and (value + os.sep).startswith(base + os.sep) else value
    if isinstance(value, (list, tuple)):
        return [tuple(one) if isinstance(one, (list, tuple)) else _plain(one, base) for one in value]
    return value


def _put(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
