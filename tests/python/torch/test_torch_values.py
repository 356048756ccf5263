"""Functions that take and return PyTorch's own types: at::Tensor, lists and optionals of it, Scalar, ArrayRef."""

import c_face
import numpy as np
import pytest

torch = pytest.importorskip("torch")

import tarsia  # noqa: E402
import tarsia.torch  # noqa: E402

SOURCE = r"""
#include <ATen/core/Tensor.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>

#include <optional>
#include <tuple>
#include <vector>

at::Tensor scaled(const at::Tensor& x, double factor = 2) {
  TORCH_CHECK(x.dim() > 0, "x is a number");
  return x * factor;
}
at::Tensor same(at::Tensor x) { return x; }
at::Tensor& add_one_(at::Tensor& x) { return x.add_(1); }
void fill(at::Tensor x, const at::Scalar& value) { x.fill_(value); }
at::Scalar doubled(const at::Scalar& value) {
  if (value.isBoolean()) return at::Scalar(!value.toBool());
  if (value.isFloatingPoint()) return at::Scalar(2 * value.toDouble());
  return at::Scalar(2 * value.toLong());
}
std::vector<at::Tensor> parts(const at::Tensor& x) { return {x[0], x[1]}; }
std::tuple<at::Tensor, int64_t> with_size(const at::Tensor& x) { return {x, x.numel()}; }
at::Tensor stacked(at::TensorList list) { return at::stack(list); }
int64_t count(const std::vector<at::Tensor>& list) { return int64_t(list.size()); }
at::Tensor maybe(const std::optional<at::Tensor>& x) { return x ? *x : at::Tensor(); }
at::Tensor made(at::IntArrayRef shape, at::OptionalIntArrayRef then = std::nullopt) {
  return at::zeros(then ? *then : shape);
}
double total(std::optional<at::ArrayRef<double>> items) {
  double sum = items ? 0 : -1;
  if (items)
    for (double item : *items) sum += item;
  return sum;
}
bool any(at::ArrayRef<bool> items) {
  for (bool item : items)
    if (item) return true;
  return false;
}
int64_t use_count(const at::Tensor& x) { return x.use_count(); }
void index_error(const at::Tensor& x) { TORCH_CHECK_INDEX(false, "no such row"); }
int64_t count_of(const at::Tensor& x) { return x.numel(); }
at::IntArrayRef sizes(const at::Tensor& x) { return x.sizes(); }
"""


@pytest.fixture(scope="module")
def lib():
    return tarsia.load_inline(SOURCE, opt=0, **tarsia.torch.options())


def test_gradients_flow_through_functions(lib):
    x = torch.arange(3.0, requires_grad=True)
    y = lib.scaled(x, factor=4)
    y.sum().backward()
    assert y.tolist() == [0, 4, 8] and x.grad.tolist() == [4, 4, 4]
    assert lib.scaled(torch.ones(2)).tolist() == [2, 2]


def test_a_tensor_that_comes_back_is_the_same_object(lib):
    x, parameter = torch.ones(3), torch.nn.Parameter(torch.ones(2))
    assert lib.same(x) is x
    assert lib.same(parameter) is parameter
    assert lib.maybe(x) is x and lib.maybe(None) is None
    tensor, size = lib.with_size(x)
    assert tensor is x and size == 3


def test_writes_count_as_versions(lib):
    x = torch.ones(3, requires_grad=True)
    z = x * 1
    y = (z * z).sum()
    before = z._version
    assert lib.add_one_(z) is z
    assert z._version == before + 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()
    with pytest.raises(tarsia.Error, match="a leaf Variable that requires grad"):
        lib.add_one_(x)


def test_lists_and_array_references(lib):
    x = torch.arange(6.0).reshape(2, 3)
    assert [part.tolist() for part in lib.parts(x)] == [[0, 1, 2], [3, 4, 5]]
    assert torch.equal(lib.stacked([x[0], x[1]]), x)
    assert torch.equal(lib.stacked((x[0], x[1])), x)
    assert lib.count([]) == 0 and lib.count([x, x]) == 2
    assert lib.made([2, 3]).shape == (2, 3) and lib.made((1,), [4]).shape == (4,)
    assert lib.made([2], None).shape == (2,)
    assert lib.total([1, 2.5]) == 3.5 and lib.total(None) == -1
    assert lib.any([False, True]) and not lib.any([])


def test_scalars_keep_their_kind(lib):
    assert [(type(one), one) for one in map(lib.doubled, (3, 1.5, True, np.int32(4)))] == \
        [(int, 6), (float, 3.0), (bool, False), (int, 8)]
    x = torch.zeros(2, dtype=torch.int64)
    lib.fill(x, 7)
    assert x.tolist() == [7, 7]
    with pytest.raises(TypeError, match=r"'value' \(2 of 2\) must be a number \(.*\), got str"):
        lib.fill(x, "7")


def test_references_are_given_back(lib):
    x = torch.ones(3)
    before = lib.use_count(x)
    for _ in range(10):
        lib.same(x), lib.scaled(x), lib.parts(torch.ones(2, 2)), lib.count([x, x]), lib.maybe(x)
        with pytest.raises(TypeError):
            lib.stacked([x, 3])
    assert lib.use_count(x) == before


def test_other_arguments_are_refused(lib):
    with pytest.raises(TypeError, match=r"scaled: argument 'x' \(1 of 2\) must be a torch\.Tensor, got numpy\.ndarray"):
        lib.scaled(np.ones(3))
    with pytest.raises(TypeError, match=r"must be a torch\.Tensor, got None"):
        lib.scaled(None)
    with pytest.raises(TypeError, match=r"item 1 must be a torch\.Tensor, got int"):
        lib.stacked([torch.ones(1), 3])
    with pytest.raises(TypeError, match="must be a list"):
        lib.stacked(torch.ones(2, 2))


def test_errors_of_pytorch_are_those_of_its_classes(lib):
    with pytest.raises(tarsia.Error, match="x is a number") as error:
        lib.scaled(torch.tensor(1.0))
    assert isinstance(error.value, RuntimeError) and "Exception raised from" not in str(error.value)
    with pytest.raises(IndexError, match="no such row"):
        lib.index_error(torch.ones(1))


def test_what_owns_nothing_is_not_returned(lib):
    assert "sizes" not in lib.functions
    with pytest.raises(AttributeError, match="sizes.*owns nothing; return a std::vector"):
        lib.sizes


def test_functions_become_operators(lib):
    scaled = tarsia.torch.register(lib.scaled, name="values_scaled")
    x = torch.arange(3.0)
    assert torch.equal(scaled(x, 3.0), 3 * x)
    assert "Tensor x, float? factor=None" in str(scaled.default._schema) or "Tensor x" in str(scaled.default._schema)


def test_results_outlive_their_library():
    source = r"""
#include <ATen/core/Tensor.h>
#include <ATen/TensorOperators.h>
at::Tensor plus(const at::Tensor& x) { return x + 1; }
"""
    lib = tarsia.load_inline(source, opt=0, **tarsia.torch.options())
    y = lib.plus(torch.ones(2, requires_grad=True))
    lib.unload()
    del lib
    y.sum().backward()
    assert y.tolist() == [2, 2]


def test_other_languages_are_told_that_only_python_passes_tensors(lib, tmp_path):
    lib.export(tmp_path / "values.so")
    other = c_face.Library(tmp_path / "values.so")
    with pytest.raises(c_face.CallFailed, match=r"'x' \(1 of 1\) is a torch\.Tensor itself, which only Python can pass"):
        other.call("count_of", 3)
    with pytest.raises(c_face.CallFailed, match=r"made\(\) returns PyTorch's own tensors, which only Python can take"):
        other.call("made", [2])
    assert other.call("doubled", 3) == 6 and other.call("doubled", 1.5) == 3.0
    other.close()


def test_types_of_pytorch_need_the_header_of_its_tensor():
    source = "#include <c10/core/Scalar.h>\ndouble as_double(const c10::Scalar& x) { return x.toDouble(); }\nint one() { return 1; }\n"
    lib = tarsia.load_inline(source, opt=0, **tarsia.torch.options())
    with pytest.raises(AttributeError, match="as_double.*is taken where the source includes <ATen/core/Tensor.h>"):
        lib.as_double
