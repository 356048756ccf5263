"""Lazy expressions of <tarsia/math.h>: what NumPy computes, in one pass, for any strides, dtypes and requests."""

import numpy as np
import pytest
import tarsia

SOURCE = r"""
#include <tarsia/op.h>
#include <tarsia/math.h>
namespace math = tarsia::math;
using T = tarsia::StridedTensor;
struct half_of { template <class D> TARSIA_HOST_DEVICE static D Map(D a) { return a / 2; } };
struct scaled { template <class D> TARSIA_HOST_DEVICE static D Map(D a, D b) { return a * b; } };
struct Mix {
  enum { n = 2, is_real = 1 };
  float by;
  template <class C> TARSIA_HOST_DEVICE C operator()(C a, C b) const { return a * C(by) + b; }
};
void products(T y, const T& a, const T& b STREAM) { math::assign(y, a * b + 1.0f WHERE); }
void several(T y, const T& a, const T& b STREAM) {
  math::assign(y, math::exp(-a) / (2 + b) - math::where(math::less(a, b), a, 0.5) WHERE);
}
void own(T y, const T& a, const T& b STREAM) {
  math::assign(y, math::F<half_of>(a + b) - math::apply(Mix{3}, a, 2u) + math::F<scaled>(a, 4.0) WHERE);
}
void whole(T y, const T& a, const T& b STREAM) { math::assign(y, math::clip(a * 3 - b, -2, 40) WHERE); }
void divided(T y, const T& a, const T& b STREAM) { math::assign(y, a / b WHERE); }
void eight(T y, const T& a, const T& b STREAM) { math::assign(y, a + b + a * 2 - b / 4 + a * b WHERE); }
void itself(T y STREAM) { math::assign(y, y * y - y WHERE); }
static void forward(tarsia::Context& c) { math::assign(c.output(0), math::tanh(c.input(0)) * 2 + c.input(1), c, c.request(0)); }
TARSIA_OP(lazy_op).input("a").input("b").output("y").forward("cpu", forward).honours_requests();
"""
ON_CPU = SOURCE.replace(" STREAM", "").replace(" WHERE", "")


@pytest.fixture(scope="module")
def lib():
    return tarsia.load_inline(ON_CPU)


EXPECTED = {
    "products": lambda a, b: a * b + 1,
    "several": lambda a, b: np.exp(-a) / (2 + b) - np.where(a < b, a, 0.5),
    "own": lambda a, b: (a + b) / 2 - (a * 3 + 2) + a * 4,
    "divided": lambda a, b: a / b,
    "eight": lambda a, b: a + b + a * 2 - b / 4 + a * b,
}


@pytest.mark.parametrize("name", EXPECTED)
@pytest.mark.parametrize("dtypes", [("f4", "f4", "f4"), ("f8", "f4", "f8"), ("f4", "i4", "f2"), ("f8", "i8", "u1")])
@pytest.mark.parametrize("layout", ["rows", "columns", "broadcast", "steps"])
def test_they_give_what_numpy_gives(lib, name, dtypes, layout):
    of_y, of_a, of_b = dtypes
    generator = np.random.default_rng(0)
    shape = (3, 300)
    a, b = (generator.random(shape) * 8 + 1).astype(of_a), (generator.random(shape) * 8 + 1).astype(of_b)
    y = np.full(shape, np.nan, of_y)
    if layout == "columns":
        a, y = np.asfortranarray(a), np.asfortranarray(y)
    elif layout == "broadcast":
        b = b[:1]
    elif layout == "steps":
        a, b, y = a[:, ::-3], b[::1, ::3], y[:, ::3]
    getattr(lib, name)(y, a, b)
    expected = EXPECTED[name](a.astype("f8"), b.astype("f8"))
    np.testing.assert_allclose(y, np.broadcast_to(expected, y.shape), rtol=1e-5 if of_y == "f4" or "f4" in (of_a, of_b) else 1e-12)


def test_whole_numbers_stay_whole(lib):
    a, b = np.array([2**60, -5, 7], np.int64), np.array([1, 2, 3], np.int64)
    y = np.empty(3, np.int64)
    lib.whole(y, a, b)
    assert y.tolist() == [40, -2, 18]
    large = np.array([2**60 + 1, 5, 7])
    lib.products(y, large, b)  # 1.0f is a fraction: computed as float64
    assert y.tolist()[1:] == [11, 22]


def test_numbers_above_those_of_int64_stay_positive():
    """Of every type that C++ has: an unsigned number is not taken for a negative one."""
    lib = tarsia.load_inline("""
#include <tarsia/op.h>
#include <tarsia/math.h>
namespace math = tarsia::math;
using T = tarsia::StridedTensor;
enum Few { none, few = 3 };
void clipped(T y, const T& x) { math::assign(y, math::clip(x, 5, 18446744073709551615ull)); }
void lazily(T y, const T& x) { math::assign(y, x + 9223372036854775808ul); }
void eagerly(T y, const T& x) { math::add(y, x, 9223372036854775808ull); }
void all(T y, const T& x) {
  math::assign(y, x + (signed char)-1 + (unsigned char)255 + (short)-2 + 40000u + true + 'a');
  math::add(y, y, few);
  math::add(y, y, 2.5f);
  math::add(y, y, 0.25L);
}
""")
    large = np.array([2**63, 7, 2**64 - 2], np.uint64)
    y = np.empty(3, np.uint64)
    lib.clipped(y, np.array([2**63, 2, 7], np.uint64))
    assert y.tolist() == [2**63, 5, 7]
    for function in (lib.lazily, lib.eagerly):
        function(y, large - np.uint64(2**63 - 1) * (large > 2**62))
        assert y.tolist() == [2**63 + 1, 2**63 + 7, 2**64 - 1]
        out = np.empty(2)
        function(out, np.array([-1, 2**62], np.int64))  # as NumPy: an int64 and a uint64 are doubles
        np.testing.assert_array_equal(out, [2.0**63, 2.0**63 + 2.0**62])
        function(out, np.array([0.5, 2]))
        np.testing.assert_array_equal(out, [2.0**63, 2.0**63])
    out = np.empty(1)
    lib.all(out, np.zeros(1))
    assert out[0] == -1 + 255 - 2 + 40000 + 1 + 97 + 3 + 2.5 + 0.25


def test_functors_of_mshadow():
    lib = tarsia.load_inline("""
#include <tarsia/op.h>
#include <tarsia/math.h>
#include "./mshadow_op.h"
namespace mshadow_op = mxnet::op::mshadow_op;
namespace math = tarsia::math;
void f(tarsia::Tensor y, tarsia::Tensor x) {
  math::assign(y, math::F<mshadow_op::relu>(x) + math::F<mshadow_op::sigmoid>(x) * math::F<mshadow_op::power>(x, 2));
}
""")
    for dtype in ("f4", "f8", "i4"):
        x = np.array([-3, 0, 4], dtype)
        y = np.empty(3, "f8")
        lib.f(y, x)
        wide = x.astype("f8")
        np.testing.assert_allclose(y, np.maximum(wide, 0) + wide**2 / (1 + np.exp(-wide)), rtol=1e-6)


def test_the_output_may_be_in_the_expression(lib):
    y = np.arange(1000.0)
    lib.itself(y)
    np.testing.assert_array_equal(y, np.arange(1000.0) ** 2 - np.arange(1000.0))


def test_requests_are_honoured(lib):
    a, b = np.random.default_rng(1).random((2, 5))
    out = np.ones(5)
    tarsia.ops.lazy_op(a, b, out=out, req="add")
    np.testing.assert_allclose(out, 1 + np.tanh(a) * 2 + b)
    tarsia.ops.lazy_op(a, b, out=out, req="null")
    np.testing.assert_allclose(out, 1 + np.tanh(a) * 2 + b)
    np.testing.assert_allclose(tarsia.ops.lazy_op(a, b), np.tanh(a) * 2 + b)


def test_shapes_that_do_not_go_together_are_told(lib):
    with pytest.raises(ValueError, match="assign"):
        lib.products(np.empty(3), np.empty(3), np.empty(4))


def test_an_expression_of_too_many_parts_says_what_to_do():
    with pytest.raises(tarsia.CompileError, match="an expression has at most 8 tensors and numbers: assign a part of it first"):
        tarsia.load_inline("""#include <tarsia/math.h>
void f(tarsia::Tensor y, tarsia::Tensor a) { tarsia::math::assign(y, a + a + a + a + a + a + a + a + a); }""")


def test_an_expression_that_is_not_assigned_warns():
    lib = tarsia.load_inline("#include <tarsia/math.h>\nvoid f(tarsia::Tensor a) { tarsia::math::exp(a); }")
    assert any(warning.line == 2 and "nodiscard" in warning.message for warning in lib.warnings), lib.warnings


def test_they_compile_for_gpus():
    source = SOURCE.replace("STREAM", ", tarsia::Stream stream").replace("WHERE", ", stream").replace('"cpu"', '"gpu"')
    lib = tarsia.load_inline({"lazy.cu": source}, arch="sm_90")
    assert lib.device_compilers["lazy.cu"].startswith("clang") and lib.cubins
