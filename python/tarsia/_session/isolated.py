"""A session in a child process: a crash costs what cells did, and no definition.

Parent and child speak in lines of JSON over a socket pair: a request `{"do": "run", "text": …}`, an answer. A child that runs a
cell may ask in between, `{"asks": "input"}`, and is told `{"typed": …}`.

The child's standard output is that of the parent, or goes into the results. Its standard error is that of the parent, too, so
that both streams have the order in which they were written. Where sys.stderr is something else, or results are kept, the
parent reads it from a pipe and passes it on. What it has to say of a crash comes through a pipe of its own.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

from .. import _errors, _tarsia
from .._progress import tell
from . import place as places
from .piped import Piped

_PATIENCE = 0.5  # seconds that a cell has to end after Ctrl-C, before it is ended
_REPORT = 5  # seconds that it has then to tell where it was
_DEAF = 2  # seconds in which Ctrl-C, pressed once more for the cell that has ended, takes nothing from what is restored
_MOST_TOLD = 1 << 20  # characters of standard error that are kept, about


def _end_with(process, connection):
    """Ends the connection when the process has ended. What was sent by then is read still."""
    try:
        os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT)
    except ChildProcessError:  # others have waited for it
        pass
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:  # it is closed
        pass


class _Child:
    """The process. Its requests end with EOFError if it dies."""

    def __init__(self, options, keep_output, stdin, tells):
        """stdin: None, a descriptor, or a function. tells: what standard error is given to, first in a list; None: the child has that of
        this process."""
        self._stdin, self._tells, self._keeps_told = stdin, tells, keep_output
        # The child lets Ctrl-C in when it can handle it.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        ours = self._place = report = None
        passed = []
        try:
            ours, theirs = socket.socketpair()
            passed.append(theirs.detach())
            report, reports_to = os.pipe()
            passed.append(reports_to)
            self._place = places.create()
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tarsia._session.child", *map(str, [*passed, self._place])], pass_fds=[*passed, self._place], stdin=subprocess.DEVNULL if stdin is None or callable(stdin) else stdin,
                stderr=None if tells is None else subprocess.PIPE, start_new_session=not os.isatty(0))
        except OSError as error:
            if ours is not None:
                ours.close()
            if report is not None:
                os.close(report)
            self._close_place()
            limit = _errors.of_import(error)
            raise limit if limit is not error else _errors.Error(f"the process that is to run the cells does not start: {error}") from None
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            for descriptor in passed:
                os.close(descriptor)
        self._socket, self._lines = ours, ours.makefile("rb")
        # A process that a cell has forked holds the child's end of the connection: that closes it no more when the child dies.
        threading.Thread(target=_end_with, args=[self._process.pid, ours], daemon=True).start()
        self._told, self._report = [], []
        self._reports = Piped(report, self._report.append)
        self._errors = None if tells is None else Piped(self._process.stderr.fileno(), self._note)
        # A prompt need not wait for it: the first answer does.
        self._send({"do": "open", "options": options, "keep_output": keep_output,
                    "stdin": "none" if stdin is None else "asks" if callable(stdin) else "reads"})
        self._is_open = self._is_asked = False

    def _note(self, text):
        self._tells[0](text)
        if not self._keeps_told:
            return
        self._told.append(text)
        while len(self._told) > 1 and sum(map(len, self._told)) > _MOST_TOLD:
            del self._told[0]

    def ask(self, request, deaf_until=0.0):
        """The child's answer, a dict. Ctrl-C before this time (time.monotonic) is not for this request."""
        if request["do"] in ("run", "replay"):
            places.forget(self._place)
        try:
            self._send(request)
            if not self._is_open:
                self._answer(deaf_until)
                self._is_open = True
            return self._answer(deaf_until)
        except KeyboardInterrupt:  # just before or after the answer was waited for: nobody knows which answer is the next
            self.kill()
            raise EOFError from None

    def _send(self, request):
        try:
            self._socket.sendall(json.dumps(request).encode() + b"\n")
        except OSError:
            raise EOFError from None

    def _answer(self, deaf_until):
        interrupts = 0
        while True:
            try:
                if interrupts:
                    self._socket.settimeout(_PATIENCE if interrupts == 1 else _REPORT)
                line = self._lines.readline()
                if not line.startswith(b'{"asks"'):
                    break
                self._send({"typed": self._typed()})
            except ConnectionError:
                raise EOFError from None
            except KeyboardInterrupt:
                if time.monotonic() < deaf_until:
                    continue
                interrupts += 1
                if not self._same_group():
                    self._signal(signal.SIGINT)
                if self._is_asked:
                    self._is_asked = False
                    self._send({"typed": ""})
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

    def _typed(self):
        """What there is to read for a cell that waits for it; "" at the end. Ctrl-C meanwhile leaves the answer to others."""
        self._is_asked = True
        try:
            typed = self._stdin()
            if not isinstance(typed, str):
                raise _errors.ArgumentTypeError(f"the function for stdin returns text, not {type(typed).__name__}")
            typed.encode("utf-8", "surrogateescape")  # as the child does, which has nobody to tell that it cannot
        except KeyboardInterrupt:
            raise
        except Exception as error:
            self._tell_of(error)
            typed = ""
        self._is_asked = False
        return typed

    def _tell_of(self, error):
        if not isinstance(error, EOFError):
            sys.stderr.write(f"standard input of the cell has ended: {error}\n")

    def _same_group(self):
        """Whether the terminal sends Ctrl-C to the child, too. Without a terminal the child has a group of its own: who
        interrupts all of this process's group interrupts the child once."""
        return os.getpgid(self._process.pid) == os.getpgid(0) and os.isatty(0)

    def _signal(self, number):
        try:
            os.kill(self._process.pid, number)
        except ProcessLookupError:
            pass

    def kill(self):
        self._signal(signal.SIGKILL)

    def ended(self):
        """How it ended, what it said then, and the place that its cell had come to: diagnostics with that text."""
        code = self._process.wait()
        # Shells give a signal's number like this. No process that a cell has ended counts as one that went well.
        self.exit_code = 128 - code if code < 0 else code or 1
        if self._errors is not None:
            self._errors.wait_for_end(10)
        self._reports.wait_for_end(10)
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        message = f"the cell ended its process ({how})"
        place = places.read(self._place, message) if self._place is not None else []
        self._close_place()
        return message, "".join(self._told), "".join(self._report), place

    def _close_place(self):
        place, self._place = self._place, None
        if place is not None:
            os.close(place)

    def finish_errors(self):
        """Returns when all that it has written to standard error was told."""
        if self._errors is not None:
            self._errors.finish()
            self._told.clear()

    def close(self):
        self._close_place()
        self._lines.close()
        self._socket.close()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._errors is not None:  # what its destructors wrote
            self._errors.finish()


class IsolatedHandle:
    """As _tarsia.SessionHandle, in a child process."""

    def __init__(self, options, keep_output, stdin=None):
        self._options, self._keep_output = options, bool(keep_output)
        # A descriptor of its own: the caller may close the file before a crash, after which the next process reads on.
        self._descriptor = None if stdin is None or callable(stdin) else os.dup(stdin.fileno())
        self._stdin = stdin if self._descriptor is None else self._descriptor
        self.tells = [tell] if keep_output or not _is_own_stderr() else None  # what cells write to standard error
        self._texts = []  # of live cells
        self._number = 0
        self._is_closed = self._is_running = False
        self._is_restored = True  # False if Ctrl-C has broken a restoration off
        self._child = self._begin()

    def _begin(self):
        return _Child(self._options, self._keep_output, self._stdin, self.tells)

    def __del__(self):
        child = getattr(self, "_child", None)
        if child is not None:
            child.close()
        if (descriptor := getattr(self, "_descriptor", None)) is not None:
            os.close(descriptor)

    def number_next(self, number):
        """Gives the next cell this number; otherwise it has the one after the last cell's."""
        self._number = number - 1

    def close(self):
        """Ends the child. A cell that another thread is waiting for ends with it, and nothing is restored."""
        self._is_closed = True
        if self._is_running:
            self._child.kill()
        else:
            self._child.close()

    def run(self, text):
        text = text.decode("utf-8", "surrogateescape")
        if not self._is_restored:
            self._restore()
        self._number += 1
        self._is_running = True
        try:
            result = self._child.ask({"do": "run", "text": text, "number": self._number,
                                      "no_compile": _tarsia.no_compile_depth() > 0})
        except EOFError:
            return json.dumps(self._after_crash())
        except _errors.Error:  # the child's answer
            raise
        except BaseException:  # what the function for stdin has raised to end more than a cell: the child waits for an answer still
            self._end_child()
            raise
        finally:
            self._is_running = False
        read = result.pop("read", "")
        if result["ok"] and result["origin"] is not None:  # first of all: whatever interrupts what follows, the child has the cell
            self._texts.append((self._number, text, read))
        self._child.finish_errors()
        if result["lost_gpu"]:  # then it has failed
            self._end_child()
            result["notes"] += self._restore()
        return json.dumps(result)

    def _end_child(self):
        self._is_restored = False
        self._child.kill()
        self._child.ended()

    def _after_crash(self):
        self._is_restored = False
        error, told, report, diagnostics = self._child.ended()
        exit_code = self._child.exit_code
        notes = [] if self._is_closed else self._restore()
        if report:  # it names the places itself
            diagnostics = []
        elif not diagnostics:
            error = f"cell {self._number}: {error}"
        # What a person has seen on standard error is not shown again; programs find it in the result, as ever.
        # Who pressed Ctrl-C once is not told of the second interrupt, by which a cell that does not ask is ended.
        report = report.replace("interrupted twice (SIGINT)", "interrupted (SIGINT)", 1)
        for text in (told if self._keep_output else "", report):
            if text.strip():
                error += "\n" + text.rstrip()
        return {"ok": False, "number": self._number, "value": None, "stdout": "", "diagnostics": diagnostics, "undone": [], "notes": notes,
                "lost_gpu": False, "compile_ms": 0.0, "run_ms": 0.0, "origin": None, "error": error, "error_class": "Error",
                "exit_code": exit_code}

    def _restore(self):
        """Starts anew and runs the live cells again. Notes for people."""
        deaf_until = time.monotonic() + _DEAF
        self._child = self._begin()
        self._is_restored = False
        notes, lost = [], []
        for number, text, read in self._texts:
            try:
                result = self._child.ask({"do": "replay", "text": text, "number": number, "read": read}, deaf_until)
            except EOFError:
                self._child.ended()
                self._texts = [one for one in self._texts if one[0] != number]
                return [f"cell {number} crashed when it ran again, and is taken back", *self._restore()]
            if result["lost_gpu"]:
                self._end_child()
                self._texts = [one for one in self._texts if one[0] != number]
                return [f"cell {number} broke the GPU's work when it ran again, and is taken back", *self._restore()]
            if not result["ok"]:
                lost.append(number)
        if self._texts:
            notes.append("a new process has run " + _cells(number for number, *_ in self._texts)
                         + " again, without their output: variables have the values that these give; memory of GPUs is new")
        if lost:
            notes.append(_cells(lost) + " failed when run again, and what they defined is gone")
            self._texts = [one for one in self._texts if one[0] not in lost]
        self._is_restored = True
        return notes

    def _asked(self, request):
        try:
            return self._child.ask(request)
        except EOFError:
            self._child.ended()
            self._restore()
            return self._child.ask(request)

    def complete(self, text, offset):
        return json.dumps(self._asked({"do": "complete", "text": text.decode("utf-8", "surrogateescape"), "offset": offset}))

    def undo(self):
        names = self._asked({"do": "undo"})
        if names is not None:
            self._texts.pop()
        return json.dumps(names)

    def ops(self):
        return json.dumps(self._asked({"do": "ops"}))

    def source(self):
        return self._asked({"do": "source"})

    def shown_source(self):
        return self._asked({"do": "shown_source"})

    def set_options(self, options):
        self._asked({"do": "set_options", "options": options})
        self._options = options

    def stats(self):
        return json.dumps(self._asked({"do": "stats"}))


def _is_own_stderr():
    """Whether what is written to descriptor 2 goes where sys.stderr writes."""
    try:
        return sys.stderr.fileno() == 2
    except (AttributeError, OSError, ValueError):
        return False


def _cells(numbers):
    numbers = [str(number) for number in numbers]
    return ("cell " if len(numbers) == 1 else "cells ") + ", ".join(numbers)
