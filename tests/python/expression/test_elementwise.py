"""tarsia.elementwise against NumPy: broadcasting, strides, types, places, and what is refused."""

import inspect

import ml_dtypes
import numpy as np
import pytest
import torch
from arrays import strided

import tarsia

SAXPY = tarsia.elementwise("T x, T y, float a", "T z", "z = a * x + y", "saxpy")
MIXED = tarsia.elementwise("T x, U y", "U sum, bool less", "sum = x + y; less = x < y", "mixed")
DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"]


@pytest.mark.parametrize("seed", range(60))
def test_broadcasts_over_any_strides_as_numpy_does(seed):
    rng = np.random.default_rng(seed)
    shape = tuple(int(n) for n in rng.integers(1, 6, rng.integers(0, 6)))
    if seed % 3 == 0:
        shape = (*shape[:2], int(rng.integers(500, 3000)))
    x, y = (strided(rng, tuple(1 if rng.random() < 0.25 else n for n in shape)[int(rng.integers(0, 2)) * len(shape[:1]):])
            for _ in range(2))
    expected = np.float32(2) * x + y
    z = SAXPY(x, y, 2.0)
    assert isinstance(z, np.ndarray) and z.dtype == np.float32
    np.testing.assert_allclose(z, expected, rtol=1e-6)
    out = strided(rng, expected.shape)
    if not out.flags.writeable:
        out = out.copy()
    assert SAXPY(x, y, 2.0, out=out) is out
    np.testing.assert_allclose(out, expected, rtol=1e-6)


@pytest.mark.parametrize("one", DTYPES)
@pytest.mark.parametrize("other", ["int8", "uint64", "float16", "float64", "bool"])
def test_types_are_those_of_the_tensors(one, other):
    rng = np.random.default_rng(7)
    x, y = (rng.integers(0, 2 if dtype == "bool" else 60, (3, 700)).astype(dtype) for dtype in (one, other))
    total, less = MIXED(x, y)
    assert total.dtype == y.dtype and less.dtype == bool
    # C++ adds as numbers of int at least, and the sum is converted.
    np.testing.assert_array_equal(total, (x.astype(np.float64) + y.astype(np.float64)).astype(y.dtype))
    np.testing.assert_array_equal(less, x.astype(np.float64) < y.astype(np.float64))


def test_sixteen_bit_floats_are_floats_in_the_expression():
    x = np.linspace(-3, 3, 1001, dtype=np.float32)
    square = tarsia.elementwise("T x", "T y", "static_assert(sizeof(T) == 4); y = x * x + T(1) / 3")
    for dtype in (np.float16, ml_dtypes.bfloat16):
        narrow = x.astype(dtype)
        wide = narrow.astype(np.float32)
        result = square(narrow) if dtype is np.float16 else square(torch.from_numpy(wide).bfloat16())
        expected = (wide * wide + np.float32(1) / 3).astype(dtype)
        found = result if dtype is np.float16 else result.float().numpy().astype(dtype)
        np.testing.assert_array_equal(found.view(np.uint16), expected.view(np.uint16))


def test_small_floats_are_rounded_as_numpy_rounds_them():
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    widen = tarsia.elementwise("half x", "float y", "y = x", "widen")
    narrow = tarsia.elementwise("float x", "half y", "y = x", "narrow")
    np.testing.assert_array_equal(widen(every), every.astype(np.float32))
    rng = np.random.default_rng(1)
    values = np.concatenate([rng.integers(0, 1 << 32, 100000, dtype=np.uint32).view(np.float32),
                             (rng.standard_normal(100000) * 2.0 ** rng.integers(-30, 20, 100000)).astype(np.float32)])
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(narrow(values), values.astype(np.float16))


def test_numbers_take_the_type_that_tensors_tell():
    x = np.ones(3, np.float32)
    scale = tarsia.elementwise("T x, T y", "T z", "z = x * y")
    assert scale(x, 3).dtype == np.float32
    assert scale(2.5, x).dtype == np.float32
    assert scale(x, np.float64(2)).dtype == np.float32
    assert scale(np.int8(2), np.ones(3, np.int8)).dtype == np.int8
    # no tensor: as in NumPy
    assert scale(2, 3).dtype == np.int64 and scale(2, 3) == 6
    assert scale(2, 2.5).dtype == np.float64 and scale(2, 2.5) == 5
    assert scale(True, True).dtype == bool
    assert scale(np.float32(2), np.float32(3)).dtype == np.float32
    assert scale(2, 3).shape == ()
    # a tensor without dimensions tells
    assert scale(np.array(2, np.int16), 3).dtype == np.int16


def test_torch_tensors_give_torch_tensors():
    x = torch.randn(5, 300)
    z = SAXPY(x.t(), x.t(), 2.0)
    assert isinstance(z, torch.Tensor) and torch.allclose(z, 3 * x.t())
    half = x.half()
    assert SAXPY(half, half, 0.5).dtype == torch.float16
    brain = x.bfloat16()
    assert torch.equal(SAXPY(brain, brain, 1.0), (brain.float() * 2).bfloat16())
    out = torch.empty(300, 5)
    assert SAXPY(x.t(), 0, 1.0, out=out) is out and torch.equal(out, x.t())


@pytest.mark.parametrize("shape", [(0,), (3, 0, 2), (0, 0)])
def test_nothing_is_done_to_no_elements(shape):
    x = np.zeros(shape, np.float32)
    assert SAXPY(x, 1, 2.0).shape == shape
    assert SAXPY(np.zeros((*shape, 1), np.float32), np.zeros(3, np.float32), 1.0).shape == (*shape, 3)
    for part in ((2, 1), (2, 3, 1), (1, 2, 1, 1)):
        whole = np.broadcast_shapes(part, (*shape[:-1], 1, 1, 0))
        assert SAXPY(np.zeros(part, np.float32), np.zeros(whole, np.float32), 1.0).shape == whole
        assert SAXPY(np.zeros(whole, np.float32), np.zeros(part, np.float32), 1.0).shape == whole


@pytest.mark.parametrize("rank", [8, 12, 32])
def test_many_dimensions(rank):
    x = np.arange(2 ** min(rank, 10), dtype=np.float32).reshape([2] * min(rank, 10) + [1] * (rank - min(rank, 10)))
    y = np.ones([1] * rank, np.float32)
    np.testing.assert_array_equal(SAXPY(x, y, 1.0), x + 1)
    z = np.arange(256, dtype=np.float32).reshape([2] * 8).transpose(3, 1, 7, 0, 2, 5, 4, 6)
    np.testing.assert_array_equal(SAXPY(z, z[::-1, :, ::-1], 1.0), z + z[::-1, :, ::-1])


def test_large_tensors_are_shared_among_threads():
    rng = np.random.default_rng(3)
    x, y = rng.random((2, 1 << 22)).astype(np.float32)
    np.testing.assert_array_equal(SAXPY(x, y, 2.0), 2 * x + y)
    wide = x.reshape(1 << 11, 1 << 11)
    np.testing.assert_array_equal(SAXPY(wide.T, wide, 2.0), 2 * wide.T + wide)


def test_outputs_may_be_inputs():
    x = np.arange(5000, dtype=np.float32)
    y = np.ones(5000, np.float32)
    expected = 2 * x + y
    assert SAXPY(x, y, 2.0, out=x) is x
    np.testing.assert_array_equal(x, expected)
    # by position, after the inputs, as in CuPy
    z = np.empty_like(x)
    assert SAXPY(x, y, 2.0, z) is z
    cube = np.arange(60, dtype=np.float32).reshape(3, 4, 5).transpose(2, 0, 1)
    expected = cube * 2 + cube
    SAXPY(cube, cube, 2.0, out=cube)
    np.testing.assert_array_equal(cube, expected)


def test_outputs_beside_inputs_in_one_array():
    data = np.arange(4000, dtype=np.float32).reshape(40, 100)
    for out, x in [(data[:, ::2], data[:, 1::2]), (data[::2], data[1::2]), (data[:, :50], data[:, 50:]), (data[:20], data[20:]),
                   (data[1::2, 3:7], data[::2, 3:7]), (data[:20, :50], data[20:, 50:])]:
        expected = x + 1
        SAXPY(x, 1, 1.0, out=out)
        np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("cut", [lambda d: (d[1:], d[:-1]), lambda d: (d[:-1], d[1:]), lambda d: (d[::-1], d),
                                 lambda d: (d.reshape(10, 10).T, d.reshape(10, 10)), lambda d: (d[::2], d[:50])])
def test_outputs_that_overlap_inputs_otherwise_are_refused(cut):
    out, x = cut(np.arange(100, dtype=np.float32))
    with pytest.raises(ValueError, match="saxpy: output 'z' overlaps input 'x' in memory; pass a copy"):
        SAXPY(x, 1, 1.0, out=out)


def test_outputs_share_no_memory():
    data = np.zeros(10, np.float32)
    two = tarsia.elementwise("T x", "T y, T z", "y = x; z = x", "two")
    with pytest.raises(ValueError, match="output 'y' overlaps output 'z'"):
        two(np.ones(9, np.float32), out=(data[1:], data[:-1]))
    with pytest.raises(ValueError, match="elements of output 'z' share memory with each other"):
        SAXPY(1.0, np.ones(3, np.float32), 1.0, out=np.lib.stride_tricks.as_strided(data, (3,), (0,)))
    y, z = two(np.ones(3, np.float32), out=(data[:3], None))
    assert y.base is data and z.tolist() == [1, 1, 1]


def test_inout_reads_what_is_there():
    add = tarsia.elementwise("T x", "inout T sum", "sum += x", "add")
    total = np.ones((4, 3), np.float32)
    assert add(np.arange(3, dtype=np.float32), total) is total
    np.testing.assert_array_equal(total, 1 + np.tile(np.arange(3), (4, 1)))
    half = np.ones((3, 4), np.float16).T
    add(np.arange(3, dtype=np.float16), out=half)
    np.testing.assert_array_equal(half, total)
    keep = tarsia.elementwise("T x", "inout T y", "if (x > 0) y = x", "keep")
    y = np.full(3, 7, np.int32)
    keep(np.array([1, -1, 2], np.int32), y)
    assert y.tolist() == [1, 7, 2]
    with pytest.raises(TypeError, match="output 'sum' is read too"):
        add(np.ones(3, np.float32))


def test_index_and_place():
    x = np.zeros((4, 5), np.float32)
    number = tarsia.elementwise("T x", "int64 n, int32 row, int32 column", "n = i; row = _ind.get()[0]; column = _ind.get()[1]")
    n, row, column = number(x.T.copy().T)
    np.testing.assert_array_equal(n, np.arange(20).reshape(4, 5))
    np.testing.assert_array_equal(row, np.indices((4, 5))[0])
    np.testing.assert_array_equal(column, np.indices((4, 5))[1])
    size = tarsia.elementwise("T x", "int64 n", "n = _ind.size() * 10 + _ind.ndim()")
    assert (size(x) == 202).all()


def test_raw_parameters_are_indexed_by_the_operation():
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    reverse = tarsia.elementwise("raw T x", "T y", "y = x[x.size() - 1 - i]", "reverse")
    np.testing.assert_array_equal(reverse(x, size=12), x.ravel()[::-1])
    np.testing.assert_array_equal(reverse(x.T, size=12), x.T.ravel()[::-1])
    np.testing.assert_array_equal(reverse(x.astype(np.float16), np.empty(12, np.float16)), x.ravel()[::-1])
    take = tarsia.elementwise("raw T table, int32 at", "T y", "y = table[at]", "take")
    np.testing.assert_array_equal(take(x, np.array([[3], [7]], np.int32)), [[3], [7]])
    count = tarsia.elementwise("int32 x, raw int32 bins", "raw int32 total", "atomicAdd(&total[x % bins.shape()[0]], 1)", "count")
    total = np.zeros(3, np.int32)
    count(np.arange(10, dtype=np.int32), np.zeros(3, np.int32), total)
    assert total.tolist() == [4, 3, 3]
    with pytest.raises(ValueError, match="reverse: no tensor tells how many elements there are; pass size=, or out="):
        reverse(x)
    with pytest.raises(TypeError, match="saxpy: size is for calls without a tensor that tells the shape; here 'x' does"):
        SAXPY(x, 1, 1.0, size=3)
    with pytest.raises(TypeError, match="output 'total' is raw: it has to be given"):
        count(np.arange(10, dtype=np.int32), total)


def test_no_input_at_all():
    ramp = tarsia.elementwise("float step", "float y", "y = i * step", "ramp")
    assert ramp(0.5, size=4).tolist() == [0, 0.5, 1, 1.5]
    assert ramp(0.5).tolist() == 0
    constant = tarsia.elementwise("", "float y", "y = 4", "constant")
    assert constant(size=2).tolist() == [4, 4]
    with pytest.raises(ValueError, match="constant: no tensor tells"):
        constant()
    out = np.empty((2, 2), np.float32)
    assert ramp(2.0, out=out).tolist() == [[0, 2], [4, 6]]


def test_functions_of_the_preamble_and_of_mathematics():
    x = np.linspace(-2, 2, 501).astype(np.float32)
    gelu = tarsia.elementwise("T x", "T y", "y = half_of(x) * (1 + erf(x * T(0.70710678)))", "gelu",
                              preamble="template <class T> TARSIA_HOST_DEVICE T half_of(T x) { return x / 2; }")
    expected = torch.nn.functional.gelu(torch.from_numpy(x)).numpy()
    np.testing.assert_allclose(gelu(x), expected, atol=1e-6)
    relu = tarsia.elementwise("T x", "T y", "y = max(x, 0)", "relu")
    np.testing.assert_array_equal(relu(x), np.maximum(x, 0))
    own = tarsia.elementwise("T x", "T y", "y = max(x, 0)", "own", preamble="static int max(float, int) { return 5; }")
    assert (own(x) == 5).all()
    root = tarsia.elementwise("T x", "double y", "y = sqrt(x) + rsqrt(1.f)", "root")
    np.testing.assert_allclose(root(np.arange(4)), np.sqrt(np.arange(4)) + 1)


def test_names_of_parameters_meet_nothing_of_tarsias():
    names = ["k", "n", "w", "s", "d", "c", "load", "store", "raw_", "gather", "host", "spread", "max", "T1", "R", "data", "tail", "first"]
    for name in names:
        if name.endswith("_"):
            with pytest.raises(ValueError, match="names that end in _"):
                tarsia.elementwise(f"T {name}", "T y", f"y = {name}")
            continue
        f = tarsia.elementwise(f"T {name}, float {name}2", "T y", f"y = {name} + {name}2")
        assert f(np.ones(3, np.float32), 2.0).tolist() == [3, 3, 3], name
        f = tarsia.elementwise(f"float x, raw float {name}", "float y", f"y = x + {name}[0]")
        assert f(np.ones(3, np.float32), np.ones(1, np.float32)).tolist() == [2, 2, 2], name


def test_it_describes_itself():
    assert repr(SAXPY) == "<tarsia.Expression saxpy(T x, T y, float a) -> (T z): z = a * x + y>"
    assert SAXPY.__name__ == "saxpy" and "broadcast" in SAXPY.__doc__ and SAXPY.__doc__.startswith("saxpy(T x")
    assert list(inspect.signature(SAXPY).parameters) == ["x", "y", "a", "z", "out", "size", "stream"]
    assert "z = a * x + y" in SAXPY.source("float32", "float32", "float", "float32")
    assert "__global__" in SAXPY.source("float32", "float32", "float", "float32", gpu=True)
    assert isinstance(SAXPY, tarsia.Expression)
    with pytest.raises(AttributeError):
        SAXPY.nothing
    documented = tarsia.elementwise("T x", "T y", "y = x", "same", doc="Gives the same.")
    assert "Gives the same." in documented.__doc__


def test_arguments_by_name():
    x = np.ones(3, np.float32)
    assert SAXPY(y=x, a=2.0, x=x).tolist() == [3, 3, 3]
    with pytest.raises(TypeError, match="saxpy: input 'x' is given twice"):
        SAXPY(x, x, 2.0, x=x)
    with pytest.raises(TypeError, match="saxpy: input 'a' is missing"):
        SAXPY(x, x)
    with pytest.raises(TypeError, match="there is no parameter 'b', and out, size and stream are all"):
        SAXPY(x, x, 2.0, b=1)
    with pytest.raises(TypeError, match="takes 3 inputs and 1 outputs, got 5"):
        SAXPY(x, x, 2.0, x, x)


@pytest.mark.parametrize(("arguments", "kind", "message"), [
    (lambda x: (x, x.astype(np.float64), 2.0), TypeError,
     "T is float32 by 'x' and float64 by 'y'; convert one of them, or give it a type letter of its own"),
    (lambda x: (x, x, x.astype(np.float64)), TypeError, "input 'a' is declared as float, which is float32, and was given numpy.ndarray of"),
    (lambda x: (x, "text", 2.0), TypeError, "input 'y' is float32: a tensor or a number of that kind, got str"),
    (lambda x: (x, None, 2.0), TypeError, "input 'y' is float32"),
    (lambda x: (x, x[:2], 2.0), ValueError, r"shapes \(3,\) of 'x' and \(2,\) of 'y' do not broadcast"),
    (lambda x: (x.astype(np.complex64), 1, 2.0), TypeError, "input 'x' has elements of complex64, which expressions do not take"),
    (lambda x: (x.astype(np.int8), 300, 2.0), ValueError, "input 'y' is int8, which does not hold 300"),
    (lambda x: (x.astype(np.int8), 1.5, 2.0), TypeError, "input 'y' is int8: a tensor or a number of that kind, got float"),
    (lambda x: (np.ma.array(x), x, 2.0), TypeError, "input 'x' is a .*mask"),
    (lambda x: (x.astype(">f4"), x, 2.0), TypeError, "input 'x'"),
    (lambda x: (torch.zeros(3, device="meta"), 1, 2.0), ValueError, "input 'x'"),
    (lambda x: (x, torch.zeros(3), 1.0), TypeError,
     "input 'y' is a torch.Tensor, and the tensors before it are of numpy: the tensors of one call belong to one framework"),
    (lambda x: (x, x, 1e300), ValueError, r"input 'a' is float32, which does not hold 1e\+300"),
])
def test_bad_arguments_are_named(arguments, kind, message):
    with pytest.raises(kind, match="saxpy: .*" + message):
        SAXPY(*arguments(np.ones(3, np.float32)))


@pytest.mark.parametrize(("out", "kind", "message"), [
    (np.ones(4, np.float32), ValueError, r"output 'z' has shape \(4,\), the inputs broadcast to \(3,\)"),
    (np.ones(3, np.float64), TypeError, "T is float32 by 'x' and float64 by 'z'"),
    ([1.0, 2.0], TypeError, "out takes a tensor, got 2 of them"),
    ("text", TypeError, "output 'z' must be a tensor, got str"),
    (np.broadcast_to(np.float32(1), (3,)), ValueError, "output 'z' is read-only"),
])
def test_bad_outputs_are_named(out, kind, message):
    with pytest.raises(kind, match="saxpy: .*" + message):
        SAXPY(np.ones(3, np.float32), 1, 2.0, out=out)


def test_a_type_that_nothing_tells():
    cast = tarsia.elementwise("T x", "U y", "y = x", "cast")
    with pytest.raises(TypeError, match="cast: output 'y' has the type U, which no input tells; pass out="):
        cast(np.ones(3))
    assert cast(np.ones(3), out=np.zeros(3, np.int8)).dtype == np.int8
    larger = np.zeros((2, 3), np.int8)
    assert cast(np.ones(3), larger).tolist() == [[1, 1, 1], [1, 1, 1]]


@pytest.mark.parametrize(("arguments", "message"), [
    (("T", "T z", "z = 1"), "'T' is no parameter: write a type and a name"),
    (("T* x", "T z", "z = 1"), r"'T\*' in 'T\* x' is no element type.*pointers and references are not written"),
    (("Float x", "T z", "z = 1"), "'Float' in 'Float x' is no element type: take a letter such as T"),
    (("T x, T x", "T z", "z = x"), "two parameters are called 'x'"),
    (("T z", "T z", "z = 1"), "two parameters are called 'z'; .*inout"),
    (("T i", "T z", "z = i"), "the name 'i' is taken"),
    (("T while", "T z", "z = 1"), "'while' in 'T while' is no name"),
    (("T x", "", "x"), "there is no output"),
    (("T x", "T z", "x + 1"), "output 'z' is never assigned: the operation has to hold 'z = …'"),
    (("inout T x", "T z", "z = x"), "inout is for outputs"),
    (("T x", "T z", "z = x", "not a name"), "'not a name' is no name for a function"),
])
def test_bad_declarations_are_told_at_once(arguments, message):
    with pytest.raises(ValueError, match=message):
        tarsia.elementwise(*arguments)


def test_declarations_of_a_wrong_type():
    with pytest.raises(TypeError, match="operation must be a str, got int"):
        tarsia.elementwise("T x", "T y", 3)
    with pytest.raises(TypeError, match="inputs must be a str such as"):
        tarsia.elementwise(["T x"], "T y", "y = x")


def test_errors_stand_in_the_users_text():
    x = np.ones(3, np.float32)
    wrong = tarsia.elementwise("T x", "T y", """
        y = x;
        y += nothing;
    """, "wrong")
    with pytest.raises(tarsia.CompileError) as caught:
        wrong(x)
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.file, diagnostic.line, diagnostic.column) == ("wrong: operation", 3, 14)
    assert diagnostic.source_line.strip() == "y += nothing;"
    assert "test_elementwise.py" in (diagnostic.origin or "")
    assert "wrong does not compile for T x = float32, T y = float32" in str(caught.value)
    for operation in ("y = x +", "y = (x", "return;"):
        with pytest.raises(tarsia.CompileError) as caught:
            tarsia.elementwise("T x", "T y", operation + "; y = 0" if operation == "return;" else operation, "wrong")(x)
        assert caught.value.diagnostics[0].file == "wrong: operation"
    with pytest.raises(tarsia.CompileError) as caught:
        tarsia.elementwise("T x", "T y", "y = f(x)", "wrong", preamble="int f(float x) {\n  return x + z;\n}")(x)
    assert (caught.value.diagnostics[0].file, caught.value.diagnostics[0].line) == ("wrong: preamble", 2)


@pytest.mark.parametrize("operation", ["if (x > 0) y = x", "y += x", "T other = y; y = other"])
def test_outputs_that_are_not_assigned_on_every_path_are_errors(operation):
    with pytest.raises(tarsia.CompileError, match="output 'y' is not assigned on every path; declare it as inout"):
        tarsia.elementwise("T x", "T y", operation, "half_done")(np.ones(3, np.float32))


def test_options_are_those_of_load_inline():
    f = tarsia.elementwise("T x", "T y", "y = x + K", "defined", defines={"K": 4})
    assert f(np.ones(2)).tolist() == [5, 5]


def test_exceptions_of_the_operation_reach_the_caller():
    positive = tarsia.elementwise("T x", "T y", 'if (x < 0) throw std::domain_error("below zero"); y = x', "positive",
                                  preamble="#include <stdexcept>")
    x = np.ones(1 << 20, np.float32)
    assert positive(x).sum() == x.size
    x[-5] = -1
    for _ in range(3):
        with pytest.raises(tarsia.OpError, match="below zero"):
            positive(x)


@pytest.mark.parametrize("name", ["host", "spread", "T", "Work_", "call_", "tarsia"])
def test_names_may_be_those_of_what_the_loops_are_made_of(name):
    x = np.array([-2, 1], np.float32)
    assert tarsia.elementwise("T x", "T y", "y = abs(x)", name)(x).tolist() == [2, 1]
    assert tarsia.reduction("T x", "T y", "abs(x)", "a + b", "y = a", "0", name)(x) == 3


def test_any_number_of_type_letters():
    n = 1000
    f = tarsia.elementwise(", ".join(f"T{k} x{k}" for k in range(n)) + f", T{n - 1} z", "double y", "y = x0", "many")
    x = np.ones(2, np.float32)
    with pytest.raises(TypeError, match="T999 is float32 by 'x999' and float64 by 'z'"):
        f(*[x] * n, x.astype(np.float64))


def test_a_type_is_compiled_once():
    f = tarsia.elementwise("T x", "T y", "y = x", "once")
    for dtype in (np.float32, np.float64, np.float32):
        f(np.ones(2, dtype))
    before = tarsia.stats()["last_compile"]
    f(np.ones((3, 1), np.float32)[:, ::-1])
    assert set(f.libraries) == {("cpu", "float32", "float32"), ("cpu", "float64", "float64")}
    assert tarsia.stats()["last_compile"] == before
