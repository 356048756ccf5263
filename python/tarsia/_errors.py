"""The exceptions of Tarsia. The extension finds them here by the names that include/tarsia/detail/error_rows.h gives."""

import importlib.machinery
import sys

from . import _colours


class Error(Exception):
    """The base of all errors of Tarsia.

    ``stage`` says where it happened ("source", "host", "split", "device", "link", "worker", "load", "call"),
    ``log`` may hold further text, such as a compiler's raw output.
    """

    stage = "call"
    log = ""

    def _set_details(self, stage, log, diagnostics):
        self.stage = stage
        self.log = log


class Diagnostic:
    """A message of a compiler: ``file``, ``line`` and ``column`` (from 1; 0 if unknown), ``severity`` ("error", "warning",
    "note") and ``message``.

    ``source_line`` is the text of that line where it is known; ``column`` then counts its characters, else bytes.
    ``origin`` is the place in a .py file where the source string stands, as "file.py:12", or None.
    """

    __slots__ = ("file", "line", "column", "severity", "message", "source_line", "origin")

    def __init__(self, file, line, column, severity, message):
        self.file = file
        self.line = line
        self.column = column
        self.severity = severity
        self.message = message
        self.source_line = None
        self.origin = None

    def __repr__(self):
        return f"Diagnostic({self.file}:{self.line}:{self.column}: {self.severity}: {self.message})"

    def __str__(self):
        return self._render(_colours.plain)

    def _render(self, paint):
        place = "".join(f"{part}:" for part in (self.file, self.line, self.column) if part)
        place += " " if place else ""
        text = f"{paint('bold', place)}{paint(self.severity, self.severity + ':')} {paint('bold', self.message)}"
        if self.origin:
            text += "  " + paint("faint", f"[{self.origin}]")
        if self.source_line is not None:
            number = f"{self.line:5d} | "
            text += f"\n{paint('faint', number)}{self.source_line}"
            if self.column > 0:
                before = self.source_line[: self.column - 1]
                text += "\n" + paint("faint", f"{' ' * (len(number) - 2)}| ") + _colours.blanks(before) + paint("caret", "^")
        return text


def _is_printed_in_colours(frame):
    """Whether a traceback is printed just now to a terminal that shows colours: what str() gives elsewhere stays plain."""
    if not _colours.wanted(sys.stderr):
        return False
    if frame is None:  # the interpreter prints what nobody caught
        return True
    while frame is not None:
        module, function = frame.f_globals.get("__name__", ""), frame.f_code.co_name
        if module == "traceback" and function in ("print_exc", "print_exception", "_print_exception_bltin"):
            return True
        if module == "IPython.core.interactiveshell" and function == "showtraceback":
            return True
        frame = frame.f_back
    return False


class CompileWarning(UserWarning):
    """A warning of the compiler about the user's own text, shown once in a process. ``diagnostic`` is its Diagnostic; None
    for the one that counts what is left out.

    ``warnings.filterwarnings("ignore", category=tarsia.CompileWarning)`` keeps quiet, and "error" makes load_inline raise it.
    """

    diagnostic = None


class StorageFallbackWarning(UserWarning):
    """An op has no implementation for the storage types of its tensors, so every call converts them. Shown once in a process
    for each op and list of conversions, which ``bound.conversions`` has.
    """


class CompileError(Error):
    """A source that does not compile or link. ``diagnostics`` is a list of Diagnostic."""

    def __init__(self, message="", *args):
        super().__init__(message, *args)
        self.diagnostics = []

    def _set_details(self, stage, log, diagnostics):
        super()._set_details(stage, log, diagnostics)
        self.diagnostics = [Diagnostic(*d) for d in diagnostics]

    def __str__(self):
        return self._text(_colours.coloured if _is_printed_in_colours(sys._getframe().f_back) else _colours.plain)

    def _text(self, paint):
        if not self.diagnostics:
            return super().__str__()
        headline = str(self.args[0]).split("\n", 1)[0] if self.args else ""
        shown = _of_interest(self.diagnostics)
        lines = [headline, *(d._render(paint) for d in shown[:_MOST_SHOWN])]
        if len(shown) > _MOST_SHOWN:
            lines.append(f"... and {len(shown) - _MOST_SHOWN} more")
        if len(self.diagnostics) > min(len(shown), _MOST_SHOWN):
            lines.append(paint("faint", "(.diagnostics has all, with what is said about headers)"))
        return "\n".join(lines)


_MOST_SHOWN = 12


def _of_interest(diagnostics):
    """What is shown: no notes outside the user's text, and of the errors within a header those alone that come from
    another place of the user's text than the ones before. Errors come first; beside them, warnings within headers are
    not shown."""
    shown, places = [], set()
    failed = any(one.severity not in ("note", "warning") for one in diagnostics)
    groups = []  # an error or warning, and its notes in the user's text
    for one in diagnostics:
        if one.severity != "note" or not groups:
            groups.append([one])
        elif one.source_line is not None:
            groups[-1].append(one)
    groups.sort(key=lambda group: group[0].severity == "warning")
    for first, *notes in groups:
        if failed and first.severity == "warning" and first.source_line is None and first.file.startswith("/"):
            continue
        here = {(note.file, note.line, note.column, note.message) for note in notes}
        if first.source_line is None and first.severity != "note" and places and here <= places:
            continue
        if first.severity != "note" or first.source_line is not None:
            shown += [first, *notes]
        if first.source_line is None:
            places |= here
    return shown


class InvalidSource(CompileError):
    """A source that no compiler is asked about: not UTF-8, a NUL byte, too large."""


class CompilerCrashed(Error):
    """The compiler's process died under this source; the next compile gets a new one."""


class CompileTimeout(Error):
    """The compile took longer than it may."""


class ResourceLimit(Error):
    """The compile wanted more memory than it may have, or no file descriptor is left."""


class LoadError(Error):
    """A file that cannot be loaded as a library."""


class ArgumentError(Error):
    """A call with arguments that the function does not take."""


class ArgumentTypeError(ArgumentError, TypeError):
    """A wrong type, dtype or number of arguments."""


class ArgumentValueError(ArgumentError, ValueError):
    """The right type, but an unfit value: range, shape, contiguity, device, read-only."""


class CudaError(Error, RuntimeError):
    """No GPU, no driver, or an error that CUDA reported."""


class NotFound(Error, LookupError):
    """No op, function or kernel of that name."""


class MissingFunction(NotFound, AttributeError):
    """No function or kernel of that name in a library."""


class MissingOp(NotFound, AttributeError):
    """No op of that name in tarsia.ops."""


class Unsupported(Error, NotImplementedError):
    """This build, machine or op cannot do that."""


class OpError(Error, RuntimeError):
    """The author's C++ code threw; the message is its what()."""


class OpValueError(OpError, ValueError):
    """std::invalid_argument or std::domain_error."""


class OpIndexError(OpError, IndexError):
    """std::out_of_range or std::length_error."""


class OpTypeError(OpError, TypeError):
    """tarsia::TypeError or std::bad_cast."""


class OutOfMemory(Error, MemoryError):
    """std::bad_alloc, or the device's memory is spent."""


class Interrupted(Error):
    """A compile with wait=False was given up because the interpreter ends. Ctrl-C raises KeyboardInterrupt instead."""


class UndefinedBehaviour(Error):
    """Code that was compiled with debug="undefined" did what C++ leaves undefined. The message has the places, a line each.
    What the call wrote until then is written."""


class CompileForbidden(Error):
    """A source or kernel is not in the cache, and no compile may start: within tarsia.no_compile(), or while the thread's
    current stream captures a CUDA graph. The message says why it is not in the cache."""


def of_import(error):
    """What to raise when a module of this package could not be imported: without descriptors it cannot be read."""
    from errno import EMFILE, ENFILE

    # The loader of shared libraries has no number, but its text.
    if getattr(error, "errno", None) not in (EMFILE, ENFILE) and "Too many open files" not in str(error):
        return error
    return ResourceLimit(f"{error}; raise the limit of open files (ulimit -n), or close files and drop libraries that are"
                         " not used")


_NAMED = ("__module__", "__name__", "__qualname__", "__doc__")


def explains_misuse(what=None):
    """Decorates a function: where Python refuses a call of it, since arguments are missing, too many or unknown, the error is a
    tarsia.Error that says what to pass; without a text, the function's parameters."""

    def decorate(function):
        def call(*args, **keywords):
            try:
                return function(*args, **keywords)
            except TypeError as error:
                if error.__traceback__ is None or error.__traceback__.tb_next is not None:  # raised within
                    raise
                message = str(error)
            except OSError as error:  # of a module that it imports
                if (limit := of_import(error)) is error:
                    raise
                raise limit from None
            raise ArgumentTypeError(f"{_as_called(message)}; {what or _parameters(function)}")

        # What functools.wraps does, whose import takes longer than all of this.
        for name, value in [("__wrapped__", function), *((name, getattr(function, name)) for name in _NAMED)]:
            setattr(call, name, value)
        return call

    return decorate


def _as_called(text):
    """A class is called by its name."""
    return text.replace(".__init__()", "()", 1).replace(".__new__()", "()", 1)


def _parameters(function):
    from inspect import signature

    given = signature(function)
    names = [str(one) for one in given.parameters.values() if one.name not in ("self", "cls")]
    name = function.__name__ if function.__name__ not in ("__init__", "__new__") else function.__qualname__.split(".")[-2]
    return f"it is called as {name}({', '.join(names)})"


def methods_explain_misuse(one=None, *, made=None, module="tarsia"):
    """Decorates a class: `explains_misuse` for it and its public methods, which are functions of Python. It has the name by which users
    know it, in `module`. `made`: users do not call the class, and this says what gives them its objects, which `make` makes."""
    if one is None:
        return lambda one: methods_explain_misuse(one, made=made, module=module)
    one.__module__ = module
    if made:
        one._made_of, one.__init__ = one.__init__, _refusing(made)
    for name, value in list(vars(one).items()):
        if name.startswith("_") and (made or name != "__init__"):
            continue
        if isinstance(value, classmethod):
            setattr(one, name, classmethod(explains_misuse()(value.__func__)))
        elif isinstance(value, type(explains_misuse)) and not hasattr(value, "__wrapped__"):
            setattr(one, name, explains_misuse()(value))
    return one


def _refusing(made):
    """The __init__ of a class that programs do not call. Those of the extension say the same (refuse_call)."""

    def __init__(self, /, *args, **keywords):
        raise ArgumentTypeError(f"{type(self).__name__}() is not for programs; {made}")

    return __init__


def make(one, *args, **keywords):
    """An object of a class that programs do not call."""
    made = one.__new__(one)
    made._made_of(*args, **keywords)
    return made


# Their public name is what a traceback prints and what a pickle looks up. This file names them rather than
# tarsia/__init__.py: they can be raised before that has run to its end.
for _class in [value for value in globals().values() if isinstance(value, type)]:
    _class.__module__ = "tarsia"
methods_explain_misuse(Diagnostic)


class _Finder:
    """Finds the package's modules as Python does. It stands first in sys.meta_path.

    Most of the package is imported when it is asked for, when a program may have no descriptor left to read it. What Python raises
    then is an OSError about a file that the user has never heard of; here it becomes one that says what to do."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if not name.startswith("tarsia."):
            return None
        try:
            spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        except OSError as error:
            raise of_import(error) from None
        if spec is not None and hasattr(spec.loader, "exec_module"):
            spec.loader.exec_module = _telling(spec.loader.exec_module)
        return spec


def _telling(exec_module):
    def exec_module_or_tell(module):
        try:
            exec_module(module)
        except (OSError, ImportError) as error:
            known = of_import(error)
            if known is error:
                raise
            raise known from None

    return exec_module_or_tell


sys.meta_path.insert(0, _Finder)
