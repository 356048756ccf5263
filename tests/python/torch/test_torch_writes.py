"""Functions, kernels and ops that write to tensors of PyTorch count their versions, as PyTorch's in-place operators do."""

import numpy as np
import pytest

import tarsia

torch = pytest.importorskip("torch")

SOURCE = """
#include <tarsia/op.h>
#include <vector>
void scale(float* x, int n, float k) { for (int i = 0; i < n; ++i) x[i] *= k; }
float sum(const float* x, int n) { float s = 0; for (int i = 0; i < n; ++i) s += x[i]; return s; }
void fill(tarsia::Tensor x, float value) { for (int64_t i = 0; i < x.numel(); ++i) x.data<float>()[i] = value; }
float first(const tarsia::Tensor& x) { return x.data<const float>()[0]; }
void fill_all(std::vector<tarsia::Tensor> xs, float value) { for (auto& x : xs) fill(x, value); }
float peek(tarsia::Tensor x) { return x.data<const float>()[0]; }
TARSIA_OP(w_running).input("x").mutable_input("mean").output("y").forward("cpu", [](tarsia::Context& c) {
  c.input(1).data<float>()[0] += c.input(0).data<const float>()[0];
  for (int64_t i = 0; i < c.output(0).numel(); ++i) c.output(0).data<float>()[i] = c.input(0).data<const float>()[i];
});
"""


@pytest.fixture(scope="module")
def lib():
    library = tarsia.load_inline(SOURCE)
    yield library
    library.unload()


def test_a_gradient_that_needs_the_old_elements_is_an_error(lib):
    w, x = torch.ones(3, requires_grad=True), torch.full((3,), 2.0)
    y = (w * x).sum()
    lib.scale(x, 3, 100)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()
    # What is only read may be needed.
    y = (w * x).sum()
    assert lib.sum(x, 3) == 600 and lib.first(x) == 200
    y.backward()
    assert w.grad.tolist() == [200] * 3


def version_after(tensor, call):
    before = tensor._version
    call()
    return tensor._version - before


def test_whatever_is_written_to_is_counted(lib):
    x, y = torch.zeros(4), torch.zeros(4)
    assert version_after(x, lambda: lib.scale(x, 4, 1)) == 1
    assert version_after(x, lambda: lib.scale(x[1:], 3, 1)) == 1  # views share their base's
    assert version_after(x, lambda: lib.fill(x, 1)) == 1
    assert version_after(y, lambda: lib.fill_all([x, y], 1)) == 1
    assert version_after(x, lambda: lib.sum(x, 4)) == 0
    assert version_after(x, lambda: lib.first(x)) == 0
    assert version_after(x, lambda: pytest.raises(TypeError, lib.scale, x, 4, "k")) == 0
    with torch.no_grad():
        assert version_after(x, lambda: lib.scale(x, 4, 1)) == 1


def test_ops_count_what_they_write_to(lib):
    x, mean, out = torch.ones(3), torch.zeros(3), torch.zeros(3)
    assert version_after(mean, lambda: tarsia.ops.w_running(x, mean)) == 1
    assert version_after(x, lambda: tarsia.ops.w_running(x, mean)) == 0
    assert version_after(out, lambda: tarsia.ops.w_running(x, mean, out=out)) == 1
    bound = tarsia.ops.w_running.bind(x, mean)
    assert version_after(mean, lambda: bound(x, mean)) == 1
    leaf = torch.zeros(3, requires_grad=True)
    with pytest.raises(tarsia.ArgumentValueError, match="w_running: writes to argument 2, a leaf that requires a gradient"):
        tarsia.ops.w_running(x, leaf)


def test_expressions_count_what_they_write_to():
    axpy = tarsia.elementwise("float a, T x", "inout T y", "y += a * x")
    x, y = torch.ones(5), torch.ones(5)
    assert version_after(y, lambda: axpy(2.0, x, y)) == 1
    assert version_after(x, lambda: axpy(2.0, x, y)) == 0


def test_a_leaf_that_requires_a_gradient_is_not_written_to(lib):
    leaf = torch.ones(3, requires_grad=True)
    for call in (lambda: lib.scale(leaf, 3, 2), lambda: lib.fill(leaf, 2), lambda: lib.fill_all([leaf], 2)):
        with pytest.raises(tarsia.ArgumentValueError, match="a leaf that requires a gradient; call it under torch.no_grad()"):
            call()
    assert leaf.tolist() == [1] * 3
    assert lib.sum(leaf, 3) == 3  # reading is fine
    with torch.no_grad():
        assert version_after(leaf, lambda: lib.scale(leaf, 3, 2)) == 1
    lib.scale(leaf.detach(), 3, 2)
    assert leaf.tolist() == [4] * 3
    parameter = torch.nn.Parameter(torch.ones(2))
    with pytest.raises(tarsia.ArgumentValueError, match="argument 1, a leaf"):
        lib.scale(parameter, 2, 2)
    follows = leaf * 1  # no leaf
    assert version_after(follows, lambda: lib.scale(follows, 3, 2)) == 1


def test_tensors_of_inference_mode_have_no_version(lib):
    with torch.inference_mode():
        x = torch.ones(3)
        lib.scale(x, 3, 2)
    lib.scale(x, 3, 2)
    assert x.tolist() == [4] * 3
    y = torch.ones(3)
    with torch.inference_mode():
        assert version_after(y, lambda: lib.scale(y, 3, 2)) == 1


def test_the_first_write_may_be_in_inference_mode():
    """In a process of its own, where nothing has been tried out."""
    import subprocess
    import sys

    program = (
        "import tarsia, torch\n"
        "lib = tarsia.load_inline('void one(float* x) { x[0] = 1; }')\n"
        "with torch.inference_mode():\n"
        "    lib.one(torch.zeros(1))\n"
        "x = torch.zeros(1)\n"
        "for n in range(1, 6):\n"
        "    lib.one(x)\n"
        "    assert x._version == n, x._version\n"
        "print('counted')\n")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert done.stdout == "counted\n", done.stderr


def test_operators_count_what_they_declare(lib):
    op = tarsia.torch.register(lib.peek, mutates=[], fake=lambda x: 0.0)
    x = torch.ones(2, requires_grad=True)
    assert op(x) == 1.0 and version_after(x, lambda: op(x)) == 0
    writes = tarsia.torch.register(lib.scale)
    y = torch.ones(2)
    assert version_after(y, lambda: writes(y, 2, 3.0)) >= 1
    tarsia.torch.unregister("peek")
    tarsia.torch.unregister("scale")


def test_other_frameworks_are_left_alone(lib):
    x = np.ones(3, np.float32)
    lib.scale(x, 3, 2)
    assert x.tolist() == [2] * 3
