"""What errors say of names whose header, standard or place is another one."""

import pytest

import tarsia


def first_error(source, **options):
    with pytest.raises(tarsia.CompileError) as caught:
        tarsia.load_inline(source, **options)
    return next(d.message for d in caught.value.diagnostics if d.severity == "error")


USES = {
    "utility": ["int f(int x) { return std::as_const(x); }"],
    "tuple": ["int f() { return std::make_from_tuple<std::pair<int, int>>(std::make_pair(1, 2)).first; }",
              "int f() { return std::tuple_size<std::tuple<int, int>>::value; }"],
    "shared_mutex": ["int f() { std::shared_timed_mutex m; return sizeof m; }"],
    "complex": ["float f(float x) { return std::norm(x); }", "float f(float x) { return std::real(std::polar(x)); }"],
    "iostream": ["void f() { std::wcout << 1; }"],
    "ostream": ["#include <string>\nvoid f(std::string s) { (void)&std::flush<char, std::char_traits<char>>; }"],
    "istream": ["void f() { (void)&std::ws<char, std::char_traits<char>>; }"],
    "cmath": ["double f() { return std::nan(\"\"); }", "std::float_t f() { return 1; }", "double f(double x) { return std::legendre(1u, x); }"],
    "cstdlib": ["int f() { return std::div(5, 2).quot; }", "long f(long x) { return labs(x); }", "int f() { void* p; return posix_memalign(&p, 8, 8); }"],
    "mutex": ["#include <utility>\nint f() { return sizeof(std::defer_lock); }"],
    "cfenv": ["int f() { return sizeof(std::fenv_t); }"],
    "atomic": ["int f(int x) { return std::kill_dependency(x); }"],
    "ranges": ["template <std::ranges::range R> int g(const R&) { return 1; }\nint f() { return 1; }",
               "int f(int* x) { std::ranges::subrange<int*> r(x, x + 1); return r.size(); }"],
    "memory_resource": ["int f() { std::pmr::vector<int> v(3); return v.size(); }"],
    "valarray": ["int f() { std::valarray<int> v(3); return v.size(); }"],
    "vector": ["int f() { return sizeof(std::erase_if(1, 1)); }"],
    "fcntl.h": ["int f() { return open(\"/dev/null\", 0); }"],
    "sys/mman.h": ["int f() { return munmap(nullptr, 0); }"],
    "sys/stat.h": ["int f() { struct stat s; return sizeof s; }"],
    "sys/time.h": ["int f() { return gettimeofday(nullptr, nullptr); }"],
    "sys/types.h": ["ssize_t f(int x) { return x; }"],
    "dlfcn.h": ["int f() { return dlopen(nullptr, 1) != nullptr; }"],
    "semaphore.h": ["int f() { sem_t s; return sizeof s; }"],
    "alloca.h": ["int f() { return alloca(8) != nullptr; }"],
    "ctime": ["int f() { return CLOCK_MONOTONIC; }", "long f() { struct timespec t {}; return t.tv_sec; }"],
    "climits": ["int f() { return PATH_MAX; }"],
    "cstdio": ["int f() { return BUFSIZ; }"],
    "cstddef": ["struct A { int a, b; };\nint f() { return offsetof(A, b); }"],
    "tarsia/op.h": ["void f() { tarsia::check_interrupt(); }", "bool f() { return tarsia::interrupted(); }",
                    "void f() { tarsia::empty({3}, tarsia::float32, {}); }"],
}


@pytest.mark.parametrize("header, source", [(header, source) for header, sources in USES.items() for source in sources])
def test_names_of_further_headers_are_known(header, source):
    # Much of std comes with other headers, and where nothing of it is known, the first word has no meaning.
    includes = "#include <vector>\n" if "std::" in source and header != "vector" else ""
    assert f"; #include <{header}>, where " in first_error(includes + source)
    if "erase_if(1" not in source:
        tarsia.load_inline(f"#include <{header}>\n{includes}{source}", cflags=["-w"])


@pytest.mark.parametrize("source, std, header", [
    ("int f(int x) { return std::as_const(x); }", "c++20", "utility"), ("unsigned f(unsigned x) { return std::byteswap(x); }", "c++23", "bit"),
    ("enum E { a };\nint f() { return std::to_underlying(a); }", "c++23", "utility"), ("int f(int x) { if (x) std::unreachable(); return x; }", "c++23", "utility"),
    ("int f() { std::move_only_function<int()> g; return !g; }", "c++23", "functional"),
    ("int g() { return 1; }\nint f() { return std::invoke_r<int>(g); }", "c++23", "functional"),
    ("int f() { std::shared_timed_mutex m; return sizeof m; }", "c++20", "shared_mutex")])
def test_a_standard_that_is_on_is_not_advised_for_a_name_of_another_header(source, std, header):
    told = first_error(f"#include <vector>\n{source}", std=std)
    assert f"; #include <{header}>, where std::" in told and "std=" not in told
    tarsia.load_inline(f"#include <{header}>\n{source}", std=std)


def test_a_container_that_is_included_is_not_advised_for_another():
    source = "#include <map>\nint f() { std::map<int, int> m; return std::erase_if(m, [](auto) { return true; }); }"
    assert first_error(source, std="c++17").endswith('; std::erase_if needs std="c++20" or later')
    tarsia.load_inline(source, std="c++20")


def test_a_template_that_no_header_defines_has_no_header():
    assert "#include" not in first_error("#include <utility>\nint f() { return std::tuple_size<int>::value; }")


@pytest.mark.parametrize("source, said", [
    ("void f(float* x) { float4 v; }", "; it is CUDA's: #include <cuda_runtime.h>, where float4 is"),
    ("void f(float* x) { atomicAdd(x, 1.f); }", "; it is a function of device code: a kernel or __device__ function calls it"),
    ("void f() { __syncthreads(); }", "; it is a function of device code: a kernel or __device__ function calls it"),
    ("int f() { return warpSize; }", "; it has a value in kernels and device functions alone")])
def test_names_of_cuda_are_told_where_there_is_no_kernel(source, said):
    assert first_error(source).endswith(said)


def test_a_far_off_cpu_is_not_suggested():
    source = "int f() { return 1; }"
    assert "did you mean" not in str(pytest.raises(tarsia.CompileError, tarsia.load_inline, source, march="foo").value)
    assert "did you mean 'skylake'?" in str(pytest.raises(tarsia.CompileError, tarsia.load_inline, source, march="skylak").value)
