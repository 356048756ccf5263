"""The child of an isolated session: python -m tarsia._session.child DESCRIPTOR. See isolated.py."""

import json
import os
import socket
import sys

from tarsia import _tarsia
from tarsia._session.session import compile_options


class _Replayed:
    """While it lives, standard output goes nowhere."""

    def __enter__(self):
        self._kept = os.dup(1)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)

    def __exit__(self, *error):
        os.dup2(self._kept, 1)
        os.close(self._kept)


def serve(connection):
    handle = None
    with connection.makefile("rb") as lines:
        for line in _uninterrupted(lines):
            request = json.loads(line)
            do = request["do"]
            try:
                if do == "open":
                    handle, result = _tarsia.SessionHandle(compile_options(request["options"]), request["keep_output"]), None
                elif do in ("run", "replay"):
                    handle.set_next_number(request["number"])
                    text = request["text"].encode("utf-8", "surrogateescape")
                    if do == "run":
                        result = json.loads(handle.run(text))
                    else:
                        with _Replayed():
                            result = json.loads(handle.run(text))
                elif do == "set_options":
                    result = handle.set_options(compile_options(request["options"]))
                elif do == "source":
                    result = handle.source()
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
            "notes": [], "compile_ms": 0.0, "run_ms": 0.0, "origin": None, "error": "interrupted", "error_class": "Interrupted"}


def main():
    with socket.socket(fileno=int(sys.argv[1])) as connection:
        serve(connection)


if __name__ == "__main__":
    main()
