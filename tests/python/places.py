"""Where the package under test and this repository lie."""

import pathlib

import tarsia

PACKAGE = pathlib.Path(tarsia.__file__).parent
REPO = pathlib.Path(__file__).resolve().parents[2]


def include_dir():
    own = PACKAGE / "include"
    return own if own.is_dir() else REPO / "include"
