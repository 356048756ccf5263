"""Class operators that compute with <tarsia/math.h>: its expressions and functions take blobs and tensors of mshadow."""

import pathlib

import numpy as np
import pytest

import tarsia

SRC = pathlib.Path(__file__).parent / "src"
HEADER = {"math_in_class_op.h": (SRC / "math_in_class_op.h").read_text()}
REST = """#include "math_in_class_op.h"
namespace mxnet {
namespace op {
Operator* HalfReluProp::CreateOperator(Context) const { return new HalfReluOp<cpu>(); }
MXNET_REGISTER_OP_PROPERTY(HalfRelu, HalfReluProp)
    .add_argument("data", "NDArray-or-Symbol", "What is halved.")
    .add_argument("bias", "NDArray-or-Symbol", "A row.")
    .honours_requests();
}  // namespace op
}  // namespace mxnet
"""


@pytest.fixture(scope="module")
def library():
    lib = tarsia.load_inline({"half.cc": REST}, headers=HEADER)
    yield lib
    lib.unload()


def test_expressions_take_blobs_and_tensors_of_mshadow(library):
    x = np.linspace(-3, 3, 12, dtype=np.float32).reshape(3, 4)
    bias = np.float32([1, -1, 0.5, 2])
    y = tarsia.ops.HalfRelu(x, bias)
    np.testing.assert_allclose(y, np.maximum(x + bias, 0) / 2, rtol=1e-6)
    bound = tarsia.op("HalfRelu").bind(x, bias)
    y = bound(x, bias)
    dy = np.arange(12, dtype=np.float32).reshape(3, 4)
    dx, db = bound.backward(dy, x, bias, y)
    masked = np.where(y > 0, dy / 2, 0)
    np.testing.assert_allclose(dx, masked, rtol=1e-6)
    np.testing.assert_allclose(db, masked.sum(0), rtol=1e-6)


def test_every_request_is_honoured(library):
    tarsia.testing.assert_op("HalfRelu")


def test_rows_of_mshadow_may_lie_apart():
    lib = tarsia.load_inline("""
    #include <tarsia/math/mshadow.h>
    void scale(tarsia::Tensor x, int rows, int columns, int step) {
      mshadow::Tensor<mshadow::cpu, 2, float> part(x.data<float>(), mshadow::Shape2(rows, columns), step, nullptr);
      const tarsia::Tensor kept = tarsia::math::view(part);
      tarsia::math::assign(kept, tarsia::math::view(part) * 10 + 1);
    }
    int absent() {
      try {
        mxnet::TBlob none(nullptr, mxnet::TShape({2, 2}), mshadow::cpu::kDevMask, mshadow::kFloat32);
        tarsia::math::view(none).shape();
      } catch (const tarsia::ValueError&) { return 1; }
      return 0;
    }
    """)
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    expected = x.copy()
    expected[:2, :3] = expected[:2, :3] * 10 + 1
    lib.scale(x, 2, 3, 4)
    assert (x == expected).all() and lib.absent() == 1
    lib.unload()


def test_cuda_sources_have_them_too():
    """The kernel is in a header, so Clang compiles it. What needs no GPU is called."""
    lib = tarsia.load_inline("""
    #include <tarsia/math/mshadow.h>
    template <class xpu> void twice(float* x, int n, mshadow::Stream<xpu>* s) {
      mshadow::Tensor<xpu, 1, float> all(x, mshadow::Shape1(n), s);
      tarsia::math::assign(tarsia::math::view(all), tarsia::math::view(all) * 2);
    }
    void on_gpu(tarsia::gpu<float> x, int n, tarsia::Stream stream) {
      mshadow::Stream<mshadow::gpu> s;
      s.stream_ = stream;
      twice(x.get(), n, &s);
    }
    void on_cpu(tarsia::cpu<float> x, int n) { twice<mshadow::cpu>(x.get(), n, nullptr); }
    __global__ void k() {}
    """, arch="sm_90")
    x = np.float32([1, 2, 3])
    lib.on_cpu(x, 3)
    assert x.tolist() == [2, 4, 6]
    assert any(how.startswith("clang") for how in lib.device_compilers.values())
    lib.unload()
