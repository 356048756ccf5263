"""The programs of docs/third_party.md run as they stand there."""

import ast
import importlib.util
import pathlib
import re

import pages
import pytest


def gpu_is_there():
    torch = pytest.importorskip("torch")
    return torch.cuda.is_available()


NEEDS = {
    "apache-tvm-ffi": lambda: importlib.util.find_spec("tvm_ffi"),
    "Eigen's headers": lambda: pathlib.Path("/usr/include/eigen3/Eigen/Dense").exists(),
    "CUTLASS's headers": lambda: importlib.util.find_spec("cutlass_library"),
}
BLOCKS = list(pages.blocks("third_party.md"))


def needed(code):
    """What a program needs and a machine may lack."""
    for header, name in {"tvm/": "apache-tvm-ffi", "Eigen/": "Eigen's headers", "cutlass/": "CUTLASS's headers"}.items():
        if f"#include <{header}" in code:
            return name
    return None


@pytest.mark.parametrize("line, code", [block[:2] for block in BLOCKS],
                         ids=[re.search(r"#include <([\w/]+)", block[1]).group(1).replace("/", "-") for block in BLOCKS])
def test_the_programs_of_the_page_run(line, code):
    name = needed(code)
    if name and not NEEDS[name]():
        pytest.skip(f"needs {name}")
    if "import torch" in code:
        pytest.importorskip("torch")
    variables = {"__name__": "__main__"}
    for statement in ast.parse("\n" * (line - 1) + code).body:
        if 'device="cuda"' in ast.unparse(statement).replace("'", '"') and not gpu_is_there():
            pytest.skip("there is no GPU to call it on; the source was compiled")
        exec(compile(ast.Module([statement], []), "third_party.md", "exec"), variables)


def test_every_library_of_the_table_has_its_section_and_program():
    page = (pages.DOCS / "third_party.md").read_text()
    table = re.findall(r"^\| \[([^]]+)\]\(#([\w-]+)\)", page, re.M)
    assert len(table) == 6
    sections = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", page, re.M | re.S))
    for _, anchor in table:
        title, = (one for one in sections if one.lower().replace(" ", "-") == anchor)
        assert "```python" in sections[title] and "| limit | instead |" in sections[title], title
