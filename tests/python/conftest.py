"""Builds libraries with g++ for the tests, and finds the package under test."""

import hashlib
import os
import pathlib
import subprocess

import pytest
from places import include_dir

import tarsia

os.environ.pop("PYTHONUNBUFFERED", None)  # what tests start sees what users see: output that waits for its flush


@pytest.fixture(scope="session")
def build_library(tmp_path_factory):
    """Compiles a C++ text into a prebuilt library; gives its path."""
    folder = tmp_path_factory.mktemp("libraries")

    def build(text, *flags):
        key = hashlib.sha256("\0".join([text, *flags]).encode()).hexdigest()[:16]
        output = folder / f"lib{key}.so"
        if not output.exists():
            source = folder / f"{key}.cpp"
            source.write_text(text)
            command = ["g++", "-std=c++20", "-O1", "-shared", "-fPIC", f"-I{include_dir()}", str(source), "-o",
                       str(output), *flags]
            done = subprocess.run(command, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
        return output

    return build


@pytest.fixture(scope="session")
def load_text(build_library):
    """Compiles a C++ text with g++ and loads it."""
    return lambda text, *flags: tarsia.load(build_library(text, *flags))


@pytest.fixture(scope="session")
def lib(load_text):
    """The functions of functions.cpp beside this file."""
    return load_text((pathlib.Path(__file__).parent / "functions.cpp").read_text())


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """A cache in which no other test has made a module. Gives the folder that it lies in."""
    monkeypatch.setenv("TARSIA_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path
