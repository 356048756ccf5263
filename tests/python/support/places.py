"""Where the package under test, its command and this repository lie."""

import pathlib

import tarsia

PACKAGE = pathlib.Path(tarsia.__file__).parent
# The command `tarsia`, in an installed package and in a build folder.
COMMANDS = [PACKAGE / "bin" / "tarsia", PACKAGE.parents[1] / "bin" / "tarsia"]
REPO = pathlib.Path(__file__).resolve().parents[3]


def command():
    """The path of the command `tarsia`."""
    found = next((str(place) for place in COMMANDS if place.exists()), None)
    assert found, f"the command is not among {COMMANDS}: build tarsia_command"
    return found


def include_dir():
    own = PACKAGE / "include"
    return own if own.is_dir() else REPO / "include"
