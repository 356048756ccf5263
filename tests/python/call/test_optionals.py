"""Optionals: within results, and read-only ones among the parameters."""

import numpy as np
import pytest

import tarsia

SOURCE = r"""
#include <tarsia/op.h>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

typedef std::optional<tarsia::Tensor> Maybe;

static tarsia::Tensor filled(const tarsia::Tensor& like, float value) {
  tarsia::Tensor y = tarsia::empty_like(like);
  for (long i = 0; i < y.numel(); i++) y.data<float>()[i] = value;
  return y;
}
std::tuple<tarsia::Tensor, Maybe> two(const tarsia::Tensor& x, bool both) {
  if (both) return {filled(x, 1), filled(x, 2)};
  return {filled(x, 1), std::nullopt};
}
std::pair<std::optional<long>, std::optional<std::vector<float>>> numbers(bool both) {
  if (both) return {7, std::vector<float>{1, 2}};
  return {std::nullopt, std::nullopt};
}
std::vector<std::optional<double>> list() { return {1.5, std::nullopt, 2.5}; }
Maybe alone(bool given) {
  if (!given) return std::nullopt;
  tarsia::Tensor y = tarsia::empty({2}, tarsia::dtype<float>(), tarsia::cpu_device());
  y.data<float>()[0] = 3, y.data<float>()[1] = 4;
  return y;
}

float sum(const Maybe& x) { return x ? x->data<const float>()[0] : -1; }
float sum_of(const std::vector<tarsia::Tensor>& xs) {
  float total = 0;
  for (const tarsia::Tensor& x : xs) total += x.data<const float>()[0];
  return total;
}
float sum_written(Maybe x, std::vector<tarsia::Tensor> xs) { return sum(x) + sum_of(xs); }
float sum_lists(const std::optional<std::vector<tarsia::Tensor>>& xs) { return xs ? sum_of(*xs) : -1; }
"""
NAMES = ("two", "numbers", "list", "alone", "sum", "sum_of", "sum_written", "sum_lists")


@pytest.fixture(scope="module", params=["inline", "prebuilt"])
def lib(request):
    if request.param == "inline":
        return tarsia.load_inline(SOURCE)
    build = request.getfixturevalue("load_text")
    return build(SOURCE + "".join(f"TARSIA_EXPORT({name});\n" for name in NAMES))


def read_only(value):
    x = np.full(2, value, np.float32)
    x.flags.writeable = False
    return x


def test_optionals_within_results(lib):
    x = np.zeros(2, np.float32)
    first, second = lib.two(x, True)
    assert first.tolist() == [1, 1] and second.tolist() == [2, 2]
    first, second = lib.two(x, False)
    assert first.tolist() == [1, 1] and second is None
    assert lib.numbers(True) == (7, [1, 2]) and lib.numbers(False) == (None, None)
    assert lib.list() == [1.5, None, 2.5]
    assert lib.alone(False) is None and lib.alone(True).tolist() == [3, 4]


def test_what_is_taken_by_const_reference_is_read_only(lib):
    x, y = read_only(1), read_only(2)
    assert lib.sum(x) == 1 and lib.sum(None) == -1
    assert lib.sum_of([x, y]) == 3
    assert lib.sum_lists([x, y]) == 3 and lib.sum_lists(None) == -1
    writable = np.ones(2, np.float32)
    assert lib.sum_written(writable, [writable]) == 2
    for args in ((x, [writable]), (writable, [x])):
        with pytest.raises(ValueError, match="read-only"):
            lib.sum_written(*args)


def test_in_schemas_of_torch():
    torch = pytest.importorskip("torch")
    import tarsia.torch

    lib = tarsia.load_inline(SOURCE)
    schemas = {}
    for name in NAMES:
        operator = tarsia.torch.register(lib[name], f"optionals::{name}")
        schemas[name] = str(operator.default._schema).partition("::")[2]
    assert schemas["two"] == "two(Tensor x, bool both) -> (Tensor, Tensor?)"
    assert schemas["sum"] == "sum(Tensor? x) -> float" and schemas["sum_of"] == "sum_of(Tensor[] xs) -> float"
    assert schemas["sum_written"] == "sum_written(Tensor(a0!)? x, Tensor(a1!)[] xs) -> float"
    ops, x = torch.ops.optionals, torch.ones(2)
    version = x._version
    assert ops.two(x, False)[1] is None and ops.two(x, True)[1].tolist() == [2, 2]
    assert ops.sum(x) == 1 and ops.sum_of([x, x]) == 2 and x._version == version
    assert ops.alone(False) is None and ops.alone(True).tolist() == [3, 4]  # a tensor of PyTorch though none went in
    for name in NAMES:
        tarsia.torch.unregister(f"optionals::{name}")
