"""Which compiler takes the device code of a source: NVRTC, or Clang where NVRTC cannot, and what each says."""

import os
import random
import re
import subprocess
import sys
import warnings

import pytest

import tarsia

KERNEL = r"""
__global__ void scale(float* x, float a, int n) { int i = threadIdx.x; if (i < n) x[i] *= a; }
void run(float* x, float a, int n, cudaStream_t s) { scale<<<1, n, 0, s>>>(x, a, n); }
"""

LAMBDA = r"""
template <class F> __global__ void each(float* x, int n, F f) { int i = threadIdx.x; if (i < n) x[i] = f(x[i]); }
void run(float* x, float a, int n, cudaStream_t s) {
  each<<<1, n, 0, s>>>(x, n, [=] __device__ (float v) { return fmaf(v, a, 1.f) + sinf(v) + threadIdx.x; });
}
"""

THRUST = r"""
#include <thrust/device_vector.h>
#include <thrust/sort.h>
#include <thrust/reduce.h>
#include <thrust/transform.h>
int run(int* p, int n) {
  thrust::device_vector<int> d(p, p + n);
  thrust::sort(d.begin(), d.end());
  thrust::transform(d.begin(), d.end(), d.begin(), [] __device__ (int x) { return x + 1; });
  thrust::copy(d.begin(), d.end(), p);
  return thrust::reduce(d.begin(), d.end());
}
"""

LOCAL = r"""
template <class T> __global__ void fill(float* x, T make) { x[threadIdx.x] = make(threadIdx.x); }
void local(float* x, cudaStream_t s) {
  struct Ramp { float step; __device__ float operator()(int i) const { return i * step; } };
  fill<<<1, 32, 0, s>>>(x, Ramp{0.5f});
}
namespace { struct Hidden { __device__ float operator()(int i) const { return -i; } }; }
void hidden(float* x, cudaStream_t s) { fill<<<1, 32, 0, s>>>(x, Hidden{}); }
enum { k_first = 3, k_second };
template <class E> __global__ void enumerated(float* x, E e) { x[threadIdx.x] = float(e); }
void unnamed(float* x, cudaStream_t s) { enumerated<<<1, 32, 0, s>>>(x, k_second); }
"""


def fresh(source):
    return source + f"// {random.getrandbits(64):x}\n"


def kernels_of(lib):
    """The names of kernels in the PTX."""
    ptx = next(data for arch, data in lib.cubins.items() if arch.startswith("compute_"))
    return set(re.findall(r"\.entry (\w+)", ptx.decode()))


def only(lib):
    (text,) = lib.device_compilers.values()
    return text


def test_nvrtc_comes_first():
    assert tarsia.load_inline(KERNEL).device_compilers == {"source": "nvrtc"}


def test_host_code_has_no_device_compiler():
    assert tarsia.load_inline("int f() { return 1; }").device_compilers == {}


def test_clang_takes_what_it_is_asked_to():
    lib = tarsia.load_inline(KERNEL, device_compiler="clang", ptx=True, arch="sm_90")
    assert only(lib) == "clang: asked for by device_compiler"
    assert kernels_of(lib) == {"_Z5scalePffi"} and lib.kernels == ("scale",)


def test_both_are_told_apart_by_the_key():
    source = fresh(KERNEL)
    tarsia.load_inline(source)
    lib = tarsia.load_inline(source, device_compiler="clang")
    assert lib.origin == "compiled" and only(lib).startswith("clang")


def test_lambdas_go_to_clang():
    lib = tarsia.load_inline(LAMBDA, ptx=True, arch="sm_90")
    assert only(lib) == "clang: line 4: NVRTC cannot compile lambdas marked __device__ in host code"
    assert len(kernels_of(lib)) == 1


def test_thrust_goes_to_clang_and_brings_its_kernels():
    lib = tarsia.load_inline(THRUST, ptx=True, arch="sm_90")
    assert only(lib).startswith("clang: line 2: <thrust/device_vector.h>: NVRTC cannot compile Thrust")
    names = kernels_of(lib)
    assert any("DeviceRadixSort" in name for name in names) and any("DeviceReduce" in name for name in names)


BOTH = r"""
#include <thrust/device_ptr.h>
#include <thrust/fill.h>
__device__ float g_step = 2;
__global__ void add(float* x, float a) { x[threadIdx.x] += a * g_step; }
void run(float* x, float a, cudaStream_t s) {
  thrust::device_ptr<float> d(x);
  thrust::fill(d, d + 32, 1.f);
  add<<<1, 32, 0, s>>>(x, a);
}
"""


def test_a_users_kernels_are_nvrtcs_beside_those_of_headers():
    lib = tarsia.load_inline(BOTH, ptx=True, arch="sm_90")
    own, headers = lib.device_compilers["source"], lib.device_compilers["source (kernels of headers)"]
    assert own == "nvrtc" and headers.startswith("clang: line 2: <thrust/device_ptr.h>: NVRTC cannot compile Thrust")
    assert lib.kernels == ("add",) and sorted(lib.globals) == ["g_step"]
    ptx = {file: data.decode() for (file, arch), data in lib.cubins.items() if arch == "compute_90"}
    assert re.findall(r"\.entry (\w+)", ptx["source"]) == ["_Z3addPff"] and "g_step" in ptx["source"]
    fills = ptx["source (kernels of headers)"]
    entries = re.findall(r"\.entry (\w+)", fills)  # Thrust's and CUB's own, whatever they call what fills
    assert entries and all(re.match(r"_ZN(3cub|6thrust)", entry) for entry in entries)
    assert re.search(r"for_each|transform_kernel|__fill|__uninitialized_fill", " ".join(entries)) and "g_step" not in fills


def test_both_pieces_of_device_code_are_kept():
    source = fresh(BOTH)
    first = tarsia.load_inline(source)
    both = first.device_compilers
    first.unload()
    again = tarsia.load_inline(source)
    assert again.origin in ("disk", "memory") and again.device_compilers == both and len(both) == 2


def test_kernels_of_headers_that_use_the_users_variables_are_in_one_piece_with_them():
    """Two pieces of device code would have a variable each."""
    source = BOTH.replace("thrust::fill(d, d + 32, 1.f)", "thrust::transform(d, d + 32, d, Step())")
    source = source.replace("<thrust/fill.h>", "<thrust/transform.h>").replace(
        "void run", "struct Step { __device__ float operator()(float v) const { return v + g_step; } };\nvoid run")
    lib = tarsia.load_inline(source, ptx=True, arch="sm_90")
    assert only(lib).endswith("all kernels are in one piece, since these use variables of the GPU's memory")
    assert "_Z3addPff" in kernels_of(lib) and len(kernels_of(lib)) > 1


def test_an_error_in_a_users_kernel_is_told_once_beside_kernels_of_headers():
    with pytest.raises(tarsia.CompileError) as caught:
        tarsia.load_inline(BOTH.replace("a * g_step", "a * missing"))
    assert str(caught.value).count('identifier "missing" is undefined') == 1
    assert [(one.line, one.severity) for one in caught.value.diagnostics if one.severity == "error"] == [(5, "error")]


def test_what_nvrtc_refuses_goes_to_clang_with_the_kernels_of_headers():
    source = BOTH.replace("add<<<1, 32, 0, s>>>(x, a)", "struct Local { float v; }; put<<<1, 1, 0, s>>>(x, Local{a})")
    source = source.replace("void run", "template <class T> __global__ void put(float* x, T value) { *x = value.v; }\nvoid run")
    lib = tarsia.load_inline(source, ptx=True, arch="sm_90")
    assert only(lib).startswith("clang: NVRTC refused source: 'put<Local>'")
    assert len(kernels_of(lib)) >= 3

@pytest.mark.parametrize("compiler", ["auto", "clang"])
def test_kernels_over_local_and_unnamed_types(compiler):
    lib = tarsia.load_inline(LOCAL, device_compiler=compiler, ptx=True, arch="sm_90")
    assert only(lib).startswith("clang")
    assert len(kernels_of(lib)) == 3 and len(lib.cubins) == 2


def test_what_took_a_source_is_kept_with_it():
    source = fresh(LAMBDA)
    first = tarsia.load_inline(source)
    text = only(first)
    first.unload()
    again = tarsia.load_inline(source)
    assert again.origin in ("disk", "memory") and only(again) == text


def test_nvrtc_alone_refuses_what_it_cannot():
    with pytest.raises(tarsia.CompileError, match="NVRTC cannot compile Thrust.*device_compiler='auto'"):
        tarsia.load_inline(THRUST, device_compiler="nvrtc")
    with pytest.raises(tarsia.CompileError, match="NVRTC cannot compile lambdas.*device_compiler='auto'"):
        tarsia.load_inline(LAMBDA, device_compiler="nvrtc")


def test_an_error_has_its_place_under_clang():
    with pytest.raises(tarsia.CompileError) as caught:
        tarsia.load_inline("__global__ void k(float* x) {\n  x[0] = nothing;\n}\n", device_compiler="clang")
    first = caught.value.diagnostics[0]
    assert (first.line, first.column) == (2, 10) and "nothing" in first.message


def test_a_users_error_keeps_nvrtcs_words():
    with pytest.raises(tarsia.CompileError) as caught:
        tarsia.load_inline("__global__ void k(float* x) {\n  x[0] = nothing;\n}\n")
    assert 'identifier "nothing" is undefined' in str(caught.value)


def test_a_function_without_a_definition_is_named():
    with pytest.raises(tarsia.CompileError, match=r"device code calls 'missing\(float\)', which is defined nowhere"):
        tarsia.load_inline("__device__ float missing(float);\n__global__ void k(float* x) { *x = missing(*x); }\n",
                           device_compiler="clang")


def test_a_variable_without_a_size_that_nobody_defines_is_an_error():
    """Clang would define it with one element, and kernels would read beyond it."""
    with pytest.raises(tarsia.CompileError, match=r"device code uses 'tab', which is defined nowhere in this source") as caught:
        tarsia.load_inline("extern __device__ float tab[];\n__global__ void k(float* x) { *x = tab[1]; }\n")
    assert caught.value.diagnostics[0].line == 1


@pytest.mark.parametrize("body", [
    "for (int i : (int[]){1, 2, 3}) x[i] = 1;", "const float* p = (const float[]){x[0], x[1], 3.f}; x[2] = p[1];",
    "x[0] = ({ int a = 1; a; });", "x[0] = x[2] ?: 7;", "switch (int(x[0])) { case 1 ... 5: x[1] = 1; }", "__typeof__(x[0]) q = 1; x[0] = q;"])
def test_gnu_extensions_in_kernels_go_to_clang(body):
    """nvcc takes them, and NVRTC does not."""
    lib = tarsia.load_inline(f"__global__ void k(float* x) {{\n  {body}\n}}\n")
    assert only(lib).startswith("clang: NVRTC refused line 2: ")


def test_an_unknown_architecture_is_an_error():
    with pytest.raises(tarsia.ArgumentError, match="architecture 'sm_99' is unknown: write it as in 'sm_90'"):
        tarsia.load_inline(KERNEL, device_compiler="clang", arch="sm_99")


def test_variables_are_the_same_to_both():
    source = r"""
    __constant__ float table[4];
    __device__ int counter;
    static __device__ float hidden[3];
    namespace a { __managed__ int shared = 3; }
    __global__ void k(float* x) { x[0] = table[1] + counter + hidden[2] + a::shared; }
    """
    libs = [tarsia.load_inline(source, device_compiler=compiler) for compiler in ("nvrtc", "clang")]
    assert [sorted(lib.globals) for lib in libs] == [["a::shared", "counter", "hidden", "table"]] * 2


def test_more_instantiations_come_from_the_same_compiler():
    lib = tarsia.load_inline(LAMBDA.replace("void run", "template <class T> __global__ void more(T* x) { *x += 1; }\nvoid run"))
    assert "_Z4moreIdEvPT_" in lib.more["double"].ptx and "each" not in lib.more["double"].ptx


SPILLS = r"""
__global__ void busy(float* x) {
  float v[96];
  #pragma unroll
  for (int i = 0; i < 96; ++i) v[i] = x[i * 32 + threadIdx.x];
  #pragma unroll
  for (int k = 0; k < 4; ++k)
  #pragma unroll
    for (int i = 0; i < 96; ++i) v[i] = sqrtf(v[i]) * v[(i * 7 + k) % 96];
  #pragma unroll
  for (int i = 0; i < 96; ++i) x[i * 32 + threadIdx.x] = v[i];
}
"""


@pytest.mark.parametrize("compiler", ["nvrtc", "clang"])
def test_spilled_registers_are_a_warning(compiler):
    with pytest.warns(tarsia.CompileWarning, match="lacks registers"):
        lib = tarsia.load_inline(SPILLS, device_compiler=compiler, maxrregcount=24, arch="sm_90")
    (warning,) = [w for w in lib.warnings if "registers" in w.message]
    assert "busy(float*) lacks registers on sm_90" in warning.message and warning.line == 2
    assert not [w for w in tarsia.load_inline(SPILLS, device_compiler=compiler, arch="sm_90").warnings if "registers" in w.message]


def test_spilled_registers_of_a_librarys_kernel_are_a_note():
    body = SPILLS[SPILLS.index("{"):].replace("threadIdx.x", "t")
    source = "#include <cub/device/device_for.cuh>\nstruct Busy { float* x; __device__ void operator()(int t) " + body + """};
    int run(float* x, int n) { return cub::DeviceFor::Bulk(n, Busy{x}); }
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error", tarsia.CompileWarning)
        lib = tarsia.load_inline(source, maxrregcount=24, arch="sm_90")
    (spill,) = lib.warnings
    assert "lacks registers on sm_90" in spill.message and str(spill.severity) == "note"


def test_a_kernel_that_device_code_never_names_is_an_error():
    source = r"""
    template <class T> __global__ void k(T x) {}
    template <class T> void launch(T x) {
    #ifndef __CUDA_ARCH__
      k<<<1, 1>>>(x);
    #endif
    }
    void f(int x) { launch(x); }
    """
    tarsia.load_inline(source, device_compiler="nvrtc")
    with pytest.raises(tarsia.CompileError, match="host code uses the kernel k<int>, and device code never names it") as caught:
        tarsia.load_inline(source, device_compiler="clang")
    assert caught.value.diagnostics[0].line == 2


def test_kernels_with_constraints():
    """From CCCL 3.5 on these have them, and Clang judges some of them as calls of device code."""
    tarsia.load_inline(r"""
    #include <cub/device/device_for.cuh>
    struct Twice { int* x; __device__ void operator()(int i) { x[i] *= 2; } };
    int run(int* x, int n) { return cub::DeviceFor::Bulk(n, Twice{x}); }
    """, device_compiler="clang", std="c++20")


def test_headers_are_sliced_by_whatever_folder_they_come_through(tmp_path):
    """One include folder may lie in another, as PyTorch's do; NVRTC could not read this header as it is."""
    inner = tmp_path / "api" / "include"
    (inner / "detail").mkdir(parents=True)
    (inner / "detail" / "box.h").write_text("#include <iostream>\n#include <vector>\n#define SCALE 3\n"
                                            "inline std::vector<int> numbers() { std::cout << 1; return {1}; }\n")
    (tmp_path / "all.h").write_text("#include <api/include/detail/box.h>\n")
    lib = tarsia.load_inline("#include <all.h>\n__global__ void k(int* x) { *x = SCALE; }\nint f() { return numbers()[0]; }",
                             include_dirs=[tmp_path, inner], device_compiler="nvrtc")
    assert lib.f() == 1


def test_numeric_limits_has_all_members():
    members = ["is_specialized", "is_signed", "is_integer", "is_exact", "has_infinity", "has_quiet_NaN", "has_signaling_NaN",
               "has_denorm", "has_denorm_loss", "round_style", "is_iec559", "is_bounded", "is_modulo", "digits", "digits10",
               "max_digits10", "radix", "min_exponent", "min_exponent10", "max_exponent", "max_exponent10", "traps", "tinyness_before"]
    uses = " + ".join(f"int(L::{member})" for member in members)
    tarsia.load_inline(f"#include <limits>\ntemplate <class T> __global__ void k(int* x) {{ using L = std::numeric_limits<T>; *x = {uses}; }}\n"
                       "void f(int* x) { k<int><<<1, 1>>>(x); k<float><<<1, 1>>>(x); k<double><<<1, 1>>>(x); }", device_compiler="nvrtc")


def test_braces_are_a_grid_and_a_block():
    lib = tarsia.load_inline("__global__ void k(int* x) { *x = 1; }\nint f(int* x, int n) { k<<<{2, 2}, {16, 16, 1}, 0>>>(x); return n; }")
    assert lib.kernels


def test_a_kernel_that_another_source_defines_is_left_to_the_loader(tmp_path):
    tarsia.compile("""
    template <class T> __global__ void elsewhere(T x);
    __global__ void here(int* x) { *x = 1; }
    int run(int* x) { elsewhere<int><<<1, 1>>>(2); here<<<1, 1>>>(x); return 0; }
    """, tmp_path / "module.so", device_compiler="clang", undefined="load", arch="sm_90")


def test_host_code_may_call_min_and_max_where_clang_reads_it_for_the_device():
    tarsia.load_inline(r"""
    template <class T> T ceil_div(T a, T b) { return (a + b - 1) / b; }
    __global__ void k(int* x) { *x = min(*x, 3) + max(2u, 4u); }
    int run(int* x, int n) {
      dim3 blocks(min(65535, ceil_div<int>(n, 16u)), max(1u, 1));
      k<<<blocks, 1>>>(x);
      return int(max(1.0, 2.0f) + rsqrt(4.0) + min(3LL, 2LL));
    }
    """, device_compiler="clang")


def test_a_compile_that_nvrtc_crashes_is_taken_by_clang(tmp_path):
    """The worker is killed in the place of NVRTC, whose crashes come and go with its versions."""
    source = KERNEL + "".join(f"template <int N> __device__ float f{i}(float x) {{ return x * N + {i}; }}\n"
                              f"__global__ void k{i}(float* x) {{ *x = f{i}<{i}>(*x); }}\n" for i in range(400))
    environment = {**os.environ, "TARSIA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", KILLED, source], capture_output=True, text=True, env=environment)
    assert done.stdout == "clang: the compiler crashed when NVRTC was to take it\n", done.stderr


KILLED = """
import pathlib, os, signal, sys, threading, time
import tarsia

def children():
    return [int(pid) for task in pathlib.Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()]

def kill():
    while not killed:
        for pid in children():
            if "tarsia-compiler" in pathlib.Path(f"/proc/{pid}/cmdline").read_text() and b"libnvrtc.so" in pathlib.Path(f"/proc/{pid}/maps").read_bytes():
                os.kill(pid, signal.SIGSEGV)
                killed.append(pid)
        time.sleep(0.002)

killed = []
thread = threading.Thread(target=kill, daemon=True)
thread.start()
lib = tarsia.load_inline(sys.argv[1], arch="sm_90")
print(*lib.device_compilers.values())
"""


@pytest.mark.parametrize("compiler", ["auto", "clang"])
def test_constant_expressions_may_name_unknown_references_as_for_nvcc(compiler):
    lib = tarsia.load_inline("""
    struct S { static constexpr float k = 2; int n; };
    struct T { S s; };
    __device__ float get(const T& t) { const S& s = t.s; constexpr float k = 1 / s.k; return k + s.n; }
    __global__ void k(T t, float* x) { *x = get(t); }
    """, device_compiler=compiler, std="c++17")
    assert only(lib).startswith("clang")


def test_what_the_standard_library_throws_is_a_trap_in_clangs_device_code():
    lib = tarsia.load_inline("""
    #include <array>
    __global__ void k(std::array<float, 4> a, int i, float* x) { *x = a.at(i); }
    """, device_compiler="clang", ptx=True, arch="sm_90")
    ptx = next(data for arch, data in lib.cubins.items() if arch == "compute_90")
    assert b"trap;" in ptx


def test_functions_of_clangs_device_code_are_the_modules_own():
    lib = tarsia.load_inline("""
    template <class T> __device__ __noinline__ T slow(T x) { return x * x + threadIdx.x; }
    inline __device__ int unused(int x) { return x; }
    __global__ void __launch_bounds__(256, 4) k(float* x) { *x = slow(*x); }
    """, device_compiler="clang", ptx=True, arch="sm_90")
    ptx = next(data for arch, data in lib.cubins.items() if arch == "compute_90")
    assert re.search(rb"^\.func[^;]*slow", ptx, re.M) and b"unused" not in ptx
    assert b".weak" not in ptx and ptx.count(b".visible .entry") == 1


def test_structured_bindings_of_constant_classes():
    lib = tarsia.load_inline("""
    struct Pair { float a; int b; };
    __device__ Pair make(float x) { return {x, 2}; }
    template <class T> __global__ void k(T* x) { const auto [a, b] = make(*x); *x = a + b; }
    void run(float* x) { k<<<1, 1>>>(x); }
    """ + "#include <tuple>\n__global__ void t(float* x) { const auto [a, b] = std::tuple<float, int>(*x, 1); *x = a + b; }")
    assert only(lib) == "nvrtc"


@pytest.mark.parametrize("value", [-1, 256])
def test_the_range_of_maxrregcount(value):
    with pytest.raises((ValueError, tarsia.Error), match="maxrregcount"):
        tarsia.load_inline(KERNEL, maxrregcount=value)


@pytest.mark.parametrize("std", ["c++17", "c++20", "c++23"])
@pytest.mark.parametrize("include", ["", "#include <cuda_fp16.h>\n#include <cuda_bf16.h>", "#include <cooperative_groups.h>",
                                     "#include <cub/block/block_reduce.cuh>", "#include <cuda/std/tuple>"])
def test_headers_of_cuda(include, std):
    tarsia.load_inline(include + KERNEL, device_compiler="clang", std=std)


def test_functions_that_cudas_headers_expect_of_the_compiler():
    lib = tarsia.load_inline(r"""
    __global__ void k(int* x, const __grid_constant__ int y, size_t* z) {
      x[0] = __dp4a(x[1], x[2], x[3]) + __dp2a_lo(x[4], x[5], x[6]);
      x[1] = __isGlobal(x) + __isShared(x) + __isGridConstant(&y);
      z[0] = __cvta_generic_to_grid_constant(&y);
      x[2] = __brev(x[2]) + __byte_perm(x[3], x[4], 0x123) + __activemask() + __funnelshift_l(x[5], x[6], 3);
    }
    """, device_compiler="clang", ptx=True, arch="sm_90")
    ptx = next(data for arch, data in lib.cubins.items() if arch == "compute_90")
    assert b"dp4a.s32.s32" in ptx and b"isspacep.param" in ptx


ATOMICS = r"""
__global__ void k(int* x, float* f, unsigned char* c, long long* l) {
  x[1] = __nv_atomic_load_n(x, __NV_ATOMIC_ACQUIRE);
  __nv_atomic_store_n(x + 2, 3, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_DEVICE);
  x[3] = __nv_atomic_exchange_n(x + 4, 5, __NV_ATOMIC_ACQ_REL);
  int expected = 6;
  x[5] = __nv_atomic_compare_exchange_n(x + 6, &expected, 7, false, __NV_ATOMIC_ACQ_REL, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_BLOCK);
  x[7] = __nv_atomic_fetch_add(x + 8, 9, __NV_ATOMIC_SEQ_CST) + __nv_atomic_fetch_or(x + 9, 1, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
  f[1] = __nv_atomic_fetch_add(f, 2.f, __NV_ATOMIC_RELAXED);
  c[1] = __nv_atomic_load_n(c, __NV_ATOMIC_RELAXED);
  l[1] = __nv_atomic_fetch_max(l, 5ll, __NV_ATOMIC_ACQUIRE);
  __nv_atomic_thread_fence(__NV_ATOMIC_ACQ_REL, __NV_THREAD_SCOPE_BLOCK);
}
"""


@pytest.mark.parametrize("compiler", ["nvrtc", "clang"])
def test_atomic_functions_with_an_order_and_a_scope(compiler):
    library = tarsia.load_inline(ATOMICS, device_compiler=compiler, ptx=True, arch="sm_90")
    ptx = next(data for arch, data in library.cubins.items() if arch == "compute_90")
    for instruction in (rb"ld\.acquire\.sys", rb"st\.release\.(sys|gpu)", rb"fence\.acq_rel\.(sys|cta)", rb"atom\.([a-z]+\.)?(acq_rel|acquire)\.sys"):
        assert re.search(instruction, ptx), instruction


PRAGMAS_OF_MACROS = """
#include "unroll.h"
#define UNROLL #pragma unroll
__global__ void k(float* x) {
  UNROLL
  for (int i = 0; i < 4; ++i) x[i] = i;
  UNROLL_2 for (int i = 0; i < 4; ++i) x[i] += i;
}
void host(float* x) { UNROLL for (int i = 0; i < 4; ++i) x[i] = i; }
#undef UNROLL
#define UNROLL
int f() { UNROLL return 3; }
"""


@pytest.mark.parametrize("compiler", ["nvrtc", "clang"])
def test_a_macro_may_hold_a_pragma_as_for_nvcc(compiler):
    library = tarsia.load_inline(PRAGMAS_OF_MACROS, headers={"unroll.h": "#define UNROLL_2 #pragma unroll 2\n"}, arch="sm_90", device_compiler=compiler)
    assert library.f() == 3 and compiler in library.device_compilers["source"]


@pytest.mark.parametrize("defines", [{}, {"NDEBUG": None}], ids=["", "NDEBUG"])
def test_assertions_of_cccl_under_clang(defines):
    lib = tarsia.load_inline(fresh("""
#include <cuda/std/array>
#include <cassert>
__global__ void pick(int* x) { cuda::std::array<int, 4> a{1, 2, 3, 4}; assert(x); *x = a[x[0]]; }
int host(int i) { cuda::std::array<int, 4> a{1, 2, 3, 4}; assert(i >= 0); return a[i]; }
void run(int* x, cudaStream_t s) { pick<<<1, 1, 0, s>>>(x); }
"""), device_compiler="clang", defines=defines)
    assert lib.host(2) == 3


LARGE = {
    "shared": (r"""
__global__ void small(float* p) { p[0] = 1; }

__global__ void k(float* p) {
  __shared__ float tile[16384];
  tile[threadIdx.x] = p[threadIdx.x];
  __syncthreads();
  p[threadIdx.x] = tile[100 - threadIdx.x];
}
""", 4, "kernel 'k' has 65536 bytes of __shared__ variables, and the limit is 49152: .*extern __shared__"),
    "shared by a template": (r"""
namespace a {
template <int N> __global__ void k(float* p) {
  __shared__ float tile[N];
  tile[threadIdx.x] = p[threadIdx.x];
  __syncthreads();
  p[threadIdx.x] = tile[100 - threadIdx.x];
}
}
void f(float* p) { a::k<16384><<<1, 1>>>(p); }
""", 3, "kernel 'a::k<16384>' has 65536 bytes of __shared__ variables"),
    "shared by a function, for a kernel with C's name": (r"""
__device__ float* tile() { __shared__ float t[20000]; return t; }
extern "C" __global__ void i(float* p) {
  float* q = tile();
  q[threadIdx.x] = p[threadIdx.x];
  __syncthreads();
  p[threadIdx.x] = q[100 - threadIdx.x];
}
""", 3, "kernel 'i' has 80000 bytes of __shared__ variables"),
    "constants": (r"""
__constant__ float table[8000];
namespace n { __constant__ double other[8000]; }
__global__ void k(float* p) { p[threadIdx.x] = table[threadIdx.x] + n::other[threadIdx.x]; }
""", 3, r"96000 bytes of __constant__ variables \('n::other' has 64000, 'table' has 32000\), and the limit is 65536: write __device__ const"),
    "parameters": (r"""
struct Big { float v[10000]; };
__global__ void k(Big b, float* p) { p[threadIdx.x] = b.v[threadIdx.x]; }
""", 3, "kernel 'k' has 40008 bytes of parameters, and the limit is 3276.: pass the largest by a pointer"),
}


@pytest.mark.parametrize("compiler", ["auto", "clang"])
@pytest.mark.parametrize("what", LARGE)
def test_what_is_too_large_for_a_gpu_has_its_place(what, compiler):
    source, line, words = LARGE[what]
    with pytest.raises(tarsia.CompileError, match=words) as caught:
        tarsia.load_inline(source, device_compiler=compiler, arch="sm_90")
    (only_one,) = caught.value.diagnostics
    assert only_one.line == line and only_one.file == "source" and "nvJitLink" not in str(caught.value)


@pytest.mark.parametrize("options", [{}, {"lineinfo": True}])
@pytest.mark.parametrize("compiler", ["auto", "clang"])
def test_a_mistake_in_ptx_has_its_place(compiler, options):
    source = r"""
    #include "half.h"
    __global__ void k(int* p) {
      asm volatile("bogus.u32 %0, %1;" : "=r"(*p) : "r"(3));
      second(p);
    }
    """
    header = r"""
    __device__ inline void second(int* p) { asm volatile("mov.u32 %0, %%nothing;" : "=r"(*p)); }
    """
    with pytest.raises(tarsia.CompileError) as caught:
        tarsia.load_inline(source, headers={"half.h": header}, device_compiler=compiler, arch="sm_90", **options)
    found = {(one.file, one.line) for one in caught.value.diagnostics}
    assert found == {("source", 4), ("half.h", 2)}
    assert "Ptx assembly aborted" not in str(caught.value) and "nvJitLink" not in str(caught.value)


@pytest.mark.parametrize("compiler", ["nvrtc", "clang"])
@pytest.mark.parametrize("option", ["lineinfo", "debug"])
def test_cubins_know_their_lines(compiler, option):
    lib = tarsia.load_inline(fresh(KERNEL), device_compiler=compiler, arch="sm_90", **{option: True})
    cubin = lib.cubins["sm_90"]
    assert b".debug_line" in cubin and b"source" in cubin


@pytest.mark.parametrize("compiler", ["nvrtc", "clang"])
def test_names_of_c_are_no_types(compiler):
    """f is how a mangled name says float."""
    with pytest.warns(tarsia.CompileWarning, match="source:2: f lacks registers on sm_90"):
        tarsia.load_inline(SPILLS.replace("__global__ void busy", 'extern "C" __global__ void f'), device_compiler=compiler,
                           maxrregcount=24, arch="sm_90")


@pytest.mark.parametrize("name", ["__shfl", "__shfl_up", "__shfl_down", "__shfl_xor"])
@pytest.mark.parametrize("compiler", ["nvrtc", "clang"])
def test_shuffles_without_a_mask_are_errors_where_the_gpu_has_none(name, compiler):
    source = "__global__ void k(float* x) { x[threadIdx.x] += %s(x[threadIdx.x], 1); }\nvoid f(float* x) { k<<<1, 32>>>(x); }"
    with pytest.raises(tarsia.CompileError, match=f"source:1:49: error: .*{name}"):
        tarsia.load_inline(source % name, arch=["sm_90"], device_compiler=compiler)
    tarsia.load_inline(source.replace("%s(", "%s(~0u, ") % f"{name}_sync", arch=["sm_90"], device_compiler=compiler)
