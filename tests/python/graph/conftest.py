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
    """The ops of graph_ops.cpp. Processes that a test starts find the library's path in their environment."""
    path = build_library((FOLDER / "graph_ops.cpp").read_text())
    os.environ["TARSIA_TEST_GRAPH_OPS"] = str(path)
    return tarsia.load(path)
