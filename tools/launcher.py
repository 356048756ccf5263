#!python
"""The command `tarsia`: runs the program of that name that lies in the installed package.

The package is found, not imported, so that the command starts without NumPy.
"""

import importlib.util
import os
import sys

package = importlib.util.find_spec("tarsia")
if package is None or not package.submodule_search_locations:
    sys.exit(f"tarsia: the package is not installed for {sys.executable}")
if sys.argv[1:2] == ["repl"]:  # programs of Python's
    from tarsia._session import repl

    sys.exit(repl.main(sys.argv[2:]))
if sys.argv[1:2] == ["jupyter"]:
    from tarsia._jupyter import command

    sys.exit(command.main(sys.argv[2:]))
program = os.path.join(package.submodule_search_locations[0], "bin", "tarsia")
try:
    os.execve(program, ["tarsia", *sys.argv[1:]], {**os.environ, "TARSIA_COMMAND_PYTHON": sys.executable or ""})
except OSError as error:
    sys.exit(f"tarsia: cannot run {program}: {error.strerror}; install Tarsia again")
