"""What tests of sessions share."""

import pathlib
import re
import subprocess

import pytest
import tarsia

FAKE = """
#include <stdlib.h>
static int number(const char* name) { return getenv(name) ? atoi(getenv(name)) : 0; }
int cuCtxGetCurrent(void** context) { *context = (void*)1; return 0; }
int cuEventCreate(void** event, unsigned flags) { *event = (void*)2; return flags; }
int cuEventElapsedTime(float* milliseconds, void* begin, void* end) { *milliseconds = 4000; return 0; }
int cuStreamQuery(void* stream) { return number("FAKE_QUERY"); }
int cuCtxSynchronize() { return number("FAKE_WAIT"); }
"""


@pytest.fixture
def session():
    return tarsia.Session()


@pytest.fixture(scope="module")
def fake_driver(tmp_path_factory):
    """The folder of a driver that a process finds by LD_LIBRARY_PATH. Its events are four seconds apart; FAKE_QUERY and FAKE_WAIT
    say how a query of a stream and a wait for the GPU end; all else that Tarsia asks for does nothing."""
    source = pathlib.Path(__file__).parents[3] / "base/cuda/cuda_driver.cpp"
    if not source.exists():
        pytest.skip("needs Tarsia's own sources")
    names = re.findall(r'need\("(\w+)"', source.read_text())
    folder = tmp_path_factory.mktemp("driver")
    folder.joinpath("driver.c").write_text(FAKE + "".join(f"int {name}() {{ return 0; }}\n" for name in names if f" {name}(" not in FAKE))
    subprocess.run(["gcc", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "driver.c", "-o", "libcuda.so.1"], cwd=folder, check=True)
    return folder
