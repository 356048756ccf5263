"""Functions that take tarsia::Tensor get contiguous tensors; tarsia::StridedTensor says that a function follows strides."""

import numpy as np
import pytest

import tarsia

torch = pytest.importorskip("torch")

SOURCE = """
#include <optional>
#include <tarsia/op.h>
#include <vector>

double first_three(const tarsia::Tensor& x) {
  const float* data = x.data<const float>();
  return data[0] + 10 * data[1] + 100 * data[2];
}
void add_one(tarsia::Tensor x) { for (int64_t i = 0; i < x.numel(); ++i) x.data<float>()[i] += 1; }
double of_list(const std::vector<tarsia::Tensor>& xs) { return first_three(xs[0]); }
double of_optional(std::optional<tarsia::Tensor> x) { return first_three(*x); }

double at(const tarsia::StridedTensor& x, int i, int j) { return x.at<const float>(i, j); }
void put(tarsia::StridedTensor x, int i, int j, float value) { x.at<float>(i, j) = value; }
double straightened(const tarsia::StridedTensor& x) { return first_three(x.contiguous()); }
static double sum(const tarsia::Tensor& x) {
  double s = 0;
  for (int64_t i = 0; i < x.numel(); ++i) s += x.data<const float>()[i];
  return s;
}
double helped(const tarsia::StridedTensor& x) { return sum(x); }
double helped_right(const tarsia::StridedTensor& x) { return sum(x.contiguous()); }
double by_strides(const tarsia::StridedTensor& x) { return x.strided_data<const float>()[x.stride(0) + x.stride(1)]; }
bool same_memory(const tarsia::StridedTensor& x) { return x.contiguous().data() == x.data(); }
std::vector<double> elements(const tarsia::StridedTensor& x) {
  const tarsia::Tensor c = x.contiguous();
  std::vector<double> all;
  for (int64_t i = 0; i < c.numel(); ++i)
    all.push_back(c.dtype() == tarsia::float64 ? c.data<const double>()[i] : c.data<const int16_t>()[i]);
  return all;
}
tarsia::StridedTensor back(tarsia::StridedTensor x) { return x; }
double strided_list(const std::vector<tarsia::StridedTensor>& xs) { return xs[1].at<const float>(0, 1); }
double strided_optional(const std::optional<tarsia::StridedTensor>& x) { return x ? x->at<const float>(0, 1) : -1; }
"""
X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.fixture(scope="module", params=["inline", "g++"])
def lib(request, load_text):
    if request.param == "inline":
        return tarsia.load_inline(SOURCE)
    names = ["first_three", "add_one", "of_list", "of_optional", "at", "put", "straightened", "helped", "helped_right", "by_strides",
             "same_memory", "elements", "back",
             "strided_list", "strided_optional"]
    return load_text(SOURCE + "".join(f"TARSIA_EXPORT({name})\n" for name in names))


@pytest.mark.parametrize("make", [np.asarray, torch.from_numpy], ids=["numpy", "torch"])
def test_a_tensor_that_is_not_contiguous_is_refused(lib, make):
    x = make(X.copy())
    assert lib.first_three(x) == 210
    advice = r"x\.contiguous\(\)" if make is torch.from_numpy else r"numpy\.ascontiguousarray\(x\)"
    with pytest.raises(tarsia.ArgumentValueError, match=r"must be contiguous, got .*, strides \(1, 3\); pass " + advice +
                       ", or let the function take a tarsia::StridedTensor"):
        lib.first_three(x.T)
    for call in (lambda: lib.add_one(x.T), lambda: lib.of_list([x.T]), lambda: lib.of_optional(x.T)):
        with pytest.raises(tarsia.ArgumentValueError, match="must be contiguous"):
            call()
    assert x.tolist() == X.tolist()
    lib.add_one(x)
    assert x.tolist() == (X + 1).tolist()


@pytest.mark.parametrize("make", [np.asarray, torch.from_numpy], ids=["numpy", "torch"])
def test_a_strided_tensor_follows_its_strides(lib, make):
    x = make(X.copy())
    for view in (x, x.T, x[:, 1:], x[1:], make(X.copy())[:, ::2]):
        for i in range(view.shape[0]):
            for j in range(view.shape[1]):
                assert lib.at(view, i, j) == view[i, j]
    lib.put(x.T, 2, 1, 7)
    assert x[1, 2] == 7
    assert lib.strided_list([x, x.T]) == 3 and lib.strided_optional(x.T) == 3 and lib.strided_optional(None) == -1
    y = x.T
    assert lib.back(y) is y
    with pytest.raises(IndexError, match=r"element \(3, 0\) of a tensor of shape \(3, 2\) is asked for"):
        lib.at(x.T, 3, 0)


def test_a_contiguous_copy_has_the_elements_in_order(lib):
    assert lib.straightened(X) == 210 and lib.straightened(X.T) == 0 + 10 * 3 + 100 * 1
    assert lib.same_memory(X) and not lib.same_memory(X.T)
    cube = np.arange(2 * 3 * 4, dtype=np.int16).reshape(2, 3, 4)
    for view in (cube.transpose(2, 0, 1), cube[:, ::-1, ::2], cube[1].T, cube[:, :, 1], np.broadcast_to(cube[0, 0], (5, 4)),
                 cube.astype(np.float64).T, np.ones((0, 3), np.int16).T, cube[:, :1].transpose(1, 2, 0)):
        assert lib.elements(view) == view.ravel().tolist(), view.strides


def test_elements_are_not_read_past_their_strides(lib):
    assert lib.helped(X) == 15 and lib.helped_right(X.T) == 15
    for view in (X.T, X[:, ::2], X[:, 1:2]):
        with pytest.raises(TypeError, match="of a tensor that is not contiguous: take at<T>"):
            lib.helped(view)
    assert lib.helped(X[:, :0]) == 0
    assert lib.by_strides(X.T) == X.T[1, 1]


def test_signatures_name_the_strided_tensor(lib):
    assert "StridedTensor" in lib.at.signatures[0]
