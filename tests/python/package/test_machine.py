"""What depends on the machine and on how Tarsia lies on it."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import tarsia

PACKAGE = pathlib.Path(tarsia.__file__).parent
LIBRARY = (PACKAGE / "libtarsia.so").resolve()
BESIDE = ["tarsia-compiler", "tarsia-sysroot.pack", "tarsia-preludes.pack"]
SOURCE = r"""
#include <string>
#include <vector>
int length(const std::string& text) { return int(text.size()); }
"""
PROGRAM = """
import json, sys, tarsia
lib = tarsia.load_inline(sys.argv[1])
print(json.dumps([lib.origin, lib.length("abc"), [step for step, _ in tarsia.stats()["last_compile"]]]))
"""

if not all((LIBRARY.parent / name).exists() for name in BESIDE):
    pytest.skip("this libtarsia has no compiler beside it", allow_module_level=True)


def first_compile(tmp_path, **env):
    done = subprocess.run([sys.executable, "-c", PROGRAM, SOURCE], capture_output=True, text=True, timeout=300,
                          env={**os.environ, "TARSIA_CACHE_DIR": str(tmp_path / "cache"), **env})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_first_compile_takes_a_shipped_prelude(tmp_path):
    origin, length, steps = first_compile(tmp_path)
    assert (origin, length) == ("compiled", 3)
    assert "prelude shipped" in steps
    assert not list((tmp_path / "cache").rglob("prelude/*/*"))


@pytest.fixture
def copied_package(tmp_path):
    """The package with all that lies beside its library, in a place where files may be damaged."""
    place = tmp_path / "place" / "tarsia"
    place.mkdir(parents=True)
    for file in [*PACKAGE.iterdir(), *(LIBRARY.parent / name for name in BESIDE)]:
        target = place / file.name
        if file.suffix in (".py", ".so"):
            shutil.copy(file, target)
        elif (file.name in BESIDE or file.is_dir()) and not target.exists():
            target.symlink_to(file)
    return place


@pytest.mark.parametrize("harm", ["damaged", "cut off", "missing"])
def test_a_harmed_pack_of_preludes_costs_time_and_no_compile(tmp_path, copied_package, harm):
    pack = copied_package / "tarsia-preludes.pack"
    content = bytearray(pack.read_bytes())
    pack.unlink()  # the link
    if harm == "damaged":
        for at in range(100_000, len(content), 4096):
            content[at] ^= 1
        pack.write_bytes(content)
    elif harm == "cut off":
        pack.write_bytes(content[: len(content) // 100])
    origin, length, steps = first_compile(tmp_path, PYTHONPATH=str(copied_package.parent))
    assert (origin, length) == ("compiled", 3)
    assert "prelude made" in steps and "prelude shipped" not in steps
