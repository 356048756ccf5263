"""The kernel: what a Jupyter client asks, answered by a session. https://jupyter-client.readthedocs.io/en/stable/messaging.html"""

import asyncio
import base64
import signal
import sys
import threading

from ipykernel.kernelbase import Kernel

from .. import _errors, _tarsia
from .._session import plot
from .._session.commands import Commands
from .._session.reader import commands_of, is_whole
from .._session.repl import messages
from .._session.session import Session
from . import display


class TarsiaKernel(Kernel):
    """Runs cells in a session of its own, in a child process: a crash ends the child and no kernel."""

    implementation = "tarsia"
    implementation_version = _tarsia.version
    language_info = {"name": "c++", "mimetype": "text/x-c++src", "file_extension": ".cu", "codemirror_mode": "text/x-c++src",
                     "pygments_lexer": "cuda", "version": _tarsia.version}
    banner = f"Tarsia {_tarsia.version}: cells of C++ and CUDA share what they define. :help lists the commands."
    help_links = [{"text": "C++", "url": "https://en.cppreference.com"},
                  {"text": "CUDA C++", "url": "https://docs.nvidia.com/cuda/cuda-c-programming-guide/"}]
    output = None  # a Piped, if standard output is watched

    def __init__(self, **options):
        super().__init__(**options)
        self._cells = Session(isolated=True, keep_output=False, stdin=self._line_of_input)
        self._commands = _NotebookCommands(self._cells, self)
        self._is_silent = False
        self._failed = None  # the reply that a failed cell gives

    @property
    def kernel_info(self):
        """Without what ipykernel offers in the name of all kernels: subshells, and a debugger for Python."""
        return {**super().kernel_info, "supported_features": []}

    # Cells

    def pre_handler_hook(self):
        """Lets interrupts end cells, and nothing else: before and after a cell, one would take its reply away."""
        self.saved_sigint_handler = signal.signal(signal.SIGINT, signal.SIG_IGN)

    async def do_execute(self, code, silent, store_history=True, user_expressions=None, allow_stdin=False, *, cell_meta=None,
                         cell_id=None):
        parent = self.get_parent()
        if not _is_main_shell():
            told = "cells of a session run one at a time: run this one in the kernel's main shell"
            content = {"ename": "Unsupported", "evalue": told, "traceback": [f"Unsupported: {told}"]}
            if not silent:
                self._publish("error", content, parent)
            return {"status": "error", "execution_count": self.execution_count, **content}
        self._is_silent, self._failed, self._allow_stdin = silent, None, allow_stdin
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "set_parent"):  # ipykernel's: their texts belong to this cell
                stream.set_parent(parent)
        if self.output is not None:
            self.output.tell = lambda text: self._publish("stream", {"name": "stdout", "text": text}, parent)
        if self._cells._handle.tells is not None:
            self._cells._handle.tells[0] = lambda text: self._publish("stream", {"name": "stderr", "text": text}, parent)
        commands, text = commands_of(code)
        try:
            try:
                signal.signal(signal.SIGINT, signal.default_int_handler)
                self._execute(commands, text)
            finally:
                signal.signal(signal.SIGINT, signal.SIG_IGN)
        except _errors.Error as error:
            return self._failure(type(error).__name__, str(error), f"{type(error).__name__}: {error}".splitlines())
        except KeyboardInterrupt:  # it came when no cell was running any more
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            return self._failed or self._failure("Interrupted", "interrupted", ["Interrupted: interrupted"])
        return self._failed or {"status": "ok", "execution_count": self.execution_count, "payload": [], "user_expressions": {}}

    def _execute(self, commands, text):
        """Runs a cell's commands, and then the rest of its text."""
        self._commands.run_again(self._commands.changed_files(), sys.stdout)
        for line in commands:
            if not self._commands.run(line, sys.stdout):
                raise _errors.Unsupported(":quit ends the prompt: a notebook's menu ends or restarts its kernel")
            if self._failed:
                return
        if text.strip():
            self.show(self.run(text), text)

    def _line_of_input(self):
        """What the person types for a cell that reads standard input. Without somebody to ask, it has ended."""
        if not self._allow_stdin:
            return ""
        if self.output is not None:
            self.output.finish()  # what the cell has asked
        try:
            return self.raw_input("") + "\n"
        except EOFError:
            return ""

    def run(self, text):
        """Runs a cell that has the number of the notebook's. What it writes is told when this returns."""
        if not self._is_silent:
            self._cells._handle.number_next(self.execution_count)
        try:
            return self._cells._run(text)
        finally:
            if self.output is not None:
                self.output.finish()

    def show(self, cell, text, name=None):
        """Publishes what became of a cell. name: of the file that the text is from."""
        self._commands.note(cell)
        told = messages(cell, text, name)
        if not cell.ok:
            self._failed = self._failure(cell.error_class, cell.error, told)
            return
        sys.stderr.write("".join(line + "\n" for line in told))
        if cell.value is not None:
            data = {"text/plain": cell.value}
            html = display.html_of_value(cell.value)
            if cell.image is not None:
                data = _image(cell)
            elif html is not None:
                data["text/html"] = html
            self.publish("execute_result", {"data": data, "metadata": {}, "execution_count": self.execution_count})

    def publish(self, kind, content):
        """Sends clients a message about the cell that runs, below what it has written."""
        sys.stdout.flush()
        sys.stderr.flush()
        if not self._is_silent:
            self._publish(kind, content, self.get_parent())

    def _publish(self, kind, content, parent):
        self.session.send(self.iopub_socket, kind, content, parent, ident=self._topic(kind))

    def _failure(self, name, message, lines):
        self.publish("error", {"ename": name, "evalue": message, "traceback": lines})
        return {"status": "error", "execution_count": self.execution_count, "ename": name, "evalue": message, "traceback": lines}

    # Typing

    async def do_complete(self, code, cursor_pos):
        start, matches = self._commands.completions(code, cursor_pos) if _is_main_shell() else (cursor_pos, [])
        return {"status": "ok", "matches": matches, "cursor_start": start, "cursor_end": cursor_pos, "metadata": {}}

    async def do_is_complete(self, code):
        if is_whole(commands_of(code)[1]):
            return {"status": "complete"}
        last = code.rpartition("\n")[2]
        indent = last[:len(last) - len(last.lstrip())] + ("  " if last.rstrip().endswith(("{", "(")) else "")
        return {"status": "incomplete", "indent": indent}

    # The end

    async def do_shutdown(self, restart):
        self._cells._handle.close()
        await asyncio.sleep(0.1)  # the reply of a cell that this has ended goes out
        return {"status": "ok", "restart": restart}


def _is_main_shell():
    """Whether the message is not one of a subshell, which has a thread of its own beside that of the session."""
    return threading.current_thread() is threading.main_thread()


# A lambda that is generic, for what is no tensor.
_AS_IMAGE = """[](const auto& tarsia_x) -> tarsia::repl::Image {
  if constexpr (std::is_convertible_v<decltype(tarsia_x), const tarsia::Tensor&>)
    return tarsia::repl::image(tarsia_x);
  else
    throw tarsia::ValueError("what is no tensor is no image");
}(%s)"""


def _image(cell):
    return {"image/png": base64.b64encode(cell.image).decode(), "text/plain": cell.value}


class _NotebookCommands(Commands):
    """The commands of the prompt, and those that only notebooks have."""

    def __init__(self, session, kernel):
        super().__init__(session)
        self._kernel = kernel

    def do_image(self, argument):
        """EXPRESSION: shows a tensor as an image"""
        if not argument:
            raise _errors.ArgumentValueError(":image takes a tensor, as in ':image x'")
        cell = self._session._run(_AS_IMAGE % argument).raise_if_failed()
        self._session.undo()
        self._display(_image(cell))

    def _draw(self, array):
        self._display({"image/svg+xml": plot.file_content(array, svg=True).decode(), "text/plain": plot.picture(array)})

    def _display(self, data):
        self._kernel.publish("display_data", {"data": data, "metadata": {}, "transient": {}})

    def do_edit(self, _):
        """is for the prompt alone"""
        raise _errors.Unsupported(":edit needs a terminal")

    def do_quit(self, _):
        """is for the prompt alone"""

    def _run_cell(self, text, name=None):
        self._kernel.show(self._kernel.run(text), text, name)
