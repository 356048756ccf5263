"""Parameters and results of every kind that is no tensor."""

import decimal
import enum
import fractions

import numpy as np
import pytest

import tarsia

INTS = {"same_i8": (-(2**7), 2**7 - 1), "same_u8": (0, 2**8 - 1), "same_i16": (-(2**15), 2**15 - 1),
        "same_u16": (0, 2**16 - 1), "same_i32": (-(2**31), 2**31 - 1), "same_u32": (0, 2**32 - 1),
        "same_i64": (-(2**63), 2**63 - 1), "same_u64": (0, 2**64 - 1)}


@pytest.mark.parametrize("name", INTS)
def test_integers_take_exactly_their_range(lib, name):
    least, most = INTS[name]
    same = getattr(lib, name)
    for number in (least, most, 0, 1):
        assert same(number) == number
        assert type(same(number)) is int
    for number in (least - 1, most + 1, 2**70, -(2**70)):
        with pytest.raises(tarsia.ArgumentValueError, match=r"must be an int from .* got"):
            same(number)


def test_integers_take_what_has_an_index(lib):
    assert lib.same_i32(np.int64(5)) == 5
    assert lib.same_i32(np.uint8(200)) == 200
    assert lib.same_i32(True) == 1
    assert lib.same_i32(enum.IntEnum("E", {"a": 3}).a) == 3
    assert lib.same_enum(7) == 7


def test_numbers_by_const_reference(lib):
    assert lib.by_const_reference(0.5, 2, True, 7) == 10.5
    inline = tarsia.load_inline("""
        enum class Colour : unsigned char { red, green = 7 };
        double f(const float& a, const long& b, const bool& c, const Colour& d, const _Float16& e, const double& g = 2) {
          return a + b + c + int(d) + float(e) + g; }
        float refused(float& a) { return a; }""")
    assert inline.f(0.5, 2, True, 7, 0.25) == 12.75 and inline.f(a=0.5, b=2, c=False, d=7, e=0, g=1.0) == 10.5
    assert "is a reference; take a value or a pointer" in inline.skipped["refused"]


@pytest.mark.parametrize("bad", [1.0, "1", None, b"1", [1], 1j, decimal.Decimal(1), np.float32(1)])
def test_integers_refuse_other_types(lib, bad):
    with pytest.raises(tarsia.ArgumentTypeError, match="must be an int"):
        lib.same_i32(bad)


def test_an_error_of_index_arrives_as_it_is(lib):
    class Bad:
        def __index__(self):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        lib.same_i32(Bad())


def test_floats(lib):
    assert lib.same_f64(0.1) == 0.1
    assert lib.same_f64(3) == 3.0 and type(lib.same_f64(3)) is float
    assert lib.same_f64(True) == 1.0
    assert lib.same_f32(0.1) == float(np.float32(0.1))
    assert lib.same_f64(np.float32(0.5)) == 0.5
    assert lib.same_f64(np.int16(4)) == 4.0
    assert lib.same_f64(fractions.Fraction(1, 4)) == 0.25
    assert lib.same_f64(decimal.Decimal("1.5")) == 1.5
    assert lib.same_f32(float("inf")) == float("inf")
    assert np.isnan(lib.same_f32(float("nan")))
    assert lib.same_f32(3.4028234663852886e38) == 3.4028234663852886e38


def test_floats_have_a_range(lib):
    for number in (1e39, -1e39, 3.5e38):
        with pytest.raises(tarsia.ArgumentValueError, match="range of float32"):
            lib.same_f32(number)
    with pytest.raises(tarsia.ArgumentValueError, match="range of float64"):
        lib.same_f64(10**400)


@pytest.mark.parametrize("bad", ["1.0", None, [1.0], 1j, np.zeros(1), np.array(1.0)])
def test_floats_refuse_other_types(lib, bad):
    with pytest.raises(tarsia.ArgumentTypeError, match="must be a float"):
        lib.same_f64(bad)


def test_a_tensor_for_a_number_is_told_of_item(lib):
    with pytest.raises(TypeError, match=r"\.item\(\)"):
        lib.same_f64(np.array(1.0))


def test_bools(lib):
    assert lib.invert(True) is False
    assert lib.invert(False) is True
    assert lib.invert(np.bool_(True)) is False
    assert lib.invert(0) is True
    with pytest.raises(tarsia.ArgumentValueError):
        lib.invert(2)
    for bad in (1.0, "True", None, []):
        with pytest.raises(tarsia.ArgumentTypeError, match="must be a bool"):
            lib.invert(bad)


@pytest.mark.parametrize("name", ["same_string", "same_string_view", "same_c_string"])
def test_strings(lib, name):
    same = getattr(lib, name)
    for text in ("", "abc", "äöü €", "𝄞", "x" * 10000):
        assert same(text) == text
    assert same(b"bytes") == "bytes"
    with pytest.raises(tarsia.ArgumentTypeError, match="must be a str or bytes"):
        same(1)
    with pytest.raises(tarsia.ArgumentTypeError, match="got None"):
        same(None)
    with pytest.raises(tarsia.ArgumentValueError, match="UTF-8"):
        same("\ud800")


def test_strings_keep_nul_bytes(lib):
    assert lib.length("a\0b") == 3
    assert lib.same_string("a\0b") == "a\0b"


def test_results_that_are_not_utf8_keep_their_bytes(lib):
    assert lib.same_string(b"\xff\xfe").encode("utf-8", "surrogateescape") == b"\xff\xfe"


def test_optionals(lib):
    assert lib.same_optional(None) is None
    assert lib.same_optional("x") == "x"
    assert lib.half(4) == 2
    assert lib.half(3) is None
    assert lib.half(None) is None
    with pytest.raises(tarsia.ArgumentTypeError, match="an int or None"):
        lib.half("x")


def test_nothing(lib):
    assert lib.nothing() is None


def test_lists(lib):
    assert lib.sum_of([1, 2.5, True]) == 4.5
    assert lib.sum_of((1.0,)) == 1.0
    assert lib.sum_of([]) == 0
    assert lib.sum_of(range(5)) == 10
    assert lib.sum_of(np.arange(4.0)) == 6
    assert lib.sum_of([0.5] * 5000) == 2500
    assert lib.join(["a", b"b", "ä"]) == "a;b;ä;"
    for bad in (1, "12", None, {1: 2}):
        with pytest.raises(tarsia.ArgumentTypeError, match="must be a list or tuple, each item a float"):
            lib.sum_of(bad)
    with pytest.raises(tarsia.ArgumentTypeError, match=r"\(1 of 1\) item 1 must be a float, got str 'x'"):
        lib.sum_of([1.0, "x"])


def test_sequences_as_results(lib):
    assert lib.range(4) == [0, 1, 2, 3]
    assert lib.range(0) == []
    assert lib.several() == (1, 2.5, "three", True)
    assert lib.nested() == (["a", "b"], None)


def test_main_takes_words(lib):
    name = len(lib.name)  # argv[0] is the library's name
    assert lib.main() == name
    assert lib.main("a", "bc") == int(f"{name}12")
    with pytest.raises(TypeError, match="item 1 must be a str"):
        lib.main(3)
    with pytest.raises(TypeError):
        lib.main(argv=["a"])


def test_inline_functions_take_what_prebuilt_ones_take():
    inline = tarsia.load_inline("""
    enum class Mode : unsigned char { fast = 1, slow = 250 };
    enum Color { red, green = -3 };
    namespace deep { struct Holder { enum class Inner { a, b }; }; }
    Mode other(Mode mode = Mode::slow) { return mode == Mode::slow ? Mode::fast : Mode::slow; }
    Color same(Color color) { return color; }
    int inner(deep::Holder::Inner x) { return int(x); }
    long double longer(long double x) { return 2 * x; }
    _Float16 half(_Float16 x) { return x / 2; }
    """)
    assert inner_of(inline) == (1, 250, -3, 1, 3.0, 0.75)
    with pytest.raises(ValueError, match=r"must be an int from 0 to 255 \(uint8\)"):
        inline.other(256)
    assert not inline.skipped


def inner_of(lib):
    return lib.other(), lib.other(1), lib.same(-3), lib.inner(1), lib.longer(1.5), lib.half(1.5)


def test_lists_hold_optionals():
    lib = tarsia.load_inline("""
    #include <tarsia/op.h>
    #include <optional>
    #include <string>
    #include <vector>
    enum class Mode { a, b };
    std::vector<std::optional<int>> same(const std::vector<std::optional<int>>& list) { return list; }
    std::vector<std::optional<std::string>> texts(std::vector<std::optional<std::string>> list) { return list; }
    double sum(const std::vector<std::optional<tarsia::Tensor>>& list, std::vector<std::vector<std::optional<double>>> more, Mode m = Mode::b) {
      double sum = int(m);
      for (const auto& x : list) if (x) sum += x->data<const double>()[0];
      for (const auto& row : more) for (const auto& x : row) sum += x.value_or(100);
      return sum;
    }
    void fill(std::vector<std::optional<tarsia::Tensor>> list) { for (auto& x : list) if (x) x->data<double>()[0] = 7; }
    """)
    assert lib.same([1, None, 3]) == [1, None, 3] and lib.same([]) == []
    assert lib.texts(["a", None]) == ["a", None]
    ones = np.ones(2)
    assert lib.sum([ones, None, ones], [[1, None], []]) == 104
    lib.fill([None, ones])
    assert ones[0] == 7
    ones.flags.writeable = False
    assert lib.sum([ones], []) == 8
    with pytest.raises(ValueError, match="writable"):
        lib.fill([None, ones])
    with pytest.raises(TypeError, match=r"item|\[1\]"):
        lib.same([1, "2"])
    with pytest.raises(TypeError, match="None"):
        lib.sum([ones], [None])
