"""What tests of class operators share."""

import pathlib
import subprocess

import pytest

import tarsia

SRC = pathlib.Path(__file__).parent / "src"


@pytest.fixture
def build_class_op(tmp_path):
    """Builds a source of this folder with g++, as docs/coming_from/class_operators.md says, and loads it."""

    def build(name, *options):
        include = pathlib.Path(tarsia.__path__[0]) / "include"
        folders = [include, include / "tarsia/class_op", include / "tarsia/class_op/src/operator",
                   include / "tarsia/class_op/src/operator/nn", SRC]
        output = tmp_path / "class_op.so"
        subprocess.run(["g++", "-std=c++17", "-O1", "-shared", "-fPIC", *options, *(f"-I{one}" for one in folders),
                        str(SRC / name), "-o", str(output)], check=True)
        return tarsia.load(output)

    return build
