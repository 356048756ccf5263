"""Both doors: libraries built by nvcc behave as the same source compiled by Tarsia."""

import shutil
import subprocess

import pytest
from gpu_support import INCLUDE, build_with_nvcc, inline, require_gpus, run_python

import tarsia

torch = pytest.importorskip("torch")

SOURCE = r"""
#include <tarsia/op.h>
#include <stdexcept>
#include <string>

__constant__ float offset = 0.5f;
__managed__ int calls = 0;

template <class T>
__global__ void relu_kernel(const T* x, T* y, long n) {
  TARSIA_GRID_LOOP(i, n) y[i] = x[i] > T(0) ? x[i] : T(0);
}
__global__ void shift_kernel(float* x, long n) { TARSIA_GRID_LOOP(i, n) x[i] += offset; }

void relu(const float* x, float* y, long n, cudaStream_t s) {
  ++calls;
  relu_kernel<<<tarsia::blocks(n), 256, 0, s>>>(x, y, n);
}
int call_count() { return calls; }
tarsia::Tensor shifted(const tarsia::Tensor& x, float by) {
  if (x.dtype() != tarsia::float32) throw tarsia::TypeError("x must be float32");
  tarsia::Tensor y = tarsia::empty_like(x);
  cudaStream_t s = tarsia::Stream::current();
  cudaMemcpyToSymbolAsync(offset, &by, sizeof(by), 0, cudaMemcpyHostToDevice, s);
  cudaMemcpyAsync(y.data(), x.data(), size_t(x.bytes()), cudaMemcpyDeviceToDevice, s);
  shift_kernel<<<tarsia::blocks(y.numel()), 256, 0, s>>>(y.data<float>(), y.numel());
  return y;
}
std::string describe(const std::string& name, double x) { return name + " " + std::to_string(x); }
void fail(int n) { throw std::out_of_range("row " + std::to_string(n)); }

void relu_cpu(tarsia::Context& c) {
  const float* x = c.input(0).data<const float>();
  float* y = c.output(0).data<float>();
  for (int64_t i = 0; i < c.input(0).numel(); ++i) y[i] = x[i] > 0 ? x[i] : 0;
}
void relu_gpu(tarsia::Context& c) {
  relu_kernel<float><<<tarsia::blocks(c.input(0).numel()), 256, 0, c.stream()>>>(
      c.input(0).data<const float>(), c.output(0).data<float>(), c.input(0).numel());
}
TARSIA_OP(two_doors_relu).input("x").output("y").forward("cpu", relu_cpu).forward("gpu", relu_gpu);

TARSIA_EXPORT(relu)
TARSIA_EXPORT(call_count)
TARSIA_EXPORT(shifted)
TARSIA_EXPORT(describe)
TARSIA_EXPORT(fail)
"""


def build(text, runtime="static"):
    return build_with_nvcc(text, ".so", "-std=c++17", "-O2", "-shared", "-Xcompiler", "-fPIC", f"-I{INCLUDE}", "-cudart", runtime)


def check(lib):
    """What both doors have to do alike."""
    assert set(lib.functions) == {"relu", "call_count", "shifted", "describe", "fail"} and lib.ops == ("two_doors_relu",)
    x = torch.randn(100_003, device="cuda")
    y = torch.empty_like(x)
    for _ in range(3):
        lib.relu(x, y, x.numel())
    assert torch.equal(y, torch.relu(x))
    torch.cuda.synchronize()
    assert lib.call_count() == 3
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        z = lib.shifted(x, 2.0)
    stream.synchronize()
    assert type(z) is torch.Tensor and torch.equal(z, x + 2)
    assert torch.equal(tarsia.ops.two_doors_relu(x), torch.relu(x))
    assert torch.equal(tarsia.ops.two_doors_relu(x.cpu()), torch.relu(x.cpu()))
    assert lib.describe("ä", 1.5) == "ä 1.500000"
    with pytest.raises(IndexError, match="row 7"):
        lib.fail(7)
    with pytest.raises(TypeError, match="x must be float32"):
        lib.shifted(x.double(), 1.0)
    with pytest.raises(ValueError, match="must be on a GPU"):
        lib.relu(x.cpu(), y, 5)
    with pytest.raises(TypeError, match="float32"):
        lib.relu(x.double(), y, 5)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        lib.relu(x, y, x.numel())
    x.normal_()
    graph.replay()
    assert torch.equal(y, torch.relu(x))
    lib.unload()
    assert "two_doors_relu" not in tarsia.ops


def test_the_inline_door():
    lib = inline(SOURCE)
    assert lib.origin in ("compiled", "disk") and {"relu_kernel<float>", "shift_kernel"} <= set(lib.kernels)
    check(lib)


@pytest.mark.parametrize("runtime", ["static", "shared"])
def test_the_prebuilt_door(runtime):
    require_gpus()
    lib = tarsia.load(build(SOURCE, runtime))
    assert lib.origin == "prebuilt" and lib.kernels == () and lib.cubins == {}
    check(lib)


def test_a_prebuilt_library_links_nothing_of_tarsia():
    require_gpus()
    output = build(SOURCE)
    if not shutil.which("readelf"):
        pytest.skip("needs readelf")
    sections = subprocess.run(["readelf", "-d", "--wide", output], capture_output=True, text=True, check=True).stdout
    assert "NEEDED" in sections and "tarsia" not in sections


def test_both_doors_at_once():
    require_gpus()
    prebuilt = tarsia.load(build(SOURCE))
    compiled = tarsia.load_inline(SOURCE)
    x = torch.randn(1000, device="cuda")
    y = torch.empty_like(x)
    prebuilt.relu(x, y, 1000)
    torch.cuda.synchronize()
    assert (prebuilt.call_count(), compiled.call_count()) == (1, 0)
    assert torch.equal(prebuilt.shifted(x, 1.0), x + 1) and torch.equal(compiled.shifted(x, 2.0), x + 2)
    assert torch.equal(prebuilt.shifted(x, 3.0), x + 3)


def test_a_rebuilt_library_is_the_new_one(tmp_path):
    require_gpus()
    text = "#include <tarsia/op.h>\n__global__ void k(int* y) { *y = VALUE; }\n" \
           "void run(int* y, cudaStream_t s) { k<<<1, 1, 0, s>>>(y); }\nTARSIA_EXPORT(run)\n"
    output = tmp_path / "libone.so"
    y = torch.zeros(1, device="cuda", dtype=torch.int32)
    libs = []
    for value in (1, 2):
        shutil.copyfile(build(text.replace("VALUE", str(value))), output)
        libs.append(tarsia.load(output))
        assert libs[-1].name == "libone"
        libs[-1].run(y)
        assert y.item() == value
    libs[0].run(y)
    assert y.item() == 1


def test_exported_and_compiled_files_are_prebuilt_libraries(tmp_path):
    lib = inline(SOURCE, name="both")
    lib.export(tmp_path / "exported.so")
    tarsia.compile(SOURCE, tmp_path / "compiled.so", name="both")
    lib.unload()
    for file in ("exported.so", "compiled.so"):
        loaded = tarsia.load(tmp_path / file)
        assert loaded.origin == "prebuilt"
        check(loaded)


def test_a_process_without_the_compiler_runs_them(tmp_path):
    inline(SOURCE)
    tarsia.compile(SOURCE, tmp_path / "ops.so")
    out = run_python("""
import sys, torch, tarsia
lib = tarsia.load(sys.argv[1])
x = torch.randn(1000, device="cuda")
y = torch.empty_like(x)
lib.relu(x, y, 1000)
assert torch.equal(y, torch.relu(x)) and torch.equal(tarsia.ops.two_doors_relu(x), y)
try:
    tarsia.load_inline("int f() { return 1; }")
except tarsia.Error as error:
    print("refused")
""", tmp_path / "ops.so", TARSIA_COMPILER="/nowhere/tarsia-compiler", TARSIA_CACHE_DIR=tmp_path / "cache")
    assert out.strip() == "refused"
