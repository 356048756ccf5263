"""What <tarsia/op.h> declares, by both doors: as a source, of C++ and of CUDA, and in a library that g++ built."""

import pathlib

import numpy as np
import pytest
from arrays import row_sparse

import tarsia

SOURCE = pathlib.Path(__file__).parent / "op_semantics.cc"


@pytest.fixture(scope="module", params=["inline", "cuda", "g++"], autouse=True)
def library(request, build_library):
    text = SOURCE.read_text()
    if request.param == "cuda" and not tarsia.doctor()["works"]["cuda"]:
        pytest.skip("CUDA code does not compile on this machine: see `tarsia doctor`")
    if request.param == "g++":
        lib = tarsia.load(build_library(text))
    else:
        lib = tarsia.load_inline({SOURCE.stem + (".cu" if request.param == "cuda" else ".cc"): text})
    yield lib
    lib.unload()


def attributes(**given):
    return tarsia.ops.sem_attributes(np.zeros(1, np.float32), **given).tolist()


def test_attributes_may_be_tuples_and_types_of_the_author():
    assert attributes() == [1, 2, 123, 0, 0, 1, 4, -1, 7, 5]
    assert attributes(size="5x6", tile="8x9", border="1x10") == [5, 6, 123, 0, 0, 1, 9, 10, 7, 5]
    assert attributes(kernel=(4, 5, 6), steps=[(1, 0.5), (2, 1.5)]) == [1, 2, 456, 2, 1.5, 1, 4, -1, 7, 5]
    assert attributes(kernel="(4,5,6)", steps="((1, 0.5), (2, 2.5))") == [1, 2, 456, 2, 2.5, 1, 4, -1, 7, 5]
    assert attributes(mode="fast", pair=(8, "ab", False)) == [1, 2, 123, 0, 0, 0, 4, -1, 8, -2]
    assert attributes(mode=1, border=None)[5:8] == [1, 4, -1]
    assert "tile='3x4'" in repr(tarsia.op("sem_attributes"))


@pytest.mark.parametrize("given, error", [
    ({"size": "5by6"}, "attribute 'size' has to be a value that the op can read, not '5by6'"),
    ({"size": "5x6x7"}, "attribute 'size' has to be a value that the op can read"),
    ({"tile": ""}, "attribute 'tile' has to be"),
    ({"border": "wide"}, "attribute 'border' has to be"),
    ({"kernel": (1, 2)}, "attribute 'kernel' has to be 3 values, not 2"),
    ({"kernel": "(1, 2, 3, 4)"}, "attribute 'kernel' has to be 3 values, not 4"),
    ({"kernel": (1, 2, 10)}, "attribute 'kernel' has to be from 0 to 9, not 10"),
    ({"kernel": (1, 2, "x")}, "attribute 'kernel' has to be a whole number, not 'x'"),
    ({"steps": [(1, 2), 3]}, "attribute 'steps' has to be"),
    ({"mode": "slow"}, "attribute 'mode' has to be one of 'fast', 'exact', not 'slow'"),
    ({"pair": (1, "a")}, "attribute 'pair' has to be 3 values, not 2"),
    ({"colour": 1}, "op 'sem_attributes' has no attribute 'colour'"),
])
def test_errors_of_attributes_name_the_field(given, error):
    with pytest.raises(tarsia.ArgumentError) as raised:
        attributes(**given)
    assert error in str(raised.value) and "sem_attributes" in str(raised.value)


def test_a_required_attribute_of_a_type_of_the_author():
    with pytest.raises(tarsia.ArgumentError, match="op 'sem_needs_size' needs the attribute 'size'"):
        tarsia.ops.sem_needs_size(np.zeros(1))
    tarsia.op("sem_needs_size").bind(np.zeros(1), size="1x1")


FLOATS = ["float16", "bfloat16", "float32", "float64"]


def array(values, dtype):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    return np.array(values, getattr(ml_dtypes, dtype) if dtype == "bfloat16" else dtype)


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_functor_is_an_op(dtype):
    x = array([-2, -1, 0, 3], dtype)
    bound = tarsia.op("sem_leaky").bind(x, slope=0.5)
    y = bound(x)
    assert y.dtype == x.dtype and y.tolist() == [-1, -0.5, 0, 3]
    g = array([1, 2, 3, 4], dtype)
    assert bound.backward(g, x, y)[0].tolist() == [0.5, 1, 1.5, 4]
    assert tarsia.ops.sem_leaky(x).tolist() == [-0.5, -0.25, 0, 3]


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_functor_honours_write_requests(dtype):
    x, out = array([-2, 4], dtype), array([10, 20], dtype)
    bound = tarsia.op("sem_leaky").bind(x, slope=0.5)
    assert bound(x, out=out, req="null") is out and out.tolist() == [10, 20]
    assert bound(x, out=out, req="add").tolist() == [9, 24]
    assert bound(x, out=out, req="write").tolist() == [-1, 4]
    same = x.copy()
    assert bound(same, out=same, req="inplace").tolist() == [-1, 4]
    gradient = array([1, 1], dtype)
    bound.backward(array([2, 2], dtype), x, None, out=gradient, req="add")
    assert gradient.tolist() == [2, 3]


def test_halves_are_rounded_as_numpy_rounds_them():
    rng = np.random.default_rng(0)
    bits = np.arange(1 << 16, dtype=np.uint16)
    x = bits.view(np.float16)
    y = tarsia.ops.sem_leaky(x, slope=1.0)
    assert np.array_equal(y, x, equal_nan=True)
    x = np.concatenate([x[np.isfinite(x)], rng.standard_normal(10000).astype(np.float16)])
    with np.errstate(all="ignore"):
        expected = (x.astype(np.float32) * x[::-1].astype(np.float32)).astype(np.float16)
    assert np.array_equal(tarsia.ops.sem_product(x, np.ascontiguousarray(x[::-1])), expected)


def test_functors_of_two_inputs_and_of_chosen_types():
    a, b = np.array([1., 2, 3]), np.array([4., 5, 6])
    bound = tarsia.op("sem_product").bind(a, b)
    y = bound(a, b)
    assert y.tolist() == [4, 10, 18]
    assert [d.tolist() for d in bound.backward(np.ones(3), [a, b], y)] == [[4, 5, 6], [1, 2, 3]]
    assert "sem_product(a, b)" in repr(tarsia.op("sem_product"))
    assert tarsia.ops.sem_not(np.array([0, -1], np.int32)).tolist() == [-1, 0]
    assert tarsia.ops.sem_not(np.array([5], np.int64)).tolist() == [-6]
    with pytest.raises(TypeError, match="op 'sem_not'.*dtype float32 is none of those that the op takes"):
        tarsia.ops.sem_not(np.zeros(1, np.float32))
    with pytest.raises(tarsia.ArgumentError, match="attribute 'slope' has to be from 0 to 1, not 2"):
        tarsia.ops.sem_leaky(a, slope=2)
    with pytest.raises(tarsia.ArgumentError, match="have to be of one shape and dtype"):
        tarsia.ops.sem_product(a, np.ones(2))


def test_an_op_calls_registered_ops():
    a, b = np.array([1., -2, 3]), np.array([2., 2, -2])
    assert tarsia.ops.sem_composed(a, b).tolist() == [2, -2, -3]
    assert tarsia.ops.sem_composed(a, b, slope=1.0).tolist() == [2, -4, -6]
    bound = tarsia.op("sem_kept").bind(a)
    assert bound(a).tolist() == bound(a).tolist() == [1, -1, 3]
    with pytest.raises(ValueError) as error:
        tarsia.ops.sem_calls_wrongly(a)
    text = str(error.value)
    assert "op 'sem_calls_wrongly', forward on the CPU: op 'sem_leaky', forward: output 'y' is float64 (4,)" in text
    with pytest.raises(tarsia.Error, match="op 'sem_composed'.*attribute 'slope' has to be from 0 to 1, not 3"):
        tarsia.ops.sem_composed(a, b, slope=3.0)


def csr(dense):
    return pytest.importorskip("scipy.sparse").csr_matrix(np.asarray(dense, np.float32))


def test_sparse_tensors_are_read_and_made():
    x = csr([[0, 1, 0], [0, 0, 0], [2, 0, 3]])
    bound = tarsia.op("sem_double").bind(x)
    y = bound(x)
    assert np.array_equal(y.toarray(), 2 * x.toarray()) and y.nnz == 3
    assert np.array_equal(bound.backward(y, x, y)[0].toarray(), 4 * x.toarray())
    r = row_sparse({1: (1, 2), 4: (3, 4)})
    assert np.array_equal(tarsia.ops.sem_double(r).todense(), 2 * r.todense())
    assert tarsia.ops.sem_double(np.ones(2, np.float32)).tolist() == [2, 2]
    with pytest.raises(TypeError, match="input 0 of op 'sem_misreads' is dense"):
        tarsia.ops.sem_misreads(np.ones(1))
    leaky = tarsia.op("sem_leaky").bind(x)
    assert leaky.conversions == ["input 'x': csr -> dense"] and np.array_equal(leaky(x), tarsia.ops.sem_leaky(x.toarray()))
    assert tarsia.ops.sem_empty(x).nnz == 0


def test_write_requests_of_sparse_outputs():
    x = csr([[0, 1, 0], [0, 0, 0], [2, 0, 3]])
    bound, out = tarsia.op("sem_double").bind(x), csr([[5, 5, 0], [0, 0, 0], [0, 0, -6]])
    before = out.toarray()
    assert bound(x, out=out, req="null") is out and np.array_equal(out.toarray(), before)
    assert bound(x, out=out, req="add") is out
    assert np.array_equal(out.toarray(), before + 2 * x.toarray()) and out.has_canonical_format
    assert out.indptr.tolist() == [0, 2, 2, 4] and out.indices.tolist() == [0, 1, 0, 2]
    for request in ("write", "inplace"):
        assert np.array_equal(bound(x, out=out, req=request).toarray(), 2 * x.toarray())
    assert bound(x, req="null") is None
    gradient = csr([[1, 0, 0], [0, 0, 0], [0, 0, 1]])
    bound.backward(x, x, None, out=gradient, req="add")
    assert gradient.toarray().tolist() == [[1, 2, 0], [0, 0, 0], [4, 0, 7]]
    r, total = row_sparse({3: (1, 2)}), row_sparse({0: (1, 1), 3: (10, 10)})
    assert tarsia.ops.sem_double(r, out=total, req="add") is total
    assert total.indices.tolist() == [0, 3] and total.data.tolist() == [[1, 1], [12, 14]]
    nothing = row_sparse({})
    tarsia.ops.sem_double(r, out=nothing, req="add")
    assert nothing.indices.tolist() == [3]
    tarsia.ops.sem_empty(r, out=total, req="add")
    assert total.indices.tolist() == [0, 3]
    with pytest.raises(ValueError, match="req='add' needs the tensor to write to"):
        bound(x, req="add")
    with pytest.raises(TypeError, match="out has to be a CSR tensor"):
        bound(x, out=np.zeros((3, 3), np.float32), req="add")
    with pytest.raises(ValueError, match="output 'y' is float32"):
        bound(x, out=csr([[1]]), req="add")


def test_write_requests_of_sparse_outputs_of_torch():
    torch = pytest.importorskip("torch")
    x = torch.tensor([[0, 1.0], [2, 0]]).to_sparse_csr()
    out = torch.tensor([[3.0, 0], [2, 0]]).to_sparse_csr()
    bound = tarsia.op("sem_double").bind(x)
    assert bound(x, out=out, req="add") is out and out.to_dense().tolist() == [[3, 2], [6, 0]]
    bound(x, out=out)
    assert out.to_dense().tolist() == [[0, 2], [4, 0]]


def test_random_states_are_those_of_the_standard():
    x = np.zeros(1024)
    tarsia.seed(3)
    first = tarsia.ops.sem_random(x)
    assert [first[i] for i in (0, 1, 1023)] == [mt19937(3 * 127 + i) for i in (0, 1, 1023)]
    assert not np.array_equal(tarsia.ops.sem_random(x), first)
    tarsia.seed(3)
    assert np.array_equal(tarsia.ops.sem_random(x), first)


def mt19937(seed):
    """The first number of std::mt19937(seed)."""
    return np.random.RandomState(seed).randint(0, 1 << 32, dtype=np.uint32)


def test_ports_have_names_and_say_what_becomes_of_them():
    x, mask, count = np.array([1, 2], np.float32), np.array([0, 1], np.float32), np.zeros(2, np.float32)
    bound = tarsia.op("sem_ports").bind(x, mask, count)
    y = bound(x, mask, count)
    assert y.tolist() == [0, 2] and count[0] == 1
    assert len(bound.outputs) == 2
    seen = np.zeros(3, np.int32)
    gradients = bound.backward([y, seen], [x, mask, count], [y, seen])
    assert gradients[0].tolist() == [0, 2] and gradients[1:] == (None, None)
    with pytest.raises(tarsia.OpError, match="op 'sem_no_port' has no input 'weights'"):
        tarsia.ops.sem_no_port(x)
