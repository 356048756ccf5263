"""Ops that are replaced while a call of them is under way: the call ends with the code that it began with, the next one
runs the new code."""

import gc
import threading

import numpy as np
import pytest

import tarsia

LONG = 120  # seconds: nothing here takes them unless it hangs
X = np.ones(2, np.float32)


def define(value, when_inferred=lambda: None, name="py_swapped"):
    """An op that gives `value`; inference runs `when_inferred`."""

    class Op:
        def infer_shape(self, x):
            when_inferred()
            return x

        def infer_dtype(self, x):
            return "int32"

        def forward(self, x, y):
            y[...] = value

    return tarsia.define_op(Op, name=name)


def define_other(value, name="py_swapped"):
    """An op of another signature under the same name."""

    @tarsia.define_op(name=name, infer_dtype=lambda first, second: "int64")
    def other(first, second, y):
        y[...] = value

    return other


@pytest.mark.parametrize("call", [lambda op: op(X), lambda op: op.bind(X)(X)], ids=["call", "bind"])
def test_a_slow_binding_of_the_old_code_serves_its_own_call_alone(call):
    inferring, replaced = threading.Event(), threading.Event()

    def wait():
        inferring.set()
        assert replaced.wait(LONG)

    op = define(1, wait)
    found = []
    thread = threading.Thread(target=lambda: found.append(call(op).tolist()))
    thread.start()
    assert inferring.wait(LONG)
    define(2)
    assert op(X).tolist() == [2, 2]  # the op is looked up anew while the other thread binds
    replaced.set()
    thread.join()
    assert found == [[1, 1]]
    assert op(X).tolist() == op(X).tolist() == [2, 2]


def test_a_binding_describes_the_code_that_it_was_bound_to():
    def replace():
        other = define_other(2)
        assert op(X, X).tolist() == [2, 2] and repr(op) == repr(other)

    op = define(1, replace)
    before = repr(op)
    bound = op.bind(X)
    assert repr(bound) == before.replace("Op", "BoundOp") and bound(X).tolist() == [1, 1]
    assert bound.outputs == (((2,), "int32"),)
    assert op(X, X).dtype == np.int64


PREBUILT = """
#include <tarsia/op.h>
TARSIA_OP(py_swapped_prebuilt).input("NAME").infer([](tarsia::BindInfo& info) {
  info.output(0).set_shape({});
  info.output(0).set_dtype(tarsia::int32);
}).forward("cpu", [](tarsia::Context& c) { *c.output(0).data<int32_t>() = VERSION; });
"""


def test_an_op_whose_library_goes_while_arguments_are_read_is_still_named_in_errors(build_library):
    old, new = (build_library(PREBUILT.replace("NAME", name), f"-DVERSION={version}")
                for version, name in ((1, "long_lost_name"), (2, "x")))

    class Replaces:
        """A tensor, and a list of shapes, that is none, and replaces the op when it is asked."""

        def replace(self):
            libraries.append(tarsia.load(new))
            libraries.pop(0).unload()
            assert int(op(X)) == 2
            gc.collect()

        def __dlpack_device__(self):
            return 1, 0

        def __dlpack__(self, **_):
            self.replace()
            raise TypeError("no tensor after all")

        def __iter__(self):
            self.replace()
            return iter([(-3,)])

    for call, message in (
        (lambda: op(Replaces()), "py_swapped_prebuilt.*'long_lost_name'"),
        (lambda: op.bind(Replaces()), "py_swapped_prebuilt.*'long_lost_name'"),
        (lambda: op.infer(Replaces(), None), "py_swapped_prebuilt: an extent is negative"),
    ):
        libraries = [tarsia.load(old)]
        op = tarsia.op("py_swapped_prebuilt")
        with pytest.raises(tarsia.ArgumentError, match=message):
            call()
        assert int(op(X)) == 2
        libraries.pop().unload()
