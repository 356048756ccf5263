"""Runs scripts of early PyTorch's time: ``python -m tarsia.compat SCRIPT``.

They find torch.utils.ffi (create_extension, _wrap_function), and autograd Functions are called as instances. An extension
that a script imports and that nobody has built is built by the build script beside it, build*.py.
"""

import importlib.machinery
import os
import re
import sys
import types

from ._errors import explains_misuse

__all__ = ["install"]


@explains_misuse("it takes no arguments")
def install() -> None:
    """Supplies all of that to this process, for notebooks and tests."""
    import torch

    from ._torch import old_function

    old_function.install()
    if "torch.utils.ffi" not in sys.modules:
        sys.modules["torch.utils.ffi"] = torch.utils.ffi = _ffi()
    if not any(isinstance(finder, _Unbuilt) for finder in sys.meta_path):
        sys.meta_path.append(_Unbuilt())


_made = []  # the extensions that build scripts have made


def _ffi():
    module = types.ModuleType("torch.utils.ffi", "torch.utils.ffi of early PyTorch, by Tarsia.")

    @explains_misuse()
    def create_extension(name, headers=(), sources=(), verbose=True, with_cuda=False, package=False, relative_to=".", **kwargs):
        """The extension. It is compiled by its build(), or when one of its functions is asked for."""
        from ._torch.extension import Extension

        kwargs = {name: () for name in ("include_dirs", "define_macros", "undef_macros", "extra_compile_args", "extra_link_args",
                                        "libraries", "library_dirs")} | kwargs
        kwargs.pop("language", None)
        made = Extension(name, headers, sources, relative_to, kwargs.pop("extra_objects", ()), kwargs)
        _made.append(made)
        return made

    def _wrap_function(function, ffi):
        """The function itself, which takes and gives torch.Tensors."""
        return function

    vars(module).update(create_extension=create_extension, _wrap_function=_wrap_function)
    return module


class _Unbuilt:
    """Finds extensions that nobody has built yet: it runs the build scripts that name them, without their main part. They lie in
    the folder of the package that is imported from, or in one above it. Python asks it for every module that is not there."""

    def __init__(self):
        self._tried = set()

    def find_spec(self, name, path=None, target=None):
        *outer, last = name.split(".")
        words = [last]
        if outer and last == f"_{outer[-1]}":  # the old builder's package imports the extension from the module beside it
            words.append(outer[-1])
        places = [sys.path[0]] if path is None else list(path)
        for folder in _folders(places, len(outer)):
            for word in words:
                if self._build(folder, word):
                    importlib.invalidate_caches()
                    found = importlib.machinery.PathFinder.find_spec(name, places)
                    if found:
                        return found
        return None

    def _build(self, folder, word):
        """Whether it has built an extension that has the word in its name."""
        import runpy

        for script in _build_scripts(folder, word):
            if script not in self._tried:
                self._tried.add(script)
                runpy.run_path(script, run_name="tarsia_build")
        wanted = [made for made in _made if word in made.__name__.split(".")]
        for made in wanted:
            made.build()
        return bool(wanted)


def _folders(places, depth):
    """The places, and the folders above them as far as the outermost package's is."""
    found = {}
    for place in map(os.path.abspath, places):
        for _ in range(depth + 1):
            found[place] = None
            place = os.path.dirname(place)
    return list(found)


def _build_scripts(folder, word):
    """The scripts that create extensions and have the word in their text."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return
    for name in names:
        path = os.path.join(folder, name)
        if name.startswith("build") and name.endswith(".py") and os.path.isfile(path):
            with open(path, encoding="utf-8", errors="replace") as file:
                text = file.read()
            if "create_extension" in text and re.search(rf"\b{re.escape(word)}\b", text):
                yield path


def main():
    from ._compile import script

    if len(sys.argv) < 2 or not script.is_program(sys.argv[1:]):
        sys.exit("usage: python -m tarsia.compat SCRIPT | -m MODULE | -c CODE [argument ...]")
    try:
        import torch  # noqa: F401
    except ImportError:
        sys.exit("tarsia.compat: PyTorch is not installed, which these scripts use")
    # The finder belongs to the package's module, not to this one, which runs as __main__.
    from tarsia import compat

    compat.install()
    return script.run(sys.argv[1:])


if __name__ == "__main__":
    main()
