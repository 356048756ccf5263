"""Expressions of mshadow whose shapes, places or steps do not go together are errors, and read nothing beyond their tensors."""

import numpy as np
import pytest

import tarsia

# For the device that the file's language tells: tests/gpu/op/test_class_op_limits_on_gpu.py has it as CUDA.
SOURCE = """
#include <mshadow/tensor.h>
#include <mshadow/extension.h>
using namespace mshadow;
using namespace mshadow::expr;
#ifdef __CUDACC__
typedef gpu xpu;
#else
typedef cpu xpu;
#endif
typedef Tensor<xpu, 1> Vector;
typedef Tensor<xpu, 2> Matrix;
typedef Tensor<xpu, 3> Images;
void cropped(float* x, float* y, int at_y, int at_x) { Matrix(y, Shape2(2, 2)) = crop(Matrix(x, Shape2(4, 4)), Shape2(2, 2), at_y, at_x); }
void pooled(float* x, float* y, int step) { Matrix(y, Shape2(1, 1)) = pool<red::maximum>(Matrix(x, Shape2(4, 4)), 4, 4, step); }
void pooled_to(float* x, float* y, int step) {
  Matrix(y, Shape2(1, 1)) = pool<red::maximum>(Matrix(x, Shape2(4, 4)), Shape2(1, 1), 4, 4, step, step);
}
void unpooled(float* x, float* y, int n, int step) {
  const Images small(x, Shape3(n, 1, 1));
  Images(y, Shape3(2, 4, 4)) = unpool<red::maximum>(Images(x, Shape3(2, 4, 4)), small, small, 4, step);
}
void softmax_grad(float* x, float* y, float* label, int n) {
  SoftmaxGrad(Matrix(y, Shape2(4, 3)), Matrix(x, Shape2(4, 3)), Vector(label, Shape1(n)));
}
void softmax_grad_of_images(float* x, float* y, float* label, int n, int m) {
  SoftmaxGrad(Images(y, Shape3(2, 3, 4)), Images(x, Shape3(2, 3, 4)), Matrix(label, Shape2(n, m)), 1.0f);
}
void softmax_of_parts(float* x, float* y) { Softmax(Matrix(y, Shape2(4, 3), 3, nullptr), Matrix(x, Shape2(4, 3), 4, nullptr)); }
void softmax_of_parts_of_images(float* x, float* y) {
  Softmax(Images(y, Shape3(2, 3, 4), 5, nullptr), Images(x, Shape3(2, 3, 4), 5, nullptr));
}
void largest(int* x, unsigned n, int* at) {
  Tensor<xpu, 1, int> to(at, Shape1(1));
  to = reduce_with_axis<red::maximum, true>(Tensor<xpu, 2, int>(x, Shape2(1, n)), 1);
}
"""


@pytest.fixture(scope="module")
def library():
    lib = tarsia.load_inline(SOURCE)
    yield lib
    lib.unload()


X, Y = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)


def test_a_crop_that_begins_before_the_image(library):
    library.cropped(X, Y, 2, 1)
    assert Y[:4].tolist() == [9, 10, 13, 14]
    for at in [(-1, 0), (0, -1), (3, 0), (0, 3), (-2, -2)]:
        with pytest.raises(tarsia.Error, match="crop: .2,2. at .* is not inside .4,4."):
            library.cropped(X, Y, *at)


def test_a_window_that_goes_nowhere(library):
    for function in (library.pooled, library.pooled_to):
        function(X, Y, 1)
        assert Y[0] == 15
        with pytest.raises(tarsia.Error, match="pool: a step of 0 leads nowhere"):
            function(X, Y, 0)
    with pytest.raises(tarsia.Error, match="unpool: a step of 0 leads nowhere"):
        library.unpooled(X, Y, 2, 0)


def test_the_pooled_of_other_images(library):
    library.unpooled(X, Y, 2, 1)
    with pytest.raises(tarsia.Error, match="unpool: the pooled are not of these images"):
        library.unpooled(X, Y, 1, 1)


def test_labels_of_other_rows(library):
    label = np.array([0, 1, 2, 1, 0, 0, 1, 2], np.float32)
    library.softmax_grad(X, Y, label, 4)
    np.testing.assert_array_equal(Y[:12], (X[:12].reshape(4, 3) - np.eye(3)[[0, 1, 2, 1]]).ravel())
    library.softmax_grad_of_images(X, Y, label, 2, 4)
    expected = X[:24].reshape(2, 3, 4) - np.eye(3)[label.astype(int)].reshape(2, 4, 3).transpose(0, 2, 1)
    np.testing.assert_array_equal(Y[:24].reshape(2, 3, 4), np.where(label.reshape(2, 1, 4) == 1, 0, expected))
    with pytest.raises(tarsia.Error, match="SoftmaxGrad: labels of .3,. for .4,3."):
        library.softmax_grad(X, Y, label, 3)
    for n, m in [(1, 4), (2, 3)]:
        with pytest.raises(tarsia.Error, match="SoftmaxGrad: labels of"):
            library.softmax_grad_of_images(X, Y, label, n, m)


def test_a_softmax_of_rows_that_lie_apart(library):
    x, y = np.random.default_rng(0).random(30, np.float32), np.full(30, 7, np.float32)
    library.softmax_of_parts(x, y)
    e = np.exp(x[:16].reshape(4, 4)[:, :3])
    np.testing.assert_allclose(y[:12].reshape(4, 3), e / e.sum(1, keepdims=True), rtol=1e-5)
    y[:] = 7
    library.softmax_of_parts_of_images(x, y)
    e = np.exp(x.reshape(2, 3, 5)[..., :4])
    np.testing.assert_allclose(y.reshape(2, 3, 5)[..., :4], e / e.sum(1, keepdims=True), rtol=1e-5)
    assert (y.reshape(6, 5)[:, 4] == 7).all()


def test_the_place_of_the_largest_of_many(library):
    n = 2**24 + 2
    x = np.zeros(n, np.int32)
    x[n - 1] = 1
    at = np.zeros(1, np.int32)
    library.largest(x, n, at)
    assert at[0] == n - 1
