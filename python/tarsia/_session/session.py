"""tarsia.Session: in this process, or in a child that may crash."""

import json
import os
import weakref

from .. import _errors, _tarsia
from .._compile_options import ROWS, escapes, normalised, to_bytes, to_path, write_text

# What a cell is not compiled with: it has no headers of its own, and exports nothing.
NOT_FOR_CELLS = ("functions", "headers")


@_errors.methods_explain_misuse(made="run() of a tarsia.Session gives one")
class Cell:
    """What became of a cell.

    ok: whether it was compiled and ran to its end.
    number: the cell's; diagnostics name it "cell 3".
    value: the text of its last expression's value, or None.
    stdout: what it wrote to standard output; "" unless the session keeps that.
    diagnostics: the compiler's messages, as those of tarsia.CompileError.
    error: why it failed, or None. error_class: the name of the error's class, or None.
    undone: names of earlier cells that are no longer there.
    notes: sentences about earlier cells, such as which function keeps what it was compiled with.
    compile_ms, run_ms: milliseconds.
    image: a PNG file as bytes if the value is an image, image(x) in a cell; else None.
    exit_code: 0 if it is ok; if it has ended its process, the code of that, 128 + N for signal N; 1 otherwise.
    origin: "compiled", or "disk" or "memory" if it came from the cache; None if nothing was compiled.
    """

    __slots__ = ("compile_ms", "diagnostics", "error", "error_class", "exit_code", "image", "notes", "number", "ok", "origin", "run_ms", "stdout",
                 "undone", "value")

    def __init__(self, fields):
        self.ok, self.number, self.value, self.stdout = fields["ok"], fields["number"], fields["value"], fields["stdout"]
        self.error, self.error_class = fields["error"], fields["error_class"]
        self.exit_code = fields.get("exit_code", int(not self.ok))
        self.undone, self.notes, self.origin = fields["undone"], fields["notes"], fields["origin"]
        self.compile_ms, self.run_ms = fields["compile_ms"], fields["run_ms"]
        self.image = _png(fields["image"]) if fields.get("image") else None
        self.diagnostics = [_errors.Diagnostic(one["file"], one["line"], one["column"], one["severity"], one["message"])
                            for one in fields["diagnostics"]]

    def __repr__(self):
        what = self.value if self.ok else f"{self.error_class}: {self.error}"
        return f"<tarsia cell {self.number}: {what if what is not None else 'done'}>"

    def raise_if_failed(self):
        """Raises tarsia.Error if the cell failed; returns the cell."""
        if not self.ok:
            error = getattr(_errors, self.error_class or "", _errors.Error)(self.error)
            if isinstance(error, _errors.CompileError):
                error.diagnostics = self.diagnostics
            raise error
        return self


def compile_options(options):
    """The options of cells, for a handle."""
    for name in NOT_FOR_CELLS:
        if options.get(name) is not None:
            raise _errors.ArgumentTypeError(f"Session() takes no {name!r}: cells have no use for it")
    return _tarsia.CompileOptions("", normalised(options, "Session"), False)


_live = weakref.WeakSet()


def defines_op(name):
    """Whether a cell of a session in this process has registered the op."""
    return any(name in session.ops for session in list(_live) if not session.isolated)


class _Closed:
    """The handle of a session that was closed."""

    def __getattr__(self, name):
        raise _errors.Error("the session is closed: begin another with tarsia.Session()")


@_errors.methods_explain_misuse
class Session:
    """A session: cells of C++ and CUDA that share what they define.

        session = tarsia.Session()
        session.run("int square(int x) { return x * x; }")
        session.run("square(7)").value       # "49"

    Every cell goes through the compiler and the cache like any other source: the same cells in another process compile
    nothing. A function, kernel, type, op or variable that is defined again takes the place of the old one, for code of earlier
    cells too where its type is the same. A cell that fails defines nothing.

    isolated: run the cells in a child process. A cell that crashes it is an error, and what the session had defined is
        restored: the cells run again, which their notes say. Otherwise they run in this process.
    stdin: what cells in a child process read from standard input: nothing by default; a file that has a descriptor, such as
        sys.stdin; or a function, which is called when a cell waits for input and returns the next text, "" at the end.
        Otherwise cells have the standard input of this process.
    keep_output: put what cells write to standard output into Cell.stdout. Otherwise it goes where standard output goes.
    The other options are those of tarsia.load_inline, but `functions` and `headers`.

    A session ends with close(), with the block of `with tarsia.Session() as session:`, or when nothing refers to it any more.

    One thread at a time; only close() may be called from another. Sessions share ops with the whole process, and nothing else with
    each other.
    """

    def __init__(self, *, isolated=False, keep_output=True, stdin=None, **options):
        checked = compile_options(options)
        if stdin is not None and not (isolated and (callable(stdin) or _has_descriptor(stdin))):
            raise _errors.ArgumentTypeError(
                f"stdin must be a file with a descriptor, or a function, got {type(stdin).__name__}" if isolated
                else "stdin is for sessions with isolated=True: cells in this process have its standard input")
        if isolated:
            from .isolated import IsolatedHandle

            self._handle = IsolatedHandle(options, keep_output, stdin)
        else:
            self._handle = _tarsia.SessionHandle(checked, bool(keep_output))
        _live.add(self)
        self.isolated = bool(isolated)
        self.options = options

    def __reduce__(self):
        raise _errors.ArgumentTypeError("a session can be neither copied nor pickled: what its cells define lives in its process; "
                                        "save(path) writes it as a source, which tarsia.load compiles anywhere")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Ends the session. What its cells have defined goes, and the process that ran them, if it is isolated, a cell that another thread
        waits for included. What they compiled lies in the cache then, unless writing it takes longer than half a second. A session that is
        closed can only be closed again."""
        handle, self._handle = self._handle, _CLOSED
        _live.discard(self)
        if self.isolated and handle is not _CLOSED:
            handle.close()
        del handle
        _forget_ops()

    def run(self, text):
        """Compiles a cell, str or bytes of UTF-8, and runs it. Returns a Cell, whether it failed or not.

        The compiler's warnings are Python warnings, tarsia.CompileWarning, as those of load_inline are. If a filter makes an error of one,
        it is raised after the cell has run.
        """
        cell = self._run(text)
        if any(one.severity == "warning" for one in cell.diagnostics):
            from .warnings import show

            show(cell, text)
        return cell

    def _run(self, text):
        """`run` for those who show the cell's diagnostics themselves."""
        if not isinstance(text, (str, bytes, bytearray)):
            raise _errors.ArgumentTypeError(f"run() takes the text of a cell, str or bytes, not {type(text).__name__}")
        cell = _errors.make(Cell, json.loads(self._handle.run(to_bytes(text, "a cell"))))
        _forget_ops()
        return cell

    def complete(self, text, position=None):
        """What may stand at a place of a text that is to be a cell: names, members, keywords, headers, from Clang.

        position: in characters; the end of the text by default. Returns a dict: `start`, where the name begins that is
        completed, in characters; `matches`, the names, sorted; `details`, the declaration of each, which may be empty."""
        if not isinstance(text, str) or not hasattr(position, "__index__") and position is not None:
            raise _errors.ArgumentTypeError("complete() takes the text of a cell, a str, and a position, an int, not "
                                            f"{type(text).__name__} and {type(position).__name__}")
        position = len(text) if position is None else min(max(position.__index__(), 0), len(text))
        form = escapes(text)
        encoded = text.encode("utf-8", form)
        found = json.loads(self._handle.complete(encoded, len(text[:position].encode("utf-8", form))))
        found["start"] = len(encoded[:found["start"]].decode("utf-8", form))
        return found

    def undo(self):
        """Takes the last cell back. Returns the names that it had defined. Values that it assigned to variables of earlier
        cells stay. Without a cell it is a tarsia.NotFound."""
        names = json.loads(self._handle.undo())
        if names is None:
            raise _errors.NotFound("there is no cell to take back")
        _forget_ops()
        return names

    @property
    def ops(self):
        """The names of the ops that the session's cells have registered."""
        return json.loads(self._handle.ops())

    @property
    def source(self):
        """The session as one source that compiles: what cells have declared and done, which happens in their order when it is loaded.
        What no longer compiles with what there is now is a comment that says why."""
        return self._handle.source()

    def _shown_source(self):
        """A source to look at the code of, compiled with TARSIA_DETAIL_CODE_IS_SHOWN: nothing of it runs when it is loaded."""
        return self._handle.shown_source()

    def save(self, path):
        """Writes the session as a source; or, to a path that ends in .so, as a library that tarsia.load takes."""
        path = to_path(path, "path")
        if path.endswith(".so"):
            from .._library import compile

            return compile(self.source, path)
        source = self.source
        if path.endswith(_CPP_SOURCES) and _tarsia.mentions_cuda(source):
            raise _errors.ArgumentValueError(f"path: the session has kernels or other CUDA code, of which a compiler of "
                                             f"{os.path.splitext(path)[1]} files knows nothing: save it as .cu")
        write_text(path, source)

    def set_options(self, **options):
        """Changes the options of later cells; None gives an option its default. A value that the compiler refuses changes nothing."""
        changed = {name: value for name, value in {**self.options, **options}.items() if value is not None or name not in ROWS}
        checked = compile_options(changed)
        # Only the compiler knows some of them, such as CPUs: it is asked now, in a session that has nothing else.
        tried = _errors.make(Cell, json.loads(_tarsia.SessionHandle(checked, True).run(b"using tarsia_tried = int;")))
        if tried.error_class in ("ArgumentTypeError", "ArgumentValueError", "CompileError", "Unsupported"):
            tried.raise_if_failed()
        self._handle.set_options(changed if self.isolated else checked)
        self.options = changed

    def stats(self):
        """Counters of the cache and the compiler in the process that runs the cells: a dict, as of tarsia.stats()."""
        return json.loads(self._handle.stats() if self.isolated else _tarsia.stats())


_CLOSED = _Closed()
_CPP_SOURCES = tuple(suffix for suffix, language in _tarsia.source_suffixes if language != "cuda")


def _has_descriptor(file):
    try:
        return isinstance(file.fileno(), int)
    except (AttributeError, TypeError, OSError, ValueError):  # io.StringIO has a fileno() that raises
        return False


def _png(npy):
    import base64
    import io

    import numpy as np

    from . import plot

    return plot.image_png(np.load(io.BytesIO(base64.b64decode(npy))))


def _forget_ops():
    from .._compile.loading import forget_ops

    forget_ops()
