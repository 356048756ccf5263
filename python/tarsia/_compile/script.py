"""Runs a program as `python -m tarsia SCRIPT`, `-m MODULE` or `-c CODE`: like `python`, and it starts again with a sanitizer's
run-time library as soon as it loads code that is compiled for one."""

import os
import sys

_AGAIN = "TARSIA_STARTED_AGAIN"
_RUNS = "TARSIA_RUNS_SCRIPT"  # libtarsia reads it, in the processes that the script starts (base/machine/sanitizer.cpp)
_running_in = None  # the process that runs a program


def is_program(arguments):
    """Whether the words are a Python program and its arguments, not those of the command `tarsia`: a script, with `.py` or
    without, `-m MODULE`, or `-c CODE`."""
    first = arguments[0]
    if first in ("-m", "-c") or first.endswith(".py"):
        return True
    if first.startswith("-") or not os.path.isfile(first):
        return False
    with open(first, "rb") as file:
        line = file.readline(200)
    if line.startswith(b"#!"):
        return b"python" in line
    return not os.path.splitext(first)[1] and first not in _COMMANDS


_COMMANDS = ("run", "compile", "pack", "check", "sanitize", "show", "bench", "new", "doctor")


def run(arguments):
    """arguments: the script, `-m` and a module or `-c` and code, and behind it the program's arguments."""
    global _running_in
    import runpy

    first = arguments[0]
    if first in ("-m", "-c"):
        if len(arguments) < 2:
            sys.exit(f"tarsia: {first} lacks the {'module' if first == '-m' else 'code'} behind it")
        _running_in = _begin()
        sys.path[0] = os.getcwd() if first == "-m" else ""
        if first == "-m":
            sys.argv = arguments[1:]
            return runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        sys.argv = ["-c", *arguments[2:]]
        main = sys.modules["__main__"]
        names = {"__name__": "__main__", "__builtins__": __builtins__}
        main.__dict__.clear()
        main.__dict__.update(names)
        exec(compile(arguments[1], "<string>", "exec"), main.__dict__)
        return None
    if not os.path.exists(first):
        sys.exit(f"tarsia: there is no file {first}")
    _running_in = _begin()
    sys.argv = arguments
    sys.path[0] = os.path.dirname(os.path.abspath(first))
    runpy.run_path(first, run_name="__main__")
    return None


def _begin():
    os.environ[_RUNS] = "1"
    return os.getpid()


def provide(options):
    """Starts the process again if the options of a compile ask for a sanitizer that it lacks, and the script is run by
    `python -m tarsia`. In other processes load_inline will refuse."""
    if _running_in != os.getpid():  # a forked worker would run the whole script
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
