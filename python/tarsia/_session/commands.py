"""The commands of the prompt, which begin with a colon."""

import os
import re
import shlex
import shutil
import statistics as _statistics
import subprocess
import sys
import tempfile

from .. import _colours, _errors
from .._compile.source_file import folders_of
from .._compile_options import option_of_text, words_of
from .forks import Forks
from .reader import is_command
from .watch import Watches

# A cell that writes a value to a file. A lambda that is generic, for what does not compile for all values.
_WRITE_ARRAY = """[](const auto& tarsia_x) {
  if constexpr (std::is_convertible_v<decltype(tarsia_x), const tarsia::Tensor&>) {
    tarsia::repl::save_npy(%(path)s, tarsia_x);
  } else if constexpr (std::is_arithmetic_v<std::decay_t<decltype(tarsia_x)>>) {
    tarsia::repl::save_npy(%(path)s, tarsia::repl::full({}, static_cast<double>(tarsia_x), tarsia::float64));
  } else {
    long tarsia_n = 0;
    for (auto&& tarsia_element : tarsia_x) ++tarsia_n, (void)tarsia_element;
    auto tarsia_array = tarsia::repl::empty({tarsia_n}, tarsia::float64);
    double* tarsia_to = tarsia_array.data<double>();
    for (auto&& tarsia_element : tarsia_x) *tarsia_to++ = static_cast<double>(tarsia_element);
    tarsia::repl::save_npy(%(path)s, tarsia_array);
  }
}(
#line 1 ":plot"
%(expression)s
);"""


class Commands:
    """They act on a session."""

    def __init__(self, session):
        self._session, self._out = session, sys.stdout
        self._watches = Watches()
        self._last = None

    def note(self, cell):
        """Remembers a cell, for :time."""
        self._last = cell

    def run(self, line, out):
        """Runs `:name argument`, which writes to `out`. Errors are tarsia.Error. Returns whether the session goes on."""
        self._out = out
        name, _, argument = line[1:].partition(" ")
        found = [one for one in self._all() if one == name] or [one for one in self._all() if one.startswith(name)]
        if len(found) != 1 or not name:
            near = ", ".join(":" + one for one in found) or ":help lists the commands"
            raise _errors.ArgumentValueError(f"there is no command ':{name}'; {near}")
        if found[0] == "quit":
            return False
        getattr(self, "do_" + found[0])(argument.strip())
        return True

    def completions(self, text, position):
        """What may be typed at a position of a text, in characters: where the word starts that it takes the place of, and
        the matches."""
        before = text[:position]
        if not is_command(before):
            return self._completions_of_code(text, position)
        name, space, argument = before.lstrip()[1:].partition(" ")
        if not space:
            start = position - len(name) - 1
            return start, [":" + one for one in self._all() if one.startswith(name)]
        start = position - len(argument)
        if name in ("load", "save", "watch", "edit"):
            word = argument.lstrip()
            removes = name == "watch" and word.startswith("-")
            return position - len(word) + removes, _files(word[removes:])
        at, matches = self._completions_of_code(text[start:], position - start)
        return start + at, matches

    def _completions_of_code(self, text, position):
        try:
            found = self._session.complete(text, position)
            return found["start"], found["matches"]
        except _errors.Error:
            return position, []  # no compiler can be asked

    @classmethod
    def _all(cls):
        return sorted(name[3:] for name in dir(cls) if name.startswith("do_"))

    def _say(self, text):
        self._out.write(text if text.endswith("\n") or not text else text + "\n")
        self._out.flush()

    def do_help(self, _):
        """lists the commands"""
        rows = [(f":{name}", (getattr(self, "do_" + name).__doc__ or "").strip()) for name in self._all()]
        width = max(len(row[0]) for row in rows) + 2
        self._say("".join(f"{name:{width}}{text}\n" for name, text in rows))

    def do_quit(self, _):
        """ends the session, as Ctrl-D does"""

    def do_undo(self, argument):
        """[N]: takes the last cell back, or the last N"""
        if argument and not (argument.isascii() and argument.isdigit() and int(argument) > 0):
            raise _errors.ArgumentValueError(f":undo takes the number of cells, 1 or more, not {argument!r}")
        for _ in range(int(argument or 1)):
            names = self._session.undo()
            self._say("taken back: " + (", ".join(names) or "a cell without declarations"))

    def do_load(self, argument):
        """FILE: runs a file as one cell"""
        if not argument:
            raise _errors.ArgumentValueError(":load takes the path of a file")
        self._run_file(argument)

    def do_watch(self, argument):
        """[FILE]: runs a file as one cell, now and when it is saved; -FILE ends that; alone, lists the files"""
        if not argument:
            self._say("\n".join(self._watches.names) or "none")
        elif argument.startswith("-"):
            if not self._watches.remove(argument[1:].strip()):
                raise _errors.NotFound(f"{argument[1:].strip()!r} is not watched")
        else:
            self._watches.add(argument)
            try:
                self._run_file(argument)
            except _errors.NotFound:
                self._watches.remove(argument)
                raise

    @property
    def watches(self):
        """Whether there are files to look after."""
        return bool(self._watches.names)

    def changed_files(self, settled=False):
        """The watched files that were saved since they last ran. settled: only those that no one writes just now."""
        return self._watches.changed(settled)

    def run_again(self, names, out):
        """Runs files that have changed."""
        for name in names:
            self._out = out
            self._say(f"{name} changed")
            try:
                self._run_file(name)
            except _errors.Error as error:
                sys.stderr.write(f"{type(error).__name__}: {error}\n")
            except KeyboardInterrupt:
                sys.stderr.write("interrupted\n")

    def do_save(self, argument):
        """FILE: writes the session as a source, or as a library if FILE ends in .so"""
        if not argument:
            raise _errors.ArgumentValueError(":save takes the path of a file")
        self._session.save(os.path.expanduser(argument))

    def do_source(self, _):
        """shows the session as a source"""
        self._say(self._session.source)

    def do_time(self, _):
        """tells how long the last cell took to compile and to run"""
        if self._last is None:
            raise _errors.NotFound("no cell has run yet")
        how = f" ({self._last.origin})" if self._last.origin else ""
        self._say(f"compile {self._last.compile_ms:.1f} ms{how}, run {self._last.run_ms:.3f} ms" + ("" if self._last.ok else "; it failed"))

    def do_bench(self, argument):
        """EXPRESSION: runs it again and again, and tells how long one run takes"""
        if not argument:
            raise _errors.ArgumentValueError(":bench takes an expression, as in ':bench f(3)'")
        rounds, runs, has_loaded = [], 1, False
        while len(rounds) < 7:
            host, *gpu = self._timed(argument, runs)
            if gpu and not has_loaded:  # the first run puts code on the GPU
                has_loaded = True
                continue
            if not rounds and host < 20e6 and runs < 1 << 30:  # a round takes at least 20 ms
                runs *= max(2, min(100, int(25e6 / max(host, 1))))
                continue
            rounds.append((host, *gpu))
        is_gpu = all(len(one) > 1 for one in rounds) and any(is_ahead for _, _, is_ahead in rounds)
        times = [(one[1] if is_gpu else one[0]) / runs for one in rounds]
        self._say(f"{_duration(_statistics.median(times))} in the median of {len(times)} rounds of {runs}, "
                  f"{_duration(min(times))} at least" + (", GPU time by CUDA's events" if is_gpu else ""))

    def _timed(self, expression, runs):
        """Nanoseconds of so many runs by the host's clock. With a GPU also those by CUDA's events, and whether the GPU had work
        left when the host had done its part."""
        cell = self._session._run(
            "{ const long tarsia_bench_runs = " + str(runs) + "; "
            "tarsia::repl::bench(tarsia_bench_runs, [&]() -> decltype(auto) { return (\n"
            "#line 1 \":bench\"\n" + expression + "\n); }); }").raise_if_failed()
        self._session.undo()
        return [float(word) for word in cell.value.split()]

    def do_plot(self, argument):
        """EXPRESSION [FILE.png|FILE.svg]: draws a tensor, in the terminal or into a file"""
        match = re.fullmatch(r"(.*\S)\s+(\S+\.(?:png|svg))", argument, re.DOTALL | re.IGNORECASE)
        expression, path = match.groups() if match else (argument, None)
        if not expression:
            raise _errors.ArgumentValueError(":plot takes an expression, as in ':plot x' or ':plot x x.png'")
        if other := re.search(r"\s\S+\.(gif|jpe?g|bmp|webp|pdf|tiff?|eps)$", expression, re.IGNORECASE):
            raise _errors.ArgumentValueError(f":plot writes .png and .svg files, not {other.group().strip()!r}")
        from . import plot

        array = self._array(expression)
        if path:
            plot.write(os.path.expanduser(path), array)
        else:
            self._draw(array)

    def _draw(self, array):
        from . import plot

        width, height, colours = _terminal(self._out)
        self._say(plot.picture(array, width, height, colours, can_write(self._out, "⣿░▀┤")))

    def _array(self, expression):
        """The value of an expression as a NumPy array: a tensor, or a container of numbers."""
        import json

        import numpy as np

        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "array.npy")
            self._session._run(_WRITE_ARRAY % {"path": json.dumps(path), "expression": expression}).raise_if_failed()
            self._session.undo()
            return np.load(path)

    def do_ops(self, _):
        """lists the ops that the session's cells have registered"""
        self._say("\n".join(self._session.ops) or "none")

    def do_cache(self, _):
        """tells what the cache and the compiler did for the session"""
        import json

        self._say(json.dumps(self._session.stats(), indent=2))

    def do_gpu(self, _):
        """tells which GPUs there are, or what they lack"""
        import json

        from .. import _tarsia

        lines = [line for line in json.loads(_tarsia.doctor())["lines"] if line["part"].startswith(("GPU", "CUDA driver"))]
        self._say("".join(f"{line['part']}: {line['detail']}\n" for line in lines))

    def do_set(self, argument):
        """OPTION=VALUE …: compiles later cells with it, as in ':set opt=3 std=c++23'; alone, shows what is set"""
        changes = {}
        for word in shlex.split(argument):
            name, equals, value = word.partition("=")
            changes[name] = option_of_text(name, value if equals else None)
        self._session.set_options(**changes)
        if not argument:
            self._say("".join(f"{name}={value}\n" for name, value in self._session.options.items()) or "nothing is set")

    def do_edit(self, argument):
        """[FILE]: opens $EDITOR, and runs what was written there as a cell"""
        editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.expanduser(argument) if argument else os.path.join(folder, "cell.cu")
            try:
                code = subprocess.call([*shlex.split(editor), path])
            except OSError as error:
                raise _errors.NotFound(f"cannot start {editor!r} ({error.strerror}): set EDITOR") from None
            if code != 0 or not os.path.exists(path):
                return
            text = _text_of(path)
        if argument:
            self._find_headers_of(path, text)
        self._run_cell(text, argument or None)

    def _run_file(self, name):
        text = _text_of(name)
        self._find_headers_of(os.path.expanduser(name), text)
        self._run_cell(text, name)

    def _find_headers_of(self, path, text):
        """From now on cells find the headers that a file includes from its folder, as tarsia.load does: later cells read what
        this one has declared."""
        known = list(self._session.options.get("include_dirs") or ())
        added = [folder for folder in folders_of(path, text.encode("utf-8", "surrogateescape")) if folder not in known]
        if added:
            self._session.set_options(include_dirs=[*known, *added])

    def _run_cell(self, text, name=None):
        from .repl import show

        with Forks().ended():
            cell = self._session._run(text)
        self.note(cell)
        show(cell, self._out, sys.stderr, text, name)

    def _show_code(self, kind, name):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "session")  # whether it is CUDA is for its text to say
            with open(path, "w", encoding="utf-8") as file:
                file.write(self._session._shown_source())
            # `ptx` adds to a module and changes none of its code; as a word of `tarsia show` it is a request to print PTX.
            words = [path, *([name] if name else []), "--" + kind, *words_of(self._session.options, without=("ptx",)),
                     "-DTARSIA_DETAIL_CODE_IS_SHOWN"]
            done = subprocess.run([sys.executable, "-m", "tarsia", "show", *words], capture_output=True, text=True)
        self._say(done.stdout)
        if done.returncode != 0:  # warnings were told when their cells ran
            told = done.stderr.rpartition("tarsia: error: ")[2].strip().replace(path, "the session")
            raise _errors.Error(told or f"tarsia show ended with code {done.returncode}")

    def do_ptx(self, argument):
        """[KERNEL]: shows PTX"""
        self._show_code("ptx", argument)

    def do_sass(self, argument):
        """[KERNEL]: shows the GPU's machine code"""
        self._show_code("sass", argument)

    def do_regs(self, argument):
        """[KERNEL]: shows registers and memory of kernels"""
        self._show_code("regs", argument)

    def do_asm(self, argument):
        """[FUNCTION]: shows the CPU's machine code"""
        self._show_code("asm", argument)

    def do_ir(self, argument):
        """[FUNCTION]: shows LLVM's IR"""
        self._show_code("ir", argument)


def _files(beginning):
    """Paths that begin so; folders end in a slash."""
    name = beginning.rpartition("/")[2]
    shown = beginning[:len(beginning) - len(name)]
    try:
        with os.scandir(os.path.expanduser(shown) or ".") as found:
            return sorted(shown + one.name + ("/" if one.is_dir() else "") for one in found
                          if one.name.startswith(name) and (name or not one.name.startswith(".")))
    except OSError:
        return []


def _text_of(name):
    try:
        with open(os.path.expanduser(name), encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except OSError as error:
        raise _errors.NotFound(f"cannot read {name!r}: {error.strerror}") from None


def _terminal(out):
    """Columns and lines of what `out` writes to, and how many colours it has."""
    if not out.isatty():
        return 80, 24, 0
    width, height = shutil.get_terminal_size()
    return width, height - 2, _colours.depth_of(out)


def can_write(out, text):
    """Whether the encoding of `out` has the characters."""
    try:
        text.encode(getattr(out, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _duration(nanoseconds):
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if nanoseconds >= size:
            return f"{nanoseconds / size:.3g} {unit}"
    return f"{nanoseconds:.3g} ns"
