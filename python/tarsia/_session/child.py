"""The child of an isolated session: python -m tarsia._session.child DESCRIPTOR. See isolated.py."""

import json
import os
import select
import signal
import socket
import sys
import threading
import time

from tarsia import _tarsia
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


class _Replayed:
    """While it lives, standard output and standard error go nowhere."""

    def __enter__(self):
        self._kept = [os.dup(1), os.dup(2)]
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for number in (1, 2):
            os.dup2(nowhere, number)
        os.close(nowhere)

    def __exit__(self, *error):
        for number, kept in enumerate(self._kept, 1):
            os.dup2(kept, number)
            os.close(kept)


def serve(connection):
    handle = output = None
    with connection.makefile("rb") as lines:
        for line in _uninterrupted(lines):
            request = json.loads(line)
            do = request["do"]
            try:
                if do == "open":
                    handle, result = _tarsia.SessionHandle(compile_options(request["options"]), request["keep_output"]), None
                    output = None if request["keep_output"] else _Output()
                elif do in ("run", "replay"):
                    handle.set_next_number(request["number"])
                    text = request["text"].encode("utf-8", "surrogateescape")
                    if do == "run":
                        result = json.loads(handle.run(text))
                    else:
                        with _Replayed():
                            result = json.loads(handle.run(text))
                            if output is not None:
                                output.flush()
                elif do == "set_options":
                    result = handle.set_options(compile_options(request["options"]))
                elif do in ("source", "shown_source"):
                    result = getattr(handle, do)()
                elif do == "complete":
                    result = json.loads(handle.complete(request["text"].encode("utf-8", "surrogateescape"), request["offset"]))
                elif do == "statistics":
                    result = json.loads(_tarsia.statistics())
                else:
                    result = json.loads(getattr(handle, do)())
                answer = {"result": result}
            except KeyboardInterrupt:
                answer = {"result": _interrupted(request)}
            except Exception as error:
                answer = {"raised": type(error).__name__, "message": str(error)}
            if output is not None:
                output.flush()
            connection.sendall(json.dumps(answer).encode() + b"\n")


def _uninterrupted(lines):
    """The lines. Ctrl-C between two of them is not for this process."""
    while True:
        try:
            line = lines.readline()
        except KeyboardInterrupt:
            continue
        if not line:
            return
        yield line


def _interrupted(request):
    return {"ok": False, "number": request.get("number", 0), "value": None, "stdout": "", "diagnostics": [], "undone": [],
            "notes": [], "lost_gpu": False, "compile_ms": 0.0, "run_ms": 0.0, "origin": None, "error": "interrupted", "error_class": "Interrupted"}


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
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=_end_with_parent, args=[int(sys.argv[1])], daemon=True).start()
    with socket.socket(fileno=int(sys.argv[1])) as connection:
        serve(connection)


if __name__ == "__main__":
    main()
