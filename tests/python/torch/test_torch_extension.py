"""Sources that include PyTorch's headers, with tarsia.torch.options()."""

import gc
import os

import pytest

torch = pytest.importorskip("torch")

import tarsia  # noqa: E402
import tarsia.torch  # noqa: E402

SOURCE = r"""
#include <torch/extension.h>
at::Tensor scaled(const at::Tensor& x, double factor) {
  TORCH_CHECK(x.dim() > 0, "x is a number");
  return x * factor;
}
struct Registered { int number; };
TORCH_LIBRARY(tarsia_test_extension, m) { m.def("scaled(Tensor x, float factor) -> Tensor", &scaled); }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("scaled", &scaled, "x times factor", py::arg("x"), py::arg("factor") = 2.0);
  py::class_<Registered>(m, "Registered").def(py::init<>());
}
"""


def test_options_name_what_is_there():
    options = tarsia.torch.options()
    assert set(options) == {"include_dirs", "library_dirs", "libraries", "defines"}
    assert all(map(os.path.isdir, [*options["include_dirs"], *options["library_dirs"]]))
    assert options["defines"]["TORCH_EXTENSION_NAME"] == "extension"
    assert tarsia.torch.options("mine")["defines"]["TORCH_EXTENSION_NAME"] == "mine"


def test_an_extension_of_pytorch_is_compiled_and_imported():
    lib = tarsia.load_inline(SOURCE, opt=1, **tarsia.torch.options())
    module = lib.python_module()
    x = torch.arange(3.0, requires_grad=True)
    y = module.scaled(x, factor=4)
    y.sum().backward()
    assert y.tolist() == [0, 4, 8] and x.grad.tolist() == [4, 4, 4]
    assert torch.equal(torch.ops.tarsia_test_extension.scaled(x, 3.0), 3 * x)  # TORCH_LIBRARY ran
    with pytest.raises(RuntimeError, match="x is a number"):
        module.scaled(torch.tensor(1.0))


OPERATOR = r"""
#include <ATen/core/Tensor.h>
#include <torch/library.h>
static int64_t number(int64_t x) { return x + %d; }
TORCH_LIBRARY(tarsia_test_operator, m) { m.def("number(int x) -> int", &number); }
"""


def test_operators_stay_until_their_library_is_unloaded():
    options = {"opt": 0, **tarsia.torch.options()}
    tarsia.load_inline(OPERATOR % 1, **options)  # nobody holds it
    gc.collect()
    assert torch.ops.tarsia_test_operator.number(4) == 5
    with pytest.raises(tarsia.LoadError, match="a static initialiser threw: Only a single TORCH_LIBRARY can be used"):
        tarsia.load_inline(OPERATOR % 2, **options)
    lib = tarsia.load_inline(OPERATOR % 1, name="the_same", **options)  # the same code in memory
    lib.unload()
    del lib
    gc.collect()
    assert torch.ops.tarsia_test_operator.number(4) == 5
