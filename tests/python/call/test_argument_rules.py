"""One table of calls, made from Python and through the C API: both choose the same overload and refuse the same."""

import c_face
import numpy as np
import pytest

import tarsia

SOURCE = r"""
#include <tarsia/op.h>

#include <optional>
#include <string>
#include <vector>

int boolean(bool x) { return x; }
int tiny(int8_t x) { return x; }
int byte(uint8_t x) { return x; }
int64_t wide(int64_t x) { return x; }
double single(float x) { return x; }
double twofold(double x) { return x; }
int length(const std::string& x) { return int(x.size()); }
int c_length(const char* x) { return int(std::string(x).size()); }
double first(const float* x) { return x ? x[0] : -1; }
int pointer(const void* x) { return x != nullptr; }
int rank(const tarsia::StridedTensor& x) { return x.ndim(); }
double sum(const std::vector<double>& x) { double s = 0; for (double y : x) s += y; return s; }
int wants(std::optional<int> x) { return x ? *x : -1; }
int maybe(int a, std::optional<int> b = std::nullopt) { return b ? a + *b : a; }
int pair(int a, int b) { return 10 * a + b; }
int defaults(int a, int b = 2, int c = 3) { return 100 * a + 10 * b + c; }
int64_t middle(int a, tarsia::Stream s, int b) {
  return 100 * int64_t(static_cast<CUstream_st*>(s)) + 10 * a + b;
}
TARSIA_EXPORT(boolean)
TARSIA_EXPORT(tiny)
TARSIA_EXPORT(byte)
TARSIA_EXPORT(wide)
TARSIA_EXPORT(single)
TARSIA_EXPORT(twofold)
TARSIA_EXPORT(length)
TARSIA_EXPORT(c_length)
TARSIA_EXPORT(first)
TARSIA_EXPORT(pointer)
TARSIA_EXPORT(rank)
TARSIA_EXPORT(sum)
TARSIA_EXPORT(wants)
TARSIA_EXPORT(maybe)
TARSIA_EXPORT(pair)
TARSIA_EXPORT(defaults)
TARSIA_EXPORT(middle)

// The loosest first: which one is taken tells how strictly arguments have to fit.
std::string kind(float) { return "float"; }
std::string kind(int) { return "int"; }
std::string kind(bool) { return "bool"; }
std::string kind(const std::string&) { return "string"; }
std::string kind(const float*) { return "float*"; }
std::string kind(const double*) { return "double*"; }
TARSIA_EXPORT(kind, std::string(float))
TARSIA_EXPORT(kind, std::string(int))
TARSIA_EXPORT(kind, std::string(bool))
TARSIA_EXPORT(kind, std::string(const std::string&))
TARSIA_EXPORT(kind, std::string(const float*))
TARSIA_EXPORT(kind, std::string(const double*))
std::string list(const std::vector<float>&) { return "floats"; }
std::string list(const std::vector<int>&) { return "ints"; }
std::string list(const std::vector<std::string>&) { return "strings"; }
TARSIA_EXPORT(list, std::string(const std::vector<float>&))
TARSIA_EXPORT(list, std::string(const std::vector<int>&))
TARSIA_EXPORT(list, std::string(const std::vector<std::string>&))
std::string two(float, float) { return "floats"; }
std::string two(int, float) { return "int, float"; }
TARSIA_EXPORT(two, std::string(float, float))
TARSIA_EXPORT(two, std::string(int, float))
"""

TYPE, VALUE = "ArgumentTypeError", "ArgumentValueError"
ERRORS = {8: TYPE, 9: VALUE}
FLOATS = np.arange(1, 7, dtype=np.float32)
BYTES = np.zeros(32, np.uint8)
MISALIGNED = BYTES[1:25].view(np.float32)

CASES = [
    # Overloads: the first that fits exactly, else the first that fits.
    ("kind", (1,), "int"),
    ("kind", (1.5,), "float"),
    ("kind", (True,), "bool"),
    ("kind", ("x",), "string"),
    ("kind", (FLOATS,), "float*"),
    ("kind", (FLOATS.astype(np.float64),), "double*"),
    ("kind", (2**40,), "float"),
    ("kind", (None,), TYPE),
    ("kind", (FLOATS.astype(np.int32),), TYPE),
    ("kind", (1, 2), TYPE),
    ("list", ([1, 2],), "ints"),
    ("list", ([1.5],), "floats"),
    ("list", ([1, 2.5],), "floats"),
    ("list", ([True],), "floats"),
    ("list", (["a"],), "strings"),
    ("list", ([2**40],), "floats"),
    ("list", ([],), "floats"),
    ("two", (1, 2.0), "int, float"),
    ("two", (1, 2), "floats"),
    ("two", (1.0, 2), "floats"),
    # Numbers.
    ("boolean", (True,), 1),
    ("boolean", (1,), 1),
    ("boolean", (0,), 0),
    ("boolean", (2,), VALUE),
    ("boolean", (1.0,), TYPE),
    ("tiny", (-128,), -128),
    ("tiny", (-129,), VALUE),
    ("tiny", (128,), VALUE),
    ("tiny", (True,), 1),
    ("tiny", (1.0,), TYPE),
    ("byte", (255,), 255),
    ("byte", (256,), VALUE),
    ("byte", (-1,), VALUE),
    ("wide", (-2**63,), -2**63),
    ("single", (1,), 1.0),
    ("single", (True,), 1.0),
    ("single", (3.4028235e38,), 3.4028234663852886e38),
    ("single", (3.5e38,), VALUE),
    ("single", (-1e300,), VALUE),
    ("single", (float("inf"),), float("inf")),
    ("single", ("1",), TYPE),
    ("twofold", (1e300,), 1e300),
    ("twofold", (None,), TYPE),
    ("twofold", (FLOATS,), TYPE),
    # Texts.
    ("length", ("a\0b",), 3),
    ("c_length", ("abc",), 3),
    ("c_length", ("a\0b",), VALUE),
    ("length", (1,), TYPE),
    # Tensors.
    ("first", (FLOATS,), 1.0),
    ("first", (FLOATS[2:],), 3.0),
    ("first", (FLOATS[::2],), VALUE),
    ("first", (FLOATS[:0],), 1.0),
    ("first", (MISALIGNED,), VALUE),
    ("first", (FLOATS.astype(np.float64),), TYPE),
    ("first", (1,), TYPE),
    ("first", (None,), TYPE),
    ("pointer", (MISALIGNED,), 1),
    ("rank", (FLOATS.reshape(2, 3)[:, ::2],), 2),
    ("rank", (1.0,), TYPE),
    # Lists and optionals.
    ("sum", ([1, 2.5, True],), 4.5),
    ("sum", ((1, 2.5),), 3.5),
    ("sum", ([],), 0.0),
    ("sum", ([1, "x"],), TYPE),
    ("sum", ([1, None],), TYPE),
    ("sum", (1.0,), TYPE),
    ("wants", (3,), 3),
    ("wants", (None,), -1),
    ("wants", (2**31,), VALUE),
    ("wants", (), TYPE),
    # How many.
    ("pair", (1, 2), 12),
    ("pair", (1,), TYPE),
    ("pair", (1, 2, 3), TYPE),
    ("maybe", (5,), 5),
    ("maybe", (5, None), 5),
    ("maybe", (5, 6), 11),
    ("defaults", (1,), 123),
    ("defaults", (1, 5), 153),
    ("defaults", (1, 5, 6), 156),
    ("defaults", (), TYPE),
    # Streams are left out wherever they stand.
    ("middle", (1, 2), 12),
    ("middle", (1, None, 2), 12),
    ("middle", (1, c_face.Stream(7), 2), 712),
    ("middle", (1, "x", 2), TYPE),
    ("middle", (1,), TYPE),
]


@pytest.fixture(scope="module")
def path(build_library):
    # What takes a stream runs without a GPU as long as its source, built ahead of time, has no CUDA.
    return build_library(SOURCE)


@pytest.fixture(scope="module")
def c_library(path):
    library = c_face.Library(path)
    yield library
    library.close()


@pytest.fixture(scope="module")
def library(path):
    return tarsia.load(path)


def from_python(library, name, arguments):
    try:
        return getattr(library, name)(*arguments)
    except tarsia.ArgumentError as error:
        return type(error).__name__


def from_c(library, name, arguments):
    try:
        return library.call(name, *arguments)
    except c_face.CallFailed as error:
        return ERRORS[error.code]


def identity(case):
    name, arguments, expected = case
    return f"{name}{arguments!r:.40} gives {expected!r}".replace("\n", " ")


@pytest.mark.parametrize(("name", "arguments", "expected"), CASES, ids=map(identity, CASES))
def test_python_and_c_follow_the_same_rules(library, c_library, name, arguments, expected):
    given = from_python(library, name, arguments), from_c(c_library, name, arguments)
    assert given == (expected, expected)


def test_both_faces_explain_in_the_same_words(library, c_library):
    for name, arguments in (("tiny", (128,)), ("pair", (1,)), ("pair", (1, 2, 3)), ("defaults", ()),
                            ("single", (1e300,))):
        with pytest.raises(tarsia.ArgumentError) as of_python:
            getattr(library, name)(*arguments)
        with pytest.raises(c_face.CallFailed) as of_c:
            c_library.call(name, *arguments)
        assert str(of_c.value) == str(of_python.value)
