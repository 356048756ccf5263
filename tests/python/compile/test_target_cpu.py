"""The CPU that host code is compiled for: this machine's level by default, or the one that march= names."""

import pathlib
import subprocess

import numpy as np
import pytest

import tarsia

AXPY = """
void axpy(float a, const float* x, float* y, int n) { for (int i = 0; i < n; ++i) y[i] += a * x[i]; }
"""
FEATURES = {"x86-64-v2": {"sse4_2", "popcnt"}, "x86-64-v3": {"avx2", "fma", "bmi2", "movbe"},
            "x86-64-v4": {"avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512cd"}}


def flags_here():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("flags"):
            return set(line.split(":")[1].split())
    return set()


def level_here():
    level = "x86-64"
    for name, features in FEATURES.items():
        if not features <= flags_here():
            break
        level = name
    return level


def features_of(source, tmp_path, **options):
    """The features that the module says its code needs."""
    path = tmp_path / "lib.so"
    tarsia.compile(source, path, **options)
    data = path.read_bytes()
    at = data.find(b"Tarsia\0\0")
    return set(data[at + 8:data.index(b"\0", at + 8)].decode().split()) if at >= 0 else set()


def test_the_level_of_this_machine_is_the_default(tmp_path):
    needed = features_of(AXPY, tmp_path)
    assert ("avx2" in needed) == (level_here() in ("x86-64-v3", "x86-64-v4"))
    assert ("avx512vl" in needed) == (level_here() == "x86-64-v4")
    x, y = np.arange(1001, dtype=np.float32), np.ones(1001, np.float32)
    tarsia.load_inline(AXPY).axpy(2.0, x, y, x.size)
    np.testing.assert_array_equal(y, 1 + 2 * x)


def test_plain_x86_64_needs_nothing(tmp_path):
    assert features_of(AXPY, tmp_path, march="x86-64") == set()


def test_loops_use_the_wide_registers_of_this_machine(tmp_path):
    if level_here() not in ("x86-64-v3", "x86-64-v4"):
        pytest.skip("this CPU has no AVX2")
    for march, wide in ((None, True), ("x86-64", False)):
        path = tmp_path / "lib.so"
        tarsia.compile(AXPY, path, march=march)
        code = subprocess.run(["objdump", "-d", path], capture_output=True, text=True, check=True).stdout
        assert ("ymm" in code or "zmm" in code) == wide


@pytest.mark.parametrize("march", [None, "x86-64", "x86-64-v3", "native"])
def test_macros_are_those_of_march_alone(march):
    source = """
    #include <cmath>
    #ifdef __AVX2__
    int avx2() { return 1; }
    #else
    int avx2() { return 0; }
    #endif
    double root(double x) { return std::sqrt(x); }
    """
    if march == "x86-64-v3" and level_here() not in ("x86-64-v3", "x86-64-v4"):
        pytest.skip("this CPU has no AVX2")
    library = tarsia.load_inline(source, march=march)
    expected = march == "x86-64-v3" or (march == "native" and "avx2" in flags_here())
    assert library.avx2() == expected and library.root(2.25) == 1.5


def test_intrinsics_compile_where_march_has_them():
    source = """
    #include <immintrin.h>
    float first(const float* x) { return _mm256_cvtss_f32(_mm256_add_ps(_mm256_loadu_ps(x), _mm256_loadu_ps(x))); }
    """
    if level_here() not in ("x86-64-v3", "x86-64-v4"):
        pytest.skip("this CPU has no AVX2")
    assert tarsia.load_inline(source, march="x86-64-v3").first(np.full(8, 3, np.float32)) == 6
    with pytest.raises(tarsia.CompileError, match="march"):
        tarsia.load_inline(source)


def test_an_unknown_cpu_is_named_with_those_that_there_are():
    with pytest.raises(tarsia.CompileError, match="'x87'.*x86-64-v3"):
        tarsia.load_inline(AXPY, march="x87")


def test_a_module_for_another_cpu_compiles_and_is_refused_before_its_code_runs(tmp_path):
    # No CPU has both AMD's XOP and Intel's VP2INTERSECT.
    foreign = "bdver4" if "xop" not in flags_here() else "tigerlake"
    source = "struct S { S() { for (volatile float x = 1; x < 9; x = x * 2) {} } } s;" + AXPY
    path = tmp_path / "foreign.so"
    tarsia.compile(source, path, march=foreign)
    for load in (lambda: tarsia.load(path), lambda: tarsia.load_inline(source, march=foreign)):
        with pytest.raises(tarsia.LoadError, match=f"this machine's lacks.*march='{level_here()}'"):
            load()


def test_a_product_and_a_sum_round_twice_on_every_machine():
    source = "float f(float a, float b, float c) { return a * b + c; }"
    a = np.float32(1 + 2**-12)
    twice = np.float32(np.float32(a * a) - np.float32(1))
    assert tarsia.load_inline(source).f(a, a, -1.0) == twice
    if level_here() in ("x86-64-v3", "x86-64-v4"):
        assert tarsia.load_inline(source, march="x86-64-v3").f(a, a, -1.0) == twice
        once = np.float32(np.float64(a) * np.float64(a) - 1)
        assert once != twice and tarsia.load_inline(source, fast_math=True).f(a, a, -1.0) == once


def test_sources_may_ask_for_the_cpu_themselves():
    source = """
    int has(int which) {
      __builtin_cpu_init();
      return which ? __builtin_cpu_supports("avx2") != 0 : __builtin_cpu_supports("sse2") != 0;
    }
    """
    library = tarsia.load_inline(source)
    assert library.has(0) == 1 and library.has(1) == ("avx2" in flags_here())


@pytest.mark.parametrize("march", [None, "x86-64"])
def test_functions_may_have_clones_for_several_cpus(march):
    source = """
    __attribute__((target_clones("default", "avx2", "avx512f")))
    float sum(const float* x, int n) { float s = 0; for (int i = 0; i < n; ++i) s += x[i]; return s; }
    __attribute__((target("avx2"))) int twice_avx2(int x) { return 2 * x; }
    int twice(int x) { return __builtin_cpu_supports("avx2") ? twice_avx2(x) : x + x; }
    """
    library = tarsia.load_inline(source, march=march)
    assert library.sum(np.ones(1000, np.float32), 1000) == 1000 and library.twice(4) == 8


def test_cuda_sources_are_for_this_cpu_too(tmp_path):
    source = {"a.cu": "__global__ void k(float* x) { x[threadIdx.x] = 1; }" + AXPY}
    assert ("avx2" in features_of(source, tmp_path)) == (level_here() in ("x86-64-v3", "x86-64-v4"))
    assert features_of(source, tmp_path, march="x86-64") == set()
