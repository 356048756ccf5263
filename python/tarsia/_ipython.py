"""The cell magic %%tarsia of IPython and Jupyter: %load_ext tarsia."""

import argparse
import shlex

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class

from . import _errors, _library


class _Parser(argparse.ArgumentParser):
    def error(self, message):
        raise UsageError(f"%%tarsia: {message}\n{self.format_usage().strip()}")

    def exit(self, status=0, message=None):
        raise UsageError(message or self.format_help())


def _parser():
    parser = _Parser(prog="%%tarsia", add_help=False, description="Compiles the cell, C++ and CUDA, and gives its library.")
    parser.add_argument("name", nargs="?", default="lib", help="the variable that gets the library (lib)")
    parser.add_argument("-D", dest="defines", action="append", default=[], metavar="MACRO[=VALUE]")
    parser.add_argument("-I", dest="include_dirs", action="append", default=[], metavar="FOLDER")
    parser.add_argument("-l", dest="libraries", action="append", default=[], metavar="LIBRARY")
    parser.add_argument("-L", dest="library_dirs", action="append", default=[], metavar="FOLDER")
    parser.add_argument("--std", default="c++20")
    parser.add_argument("-O", dest="opt", type=int, default=2, metavar="0..3")
    parser.add_argument("--arch", action="append", metavar="sm_90")
    parser.add_argument("--functions", metavar="F,G", help="export these alone")
    for flag in ("ptx", "fast-math", "debug", "lineinfo"):
        parser.add_argument(f"--{flag}", action="store_true")
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
        defines = dict(one.split("=", 1) if "=" in one else (one, None) for one in given.defines)
        try:
            lib = _library.load_inline(
                cell, functions=given.functions.split(",") if given.functions else None, include_dirs=given.include_dirs,
                defines=defines, libraries=given.libraries, library_dirs=given.library_dirs, std=given.std, opt=given.opt,
                arch=given.arch, ptx=given.ptx, fast_math=given.fast_math, debug=given.debug, lineinfo=given.lineinfo)
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
