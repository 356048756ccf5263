"""The scripts that check and pack: each is run on a small tree of its own."""

import pathlib
import re
import shutil
import subprocess
import sys

import pytest
from places import REPO

SCRIPTS = REPO / "scripts"
CLANG_INCLUDE = pathlib.Path("/usr/lib/llvm-22/lib/clang/22/include")


def run(*command):
    return subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True)


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "scripts").mkdir()
    shutil.copy(SCRIPTS / "check-layers", tmp_path / "scripts")
    for name, text in {
        "include/tarsia/a.h": "#include <stddef.h>\n",
        "base/b.h": "#include <tarsia/a.h>\n",
        "cache/c.cpp": '#include "base/b.h"\n#include <vector>\n',
        "jit/compile.h": '#include "base/b.h"\n',
        "jit/worker/host/h.h": "",
        "jit/worker/w.h": '#include "jit/compile.h"\n#include <llvm/IR/Module.h>\n',
        "pipeline/p.cpp": '#include "cache/c.h"\n#include "jit/compile.h"\n',
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "cache/c.h").write_text("")
    return tmp_path


def test_layers_that_are_kept_pass(tree):
    result = run(tree / "scripts/check-layers")
    assert result.returncode == 0, result.stdout


def test_scripts_that_go_through_all_folders_ask_which_they_are(tree):
    folders = run(SCRIPTS / "check-layers", "--folders").stdout.split()
    assert {"base", "include", "session", "python"} <= set(folders) and not {"tests", "bench"} & set(folders)
    for folder in folders:
        assert (SCRIPTS.parent / folder).is_dir()
    for script in ("check-format", "check-tidy", "setup"):
        assert "check-layers --folders" in (SCRIPTS / script).read_text()


@pytest.mark.parametrize(
    "file, text",
    [
        ("base/wrong.cpp", '#include "cache/c.h"\n'),
        ("cache/wrong.cpp", '#include "jit/compile.h"\n'),
        ("jit/client/wrong.cpp", '#include "jit/worker/w.h"\n'),
        ("jit/wrong.h", "#include <clang/AST/Decl.h>\n"),
        ("jit/worker/device/wrong.h", "#include <clang/AST/Decl.h>\n"),
        ("jit/worker/source/wrong.h", '#include "jit/worker/host/h.h"\n'),
        ("pipeline/wrong.cpp", '#  include "jit/worker/w.h"\n'),
        ("python/wrong.cpp", '#include "base/b.h"\n'),
        ("include/tarsia/wrong.h", "#include <cuda_runtime.h>\n"),
        ("include/tarsia/wrong.h", '#include "base/b.h"\n'),
        ("base/wrong.cpp", '#include "../base/b.h"\n'),
    ],
)
def test_an_include_against_the_layers_is_told_with_its_line(tree, file, text):
    path = tree / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n" + text)
    result = run(tree / "scripts/check-layers")
    assert result.returncode == 1
    assert f"{file}:2: " in result.stdout


@pytest.mark.parametrize("folder", ["base", "jit/worker/host", "include/tarsia", "python/tarsia", "tests/python/call", "bench", "scripts", "tools"])
def test_a_folder_that_holds_too_many_sources_is_told(tree, folder):
    path = tree / folder
    path.mkdir(parents=True, exist_ok=True)
    held = sum(file.is_file() for file in path.iterdir())
    suffix = {"scripts": "", "base": ".h", "bench": ".cpp", "include/tarsia": ".h"}.get(folder, ".py")
    for i in range(30 - held):
        (path / f"file_{i:02}{suffix}").touch()
    (path / "notes.md").touch()
    (path / "room").mkdir()
    (path / "room" / f"file{suffix}").touch()
    result = run(tree / "scripts/check-layers")
    assert result.returncode == 0, result.stdout
    (path / f"one_more{suffix}").touch()
    result = run(tree / "scripts/check-layers")
    assert result.returncode == 1
    assert f"{folder}/: 31 source files, at most 30 may lie in one folder" in result.stdout


@pytest.mark.parametrize("file", ["cache/wrong.cpp", "jit/compile.cpp", "base/wrong.cpp"])
def test_rooms_of_base_are_open_to_those_above_it(tree, file):
    (tree / "base/cuda").mkdir()
    (tree / "base/cuda/parts.h").write_text('#include "base/b.h"\n')
    (tree / file).write_text('#include "base/cuda/parts.h"\n')
    result = run(tree / "scripts/check-layers")
    assert result.returncode == (1 if file.startswith("base/") else 0), result.stdout


def test_rooms_of_unit_tests_mirror_the_sources(tree):
    for file in ("base/test_b.cpp", "cache/test_c.cpp", "jit/stand_in/stand_in.cpp", "pipeline/test_p.cpp", "worker/test_w.cpp",
                 "worker/host/test_h.cpp"):
        (tree / "tests/unit" / file).parent.mkdir(parents=True, exist_ok=True)
        (tree / "tests/unit" / file).touch()
    result = run(tree / "scripts/check-layers")
    assert result.returncode == 0, result.stdout
    (tree / "tests/unit/jit/stand_in/test_w.cpp").touch()
    result = run(tree / "scripts/check-layers")
    assert result.returncode == 1 and "tests/unit/jit/stand_in/: it mirrors no source folder" in result.stdout


def test_rooms_of_sources_have_unit_tests(tree):
    (tree / "tests/unit/pipeline").mkdir(parents=True)
    (tree / "tests/unit/pipeline/test_p.cpp").touch()
    result = run(tree / "scripts/check-layers")
    assert result.returncode == 1
    assert re.findall(r"(\S+)/: no test lies in the room", result.stdout) == ["cache"]


def check_pythons(home, *arguments):
    environment = {"PATH": str(home / "bin"), "HOME": str(home)}
    return subprocess.run([sys.executable, SCRIPTS / "check-pythons", "--build", home / "build", "--work", home / "work", *arguments],
                          capture_output=True, text=True, env=environment)


@pytest.fixture
def home(tmp_path):
    """A machine with libtarsia and these Pythons: one that does not start, one without headers, one that lies."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "build").mkdir()
    (tmp_path / "build/libtarsia.so").touch()
    for version, script in {
        "3.11": "#!/bin/sh\nexit 127\n",
        "3.12": "#!/bin/sh\necho 3.12 False /nowhere/python3.12\n",
        "3.13": "#!/bin/sh\necho 3.9 True /nowhere/python3.9\n",
    }.items():
        python = tmp_path / f"bin/python{version}"
        python.write_text(script)
        python.chmod(0o755)
    return tmp_path


def test_pythons_that_cannot_build_are_named_with_the_reason(home):
    result = check_pythons(home)
    lines = dict(line.removeprefix("skipped ").split(": ", 1) for line in result.stdout.splitlines())
    assert lines["3.10"] == lines["3.11"] == lines["3.13"] == "no interpreter"
    assert lines["3.13t"] == lines["3.14t"] == "no interpreter"
    assert lines["3.12"].endswith("has no Python.h in /nowhere/python3.12: apt-get install python3.12-dev")
    assert result.returncode == 1 and "none of the supported Pythons" in result.stderr


def test_a_python_that_fails_fails_the_check(home):
    broken = home / ".pyenv/versions/3.10.1/bin/python3.10"
    broken.parent.mkdir(parents=True)
    broken.write_text('#!/bin/sh\n[ "$1" = -c ] && echo 3.10 True /usr/include || { echo out of order; exit 1; }\n')
    broken.chmod(0o755)
    result = check_pythons(home, "3.10", "3.11")
    assert result.returncode == 1
    assert result.stdout.startswith("FAILED 3.10: ") and "out of order" in result.stdout
    assert result.stdout.splitlines()[-1] == "skipped 3.11: no interpreter"


def test_a_free_threaded_python_is_a_python_of_its_own(home):
    folder = home / ".pyenv/versions/3.14.0t/bin"  # pyenv has both names there
    folder.mkdir(parents=True)
    for name in ("python3.14", "python3.14t"):
        (folder / name).write_text('#!/bin/sh\n[ "$1" = -c ] && echo 3.14t True /usr/include || { echo out of order; exit 1; }\n')
        (folder / name).chmod(0o755)
    result = check_pythons(home, "3.14", "3.14t")
    assert result.stdout.startswith("skipped 3.14: no interpreter\nFAILED 3.14t: ") and "out of order" in result.stdout
    assert "3.12, 3.13t or the like" in check_pythons(home, "3.14d").stderr


def report(path, cases):
    path.write_text(f"<testsuites><testsuite>{cases}</testsuite></testsuites>")
    return path


def test_counts_are_added_over_reports(tmp_path):
    first = report(
        tmp_path / "cpp.xml",
        '<testcase name="a"/><testcase name="b"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>'
        "<system-out>x.cpp:3: Skipped\nthis machine has no GPU\n</system-out></testcase>",
    )
    second = report(tmp_path / "python.xml", '<testcase name="c"/><testcase name="d"><skipped message="no PyTorch"/></testcase>')
    result = run(SCRIPTS / "count-tests", first, second)
    assert result.returncode == 0
    assert result.stdout.splitlines()[-1] == "2 passed, 0 failed, 2 skipped"
    assert "skipped 1: this machine has no GPU" in result.stdout


def test_the_reason_for_which_a_whole_file_is_skipped_is_read_from_its_text(tmp_path):
    text = "('tests/gpu/test_cupy.py', 9, &quot;Skipped: could not import 'cupy': No module named 'cupy'&quot;)"
    cases = f'<testcase name="a"/><testcase name="test_cupy"><skipped message="collection skipped">{text}</skipped></testcase>'
    result = run(SCRIPTS / "count-tests", report(tmp_path / "x.xml", cases))
    assert "skipped 1: could not import 'cupy': No module named 'cupy'" in result.stdout


def test_a_failure_is_named_and_fails_the_run(tmp_path):
    result = run(SCRIPTS / "count-tests", report(tmp_path / "x.xml", '<testcase name="a"/><testcase classname="k" name="broken"><failure/></testcase>'))
    assert result.returncode == 1
    assert "FAILED k broken" in result.stdout
    assert result.stdout.splitlines()[-1] == "1 passed, 1 failed, 0 skipped"


def test_what_failed_tests_said_is_printed(tmp_path):
    cases = ('<testcase name="a"/><testcase classname="k" name="broken"><failure message="bad">because</failure>'
             '<system-out>line 1\nline 2</system-out></testcase>')
    result = run(SCRIPTS / "count-tests", "--failures", report(tmp_path / "x.xml", cases))
    assert result.returncode == 0 and result.stdout.splitlines()[0].startswith("FAILED k broken (")
    assert [line.strip() for line in result.stdout.splitlines()[1:]] == ["bad", "because", "line 1", "line 2"]


def test_no_test_at_all_fails_the_run(tmp_path):
    assert run(SCRIPTS / "count-tests", report(tmp_path / "x.xml", "")).returncode == 1


SKIPS = (
    '<testcase name="ran"/>'
    '<testcase classname="gpu" name="launch"><skipped message="needs 2 GPUs, there is none"/></testcase>'
    '<testcase classname="torch" name="add"><skipped message="could not import \'torch\': No module named \'torch\'"/></testcase>'
)


@pytest.mark.parametrize(
    "allowed, reported",
    [
        (r"needs \d+ GPUs, there is none" + "\n# why\n\ncould not import 'torch'.*\n", None),
        (r"needs \d+ GPUs, there is none" + "\n", "could not import 'torch': No module named 'torch'\n    torch add"),
        ("could not import 'torch'.*\nneeds 2\n", "needs 2 GPUs, there is none\n    gpu launch"),  # the whole reason
        ("", "needs 2 GPUs"),
    ],
)
def test_a_skip_that_is_not_on_the_list_fails_the_run(tmp_path, allowed, reported):
    (tmp_path / "allowed.txt").write_text(allowed)
    result = run(SCRIPTS / "count-tests", "--allowed", tmp_path / "allowed.txt", report(tmp_path / "x.xml", SKIPS))
    assert result.returncode == (0 if reported is None else 1)
    assert ("NOT ALLOWED" in result.stdout) == (reported is not None)
    assert reported is None or reported in result.stdout
    assert result.stdout.splitlines()[-1] == "1 passed, 0 failed, 2 skipped"


def test_a_gtest_skips_by_what_it_said(tmp_path):
    (tmp_path / "allowed.txt").write_text("there is a GPU\n")
    case = (
        '<testcase name="b"/><testcase name="a"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>'
        "<system-out>x.cpp:3: Skipped\nthere is a GPU\n</system-out></testcase>"
    )
    assert run(SCRIPTS / "count-tests", "--allowed", tmp_path / "allowed.txt", report(tmp_path / "x.xml", case)).returncode == 0


def test_a_broken_line_of_the_list_is_told(tmp_path):
    (tmp_path / "allowed.txt").write_text("# why\n(\n")
    result = run(SCRIPTS / "count-tests", "--allowed", tmp_path / "allowed.txt", report(tmp_path / "x.xml", SKIPS))
    assert result.returncode == 1
    assert "allowed.txt:2: (" in result.stderr


def test_the_list_of_this_tree_allows_no_missing_framework(tmp_path):
    for module in ("torch", "jax", "scipy.sparse", "ml_dtypes", "numpy"):
        case = f'<testcase name="ran"/><testcase name="a"><skipped message="could not import \'{module}\': No module"/></testcase>'
        result = run(SCRIPTS / "count-tests", "--allowed", SCRIPTS.parent / "tests/allowed_skips.txt", report(tmp_path / "x.xml", case))
        assert result.returncode == 1, module


@pytest.mark.skipif(not CLANG_INCLUDE.exists(), reason="Clang's own headers are not installed")
def test_the_same_headers_give_the_same_pack(tmp_path):
    packs = []
    for name in ("one", "two"):
        include = tmp_path / name / "include"
        (include / "tarsia").mkdir(parents=True)
        (include / "tarsia/op.h").write_text("// op\n")
        result = run(SCRIPTS / "make-sysroot", "--output", tmp_path / name / "pack", "--include", include)
        assert result.returncode == 0, result.stderr
        packs.append((tmp_path / name / "pack").read_bytes())
    assert packs[0] == packs[1]
    assert b"/tarsia/include/tarsia/op.h\0" in packs[0]


def build_id(checkout, toolchain, source="int f();", flavour="Release"):
    """The build id of two sources, a generated file and a file of the toolchain."""
    build = checkout / "build"
    texts = {checkout / "base/a.h": "int a;", checkout / "jit/f.cpp": source, build / "headers.pack": "pack",
             toolchain / "version": "22"}
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    inputs, output = build / "inputs.txt", build / "id.h"
    inputs.write_text("\n".join(sorted(map(str, texts))) + "\n")
    subprocess.run(["cmake", f"-DINPUTS={inputs}", f"-DSOURCE_DIR={checkout}", f"-DBINARY_DIR={build}",
                    f"-DOUTPUT={output}", f"-DSALT={flavour}", "-P", REPO / "cmake/write_build_id.cmake"], check=True)
    return re.search(r'TARSIA_BUILD_ID "([0-9a-f]{64})"', output.read_text())[1]


def test_the_build_id_does_not_depend_on_where_the_checkout_lies(tmp_path):
    toolchain = tmp_path / "m"
    one = build_id(tmp_path / "a", toolchain)
    assert build_id(tmp_path / "z", toolchain) == one  # sorts behind the toolchain
    assert build_id(tmp_path / "z", toolchain, source="long f();") != one
    assert build_id(tmp_path / "z", toolchain, flavour="Debug") != one
