"""A session in a child process: a crash costs what cells did, and no definition.

Parent and child speak in lines of JSON over a socket pair: a request `{"do": "run", "text": …}`, an answer. The child's
standard output is that of the parent, or goes into the results; its standard error is read by the parent, which keeps the
end of it for reports of crashes.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import threading

from .. import _errors

_PATIENCE = 0.5  # seconds that a cell has to end after Ctrl-C, before it is ended


class _Child:
    """The process. Its requests end with EOFError if it dies."""

    def __init__(self, options, keep_output):
        ours, theirs = socket.socketpair()
        os.set_inheritable(theirs.fileno(), True)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tarsia._session.child", str(theirs.fileno())], pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        theirs.close()
        self._socket, self._lines = ours, ours.makefile("rb")
        self._told = []
        self._reader = threading.Thread(target=self._read_errors, daemon=True)
        self._reader.start()
        # A prompt need not wait for it: the first answer does.
        self._send({"do": "open", "options": options, "keep_output": keep_output})
        self._is_open = False

    def _read_errors(self):
        for line in self._process.stderr:
            self._told.append(line.decode("utf-8", "replace"))
            del self._told[:-200]

    def ask(self, request):
        """The child's answer, a dict."""
        try:
            self._send(request)
            if not self._is_open:
                self._answer()
                self._is_open = True
            return self._answer()
        except KeyboardInterrupt:  # just before or after the answer was waited for: nobody knows which answer is the next
            self._signal(signal.SIGKILL)
            raise EOFError from None

    def _send(self, request):
        try:
            self._socket.sendall(json.dumps(request).encode() + b"\n")
        except OSError:
            raise EOFError from None

    def _answer(self):
        interrupts = 0
        while True:
            try:
                if interrupts:
                    self._socket.settimeout(_PATIENCE)
                line = self._lines.readline()
                break
            except KeyboardInterrupt:
                interrupts += 1
                if not self._same_group():
                    self._signal(signal.SIGINT)
            except TimeoutError:  # the cell does not ask whether it is interrupted
                interrupts += 1
                self._signal(signal.SIGINT if interrupts == 2 else signal.SIGKILL)
                self._lines = self._socket.makefile("rb")
        self._socket.settimeout(None)
        if not line:
            raise EOFError
        answer = json.loads(line)
        if "raised" in answer:
            raise getattr(_errors, answer["raised"], _errors.Error)(answer["message"])
        return answer["result"]

    def _same_group(self):
        """Whether the terminal sends Ctrl-C to the child, too."""
        return os.getpgid(self._process.pid) == os.getpgid(0) and os.isatty(0)

    def _signal(self, number):
        try:
            os.kill(self._process.pid, number)
        except ProcessLookupError:
            pass

    def ended(self):
        """How it ended, and what it said then."""
        code = self._process.wait()
        self._reader.join(timeout=10)
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        return how, "".join(self._told)

    def take_told(self):
        told, self._told = "".join(self._told), []
        return told

    def close(self):
        self._lines.close()
        self._socket.close()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class IsolatedHandle:
    """As _tarsia.SessionHandle, in a child process."""

    def __init__(self, options, keep_output):
        self._options, self._keep_output = options, bool(keep_output)
        self._texts = []  # of live cells
        self._number = 0
        self._child = _Child(options, self._keep_output)

    def __del__(self):
        child = getattr(self, "_child", None)
        if child is not None:
            child.close()

    def run(self, text):
        text = text.decode("utf-8", "surrogateescape")
        self._number += 1
        try:
            result = self._child.ask({"do": "run", "text": text, "number": self._number})
        except EOFError:
            return json.dumps(self._after_crash())
        told = self._child.take_told()
        if told:
            sys.stderr.write(told)
        if result["ok"] and result["origin"] is not None:
            self._texts.append((self._number, text))
        return json.dumps(result)

    def _after_crash(self):
        how, told = self._child.ended()
        notes = self._restore()
        error = f"the cell ended its process ({how})"
        if told.strip():
            error += "\n" + told.rstrip()
        return {"ok": False, "number": self._number, "value": None, "stdout": "", "diagnostics": [], "undone": [], "notes": notes,
                "compile_ms": 0.0, "run_ms": 0.0, "origin": None, "error": error, "error_class": "Error"}

    def _restore(self):
        """Starts anew and runs the live cells again. Notes for people."""
        self._child = _Child(self._options, self._keep_output)
        notes, lost = [], []
        for number, text in self._texts:
            try:
                result = self._child.ask({"do": "replay", "text": text, "number": number})
            except EOFError:
                self._child.ended()
                self._texts = [one for one in self._texts if one[0] != number]
                return [f"cell {number} crashed when it ran again, and is taken back", *self._restore()]
            if not result["ok"]:
                lost.append(number)
        if self._texts:
            notes.append("a new process has run " + _cells(number for number, _ in self._texts)
                         + " again, without their output: variables have the values that these give; memory of GPUs is new")
        if lost:
            notes.append(_cells(lost) + " failed when run again, and what they defined is gone")
            self._texts = [one for one in self._texts if one[0] not in lost]
        return notes

    def _asked(self, request):
        try:
            return self._child.ask(request)
        except EOFError:
            self._child.ended()
            self._restore()
            return self._child.ask(request)

    def undo(self):
        names = self._asked({"do": "undo"})
        if names is not None:
            self._texts.pop()
        return json.dumps(names)

    def ops(self):
        return json.dumps(self._asked({"do": "ops"}))

    def source(self):
        return self._asked({"do": "source"})

    def set_options(self, options):
        self._asked({"do": "set_options", "options": options})
        self._options = options

    def statistics(self):
        return json.dumps(self._asked({"do": "statistics"}))


def _cells(numbers):
    numbers = [str(number) for number in numbers]
    return ("cell " if len(numbers) == 1 else "cells ") + ", ".join(numbers)
