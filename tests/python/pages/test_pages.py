"""The code of docs/ runs as it stands there."""

import pages
import pytest


def test_the_page_on_elementwise_ops_runs():
    assert pages.run("elementwise.md", False) == len(list(pages.blocks("elementwise.md"))) >= 2


def test_the_page_on_tensor_routines_runs():
    pages.run("math.md", False)


def test_the_page_on_graphs_runs_and_draws_its_picture(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert pages.run("graph.md", False) == len(list(pages.blocks("graph.md"))) >= 2
    assert (tmp_path / "graph.svg").read_text() == (pages.DOCS / "graph.svg").read_text()


def test_gradients_of_the_page_on_pytorch_run():
    torch = pytest.importorskip("torch")
    import tarsia
    import tarsia.torch

    n = 0
    for line, code, _ in pages.blocks("pytorch.md"):
        if "backward()" in code:
            variables = {"torch": torch, "tarsia": tarsia}
            exec(compile("\n" * (line - 1) + code, "pytorch.md", "exec"), variables)
            assert variables["x"].grad.shape == variables["x"].shape
            n += 1
    assert n >= 2
    for name in tarsia.torch.registered():
        tarsia.torch.unregister(name)


def test_blocks_that_load_what_they_need_run():
    np = pytest.importorskip("numpy")
    import tarsia

    n = 0
    for line, code, needs_gpu in pages.blocks("python.md"):
        if ("tarsia.load_inline(\"\"\"" in code or "define_op" in code) and not needs_gpu and "cuda" not in code:
            exec(compile("\n" * (line - 1) + code, "python.md", "exec"), {"np": np, "tarsia": tarsia, "x": np.ones(4, np.float32)})
            n += 1
    assert n >= 4
