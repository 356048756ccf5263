"""docs/cpp.md and the C++ examples: each block compiles, and prints what its comments say."""

import re
import shutil
import subprocess

import pytest
from places import PACKAGE, REPO

PAGE = (REPO / "docs" / "cpp.md").read_text()
BLOCKS = re.findall(r"^```cpp\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def build(command, folder):
    done = subprocess.run(f"package={PACKAGE}\n{command}", shell=True, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def printed(lines):
    """What the comments behind printf, and lines that are comments alone, say."""
    texts = []
    for line in lines:
        found = re.match(r" *// (.*)$", line) or re.search(r"printf\(.*;  // (.*)$", line)
        if found:
            texts.append(found.group(1))
    return texts


def test_the_blocks_of_the_page_print_what_they_say(tmp_path):
    head, end = BLOCKS[0].rstrip().rsplit("\n", 1)
    assert end == "}"
    # One program: each block is a scope in the one before.
    program = head + "\n" + "\n".join("{\n" + block for block in BLOCKS[1:]) + "}" * len(BLOCKS)
    (tmp_path / "page.cpp").write_text(program)
    build("g++ -std=c++20 -Wall -Wextra -Wno-missing-field-initializers -Werror page.cpp -I$package/include -L$package "
          "-ltarsia -Wl,-rpath,$package -o page", tmp_path)
    run = subprocess.run(["./page"], cwd=tmp_path, capture_output=True, text=True)
    expected = [text for block in BLOCKS for text in printed(block.splitlines())]
    assert run.returncode == 0, run.stderr
    assert [line.rstrip() for line in run.stdout.splitlines()] == expected


def test_the_page_names_the_command_of_the_example():
    shown = re.search(r"^    package=.*\n(    .*\n)*?    g\+\+ .*embed.cpp.*\n", PAGE, re.MULTILINE).group(0)
    assert shown.replace("    ", "//   ") in (REPO / "examples" / "embed.cpp").read_text()


def commands(name):
    """The commands in an example's first lines, but for the one that finds the package."""
    text = (REPO / "examples" / name).read_text()
    lines = [line.removeprefix("//   ") for line in text.splitlines() if line.startswith("//   ")]
    assert lines[0].startswith("package=$(.venv/bin/python")
    return "\n".join(lines[1:]).replace("examples/", f"{REPO}/examples/")


def test_embed_runs_by_its_command(tmp_path):
    build(f"{commands('embed.cpp')} > printed", tmp_path)
    text = (tmp_path / "printed").read_text()
    assert "norm(3, 4) = 5\nscale(3, 4) = 30, 40\nas it should: line 1, column " in text


def test_prebuilt_relu_runs_by_its_commands(tmp_path):
    if not shutil.which("nvcc"):
        pytest.skip("no nvcc on the path")
    build("set -e\n" + commands("prebuilt_relu.cpp") + " > printed", tmp_path)
    assert (tmp_path / "printed").read_text().endswith("alike\n")
