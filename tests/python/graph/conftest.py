"""Loads the ops that the tests of graphs take, and lets the tests find graph_models.py beside this file."""

import os
import pathlib
import sys

import pytest

import tarsia

FOLDER = pathlib.Path(__file__).parent
sys.path.append(str(FOLDER))


@pytest.fixture(scope="session", autouse=True)
def graph_ops(build_library):
    """The ops of the sources beside this file. Processes that a test starts find the libraries in their environment."""
    paths = [build_library((FOLDER / name).read_text(), f"-I{FOLDER}", "-Wno-unused-function")
             for name in ("graph_ops.cpp", "graph_rare_ops.cpp")]
    os.environ["TARSIA_TEST_GRAPH_OPS"] = os.pathsep.join(map(str, paths))
    return [tarsia.load(path) for path in paths]
