"""Ops written in Python with tarsia.define_op: equal to those of C++."""

import gc
import weakref

import numpy as np
import pytest
import torch
from threads import at_once

import tarsia
from tarsia.testing import assert_op, check

lib = tarsia.load_inline("""
void scaled(double a, const float* x, float* y, long n) { for (long i = 0; i < n; ++i) y[i] = float(a * x[i]); }
""")


@tarsia.define_op
class py_scaled:
    """Multiplies by a factor."""

    factor: float = 2.0

    def forward(self, x, y):
        assert type(x) is type(y)
        lib.scaled(self.factor, x, y, x.size if isinstance(x, np.ndarray) else x.numel())

    def backward(self, dy, x, y, dx):
        lib.scaled(self.factor, dy, dx, dx.size if isinstance(x, np.ndarray) else x.numel())


@tarsia.define_op(outputs=("total", "product"), backward=lambda dt, dp, x, y, t, p, dx, dy: None)
def py_pair(x, y, total, product, *, bias: int = 1, names: tuple[str, ...] = ("a",), on: bool = False, note: str | None = None):
    np.add(x, y + bias, out=total)
    np.multiply(x, y, out=product)


def test_it_is_an_op():
    x = np.arange(4, dtype=np.float32)
    assert isinstance(py_scaled, tarsia.Op) and py_scaled.name == "py_scaled"
    np.testing.assert_array_equal(py_scaled(x), 2 * x)
    np.testing.assert_array_equal(tarsia.ops.py_scaled(x, factor=3), 3 * x)
    np.testing.assert_array_equal(tarsia.ops.py_scaled(x, factor="0.5"), x / 2)
    bound = tarsia.op("py_scaled").bind(x, factor=4.0)
    out = np.empty_like(x)
    assert bound(x, out=out) is out and bound.has_backward
    np.testing.assert_array_equal(out, 4 * x)
    np.testing.assert_array_equal(bound.backward(np.ones_like(x), x, out)[0], np.full(4, 4))
    assert bound.outputs == (((4,), "float32"),)
    assert "py_scaled" in tarsia.ops and "Multiplies by a factor" in (py_scaled.__doc__ or "")


def test_tensors_are_those_of_the_caller():
    x = torch.arange(4.0)
    y = py_scaled(x)
    assert isinstance(y, torch.Tensor) and y.tolist() == [0, 2, 4, 6]
    out = torch.empty(4)
    assert py_scaled(x, out=out) is out
    seen = []

    @tarsia.define_op
    def py_seen(x, y):
        seen.append((x, y))
        y[:] = x

    given, out = np.ones(3), np.empty(3)
    py_seen(given, out=out)
    assert seen[0][0] is given and seen[0][1] is out
    made = py_seen(given)
    kept = seen[1][1]  # an output that was made may be kept: it is the same memory
    kept[0] = 7
    assert made[0] == 7
    del made
    gc.collect()
    assert kept.tolist() == [7, 1, 1]


def test_write_requests():
    x = np.ones(3, np.float32)
    out = np.full(3, 10, np.float32)
    bound = tarsia.op("py_scaled").bind(x)
    assert bound(x, out=out, req="add").tolist() == [12, 12, 12]
    assert bound(x, out=out, req="null").tolist() == [12, 12, 12]
    gradient = np.ones(3, np.float32)
    bound.backward(x, x, x, out=gradient, req="add")
    assert gradient.tolist() == [3, 3, 3]
    asked = []

    @tarsia.define_op
    def py_asked(x, y, *, requests):
        asked.append(requests)
        y[:] = y + x if requests[0] == "add" else x

    out = np.ones(3)
    assert tarsia.op("py_asked").bind(out)(np.ones(3), out=out, req="add").tolist() == [2, 2, 2]
    assert asked == [("add",)]


def test_attributes_are_typed_by_annotations_and_defaults():
    x = np.ones(2)
    total, product = py_pair(x, 2 * x, bias="4", on=True, names=["b", "c"])
    assert total.tolist() == [7, 7] and product.tolist() == [2, 2]
    with pytest.raises(ValueError, match="op 'py_pair': attribute 'bias' has to be a whole number, not 'x'"):
        py_pair(x, x, bias="x")
    with pytest.raises(TypeError, match="op 'py_pair' has no attribute 'nothing'"):
        py_pair(x, x, nothing=1)

    @tarsia.define_op
    class py_attributes:
        needed: int
        ratio: float = 0.5
        axes: tuple[int, ...] = (0, -1)
        flag: bool = True
        word: str = "it's"
        maybe: int | None = None

        def forward(self, x, y):
            assert (type(self.needed), type(self.ratio), type(self.flag)) == (int, float, bool)
            y[...] = self.needed + self.ratio + sum(self.axes) + self.flag + len(self.word) + (self.maybe or 0)

    assert py_attributes(x, needed=1).tolist() == [5.5, 5.5]
    assert py_attributes(x, needed=1, axes=(5,), flag=False, word="", maybe=3, ratio=0).tolist() == [9, 9]
    with pytest.raises(TypeError, match="op 'py_attributes' needs the attribute 'needed'"):
        py_attributes(x)


@pytest.mark.parametrize("options, error, message", [
    ({"infer_shape": lambda x: (1,) * 2000}, ValueError, "infer_shape: a shape has at most 32 extents, not 2000"),
    ({"infer_dtype": lambda x: "floaty"}, TypeError, "infer_dtype: 'floaty' is no dtype"),
])
def test_inference_that_gives_what_no_tensor_has(options, error, message):
    @tarsia.define_op(**options)
    def py_strange(x, y):
        raise AssertionError("it was called")

    with pytest.raises(error, match=message):
        py_strange(np.ones(3, np.float32))


def test_inference():
    @tarsia.define_op
    class py_matmul:
        def forward(self, a, b, c):
            c[...] = a @ b

        def infer_shape(self, a, b):
            if a[1] != b[0]:
                raise ValueError(f"{a} and {b} do not fit")
            return a[0], b[1]

        def infer_dtype(self, a, b):
            return "float64"

    c = py_matmul(np.ones((2, 3), np.float32), np.ones((3, 4), np.float32))
    assert c.shape == (2, 4) and c.dtype == np.float64 and (c == 3).all()
    shapes, dtypes = tarsia.op("py_matmul").infer([(5, 6), (6, 7)], ["float32", "float32"])
    assert shapes == [(5, 6), (6, 7), (5, 7)] and dtypes == ["float32", "float32", "float64"]
    assert tarsia.op("py_matmul").infer([None, (6, 7)], ["float32", None])[0] == [None, (6, 7), None]
    with pytest.raises(ValueError, match=r"op 'py_matmul', infer.*ValueError: \(2, 3\) and \(2, 3\) do not fit \(.*test_define_op.py:\d+\)"):
        py_matmul(np.ones((2, 3)), np.ones((2, 3)))

    @tarsia.define_op(outputs=["low", "high"], infer_shape=lambda x: [x[:-1], x[:-1]], infer_dtype=lambda x: [x, "int64"])
    def py_extremes(x, low, high):
        low[...] = x.min(-1)
        high[...] = x.argmax(-1)

    low, high = py_extremes(np.arange(6.0).reshape(2, 3))
    assert low.tolist() == [0, 3] and high.tolist() == [2, 2] and high.dtype == np.int64


def test_it_passes_the_tests_of_ops():
    assert_op("py_scaled", shapes=[(3, 4)], dtypes=["float32"])

    @tarsia.define_op
    class py_wrong:
        def forward(self, x, y):
            y[...] = np.asarray(x) ** 2

        def backward(self, dy, x, y, dx):
            dx[...] = np.asarray(dy) * np.asarray(x)

    report = check("py_wrong", shapes=[(3,)], dtypes=["float64"])
    assert report.failed and "gradient is that of finite differences" in str(report)


def test_errors_name_op_function_and_place():
    @tarsia.define_op
    class py_failing:
        kind: str = "zero"

        def forward(self, x, y):
            if self.kind == "zero":
                1 / 0
            if self.kind == "index":
                list(x)[len(x)]
            if self.kind == "exit":
                raise KeyboardInterrupt
            return x

    x = np.ones(2)
    with pytest.raises(tarsia.OpError, match=r"op 'py_failing', forward on the CPU: ZeroDivisionError: division by zero \(.*test_define_op.py:\d+\)") as caught:
        py_failing(x)
    assert isinstance(caught.value.__cause__, ZeroDivisionError) and caught.value.__cause__.__traceback__ is not None
    with pytest.raises(IndexError, match="list index out of range"):
        py_failing(x, kind="index")
    with pytest.raises(TypeError, match="forward writes to its outputs and returns nothing, but returned a ndarray"):
        py_failing(x, kind="")
    with pytest.raises(KeyboardInterrupt):
        py_failing(x, kind="exit")
    assert py_scaled(np.ones(2, np.float32)).tolist() == [2, 2]


def test_memory_that_ends_with_the_call_is_not_kept():
    kept = []

    @tarsia.define_op
    def py_keeps(x, y):
        kept.append(y)
        y[:] = x

    out = np.zeros(3)
    with pytest.raises(tarsia.OpError, match="a tensor was kept beyond the call, whose memory ends with it: keep a copy"):
        tarsia.op("py_keeps").bind(out)(np.ones(3), out=out, req="add")  # y is a copy of Tarsia's here
    kept.clear()


def test_state_belongs_to_a_binding():
    @tarsia.define_op
    class py_counting:
        stateful = True
        start: int = 0

        def __init__(self):
            self.count = self.start

        def forward(self, x, y):
            self.count += 1
            y[...] = self.count

    x = np.ones(1)
    one, other = tarsia.op("py_counting").bind(x), tarsia.op("py_counting").bind(x, start=10)
    assert [one(x)[0], one(x)[0], other(x)[0], one(x)[0]] == [1, 2, 11, 3]
    assert py_counting(x)[0] == 1 and py_counting(x)[0] == 1
    at_once(lambda _: [one(x) for _ in range(200)], range(4))
    assert one(x)[0] == 804


def test_ports():
    @tarsia.define_op(optional="bias", no_gradient="index", inplace="x -> y", name="py_ports",
                      backward=lambda dy, x, index, bias, y, dx, dindex, dbias: dx.__setitem__(..., dy))
    def ports(x, index, bias, y):
        y[...] = x[index] + (0 if bias is None else bias)

    x, index = np.arange(3.0), np.array([2.0, 1, 0])
    with pytest.raises(IndexError, match="op 'py_ports', forward on the CPU: IndexError: arrays used as indices"):
        ports(x, index)

    @tarsia.define_op(mutable="seen", name="py_mutable", infer_shape=lambda x, seen: x, infer_dtype=lambda x, seen: x)
    def mutable(x, seen, y):
        seen += 1
        y[...] = x

    seen = np.zeros(1)
    mutable(x, seen)
    assert seen[0] == 1


def test_any_number_of_inputs():
    seen = []

    @tarsia.define_op(name="py_joined", variadic="xs")
    class joined:
        def infer_shape(self, first, xs):
            return (first[0] + sum(x[0] for x in xs),)

        def forward(self, first, xs, y):
            y[...] = np.concatenate([first, *xs])

        def backward(self, dy, first, xs, y, dfirst, dxs, *, requests):
            seen.append(requests)
            assert len(xs) == len(dxs)
            parts = np.split(dy, np.cumsum([len(first), *map(len, xs)])[:-1])
            for dx, part, request in zip([dfirst, *dxs], parts, [requests[0], *requests[1]]):
                if request == "add":
                    dx += part
                elif request != "null":
                    dx[...] = part

    a, b, c = np.arange(2.0), np.arange(3.0), np.arange(1.0)
    assert tarsia.ops.py_joined(a).tolist() == [0, 1]
    y = tarsia.ops.py_joined(a, b, c)
    assert y.tolist() == [0, 1, 0, 1, 2, 0]
    op = tarsia.op("py_joined")
    da, db, dc = op.backward(y + 1, [a, b, c], y)
    assert (da.tolist(), db.tolist(), dc.tolist()) == ([1, 2], [1, 2, 3], [1])
    db[...] = 1
    op.backward(y + 1, [a, b, c], y, out=[None, db, None], req=["null", "add", "null"])
    assert db.tolist() == [2, 3, 4] and seen == [("write", ["write"] * 2), ("null", ["add", "null"])]
    assert op.infer([(2,), (3,)], ["float64"] * 2) == ([(2,), (3,), (5,)], ["float64"] * 3)
    with pytest.raises(tarsia.Error, match="at least 1"):
        op()


def test_hidden_outputs():
    @tarsia.define_op(name="py_masked", outputs=("y", "mask"), hidden="mask")
    class masked:
        def infer_dtype(self, x):
            return x, "int8"

        def forward(self, x, y, mask):
            mask[...] = x > 0
            y[...] = x * mask

        def backward(self, dy, dmask, x, y, mask, dx):
            assert dmask is None
            dx[...] = dy * (mask if mask is not None else y > 0)

    x = np.array([-1.0, 2.0])
    bound = tarsia.op("py_masked").bind(x)
    y = bound(x)
    assert y.tolist() == [0, 2]
    mask = np.array([1, 0], "int8")
    for gradients, outputs in ((np.ones(2), y), ([np.ones(2)], [y]), ([np.ones(2), None], [y, None])):
        assert bound.backward(gradients, x, outputs)[0].tolist() == [0, 1]
    assert bound.backward(np.ones(2), x, [y, mask])[0].tolist() == [1, 0]
    with pytest.raises(TypeError, match="backward takes 1 out_grads, got 3"):
        bound.backward([y, y, y], x, y)


def test_random_ops_are_said_to_be():
    source = np.random.default_rng(1)

    @tarsia.define_op(name="py_random", random=True)
    def noise(x, y):
        y[...] = x + source.random()

    assert noise(np.zeros(1))[0] != noise(np.zeros(1))[0]
    from tarsia.torch import register, unregister

    operator = register(noise)
    assert torch.Tag.nondeterministic_seeded in operator.default.tags
    unregister("py_random")


def test_ops_are_replaced_and_let_go():
    def define(value):
        @tarsia.define_op(name="py_again")
        class again:
            def forward(self, x, y):
                y[...] = value

        return again

    class Value(float):
        pass

    first = Value(1)
    gone = weakref.ref(first)
    x = np.ones(1)
    op = define(first)
    bound = op.bind(x)
    define(2.0)
    assert op(x)[0] == 2 and bound(x)[0] == 1
    del first, bound
    gc.collect()
    assert gone() is None


def test_ops_call_ops_and_other_threads_run():
    @tarsia.define_op
    def py_twice(x, y):
        py_scaled(py_scaled(x), out=y)

    x = np.ones(5, np.float32)
    assert py_twice(x).tolist() == [4] * 5
    assert at_once(lambda _: float(py_twice(x).sum()), range(8)) == [20] * 8


@pytest.mark.parametrize(("make", "message"), [
    (lambda: tarsia.define_op(3), "takes a class with forward, or a function, got int"),
    (lambda: tarsia.define_op(type("empty", (), {})), "op 'empty': there is no forward"),
    (lambda: tarsia.define_op(lambda x, y: None, name="f", outputs="z"), "op 'f': forward takes the inputs and then the outputs, z"),
    (lambda: tarsia.define_op(lambda x, y: None, name="f", backward=lambda dy, dx: None), "backward takes 4 arguments .*, not 2"),
    (lambda: tarsia.define_op(lambda x, y: None, name="f", colour=1), "define_op has no option 'colour'"),
    (lambda: tarsia.define_op(lambda x, y: None, name="f", mutable="z"), "mutable names 'z', which is no input; there are x"),
    (lambda: tarsia.define_op(lambda a, b, y: None, name="f", variadic="a"), "variadic is the last input, 'b', or none"),
    (lambda: tarsia.define_op(lambda x, y: None, name="f", variadic="y"), r"named by variadic, and counted by arity\(self\)"),
    (lambda: tarsia.define_op(lambda x, y: None, name="f", arity=lambda: 1), r"named by variadic, and counted by arity\(self\)"),
    (lambda: tarsia.define_op(lambda x, y: None, name="f", variadic="y", arity=lambda: 1, hidden="y"), "hidden names 'y', of which there is any"),
    (lambda: tarsia.define_op(lambda x, y: None, name="f", hidden="x"), "hidden names 'x', which is no output; there are y"),
    (lambda: tarsia.define_op(lambda x, y: None, name="f", devices="tpu"), "devices are 'cpu' and 'gpu'"),
    (lambda: tarsia.define_op(lambda x, y: None, name="f", inplace="y -> x"), "inplace is pairs"),
    (lambda: tarsia.define_op(lambda *x: None, name="f"), r"takes \*x: an op's tensors have a name each"),
    (lambda: tarsia.define_op(type("f", (), {"__annotations__": {"a": dict}, "forward": lambda self, x, y: None})),
     "attribute 'a' has to be declared as bool, int, float, str"),
])
def test_bad_definitions_are_told_at_once(make, message):
    with pytest.raises(TypeError, match=message):
        make()


def test_defaults_of_strings_are_quoted_and_lambdas_need_a_name():
    @tarsia.define_op
    def py_worded(x, y, *, word: str = "it", k: int = 2):
        y[...] = x

    assert tarsia.op("py_worded").__doc__ == "py_worded(x, *, word='it', k=2) -> (y)"
    with pytest.raises(TypeError, match="a lambda has no name that the op could take: pass name="):
        tarsia.define_op(lambda x, y: None)
    assert tarsia.define_op(lambda x, y: None, name="py_unnamed").name == "py_unnamed"


def test_what_tarsia_sees_is_told_without_a_place_within_tarsia():
    @tarsia.define_op
    def py_returns(x, y):
        return x

    with pytest.raises(TypeError, match=r"writes to its outputs and returns nothing, but returned a ndarray \(\S*test_define_op.py:\d+\)$"):
        py_returns(np.ones(2, np.float32))


def test_any_number_of_outputs():
    seen = []

    @tarsia.define_op(name="py_parted", variadic="parts")
    class parted:
        """Cuts into equal parts."""

        n: int = 2

        def __init__(self):
            seen.append(self.n)

        def arity(self):
            return self.n

        def infer_shape(self, x):
            return [(x[0] // self.n,)] * self.n

        def forward(self, x, parts):
            assert len(parts) == self.n
            for y, part in zip(parts, np.split(x, self.n)):
                y[...] = part

        def backward(self, dparts, x, parts, dx):
            dx[...] = np.concatenate(dparts)

    x = np.arange(6.0)
    assert [y.tolist() for y in parted(x, n=3)] == [[0, 1], [2, 3], [4, 5]] and seen == [3]
    assert parted(x, n=1).tolist() == x.tolist()
    bound = parted.bind(x)
    y = bound(x)
    assert len(bound.outputs) == 2 and bound.backward([2 * y[0], y[1]], x, y)[0].tolist() == [0, 2, 4, 3, 4, 5]
    assert bound.backward([y[0], y[1]], [x])[0].tolist() == x.tolist()
    total = np.ones(3)
    first, last = bound(x, out=[total, np.zeros(3)], req=["add", "write"])
    assert first.tolist() == [1, 2, 3] and last.tolist() == [3, 4, 5]
    assert_op("py_parted", shapes=[(4,)], dtypes="float64")
    assert parted.__doc__.startswith("py_parted(x, *, n=2) -> (*parts)")

    @tarsia.define_op(name="py_pairs", variadic=("xs", "ys"), outputs=("total", "ys"), arity=lambda *, n: n,
                      infer_shape=lambda xs, *, n: [xs[0]] * (n + 1))
    def pairs(xs, total, ys, *, n: int):
        total[...] = sum(xs)
        for k, y in enumerate(ys):
            y[...] = k * xs[0]

    assert [y.tolist() for y in pairs(np.ones(1), np.ones(1), n=2)] == [[2], [0], [1]]
    assert pairs(np.ones(1), n=0).tolist() == [1]
    for bad in (-1, "two"):
        with pytest.raises(TypeError, match="op 'py_uncounted', number of inputs and outputs: TypeError: arity gives the number of tensors"):
            tarsia.define_op(name="py_uncounted", variadic="y", arity=lambda: bad)(lambda x, y: None)(x)


@pytest.mark.parametrize("options, told", [
    ({"name": 5}, "name must be a str, got 5"), ({"name": "o", "outputs": 5}, "outputs must be a str or a list of them, got 5"),
    ({"name": "o", "devices": 5}, "devices must be a str or a list of them, got 5")])
def test_options_of_a_wrong_type_are_named(options, told):
    with pytest.raises(tarsia.Error, match=told):
        tarsia.define_op(lambda x, y: None, **options)


def test_an_output_that_is_not_written_is_an_error():
    """Its memory would be unset. What is written through views, in part, or by other means is fine."""

    def define(forward, **options):
        return tarsia.define_op(forward, name="py_unwritten", **options)

    def other_name(x, y):
        y = x * 2  # noqa: F841

    def never(x, y):
        pass

    for dtype in (np.float32, np.float64, np.float16, np.int32, np.uint8, np.bool_, np.complex64):
        x = np.ones((4, 4), dtype)
        for forward in (other_name, never):
            with pytest.raises(tarsia.OpError, match="op 'py_unwritten', forward on the CPU: output 'y' is not written: forward has to"):
                define(forward)(x)

    def through_a_view(x, y):
        y.reshape(-1)[::-1][...] = x.reshape(-1)

    def in_parts(x, y):
        y[2:3] = x[2:3]

    def nan(x, y):
        y[...] = np.nan

    def zero_copies(x, y):
        y[...] = 0

    x = np.arange(16, dtype=np.float32).reshape(4, 4)
    assert (define(through_a_view)(x) == x[::-1, ::-1]).all()
    assert (define(in_parts)(x)[2:3] == x[2:3]).all()
    assert np.isnan(define(nan)(x)).all() and (define(zero_copies)(x) == 0).all()
    for shape in ((), (1,), (0,), (3,)):
        assert define(zero_copies)(np.ones(shape, np.float32)).shape == shape
    for n in (1, 2, 3):  # too few bytes to be sure: they begin as zeros
        assert define(never)(np.ones(n, np.uint8)).tolist() == [0] * n
    for small in (np.ones(4, np.uint8), np.ones(1, np.int32), np.ones(1, np.bool_), np.ones(3, np.bool_)):
        with pytest.raises(tarsia.OpError, match="output 'y' is not written"):
            define(never)(small)
        assert (define(zero_copies)(small) == 0).all()
    with pytest.raises(tarsia.OpError, match="output 'y' is not written"):
        define(never)(np.ones((), np.float32))
    # A caller's memory is set.
    out = np.full((4, 4), 3, np.float32)
    assert define(never)(x, out=out) is out and (out == 3).all()
    define(through_a_view)(x, out=x)
    assert x[0, 0] == 15


def test_a_gradient_that_is_not_written_is_an_error():
    class Op:
        def forward(self, x, y):
            y[...] = x

        def backward(self, dy, x, y, dx):
            pass

    op = tarsia.define_op(Op, name="py_no_gradient")
    x = np.ones(4, np.float32)
    with pytest.raises(tarsia.OpError, match="op 'py_no_gradient', backward on the CPU: the gradient of 'x' is not written"):
        op.backward(x, x, x)
