"""The tutorial runs as it stands, and prints what it shows."""

import re

import pytest

import pages
import tarsia


def test_the_tutorial(capsys):
    torch = pytest.importorskip("torch")
    if not tarsia.doctor()["works"]["cuda"]:
        pytest.skip("CUDA code does not compile on this machine: see `tarsia doctor`")
    gpu = torch.cuda.is_available()
    assert pages.run("tutorial.md", gpu) == sum(gpu or not needs_gpu for _, _, needs_gpu in pages.blocks("tutorial.md")) >= 12
    printed = capsys.readouterr().out
    shown = re.findall(r"^```text\n(.*?)^```", (pages.DOCS / "tutorial.md").read_text(), re.M | re.S)
    assert len(shown) >= 7
    at = 0
    for line in "".join(shown).splitlines():  # in this order; a line of the message also names the file of the string
        assert line in printed[at:], line
        at = printed.index(line, at) + len(line)
    assert "error 0.2" in printed
