"""The public headers together: a program may include any of them, in any order."""

import subprocess

import pytest
from places import REPO

HEADERS = sorted(path.name for path in (REPO / "include" / "tarsia").glob("*.h"))


@pytest.mark.parametrize("order", ["sorted", "reversed", "op.h first", "tarsia.h first"])
def test_all_public_headers_compile_in_one_program(tmp_path, order):
    names = {"sorted": HEADERS, "reversed": HEADERS[::-1]}.get(order) or [order.split()[0], *HEADERS]
    assert len(HEADERS) > 20
    (tmp_path / "all.cpp").write_text("".join(f"#include <tarsia/{name}>\n" for name in names) + "int main() {}\n")
    done = subprocess.run(["g++", "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{REPO / 'include'}", "all.cpp"],
                          cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
