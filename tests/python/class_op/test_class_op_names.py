"""What operators see of a call: blobs of every type in every shape, requests, the device, checks and warnings."""

import os
import pathlib
import subprocess
import sys
import threading

import numpy as np
import pytest
from threads import at_once

import tarsia
from tarsia.testing import assert_op

SRC = pathlib.Path(__file__).parent / "src"
TYPES = ["float32", "float64", "float16", "uint8", "int8", "int32", "int64"]


@pytest.fixture(scope="module", autouse=True)
def blend():
    lib = tarsia.load_inline({"blend.cc": (SRC / "blend.cc").read_text()})
    yield tarsia.op("Blend")
    lib.unload()


def arrays(dtype):
    rng = np.random.default_rng(3)
    return [rng.integers(0, 4, (2, 3, 4)).astype(dtype) for _ in range(2)]


@pytest.mark.parametrize("dtype", TYPES)
def test_every_type_of_the_switch(blend, dtype):
    a, b = arrays(dtype)
    bound = blend.bind(a, b, weight=3)
    total, rows = bound(a, b)
    assert total.dtype == rows.dtype == dtype
    np.testing.assert_array_equal(total, a + 3 * b)
    np.testing.assert_array_equal(rows, (a + 3 * b).sum((0, 2)))
    dsum, drows = b, np.arange(3).astype(dtype)
    da, db = bound.backward([dsum, drows], [a, b], [total, rows])
    np.testing.assert_array_equal(da, dsum + drows[:, None])
    np.testing.assert_array_equal(db, (dsum + drows[:, None]) * 3)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_the_axis_in_the_middle_of_three_dimensions(blend, axis):
    a, b = arrays("float64")
    _, rows = tarsia.ops.Blend(a, b, axis=axis)
    np.testing.assert_array_equal(rows, (a + 2 * b).sum(tuple({0, 1, 2} - {axis})))


def test_requests_reach_an_operator_that_honours_them(blend):
    a, b = arrays("float32")
    bound = blend.bind(a, b)
    total, rows = np.full_like(a, 10), np.full(3, 20, np.float32)
    bound(a, b, out=(total, rows), req=("null", "add"))
    assert (total == 10).all()
    np.testing.assert_array_equal(rows, (a + 2 * b).sum((0, 2)) + 20)
    bound(a, b, out=(total, rows), req=("add", "null"))
    np.testing.assert_array_equal(total, a + 2 * b + 10)
    np.testing.assert_array_equal(rows, (a + 2 * b).sum((0, 2)) + 20)
    da, db = np.full_like(a, 1), np.full_like(a, 2)
    bound.backward([a, rows], [a, b], [total, rows], out=(da, db), req=("add", "null"))
    np.testing.assert_array_equal(da, a + rows[:, None] + 1)
    assert (db == 2).all()


def test_checks_pass():
    assert_op("Blend", shapes=[(2, 3, 4), (2, 3, 4)])


@pytest.mark.parametrize(("attributes", "message"), [
    ({"weight": 0}, r"blend.cc:\d+: Check failed: param_.weight > 0 \(0 vs. 0\) weight is positive"),
    ({"axis": -1}, r"Check failed: param_.axis >= 0 \(-1 vs. 0\) axis counts from the front"),
    ({"weight": 100}, r"Check failed: param_.weight < 100 \(100 vs. 100\) weight is small"),
    ({"axis": 10}, r"Check failed: param_.axis <= 9 \(10 vs. 9\) axis is one of ten"),
    ({"weight": 13}, r"Check failed: param_.weight != 13 \(13 vs. 13\) weight brings no bad luck"),
    ({"axis": 3}, r"Check failed: param_.axis < data.ndim\(\) \(3 vs. 3\) there is no such axis"),
])
def test_a_failed_comparison_shows_both_numbers(attributes, message):
    a, b = arrays("float32")
    with pytest.raises(ValueError, match=message):
        tarsia.ops.Blend(a, b, **attributes)


def test_warnings_go_to_the_log(tmp_path):
    script = tmp_path / "old.py"
    script.write_text(f"""import numpy as np, tarsia
lib = tarsia.load_inline({{"blend.cc": open({str(SRC / "blend.cc")!r}).read()}})
a = np.ones((2, 3), np.float32)
tarsia.ops.Blend(a, a, old=True)
""")
    for level, is_told in (("warn", True), ("error", False)):
        done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True,
                              env={**os.environ, "TARSIA_LOG": level})
        assert ("old is deprecated; the weight is 2" in done.stderr) == is_told, done.stderr
        assert "old is deprecated" not in done.stdout
        assert not is_told or ("Blend" in done.stderr and "blend.cc:" in done.stderr)


def test_items_that_a_list_does_not_have_are_zero():
    """As in MXNet's deconvolution, which reads target_shape[0] where none is given."""
    lib = tarsia.load_inline("""
        #include <nnvm/tuple.h>
        long read(int n, int i) { const nnvm::TShape shape(n); return shape[i]; }
        long write(int n, int i) { nnvm::TShape shape(n); shape[i] = 7; return shape[i] * 10 + shape.ndim(); }
    """)
    assert [lib.read(0, 0), lib.read(2, 3), lib.write(2, 1), lib.write(0, 0)] == [0, 0, 72, 0]
    for function in (lib.read, lib.write):
        with pytest.raises(tarsia.Error, match=r"i < k_room \(4 vs. 4\) there is no item 4 in a list of 2"):
            function(2, 4)
    lib.unload()


def test_threads_load_the_same_class_operators():
    """They share its mapping while their loads overlap."""
    source = {name: (SRC / name).read_text() for name in ("shrink.cc",)}
    headers = {"shrink-inl.h": (SRC / "shrink-inl.h").read_text()}
    tarsia.load_inline(source, headers=headers).unload()
    barrier = threading.Barrier(8)

    def load(_):
        for _ in range(40):
            barrier.wait(60)
            lib = tarsia.load_inline(source, headers=headers)
            ops = list(lib.ops)
            lib.unload()
            assert sorted(ops) == ["Shrink", "shrunken"]

    at_once(load, range(8))
