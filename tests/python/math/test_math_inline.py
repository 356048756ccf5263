"""<tarsia/math.h> in sources, for CPUs and GPUs, and as ops that are compiled when they are asked for."""

import subprocess
import sys

import numpy as np

import tarsia

SOURCE = r"""
#include <tarsia/math.h>
namespace math = tarsia::math;
void layer(tarsia::StridedTensor y, const tarsia::StridedTensor& x, const tarsia::StridedTensor& w, tarsia::Stream stream) {
  math::dot(y, x, w, stream);
  math::tanh(y, y, stream);
  math::softmax(y, y, -1, stream);
}
void total(tarsia::StridedTensor y, const tarsia::StridedTensor& x, tarsia::Stream stream) { math::sum(y, x, {0}, stream); }
void pick(tarsia::StridedTensor y, const tarsia::StridedTensor& x, const tarsia::StridedTensor& index, tarsia::Stream stream) {
  math::gather(y, x, index, 0, stream);
  math::scatter_add(y, index, y, 0, stream);
}
"""
ON_CPU = SOURCE.replace(", tarsia::Stream stream", "").replace(", stream)", ")").replace("math::scatter_add(y, index, y, 0);", "")


def test_a_source_uses_them():
    lib = tarsia.load_inline(ON_CPU)
    x, w = np.random.default_rng(0).random((3, 4)), np.random.default_rng(1).random((4, 5))
    y = np.empty((3, 5))
    lib.layer(y, x, w)
    e = np.exp(np.tanh(x @ w))
    np.testing.assert_allclose(y, e / e.sum(-1, keepdims=True))
    total = np.empty(4)
    lib.total(total, x)
    np.testing.assert_allclose(total, x.sum(0))
    picked = np.empty((2, 4))
    lib.pick(picked, x, np.array([2, 0]))
    np.testing.assert_array_equal(picked, x[[2, 0]])


def test_kernels_compile_for_gpus():
    """By Clang: NVRTC does not take kernels that host code of a header launches."""
    lib = tarsia.load_inline({"layer.cu": SOURCE}, arch="sm_90")
    assert lib.device_compilers["layer.cu"].startswith("clang") and lib.cubins


def test_ops_are_compiled_when_they_are_asked_for():
    code = """
import numpy as np, tarsia
assert "add" not in tarsia.ops
x = np.arange(3.0)
assert tarsia.ops.add(x, x).tolist() == [0, 2, 4] and tarsia.ops.dot(x, x) == 5
assert "add" in tarsia.ops and "exp" not in tarsia.ops
try:
    tarsia.op("no such op")
except tarsia.NotFound as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "no such op" in done.stdout
