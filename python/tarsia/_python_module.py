"""Extension modules of Python that the source of a library defines: what lib.python_module gives."""

import importlib.machinery
import importlib.util
import re
import sys
import threading

from ._errors import NotFound

_lock = threading.RLock()
_PACKAGE = "tarsia.modules"
_imported = {}  # by the address of its PyInit_…, where nothing else will ever be: Python never closes an extension


def names_of(symbols):
    """The names of the modules that functions of these names initialise: a list, in alphabetical order."""
    names = [symbol[7:] for symbol in symbols if symbol.startswith("PyInit_")]
    names += [symbol[8:].replace("_", "-").encode().decode("punycode") for symbol in symbols if symbol.startswith("PyInitU_")]
    return sorted(names)


def python_module(library, name, known):
    """The module of this name; None: the only one. `known` are those that were imported from the library before."""
    handle = library._handle
    name = _chosen(library.name, names_of(handle.symbols()), name)
    with _lock:
        if name not in known:
            # A source that is loaded again is the same code in memory, and its module the same module.
            address = handle.symbols()[_symbol(name)]
            module = _imported.get(address)
            if module is None:
                module = _imported[address] = _import(library, handle, name)
            sys.modules.setdefault(module.__spec__.name, module)
            known[name] = module
    return known[name]


def forget(known):
    """Takes the modules of a library out of sys.modules. Who holds them may use them all the same."""
    for module in known.values():
        if sys.modules.get(module.__spec__.name) is module:
            del sys.modules[module.__spec__.name]


def _chosen(library, names, name):
    if name is None and len(names) == 1:
        return names[0]
    if name in names:
        return name
    has = f"it has {', '.join(names)}" if names else (
        "it has none: define one with PYBIND11_MODULE, NB_MODULE or PyMODINIT_FUNC PyInit_…")
    if name is None:
        raise NotFound(f"library {library!r} has {'several extension modules' if names else 'no extension module'} of Python; "
                       f"{'name one: ' if names else ''}{has}")
    raise NotFound(f"library {library!r} has no extension module {name!r} of Python; {has}")


def _symbol(name):
    if name.isascii():
        return f"PyInit_{name}"
    return "PyInitU_" + name.encode("punycode").decode().replace("-", "_")


def _import(library, handle, name):
    """Imports it as Python imports any extension. Python opens the library by its path, which no other one has, and never
    closes it."""
    path = handle.path()
    full = _free_name(f"{_PACKAGE}.{re.sub('[^0-9A-Za-z_]', '_', library.name)}", name)
    loader = importlib.machinery.ExtensionFileLoader(full, path)
    spec = importlib.util.spec_from_file_location(full, path, loader=loader)
    assert spec is not None  # a loader is given
    try:
        module = importlib.util.module_from_spec(spec)
        sys.modules[full] = module  # where pickle looks for what the module defines
        loader.exec_module(module)
    except BaseException as error:
        sys.modules.pop(full, None)
        if isinstance(error, ImportError) and "is already registered" in str(error):
            raise ImportError(f"{error}: another extension module binds the same C++ type for all; pass py::module_local() to "
                              "its py::class_", name=full, path=path) from error
        raise
    vars(module)["__tarsia_library__"] = library  # it lives as long as the module
    return module


def _free_name(package, name):
    """The same in every process for the same source, unless a module of that name is there already."""
    full, number = f"{package}.{name}", 1
    while full in sys.modules:
        number += 1
        full = f"{package}_{number}.{name}"
    return full
