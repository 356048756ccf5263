"""TH's functions in C and C++ sources: what they give, and how their errors reach the caller."""

import gc
import weakref

import numpy as np
import pytest

import tarsia

torch = pytest.importorskip("torch")

ADD = """
#include <TH/TH.h>
int add(THFloatTensor *a, THFloatTensor *b, THFloatTensor *out) {
  THFloatTensor_resizeAs(out, a);
  THFloatTensor_cadd(out, a, 2.0, b);
  return 1;
}
"""


@pytest.fixture(scope="module", params=["add.c", "add.cc"])
def add(request):
    return tarsia.load_inline({request.param: ADD}).add


def test_the_exporter_knows_the_tensors_in_c_and_in_cxx(add):
    a, b, out = torch.arange(6.).view(2, 3), torch.ones(2, 3), torch.empty(2, 3)
    assert add(a, b, out) == 1
    assert torch.equal(out, a + 2)
    assert "THFloatTensor" in add.signatures[0]


def test_a_result_that_is_resized_is_the_callers_own_tensor(add):
    a, out = torch.ones(2, 3), torch.FloatTensor()
    held = out
    assert add(a, a, out) == 1
    assert held is out and torch.equal(out, torch.full((2, 3), 3.))


def test_tensors_of_any_strides_go_in(add):
    a, b, out = torch.arange(6.).view(2, 3).t(), torch.arange(12.).view(3, 4)[:, ::2], torch.zeros(3, 2)
    add(a, b, out)
    assert torch.equal(out, a + 2 * b)


def test_code_that_goes_by_strides(tmp_path):
    total = tarsia.load_inline({"total.c": """
#include <TH/TH.h>
/* The sums of the rows of a matrix, wherever its elements lie. */
int total(THFloatTensor *x, THFloatTensor *sums) {
  long rows = THFloatTensor_size(x, 0), columns = THFloatTensor_size(x, 1), i, j;
  long down = THFloatTensor_stride(x, 0), along = THFloatTensor_stride(x, 1);
  THLongStorage *strides = THFloatTensor_newStrideOf(x);
  float *data = THFloatTensor_data(x), *out;
  int same = strides->size == 2 && strides->data[0] == down && strides->data[1] == along;
  THLongStorage_free(strides);
  THFloatTensor_resize1d(sums, rows);
  out = THFloatTensor_data(sums);
  for (i = 0; i < rows; ++i)
    for (out[i * THFloatTensor_stride(sums, 0)] = 0, j = 0; j < columns; ++j) out[i] += data[i * down + j * along];
  return same;
}
"""}).total
    x, sums = torch.arange(12.).view(3, 4), torch.empty(0)
    for view in (x, x.t(), x[:, ::2], x[1:, 1:3], x[0].expand(5, 4)):
        assert total(view, sums) == 1
        assert torch.equal(sums, view.sum(1))
    with pytest.raises(tarsia.OpError, match="dimension"):
        total(x[0], sums)


def test_arrays_of_numpy_go_in_unless_they_would_be_resized(add):
    a, out = np.ones((2, 2), np.float32), np.zeros((2, 2), np.float32)
    add(a, a, out)
    assert (out == 3).all()
    with pytest.raises(tarsia.OpValueError, match=r"add\(\).*\(2, 2\).*numpy.ndarray of shape \(3,\).*torch.Tensor"):
        add(a, a, np.zeros(3, np.float32))


def test_a_wrong_dtype_names_the_argument_and_the_remedy(add):
    a = torch.ones(2)
    with pytest.raises(tarsia.ArgumentTypeError, match=r"'b' \(2 of 3\) must be a float32 tensor.*b.to\(torch.float32\)"):
        add(a, a.double(), a)


ALL = r"""
#include <TH/TH.h>

static long seen(const THFloatTensor *t) { return t->nDimension * 100 + t->size[0] * 10 + t->stride[0]; }

long members(THFloatTensor *t) { return seen(t); }
float first_of_storage(THFloatTensor *t) { return t->storage->data[t->storageOffset]; }
long rows(THLongTensor *t) { return THLongTensor_size(t, 0); }
void check(THFloatTensor *t, int n) { THArgCheck(THFloatTensor_nDimension(t) == n, 1, "needs %d dimensions, not %d", n, t->nDimension); }
void fail(int n) { THError("the number %d is wrong", n); }
void outside(THFloatTensor *t) { THFloatTensor_size(t, 7); }

double views(THFloatTensor *t) {
  THFloatTensor *row = THFloatTensor_newSelect(t, 0, 1);
  THFloatTensor *part = THFloatTensor_newNarrow(row, 0, 1, 2);
  THFloatTensor *turned = THFloatTensor_newTranspose(t, 0, 1);
  THFloatTensor *plain = THFloatTensor_newContiguous(turned);
  double sum = THFloatTensor_sumall(part) + 1000 * THFloatTensor_get2d(plain, 2, 0);
  THFloatTensor_free(row);
  THFloatTensor_free(part);
  THFloatTensor_free(plain);
  THFloatTensor_free(turned);
  return sum;
}

void in_place(THFloatTensor *t) {
  THFloatTensor *row = THFloatTensor_new();
  long i;
  for (i = 0; i < THFloatTensor_size(t, 0); ++i) {
    THFloatTensor_select(row, t, 0, i);
    THFloatTensor_fill(row, (float)i);
  }
  THFloatTensor_free(row);
}

THFloatTensor *counted(long n) {
  THFloatTensor *t = THFloatTensor_newWithSize2d(n, 2);
  long i;
  for (i = 0; i < n; ++i) { THFloatTensor_set2d(t, i, 0, (float)i); THFloatTensor_set2d(t, i, 1, -(float)i); }
  return t;
}
THFloatTensor *itself(THFloatTensor *t) { return t; }

void product(THFloatTensor *a, THFloatTensor *b, THFloatTensor *c) {
  THFloatTensor_resize2d(c, a->size[0], b->size[1]);
  THFloatTensor_zero(c);
  THFloatTensor_addmm(c, 1, c, 1, a, b);
}
void gemm(THFloatTensor *a, THFloatTensor *b, THFloatTensor *c) {
  long m = c->size[0], n = c->size[1], k = a->size[1];
  THFloatBlas_gemm('n', 'n', n, m, k, 1, THFloatTensor_data(b), n, THFloatTensor_data(a), k, 0, THFloatTensor_data(c), n);
}
void reshape(THDoubleTensor *t) {
  THLongStorage *size = THLongStorage_newWithSize2(3, 2);
  THDoubleTensor_resize(t, size, NULL);
  THLongStorage_free(size);
  THDoubleTensor_fill(t, 4);
}
void cast(THIntTensor *from, THDoubleTensor *to, THByteTensor *bytes) {
  THDoubleTensor_copyInt(to, from);
  THByteTensor_copyDouble(bytes, to);
}
void steal(THFloatTensor *a, THFloatTensor *b) { THFloatTensor_set(a, b); }
THFloatTensor *part(THFloatTensor *t) { return THFloatTensor_newNarrow(t, 0, 1, 2); }
void nothing(THFloatTensor *t) { THFloatTensor_resize(t, NULL, NULL); }
int first_two(THFloatTensor *t) {
  THFloatTensor *view = THFloatTensor_newWithTensor(t);
  int seen = (int)(THFloatTensor_get1d(view, 0) * 10 + THFloatTensor_get1d(view, 1));
  THFloatTensor_free(view);
  return seen;
}
int of_expanded(THFloatTensor *t) {
  THLongStorage *size = THLongStorage_newWithSize2(2, t->size[0]);
  THFloatTensor *wide = THFloatTensor_newExpand(t, size);
  int seen = (int)(THFloatTensor_get2d(wide, 1, 0) * 10 + THFloatTensor_get2d(wide, 1, 1));
  THFloatTensor_free(wide);
  THLongStorage_free(size);
  return seen;
}
float grown(THFloatTensor *t, THFloatTensor *other) {
  THFloatTensor_resize1d(t, 1000000);
  return THFloatTensor_sumall(other);
}
void cmul(THFloatTensor *out, THFloatTensor *a, THFloatTensor *b) { THFloatTensor_cmul(out, a, b); }
void addcmul(THFloatTensor *out, THFloatTensor *t, THFloatTensor *a, THFloatTensor *b) { THFloatTensor_addcmul(out, t, 1, a, b); }
int none(THFloatTensor *a) { return THFloatTensor_nDimension(a) * 10 + (int)THFloatTensor_nElement(a); }
"""


@pytest.fixture(scope="module")
def lib():
    return tarsia.load_inline({"all.c": ALL})


def test_the_members_of_the_structs_are_read(lib):
    t = torch.arange(6.).view(2, 3)
    assert lib.members(t) == 223
    assert lib.first_of_storage(t[1, 1:]) == 4
    assert lib.rows(torch.zeros(4, dtype=torch.int64)) == 4
    assert not lib.skipped


def test_views_share_memory_and_temporaries_end(lib):
    t = torch.arange(6.).view(2, 3)
    assert lib.views(t) == (4 + 5) + 1000 * 2
    lib.in_place(t)
    assert t.tolist() == [[0, 0, 0], [1, 1, 1]]


def test_errors_of_the_code_are_errors_of_the_call(lib):
    with pytest.raises(tarsia.OpValueError, match=r"argument 1: needs 3 dimensions, not 1 .*all.c:\d+"):
        lib.check(torch.zeros(2), 3)
    with pytest.raises(tarsia.OpError, match=r"the number 5 is wrong"):
        lib.fail(5)
    with pytest.raises(tarsia.OpIndexError, match="dimension 7 of a tensor of 1 dimensions"):
        lib.outside(torch.zeros(2))
    with pytest.raises(tarsia.OpValueError, match="only the caller can give it"):
        lib.steal(torch.zeros(2), torch.zeros(2))
    with pytest.raises(tarsia.OpValueError, match=r"product of tensors of the shapes \(2, 3\) and \(2, 3\)"):
        lib.product(torch.ones(2, 3), torch.ones(2, 3), torch.zeros(0))


def test_tensors_are_returned(lib):
    t = lib.counted(3)
    assert torch.as_tensor(t).tolist() == [[0, 0], [1, -1], [2, -2]]
    x = torch.ones(2)
    assert lib.itself(x) is x


def test_a_view_of_an_argument_that_is_returned_keeps_its_memory(lib):
    x = torch.arange(4000.)
    part = torch.as_tensor(lib.part(x))
    x[1] = 7
    del x
    others = [torch.full((4000,), 99.) for _ in range(8)]
    assert part.tolist() == [7, 2] and len(others) == 8
    array = np.arange(4000, dtype=np.float32)
    held, part = weakref.ref(array), lib.part(array)
    del array
    gc.collect()
    assert held() is not None and np.asarray(part).tolist() == [1, 2]
    del part
    gc.collect()
    assert held() is None


def test_products(lib):
    a, b, c = torch.rand(4, 3), torch.rand(3, 5), torch.empty(0)
    lib.product(a, b.t().contiguous().t(), c)
    assert torch.allclose(c, a @ b)
    d = torch.full((4, 5), float("nan"))
    lib.gemm(a, b, d)
    assert torch.allclose(d, a @ b)


def test_sizes_and_types_change(lib):
    t = torch.zeros(0, dtype=torch.float64)
    lib.reshape(t)
    assert t.shape == (3, 2) and (t == 4).all()
    to, bytes = torch.zeros(2, dtype=torch.float64), torch.zeros(2, dtype=torch.uint8)
    lib.cast(torch.tensor([1, 250], dtype=torch.int32), to, bytes)
    assert to.tolist() == [1, 250] and bytes.tolist() == [1, 250]


def test_a_tensor_is_resized_to_no_dimensions(lib):
    t = torch.ones(3)
    lib.nothing(t)
    assert t.shape == (0,)
    number = tarsia.load_inline({"number.cc": '''#include <TH/TH.h>
#include <tarsia/th/core.h>
int number(THFloatTensor* t) {
  return tarsia::detail::attached()->resize(static_cast<const tarsia_tensor*>(t->tarsia_argument), nullptr, 0);
}'''}).number
    assert number(t) == 0 and t.shape == ()


def test_negative_strides_stay_in_views(lib):
    a = np.arange(5, dtype=np.float32)[::-1]
    assert lib.first_two(a) == 43 and lib.of_expanded(a) == 43


def test_an_argument_that_shares_memory_is_not_resized(lib):
    x = torch.arange(4.)
    for t, other in ((x, x), (x, x[:2]), (x[:2], x[2:]), (x[:0], x)):
        with pytest.raises(tarsia.OpValueError, match="another argument shares its memory; pass a tensor of that shape"):
            lib.grown(t, other)
    assert x.tolist() == [0, 1, 2, 3]
    assert lib.grown(torch.ones(4), x) == 6


def test_operands_are_checked_before_the_result_is_resized(lib):
    a, b, out = torch.ones(4), torch.full((2,), 3.), torch.zeros(3)
    for run in (lambda: lib.cmul(out, a, b), lambda: lib.addcmul(out, a, a, b), lambda: lib.addcmul(out, a, b, a)):
        with pytest.raises(tarsia.OpValueError, match=r"\(4,\) and \(2,\) have other numbers of elements"):
            run()
        assert out.shape == (3,)
    with pytest.raises(tarsia.OpValueError, match="other numbers of elements"):
        lib.cmul(b, a, b)
    assert b.tolist() == [3, 3]


def test_a_type_whose_name_is_like_that_of_a_tensor_is_none():
    lib = tarsia.load_inline({"like.c": "enum THFloatTensorKind { one, two };\n"
                                        "int kind(enum THFloatTensorKind k) { return k; }\nint other(int x) { return x; }\n"})
    assert lib.other(3) == 3
    assert list(lib.skipped) == ["kind"] and "needs C++" in lib.skipped["kind"]


def test_an_empty_tensor_has_no_dimensions_and_a_number_one(lib):
    assert lib.none(torch.zeros(0)) == 0
    assert lib.none(torch.tensor(1.)) == 11


def test_what_needs_a_leaf_that_requires_a_gradient_is_refused(lib):
    with pytest.raises(tarsia.ArgumentValueError, match="leaf that requires a gradient"):
        lib.in_place(torch.zeros(2, 2, requires_grad=True))
