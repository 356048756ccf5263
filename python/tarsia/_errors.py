"""The exceptions of Tarsia. The extension finds them here when it raises one."""


class Error(Exception):
    """The base of all errors of Tarsia.

    ``stage`` says where it happened ("source", "host", "split", "device", "link", "worker", "load", "call"),
    ``log`` may hold further text, such as a compiler's raw output.
    """

    stage = "call"
    log = ""

    def _tell(self, stage, log, diagnostics):
        self.stage = stage
        self.log = log


class Diagnostic:
    """A message of a compiler: ``file``, ``line`` and ``column`` (from 1; 0 if unknown), ``severity`` and ``message``.

    ``source_line`` is the text of that line where it is known, ``origin`` the place in a .py file where the
    source string stands, as "file.py:12", or None.
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
        place = f"{self.file}:{self.line}:{self.column}: " if self.line else f"{self.file}: " if self.file else ""
        text = f"{place}{self.severity}: {self.message}"
        if self.origin:
            text += f"  [{self.origin}]"
        if self.source_line is not None:
            number = f"{self.line:5d} | "
            text += f"\n{number}{self.source_line}"
            if self.column > 0:
                # Columns count bytes; tabs stay tabs, so that the caret stands below its character.
                before = self.source_line.encode(errors="surrogateescape")[: self.column - 1].decode(errors="ignore")
                blanks = "".join("\t" if c == "\t" else " " for c in before)
                text += f"\n{' ' * (len(number) - 2)}| {blanks}^"
        return text


class CompileError(Error):
    """A source that does not compile or link. ``diagnostics`` is a list of Diagnostic."""

    def __init__(self, message="", *args):
        super().__init__(message, *args)
        self.diagnostics = []

    def _tell(self, stage, log, diagnostics):
        super()._tell(stage, log, diagnostics)
        self.diagnostics = [Diagnostic(*d) for d in diagnostics]

    def __str__(self):
        if not self.diagnostics:
            return super().__str__()
        headline = str(self.args[0]).split("\n", 1)[0] if self.args else ""
        return "\n".join([headline, *map(str, self.diagnostics)])


class InvalidSource(CompileError):
    """A source that no compiler is asked about: not UTF-8, a NUL byte, too large."""


class CompilerCrashed(Error):
    """The compiler's process died under this source; the next compile gets a new one."""


class CompileTimeout(Error):
    """The compile took longer than it may."""


class ResourceLimit(Error):
    """The compile wanted more memory than it may have."""


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
    """The wait for a compile was given up. Python raises KeyboardInterrupt instead, or what the signal's handler
    raises."""


# By tarsia_code of <tarsia/abi.h>.
_BY_CODE = (
    Error,
    Error,
    CompileError,
    CompilerCrashed,
    CompileTimeout,
    ResourceLimit,
    InvalidSource,
    LoadError,
    ArgumentTypeError,
    ArgumentValueError,
    CudaError,
    NotFound,
    Unsupported,
    OpError,
    OpValueError,
    OpIndexError,
    OpTypeError,
    OutOfMemory,
    Interrupted,
)


def make(code, message):
    """The exception for a code of the C interface."""
    return (_BY_CODE[code] if 0 <= code < len(_BY_CODE) else Error)(message)
