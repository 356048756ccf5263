"""Several threads in the extension at once. Without the GIL (python3.13t), nothing else keeps them apart."""

import sys
import threading

import numpy as np
import pytest
from threads import at_once

import tarsia

N = 6  # threads

SOURCE = """
#include <tarsia/op.h>
#include <vector>
double sum(const double* x, long n) { double s = 0; for (long i = 0; i < n; ++i) s += x[i]; return s; }
long first_of(const std::vector<long>& all) { return all.at(0); }
struct Params { float factor = 1; };
static void run(tarsia::Context& c) {
  const tarsia::Tensor x = c.input(0), y = c.output(0);
  for (int64_t i = 0; i < x.numel(); ++i) y.data<float>()[i] = c.params<Params>().factor * x.data<const float>()[i];
}
TARSIA_OP(mt_scaled).input("x").output("y").attribute("factor", &Params::factor).forward("cpu", run);
"""


@pytest.fixture(scope="module")
def library():
    return tarsia.load_inline(SOURCE)


def test_the_gil_stays_off():
    if "t" in sys.abiflags:
        assert not sys._is_gil_enabled(), "the extension says that it needs no GIL"


def test_classes_are_met_for_the_first_time_by_all(library):
    """More classes than the extension keeps places for, so that they take each other's."""
    values = np.arange(5.0)

    def make(k):
        by_interface = {"__array_interface__": property(lambda self: self.array.__array_interface__)}
        by_dlpack = {"__dlpack__": lambda self, **how: self.array.__dlpack__(**how),
                     "__dlpack_device__": lambda self: self.array.__dlpack_device__()}
        cls = type(f"Array{k}", (), {**(by_interface if k % 2 else by_dlpack), "__init__": lambda self, array: setattr(self, "array", array)})
        return cls(values)

    arrays = [make(k) for k in range(600)]

    def work(i):
        for round in range(3):
            for array in arrays[i::2] + arrays[round::7]:
                assert library.sum(array, 5) == 10
            assert library.sum(values, 5) == 10

    at_once(work, range(N))


def test_one_op_with_many_attributes_and_shapes(library):
    op = tarsia.ops.mt_scaled

    def work(i):
        for k in range(300):
            x = np.full(1 + (i + k) % 3, 2, np.float32)
            y = op(x, factor=float(i)) if k % 2 else op(x)
            assert y.tolist() == [2.0 * i if k % 2 else 2.0] * len(x)
            assert repr(op).startswith("<tarsia.Op mt_scaled") and op.name == "mt_scaled"

    at_once(work, range(N))


def test_an_op_is_replaced_while_others_call_it():
    def define(value):
        @tarsia.define_op(name="mt_swapped")
        def op(x, y):
            y[...] = value

        return op

    ops, x, done = [define(0.0)], np.ones(2), threading.Event()

    def work(i):
        if i == 0:
            try:
                for value in range(1, 40):
                    define(float(value))
            finally:
                done.set()
            return
        last = 0.0
        while not done.is_set():
            a, b = ops[0](x).tolist()
            assert a == b >= last, "an older op came back"
            last = a

    at_once(work, range(N))
    assert ops[0](x).tolist() == [39.0, 39.0]


def test_bindings_of_an_op_in_python_come_and_go():
    @tarsia.define_op
    class mt_added:
        step: int = 0

        def forward(self, x, y):
            y[...] = x + self.step

    def work(i):
        x = np.arange(4)
        for k in range(60):
            assert mt_added(x, step=100 * i + k).tolist() == (x + 100 * i + k).tolist()
            bound = mt_added.bind(x, step=i)
            assert bound(x)[3] == 3 + i
            with pytest.raises(tarsia.Error):
                mt_added(x, step="none")

    at_once(work, range(N))


def test_an_expression_is_compiled_for_the_types_of_all():
    axpy = tarsia.elementwise("T x, T y, float a", "T z", "z = a * x + y", "mt_axpy")
    dtypes = [np.float32, np.float64, np.int32, np.int64]

    def work(i):
        for k in range(60):
            x = np.full(3, 2, dtypes[(i + k) % 4])
            z = axpy(x, x, 2.0)
            assert z.dtype == x.dtype and z.tolist() == [6, 6, 6]

    at_once(work, range(N))


def test_a_list_that_another_thread_changes_is_read_or_refused(library):
    numbers, done = [7] * 50, threading.Event()

    def work(i):
        if i == 0:
            try:
                for _ in range(2000):
                    numbers.clear()
                    numbers.extend([7] * 50)
            finally:
                done.set()
            return
        while not done.is_set():
            try:
                assert library.first_of(numbers) == 7
            except IndexError:  # it was empty just then
                pass

    at_once(work, range(N))
