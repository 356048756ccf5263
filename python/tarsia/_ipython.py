"""The cell magic %%tarsia of IPython and Jupyter: %load_ext tarsia."""

import argparse
import shlex

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class

from . import _errors, _library
from ._compile_options import add_arguments, given_options


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
    parser.add_argument("name", nargs="?", default="lib", help="the variable that gets the library (lib)")
    add_arguments(parser)
    parser.add_argument("--names", action="store_true", help="its functions and kernels become variables as well")
    parser.add_argument("-q", "--quiet", action="store_true", help="the cell has no value")
    return parser


@magics_class
class TarsiaMagics(Magics):
    @line_cell_magic
    def tarsia(self, line, cell=None):
        """Compiles the cell's C++ and CUDA text: %%tarsia [NAME] [options]. The library is the variable NAME (lib), and the
        cell's value. %tarsia --help lists the options."""
        parser = _parser()
        words = shlex.split(line)
        if "--help" in words or "-h" in words:
            print(parser.format_help())
            return None
        if cell is None:
            raise UsageError("%tarsia: the text to compile stands in a cell below %%tarsia; %tarsia --help lists the options")
        given = parser.parse_args(words)
        if not given.name.isidentifier():
            raise UsageError(f"%%tarsia: {given.name!r} cannot be a variable's name")
        try:
            lib = _library.load_at(cell, given_options(vars(given)), ("%%tarsia", {"__name__": "__main__"}, 1))
        except _errors.CompileError as error:
            # The message says all; the traceback through this file would hide it.
            lines = [f"{type(error).__name__}: {error._text(_errors._coloured)}"]
            error._render_traceback_ = lambda: lines  # type: ignore[attr-defined]  # IPython asks for it
            raise
        self.shell.user_ns[given.name] = lib
        if given.names:
            for name in lib:
                self.shell.user_ns[name.rsplit("::", 1)[-1]] = lib[name]
        return None if given.quiet else lib


def load(ipython):
    ipython.register_magics(TarsiaMagics)
