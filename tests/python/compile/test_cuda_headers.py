"""CUDA's headers: `include_dirs` may name the folder that they come from anyway, and which of their functions host code may
call: calls of those that are the device's alone are refused, as by nvcc."""

import pathlib
import subprocess
import sys

import numpy as np
import pytest

import tarsia

SOURCE = """#include <cuda_runtime.h>
#include <cuda_fp16.h>
__global__ void halve(__half* x) { *x = __float2half(__half2float(*x) / 2); }
int answer() { return 42; }
"""


def cuda_folders():
    """Where CUDA's headers are."""
    return sorted({line["path"] for line in tarsia.doctor()["lines"] if line["part"].startswith("CUDA") and line["found"]
                   and pathlib.Path(line["path"], "cuda_runtime.h").exists()})


@pytest.fixture
def cuda():
    if not tarsia.doctor()["works"]["cuda"]:
        pytest.skip("no CUDA headers or no NVRTC")


@pytest.mark.parametrize("through_a_link", [False, True])
def test_it_is_as_if_they_did_not(tmp_path, through_a_link):
    folders = cuda_folders()
    assert folders
    if through_a_link:
        (tmp_path / "cuda").symlink_to(folders[0])
        folders = [str(tmp_path / "cuda")]
    text = SOURCE + f"// {tmp_path}\n"  # which no other run has compiled
    assert tarsia.load_inline(text).origin == "compiled"
    again = tarsia.load_inline(text, include_dirs=folders)
    assert again.origin == "memory" and again.answer() == 42


def test_a_cpp_source_reaches_them_through_a_header_of_its_own(cuda, tmp_path):
    (tmp_path / "mine.h").write_text("#include <cuda_runtime.h>\n"
                                     "inline int answer() { int n = 0; return cudaGetDeviceCount(&n) * 0 + 5; }\n")
    source = f'#include "mine.h"\nint f() {{ return answer(); }}\n// {tmp_path}\n'
    with pytest.raises(tarsia.CompileError, match=r"undefined symbol: cudaGetDeviceCount, of the CUDA runtime; name it: libraries=\['cudart'\]"):
        tarsia.load_inline(source, include_dirs=[tmp_path])
    options = {"include_dirs": [str(tmp_path)], "libraries": ["cudart"]}
    lib = tarsia.load_inline(source, **options)
    assert (lib.origin, lib.f()) == ("compiled", 5)
    program = f"import tarsia; lib = tarsia.load_inline({source!r}, **{options!r}); print(lib.origin, lib.f())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert done.stdout == "disk 5\n", done.stderr
    (tmp_path / "mine.h").write_text("#include <cuda_runtime.h>\n#include <nowhere.h>\n")
    with pytest.raises(tarsia.CompileError, match="'nowhere.h' file not found") as caught:
        tarsia.load_inline(source, include_dirs=[tmp_path])
    assert "cuda_runtime" not in str(caught.value)


def test_another_folder_of_headers_is_the_sources_own(tmp_path):
    (tmp_path / "cuda_fp16.h").write_text("#pragma once\n#define ANSWER 7\n")
    lib = tarsia.load_inline("#include <cuda_fp16.h>\n__global__ void k(int* x) { *x = ANSWER; }\nint f() { return ANSWER; }\n",
                             include_dirs=[str(tmp_path)])
    assert lib.f() == 7


KERNEL = "\n__global__ void kernel(float* x) { x[0] = 1; }\n"


def refused(source, **options):
    """(line, message) of each error."""
    with pytest.raises(tarsia.CompileError) as caught:
        tarsia.load_inline(source + KERNEL, **options)
    assert "does not compile" in str(caught.value), caught.value
    return [(one.line, one.message) for one in caught.value.diagnostics if one.severity == "error"]


def told(device, host):
    return f"calling the device function '{device}' from the host function '{host}' is not allowed"


@pytest.mark.parametrize("device, body", [
    ("atomicAdd", "int f(int* x) {\n  return atomicAdd(x, 1);\n}"), ("atomicMax", "int f(int* x) {\n  return atomicMax(x, 7); }"),
    ("atomicCAS", "int f(int* x) {\n  return atomicCAS(x, 1, 2); }"), ("__ldg", "float f(const float* x) {\n  return __ldg(x); }"),
    ("__ldcs", "float f(const float* x) {\n  return __ldcs(x); }"), ("__shfl_down_sync", "int f(int a) {\n  return __shfl_down_sync(~0u, a, 1); }"),
    ("__ballot_sync", "int f(int a) {\n  return __ballot_sync(~0u, a); }"), ("__activemask", "int f() {\n  return __activemask(); }"),
    ("__syncwarp", "void f() {\n  __syncwarp(); }"), ("clock64", "long f() {\n  return clock64(); }"), ("__popc", "int f(int a) {\n  return __popc(a); }"),
    ("__clz", "int f(int a) {\n  return __clz(a); }"), ("__expf", "float f(float a) {\n  return __expf(a); }"),
    ("__float2int_rn", "int f(float a) {\n  return __float2int_rn(a); }"), ("__threadfence", "void f() {\n  __threadfence(); }"),
    ("__dadd_rn", "double f(double a) {\n  return __dadd_rn(a, a); }")],
    ids=lambda value: value if "(" not in value else "")
def test_a_device_function_in_a_host_function_is_an_error(cuda, device, body):
    assert refused(body) == [(2, told(device, "f"))]


def test_a_kernel_that_launches_a_kernel_is_an_error_that_says_so(cuda):
    for options in ({}, {"device_compiler": "clang"}):
        with pytest.raises(tarsia.CompileError, match="a kernel launches a kernel .dynamic parallelism., for which Tarsia has no device runtime"):
            tarsia.load_inline("__global__ void a(float* x) { *x = 1; }\n__global__ void b(float* x) { a<<<1, 1>>>(x); }\n", **options)


def test_it_is_found_in_lambdas_members_instantiations_and_headers(cuda):
    assert refused("""template <class T> T g(const T* x) {
  return __ldg(x); }
float f(const float* x) { return g(x); }
struct S { int n; int m(int* x) {
  return atomicAdd(x, n); } };
int h(int* x) { auto add = [&] {
  return atomicAdd(x, 1); }; return add(); }""") == [(2, told("__ldg", "g<float>")), (5, told("atomicAdd", "m")), (7, told("atomicAdd", "h"))]
    for _ in range(2):  # the second time, the header may be in a precompiled form
        with pytest.raises(tarsia.CompileError, match=r"own\.h:2:\d+: error: " + told("atomicAdd", "add")):
            tarsia.load_inline('#include "own.h"\n' + KERNEL, headers={"own.h": "inline int\nadd(int* x) { return atomicAdd(x, 1); }\n"})


def test_what_the_host_does_not_call_is_no_error(cuda):
    library = tarsia.load_inline("""
__host__ __device__ int both(int* x) {
#ifdef __CUDA_ARCH__
  return atomicAdd(x, 1);
#else
  return (*x)++;
#endif
}
__host__ __device__ float loads(const float* x) { return __ldg(x); }
template <bool device> int chosen(int* x) {
  if constexpr (device) return atomicAdd(x, 1);
  else return ++*x;
}
__device__ int alone(int* x) { return atomicAdd(x, 1) + __popc(*x); }
struct Functor { __device__ float operator()(float* x) const { return atomicAdd(x, 1.f); } };
constexpr int size = sizeof(__popc(1));
template <class T> T never(T* x) { return atomicAdd(x, T(1)); }
int f(int* x) { both(x); return chosen<false>(x) + size; }""" + KERNEL, functions=["f"])
    assert library.f(x := np.array([3], np.int32)) == 9 and x[0] == 5


def test_functions_of_both_sides_and_of_the_runtime_are_called(cuda):
    library = tarsia.load_inline("""
#include <cuda_fp16.h>
#include <cuda_bf16.h>
float halves(float a) { return __half2float(__hadd(__float2half(a), __float2half(1.f))) + __bfloat162float(__float2bfloat16(a)); }
float maths(float a) { return max(a, 2.0f) + min(3, 4) + norm3df(a, 0, 0) + rsqrtf(4.f) + fmaf(a, a, a); }
float vectors(float a) { float4 v = make_float4(a, 1, 2, 3); dim3 d(1, 2); return v.x + d.y; }
int words(int a) { return __vimax3_s32(a, 2, 3); }
long ticks() { return clock(); }
int device() { int n = 0; cudaGetDeviceCount(&n); cudaGetLastError(); return n >= 0; }
void launches(float* x) { if (x) kernel<<<1, 1>>>(x); }
""".replace("#include <cuda_fp16.h>", "#include <cuda_fp16.h>\n__global__ void kernel(float*);") + KERNEL)
    assert library.halves(1.0) == 3 and library.maths(1.0) == 8.5 and library.vectors(1.0) == 3 and library.words(7) == 7
    assert library.ticks() >= 0 and library.device() == 1


def test_a_function_of_both_sides_that_lacks_a_body_for_the_host_says_so_at_the_link(cuda):
    with pytest.raises(tarsia.CompileError, match=r"'__popc' is a function of the device, and host code calls it: .*__CUDA_ARCH__"):
        tarsia.load_inline("__host__ __device__ int g(int a) { return __popc(a); }\nint f(int a) { return g(a); }" + KERNEL)
