"""Libraries built against MXNet's own header, of library versions 7, 10 and 11, through their C symbols."""

import gc
import pathlib

import numpy as np
import pytest

import tarsia

TEXT = (pathlib.Path(__file__).parent / "built.cc").read_text()


@pytest.fixture(scope="module", params=[7, 10, 11])
def version(request):
    return request.param


@pytest.fixture
def library(build_library, version):
    lib = tarsia.load(build_library(TEXT, "-std=c++11", f"-DVERSION={version}"))
    yield lib
    lib.unload()


def test_its_ops_stand_in_the_registry(library):
    assert set(library.ops) == {"built_scale", "built_sum", "built_csr", "built_noise"}
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert np.array_equal(tarsia.ops.built_scale(x), 2 * x)
    bound = tarsia.op("built_scale").bind(x, factor=0.5)
    y = bound(x)
    assert np.array_equal(y, x / 2)
    (dx,) = bound.backward([np.ones_like(x)], [x], [y])
    assert np.array_equal(dx, np.full_like(x, 0.5))


def test_write_requests_are_provided_around_it(library):
    x = np.ones(3, np.float32)
    bound = tarsia.op("built_scale").bind(x)
    out = np.full(3, 10, np.float32)
    assert bound(x, out=out, req="add") is out and out.tolist() == [12] * 3
    assert bound(x, out=out, req="null") is out and out.tolist() == [12] * 3
    bound(x, out=x, req="inplace")
    assert x.tolist() == [2] * 3
    grad = np.full(3, 1, np.float32)
    bound.backward([out], [x], [out], out=[grad], req=["add"])
    assert grad.tolist() == [25] * 3
    with pytest.raises(ValueError, match="req='add' needs the tensor to write to"):
        bound(x, req="add")
    with pytest.raises(ValueError, match="req is 'null', 'write'"):
        bound(x, out=out, req="sometimes")


def test_state_is_made_once_and_destroyed_through_the_library(library, build_library, version):
    x = np.ones(3, np.float32)
    bound = tarsia.op("built_sum").bind(x, start=5)
    assert [float(bound(x)[0]) for _ in range(3)] == [8, 9, 10]
    assert float(tarsia.op("built_sum").bind(x)(x)[0]) == 3
    with pytest.raises(tarsia.OpError, match="op 'built_sum', backward on the CPU: Backward failed" +
                       (": no backward here" if version > 7 else "")):
        bound.backward(x, x, x)
    del bound
    gc.collect()


def test_messages_arrive_once(library, version):
    x = np.ones(3, np.float32)
    for text in ("first", "second"):
        with pytest.raises(tarsia.OpError) as error:
            tarsia.ops.built_scale(x, fail=text)
        said = f": asked to fail: {text}" if version >= 10 else ""
        assert str(error.value) == f"op 'built_scale', number of inputs and outputs: parseAttrs failed{said}"
    with pytest.raises(tarsia.OpError, match="op 'built_scale', forward on the CPU: forward failed"):
        tarsia.ops.built_scale(x, fail_late=1)
    with pytest.raises(tarsia.OpError, match="inferType failed"):
        tarsia.ops.built_scale(x.astype(np.float64))


def test_inference_fills_inputs_and_tells_conflicts(library):
    op = tarsia.op("built_scale")
    assert op.infer([(2, 3)], ["float32"]) == ([(2, 3), (2, 3)], ["float32", "float32"])
    assert op.infer([(2, 3), None], [None, "float32"], inputs=2) == ([(2, 3)] * 3, ["float32"] * 3)
    assert op.infer([(2, None)], [None]) == ([(2, None), (2, None)], ["float32"] * 2)
    x = np.ones((2, 3), np.float32)
    with pytest.raises(tarsia.ArgumentError, match="takes 2 inputs, not 1"):
        op.bind(x, inputs=2)


def test_sparse_tensors_go_in_and_out(library):
    sparse = pytest.importorskip("scipy.sparse")
    dense = np.array([[0, 1, 0], [2, 0, 3]], np.float32)
    result = tarsia.ops.built_csr(sparse.csr_matrix(dense))
    assert isinstance(result, sparse.csr_matrix) and np.array_equal(result.toarray(), 2 * dense)
    with pytest.raises(tarsia.Error, match="op 'built_csr'.*inferSType failed"):
        tarsia.ops.built_csr(dense)
    bound = tarsia.op("built_scale").bind(sparse.csr_matrix(dense))
    assert bound.conversions == ["input 0: csr -> dense"]
    assert np.array_equal(bound(sparse.csr_matrix(dense)), tarsia.ops.built_scale(dense))


def test_torch_csr(library):
    torch = pytest.importorskip("torch")
    dense = torch.tensor([[0.0, 1, 0], [2, 0, 3]])
    result = tarsia.ops.built_csr(dense.to_sparse_csr())
    assert result.layout is torch.sparse_csr and torch.equal(result.to_dense(), 2 * dense)
    bound = tarsia.op("built_csr").bind(dense.to_sparse_csr())
    with pytest.raises(TypeError, match="tensor 0 is dense; the op is bound to a CSR one"):
        bound(dense)
    assert bound(dense.to_sparse_csr(), req="null") is None


def test_random_states_and_mutable_inputs(library):
    x, count = np.zeros(100, np.float32), np.zeros(100, np.float32)
    tarsia.seed(7)
    first = tarsia.ops.built_noise(x, count, inputs=2)
    second = tarsia.ops.built_noise(x, count, inputs=2)
    tarsia.seed(7)
    assert np.array_equal(tarsia.ops.built_noise(x, count, inputs=2), first) and not np.array_equal(first, second)
    assert count[0] == 3
    # State i is seeded with the device's seed + i; that of the CPU is 127 times what was given.
    numpy_mt = np.random.RandomState(7 * 127)
    assert first[0] == numpy_mt.randint(0, 2**32, dtype=np.uint32) & 0xFFFF
    count.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        tarsia.ops.built_noise(x, count, inputs=2)


def test_partitioners_and_passes_are_named(library, version):
    text = "\n".join(str(warning.message) for warning in library.warnings)
    assert "partitioner 'built_partitioner'" in text
    assert ("pass 'built_pass'" in text) == (version >= 10)


def test_other_versions_are_refused(build_library):
    with pytest.raises(tarsia.LoadError, match="built for version 9 of MXNet's extension API; versions 7, 10 and 11"):
        tarsia.load(build_library(TEXT, "-std=c++11", "-DVERSION=9"))


@pytest.mark.parametrize("linkage", ['extern "C" ', ""])
def test_a_library_of_mxnet_1_6_is_initialized(build_library, linkage):
    text = linkage + "int initialize(int version) { return version >= 10400; }"
    path = build_library(text, "-std=c++11")
    lib = tarsia.load(path)
    assert list(lib.ops) == []
    with pytest.raises(tarsia.LoadError, match="initialize failed"):
        tarsia.load(build_library(text.replace("10400", "30000"), "-std=c++11"))


def test_a_variable_called_initialize_is_not_called(build_library):
    with pytest.raises(tarsia.LoadError, match="exports nothing for Tarsia"):
        tarsia.load(build_library("int initialize = 1;", "-std=c++11"))


def test_a_built_library_may_refuse_too(build_library):
    text = TEXT.replace("version >= 10700", "version >= 30000")
    with pytest.raises(tarsia.LoadError, match="initialize failed: too old"):
        tarsia.load(build_library(text, "-std=c++11", "-DVERSION=11"))
    assert "built_scale" not in tarsia.ops


def test_a_built_library_may_have_no_ops(build_library):
    text = TEXT.replace("return static_cast<int>(ops().size())", "return 0")
    assert list(tarsia.load(build_library(text, "-std=c++11", "-DVERSION=10")).ops) == []


def test_loading_again_replaces(build_library):
    path = build_library(TEXT, "-std=c++11", "-DVERSION=11")
    x = np.ones(3, np.float32)
    libraries = [tarsia.load(path) for _ in range(5)]
    assert tarsia.ops.built_scale(x).tolist() == [2, 2, 2]
    for lib in libraries:
        lib.unload()
    assert "built_scale" not in tarsia.ops
