"""std::span, std::array and std::complex as parameters and results."""

import array

import numpy as np
import pytest

import tarsia

torch = pytest.importorskip("torch")

SOURCE = r"""
#include <tarsia/op.h>
#include <array>
#include <complex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

double sum(std::span<const float> x) { double s = 0; for (float one : x) s += one; return s; }
void fill(std::span<int> x, int value) { for (int& one : x) one = value; }
float last(std::span<const float, 3> x) { return x[2]; }
long bytes(std::span<const std::complex<double>> x) { return long(x.size_bytes()); }
double both(std::span<const float> x, const std::span<const float>& y) { return sum(x) - sum(y); }

std::array<int, 3> next(std::array<int, 3> x) { for (int& one : x) ++one; return x; }
std::string join(const std::array<std::string, 2>& x) { return x[0] + "+" + x[1]; }
std::array<std::array<double, 2>, 2> transpose(const std::array<std::array<double, 2>, 2>& x) {
  return {{{x[0][0], x[1][0]}, {x[0][1], x[1][1]}}};
}
float of_tensors(const std::array<tarsia::Tensor, 2>& x) { return x[0].data<const float>()[0] - x[1].data<const float>()[0]; }
void write_tensors(std::array<tarsia::Tensor, 1> x) { x[0].data<float>()[0] = 5; }

std::complex<double> twice(std::complex<double> z) { return 2.0 * z; }
std::complex<float> narrow(const std::complex<float>& z) { return z; }
std::vector<std::complex<double>> roots(double x) { return {{0, x}, {0, -x}}; }
std::pair<std::complex<double>, int> counted(std::optional<std::complex<double>> z) { return {z.value_or(-1), z.has_value()}; }
double real(double x) { return x; }
int which(double) { return 1; }
int which(std::complex<double>) { return 2; }
"""
NAMES = ("sum", "fill", "last", "bytes", "both", "next", "join", "transpose", "of_tensors", "write_tensors", "twice", "narrow",
         "roots", "counted", "real")


@pytest.fixture(scope="module", params=["inline", "prebuilt"])
def lib(request):
    if request.param == "inline":
        return tarsia.load_inline(SOURCE)
    build = request.getfixturevalue("load_text")
    overloads = "TARSIA_EXPORT(which, int(double));\nTARSIA_EXPORT(which, int(std::complex<double>));\n"
    return build(SOURCE + "".join(f"TARSIA_EXPORT({name});\n" for name in NAMES) + overloads)


@pytest.mark.parametrize("make", [np.array, torch.tensor])
def test_spans_are_over_the_memory_of_tensors(lib, make):
    x = make([[1.0, 2.0], [3.0, 4.0]])
    x = x.float() if make is torch.tensor else x.astype(np.float32)
    assert lib.sum(x) == 10 and lib.sum(x[:0]) == 0 and lib.both(x, x) == 0
    y = make([1, 2, 3])
    y = y.int() if make is torch.tensor else y.astype(np.int32)
    lib.fill(y, 7)
    assert y.tolist() == [7, 7, 7]
    assert lib.last(x.reshape(-1)[:3]) == 3 and lib.last(x.reshape(-1)[1:4]) == 4


def test_spans_take_other_exporters_and_complex_elements(lib):
    assert lib.sum(array.array("f", [1, 2])) == 3
    assert lib.bytes(np.zeros((2, 3), np.complex128)) == 96


def test_what_a_span_writes_is_told_to_autograd(lib):
    x = torch.zeros(2, dtype=torch.int32)
    before = x._version
    lib.fill(x, 1)
    assert x._version == before + 1
    y = torch.zeros(2)
    before = y._version
    lib.sum(y)
    assert y._version == before


@pytest.mark.parametrize(("call", "kind", "said"), [
    (lambda lib: lib.sum(np.zeros(3)), tarsia.ArgumentTypeError, r"must be a float32 tensor, got numpy.ndarray of float64.*astype"),
    (lambda lib: lib.sum([1.0]), tarsia.ArgumentTypeError, r"must be a float32 tensor, got list"),
    (lambda lib: lib.sum(None), tarsia.ArgumentTypeError, r"must be a float32 tensor, got None"),
    (lambda lib: lib.sum(np.zeros((4, 4), np.float32)[:, 1]), tarsia.ArgumentValueError, r"must be contiguous.*ascontiguousarray"),
    (lambda lib: lib.last(np.zeros(4, np.float32)), tarsia.ArgumentValueError,
     r"must be a float32 tensor of 3 elements, got numpy.ndarray of float32, shape \(4,\)"),
    (lambda lib: lib.next([1, 2]), tarsia.ArgumentValueError, r"must be a list or tuple of 3, each item an int, got list \[1, 2\]"),
    (lambda lib: lib.next([1, 2, 2**31]), tarsia.ArgumentValueError, r"item 2.*from -2147483648 to 2147483647"),
    (lambda lib: lib.transpose([[1, 2], [3]]), tarsia.ArgumentValueError, r"item 1.*a list or tuple of 2"),
    (lambda lib: lib.join(["a", 1]), tarsia.ArgumentTypeError, r"item 1.*a str or bytes"),
    (lambda lib: lib.twice("1"), tarsia.ArgumentTypeError, r"must be a complex, got str '1'"),
    (lambda lib: lib.twice(np.zeros(1, complex)), tarsia.ArgumentTypeError, r"must be a complex, got numpy.ndarray"),
    (lambda lib: lib.real(np.complex64(1j)), tarsia.ArgumentTypeError, r"must be a float, got numpy.complex64"),
    (lambda lib: lib.narrow(1e300j), tarsia.ArgumentValueError, r"must be a number within the range of complex64, got 1e\+300j"),
])
def test_what_does_not_fit_is_refused(lib, call, kind, said):
    with pytest.raises(kind, match=said):
        call(lib)


def test_a_span_that_writes_refuses_read_only_memory(lib):
    x = np.zeros(2, np.int32)
    x.flags.writeable = False
    with pytest.raises(tarsia.ArgumentValueError, match="must be writable"):
        lib.fill(x, 1)


def test_arrays_are_lists_of_their_length(lib):
    assert lib.next([1, 2, 3]) == [2, 3, 4] and lib.next((1, 2, 3)) == [2, 3, 4] and lib.next(np.arange(3)) == [1, 2, 3]
    assert lib.join(["a", "b"]) == "a+b"
    assert lib.transpose([[1, 2], [3, 4]]) == [[1, 3], [2, 4]]


def test_tensors_of_a_const_array_are_read_only(lib):
    x = np.ones(1, np.float32)
    y = np.zeros(1, np.float32)
    x.flags.writeable = y.flags.writeable = False
    assert lib.of_tensors([x, y]) == 1
    with pytest.raises(tarsia.ArgumentValueError, match="must be writable"):
        lib.write_tensors([x])
    z = np.zeros(1, np.float32)
    lib.write_tensors([z])
    assert z[0] == 5


def test_complex_numbers_go_in_and_out(lib):
    assert lib.twice(1 + 2j) == 2 + 4j and lib.twice(3) == 6 and lib.twice(1.5) == 3 and type(lib.twice(3)) is complex
    assert lib.twice(np.complex64(1j)) == 2j and lib.twice(np.float32(2)) == 4
    assert lib.narrow(0.1 + 0.2j) == complex(np.complex64(0.1 + 0.2j))
    assert lib.roots(2.0) == [2j, -2j]
    assert lib.counted(1j) == (1j, 1) and lib.counted(None) == (-1, 0)
    assert str(lib.twice(complex("nan+infj"))) == "(nan+infj)"


def test_overloads_tell_complex_numbers_from_real_ones(lib):
    assert (lib.which(1.0), lib.which(1), lib.which(1j)) == (1, 1, 2)


@pytest.mark.parametrize(("text", "why"), [
    ("#include <span>\nstd::span<float> f() { return {}; }", "'std::span<float>' owns nothing; return a std::vector"),
    ("#include <span>\n#include <vector>\nint f(std::vector<std::span<float>> x) { return 0; }", "take a std::vector of tensors"),
    ("#include <span>\n#include <string>\nint f(std::span<std::string> x) { return 0; }", "is over no element type of a tensor"),
    ("#include <array>\nint f(std::array<int, 0> x) { return 0; }", "a fixed size is from 1 to 65535"),
    ("#include <array>\nint f(std::array<int, 70000> x) { return 0; }", "a fixed size is from 1 to 65535"),
    ("#include <complex>\nint f(std::complex<long double> x) { return 0; }", "'std::complex<long double>' has no counterpart"),
])
def test_what_has_no_counterpart_says_why(text, why):
    with pytest.raises(tarsia.LoadError, match=why):
        tarsia.load_inline(text)
