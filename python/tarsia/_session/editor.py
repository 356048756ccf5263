"""The line editors of the prompt: prompt_toolkit, or Python's readline where that is not installed.

An editor has `read(prompt)`, the next piece of what is typed: a line, or with prompt_toolkit as many as make a whole cell. It
raises EOFError at the end and KeyboardInterrupt if Ctrl-C dropped the input. `close()` leaves the terminal as it was.
"""

import os
import signal
import sys
import time
from contextlib import nullcontext

from . import reader
from .history import History


def open_editor(commands, prompt):
    """The best editor that is there. It may write `prompt`, which is the first, while the editor is loaded."""
    if os.environ.get("TERM", "dumb") != "dumb" and sys.stdout.isatty() and _is_installed("prompt_toolkit"):
        shown = ShownAhead(prompt)
        try:
            from .toolkit import ToolkitEditor

            return ToolkitEditor(commands, shown)
        except Exception:  # not installed whole, or a version that is another
            shown.erase()
            shown.restore()
    return PlainEditor(commands)


def _is_installed(name):
    from importlib.util import find_spec

    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):
        return False


class ShownAhead:
    """A prompt that an editor is going to write again.

    An import takes longer than people want to wait for a prompt. What they type meanwhile stays in the terminal's queue, and
    is neither echoed, which the editor does, nor a signal in the middle of an import.
    """

    def __init__(self, prompt):
        import termios

        self._before, self._is_shown = None, False
        try:
            before, now = termios.tcgetattr(0), termios.tcgetattr(0)
            now[0] &= ~(termios.ICRNL | termios.IXON)
            now[3] &= ~(termios.ECHO | termios.ICANON | termios.ISIG | termios.IEXTEN)
            termios.tcsetattr(0, termios.TCSANOW, now)
        except termios.error:
            return
        self._before, self._is_shown = before, True
        sys.stdout.write(prompt)
        sys.stdout.flush()

    def erase(self):
        """Makes room for the editor's own prompt."""
        if self._is_shown:
            sys.stdout.write("\r\x1b[K")
            sys.stdout.flush()
        self._is_shown = False

    def restore(self):
        """Gives the terminal back its settings."""
        if self._before is not None:
            import termios

            termios.tcsetattr(0, termios.TCSANOW, self._before)
        self._before = None


class _WhileWaiting:
    """Runs a function while readline waits for keys, on the thread that waits: by PyOS_InputHook, which Python's readline calls
    ten times a second. What the function writes stands above the line that is being typed."""

    _PAUSE = 0.2  # seconds between two calls

    def __init__(self, readline, run):
        import ctypes

        self._run, self._next = run, 0.0
        self._slot = ctypes.c_void_p.in_dll(ctypes.pythonapi, "PyOS_InputHook")
        # The editor's own functions: the module is linked with it.
        editor = ctypes.CDLL(getattr(readline, "__file__", None))
        self._draw = [getattr(editor, name) for name in ("rl_on_new_line", "rl_forced_update_display")]
        self._hook = ctypes.CFUNCTYPE(ctypes.c_int)(self._call)
        self._address = ctypes.cast(self._hook, ctypes.c_void_p).value

    def __enter__(self):
        self._before, self._slot.value = self._slot.value, self._address

    def __exit__(self, *error):
        self._slot.value = self._before

    def _call(self):
        now = time.monotonic()
        if now >= self._next:
            self._next = now + self._PAUSE
            self._run(self._draw_again)
        return 0

    def _draw_again(self):
        for function in self._draw:
            function()


class PlainEditor:
    """Lines by Python's own line editor, which is GNU readline or libedit."""

    def __init__(self, commands):
        self._commands, self._history = commands, History()
        self._typed, self._found = [], []
        self._waiting = nullcontext()
        try:
            import readline
        except ImportError:  # a Python without it reads plain lines
            self._readline = None
            return
        for entry in self._history.entries():
            for line in entry.split("\n"):
                readline.add_history(line)
        readline.set_completer_delims(" \t\n()[]{};,+-*/%&|^~!=<>?\"'")
        readline.set_completer(self._complete)
        readline.parse_and_bind("bind ^I rl_complete" if "libedit" in (readline.__doc__ or "") else "tab: complete")
        self._readline = readline
        try:
            self._waiting = _WhileWaiting(readline, self._look)
        except (AttributeError, ImportError, OSError, ValueError):  # a Python whose editor cannot be told to draw its line again
            pass

    def _look(self, draw_again):
        """Runs watched files that were saved. What is typed stays."""
        names = self._commands.changed_files(settled=True)
        if not names:
            return
        sys.stdout.write("\r\x1b[K" if os.environ.get("TERM", "dumb") != "dumb" else "\n")
        with interrupts_raise():
            self._commands.run_again(names, sys.stdout)
        sys.stdout.flush()
        draw_again()

    def read(self, prompt):
        if prompt == reader.FIRST:
            self._typed = []
        try:
            with self._waiting if self._commands.watches else nullcontext():
                line = input(prompt)
        except (EOFError, KeyboardInterrupt):
            sys.stdout.write("\n")
            raise
        self._typed.append(line)
        text = "\n".join(self._typed)
        if reader.is_command(text) or reader.is_whole(text):
            self._history.add(text)
        return line

    def close(self):
        if self._readline is not None:
            self._readline.set_completer(None)

    def _complete(self, word, state):
        if state == 0:
            line, end = self._readline.get_line_buffer(), self._readline.get_endidx()
            before = "".join(one + "\n" for one in self._typed)
            start, matches = self._commands.completions(before + line, len(before) + end)
            begin = len(before) + self._readline.get_begidx()  # readline replaces from here, which need not be where a match starts
            self._found = [match[begin - start:] if start <= begin else (before + line)[begin:start] + match for match in matches]
        return self._found[state] if state < len(self._found) else None


class interrupts_raise:
    """While it lives, Ctrl-C is a KeyboardInterrupt here, whatever an event loop has set."""

    def __enter__(self):
        self._wakeup = signal.set_wakeup_fd(-1)
        self._handler = signal.signal(signal.SIGINT, signal.default_int_handler)

    def __exit__(self, *error):
        signal.signal(signal.SIGINT, self._handler)
        signal.set_wakeup_fd(self._wakeup)
