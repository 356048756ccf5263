"""Runs a script as `python -m tarsia SCRIPT`: like `python SCRIPT`, and it starts again with a sanitizer's run-time library as
soon as the script loads code that is compiled for one."""

import os
import sys

_AGAIN = "TARSIA_STARTED_AGAIN"
_is_running = False


def run(arguments):
    """arguments: the script and its arguments."""
    global _is_running
    import runpy

    script = arguments[0]
    if not os.path.exists(script):
        sys.exit(f"tarsia: there is no file {script}")
    _is_running = True
    sys.argv = arguments
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    runpy.run_path(script, run_name="__main__")


def provide(options):
    """Starts the process again if the options of a compile ask for a sanitizer that it lacks, and the script is run by
    `python -m tarsia`. In other processes load_inline will refuse."""
    if not _is_running:
        return
    from .._tarsia import environment_for

    environment = environment_for(options)
    if not environment or os.environ.get(_AGAIN):
        return
    sys.stdout.flush()
    variables = dict(line.split("=", 1) for line in environment.splitlines())
    library = os.path.basename(variables["LD_PRELOAD"].partition(":")[0])
    print(f"tarsia: {sys.argv[0]} needs a sanitizer: starting it again with {library}", file=sys.stderr, flush=True)
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], {**os.environ, **variables, _AGAIN: "1"})
