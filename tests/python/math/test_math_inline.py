"""<tarsia/math.h> in sources, for CPUs and GPUs, and as ops that are compiled when they are asked for."""

import os
import subprocess
import sys

import numpy as np
import pytest

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


@pytest.mark.parametrize("code", [
    # A graph that was written elsewhere.
    """
text = '''{"format": "tarsia-graph", "version": 1, "outputs": [{"name": "y", "value": "y"}], "nodes": [
    {"name": "x", "kind": "input", "shape": null, "dtype": null, "storage": "dense"},
    {"name": "y", "kind": "op", "op": "square", "inputs": ["x"], "attributes": {}}]}'''
assert tarsia.Graph.from_json(text)(x=x).tolist() == [0, 1, 4]
""",
    # An op that binds another.
    """
tarsia.load_inline('''
#include <tarsia/op.h>
static void outer(tarsia::Context& c) { tarsia::InnerOp("square", {c.input(0)})({c.input(0)}, {c.output(0)}); }
TARSIA_OP(outer).input("x").output("y").forward("cpu", outer);
''')
assert tarsia.ops.outer(x).tolist() == [0, 1, 4]
""",
    # An implementation of one.
    """
tarsia.load_inline('''
#include <tarsia/op.h>
static void constant(tarsia::Context& c) { for (int i = 0; i < 3; ++i) c.output(0).data<double>()[i] = 7; }
TARSIA_IMPLEMENTATION(square).forward("cpu", constant).named("mine").priority(1);
''')
assert tarsia.ops.square(x).tolist() == [7, 7, 7]
""",
    # The checks of an op.
    """
from tarsia.testing import check
check("square")
""",
], ids=["json", "inner", "implementation", "check"])
def test_whoever_names_an_op_gets_it_compiled(code):
    code = f"import numpy as np, tarsia\nx = np.arange(3.0)\nassert 'square' not in tarsia.ops\n{code}\nassert 'square' in tarsia.ops"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("other", [
    "tarsia.Graph.from_json(TEXT)", "tarsia.testing.check('erfc')", "tarsia.op('erfc')", "tarsia.Graph().add('erfc', g.input('z'))"],
    ids=["json", "check", "op", "add"])
def test_threads_that_ask_at_once_do_not_wait_for_each_other_for_ever(tmp_path, other):
    code = f"""
import faulthandler, threading, time
import tarsia, tarsia.testing
faulthandler.dump_traceback_later(100, exit=True)
TEXT = '{{"format": "tarsia-graph", "version": 1, "outputs": [{{"name": "y", "value": "y"}}], "nodes": [' \\
       '{{"name": "x", "kind": "input", "shape": null, "dtype": null, "storage": "dense"}},' \\
       '{{"name": "y", "kind": "op", "op": "erfc", "inputs": ["x"], "attributes": {{}}}}]}}'
g = tarsia.Graph()
first = threading.Thread(target=lambda: tarsia.op("erfc"))
first.start()
while tarsia.stats()["workers_started"] == 0:  # it compiles the op, for longer than the call below needs to begin
    assert first.is_alive()
    time.sleep(0.001)
try:
    {other}
except tarsia.ArgumentValueError:
    pass  # of another graph
first.join()
assert "erfc" in tarsia.ops
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "TARSIA_CACHE_DIR": str(tmp_path)})
    assert done.returncode == 0, done.stderr


def test_where_nothing_may_be_compiled_the_error_names_the_op(tmp_path):
    code = """
import tarsia
with tarsia.no_compile():
    try:
        tarsia.op("hypot")
    except tarsia.CompileForbidden as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "TARSIA_CACHE_DIR": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    assert "tarsia_math_hypot" in done.stdout
