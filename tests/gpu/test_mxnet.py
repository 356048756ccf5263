"""CUDA sources for MXNet's extension API, unchanged: as strings, and built ahead of time by nvcc against Tarsia's headers."""

import pathlib
import subprocess

import numpy as np
import pytest
from gpu_support import PACKAGE, build_with_nvcc, inline, nvcc, require_gpus

import tarsia

torch = pytest.importorskip("torch")

SOURCE = pathlib.Path(__file__).parent / "mxnet" / "relu.cu"


@pytest.fixture(params=["inline", "nvcc"])
def library(request):
    text = SOURCE.read_text()
    if request.param == "inline":
        return inline({"relu.cu": text})
    return tarsia.load(build_with_nvcc(text, ".so", "-shared", "-Xcompiler", "-fPIC", "-cudart=shared",
                                       f"-I{PACKAGE}/include"))


def test_forward_backward_and_scratch(library):
    x = torch.randn(1000, 37, device="cuda")
    bound = tarsia.op("mxg_relu").bind(x)
    y = bound(x)
    assert torch.equal(y, x.relu())
    g = torch.randn_like(x)
    (dx,) = bound.backward([g], [x], [y])
    assert torch.equal(dx, g * (x > 0))
    host = np.array([-1, 2], np.float32)
    assert tarsia.ops.mxg_relu(host).tolist() == [0, 2]


def test_work_goes_to_the_callers_stream(library):
    x = torch.randn(1 << 16, device="cuda")
    bound = tarsia.op("mxg_relu").bind(x)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        y = bound(x)
    stream.synchronize()
    assert torch.equal(y, x.relu())


def test_write_requests(library):
    x = torch.randn(513, device="cuda")
    bound = tarsia.op("mxg_relu").bind(x)
    out = torch.full_like(x, 3)
    bound(x, out=out, req="add")
    assert torch.allclose(out, 3 + x.relu())
    bound(x, out=out, req="null")
    assert torch.allclose(out, 3 + x.relu())
    expected = x.relu()
    bound(x, out=x, req="inplace")
    assert torch.equal(x, expected)


def test_state(library):
    x = torch.randn(100, device="cuda")
    bound = tarsia.op("mxg_state_relu").bind(x)
    assert torch.equal(bound(x), x.relu()) and torch.equal(bound(x), x.relu())


def test_random_states_are_seeded_and_go_on(library):
    x = torch.full((100_000,), 10.0, device="cuda")
    bound = tarsia.op("mxg_noisy_relu").bind(x)
    tarsia.seed(5)
    first, second = bound(x), bound(x)
    tarsia.seed(5)
    assert torch.equal(bound(x), first) and not torch.equal(first, second)
    noise = first - x
    assert abs(float(noise.mean())) < 0.02 and abs(float(noise.std()) - 1) < 0.02


def test_launch_errors_name_the_op(library):
    if library.origin == "prebuilt":
        pytest.skip("nvcc links a CUDA runtime of its own into the library")
    x = torch.zeros(4, device="cuda")
    with pytest.raises(tarsia.CudaError, match="op 'mxg_bad_launch', forward on GPU 0: cudaErrorInvalid"):
        tarsia.ops.mxg_bad_launch(x)
    assert torch.equal(tarsia.ops.mxg_relu(x), x)


def test_no_gpu_implementation_is_told(library):
    with pytest.raises(tarsia.Unsupported, match="mxg_state_relu"):
        tarsia.ops.mxg_state_relu(np.zeros(3, np.float32))


@pytest.fixture(scope="module")
def built():
    """A library that was built against MXNet's own header."""
    text = (SOURCE.parent / "built.cu").read_text()
    return tarsia.load(build_with_nvcc(text, ".so", "-shared", "-Xcompiler", "-fPIC", "-cudart=shared"))


def test_a_library_built_long_ago_runs_on_the_callers_stream_with_scratch_of_its_own(built):
    x = torch.randn(1000, device="cuda")
    bound = tarsia.op("gpu_built_scale").bind(x, factor=3)
    assert torch.equal(bound(x), 3 * x)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        out = torch.ones_like(x)
        bound(x, out=out, req="add")
    stream.synchronize()
    assert torch.allclose(out, 1 + 3 * x)
    (dx,) = bound.backward([x], [x], [out])
    assert torch.equal(dx, 3 * x)
    with pytest.raises(tarsia.Unsupported, match="op 'gpu_built_scale' has no forward for"):
        tarsia.ops.gpu_built_scale(np.zeros(3, np.float32))
    with pytest.raises(tarsia.OpError, match="inferType failed: only float32 is known"):
        tarsia.ops.gpu_built_scale(x.double())


def test_its_states_count_and_its_random_states_are_the_devices(built):
    x = torch.ones(100, device="cuda")
    counting = tarsia.op("gpu_built_state").bind(x)
    assert [float(counting(x)[0]) for _ in range(3)] == [1, 2, 3]
    assert float(tarsia.ops.gpu_built_state(x)[0]) == 1
    tarsia.seed(5)
    first, second = tarsia.ops.gpu_built_noise(x), tarsia.ops.gpu_built_noise(x)
    tarsia.seed(5)
    assert torch.equal(tarsia.ops.gpu_built_noise(x), first) and not torch.equal(first, second)


@pytest.mark.parametrize("door", ["inline", "nvcc"])
def test_a_set_of_a_header_a_cu_and_a_cc_file(door, tmp_path):
    folder = SOURCE.parent / "set"
    if door == "inline":
        lib = inline({name: (folder / name).read_text() for name in ("ops.cc", "kernels.cu")},
                     headers={"ops.h": (folder / "ops.h").read_text()})
    else:
        program = nvcc()
        require_gpus()
        subprocess.run([program, "-arch=native", "-shared", "-Xcompiler", "-fPIC", f"-I{PACKAGE}/include", folder / "ops.cc",
                        folder / "kernels.cu", "-o", tmp_path / "libset.so"], check=True, timeout=100)
        lib = tarsia.load(tmp_path / "libset.so")
    x = torch.randn(777, device="cuda")
    for name in ("mxg_leaky", "mxg_leaky_state"):
        bound = tarsia.op(name).bind(x, slope=0.5)
        y = bound(x)
        assert torch.equal(y, torch.nn.functional.leaky_relu(x, 0.5))
        (dx,) = bound.backward([x], [x], [y])
        assert torch.equal(dx, y)
    assert tarsia.ops.mxg_leaky(np.array([-2, 2], np.float32), slope=0.25).tolist() == [-0.5, 2]
    lib.unload()
