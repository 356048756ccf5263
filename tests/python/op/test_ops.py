"""Registered ops: looked up, bound, called, replaced."""

import gc
import pathlib
import sys

import numpy as np
import pytest

import tarsia

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module", autouse=True)
def library(load_text):
    lib = load_text((pathlib.Path(__file__).parent / "ops.cpp").read_text())
    yield lib
    lib.unload()


def test_ops_are_found(library):
    assert set(library.ops) == {"py_scale", "py_extremes", "py_attributes", "py_counts", "py_running", "py_fails"}
    assert set(library.ops) <= set(tarsia.ops)
    assert "py_scale" in tarsia.ops and "py_scale" in dir(tarsia.ops) and "nothing" not in tarsia.ops
    assert tarsia.ops.py_scale.name == tarsia.op("py_scale").name == tarsia.ops["py_scale"].name == "py_scale"
    with pytest.raises(tarsia.NotFound):
        tarsia.op("no_such_op")
    with pytest.raises(AttributeError):
        tarsia.ops.no_such_op


def test_ops_tell_of_themselves():
    op = tarsia.op("py_scale")
    assert repr(op) == "<tarsia.Op py_scale(x, *, factor=2.0) -> (y)>"
    assert op.__doc__ == "py_scale(x, *, factor=2.0) -> (y)\n\nMultiplies by a factor.\n\nfactor: What to multiply by."
    assert repr(tarsia.op("py_attributes")) == (
        "<tarsia.Op py_attributes(x, *, flag=False, count=1, word='abc', shape=[1, 2], maybe=None) -> (y)>")
    assert "py_extremes(x, floor=None) -> (least, most)" in repr(tarsia.op("py_extremes"))


@pytest.mark.parametrize("make", [lambda: np.ones((2, 3), np.float32), lambda: torch.ones(2, 3)])
def test_bound_ops_are_called_again_and_again(make):
    x = make()
    bound = tarsia.op("py_scale").bind(x, factor=3.0)
    assert bound.name == "py_scale" and bound.inputs == bound.outputs == (((2, 3), "float32"),)
    y = bound(x)
    assert type(y) is type(x) and y.tolist() == [[3] * 3] * 2
    out = make()
    assert bound(x, out=out) is out and out.tolist() == y.tolist()
    outs = [make()]
    assert bound(x, out=outs) is outs and outs[0].tolist() == y.tolist()


def test_ops_bind_and_call_at_once():
    x = np.ones(3, np.float32)
    for _ in range(3):
        assert tarsia.ops.py_scale(x).tolist() == [2] * 3
        assert tarsia.ops.py_scale(x, factor=4).tolist() == [4] * 3
        assert tarsia.ops.py_scale(np.ones(2, np.float32), factor=4).tolist() == [4] * 2
        assert tarsia.ops.py_scale(torch.ones(2, 2)).tolist() == [[2, 2]] * 2
    out = np.zeros(3, np.float32)
    assert tarsia.ops.py_scale(x, factor=5.0, out=out) is out and out.tolist() == [5] * 3
    for factor in range(5):
        assert tarsia.ops.py_scale(x, factor=factor).tolist() == [factor] * 3


def test_several_outputs_and_optional_inputs():
    x = np.array([[1, 2, 3], [6, 5, 4]], np.float32)
    least, most = tarsia.ops.py_extremes(x)
    assert least.tolist() == [1, 4] and most.tolist() == [3, 6]
    least, most = tarsia.ops.py_extremes(x, np.zeros(1, np.float32))
    assert least.tolist() == [0, 0]
    bound = tarsia.op("py_extremes").bind(x, None)
    out = (np.zeros(2, np.float32), np.zeros(2, np.float32))
    assert bound(x, None, out=out) is out and out[1].tolist() == [3, 6]
    with pytest.raises(TypeError, match="out must have 2 tensors, got 1"):
        bound(x, None, out=out[0])


def test_attributes_of_every_kind():
    op, x = tarsia.ops.py_attributes, np.zeros(1, np.float32)
    assert op(x).tolist() == [0, 1, 3, 12, -1]
    assert op(x, flag=True, count=7, word="äö", shape=(3, 4, 5), maybe=0.5).tolist() == [1, 7, 4, 345, 0.5]
    assert op(x, flag="true", count="7", shape="(3, 4)", maybe=None).tolist() == [1, 7, 3, 34, -1]
    assert op(x, shape=[np.int64(6)], count=np.int32(2)).tolist() == [0, 2, 3, 6, -1]
    with pytest.raises(tarsia.Error, match="count"):
        op(x, count=11)
    with pytest.raises(tarsia.Error, match="nosuch"):
        op(x, nosuch=1)


def test_state_belongs_to_a_binding():
    x = np.zeros(1, np.float32)
    bound = tarsia.op("py_counts").bind(x)
    assert [int(bound(x)) for _ in range(3)] == [1, 2, 3]
    assert int(tarsia.op("py_counts").bind(x)(x)) == 1
    assert [int(tarsia.ops.py_counts(x)) for _ in range(2)] == [1, 1]


def test_mutable_inputs_have_to_be_writable():
    x, total = np.ones(2, np.float32), np.zeros(2, np.float32)
    assert tarsia.ops.py_running(x, total).tolist() == [1, 1]
    assert tarsia.ops.py_running(x, total).tolist() == [2, 2] and total.tolist() == [2, 2]
    total.flags.writeable = False
    with pytest.raises(ValueError, match="input 1 'sum' is written to, but is read-only"):
        tarsia.ops.py_running(x, total)


def test_gradients():
    x = torch.ones(3)
    bound = tarsia.op("py_scale").bind(x, factor=3.0)
    assert bound.has_backward
    y = bound(x)
    (dx,) = bound.backward(torch.full((3,), 2.0), x, y)
    assert dx.tolist() == [6] * 3
    (dx,) = bound.backward([torch.full((3,), 2.0)], [x], [y])
    assert dx.tolist() == [6] * 3
    out = torch.zeros(3)
    assert bound.backward(torch.ones(3), x, y, out=out) is out and out.tolist() == [3] * 3
    bound.backward(torch.ones(3), x, y, out=out, req="add")
    assert out.tolist() == [6] * 3
    running = tarsia.op("py_running").bind(x, x)
    assert not running.has_backward
    with pytest.raises(tarsia.Unsupported):
        running.backward(x, x, x, x)


def test_ops_differentiate_at_once():
    op, x = tarsia.op("py_scale"), torch.ones(3)
    for _ in range(2):
        (dx,) = op.backward(torch.full((3,), 2.0), x, op(x, factor=3.0), factor=3.0)
        assert dx.tolist() == [6] * 3
    (dx,) = op.backward([torch.ones(3)], [x], None, factor=4.0)
    assert dx.tolist() == [4] * 3
    assert op.backward([torch.ones(3)], [x], [x], req="null", factor=4.0) == (None,)
    out = torch.ones(3)
    op.backward(torch.ones(3), x, x, out=out, req="add")
    assert out.tolist() == [3] * 3
    with pytest.raises(TypeError, match="backward takes out_grads, inputs and outputs"):
        op.backward(x)
    with pytest.raises(tarsia.Unsupported):
        tarsia.op("py_running").backward(x, [x, x], x)


def test_equal_attributes_are_bound_once_and_others_are_told_apart():
    op, x = tarsia.op("py_scale"), np.ones(1, np.float32)
    for factor in (0.0, -0.0, 2.0, float("2.0"), 2, float("nan"), 1):
        assert np.array_equal(np.copysign(1, op(x, factor=factor)), np.copysign(1, [np.float32(factor)])) or factor != factor
        assert np.array_equal(op(x, factor=factor), [np.float32(factor)], equal_nan=True)


def test_inputs_that_are_not_there_are_inferred_without():
    shapes, dtypes = tarsia.op("py_extremes").infer([(2, 3), False], ["float32", None])
    assert shapes == [(2, 3), None, (2,), (2,)] and dtypes[2:] == ["float32"] * 2


def test_misfits_are_told():
    x = np.ones(3, np.float32)
    bound = tarsia.op("py_scale").bind(x)
    with pytest.raises(ValueError, match="bind it again"):
        bound(np.ones(4, np.float32))
    with pytest.raises(ValueError, match="bind it again"):
        bound(np.ones(3))
    with pytest.raises(ValueError, match=r"input 'x' is not contiguous: pass a contiguous copy, as numpy.ascontiguousarray\(x\)"):
        bound(np.ones(6, np.float32)[::2])
    with pytest.raises(ValueError, match="output 'y' is not contiguous: pass a contiguous tensor, and copy from it"):
        bound(x, out=np.ones(6, np.float32)[::2])
    with pytest.raises(TypeError, match=r"input 0 'x' is a numpy.ndarray of big-endian elements .*newbyteorder\('='\)\)"):
        bound(x.astype(">f4"))
    with pytest.raises(TypeError, match=r"input 0 'x' is a numpy.ma.MaskedArray, whose mask .* pass x.filled\(value\)"):
        bound(np.ma.array(x, mask=[0, 1, 0]))
    with pytest.raises(TypeError, match="input 0 'x' is a numpy.ndarray with elements that C\\+\\+ code cannot read"):
        bound(np.array([None] * 3))
    with pytest.raises(TypeError, match="takes 1 inputs"):
        bound(x, x)
    with pytest.raises(TypeError, match="input 0 'x' must be a tensor of numbers, such as a NumPy array, got str 'x'"):
        bound("x")
    with pytest.raises(TypeError, match="a bound op takes tensors, out=… and req=…"):
        bound(x, factor=2)
    with pytest.raises(ValueError, match="bind it again"):
        bound(x, out=np.ones(4, np.float32))
    x.flags.writeable = False
    with pytest.raises(ValueError, match="out is written to, but is read-only"):
        bound(np.ones(3, np.float32), out=x)


def test_inputs_are_of_one_framework():
    x, t = np.ones(3, np.float32), torch.zeros(3)
    with pytest.raises(tarsia.ArgumentTypeError, match="py_running: input 1 'sum' is a torch.Tensor, .* of numpy.*numpy.from_dlpack"):
        tarsia.ops.py_running(x, t)
    with pytest.raises(tarsia.ArgumentTypeError, match="py_scale: out is a numpy.ndarray, .* of torch"):
        tarsia.ops.py_scale(t, out=x)


def test_exceptions_of_ops_arrive():
    with pytest.raises(IndexError, match="no such row"):
        tarsia.ops.py_fails(np.ones(1, np.float32))


def test_references_stay_as_they_were():
    x, out, factor = np.ones(3, np.float32), np.ones(3, np.float32), 1.25
    op = tarsia.op("py_scale")
    op(x, factor=factor)
    before = [sys.getrefcount(object) for object in (x, out, factor)]
    for _ in range(100):
        op(x, factor=factor)
        op.bind(x, factor=factor)(x, out=out)
        with pytest.raises(ValueError):
            op.bind(x)(np.ones(4, np.float32))
    gc.collect()
    assert [sys.getrefcount(object) for object in (x, out, factor)] == before


REPLACED = """
#include <tarsia/op.h>
TARSIA_OP(py_replaced).infer([](tarsia::BindInfo& info) {
  info.output(0).set_shape({});
  info.output(0).set_dtype(tarsia::int32);
}).forward("cpu", [](tarsia::Context& c) { *c.output(0).data<int32_t>() = VERSION; });
"""


def test_a_replaced_op_is_the_new_one_at_once(build_library):
    x = np.zeros(1, np.float32)
    first = tarsia.load(build_library(REPLACED, "-DVERSION=1"))
    op, bound = tarsia.op("py_replaced"), tarsia.op("py_replaced").bind(x)
    assert int(op(x)) == int(tarsia.ops.py_replaced(x)) == 1
    second = tarsia.load(build_library(REPLACED, "-DVERSION=2"))
    assert int(op(x)) == int(tarsia.ops.py_replaced(x)) == 2
    assert int(bound(x)) == 1  # bound to the old code, which it keeps
    del first
    gc.collect()
    assert int(bound(x)) == 1
    second.unload()
    with pytest.raises(tarsia.NotFound):
        op(x)
    with pytest.raises(AttributeError):
        tarsia.ops.py_replaced


def test_defaults_are_shown_as_python_writes_them():
    lib = tarsia.load_inline(r"""
    #include <tarsia/op.h>
    #include <array>
    #include <optional>
    #include <vector>
    enum class Kind { relu, gelu };
    TARSIA_OP(t_defaults).input("x").output("y").attribute("list", std::vector<int>{1, 2}).attribute("slope", 1.5f)
        .attribute<std::optional<int>>("limit").attribute("word", "it's").attribute("pair", std::array<int, 2>{3, 4})
        .attribute("kind", Kind::gelu).choices({"relu", "gelu"}).forward("cpu", [](tarsia::Context&) {});
    """)
    assert tarsia.op("t_defaults").__doc__ == (
        "t_defaults(x, *, list=[1, 2], slope=1.5, limit=None, word=\"it's\", pair=(3, 4), kind='gelu') -> (y)")
    lib.unload()


def test_calls_with_outputs_given_use_the_last_binding():
    inferred = []

    @tarsia.define_op(infer_shape=lambda x: inferred.append(x) or x)
    def ops_counts_bindings(x, y, *, factor: float = 1.0):
        y[...] = x * factor

    x, y = np.arange(3, dtype=np.float32), np.empty(3, np.float32)
    for _ in range(3):
        assert ops_counts_bindings(x, out=y) is y and np.array_equal(y, x)
    assert len(inferred) == 1
    ops_counts_bindings(x, out=y, req="add")
    assert np.array_equal(ops_counts_bindings(x), x) and np.array_equal(y, 2 * x) and len(inferred) == 1
    for _ in range(2):
        ops_counts_bindings(x, factor=2.0, out=y)
        assert np.array_equal(y, 2 * x)
    assert len(inferred) == 2
    ops_counts_bindings(x[:2], factor=2.0, out=y[:2])
    assert len(inferred) == 3
