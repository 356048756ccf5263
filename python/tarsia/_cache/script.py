"""`tarsia pack SCRIPT.py -o PACK`: runs a script and records what it compiles."""

import os
import sys

from .. import _errors
from .packs import Recording


def main(words):
    """words: the pack, the architectures with commas between, the script and its arguments."""
    path, archs, *program = words
    recording = Recording(path)
    try:
        recording.start()
        _run(program, recording)
        recording.add_archs([arch for arch in archs.split(",") if arch])
        report = recording.stop()
    except _errors.Error as error:
        recording.cancel()
        sys.exit(f"tarsia: error: {error}")
    print(f"{report['modules']} modules are in {path}, {report['bytes']} bytes")
    sys.exit(1 if report["left_out"] else 0)


def _run(program, recording):
    from .._compile import script

    _tell_of_hard_exits(recording)
    try:
        script.run(program)
    except SystemExit as leaving:
        if leaving.code:
            recording.cancel()
            raise
    except BaseException:
        recording.cancel()
        raise


def _tell_of_hard_exits(recording):
    """os._exit() of the script would end the recording in silence. Forked children may end that way."""
    leave, own = os._exit, os.getpid()

    def told_exit(status):
        if os.getpid() == own:
            recording.cancel()
            print("tarsia: error: the script ended by os._exit(), so no pack was written: let it return, or leave by sys.exit()",
                  file=sys.stderr, flush=True)
            status = status or 1
        leave(status)

    os._exit = told_exit
