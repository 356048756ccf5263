"""Libraries of the user's: a module is the same wherever they lie, and what is found in their folders decides."""

import os
import shutil
import subprocess
import sys
import textwrap

import pytest

import tarsia

USES = 'extern "C" int tarsia_test_seven();\nint f() { return tarsia_test_seven() * 3; }'
RUN = textwrap.dedent("""
    import sys, tarsia
    lib = tarsia.load_inline(sys.argv[1], libraries=[sys.argv[2]], library_dirs=sys.argv[3:])
    print(lib.f(), lib.origin)
""")


def make(path, number=7):
    """A shared library whose one function returns the number. It has no soname."""
    path.parent.mkdir(parents=True, exist_ok=True)
    tarsia.compile(f'extern "C" int tarsia_test_seven() {{ return {number}; }}', path, exports=["tarsia_test_seven"], functions=[])
    return path


def run(*arguments, program=RUN, **variables):
    done = subprocess.run([sys.executable, "-c", program, *map(str, arguments)], capture_output=True, text=True, timeout=120,
                          env={**os.environ, **{name: str(value) for name, value in variables.items()}})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.split()


pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.fixture
def folders(tmp_path):
    """The same library in two places, as two users have it."""
    one = make(tmp_path / "ann/libtarsia_test_seven.so")
    two = tmp_path / "ben/venv/lib/libtarsia_test_seven.so"
    two.parent.mkdir(parents=True)
    shutil.copy(one, two)
    return one.parent, two.parent


@pytest.mark.parametrize("by_path", [False, True], ids=["by name", "by path"])
def test_places_share_the_module(folders, by_path):
    one, two = folders
    name = "tarsia_test_seven"

    def ask(folder):
        return (folder / f"lib{name}.so",) if by_path else (name, folder)
    assert run(USES, *ask(one)) == ["21", "compiled"]
    shutil.move(one, one.with_name("gone"))
    assert run(USES, *ask(two)) == ["21", "disk"]


def test_another_library_of_the_name_is_another_module(folders):
    one, two = folders
    assert run(USES, "tarsia_test_seven", one) == ["21", "compiled"]
    make(two / "libtarsia_test_seven.so", 8)
    assert run(USES, "tarsia_test_seven", two) == ["24", "compiled"]


def test_a_library_that_appears_in_an_earlier_folder_is_taken(folders, tmp_path):
    one, _ = folders
    first = tmp_path / "first"
    first.mkdir()
    assert run(USES, "tarsia_test_seven", first, one) == ["21", "compiled"]
    make(first / "libtarsia_test_seven.so", 9)
    assert run(USES, "tarsia_test_seven", first, one) == ["27", "compiled"]


def test_a_library_on_disk_names_the_folders(folders, tmp_path):
    one, _ = folders
    options = {"libraries": ["tarsia_test_seven"], "library_dirs": [one], "exports": ["f"]}
    compiled, exported = tmp_path / "compiled.so", tmp_path / "exported.so"
    tarsia.compile(USES, compiled, **options)
    tarsia.load_inline(USES, **options).export(exported)
    for path in (compiled, exported):
        assert bytes(one) in path.read_bytes()
        assert run(path, program="import sys, ctypes; print(ctypes.CDLL(sys.argv[1])._Z1fv())") == ["21"]
        assert run(path, program="import sys, tarsia; lib = tarsia.load(sys.argv[1]); print(lib.f(), lib.origin)") == ["21", "prebuilt"]


def test_folders_whose_names_are_too_long_for_a_library_on_disk(folders, tmp_path):
    one, _ = folders
    deep = tmp_path
    while len(str(deep)) < 3000:
        deep = deep / ("d" * 200)
    names = []
    for name in ("a", "b"):
        path = deep / name / f"libtarsia_test_{name}.so"
        path.parent.mkdir(parents=True)
        tarsia.compile(f'extern "C" int tarsia_test_{name}() {{ return 1; }}', tmp_path / "made.so", exports=[f"tarsia_test_{name}"], functions=[])
        shutil.copy(tmp_path / "made.so", path)
        names.append(path.parent)
    source = 'extern "C" int tarsia_test_a();\nextern "C" int tarsia_test_b();\nint f() { return tarsia_test_a() + tarsia_test_b(); }'
    options = {"libraries": ["tarsia_test_a", "tarsia_test_b"], "library_dirs": names}
    with pytest.raises(tarsia.Error, match="libraries in folders whose names have [0-9]+ bytes together, and may have 4095: put them into one folder"):
        tarsia.load_inline(source, **options)
    with pytest.raises(tarsia.Error, match="may have 4095"):
        tarsia.compile(source, tmp_path / "exported.so", **options)
    assert not (tmp_path / "exported.so").exists()


def test_a_cell_of_a_session_links_it(folders):
    one, _ = folders
    session = tarsia.Session(libraries=["tarsia_test_seven"], library_dirs=[one])
    cell = session.run(USES + "\nf()")
    assert cell.ok and cell.value == "21", cell


def test_a_library_that_lacks_what_it_needs_says_what(tmp_path):
    """It is there, and the dynamic linker does not take it: the message is about it, and not about the module."""
    inner = make(tmp_path / "inner/libtarsia_test_seven.so")
    outer = tmp_path / "outer/libtarsia_test_outer.so"
    outer.parent.mkdir()
    tarsia.compile('extern "C" int tarsia_test_seven();\nextern "C" int tarsia_test_outer() { return tarsia_test_seven(); }', outer,
                   libraries=["tarsia_test_seven"], library_dirs=[inner.parent], exports=["tarsia_test_outer"], functions=[])
    source = 'extern "C" int tarsia_test_outer();\nint f() { return tarsia_test_outer(); }'
    options = {"libraries": ["tarsia_test_outer"], "library_dirs": [outer.parent]}
    assert tarsia.load_inline(source, **options).f() == 7
    inner.unlink()
    program = textwrap.dedent("""
        import sys, tarsia
        try:
            tarsia.load_inline(sys.argv[1], libraries=["tarsia_test_outer"], library_dirs=[sys.argv[2]])
        except tarsia.LoadError as error:
            print(error)
    """)
    assert "libtarsia_test_seven.so," in run(source, outer.parent, program=program)
