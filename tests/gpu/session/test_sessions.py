"""Sessions on a GPU: kernels of cells, ready values, commands, and what goes wrong there."""

import io
import os
import pathlib
import re

import numpy as np
import pytest
from cells import ok, value
from gpu_support import PACKAGE, SPIN, require_gpus

import tarsia
from tarsia._session import transcript
from tarsia._session.commands import Commands

EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "examples" / "gpu"

ADD = """__global__ void add(float* x, int n, float by) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += by;
}"""


@pytest.fixture
def make(monkeypatch):
    """Makes sessions, whose children find the package."""
    require_gpus()
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(PACKAGE.parent), os.environ.get("PYTHONPATH", "")]))
    return tarsia.Session


@pytest.fixture(params=[False, True], ids=["in process", "isolated"])
def session(make, request):
    return make(isolated=request.param)


def ask(session, line):
    """What a command writes."""
    out = io.StringIO()
    Commands(session).run(line, out)
    return out.getvalue()


def test_kernels_of_earlier_cells_are_launched(session):
    ok(session, ADD, 'tarsia::Tensor x = arange(4, tarsia::float32, "gpu");', "void go(float by) { add<<<1, 32>>>(x.data<float>(), 4, by); }",
       "add<<<1, 4>>>(x.data<float>(), 4, 1);", "go(10);")
    assert value(session, "x") == "float32[4] gpu:0 {11, 12, 13, 14}"
    ok(session, "template <class T> __global__ void fill(T* x, T v) { x[threadIdx.x] = v; }",
       'tarsia::Tensor y = zeros({2, 2}, tarsia::float64, "gpu");', "fill<<<1, 4>>>(y.data<double>(), 2.5);", "fill<<<1, 2>>>(x.data<float>(), -1.0f);")
    assert value(session, "y") == "float64[2, 2] gpu:0\n{{2.5, 2.5},\n {2.5, 2.5}}"
    assert value(session, "x") == "float32[4] gpu:0 {-1, -1, 13, 14}"


def test_a_kernel_that_is_defined_again_reaches_earlier_functions_and_is_taken_back(session):
    ok(session, "__global__ void put(int* x) { *x = 1; }",
       "int got() { int *x, host = 0; cudaMalloc(&x, 4); put<<<1, 1>>>(x); cudaMemcpy(&host, x, 4, cudaMemcpyDefault); cudaFree(x); return host; }")
    assert value(session, "got()") == "1"
    ok(session, "__global__ void put(int* x) { *x = 2; }")
    assert value(session, "got()") == "2"
    assert (session.undo(), session.undo()) == ([], ["put"])
    assert value(session, "got()") == "1"


def test_device_variables(session):
    ok(session, "__device__ float total; __constant__ float factor = 2; __device__ float scaled(float a) { return factor * a; }\n"
                "__global__ void sum(const float* x, int n) { for (int i = 0; i < n; ++i) total += scaled(x[i]); }",
       'tarsia::Tensor x = ones({8}, tarsia::float32, "gpu");', "sum<<<1, 1>>>(x.data<float>(), 8);",
       "float read() { float host = -1; cudaMemcpyFromSymbol(&host, total, sizeof host); return host; }")
    assert value(session, "read()") == "16.0"
    ok(session, "{ float three = 3; cudaMemcpyToSymbol(factor, &three, sizeof three); }", "sum<<<1, 1>>>(x.data<float>(), 8);")
    assert value(session, "read()") == "40.0"


def test_a_launch_that_fails_is_told_with_its_line(session):
    ok(session, ADD, 'tarsia::Tensor x = zeros({4}, tarsia::float32, "gpu");', "void go(int threads) { add<<<1, threads>>>(x.data<float>(), 4, 1); }")
    for text in ("int unused = 1;\nadd<<<1, 4096>>>(x.data<float>(), 4, 1);", "\ngo(4096);"):
        cell = session.run(text)
        assert not cell.ok and cell.error_class == "CudaError" and re.search("cudaErrorInvalid(Configuration|Value)", cell.error), cell.error  # by the driver
        assert [(one.file, one.line) for one in cell.diagnostics] == [(f"cell {cell.number}", 2)] and cell.notes == []
    ok(session, "int unused = 2;", "go(4);")
    assert value(session, "x") == "float32[4] gpu:0 {1, 1, 1, 1}"


def test_an_illegal_access_costs_an_isolated_session_the_gpus_memory_alone(make):
    session = make(isolated=True)
    ok(session, "int kept = 3;", ADD, 'tarsia::Tensor x = ones({4}, tarsia::float32, "gpu");', "int count = 0;")
    for text in ("int other = 0;\nadd<<<1, 1>>>((float*)64, 1, 1);", "\nadd<<<1, 1>>>((float*)64, 1, 1); cudaDeviceSynchronize();"):
        cell = session.run(text)
        assert not cell.ok and cell.error_class == "CudaError", cell
        assert "illegal memory access" in cell.error and [one.line for one in cell.diagnostics] == [2], cell.error
        assert len(cell.notes) == 1 and "a new process has run cells 1, 2, 3, 4 again" in cell.notes[0] and "memory of GPUs is new" in cell.notes[0]
        assert value(session, "kept + count") == "3"
        session.undo()
    assert not session.run("other").ok
    ok(session, "add<<<1, 4>>>(x.data<float>(), 4, 1);")
    assert value(session, "x") == "float32[4] gpu:0 {2, 2, 2, 2}"


def test_an_illegal_access_in_the_process_leaves_the_cpu(make):
    session = make()
    ok(session, "int kept = 3;", ADD, "int get() { return kept; }")
    cell = session.run("\n\nadd<<<1, 1>>>((float*)64, 1, 1);")
    assert not cell.ok and cell.error_class == "CudaError" and "CUDA_ERROR_ILLEGAL_ADDRESS" in cell.error, cell.error
    assert "CUDA cannot be used any more in this process" in cell.error and [one.line for one in cell.diagnostics] == [3]
    assert value(session, "get()") == "3"


def test_ready_values(session, tmp_path):
    assert value(session, 'arange(3, tarsia::int32, "gpu")') == "int32[3] gpu:0 {0, 1, 2}"
    assert value(session, 'zeros({2, 2}, tarsia::float16, "cuda:0")') == "float16[2, 2] gpu:0\n{{0, 0},\n {0, 0}}"
    assert re.fullmatch(r"float32\[3\] gpu:0 \{\S+, \S+, \S+\}", value(session, 'randn({3}, tarsia::float32, "gpu")'))
    assert value(session, 'allclose(arange(5, tarsia::float64, "gpu"), arange(5, tarsia::float32))') == "true"
    assert value(session, 'allclose(ones({5}, tarsia::float32, "gpu"), full({5}, 1.5, tarsia::float32, "gpu"))') == "false"
    ok(session, f'save_npy("{tmp_path}/x.npy", arange(6, tarsia::float32, "gpu"));')
    assert np.load(tmp_path / "x.npy").tolist() == [0, 1, 2, 3, 4, 5]
    np.save(tmp_path / "y.npy", np.array([[1, 2], [3, 4]], np.int64))
    assert value(session, f'load_npy("{tmp_path}/y.npy", "gpu")') == "int64[2, 2] gpu:0\n{{1, 2},\n {3, 4}}"
    cell = session.run('zeros({2}, tarsia::float32, "gpu:99")')
    assert not cell.ok and "GPU 99" in cell.error and value(session, "1") == "1"


def test_ops_of_cells_work_on_the_gpu(session):
    ok(session, "__global__ void twice_kernel(const float* x, float* y, long n) { TARSIA_GRID_LOOP(i, n) y[i] = 2 * x[i]; }",
       'TARSIA_OP(session_twice).input("x").output("y").forward("gpu", [](tarsia::Context& c) {\n'
       "  twice_kernel<<<1, 32, 0, c.stream()>>>(c.input(0).data<const float>(), c.output(0).data<float>(), c.input(0).numel()); });")
    assert session.ops == ["session_twice"]
    if not session.isolated:
        torch = pytest.importorskip("torch")
        assert tarsia.ops.session_twice(torch.ones(3, device="cuda")).tolist() == [2, 2, 2]


def test_code_of_kernels_is_shown(make):
    session = make()
    ok(session, ADD, "__global__ void other(int* x) { *x = 1; }", 'tarsia::Tensor x = zeros({4}, tarsia::float32, "gpu");',
       "add<<<1, 4>>>(x.data<float>(), 4, 1);")
    ptx = ask(session, ":ptx add")
    assert ".entry" in ptx and "add" in ptx and "other" not in ptx
    assert "add" in ask(session, ":regs add") and "other" in ask(session, ":regs")
    with pytest.raises(tarsia.Error):
        ask(session, ":ptx nothing_of_that_name")
    try:
        sass = ask(session, ":sass add")
    except tarsia.Error as error:
        assert "pip install nvidia-cuda-nvdisasm" in str(error)
        pytest.skip("there is no nvdisasm")
    assert "EXIT" in sass and "5other" not in sass  # the symbol; `.other` is a directive


def test_bench_tells_the_gpus_time(session):
    ok(session, SPIN, "int f(int a) { return a + 1; }", 'tarsia::Tensor x = ones({8}, tarsia::float32, "gpu");')
    line = ask(session, ":bench spin(2e-4, nullptr)")
    found = re.fullmatch(r"(\S+) us in the median of 7 rounds of \d+, (\S+) us at least, GPU time by CUDA's events\n", line)
    assert found and 195 <= float(found[2]) <= float(found[1]), line
    for text in ("f(3)", "allclose(x, x)"):  # that does not leave the GPU with work
        assert re.fullmatch(r"\S+ .s in the median of 7 rounds of \d+, \S+ .s at least\n", ask(session, ":bench " + text))
    with pytest.raises(tarsia.CudaError, match="cudaErrorInvalid(Configuration|Value)"):
        ask(session, ":bench spin_kernel<<<1, 4096>>>(0.0)")


def test_gpus_are_listed(make):
    assert re.search(r"^CUDA driver: .*\nGPU 0: .*, sm_\d+\n", ask(make(), ":gpu"), re.MULTILINE)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.repl")), ids=lambda path: path.name)
def test_examples(make, path):
    differences, _ = transcript.run(make(isolated=True), path.read_text())
    assert differences == []
