"""Wrong values for each parameter of the submodules' functions: whatever is passed, an error is one of Tarsia's that says something."""

import ctypes
import os
import warnings

import numpy as np
import pytest

import tarsia


class Nothing:
    """What no function takes."""


WRONG = [None, 5, -1, "x", "", "a b", "é", "a\0b", b"\0", Nothing(), [], [None], ["x"], [5], {}, {"x": None}, {5: 5}, (), ("x", 5), lambda: 0, int, 1.5,
         float("nan"), np.ones(2), True]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def library():
    return tarsia.load_inline("""
#include <tarsia/op.h>

#include <algorithm>
struct Params { int k = 1; };
TARSIA_OP(wrong_values).input("x").output("y").attribute("k", &Params::k)
    .forward("cpu", [](tarsia::Context& c) { std::copy_n(c.input(0).data<float>(), c.input(0).size(0), c.output(0).data<float>()); });
void axpy(float a, const float* x, float* y, int n) { for (int i = 0; i < n; ++i) y[i] += a * x[i]; }
void axpy_backward(float a, const float* dy, float* dx, int n) {}
""")


class Trial:
    """Calls functions wrongly, and keeps what is no error of Tarsia's."""

    def __init__(self):
        self.bad, self.n = [], 0

    def call(self, what, function, args, keywords):
        self.n += 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                function(*args, **keywords)
            except tarsia.Error as error:
                if not str(error):
                    self.bad.append((what, "says nothing"))
            except AssertionError:  # what functions that compare are for
                pass
            except Exception as error:
                self.bad.append((what, repr(error)[:200]))

    def sweep(self, function, args=(), parameters="", more=()):
        """Each argument, and each parameter that is named, is each wrong value once."""
        name = getattr(function, "__name__", str(function))
        for wrong in [*WRONG, *more]:
            for i in range(len(args)):
                self.call(f"{name}, argument {i}: {wrong!r}", function, (*args[:i], wrong, *args[i + 1:]), {})
            for parameter in parameters.split():
                self.call(f"{name}, {parameter}={wrong!r}", function, args, {parameter: wrong})
        for given, keywords in (((), {}), (args, {"no_such_argument": 1}), ((1,) * 30, {})):
            self.call(f"{name}, {len(given)} arguments, {keywords}", function, given, keywords)


@pytest.fixture
def trial():
    one = Trial()
    yield one
    assert one.n > 20 and one.bad == [], "\n".join(map(str, one.bad))


def test_wrong_values_for_operators_of_pytorch(trial, library):
    torch = pytest.importorskip("torch")
    expression = tarsia.elementwise("T x, float a", "T y", "y = a * x", "wrong_values_expression")
    common = "name fake random mutates attributes vmap autocast tags numbers backward gradients"
    for what in (library.axpy, tarsia.op("wrong_values"), expression):
        trial.sweep(tarsia.torch.register, (what,), f"{common} arguments", [torch.ones(2)])
    trial.sweep(tarsia.torch.register, (library,), "random autocast tags mutates name", [torch.ones(2)])
    trial.sweep(tarsia.torch.function, (library.axpy, library.axpy_backward), "name outputs gradients mutates status random vmap autocast",
                [torch.ones(2)])
    for function in (tarsia.torch.options, tarsia.torch.unregister):
        trial.sweep(function, ("wrong_values_name",))
    trial.sweep(tarsia.torch.registered)


def test_wrong_values_for_extensions_of_early_pytorch(trial, tmp_path):
    torch = pytest.importorskip("torch")
    (tmp_path / "s.c").write_text("int wrong_values(int n) { return n; }\n")
    (tmp_path / "s.h").write_text("int wrong_values(int n);\n")
    trial.sweep(tarsia.torch.create_extension, ("n", ["s.h"], ["s.c"]),
                "relative_to include_dirs define_macros undef_macros extra_objects extra_compile_args extra_link_args libraries library_dirs", [torch.ones(2)])
    trial.sweep(tarsia.compat.install)


def test_wrong_values_for_functions_of_jax(trial, library):
    jax = pytest.importorskip("jax")
    for what in (library.axpy, tarsia.op("wrong_values")):
        trial.sweep(tarsia.jax.function, (what,), "backward outputs updates gradients mutates")
    x = jax.numpy.ones(4)
    trial.sweep(tarsia.jax.function(library.axpy), (2.0, x, x, 4))
    for wrong in WRONG[3:]:  # before them are numbers, which the op itself refuses
        trial.call(f"input: {wrong!r}", tarsia.jax.function(tarsia.op("wrong_values")), (wrong,), {}) if not isinstance(wrong, (float, bool, list)) else None
        trial.call(f"k={wrong!r}", tarsia.jax.function(tarsia.op("wrong_values")), (x,), {"k": wrong})


def test_wrong_values_for_tvm_ffi(trial):
    for _ in range(7):
        trial.sweep(tarsia.tvm_ffi.options)


def test_wrong_values_for_mobula(trial, tmp_path):
    mobula = tarsia.mobula
    (tmp_path / "Wrong").mkdir()
    (tmp_path / "Wrong" / "Wrong.cpp").write_text(
        "template <typename T> MOBULA_KERNEL wrong_values_kernel(const int n, const T* x, T* y) { parfor(n, [&](int i) { y[i] = x[i]; }); }\n")
    mobula.op.load("Wrong", path=os.getcwd())

    class WrongValues:
        def forward(self, x):
            return x

        def backward(self, dy):
            return dy

        def infer_shape(self, in_shape):
            return in_shape, in_shape

    op, x = mobula.op.register(WrongValues), np.ones(4, np.float32)
    trial.sweep(mobula.func.wrong_values, (4, x, x))
    trial.sweep(mobula.func.wrong_values.build, ("cpu", ["float"]))
    trial.sweep(mobula.op.load, ("Wrong",), "path")
    trial.sweep(mobula.func.bind, ({},))
    trial.sweep(mobula.op.register, ("wrong_values_name",))
    trial.sweep(mobula.op.Custom, ("WrongValues",))
    trial.sweep(mobula.glue.register_cstruct, ("S", ctypes.Structure), "constructor")
    trial.sweep(op, (x,))
    instance = op[np.ndarray]()
    instance(x)
    trial.sweep(instance, (x,))
    trial.sweep(instance.backward, (x,), "req in_data out_data in_grad")
    trial.sweep(op.tarsia_op, ("wrong_values_op",), "inputs no_gradient dtypes devices")
    trial.sweep(mobula.testing.assert_almost_equal, (x, x), "rtol atol")
    trial.sweep(mobula.testing.gradcheck, (op,), "kwargs eps rtol atol sampling")
    for wrong in WRONG:
        trial.call(f"op[{wrong!r}]", op.__getitem__, (wrong,), {})
        trial.call(f"DEBUG = {wrong!r}", lambda value: setattr(mobula.config, "DEBUG", value), (wrong,), {})
    mobula.config.DEBUG = False
    with pytest.raises(AttributeError, match="mobula.config has no setting 'no_such_setting'; it has DEBUG, "):
        mobula.config.no_such_setting = 1
