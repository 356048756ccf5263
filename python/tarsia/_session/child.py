"""The child of an isolated session: python -m tarsia._session.child CONNECTION REPORTS PLACE, three descriptors. See isolated.py."""

import json
import os
import select
import signal
import socket
import sys
import threading
import time
from contextlib import nullcontext

from tarsia import _progress, _tarsia
from tarsia._cache.no_compile import NoCompile
from tarsia._session import place as places
from tarsia._session.forks import Forks
from tarsia._session.session import compile_options


_PATIENCE = 5  # seconds that a cell may take to its end when the parent is gone


class _Output:
    """What cells write to standard output, if it goes to that of the parent: it is seen while a cell runs, line by line,
    and at the end of the cell in any case."""

    def __init__(self):
        import ctypes

        libc = ctypes.CDLL(None)
        self._flush = libc.fflush
        by_lines = 1  # _IOLBF
        libc.setvbuf(ctypes.c_void_p.in_dll(libc, "stdout"), None, by_lines, ctypes.c_size_t(0))

    def flush(self):
        self._flush(None)


class _Interrupts:
    """What Ctrl-C does: it ends what runs, is noted where an answer must not be lost, and is nothing in between."""

    ends, notes, noted = False, False, False

    @classmethod
    def handle(cls, number, frame):
        if cls.notes:
            cls.noted = True
        elif cls.ends:
            cls.ends = False  # once is enough, and a second one would come when its end is told
            raise KeyboardInterrupt


class _Input:
    """What cells read from standard input. `ask` gives more, as bytes; b"" is the end.

    What was read for a cell is kept: a cell that runs again after a crash reads the same. What is left of it when the next cell
    begins is dropped, as a person does not expect it there. While no cell runs, threads that cells have left find the end."""

    def __init__(self, ask):
        self._ask, self._lock = ask, threading.Lock()
        self._is_open, self._rest, self._read, self._again = False, b"", [], None
        self._forks = Forks()
        _tarsia.give_standard_input(self._more)

    def begin(self, again=None):
        """A cell begins. again: what it has read before, if it runs again."""
        _tarsia.renew_standard_input()
        self._rest, self._read, self._again, self._is_open = b"", [], again, True

    def end(self):
        """It has ended. What it has read."""
        with self._lock:
            self._is_open = False
        return b"".join(self._read)

    def _more(self, n):
        if self._forks.is_one():
            return b""
        with self._lock:
            if not self._is_open:
                return b""
            if self._again is not None:
                self._rest, self._again = self._rest + self._again, b""
            elif not self._rest:
                try:
                    self._rest = self._ask(n)
                except KeyboardInterrupt:  # it ends the read first, and then the cell
                    _Interrupts.ends = True
                    raise
            given, self._rest = self._rest[:n], self._rest[n:]
            self._read.append(given)
            return given


def _read_terminal(n):
    try:
        return os.read(0, n)
    except OSError:
        return b""


def _asking(connection, lines):
    """Asks the parent, which reads it for this process."""
    def ask(_):
        _Interrupts.noted, _Interrupts.notes = False, True
        try:
            connection.sendall(b'{"asks": "input"}\n')
            line = lines.readline()  # the answer comes in any case
        except OSError:  # but where the session has ended
            line = b""
        _Interrupts.notes = False
        if _Interrupts.noted:
            raise KeyboardInterrupt
        return json.loads(line)["typed"].encode("utf-8", "surrogateescape") if line else b""

    return ask


class _Replayed:
    """While it lives, standard output and standard error go nowhere, and descriptor 0 has nothing to read."""

    def __enter__(self):
        self._kept = [os.dup(0), os.dup(1), os.dup(2)]
        nowhere = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(nowhere, number)
        os.close(nowhere)

    def __exit__(self, *error):
        for number, kept in enumerate(self._kept):
            os.dup2(kept, number)
            os.close(kept)


def _result(text):
    """What the session has answered. From here on Ctrl-C is too late: what was done is told, or the parent would know nothing of it."""
    _Interrupts.ends = False
    return json.loads(text)


def _next(lines):
    """The next request; b"" if the session has ended, which may leave answers that nobody reads."""
    try:
        return lines.readline()
    except OSError:
        return b""


def serve(connection, place=None):
    """place: a descriptor, see place.py."""
    handle = output = given = None
    forks = Forks()
    with connection.makefile("rb") as lines:
        while line := _next(lines):
            request = json.loads(line)
            do = request["do"]
            try:
                _Interrupts.ends = True
                if do == "open":
                    if request["keep_output"]:  # what threads and destructors write between cells is no cell's output
                        os.dup2(2, 1)
                    handle, result = _tarsia.SessionHandle(compile_options(request["options"]), request["keep_output"]), None
                    output = None if request["keep_output"] else _Output()
                    if request["stdin"] != "none":
                        given = _Input(_read_terminal if request["stdin"] == "reads" else _asking(connection, lines))
                elif do in ("run", "replay"):
                    handle.set_next_number(request["number"])
                    text = request["text"].encode("utf-8", "surrogateescape")
                    if given is not None:
                        given.begin(request["read"].encode("utf-8", "surrogateescape") if do == "replay" else None)
                    try:
                        if do == "run":
                            # A process that the cell forks shares the connection: it would answer in this one's place.
                            with forks.ended(), NoCompile() if request.get("no_compile") else nullcontext():
                                result = _result(handle.run(text))
                        else:
                            with forks.ended(), _Replayed():
                                result = _result(handle.run(text))
                                if output is not None:
                                    output.flush()
                    finally:
                        read = given.end() if given is not None else b""
                    result["read"] = read.decode("utf-8", "surrogateescape")
                elif do == "set_options":
                    result = handle.set_options(compile_options(request["options"]))
                elif do in ("source", "shown_source"):
                    result = getattr(handle, do)()
                elif do == "complete":
                    result = _result(handle.complete(request["text"].encode("utf-8", "surrogateescape"), request["offset"]))
                elif do == "stats":
                    result = _result(_tarsia.stats())
                else:
                    result = _result(getattr(handle, do)())
                answer = {"result": result}
            except KeyboardInterrupt:
                if do in ("run", "replay"):
                    answer = {"result": _interrupted(request, place)}
                else:
                    answer = {"raised": "Interrupted", "message": "interrupted"}
            except Exception as error:
                answer = {"raised": type(error).__name__, "message": str(error)}
            _Interrupts.ends = False
            if output is not None:
                output.flush()
            try:
                connection.sendall(json.dumps(answer).encode() + b"\n")
            except OSError:  # the session has ended, and waits for no answer
                return


def _interrupted(request, place):
    number = request.get("number", 0)
    diagnostics = [] if place is None else places.read(place, "interrupted")
    return {"ok": False, "number": number, "value": None, "stdout": "", "diagnostics": diagnostics, "undone": [],
            "notes": [], "lost_gpu": False, "compile_ms": 0.0, "run_ms": 0.0, "origin": None,
            "error": "interrupted" if diagnostics else f"cell {number} was interrupted", "error_class": "Interrupted"}


def _end_with_parent(descriptor):
    """Ends this process if the parent is gone and the cell that runs goes on and on. Nobody would read its result."""
    waiting = select.poll()
    waiting.register(descriptor, select.POLLRDHUP)
    waiting.poll()
    time.sleep(_PATIENCE)
    os.kill(os.getpid(), signal.SIGKILL)


def main():
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # what has come so far was for the process before this one
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    signal.signal(signal.SIGINT, _Interrupts.handle)
    _progress.wanted = lambda: False  # its line would stand amid what cells write
    _tarsia.report_crashes_to(int(sys.argv[2]))
    os.set_inheritable(int(sys.argv[2]), False)
    place = int(sys.argv[3])
    _tarsia.note_places_in(place)
    os.set_inheritable(place, False)
    os.set_inheritable(int(sys.argv[1]), False)
    threading.Thread(target=_end_with_parent, args=[int(sys.argv[1])], daemon=True).start()
    with socket.socket(fileno=int(sys.argv[1])) as connection:
        serve(connection, place)


if __name__ == "__main__":
    main()
