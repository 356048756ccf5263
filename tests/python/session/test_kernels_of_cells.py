"""Kernels in cells: declared, launched and replaced in cells of their own."""

import pytest
import tarsia
from cells import ok, value


def test_kernels_are_declared_and_launched_in_cells_of_their_own(session):
    ok(session, "__global__ void twice(float* x, int n) { int i = threadIdx.x; if (i < n) x[i] *= 2; }",
       "__device__ float one_more(float a) { return a + 1; }",
       "__global__ void more(float* x) { x[threadIdx.x] = one_more(x[threadIdx.x]); }",
       "void go(float* p, int n) { twice<<<1, n>>>(p, n); more<<<1, n>>>(p); }",
       "template <class T> __global__ void fill(T* x, T v) { x[threadIdx.x] = v; }",
       "void filled(float* p) { fill<<<1, 32>>>(p, 1.0f); }")


@pytest.mark.skipif(any(line["part"] == "CUDA driver" and line["found"] for line in tarsia.doctor()["lines"]),
                    reason="there is a GPU: launches do not fail")
def test_launches_of_earlier_kernels_fail_as_those_of_the_cell(session):
    ok(session, "__global__ void kernel(float* x) { x[0] = 1; }", "void go() { kernel<<<1, 1>>>(nullptr); }")
    for text in ("kernel<<<1, 1>>>(nullptr);", "go();", "__global__ void own() {}\nown<<<1, 1>>>();"):
        cell = session.run(text)
        assert not cell.ok and cell.error_class == "CudaError" and "launches a kernel" in cell.error, text
    assert session.run("1").value == "1"


def test_a_kernel_with_another_body_is_another_cell():
    for body in ("x[0] = 1;", "if (x) { x[0] = 1; }", "x[0] = 1; x[1] = 2;"):
        session = tarsia.Session()  # the host's half of these cells is the same
        ok(session, "__global__ void same_host_half(float* x) { " + body + " }", "int after;", "auto* at = &same_host_half;")


def test_kernels_have_what_op_h_gives_them(session, tmp_path):
    ok(session, "__global__ void twice(const float* x, float* y, long n) { TARSIA_GRID_LOOP(i, n) y[i] = 2 * x[i]; }",
       "void go(float* x, long n) { twice<<<tarsia::blocks(n), 256>>>(x, x, n); }")
    session.save(tmp_path / "saved.cu")
    assert tarsia.load(str(tmp_path / "saved.cu")).twice


def test_a_kernel_replaces_one_that_earlier_code_launches(session):
    ok(session, "__global__ void k(float* x, int n) { if (n) { x[0] = n; } }", "auto* before = &k; auto* at() { return &k; }",
       "__global__ void k(float* x, int n) { x[0] = n + 1; }", "__global__ void other(int* a) { *a = 1; } int between = 3;")
    assert session.run("at() == &k").value == "true" and session.run("before == &k").value == "false"
    session.undo(), session.undo(), session.undo(), session.undo()
    assert session.run("before == &k").value == "true"


@pytest.mark.parametrize("compiler", ["nvrtc", "clang"])
def test_statements_stand_between_kernels(compiler):
    session = tarsia.Session(device_compiler=compiler)
    ok(session, "template <class T> __global__ void fill(T* x, T v) { x[0] = v; }\nint a = 3; a += 4;\n__global__ void k(float* x) { x[0] = 1; }",
       "for (int i = 0; i < 3; ++i) { auto same = [](int x) { return x; }; a += same(1); }",
       "if (a > 100) fill<<<1, 1>>>((double*)nullptr, 1.0);", "if (a > 100) k<<<1, 1>>>(nullptr);")
    assert session.run("a").value == "10"
    cell = session.run("void open() { int x;")
    assert not cell.ok and {one.file for one in cell.diagnostics} == {f"cell {cell.number}"}, cell.diagnostics
    assert session.run("k").value == "(void (float *)) function"


@pytest.mark.parametrize("compiler", ["nvrtc", "clang"])
def test_a_device_variable_belongs_to_the_kernels_of_its_cell(compiler):
    session = tarsia.Session(device_compiler=compiler)
    ok(session, "__device__ float total; __constant__ float unused = 1; __device__ void add(float a) { total += a; }\n"
                "__global__ void own(float* x) { add(x[0]); }",
       "__device__ float total_of(float a) { return total + a; }",
       "__global__ void other(float* unused) { unused[0] = 1; }", "float* where() { void* at; cudaGetSymbolAddress(&at, total); return (float*)at; }")
    for text in ("__global__ void direct(float* x) { x[0] = total; }", "__global__ void by_another(float* x) { x[0] = total_of(1); }",
                 "__global__ void added(float* x) { add(x[0]); }"):
        cell = session.run(text)
        assert not cell.ok and "'total' (cell 1:1)" in cell.error and "define it together" in cell.error
        assert [(one.file, one.line) for one in cell.diagnostics] == [(f"cell {cell.number}", 1)]
    assert session.run("3").value == "3"


def test_tensors_are_made_on_a_device(session):
    ok(session, 'auto a = zeros({2}, "cpu"), b = ones({2}, "cpu"), c = full({2}, 3, "cpu"), d = randn({2}, "cpu"), e = rand_uniform({2}, "cpu");')
    assert value(session, 'arange(3, "cpu")') == "float32[3] cpu {0, 1, 2}"
    assert value(session, "allclose(c, c) && !allclose(a, b)") == "true"


def test_a_launch_without_a_block_has_its_line(session):
    ok(session, "__global__ void k(int* p) { *p = 1; }")
    for cell, line in (("int n = 1;\nk<<<1>>>(nullptr);", 2), ("void f(int* p) {\n\n  k<<<1>>>(p); }", 3)):
        (error,) = session.run(cell).diagnostics
        assert error.line == line and "a kernel launch needs a grid and a block" in error.message
