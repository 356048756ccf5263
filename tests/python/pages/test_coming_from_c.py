"""The files and programs of docs/coming_from/c_extensions.md, run as they stand there."""

import os
import re
import subprocess
import sys

import pages
import pytest

PAGE = "coming_from/c_extensions.md"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    text = (pages.DOCS / PAGE).read_text()
    for name, code in re.findall(r"```c\n(?=/\* (\S+) \*/\n)(.*?)```", text, re.S):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(code)
    for name, code in re.findall(r"```python\n(?=# (\w+\.py)\n)(.*?)```", text, re.S):
        (tmp_path / name).write_text(code)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_snippets_of_the_page_run(folder, capsys):
    torch = pytest.importorskip("torch")
    variables, said = {"__name__": "__main__"}, []
    for line, code, needs_gpu in pages.blocks(PAGE):
        if code.startswith(("# build.py", "# test.py")) or (needs_gpu and not torch.cuda.is_available()):
            continue
        exec(compile("\n" * (line - 1) + code, PAGE, "exec"), variables)
        said += re.findall(r"print\(.*?\)  # (.*)", code)
    assert capsys.readouterr().out.splitlines() == said


def test_the_scripts_of_the_page_run(folder):
    pytest.importorskip("torch")
    text = (pages.DOCS / PAGE).read_text()
    lines = re.search(r"```sh\n(.*?)```", text, re.S).group(1).splitlines()
    assert len(lines) == 2
    for line in lines:
        ran = subprocess.run([sys.executable, *line.split()[1:]], capture_output=True, text=True, cwd=folder,
                             env={**os.environ})
        assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip() == re.search(r"print\(y.data.*?\)  # (.*)", text).group(1)


def test_every_function_that_the_page_lists_is_declared():
    headers = "".join((pages.DOCS.parent / "include/tarsia/th" / name).read_text()
                      for name in ("tensor_functions.h", "value_functions.h", "cpu_functions.h", "cpu.h", "gpu.h", "general.h", "apply.h"))
    table = re.search(r"## What the headers have.*?\n\n\| \|.*?\n\n", (pages.DOCS / PAGE).read_text(), re.S).group(0)
    for row in table.splitlines():
        if row.startswith("| ") and "`" in row:
            for name in re.findall(r"`(\w+)`", row):
                if name.startswith("_"):
                    assert re.search(rf", {name[1:]}, \(|_{name[1:]}\(", headers), name
                elif name.startswith("TH"):
                    assert name in headers, name
