"""What mshadow does where another tensor tells the place: places beyond the ends, halves, keys that are no numbers."""

import numpy as np
import pytest

import tarsia

# For the device that the file's language tells: tests/gpu/op/test_class_op_index_on_gpu.py has it as CUDA.
SOURCE = """
#include <mshadow/tensor.h>
#include <mshadow/extension.h>
using namespace mshadow;
using namespace mshadow::expr;
using half::half_t;
#ifdef __CUDACC__
typedef gpu xpu;
#else
typedef cpu xpu;
#endif
template <class T> using Vector = Tensor<xpu, 1, T>;
template <class T> using Matrix = Tensor<xpu, 2, T>;

template <class T> static void place(int which, T* m, int rows, int cols, T* index, int n, T* out, int out_rows) {
  const Matrix<T> from(m, Shape2(rows, cols));
  const Vector<T> at(index, Shape1(n));
  Matrix<T> to(out, Shape2(out_rows, cols));
  switch (which) {
    case 0: to = take(at, from); break;
    case 1: to = take_grad(at, from, out_rows); break;
    case 2: to = one_hot_encode(at, cols); break;
    case 3: Vector<T>(out, Shape1(n)) = mat_choose_row_element(from, at); break;
    case 4: to = mat_fill_row_element(from, at, at); break;
    case 5: AddTakeGrad(to, at, from); break;
    default: IndexFill(to, at, from);
  }
}
void place_float(int which, float* m, int rows, int cols, float* index, int n, float* out, int out_rows) {
  place(which, m, rows, cols, index, n, out, out_rows);
}
void place_int(int which, int* m, int rows, int cols, int* index, int n, int* out, int out_rows) {
  place(which, m, rows, cols, index, n, out, out_rows);
}
// dst (rows, 1) of halves += src (n, 1) of ones, all by the index; if it is sorted, also by the order.
void add_halves(float* result, int rows, const int* index, const int* order, bool is_sorted, float* values, int n) {
  TensorContainer<xpu, 2, half_t> dst(Shape2(rows, 1), half_t(0.0f)), src(Shape2(n, 1));
  src = tcast<half_t>(Matrix<float>(values, Shape2(n, 1)));
  const Vector<int> at(const_cast<int*>(index), Shape1(n)), by(const_cast<int*>(order), Shape1(n));
  if (is_sorted) AddTakeGradLargeBatch(dst, at, by, src);
  else AddTakeGrad(dst, at, src);
  Matrix<float>(result, Shape2(rows, 1)) = tcast<float>(dst);
}
void add_floats(float* dst, int rows, int* index, int* order, float* src, int n) {
  AddTakeGradLargeBatch(Matrix<float>(dst, Shape2(rows, 1)), Vector<int>(index, Shape1(n)), Vector<int>(order, Shape1(n)),
                        Matrix<float>(src, Shape2(n, 1)));
}
void add_none(float* dst, int rows, float* src, int n, int* index, int* order, int length) {
  AddTakeGradLargeBatch(Matrix<float>(dst, Shape2(rows, 1)), Vector<int>(index, Shape1(length)),
                        Vector<int>(order, Shape1(length)), Matrix<float>(src, Shape2(n, 1)));
}
void sort_floats(float* keys, int* values, int n, bool ascends) {
  SortByKey(Vector<float>(keys, Shape1(n)), Vector<int>(values, Shape1(n)), ascends);
}
void sort_halves(float* keys, int* values, int n, bool ascends) {
  TensorContainer<xpu, 1, half_t> of(Shape1(n));
  of = tcast<half_t>(Vector<float>(keys, Shape1(n)));
  SortByKey(static_cast<Vector<half_t>&>(of), Vector<int>(values, Shape1(n)), ascends);
  Vector<float>(keys, Shape1(n)) = tcast<float>(of);
}
void range_long(long* out, int n, long start, long stop, long step) { Vector<long>(out, Shape1(n)) = range<long>(start, stop, step); }
void range_int(int* out, int n, int start, int stop, int step) { Vector<int>(out, Shape1(n)) = range<int>(start, stop, step); }
void range_double(double* out, int n, int start, int stop) { Vector<double>(out, Shape1(n)) = range<double>(start, stop); }
void range_float(float* out, int n, float start, float stop, float step) {
  Vector<float>(out, Shape1(n)) = range<float>(start, stop, step);
}
void range_fraction(int* out, int n) { Vector<int>(out, Shape1(n)) = range<int>(0, 2, 0.5f); }
void range_repeated(int* out, int n, unsigned times) { Vector<int>(out, Shape1(n)) = range<int>(0, 70000, 1, times); }
"""


@pytest.fixture(scope="module")
def library():
    lib = tarsia.load_inline(SOURCE)
    yield lib
    lib.unload()


BEYOND = [-1, 2, 3, 1000, -5, 0]  # of 3 places
CLIPPED = np.clip(BEYOND, 0, 2)


@pytest.fixture(params=["float", "int"])
def place(request, library):
    """Calls place() with arrays of a type; the result lies between guards."""
    dtype = np.dtype(request.param + "32")

    def call(which, m, index, rows, cols=None):
        m, index = np.ascontiguousarray(m, dtype), np.asarray(index, dtype)
        cols = m.shape[1] if cols is None else cols
        out = np.full((rows + 2, max(cols, 1)), 77, dtype)
        out[1:-1] = 0
        getattr(library, "place_" + request.param)(which, m, m.shape[0], cols, index, len(index), out[1:], rows)
        assert (out[0] == 77).all() and (out[-1] == 77).all()
        return out[1:-1]

    return call


def test_rows_beyond_the_ends_are_the_first_and_the_last(place):
    m = np.arange(12).reshape(3, 4)
    np.testing.assert_array_equal(place(0, m, BEYOND, 6), m[CLIPPED])


def test_rows_beyond_the_ends_get_no_gradient(place):
    m = np.arange(24).reshape(6, 4)
    expected = np.zeros((3, 4))
    expected[2], expected[0] = m[1], m[5]
    np.testing.assert_array_equal(place(1, m, BEYOND, 3), expected)


def test_no_column_beyond_the_ends_is_hot(place):
    expected = np.zeros((6, 3))
    expected[1, 2] = expected[5, 0] = 1
    np.testing.assert_array_equal(place(2, np.zeros((6, 3)), BEYOND, 6), expected)


def test_the_elements_beyond_the_ends_of_a_row(place):
    m = np.arange(18).reshape(6, 3)
    np.testing.assert_array_equal(place(3, m, BEYOND, 6).ravel()[:6], m[np.arange(6), CLIPPED])
    expected = m.copy()
    expected[1, 2], expected[5, 0] = 2, 0
    np.testing.assert_array_equal(place(4, m, BEYOND, 6), expected)


def test_rows_beyond_the_ends_are_written_to_the_first_and_the_last(place):
    m = np.arange(24).reshape(6, 4)
    expected = np.zeros((3, 4))
    np.add.at(expected, CLIPPED, m)
    np.testing.assert_array_equal(place(5, m, BEYOND, 3), expected)
    np.testing.assert_array_equal(place(6, m, BEYOND, 3), [m[5], np.zeros(4), m[3]])


@pytest.mark.parametrize("which", [0, 1, 2, 3, 4, 5, 6])
def test_numbers_that_no_integer_is(library, which):
    n = 5 if which in (1, 5, 6) else 4
    m = np.ones((n, 4), np.float32)
    index = np.array([np.nan, np.inf, -np.inf, 3e38, -3e38][:n], np.float32)
    out = np.zeros((6, 4), np.float32)
    library.place_float(which, m, n, 4, index, n, out, 4)
    assert np.isfinite(out[:5]).all() and not out[4:].any()
    if which in (1, 2):
        assert not out.any()


@pytest.mark.parametrize(("which", "rows", "cols"), [(0, 0, 4), (3, 2, 0)])
def test_nothing_can_be_taken_from_an_empty_source(library, which, rows, cols):
    with pytest.raises(tarsia.Error, match="there is nothing to take from"):
        library.place_float(which, np.ones((1, 4), "f4"), rows, cols, np.zeros(2, "f4"), 2, np.zeros((2, 4), "f4"), 2)


def test_an_empty_index_takes_nothing_from_an_empty_source(library):
    library.place_float(0, np.ones((1, 4), "f4"), 0, 4, np.zeros(1, "f4"), 0, np.zeros((1, 4), "f4"), 0)


def test_rows_of_an_empty_source_cannot_be_added(library):
    one, zero = np.zeros(1, "f4"), np.zeros(1, "i4")
    with pytest.raises(tarsia.Error, match="AddTakeGradLargeBatch: there is no row to take from"):
        library.add_none(one, 1, one, 0, zero, zero, 1)
    with pytest.raises(tarsia.Error, match="AddTakeGradLargeBatch: there is no row to write to"):
        library.add_none(one, 0, one, 1, zero, zero, 1)


@pytest.mark.parametrize("is_sorted", [True, False])
def test_sums_of_halves_are_kept_as_floats(library, is_sorted):
    """4,000 ones are 4,000; as halves, 2,048 and 1 are 2,048. A half does not hold the numbers of the last rows either."""
    rows, n = 5000, 5001
    index = np.concatenate([np.full(4000, 3), np.arange(3999, 5000)]).astype(np.int32)
    order = np.arange(n - 1, -1, -1, dtype=np.int32)
    result = np.empty(rows, np.float32)
    library.add_halves(result, rows, index, order, is_sorted, np.ones(n, np.float32), n)
    expected = np.zeros(rows)
    np.add.at(expected, index, 1)
    np.testing.assert_array_equal(result, expected)


def test_a_sorted_index_adds_to_what_is_there(library):
    dst = np.arange(4, dtype=np.float32)
    src = np.array([1, 10, 100, 1000, 10000], np.float32)
    library.add_floats(dst, 4, np.array([-1, 0, 2, 2, 9], np.int32), np.array([4, 0, 2, 1, 9], np.int32), src, 5)
    np.testing.assert_array_equal(dst, [10001, 1, 112, 10003])


@pytest.mark.parametrize("sort", ["sort_floats", "sort_halves"])
@pytest.mark.parametrize("ascends", [True, False])
def test_keys_that_are_no_numbers_come_last(library, sort, ascends):
    random = np.random.default_rng(0)
    keys = random.integers(0, 50, 300).astype(np.float32)
    keys[random.integers(0, 300, 90)] = np.nan
    keys[7], keys[8] = np.inf, -np.inf
    order = np.lexsort((np.arange(300), keys if ascends else -keys))  # which has NaN last
    sorted_keys, values = keys.copy(), np.arange(300, dtype=np.int32)
    getattr(library, sort)(sorted_keys, values, 300, ascends)
    np.testing.assert_array_equal(sorted_keys, keys[order])
    np.testing.assert_array_equal(values, order)


def test_a_range_of_large_whole_numbers_is_exact(library):
    for start, stop, step in [(2**24 - 1, 2**24 + 9, 1), (2**53, 2**53 + 9, 2), (2**62, -(2**62), -(2**60)), (-(2**63), 2**63 - 1, 2**62)]:
        expected = list(range(start, stop, step))
        out = np.zeros(len(expected), np.int64)
        library.range_long(out, len(expected), start, stop, step)
        assert out.tolist() == expected
    out = np.zeros(10, np.int32)
    library.range_int(out, 10, 2**24 + 1, 2**24 + 11, 1)
    assert out.tolist() == list(range(2**24 + 1, 2**24 + 11))


def test_a_long_range_has_all_numbers(library):
    n = 2**24 + 3
    out = np.zeros(n)
    library.range_double(out, n, 0, n)
    np.testing.assert_array_equal(out, np.arange(n))


def test_a_range_of_fractions(library):
    out = np.zeros(6, np.float32)
    library.range_float(out, 6, 0, 0.6, 0.1)
    np.testing.assert_allclose(out, np.arange(6) * 0.1, rtol=1e-6)
    out = np.zeros(4, np.int32)
    library.range_fraction(out, 4)
    assert out.tolist() == [0, 0, 1, 1]


def test_ranges_that_there_are_not(library):
    out = np.zeros(4, np.int64)
    with pytest.raises(tarsia.Error, match="range: a step of 0"):
        library.range_long(out, 4, 0, 4, 0)
    with pytest.raises(tarsia.Error, match="range: a step of 0"):
        library.range_float(np.zeros(4, "f4"), 4, 0, 4, 0)
    for wrong in [(4, 0, 1), (0, 4, -1), (1, 1, 1)]:
        with pytest.raises(tarsia.Error, match=f"range: there is no number from {wrong[0]} to {wrong[1]} by {wrong[2]}"):
            library.range_long(out, 4, *wrong)
    with pytest.raises(tarsia.Error, match="range: there is no number from nan to 4 by 1"):
        library.range_float(np.zeros(4, "f4"), 4, np.nan, 4, 1)
    for n, (start, stop) in [(0, (0, 2**32)), (1, (-(2**62), 2**62))]:
        with pytest.raises(tarsia.Error, match="range: .* numbers are too many"):
            library.range_long(out, n, start, stop, 1)
    with pytest.raises(tarsia.Error, match="range: .* numbers are too many"):
        library.range_float(np.zeros(1, "f4"), 1, 0, np.inf, 1)
    with pytest.raises(tarsia.Error, match="range: .* numbers are too many"):
        library.range_repeated(np.zeros(1, "i4"), 1, 70000)


def test_it_compiles_for_a_gpu():
    lib = tarsia.load_inline({"index.cu": """
        #include <mshadow/tensor.h>
        #include <mshadow/extension.h>
        using namespace mshadow;
        using half::half_t;
        void f(Tensor<gpu, 2, half_t> dst, Tensor<gpu, 1, int> index, Tensor<gpu, 1, int> order, Tensor<gpu, 1, half_t> keys) {
          AddTakeGrad(dst, index, dst);
          AddTakeGradLargeBatch(dst, index, order, dst);
          SortByKey(keys, index);
          index = expr::range<int>(0, 9);
          keys = expr::range<half_t>(0.0f, 9.0f);
          dst = expr::take(keys, dst) + expr::take_grad(keys, dst, 3) + expr::one_hot_encode(keys, 4);
        }
    """}, arch="sm_90")
    assert lib.device_compilers == {"index.cu": "nvrtc"}
    assert all(any(name in kernel for kernel in lib.kernels) for name in ("write_rows", "add_runs", "sort_by_rank", "map_plan"))
    lib.unload()
