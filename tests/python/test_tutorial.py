"""The tutorial runs as it stands."""

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
    assert "kernel shrink: argument 'x' (1 of 4) must be a float32 tensor" in printed
    assert "[-0.5  -0.25 -0.   -0.    0.    0.    0.    0.25  0.5 ]" in printed
    assert "use of undeclared identifier 'threshold'" in printed
    assert "op 'soft_threshold', inference: t needs one threshold for each channel" in printed
    assert "error 0.2" in printed
