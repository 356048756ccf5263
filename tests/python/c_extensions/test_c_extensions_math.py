"""TH's functions on elements and along dimensions, and its loops over elements, against NumPy."""

import math

import numpy as np
import pytest

import tarsia

torch = pytest.importorskip("torch")

# Each X(name) is a function of a result and an operand.
ELEMENTWISE = {
    "sign": np.sign, "floor": np.floor, "ceil": np.ceil, "round": lambda x: np.trunc(x + np.copysign(0.5, x)), "trunc": np.trunc,
    "frac": lambda x: x - np.trunc(x), "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": lambda x: np.arcsin(x / 4),
    "acos": lambda x: np.arccos(x / 4), "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "cinv": lambda x: 1 / x,
    "log1p": lambda x: np.log1p(x * x), "rsqrt": lambda x: 1 / np.sqrt(x * x),
}
ALONG = {
    "sum": np.sum, "prod": np.prod, "mean": np.mean,
}
SOURCE = """
#include <TH/TH.h>
""" + "".join(f"void do_{name}(TH{{T}}Tensor *r, TH{{T}}Tensor *t) {{{{ TH{{T}}Tensor_{name}(r, t); }}}}\n" for name in ELEMENTWISE) + "".join(
    f"void do_{name}(TH{{T}}Tensor *r, TH{{T}}Tensor *t, int d, int keep) {{{{ TH{{T}}Tensor_{name}(r, t, d, keep); }}}}\n" for name in ALONG) + """
#define T_ TH{T}Tensor
#define F_(name) TH{T}Tensor_##name
void do_max(T_ *r, THLongTensor *at, T_ *t, int d, int keep) {{ F_(max)(r, at, t, d, keep); }}
void do_min(T_ *r, THLongTensor *at, T_ *t, int d, int keep) {{ F_(min)(r, at, t, d, keep); }}
void do_norm(T_ *r, T_ *t, double p, int d, int keep) {{ F_(norm)(r, t, p, d, keep); }}
void do_var(T_ *r, T_ *t, int d, int biased, int keep) {{ F_(var)(r, t, d, biased, keep); }}
void do_std(T_ *r, T_ *t, int d, int biased, int keep) {{ F_(std)(r, t, d, biased, keep); }}
double normall(T_ *t, double p) {{ return F_(normall)(t, p); }}
double varall(T_ *t, int biased) {{ return F_(varall)(t, biased); }}
double stdall(T_ *t, int biased) {{ return F_(stdall)(t, biased); }}
double prodall(T_ *t) {{ return F_(prodall)(t); }}
double dist(T_ *a, T_ *b, double p) {{ return F_(dist)(a, b, p); }}
int equal(T_ *a, T_ *b) {{ return F_(equal)(a, b); }}
void sum_over_itself(T_ *t) {{ F_(sum)(t, t, 0, 0); }}
void do_cumsum(T_ *r, T_ *t, int d) {{ F_(cumsum)(r, t, d); }}
void do_cumprod(T_ *r, T_ *t, int d) {{ F_(cumprod)(r, t, d); }}
void cat(T_ *r, T_ *a, T_ *b, int d) {{ F_(cat)(r, a, b, d); }}
void cat3(T_ *r, T_ *a, T_ *b, int d) {{
  T_ *none = F_(new)(), *parts[4];
  parts[0] = a, parts[1] = none, parts[2] = b, parts[3] = a;
  F_(catArray)(r, parts, 4, d);
  F_(free)(none);
}}
void index_select(T_ *r, T_ *t, int d, THLongTensor *index) {{ F_(indexSelect)(r, t, d, index); }}
void index_copy(T_ *r, int d, THLongTensor *index, T_ *t) {{ F_(indexCopy)(r, d, index, t); }}
void index_add(T_ *r, int d, THLongTensor *index, T_ *t) {{ F_(indexAdd)(r, d, index, t); }}
void index_fill(T_ *r, int d, THLongTensor *index, double value) {{ F_(indexFill)(r, d, index, value); }}
void addr(T_ *r, double beta, T_ *t, double alpha, T_ *a, T_ *b) {{ F_(addr)(r, beta, t, alpha, a, b); }}
void baddbmm(T_ *r, double beta, T_ *t, double alpha, T_ *a, T_ *b) {{ F_(baddbmm)(r, beta, t, alpha, a, b); }}
void do_atan2(T_ *r, T_ *a, T_ *b) {{ F_(atan2)(r, a, b); }}
void do_lerp(T_ *r, T_ *a, T_ *b, double weight) {{ F_(lerp)(r, a, b, weight); }}
"""


@pytest.fixture(scope="module", params=[("Float", np.float32), ("Double", np.float64)], ids=["float", "double"])
def lib(request):
    name, dtype = request.param
    loaded = tarsia.load_inline({"math.c": SOURCE.format(T=name)})
    yield loaded, dtype
    loaded.unload()


def operands(dtype):
    """A contiguous tensor, a transposed one and one with gaps, and what they are in NumPy."""
    x = np.random.default_rng(3).uniform(-2.5, 2.5, (3, 4, 5)).astype(dtype)
    t = torch.from_numpy(x)
    return [(t, x), (t.transpose(0, 2), x.transpose(2, 1, 0)), (t[:, 1:3, ::2], x[:, 1:3, ::2])]


def close(r, expected, dtype):
    assert tuple(r.shape) == np.shape(expected)
    # A copy: PyTorch resizes no tensor over which NumPy has an array.
    np.testing.assert_allclose(r.clone().numpy(), expected, rtol=2e-5 if dtype == np.float32 else 1e-12, atol=2e-6 if dtype == np.float32 else 1e-13)


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise(lib, name):
    lib, dtype = lib
    for t, x in operands(dtype):
        if name in ("asin", "acos"):
            t = t / 4
        if name in ("log1p", "rsqrt"):
            t = t * t
        r = torch.empty(0, dtype=t.dtype)
        getattr(lib, f"do_{name}")(r, t)
        close(r, ELEMENTWISE[name](x), dtype)


def test_elementwise_of_two(lib):
    lib, dtype = lib
    for t, x in operands(dtype):
        r = torch.empty(0, dtype=t.dtype)
        lib.do_atan2(r, t, t + 1)
        close(r, np.arctan2(x, x + 1), dtype)
        lib.do_lerp(r, t, t * 3, 0.25)
        close(r, 1.5 * x, dtype)


@pytest.mark.parametrize("keep", [0, 1])
@pytest.mark.parametrize("d", [0, 1, 2])
def test_along_a_dimension(lib, d, keep):
    lib, dtype = lib
    for t, x in operands(dtype):
        r, at = torch.empty(0, dtype=t.dtype), torch.empty(0, dtype=torch.int64)
        for name, function in ALONG.items():
            getattr(lib, f"do_{name}")(r, t, d, keep)
            close(r, function(x, axis=d, keepdims=bool(keep)), dtype)
        for name, values, places in (("max", np.max, np.argmax), ("min", np.min, np.argmin)):
            getattr(lib, f"do_{name}")(r, at, t, d, keep)
            close(r, values(x, axis=d, keepdims=bool(keep)), dtype)
            np.testing.assert_array_equal(at.clone().numpy(), places(x, axis=d, keepdims=bool(keep)))
        for p in (0, 1, 2, 3):
            lib.do_norm(r, t, p, d, keep)
            close(r, np.linalg.norm(x, ord=p, axis=d, keepdims=bool(keep)), dtype)
        for biased in (0, 1):
            lib.do_var(r, t, d, biased, keep)
            close(r, x.var(axis=d, ddof=1 - biased, keepdims=bool(keep)), dtype)
            lib.do_std(r, t, d, biased, keep)
            close(r, x.std(axis=d, ddof=1 - biased, keepdims=bool(keep)), dtype)
        for name, function in (("cumsum", np.cumsum), ("cumprod", np.cumprod)):
            getattr(lib, f"do_{name}")(r, t, d)
            close(r, function(x, axis=d), dtype)


def test_the_one_dimension_of_a_vector_stays(lib):
    lib, dtype = lib
    t, r, at = torch.arange(4).to(torch.from_numpy(np.zeros(1, dtype)).dtype), None, torch.empty(0, dtype=torch.int64)
    r = torch.empty(0, dtype=t.dtype)
    lib.do_sum(r, t, 0, 0)
    assert r.tolist() == [6]
    t[2] = math.nan
    lib.do_max(r, at, t, 0, 0)
    assert math.isnan(r.item()) and at.tolist() == [2]
    lib.do_cumsum(t, t, 0)
    assert t[:2].tolist() == [0, 1]
    with pytest.raises(tarsia.OpIndexError, match="dimension 1 of a tensor of 1 dimensions"):
        lib.do_sum(r, t, 1, 0)
    with pytest.raises(tarsia.OpValueError, match="another argument shares its memory"):
        lib.do_sum(t, t, 0, 0)
    with pytest.raises(tarsia.OpValueError, match="the result is to be another tensor than the operand"):
        lib.sum_over_itself(t)
    lib.do_sum(r, torch.zeros(2, 0, dtype=t.dtype), 1, 0)
    assert r.tolist() == [0, 0]
    with pytest.raises(tarsia.OpValueError, match="of nothing"):
        lib.do_max(r, at, torch.zeros(2, 0, dtype=t.dtype), 1, 0)
    with pytest.raises(tarsia.OpIndexError, match="dimension 0 of a tensor of 0 dimensions"):
        lib.do_sum(r, torch.zeros(0, dtype=t.dtype), 0, 0)


def test_over_all_elements(lib):
    lib, dtype = lib
    for t, x in operands(dtype):
        wide = x.astype(np.float64)
        for p in (0, 1, 2, 3):
            assert lib.normall(t, p) == pytest.approx(np.linalg.norm(wide.ravel(), ord=p), rel=1e-6)
            assert lib.dist(t, t * 2, p) == pytest.approx(np.linalg.norm(wide.ravel(), ord=p), rel=1e-5)
        for biased in (0, 1):
            assert lib.varall(t, biased) == pytest.approx(wide.var(ddof=1 - biased), rel=1e-6)
            assert lib.stdall(t, biased) == pytest.approx(wide.std(ddof=1 - biased), rel=1e-6)
        assert lib.prodall(t) == pytest.approx(wide.prod(), rel=1e-6)
        assert lib.equal(t, t.clone()) == 1 and lib.equal(t, t + 1) == 0 and lib.equal(t, t[:1]) == 0


def test_parts(lib):
    lib, dtype = lib
    for t, x in operands(dtype):
        r = torch.empty(0, dtype=t.dtype)
        for d in range(3):
            other = t.narrow(d, 0, 2) + 1
            lib.cat(r, t, other, d)
            close(r, np.concatenate([x, other.numpy()], d), dtype)
            lib.cat3(r, t, other, d)
            close(r, np.concatenate([x, other.numpy(), x], d), dtype)
            index = torch.tensor([1, 9, 0, 9, 1])[::2]  # 1, 0, 1
            lib.index_select(r, t, d, index)
            close(r, np.take(x, [1, 0, 1], d), dtype)
            places, copied, added, filled = (slice(None),) * d + ([1, 0],), x.copy(), x.copy(), x.copy()
            to, part = t.clone(), t.narrow(d, 0, 2) * 10
            lib.index_copy(to, d, torch.tensor([1, 0]), part)
            copied[places] = part.numpy()
            close(to, copied, dtype)
            to = t.clone()
            lib.index_add(to, d, torch.tensor([1, 1]), part)
            np.add.at(added, (slice(None),) * d + ([1, 1],), part.numpy())
            close(to, added, dtype)
            lib.index_fill(to, d, torch.tensor([1]), 7.)
            filled = added
            filled[(slice(None),) * d + (1,)] = 7
            close(to, filled, dtype)
    with pytest.raises(tarsia.OpIndexError, match=r"index 9 in dimension 0 of a tensor of shape \(3, 2, 3\)"):
        lib.index_select(r, t, 0, torch.tensor([9]))
    with pytest.raises(tarsia.OpValueError, match=r"\(3, 2, 3\) and \(3, 1, 3\) do not go together in dimension 0"):
        lib.cat(r, t, t[:, :1], 0)
    with pytest.raises(tarsia.OpValueError, match="does not go to 1 places in dimension 0"):
        lib.index_copy(t, 0, torch.tensor([1]), t[:2])


def test_products(lib):
    lib, dtype = lib
    kind = torch.from_numpy(np.zeros(1, dtype)).dtype
    a, b, t = torch.rand(3, dtype=kind), torch.rand(8, dtype=kind)[::2], torch.rand(4, 3, dtype=kind).t()
    r = torch.empty(0, dtype=kind)
    lib.addr(r, 2., t, 3., a, b)
    close(r, 2 * t.numpy() + 3 * np.outer(a.numpy(), b.numpy()), dtype)
    a, b, t = torch.rand(2, 3, 5, dtype=kind), torch.rand(2, 4, 5, dtype=kind).transpose(1, 2), torch.rand(2, 3, 4, dtype=kind)
    lib.baddbmm(r, 2., t, 3., a, b)
    close(r, 2 * t.numpy() + 3 * (a.numpy() @ b.numpy()), dtype)
    before = t.numpy().copy()
    lib.baddbmm(t, 1., t, 1., a, b)
    close(t, before + a.numpy() @ b.numpy(), dtype)
    with pytest.raises(tarsia.OpValueError, match=r"the products of tensors of the shapes \(2, 3, 5\) and \(2, 3, 5\)"):
        lib.baddbmm(r, 2., t, 3., a, a)


LOOPS = r"""
#include <TH/TH.h>
double total(THFloatTensor *t) {
  double sum = 0;
  TH_TENSOR_APPLY(float, t, sum += *t_data;);
  return sum;
}
long first_negative(THLongTensor *t) {
  long at = 0;
  TH_TENSOR_APPLY(long, t, if (*t_data < 0) break; ++at;)
  return at;
}
void twice(THFloatTensor *r_, THIntTensor *t) {
  TH_TENSOR_APPLY2(float, r_, int, t, *r__data = 2.f * (float)*t_data;)
}
void mixed(THDoubleTensor *r, THFloatTensor *a, THLongTensor *b) {
  TH_TENSOR_APPLY3(double, r, float, a, long, b, {
    double x = *a_data, y = *b_data;
    *r_data = x + y;
  });
}
float blas(THFloatTensor *a, THFloatTensor *b) {
  long n = THFloatTensor_nElement(a), by = THFloatTensor_stride(a, 0), b_by = THFloatTensor_stride(b, 0);
  THFloatBlas_copy(n, THFloatTensor_data(a), by, THFloatTensor_data(b), b_by);
  THFloatBlas_scal(n, 2, THFloatTensor_data(b), b_by);
  THFloatBlas_swap(1, THFloatTensor_data(a), by, THFloatTensor_data(b), b_by);
  return THFloatBlas_dot(n, THFloatTensor_data(a), by, THFloatTensor_data(b), b_by);
}
"""
STORAGES = r"""
#include <TH/TH.h>
static float kept[3] = {7, 8, 9};
THFloatTensor *over_data(long n) {
  float *data = (float *)THAlloc(n * (long)sizeof(float));
  long i;
  THFloatStorage *storage;
  THFloatTensor *t;
  for (i = 0; i < n; ++i) data[i] = (float)i;
  storage = THFloatStorage_newWithData(data, n);
  t = THFloatTensor_newWithStorage1d(storage, 1, (n - 1) / 2, 2);
  THFloatStorage_free(storage);
  return t;
}
THFloatTensor *over_kept(void) {
  THFloatStorage *storage = THFloatStorage_newWithData(kept, 3);
  THFloatTensor *t;
  THFloatStorage_clearFlag(storage, TH_STORAGE_FREEMEM);
  t = THFloatTensor_newWithStorage1d(storage, 0, 3, 1);
  THFloatStorage_free(storage);
  return t;
}
int grown(void) {
  float *data = (float *)THAlloc(2 * sizeof(float));
  THFloatStorage *storage = THFloatStorage_newWithData(data, 2);
  THFloatTensor *t;
  int is_right;
  data[0] = 3, data[1] = 4;
  THFloatStorage_resize(storage, 1000);
  t = THFloatTensor_newWithStorage2d(storage, 0, 2, -1, 2, -1);
  is_right = storage->data[0] == 3 && storage->data[1] == 4 && t->stride[0] == 2 && t->stride[1] == 1;
  THFloatTensor_setStorage3d(t, storage, 1, 2, 4, 1, 2, 5, 6);
  is_right &= t->nDimension == 3 && t->storageOffset == 1 && t->stride[2] == 6;
  THFloatTensor_free(t);
  THFloatStorage_free(storage);
  return is_right;
}
float of_argument(THFloatTensor *x) {
  THFloatTensor *t = THFloatTensor_newWithStorage1d(x->storage, x->storageOffset, 2, x->stride[0]);
  float seen = THFloatTensor_get1d(t, 1);
  THFloatTensor_free(t);
  return seen;
}
"""


@pytest.mark.parametrize("suffix", ["c", "cc"])
def test_loops_over_elements(suffix):
    lib = tarsia.load_inline({f"loops.{suffix}": LOOPS})
    t = torch.arange(24.).view(2, 3, 4)
    for view in (t, t.transpose(0, 2), t[:, 1:, ::2], t[0, 0], torch.zeros(0)):
        assert lib.total(view) == view.sum().item()
    assert lib.first_negative(torch.tensor([3, 0, -1, 5])) == 2 and lib.first_negative(torch.tensor([3])) == 1
    r = torch.zeros(3, 2).t()
    lib.twice(r, torch.arange(6, dtype=torch.int32).view(2, 3))
    assert r.tolist() == [[0, 2, 4], [6, 8, 10]]
    r, a, b = torch.zeros(2, 2, dtype=torch.float64), torch.tensor([0.5, 1, 2, 3]), torch.arange(8)[::2]
    lib.mixed(r, a, b)
    assert r.tolist() == [[0.5, 3], [6, 9]]
    with pytest.raises(tarsia.OpError, match="r and a have other numbers of elements"):
        lib.mixed(r, a[:3], b)
    a, b = torch.tensor([1., 9, 2, 9, 3])[::2], torch.zeros(3)
    assert lib.blas(a, b) == 2 * 1 + 2 * 4 + 3 * 6 and b.tolist() == [1, 4, 6] and a.tolist() == [2, 2, 3]


def test_storages_over_memory_of_the_code():
    lib = tarsia.load_inline({"storages.c": STORAGES})
    t = torch.from_dlpack(lib.over_data(7))
    assert t.tolist() == [1, 3, 5]
    del t
    for _ in range(2):
        assert torch.from_dlpack(lib.over_kept()).tolist() == [7, 8, 9]
    assert lib.grown() == 1
    x = torch.arange(6.)[::3]
    assert lib.of_argument(x) == 3


def test_whole_numbers():
    lib = tarsia.load_inline({"whole.c": r"""
#include <TH/TH.h>
void sign(THIntTensor *r, THIntTensor *t) { THIntTensor_sign(r, t); }
void sum(THLongTensor *r, THLongTensor *t) { THLongTensor_sum(r, t, 1, 0); }
void bytes(THByteTensor *r, THByteTensor *t) { THByteTensor_cumsum(r, t, 0); }
long prodall(THCharTensor *t) { return THCharTensor_prodall(t); }
"""})
    r = torch.empty(0, dtype=torch.int32)
    lib.sign(r, torch.tensor([-5, 0, 7], dtype=torch.int32))
    assert r.tolist() == [-1, 0, 1]
    r = torch.empty(0, dtype=torch.int64)
    lib.sum(r, torch.tensor([[2**60, 1], [3, 4]]))
    assert r.tolist() == [2**60 + 1, 7]
    r = torch.empty(0, dtype=torch.uint8)
    lib.bytes(r, torch.tensor([200, 100, 1], dtype=torch.uint8))
    assert r.tolist() == [200, 44, 45]
    assert lib.prodall(torch.tensor([-100, 100], dtype=torch.int8)) == -10000
