"""Libraries, and the doors to them: load_inline, load, compile."""

import sys
import time

from . import _compile_options, _errors, _tarsia
from ._compile_options import to_bytes, to_path, to_text, to_texts, type_error

for _folder in sys.path:  # NVIDIA's wheels lie in any of them
    if _folder.endswith(("site-packages", "dist-packages")):
        _tarsia.add_site_packages(_folder)


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
        """Where it came from: "compiled", "memory", "disk" or "prebuilt"."""
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
    def skipped(self):
        """Functions of the source that are not exported: a dict of name to reason."""
        return self._handle.skipped()

    @property
    def warnings(self):
        """The compiler's warnings, a list of Diagnostic."""
        from ._errors import Diagnostic

        return [Diagnostic(*warning) for warning in self._handle.warnings()]

    @property
    def cubins(self):
        """Device code: a dict of architecture to bytes; of (file, architecture) if several files have some."""
        images = self._handle.images()
        if len({file for file, _, _ in images}) <= 1:
            return {arch: data for _, arch, data in images}
        return {(file, arch): data for file, arch, data in images}

    def export(self, path):
        """Writes the shared library to ``path``; ``tarsia.load`` takes it."""
        self._handle.export(to_path(path, "path"))

    def unload(self):
        """Takes its ops out of the registry and forgets its functions. The code is unmapped when nothing holds it
        any more: functions that are kept stay valid."""
        self._handle.unload()
        _forget_ops()
        kept = self._handle
        self.__dict__.clear()
        Library.__init__(self, _Unloaded(kept.name))

    def __getitem__(self, name):
        if not isinstance(name, str):
            raise type_error("a function's name", "a str", name)
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
                found = self._templates[name] = KernelTemplate(self, name)
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
_OWN = frozenset(("_handle", "_recipe", "_seconds", "_pending", "_templates", "_ipython_display_", "_repr_mimebundle_",
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
        if attribute == "skipped":
            return dict
        if attribute == "unload":
            return lambda: None
        return self.function


class Recipe:
    """What a library was compiled from, for more of its device code."""

    def __init__(self, files, name, values):
        self._files = files
        self._name = name
        self._values = values

    def text_of(self, file):
        """The text of a file or virtual header by the name that diagnostics give it; None if it is neither."""
        for name, text in (*self._files, *self._values.get("headers", ())):
            if (name or _LONE_NAME) == file:
                return text.decode()
        return None

    def kernels(self, names, file, ptx=False):
        """The handle of a library with these kernels of a file alone: instantiations, or kernels by their names. With
        ptx they are for reading."""
        values = {**self._values, "ptx": True} if ptx else self._values
        return _tarsia.load_inline(self._files, _tarsia.CompileOptions(self._name, values, _capturing(), names, file, ptx))


_LONE_NAME = "source"  # of a source that is one string, in diagnostics


@_compile_options.shown
def load_inline(source, name=None, *, wait=True, **options):
    """Compiles a source string, or takes it from the cache, and loads it.

    source: C++ and CUDA text, or a dict of file name to text whose suffixes tell the language (.c, .cc, .cu; .h is
        only included).
    name: of the library; by default made from the source's hash.
    options:
    wait: False gives the Library at once and compiles on a thread of its own: what is first asked of the library waits,
        and raises what went wrong; so does tarsia.op for ops that nobody has registered yet.

    Gives a Library. Raises CompileError, with diagnostics at the places of the string.
    """
    name = _name(name)
    values = _compile_options.normalised(options, "load_inline")
    files = _files(source)
    native = _tarsia.CompileOptions(name, values, _capturing())
    headers = options.get("headers")
    if not wait:
        try:
            from ._pending import Pending
        except OSError as error:
            raise _errors.of_import(error) from None

        place = _place(sys._getframe(1))
        pending = Pending(lambda: _compile_and_load(files, native), lambda error: _explain(error, source, headers, place))
        return Library(None, Recipe(files, name, values), pending=pending)
    began = time.perf_counter()
    try:
        return Library(_compile_and_load(files, native), Recipe(files, name, values), time.perf_counter() - began)
    except Exception as error:
        _explain(error, source, headers, _place(sys._getframe(1)))
        raise


def _compile_and_load(files, options):
    handle = _tarsia.load_inline(files, options)
    _forget_ops()
    return handle


def compile_all(sources, *, jobs=None, return_exceptions=False, **options):
    """Compiles and loads many sources at the same time, and gives their libraries in the same order.

    sources: what load_inline takes, or pairs (source, dict of load_inline's options for it alone).
    jobs: how many compiles at once; None: as many as the machine has cores.
    return_exceptions: True puts errors into the list in the place of their libraries. False raises the first of them
        after all have ended; the libraries of the others are then in the cache.
    options: as for load_inline, for all of them.

    Shows a bar on a terminal when it takes more than half a second.
    """
    try:
        from . import _pending
    except OSError as error:
        raise _errors.of_import(error) from None

    return _pending.compile_all(load_inline, sources, jobs, return_exceptions, options, _place(sys._getframe(1)))


@_compile_options.shown
def compile(source, output, *, name=None, **options):
    """Compiles a source as load_inline does and writes the shared library to a file, which load() takes on a machine
    without the compiler.

    source: as for load_inline.
    output: the path of the file.
    options:
    name: of the library.
    """
    values = _compile_options.normalised(options, "compile")
    try:
        _tarsia.compile(_files(source), _tarsia.CompileOptions(_name(name), values, _capturing()), to_path(output, "output"))
    except Exception as error:
        _explain(error, source, options.get("headers"), _place(sys._getframe(1)))
        raise


def load(path):
    """Loads a library built ahead of time: by tarsia.compile, Library.export, or a compiler with TARSIA_EXPORT."""
    handle = _tarsia.load(to_path(path, "path"))
    _forget_ops()
    return Library(handle)


def _forget_ops():
    """Lets go of the ops that tarsia.ops keeps, whose library may have been replaced or unloaded."""
    module = sys.modules.get("tarsia._ops")
    if module:
        module.ops.__dict__.clear()


def _place(frame):
    """Where a call stands: (file, globals, line)."""
    return frame.f_code.co_filename, frame.f_globals, frame.f_lineno


def _explain(error, source, headers, place):
    """Adds the lines of the source, and where it stands in a .py file, to a compile error."""
    if getattr(error, "diagnostics", None):
        try:
            from . import _diagnose

            _diagnose.explain(error, source, headers, place)
        except OSError:  # no descriptor is left to import or to read with: the error stands without the lines
            pass


def _files(source):
    if isinstance(source, dict):
        return to_texts(source.items(), "a file's name in the source", "the source of {!r}")
    if not isinstance(source, (str, bytes, bytearray)):
        raise type_error("source", "a str, or a dict of file name to str", source)
    _tarsia.count_source(None, len(source), 0)
    return [(None, to_bytes(source, "source"))]


def _name(name):
    return None if name is None else to_text(name, "name")


def _capturing():
    """Whether PyTorch captures a CUDA graph on this thread: a compile would stall it, and kernels cannot load then."""
    torch = sys.modules.get("torch")
    try:
        return torch is not None and torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing()
    except Exception:  # another module of that name, or a torch without CUDA
        return False


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
        raise type_error("device", "the number of a GPU", device)
    return device.__index__()
