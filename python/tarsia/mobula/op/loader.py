"""Loads operators from folders: NAME/NAME.cpp with kernels, NAME/NAME.py or NAME/__init__.py with classes."""

import importlib.util
import os

from ..._compile.loading import callers_place
from ..._compile_options import to_path
from ..._errors import LoadError, explains_misuse, make
from .._declarations import find
from .._instances import Source
from ..func import MobulaFunc, bind

#: Folders in which ``load`` looks after the caller's own and the working one. TARSIA_MOBULA_PATH lists the first of them.
search_path = [folder for folder in os.environ.get("TARSIA_MOBULA_PATH", "").split(os.pathsep) if folder]


@explains_misuse()
def load(module_name, path=""):
    """Loads the kernels and operators of a folder.

    module_name: the folder, whose last part is the name of its files.
    path: the folder that it lies in. Without it: that of the caller's file, the working folder, and those in ``search_path``. A
        relative path is looked for beside the caller's file, and then in the working folder.
    """
    module_name, path = to_path(module_name, "module_name"), "" if path is None else to_path(path, "path")
    code, variables, _ = callers_place()
    file = variables.get("__file__") or code
    beside = os.path.dirname(os.path.abspath(file)) if os.path.exists(file) else None
    name = os.path.basename(os.path.normpath(module_name))
    roots = [beside, os.getcwd()] if beside else [os.getcwd()]
    if path:
        folders = [os.path.join(root, path, module_name) for root in roots]
    else:
        folders = [os.path.join(root, module_name) for root in (*roots, *search_path)]
        if beside and os.path.basename(beside) == name:  # a file of the folder itself
            folders.append(beside)
    for folder in dict.fromkeys(map(os.path.abspath, folders)):
        if _load(name, folder):
            return
    raise LoadError(f"op.load({module_name!r}): there is neither {name}.cpp nor {name}.py nor __init__.py in any of "
                    f"{', '.join(dict.fromkeys(map(os.path.abspath, folders)))}; append the folder that holds {name} to mobula.op.search_path")


def _load(name, folder):
    """Whether the folder has anything of that name; it is loaded then."""
    source = os.path.join(folder, f"{name}.cpp")
    is_source = os.path.isfile(source)
    if is_source:
        held = Source(source)
        bind({function: make(MobulaFunc, declaration, held) for function, declaration in find(held.text, held.path).items()})
    for script in (os.path.join(folder, f"{name}.py"), os.path.join(folder, "__init__.py")):
        if os.path.isfile(script):
            spec = importlib.util.spec_from_file_location(name, script)
            assert spec is not None and spec.loader is not None  # the suffix is Python's
            spec.loader.exec_module(importlib.util.module_from_spec(spec))
            return True
    return is_source
