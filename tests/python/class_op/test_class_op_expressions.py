"""Expressions of mshadow give what NumPy gives."""

import pathlib

import numpy as np
import pytest

import tarsia

SRC = pathlib.Path(__file__).parent / "src"


def softmax(m):
    e = np.exp(m - m.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def sliced(a):
    out = np.zeros_like(a)
    out[:, :, 1:3] = a[:, :, 0:2]
    out[:, 2:3] += 1
    return out


EXPRESSIONS = [
    lambda a, v, m: a * 2 + 1 / (a * a + 1) - 3,
    lambda a, v, m: np.maximum(a, 0),
    lambda a, v, m: v[None, :, None] * a,
    lambda a, v, m: 2 * (a * a).sum((0, 2)),
    lambda a, v, m: a.max((0, 1)),
    lambda a, v, m: a.reshape(2, 12) @ m * 2,
    lambda a, v, m: m.T @ a.reshape(2, 12).T,
    lambda a, v, m: a.sum(1),
    lambda a, v, m: a.argmax(2),
    lambda a, v, m: a / (a**2).sum(1, keepdims=True),
    lambda a, v, m: a.swapaxes(0, 2),
    lambda a, v, m: a.reshape(6, 4),
    lambda a, v, m: a[:, 1:3],
    lambda a, v, m: sliced(a),
    lambda a, v, m: np.concatenate([a, a], 1),
    lambda a, v, m: np.floor(a.astype(np.float32) * np.float32(3)),
    lambda a, v, m: m.T,
    lambda a, v, m: softmax(m),
    lambda a, v, m: np.tile(v, (7, 1)),
    lambda a, v, m: np.pad(a, ((0, 0), (1, 1), (2, 2))),
    lambda a, v, m: a[:, 1:3, 1:3],
    lambda a, v, m: np.lib.stride_tricks.sliding_window_view(a, (2, 2), (1, 2)).max((3, 4)),
    lambda a, v, m: a.repeat(2, 1).repeat(2, 2),
    lambda a, v, m: a[:, :, ::-1],
    lambda a, v, m: np.tile(a.sum(0), (2, 1, 1)),
    lambda a, v, m: m.sum(0),
    lambda a, v, m: (a - a * 3) * a / (a + 10),
    lambda a, v, m: a.swapaxes(1, 2) @ a,
]


@pytest.fixture(scope="module")
def library():
    lib = tarsia.load_inline(
        {"expressions.cc": (SRC / "expressions.cc").read_text()},
        headers={"expressions.h": (SRC / "expressions.h").read_text()},
    )
    yield lib
    lib.unload()


@pytest.mark.parametrize("which", range(len(EXPRESSIONS)))
@pytest.mark.parametrize(("name", "tolerance"), [("float", 1e-5), ("double", 1e-12)])
def test_expression(library, which, name, tolerance):
    random = np.random.default_rng(which)
    dtype = {"float": np.float32, "double": np.float64}[name]
    a, v, m = (random.standard_normal(shape).astype(dtype) for shape in ((2, 3, 4), 3, (12, 5)))
    out = np.full(100, np.nan, dtype)
    n = getattr(library, "compute_" + name)(which, a, v, m, out)
    expected = EXPRESSIONS[which](a, v, m)
    assert n == expected.size and np.isnan(out[n:]).all()
    np.testing.assert_allclose(out[:n], expected.ravel(), rtol=tolerance * 10, atol=tolerance * 10)


def test_a_blob_in_more_or_fewer_dimensions():
    lib = tarsia.load_inline("""
        #include <mxnet/tensor_blob.h>
        template <int dim>
        static void shape(const mxnet::TBlob& blob, long* out) {
          const auto s = blob.FlatToKD<mshadow::cpu, dim, float>().shape_;
          for (int i = 0; i < dim; ++i) out[i] = s[i];
        }
        void shapes(float* x, long* two, long* three, long* five) {
          const mxnet::TBlob blob(x, mxnet::TShape({2, 3, 4}), mxnet::cpu::kDevMask);
          shape<2>(blob, two);
          shape<3>(blob, three);
          shape<5>(blob, five);
        }
    """)
    two, three, five = (np.zeros(n, np.int64) for n in (2, 3, 5))
    lib.shapes(np.zeros(24, np.float32), two, three, five)
    assert (two.tolist(), three.tolist(), five.tolist()) == ([6, 4], [2, 3, 4], [1, 1, 2, 3, 4])
    lib.unload()


def test_whole_numbers_are_computed_as_float64():
    lib = tarsia.load_inline("""
        #include <mxnet/base.h>
        #include "./mshadow_op.h"
        using namespace mxnet::op;
        template <class T> static void all(T* out, T a, T b) {
          const T results[] = {mshadow_op::mod::Map(a, b), mshadow_op::floor::Map(a), mshadow_op::square::Map(T(b * 5001)),
                               mshadow_op::abs::Map(T(-a)), mshadow_op::power::Map(T(3), T(17)), mshadow_op::hypot::Map(a, T(0)),
                               mshadow_op::fix::Map(a), mshadow_op::rdiv::Map(T(1), a)};
          for (int i = 0; i < 8; ++i) out[i] = results[i];
        }
        void of_int(int* out, int a, int b) { all(out, a, b); }
        void of_long(long* out, long a, long b) { all(out, a, b); }
        bool types() {
          return sizeof(math::exp(mshadow::half::half_t(1.0f))) == 4 && sizeof(math::digamma(1.0f)) == 4 && sizeof(math::exp(1)) == 8;
        }
    """)
    for function, dtype, a in [(lib.of_int, np.int32, 2**24 + 1), (lib.of_long, np.int64, 2**53 - 1)]:
        out = np.zeros(8, dtype)
        function(out, a, 2)
        assert out.tolist() == [1, a, 10002**2, a, 3**17, a, a, a]
    assert lib.types()
    lib.unload()
