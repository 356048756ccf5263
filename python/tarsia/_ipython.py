"""The cell magic %%tarsia of IPython and Jupyter: %load_ext tarsia."""

import argparse
import shlex
import sys

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class

from . import _colours, _errors, _library
from ._compile_options import add_arguments, given_options
from ._session.session import NOT_FOR_CELLS


class _Parser(argparse.ArgumentParser):
    def parse_args(self, words):  # type: ignore[override]
        return super().parse_args(self._in_own_spelling(words))

    def _in_own_spelling(self, words):
        """Options in gcc's spelling: -std=c++17 as --std=c++17, -fwrapv as --cflags=-fwrapv."""
        known, own, words = self._option_string_actions, [], list(words)
        while words:
            word = words.pop(0)
            name = word.partition("=")[0]
            if word == "--cflags" and words:
                word = f"--cflags={words.pop(0)}"
            elif len(name) > 2 and name[0] == "-" != name[1] and name not in known:
                if "-" + name in known:
                    word = "-" + word
                elif name[:2] not in known:
                    word = f"--cflags={word}"
            own.append(word)
        return own

    def error(self, message):
        raise UsageError(f"%%tarsia: {message}\n{self.format_usage().strip()}")

    def exit(self, status=0, message=None):
        raise UsageError(message or self.format_help())


def _parser():
    parser = _Parser(prog="%%tarsia", add_help=False, description="Compiles the cell, C++ and CUDA, and gives its library.")
    parser.add_argument("name", nargs="?", help="the variable that gets the library (lib)")
    parser.add_argument("--session", action="store_true",
                        help="the cell sees the functions, types and variables of the cells with --session before it")
    add_arguments(parser)
    parser.add_argument("--names", action="store_true", help="its functions and kernels become variables as well")
    parser.add_argument("-q", "--quiet", action="store_true", help="the cell has no value")
    return parser


class _Value:
    """The value of a session's cell."""

    def __init__(self, text):
        self._text = text

    def __repr__(self):
        return self._text

    def _repr_html_(self):
        from ._jupyter.display import html_of_value

        return html_of_value(self._text)


@magics_class
class TarsiaMagics(Magics):
    _session = None  # of the cells with --session; its _commands

    @line_cell_magic
    def tarsia(self, line, cell=None):
        """Compiles the cell's C++ and CUDA text: %%tarsia [NAME] [options]. The library is the variable NAME (lib), and the
        cell's value. Cells with --session share what they define, and have the values of their last expressions.
        %tarsia --help lists the options."""
        parser = _parser()
        words = shlex.split(line)
        if "--help" in words or "-h" in words:
            print(parser.format_help())
            return None
        if cell is None:
            raise UsageError("%tarsia: the text to compile stands in a cell below %%tarsia; %tarsia --help lists the options")
        given = parser.parse_args(words)
        if given.session:
            return self._run_in_session(cell, given)
        name = "lib" if given.name is None else given.name
        if not name.isidentifier():
            raise UsageError(f"%%tarsia: {name!r} cannot be a variable's name")
        try:
            lib = _library.load_at(cell, given_options(vars(given)), ("%%tarsia", {"__name__": "__main__"}, 1))
        except _errors.CompileError as error:
            raise _rendered(error, [f"{type(error).__name__}: {error._text(_colours.coloured)}"]) from None
        self.shell.user_ns[name] = lib
        if given.names:
            for name in lib:
                self.shell.user_ns[name.rsplit("::", 1)[-1]] = lib[name]
        return None if given.quiet else lib

    def _run_in_session(self, text, given):
        """Runs a cell of this notebook's session, which is in this process: ops that it registers are there for Python."""
        from ._session.commands import Commands
        from ._session.reader import commands_of
        from ._session.repl import messages
        from ._session.session import Session

        if given.name is not None or given.names:
            raise UsageError("%%tarsia --session makes no library: it takes no NAME and no --names")
        options = given_options(vars(given))
        for name in NOT_FOR_CELLS:
            if name in options:
                raise UsageError(f"%%tarsia --session takes no {name}: later cells see all that a cell defines")
        if self._session is None:
            self._session = Session()
            self._commands = Commands(self._session)
        if options:
            self._session.set_options(**options)
        commands, text = commands_of(text)
        for line in commands:
            if not self._commands.run(line, sys.stdout):
                self._session = None  # the next cell begins another one
                return None
        if not text.strip():
            return None
        cell = self._session._run(text)
        self._commands.note(cell)
        sys.stdout.write(cell.stdout)
        told = messages(cell, text)
        if not cell.ok:
            try:
                cell.raise_if_failed()
            except _errors.Error as error:
                raise _rendered(error, told) from None
        sys.stderr.write("".join(line + "\n" for line in told))
        return None if given.quiet or cell.value is None else _Value(cell.value)


def _rendered(error, lines):
    """An error that IPython shows by these lines: the traceback through this file would hide what it says."""
    error._render_traceback_ = lambda: lines
    return error


def load(ipython):
    ipython.register_magics(TarsiaMagics)
