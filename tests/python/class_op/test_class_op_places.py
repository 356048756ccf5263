"""Expressions and functions of mshadow by which elements go to places that are told give what NumPy gives."""

import pathlib

import numpy as np
import pytest
import scipy.special

import tarsia

SRC = pathlib.Path(__file__).parent / "src"


def patches(a, size, step, dilate):
    """The windows of images as columns, a row for each channel and place in a window."""
    down, across = ((a.shape[2 + k] - (size[k] - 1) * dilate[k] - 1) // step[k] + 1 for k in (0, 1))
    rows = [a[:, c, ky * dilate[0]:, kx * dilate[1]:][:, ::step[0], ::step[1]][:, :down, :across].ravel()
            for c in range(a.shape[1]) for ky in range(size[0]) for kx in range(size[1])]
    return np.stack(rows)


def packed(a):
    """How often each element is in a window, times the element."""
    out, down, across = np.zeros_like(a), 2, 2
    for y in range(down):
        for x in range(across):
            for ky in range(2):
                for kx in range(2):
                    at = np.s_[:, :, y + ky * 2, x * 2 + kx]
                    out[at] += a[at]
    return out


def filled(m, v, i):
    out = m.copy()
    out[np.arange(4), i] = v
    return out + 1


def added(m, i, rows=5):
    out = np.zeros((rows, m.shape[1]), m.dtype)
    np.add.at(out, i, m)
    return out


def written(m, i):
    out = np.ones((5, 6), m.dtype)
    for k, at in enumerate(i):
        out[at] = m[k]
    return out


def smooth(m, i, ignored=None):
    out = m - 0.25 / 5
    out[np.arange(4), i] = m[np.arange(4), i] - 0.75
    if ignored is not None:
        out[i == ignored] = 0
    return out


def sorted_by(i, v):
    order = np.argsort(-i, kind="stable")
    return np.concatenate([i[order], v[order]])


EXPECTED = {
    0: lambda a, m, i, v: np.arange(1, 7, 2).repeat(4),
    2: lambda a, m, i, v: patches(a, (2, 3), (1, 1), (1, 1)),
    4: lambda a, m, i, v: packed(a),
    5: lambda a, m, i, v: np.eye(6)[i],
    6: lambda a, m, i, v: m[np.arange(4), i],
    7: lambda a, m, i, v: filled(m, v, i),
    8: lambda a, m, i, v: m[i],
    9: lambda a, m, i, v: added(m, i),
    10: lambda a, m, i, v: added(m, i) + 1,
    11: lambda a, m, i, v: written(m, i),
    12: lambda a, m, i, v: m @ m.T - 1,
    13: lambda a, m, i, v: a[:, ::-1],
    14: lambda a, m, i, v: a[..., ::-1],
    15: lambda a, m, i, v: sorted_by(i, v),
    16: lambda a, m, i, v: v @ v,
    17: lambda a, m, i, v: smooth(m, i),
    18: lambda a, m, i, v: smooth(m, i, 1),
    19: lambda a, m, i, v: scipy.special.gamma(v) * scipy.special.digamma(v),
    20: lambda a, m, i, v: scipy.special.digamma(v),
    21: lambda a, m, i, v: np.nansum(m / np.sign(m - 3), 1),
    22: lambda a, m, i, v: m.prod(1),
    23: lambda a, m, i, v: v[:, None] / m + 1,
    24: lambda a, m, i, v: added(m, i) + 1,
    25: lambda a, m, i, v: a * v[:, None],
}


@pytest.fixture(scope="module")
def library():
    lib = tarsia.load_inline({"places.cc": (SRC / "places.cc").read_text()}, headers={"places.h": (SRC / "places.h").read_text()})
    yield lib
    lib.unload()


def inputs(dtype):
    random = np.random.default_rng(5)
    a = random.standard_normal((2, 3, 4, 5)).astype(dtype)
    m = random.uniform(0.5, 2, (4, 6)).astype(dtype)
    return a, m, np.array([1, 3, 1, 0]), np.array([0.5, 1.25, 3.5, -1.75], dtype)


@pytest.mark.parametrize("which", EXPECTED)
@pytest.mark.parametrize(("name", "dtype", "tolerance"), [("float", np.float32, 1e-5), ("double", np.float64, 1e-12)])
def test_a_result(library, which, name, dtype, tolerance):
    a, m, i, v = inputs(dtype)
    if which == 24:
        i = np.sort(i)
    out = np.full(400, np.nan, dtype)
    n = getattr(library, "compute_" + name)(which, a, m, i.astype(dtype), v, out)
    expected = np.asarray(EXPECTED[which](a, m, i, v))
    assert n == expected.size
    np.testing.assert_allclose(out[:n], expected.ravel(), rtol=tolerance, atol=tolerance)


def test_windows_with_steps_and_gaps(library):
    a, m, i, v = inputs(np.float64)
    out = np.empty(400)
    n = library.compute_double(3, a, m, i.astype(float), v, out)
    np.testing.assert_allclose(out[:n].reshape(12, -1), 2 * patches(a, (2, 2), (1, 2), (2, 1)))


def test_shapes_that_do_not_go_together(library):
    a, m, i, v = inputs(np.float32)
    with pytest.raises(tarsia.Error, match="the expression has another shape"):
        library.compute_float(1, a, m, i.astype("f"), v, np.empty(400, "f"))


def test_all_of_it_compiles_for_a_gpu():
    lib = tarsia.load_inline({name: (SRC / name).read_text() for name in ("places.cc", "places.cu")}, headers={"places.h": (SRC / "places.h").read_text()})
    assert any("own_kernel" in kernel for kernel in lib.kernels)
    assert lib.device_compilers == {"places.cu": "nvrtc"}
    lib.unload()


def test_old_names():
    lib = tarsia.load_inline("""
        #include <dmlc/json.h>
        #include <dmlc/optional.h>
        #include <mxnet/ndarray.h>
        #include <mxnet/operator_util.h>
        using namespace mxnet;
        struct Sum : Operator {
          ExecType exec_type() const override { return kAsync; }
          void Forward(const OpContext&, const std::vector<TBlob>&, const std::vector<OpReqType>&, const std::vector<TBlob>&,
                       const std::vector<TBlob>&) override {}
          void Save(dmlc::JSONWriter* writer) const { writer->BeginObject(); writer->WriteObjectKeyValue("size", m_size); writer->EndObject(); }
          void Load(dmlc::JSONReader* reader) {
            dmlc::JSONObjectReadHelper helper;
            helper.DeclareField("size", &m_size);
            helper.ReadAllFields(reader);
          }
          int m_size = 0;
        };
        bool same_hash() {
          const mxnet::TShape a = mshadow::Shape2(1, 2), b = mshadow::Shape2(1, 2), c = mshadow::Shape2(2, 1);
          const dmlc::optional<int> none;
          return dmlc::HashCombine(1, a) == dmlc::HashCombine(1, b) && dmlc::HashCombine(1, a) != dmlc::HashCombine(1, c) &&
                 dmlc::HashCombine(1, none) != dmlc::HashCombine(1, dmlc::optional<int>(4));
        }
        struct Later : OperatorProperty {
          ExecType exec_type() const override { return ExecType::kCrossDeviceCopy; }
        };
        struct Nested : Sum {
          ExecType exec_type() const override { return mxnet::Operator::kCrossDeviceCopy; }
        };
        int kind() { return Sum().exec_type() == ExecType::kAsync; }
        int nested() {
          const Operator::ExecType type = Nested().exec_type();
          switch (type) {
            case Operator::kSync: return 0;
            case Operator::kAsync: return 1;
            case Nested::kCrossDeviceCopy: return type == mxnet::kCrossDeviceCopy ? 2 : 3;
          }
          return 4;
        }
        long rows(long n) { mshadow::TShape shape = mshadow::Shape2(n, 2); return shape[0]; }
        long width(int flag) { long n = 0; MSHADOW_IDX_TYPE_SWITCH(flag, I, { n = sizeof(I); }) return n; }
    """)
    assert lib.same_hash()
    assert lib.nested() == 2
    assert (lib.kind(), lib.rows(7), lib.width(6), lib.width(4)) == (1, 7, 8, 4)
    lib.unload()
