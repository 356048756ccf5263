"""Libraries, and the doors to them: load_inline, load, compile."""

import os
import sys
import time

from . import _compile_options, _errors, _tarsia
from ._compile import recipe as _recipe
from ._compile.loading import callers_place, compile_and_load, forget_ops, warn
from ._compile.loading import explain as _explain
from ._compile.recipe import Prebuilt, Recipe, cached_only
from ._compile_options import REQUIRED, required, to_bytes, to_path, to_text, to_texts, wrong_type

for _folder in sys.path:  # NVIDIA's wheels lie in any of them
    if _folder.endswith(("site-packages", "dist-packages")):
        _tarsia.add_site_packages(_folder)


@_errors.methods_explain_misuse(made="tarsia.load_inline and tarsia.load give one")
class Library:
    """A loaded library, compiled from a string or built ahead of time.

    Its functions and kernels are attributes: ``lib.relu(x, y)``, ``lib.saxpy[grid, block](n, a, x, y)``. Those in
    namespaces are ``lib["ns::f"]``, and ``lib.f`` where nothing else is called f. What is named like an attribute of
    this class is ``lib["name"]``.
    """

    def __init__(self, handle, recipe=None, seconds=None, pending=None):
        if pending is None:
            self._handle = handle
        self._recipe = recipe
        self._seconds = seconds
        self._pending = pending
        self._templates = {}
        self._modules = {}
        self._of_instances = []  # the warnings of instantiations that the library itself has not
        if recipe is not None:
            _recipe.note_library(self)

    @property
    def ready(self):
        """Whether the compile that load_inline(wait=False) began has ended, well or not. Never waits."""
        return self._pending is None or self._pending.is_done()

    def wait(self, timeout=None):
        """Waits until it is ready, at most so many seconds; whether it is. Raises what kept it from being compiled."""
        if self._pending is not None and self._pending.wait(timeout):
            self._pending.result()
        return self.ready

    @property
    def name(self):
        """The library's name."""
        return self._handle.name

    @property
    def origin(self):
        """Where it came from: "compiled", "memory", "disk", "remote" (a shared store) or "prebuilt"."""
        return self._handle.origin

    @property
    def functions(self):
        """The qualified names of its functions, in the source's order."""
        return tuple(self._handle.function_names())

    @property
    def kernels(self):
        """The names of its kernels; none for a library built ahead of time."""
        return tuple(dict.fromkeys(kernel[0] for kernel in self._handle.kernels()))

    @property
    def templates(self):
        """The names of its templates of kernels."""
        return tuple(dict.fromkeys(template[0] for template in self._handle.templates()))

    @property
    def globals(self):
        """The names of its variables in device memory; ``get_global`` gives a tensor over one."""
        return tuple(entry[0] for entry in self._handle.globals())

    def get_global(self, name, device=None):
        """A tarsia.Tensor over a __device__, __constant__ or __managed__ variable on a GPU, by default the current
        one. It is the variable's own memory: ``torch.from_dlpack(t).copy_(values)`` writes it, constant memory too."""
        entries = self._handle.globals()
        names = [entry[0] for entry in entries]
        found = [name] if name in names else _with_last_part(names, name)
        if len(found) != 1:
            from ._missing import missing_global

            raise missing_global(self, name, names, found)
        return self._handle.global_tensor(names.index(found[0]), -1 if device is None else _device_number(device))

    @property
    def ops(self):
        """The names of the ops that it registered."""
        return tuple(self._handle.ops())

    @property
    def symbols(self):
        """The symbols that it shows to others: a dict of name to address, which is valid as long as the library. They are
        those that ``exports`` names, and those that the source marks with ``__attribute__((visibility("default")))``."""
        return self._handle.symbols()

    @property
    def skipped(self):
        """Functions of the source that are not exported: a dict of name to reason."""
        return self._handle.skipped()

    @property
    def warnings(self):
        """The compiler's warnings, a list of Diagnostic. Those of kernel templates follow when they are instantiated."""
        from ._errors import Diagnostic

        found = [Diagnostic(*warning) for warning in [*self._handle.warnings(), *self._of_instances]]
        for one in found if self._recipe is not None and self._recipe.path is not None else ():
            one.file = self._recipe.shown_name(one.file)
        return found

    @property
    def cubins(self):
        """Device code: a dict of architecture to bytes; of (file, architecture) if several files have some."""
        images = self._handle.images()
        if len({file for file, _, _ in images}) <= 1:
            return {arch: data for _, arch, data in images}
        return {(file, arch): data for file, arch, data in images}

    @property
    def device_compilers(self):
        """What compiled the device code of which file: a dict of file to "nvrtc", or to "clang: " and why NVRTC did not. Files
        without device code are not in it."""
        return self._handle.device_compilers()

    def python_module(self, name=None):
        """The extension module of Python that the source defines under this name, with PYBIND11_MODULE, NB_MODULE or PyInit_…;
        without a name the only one. It is imported by the first call. Its code stays in memory until the process ends."""
        from ._python_module import python_module

        return python_module(self, name, self._modules)

    def export(self, path):
        """Writes the shared library to ``path``; ``tarsia.load`` takes it."""
        self._handle.export(to_path(path, "path"))

    def unload(self):
        """Takes its ops out of the registry and forgets its functions. The code is unmapped when nothing holds it
        any more: functions that are kept stay valid."""
        self._handle.unload()
        forget_ops()
        _recipe.forget_ops(self._recipe)
        kept = self._handle
        if self._modules:
            from ._python_module import forget

            forget(self._modules)
        self.__dict__.clear()
        self._made_of(_Unloaded(kept.name))

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        return _recipe.reduced_library(self)

    def __getitem__(self, name):
        if not isinstance(name, str):
            raise wrong_type("a function's name", "a str", name)
        found = self._find(name)
        if found is None:
            from ._missing import missing

            raise missing(self, name)
        return found

    def __getattr__(self, name):
        # Called only for what is not in __dict__; functions go there when they are first asked for.
        if name == "_handle" and self.__dict__.get("_pending"):
            self._handle, self._seconds = self._pending.result()
            return self._handle
        if name.startswith("__") or name in _OWN:
            raise AttributeError(name)
        found = self.__dict__[name] = self[name]
        return found

    def _find(self, name):
        """What has this name, or this last part of it and nothing else."""
        found = self._exactly(name)
        if found is not None:
            return found
        candidates = _with_last_part(self._names(), name)
        if len(candidates) > 1:
            from ._missing import ambiguous

            raise ambiguous(self, name, candidates)
        return self._exactly(candidates[0]) if candidates else None

    def _exactly(self, name):
        found = self._handle.function(name)
        if found is None:
            found = self._handle.kernel(name)
        if found is not None:
            found._recipe = self._recipe
        if found is None and name in self.templates:
            from ._kernels import KernelTemplate

            found = self._templates.get(name)
            if found is None:
                found = self._templates[name] = _errors.make(KernelTemplate, self, name)
        return found

    def _names(self):
        """The qualified names of all that can be called."""
        return [*dict.fromkeys([*self._handle.function_names(), *self.kernels, *self.templates])]

    def __contains__(self, name):
        names = self._names()
        return name in names or len(_with_last_part(names, name)) == 1

    def __iter__(self):
        return iter(self._names())

    def __dir__(self):
        names = {name.rsplit("::", 1)[-1] for name in self._names() if "<" not in name}
        return sorted(names.union(object.__dir__(self)))

    def __repr__(self):
        if not self.ready:
            return "<tarsia.Library, still compiling>"
        error = self._failure()
        if error is not None:
            return f"<tarsia.Library, which failed: {error}>"
        parts = []
        for kind in ("functions", "kernels", "templates", "ops"):
            names = getattr(self, kind)
            if names:
                parts.append(f"{kind}: {', '.join(names)}")
        return f"<tarsia.Library {self.name!r} ({self._came_from()}) {'; '.join(parts)}>"

    def _repr_html_(self):
        """What notebooks show."""
        from ._html import library

        return library(self)

    def _failure(self):
        """What went wrong with wait=False; None if nothing did."""
        from ._errors import Error

        try:
            _ = self._handle
        except Error as error:
            return error
        return None

    def _came_from(self):
        if self.origin == "compiled" and self._seconds is not None:
            return f"compiled in {self._seconds * 1000:.0f} ms"
        return self.origin


# Attributes of a Library's own that a look-up must not take for functions.
_OWN = frozenset(("_handle", "_recipe", "_seconds", "_pending", "_templates", "_modules", "_of_instances", "_ipython_display_", "_repr_mimebundle_",
                  "_ipython_canary_method_should_not_exist_"))


def _with_last_part(names, name):
    """The qualified names that end in ::name."""
    if not isinstance(name, str) or "::" in name:
        return []
    return [qualified for qualified in names if qualified.endswith("::" + name)]


class _Unloaded:
    """Stands for the handle of a library after unload()."""

    def __init__(self, name):
        self.name = name
        self.origin = "unloaded"

    def function(self, name):
        from ._missing import MissingFunction

        raise MissingFunction(f"library {self.name!r} was unloaded")

    def __getattr__(self, attribute):
        if attribute in ("function_names", "kernels", "templates", "globals", "ops", "images", "warnings"):
            return list
        if attribute in ("device_compilers", "skipped", "symbols"):
            return dict
        if attribute == "unload":
            return lambda: None
        return self.function


@_errors.explains_misuse()
@_compile_options.shown
def load_inline(source=REQUIRED, name=None, *, wait=True, **options):
    """Compiles a source string, or takes it from the cache, and loads it.

    source: C++ and CUDA text, or a dict of file name to text whose suffixes tell the language (.c, .cc, .cu; .h is
        only included).
    name: of the library; by default made from the source's hash.
    options:
    wait: False gives the Library at once and compiles on a thread of its own: what is first asked of the library waits,
        and raises what went wrong; so does tarsia.op for ops that nobody has registered yet.

    Gives a Library. Raises CompileError, with diagnostics at the places of the string.
    """
    required(source, "load_inline", "source", "pass C++ or CUDA text, or a dict of file name to text")
    values = _compile_options.normalised(options, "load_inline")
    return _load(Recipe(_files(source), _name(name), values), source, options.get("headers"), wait, callers_place())


def load_at(source, options, place, paths=None):
    """load_inline for a source that stands somewhere else than in the caller's file. `paths` are those of texts that are files."""
    recipe = Recipe(_files(source), None, _compile_options.normalised(options, "load_inline"))
    if paths:
        recipe.paths = paths
    return _load(recipe, source, options.get("headers"), True, place)


def _load(recipe, source, headers, wait, place, quiet=False, only=None):
    """The library of a recipe. What goes wrong is explained with the source and headers as the user gave them; `place` is
    where the call stands. quiet: warnings are the caller's matter. only: as for Recipe.options."""
    native = recipe.options(only=only)  # on this thread, which may be capturing
    if not wait:
        from ._pending import Pending

        pending = Pending(lambda: compile_and_load(recipe, native, place, quiet),
                          lambda error: _explain(error, source, headers, place, recipe))
        return _errors.make(Library, None, recipe, pending=pending)
    began = time.perf_counter()
    try:
        return _errors.make(Library, compile_and_load(recipe, native, place, quiet), recipe, time.perf_counter() - began)
    except Exception as error:
        _explain(error, source, headers, place, recipe)
        raise


def from_recipe(recipe):
    """The library that a pickle was made of."""
    handle = recipe.load()
    forget_ops()
    _recipe.note_ops(recipe, handle.ops())
    return _errors.make(Library, handle, recipe)


@_errors.explains_misuse("pass a list of sources")
def compile_all(sources, *, jobs=None, return_exceptions=False, **options):
    """Compiles and loads many sources at the same time, and gives their libraries in the same order.

    sources: what load_inline takes, or pairs (source, dict of load_inline's options for it alone).
    jobs: how many compiles at once; None: as many as the machine has cores.
    return_exceptions: True puts errors into the list in the place of their libraries. False raises the first of them
        after all have ended; the libraries of the others are then in the cache.
    options: as for load_inline, for all of them.

    Shows a bar on a terminal when it takes more than half a second.
    """
    from . import _pending

    place = callers_place()
    only = cached_only()  # of this thread

    def load_one(source, **own):
        values = _compile_options.normalised({k: v for k, v in own.items() if k not in ("name", "wait")}, "load_inline")
        return _load(Recipe(_files(source), _name(own.get("name")), values), source, own.get("headers"), own.get("wait", True),
                     place, only=only)

    return _pending.compile_all(load_one, sources, jobs, return_exceptions, options)


@_errors.explains_misuse()
@_compile_options.shown
def compile(source=REQUIRED, output=REQUIRED, *, name=None, **options):
    """Compiles a source as load_inline does and writes the shared library to a file, which load() takes on a machine
    without the compiler.

    source: as for load_inline, or the path of a source file as a pathlib.Path. A file's ``#include "…"`` are looked for in
        its folder.
    output: the path of the file.
    options:
    name: of the library.
    """
    required(source, "compile", "source", "pass C++ or CUDA text, a dict of file name to text, or a pathlib.Path")
    required(output, "compile", "output", "pass the path of the shared library to write")
    values = _compile_options.normalised(options, "compile")
    if isinstance(source, os.PathLike):
        from ._compile.source_file import recipe_of

        path, written = to_path(source, "source"), to_path(output, "output")
        if os.path.exists(written) and os.path.samefile(path, written):
            raise _errors.ArgumentValueError(f"compile: output is the source {path}: give the library another name")
        recipe, source = recipe_of(path, _name(name), values)
    else:
        recipe = Recipe(_files(source, "pathlib.Path({!r})"), _name(name), values)
    place = callers_place()
    try:
        _tarsia.compile(recipe.files, recipe.options(loads=False), to_path(output, "output"))
    except Exception as error:
        _explain(error, source, options.get("headers"), place, recipe)
        raise
    from ._compile.warnings import of_last_compile

    warnings = of_last_compile()
    if warnings:
        warn(warnings, recipe, place)


@_errors.explains_misuse()
@_compile_options.shown
def load(path=REQUIRED, name=None, *, wait=True, **options):
    """Loads a library from a file: a source, which is compiled as load_inline does, or a library built ahead of time by
    tarsia.compile, Library.export, or a compiler with TARSIA_EXPORT.

    path: of the file. The suffixes .cu, .cc, .cpp, .cxx, .c++, .CPP, .C and .c say that it is a source. Its ``#include "…"`` are looked
        for in its folder. Errors and warnings name the file by this path.
    name, wait: as for load_inline; of a source alone.
    options: of a source alone, as for load_inline.
    """
    path = to_path(required(path, "load", "path", "pass the path of a source or of a shared library"), "path")
    if path.endswith(_HEADERS):
        raise _errors.LoadError(f"{path} is a header by its suffix: load() takes a source (suffixes {', '.join(_SOURCES)}) or a shared "
                                "library; include it in a source, or give the file a source's suffix")
    if path.endswith(_SOURCES):
        from ._compile.source_file import recipe_of

        recipe, texts = recipe_of(path, _name(name), _compile_options.normalised(options, "load"))
        return _load(recipe, texts, options.get("headers"), wait, callers_place())
    if name is not None or options:
        raise _errors.ArgumentTypeError(f"load({path!r}) takes no options: it is no source (suffixes {', '.join(_SOURCES)}), but a "
                                        "library that was built with options of its own")
    recipe = Prebuilt(os.path.abspath(path))
    handle = _tarsia.load(path)
    forget_ops()
    _recipe.note_ops(recipe, handle.ops())
    return _errors.make(Library, handle, recipe)


_HEADERS = (".cuh", ".h", ".hh", ".hpp", ".hxx", ".h++", ".H", ".inl", ".inc")
_SOURCES = tuple(suffix for suffix, _ in _tarsia.source_suffixes)


def _files(source, for_path="tarsia.load({!r})"):
    """The files of a recipe. for_path: what is written where the source is a file."""
    if isinstance(source, dict):
        return to_texts(source.items(), "a file's name in the source", "the source of {!r}")
    if isinstance(source, os.PathLike):
        raise _errors.ArgumentTypeError("source must be a str, or a dict of file name to str, got a path; for a file write "
                                        f"{for_path.format(os.fspath(source))}")
    if not isinstance(source, (str, bytes, bytearray)):
        raise wrong_type("source", "a str, or a dict of file name to str", source)
    if isinstance(source, str) and source.endswith(_SOURCES) and "\n" not in source and "\0" not in source and os.path.isfile(source):
        raise _errors.ArgumentValueError(f"source is the text itself, and {source!r} is the path of a file: write {for_path.format(source)}")
    _tarsia.count_source(None, len(source), 0)
    return [(None, to_bytes(source, "source"))]


def _name(name):
    return None if name is None else to_text(name, "name")


def _device_number(device):
    """The number of a GPU given as an int, "cuda:1", a torch.device or a cupy.cuda.Device."""
    for name in ("index", "id"):
        number = getattr(device, name, None)
        if not isinstance(device, (int, str)) and isinstance(number, int):
            return number
    if isinstance(device, str) and device.startswith("cuda"):
        number = device[5:]
        if device == "cuda" or number.isdigit():
            return int(number or -1)
    if not hasattr(device, "__index__") or isinstance(device, bool):
        raise wrong_type("device", "the number of a GPU", device)
    return device.__index__()
