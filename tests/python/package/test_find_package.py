"""find_package(tarsia) in a CMake project."""

import re
import shutil
import subprocess

import places
import pytest

import tarsia

PROJECT = """
cmake_minimum_required(VERSION 3.20)
project(user CXX)
find_package(tarsia {version} REQUIRED)
message(STATUS "found tarsia ${{tarsia_VERSION}}")
add_executable(user user.cpp)
target_link_libraries(user PRIVATE tarsia::tarsia)
"""

PROGRAM = """
#include <tarsia/c_api.h>
#include <cstdio>
int main() { std::puts(tarsia_version()); }
"""


@pytest.fixture
def package(tmp_path):
    """The folder that tarsia_DIR names; of a build, its files as they are installed."""
    if (places.PACKAGE / "cmake").is_dir():
        return places.PACKAGE / "cmake"
    folder = tmp_path / "package"
    (folder / "cmake").mkdir(parents=True)
    for file in (places.PACKAGE.parents[1] / "generated").glob("tarsia-config*.cmake"):
        (folder / "cmake" / file.name).write_text(file.read_text())
    (folder / "libtarsia.so").symlink_to((places.PACKAGE / "libtarsia.so").resolve())
    (folder / "include").symlink_to(places.include_dir())
    return folder / "cmake"


def configure(folder, package, version):
    folder.mkdir()
    (folder / "CMakeLists.txt").write_text(PROJECT.format(version=version))
    (folder / "user.cpp").write_text(PROGRAM)
    return subprocess.run(["cmake", "-G", "Ninja", "-S", folder, "-B", folder / "build", f"-Dtarsia_DIR={package}"], capture_output=True, text=True)


def test_a_program_finds_it_by_version_and_runs(tmp_path, package):
    assert shutil.which("cmake")
    version = ".".join(tarsia.__version__.split(".")[:2])
    done = configure(tmp_path / "user", package, version)
    assert done.returncode == 0 and f"found tarsia {tarsia.__version__}" in done.stdout, done.stderr
    subprocess.run(["cmake", "--build", tmp_path / "user" / "build"], check=True, capture_output=True)
    done = subprocess.run([tmp_path / "user" / "build" / "user"], capture_output=True, text=True)
    assert done.stdout.strip() == tarsia.__version__


MAJOR, MINOR, PATCH = map(int, tarsia.__version__.split(".")[:3])
THIS, SERIES, NEXT, LATER = f"{MAJOR}.{MINOR}.{PATCH}", f"{MAJOR}.{MINOR}", f"{MAJOR}.{MINOR + 1}", f"{MAJOR}.{MINOR}.{PATCH + 1}"


@pytest.mark.parametrize("version", ["", f"{SERIES}...{NEXT}", f"{SERIES}...<{NEXT}", f"0.0...{THIS}", f"{SERIES}...{MAJOR + 1}.0",
                                     THIS, f"{THIS} EXACT"])
def test_versions_and_ranges_that_hold_it_are_taken(tmp_path, package, version):
    done = configure(tmp_path / "user", package, version)
    assert done.returncode == 0 and f"found tarsia {tarsia.__version__}" in done.stdout, done.stderr


@pytest.mark.parametrize("version", ["99.0", "0.0", LATER, f"{NEXT}...99.0", f"0.0...<{THIS}", f"{LATER}...{NEXT}", f"{LATER} EXACT"])
def test_another_version_is_refused(tmp_path, package, version):
    done = configure(tmp_path / "user", package, version)
    # CMake's words depend on its version.
    words = " ".join(done.stderr.split())
    assert done.returncode != 0 and re.search("not compatible with the version requested|compatible with requested version|exactly matches requested version", words), done.stderr
