"""Errors that name their remedy, and remedies that work."""

import re
import subprocess

import pytest

import tarsia


def error_of(source, **options):
    with pytest.raises(tarsia.CompileError) as caught:
        tarsia.load_inline(source, **options)
    return caught.value


@pytest.mark.parametrize("source, header", [
    ("int f() { std::vector<int> v; return v.size(); }", "vector"),
    ("int f() { std::string s; return s.size(); }", "string"),
    ("int f() { return std::max(1, 2); }", "algorithm"),
    ("double f(double x) { return std::sqrt(x); }", "cmath"),
    ("double f(double x) { return sqrt(x); }", "cmath"),
    ("int f() { return printf(\"x\"); }", "cstdio"),
    ("void f(float* x) { memset(x, 0, 4); }", "cstring"),
    ("void f(uint8_t* x) { x[0] = 1; }", "cstdint"),
    ("float f() { return INFINITY; }", "cmath"),
    ("int f() { return INT_MAX; }", "climits"),
    ("int f(int x) { assert(x); return x; }", "cassert"),
    ("int f() { using namespace std; vector<int> v; return v.size(); }", "vector"),
    ("#include <vector>\nint f() { std::unique_ptr<int> p; return !p; }", "memory"),
    ("#include <vector>\nint f() { std::mutex m; m.lock(); return 1; }", "mutex"),
    ("int f() { return 1; }\nTARSIA_EXPORT(f)", "tarsia/op.h"),
    ("long f(const tarsia::Tensor& t) { return t.size(); }", "tarsia/op.h"),
    ("#include <ostream>\nvoid f(void* o) { *static_cast<std::ostream*>(o) << std::setw(3); }", "iomanip"),
    ("#include <vector>\nint f(std::vector<int> v) { return std::gcd(v[0], 2); }", "numeric"),
    ("#include <vector>\nint f() { std::latch l(1); return l.try_wait(); }", "latch"),
    ("#include <vector>\nint f() { std::stop_token t; return t.stop_requested(); }", "stop_token"),
    ("#include <vector>\nint f() { std::counting_semaphore<1> s(1); s.acquire(); return 1; }", "semaphore"),
    ("#include <vector>\nint f(std::vector<int> v) { std::ranges::sort(v); return v[0]; }", "algorithm"),
    ("#include <vector>\nvoid f() { std::this_thread::yield(); }", "thread"),
    ("#include <vector>\nlong f() { return std::filesystem::path().native().size(); }", "filesystem"),
    ("#include <cstdio>\nint f(int* v) { std::ranges::sort(v, v + 3); return v[0]; }", "algorithm"),
    ("int f(int* v) { std::ranges::sort(v, v + 3); return v[0]; }", "algorithm"),
    ("#include <cstdio>\nint f() { std::chrono::seconds s(1); return s.count(); }", "chrono"),
    ("int f(int a, int b) { return std::ranges::max(a, b); }", "algorithm"),
    ("void f(float* x) { _mm_storeu_ps(x, _mm_add_ps(_mm_loadu_ps(x), _mm_set1_ps(1))); }", "immintrin.h"),
    ("#include <vector>\nlong f(long x) { return _mm_popcnt_u64(x); }", "immintrin.h"),
])
def test_a_missing_include_is_named_and_helps(source, header):
    told = next(d for d in error_of(source).diagnostics if d.severity == "error")
    assert f"; #include <{header}>, where " in told.message
    if "popcnt" not in source and "t.size()" not in source:
        tarsia.load_inline(f"#include <{header}>\n{source}")


@pytest.mark.parametrize("source, header, guess", [
    ("#include <string>\nvoid f(signed char* p) { memcpy(p, p, 1); }", "cstring", "wmemcpy"),
    ("#include <string>\nvoid f(signed char* p) { std::memcpy(p, p, 1); }", "cstring", "wmemcpy"),
    ("#include <cwchar>\nint f() { return printf(\"x\"); }", "cstdio", "wprintf"),
    ("#include <cwchar>\nint f(float* x) { return scanf(\"%f\", x); }", "cstdio", "wscanf"),
])
def test_a_missing_include_is_named_where_clang_guesses_at_the_spelling(source, header, guess):
    told = error_of(source).diagnostics
    assert f"; #include <{header}>, where " in told[0].message
    assert not any(f"did you mean '{guess}'" in d.message or f"'{guess}' declared here" in d.message for d in told), told
    tarsia.load_inline(f"#include <{header}>\n{source}")


@pytest.mark.parametrize("source, said", [
    # What the text has itself may be meant as well.
    ("double sine(double);\ndouble f() { return sin(1); }", "did you mean 'sine'?; #include <cmath>, where sin is"),
    ("namespace m { double sqrt(double); }\ndouble f() { return sqrt(1); }", "'sqrt'; did you mean 'm::sqrt'?"),
    ("#include <vector>\nint f(std::vektor<int> x);", "did you mean 'vector'?"),
])
def test_guesses_at_the_spelling_stay(source, said):
    assert error_of(source).diagnostics[0].message.endswith(said)


def test_a_missing_include_of_an_op_is_named():
    told = error_of('TARSIA_OP(hinted) { return 1; }').diagnostics[0].message
    assert told.endswith("; #include <tarsia/op.h>, where TARSIA_OP is")


@pytest.mark.parametrize("source, options, said, works", [
    ("#include <expected>\nint f() { std::expected<int, int> e(1); return *e; }", {}, 'std::expected needs std="c++23" or later', {"std": "c++23"}),
    ("#include <span>\nlong f() { std::span<int> s; return s.size(); }", {"std": "c++17"}, 'std::span needs std="c++20" or later', {"std": "c++20"}),
    ("#include <utility>\nenum class E { a };\nint f() { return std::to_underlying(E::a); }", {},
     'std::to_underlying needs std="c++23" or later', {"std": "c++23"}),
    ("#include <string>\nbool f(const std::string& s) { return s.contains('a'); }", {}, 'std::string has it with std="c++23" or later',
     {"std": "c++23"}),
    ("#include <algorithm>\nint f() { return std::maxx(1, 2); }", {}, None, None),
])
def test_a_header_that_is_included_is_not_advised_but_the_standard_is(source, options, said, works):
    told = error_of(source, **options).diagnostics[0].message
    assert "#include" not in told and (said is None or said in told), told
    if works:
        tarsia.load_inline(source, **works)


@pytest.mark.parametrize("source, options, said, works", [
    ("int f() { std::expected<int, int> e(1); return *e; }", {}, '#include <expected>, where std::expected is, with std="c++23" or later', {"std": "c++23"}),
    ("#include <vector>\nlong f() { std::span<int> s; return s.size(); }", {"std": "c++17"},
     '#include <span>, where std::span is, with std="c++20" or later', {"std": "c++20"}),
    ("struct A { int operator[](int a, int b) { return a + b; } };\nint f() { A a; return a[1, 2]; }", {}, 'it needs std="c++23" or later', {"std": "c++23"}),
    ("struct A { int g(this A& self) { return 1; } };\nint f() { A a; return a.g(); }", {}, 'it needs std="c++23" or later', {"std": "c++23"}),
    ("int f(int x) { return auto(x); }", {}, 'it needs std="c++23" or later', {"std": "c++23"}),
    ("template <class T> concept C = true;\ntemplate <C T> T g(T x) { return x; }\nint f() { return g(1); }", {"std": "c++17"},
     'it needs std="c++20" or later', {"std": "c++20"}),
    ("template <class T> requires true T g(T x) { return x; }\nint f() { return g(1); }", {"std": "c++17"}, 'it needs std="c++20" or later', {}),
    ("consteval int g() { return 1; }\nint f() { return g(); }", {"std": "c++17"}, 'it needs std="c++20" or later', {}),
    ("#include <compare>\nstruct A { int x; auto operator<=>(const A&) const = default; };\nint f() { return A{1} < A{2}; }", {"std": "c++17"},
     'it needs std="c++20" or later', {}),
    ("#include <vector>\nint f() { std::vector v{1, 2}; return v.size(); }", {"std": "c++14"}, 'it needs std="c++17" or later', {}),
    ("auto f(int x) { return x; }", {"std": "c++11"}, 'it needs std="c++14" or later', {}),
    ("int f(int x) { auto g = [](auto y) { return y; }; return g(x); }", {"std": "c++11"}, 'it needs std="c++14" or later', {}),
])
def test_the_first_hint_names_the_standard(source, options, said, works):
    assert error_of(source, **options).diagnostics[0].message.endswith("; " + said)
    tarsia.load_inline(f"#include <{said.split('<')[1].split('>')[0]}>\n{source}" if "#include" in said else source, **works)


@pytest.mark.parametrize("source, options", [
    ("long f() { std::span<int> s; return s.size(); }", {}), ("int f() { std::expected<int, int> e(1); return *e; }", {"std": "c++23"}),
    ("#include <vector>\nint f() { std::vector v; return v.size(); }", {}), ("int concept = 1;", {}), ("int f(int x) { return auto; }", {"std": "c++23"})])
def test_a_standard_that_is_there_is_not_advised(source, options):
    assert "std=" not in str(error_of(source, **options))


def test_the_command_spells_the_standard_as_it_takes_it(tmp_path):
    import places

    (tmp_path / "a.cc").write_text("#include <utility>\nenum class E { a };\nint f() { return std::to_underlying(E::a); }\n")
    done = subprocess.run([places.command(), "compile", "a.cc", "-o", "a.so"], cwd=tmp_path, capture_output=True, text=True)
    assert "std::to_underlying needs --std=c++23 or later\n" in done.stderr and 'std="' not in done.stderr
    assert subprocess.run([places.command(), "compile", "--std=c++23", "a.cc", "-o", "a.so"], cwd=tmp_path).returncode == 0


@pytest.mark.parametrize("source, said", [
    ("using namespace std;\nvoid f() { cout << 1; }", "; #include <iostream>, where std::cout is"),
    ("using namespace std;\nint f() { string s; return s.size(); }", "; #include <string>, where std::string is"),
    ("#include <iostream>\nvoid f() { cout << 1; }", "; did you mean 'std::cout'?"),  # Clang's own words
    ("torch::Tensor f(torch::Tensor x) { return x; }", "; compile with **tarsia.torch.options(), and #include <torch/extension.h>"),
    ("at::Tensor f(at::Tensor x) { return x; }", "; compile with **tarsia.torch.options()"),
    ("#include <torch/extension.h>\nint f() { return 1; }", "; compile with **tarsia.torch.options()"),
    ("PyObject* f(PyObject* x) { return x; }", "sysconfig.get_path"),
    ("#include <Python.h>\nint f() { return 1; }", "sysconfig.get_path"),
    ("#include <pybind11/pybind11.h>\nint f() { return 1; }", "leave pybind11 out"),
    ("int f(const Tensor& x) { return 1; }", "; write tarsia::Tensor, and #include <tarsia/op.h>"),
    ("void f() { dim3 grid(1); }", "#include <cuda_runtime.h>, where dim3 is"),
])
def test_names_of_tutorials_are_explained(source, said):
    told = [one.message for one in error_of(source).diagnostics]
    assert any(said in one for one in told), told


def test_a_host_function_in_a_kernel_is_told():
    cuda_or_skip()
    for call, name in (("usleep(1);", "usleep"), ("x[0] = atoi(\"1\");", "atoi"), ("x[0] = omp_get_thread_num();", "omp_get_thread_num")):
        told = error_of(f"__global__ void k(int* x) {{ {call} }}", arch="sm_90").diagnostics[0].message
        assert told.endswith(f"; {name} is a host function; device code cannot call it"), told


def test_c_sources_get_cs_headers():
    told = " ".join(d.message for d in error_of({"a.c": "uint8_t f(void) { return 1; }"}).diagnostics)
    assert "#include <stdint.h>" in told


@pytest.mark.parametrize("source", [
    "int f() { return nothing_of_this_name(1); }", "no_such_type f();", "int f() { return std::no_such_name(); }",
    "struct S {}; int f(S s) { return s.vector; }", "namespace n {} int f() { return n::sqrt(1); }"])
def test_other_names_get_no_hint(source):
    assert "#include" not in str(error_of(source))


LACKING = {
    "std::ranges::to": "#include <ranges>\n#include <vector>\nint f(std::vector<int> v) { return std::ranges::to<std::vector<int>>(v).size(); }",
    "std::views::enumerate": "#include <ranges>\n#include <vector>\nint f(std::vector<int> v) { for (auto [i, x] : std::views::enumerate(v)) return x; return 0; }",
    "std::views::zip": "#include <ranges>\n#include <vector>\nint f(std::vector<int> v) { for (auto [i, x] : std::ranges::views::zip(v, v)) return x; return 0; }",
    "std::ranges::fold_left": "#include <algorithm>\n#include <functional>\n#include <vector>\nint f(std::vector<int> v) { return std::ranges::fold_left(v, 0, std::plus{}); }",
    "std::stacktrace": "#include <stacktrace>\nint f() { return std::stacktrace::current().size(); }",
    "std::basic_stacktrace": "int f() { return sizeof(std::basic_stacktrace<int>); }",
    "std::chrono::current_zone": "#include <chrono>\nbool f() { return std::chrono::current_zone() != nullptr; }",
    "std::chrono::zoned_time": "#include <chrono>\nint f() { std::chrono::zoned_time<std::chrono::seconds> t; return 1; }",
    "std::bind_back": "#include <functional>\nint f() { return std::bind_back([](int a, int b) { return a - b; }, 1)(2); }",
    "std::out_ptr": "#include <memory>\nvoid f(std::unique_ptr<int>& p) { (void)std::out_ptr(p); }",
    "std::forward_like": "#include <utility>\nint f(int x) { return std::forward_like<int&>(x); }",
    "std::expected::and_then": "#include <expected>\nint f(std::expected<int, int> e) { return e.and_then([](int x) { return std::expected<int, int>(x); }).value(); }",
}


# The whole header of some is C++23's.
@pytest.mark.parametrize("name, std", [(name, std) for name in LACKING for std in ("c++20", "c++23") if std == "c++23" or "expected" not in name])
def test_names_that_the_library_lacks_though_it_has_their_header(name, std):
    told = [one.message for one in error_of(LACKING[name], std=std).diagnostics]
    assert any(f"the C++ library that Tarsia brings (GCC 12's) lacks {name}: " in one and 'host_headers="system"' in one for one in told), told
    assert not any("#include" in one for one in told), told


@pytest.mark.parametrize("source, said", [
    ("int f(int a, int b) { return max(a, b); }", "; #include <algorithm>, where std::max is"),
    ("#include <algorithm>\nint f(int a, int b) { return min(a, b); }", "std::min"),
    ("#include <vector>\nint f(int a, int b) { return min(a, b); }", "std::min"),
    ("void f(int& a, int& b) { swap(a, b); }", "where std::swap is"),
    ("void f(float* x) { _mm256_storeu_ps(x, _mm256_setzero_ps()); }", "; #include <immintrin.h>, where what begins with _mm256_ is"),
])
def test_names_that_people_write_without_std_or_header(source, said):
    told = error_of(source).diagnostics[0].message
    assert said in told and ("<algorithm>" not in source or "#include" not in told), told


@pytest.mark.parametrize("source", [
    "int f(tarsia::Contxt& c) { return 1; }", "#include <tarsia/op.h>\nint f(tarsia::Contxt& c) { return 1; }", "TARSIA_OPP(x)",
    "int f(int x) { TARSIA_CHECK(x, \"none\"); return x; }", "#include <tarsia/op.h>\nTARSIA_OPP(x)",
    "#include <ranges>\nint f() { return std::ranges::no_such_name(1); }",
    "#include <algorithm>\nint f(int* v) { std::ranges::no_such_sort(v, v + 3); return 1; }"])
def test_no_header_is_said_to_have_a_name_that_does_not_exist(source):
    told = [one.message for one in error_of(source).diagnostics]
    assert not any("#include" in one for one in told), told


@pytest.mark.parametrize("source, said", [
    ("__global__ void k(float* x) { using B = cub::BlockReduse<float, 128>; }", "; #include <cub/cub.cuh>, where cub is"),
    ("__global__ void k(float* x) { cooperative_groups::this_thread_blok().sync(); }", "; #include <cooperative_groups.h>, where cooperative_groups is")])
def test_of_a_misspelt_name_the_namespace_is_claimed_alone(source, said):
    cuda_or_skip()
    told = [one.message for one in error_of(source, arch="sm_90").diagnostics]
    assert any(one.endswith(said) for one in told), told


def test_the_names_that_tarsias_headers_are_said_to_have_exist():
    import pathlib

    repo = pathlib.Path(__file__).parents[3]
    table = (repo / "jit" / "worker" / "source" / "names" / "headers_of_names.cpp").read_text()
    found = re.findall(r'\{"(tarsia/[\w/]+\.h)",\s*((?:"[^"]*"\s*)+)\}', table)
    assert len(found) >= 4

    def text_of(header, seen):
        path = repo / "include" / header
        if header in seen or not path.is_file():
            return ""
        seen.add(header)
        text = path.read_text()
        return text + "".join(text_of(name, seen) for name in re.findall(r"#\s*include <(tarsia/[^>]+)>", text))

    for header, names in found:
        text = text_of(header, set())
        for name in " ".join(re.findall(r'"([^"]*)"', names)).split():
            declared = rf"\b(?:class|struct|using|namespace|define|enum class)\s+(?:\[\[\w+\]\]\s*)?{name}\b|\b[\w>]+[ &*]+{name}\(|, {name}\b"
            assert re.search(declared, text), f"{header} has no {name}"


@pytest.mark.parametrize("source, guess", [
    ("int g();\nint f() { return g(); }", None), ("void gg(int);\nvoid ff(int x) { gg(x); }", None),
    ("int first_one(int x) { return x; }\nint first_ona(int);\nint f() { return first_ona(3); }", "first_one(int)")])
def test_a_function_is_not_offered_for_itself_or_for_a_short_name(source, guess):
    told = error_of(source).diagnostics[0].message
    assert ("did you mean" in told) == (guess is not None) and (guess is None or guess in told), told
    assert "defined in" not in told or guess, told


@pytest.mark.parametrize("source", ["#include <format>\nint f() { return 1; }", "#include <print>\nint f() { return 1; }",
                                    "int f() { return std::format(\"{}\", 1).size(); }"])
def test_what_the_library_lacks_is_said(source):
    told = error_of(source).diagnostics[0].message
    assert "which the C++ library that Tarsia brings (GCC 12's) lacks" in told and 'host_headers="system"' in told


def cuda_or_skip():
    if not tarsia.doctor()["works"]["cuda"]:
        pytest.skip("no CUDA to compile with")


@pytest.mark.parametrize("host, use, kind, line", [
    ("\nfloat h(float x) { return x + 1; }\n", "h(x[0])", "function", 2),
    ("namespace m {\nfloat h(float x) { return x; }\n}\n", "m::h(x[0])", "function", 2),
    ("template <class T>\nT h(T x) { return x; }\n", "h(x[0])", "function", 2),
    ("static float h[4] = {1, 2, 3, 4};\n", "h[1]", "variable", 1),
    ("int h = 3;\n", "h", "variable", 1)])
def test_a_kernel_that_names_the_hosts_is_told(host, use, kind, line):
    cuda_or_skip()
    told = error_of(f"{host}__global__ void k(float* x) {{ x[0] = {use}; }}").diagnostics[0].message
    assert f"; 'h' is a host {kind} (line {line}): write __device__" in told
    if kind == "function":
        fixed = host.replace("float h", "__device__ float h").replace("T h", "__device__ T h")
        tarsia.load_inline(f"{fixed}__global__ void k(float* x) {{ x[0] = {use}; }}")


def test_an_unknown_name_in_a_kernel_gets_no_hint():
    cuda_or_skip()
    told = error_of("__global__ void k(float* x) { x[0] = nothing(1.f); }").diagnostics[0].message
    assert told == 'identifier "nothing" is undefined'


@pytest.mark.parametrize("body, header, what", [
    ("TARSIA_GRID_LOOP(i, n) y[i] = 1;", "tarsia/op.h", "TARSIA_GRID_LOOP"),
    ("curandState s; y[0] = sizeof s;", "curand_kernel.h", "curandState"),
    ("curandStatePhilox4_32_10_t s; curand_init(1, 2, 3, &s);", "curand_kernel.h", "curandStatePhilox4_32_10_t"),
    ("using B = cub::BlockReduce<float, 128>; y[0] = sizeof(B);", "cub/cub.cuh", "cub::BlockReduce"),
    ("cooperative_groups::this_thread_block().sync();", "cooperative_groups.h", "cooperative_groups::this_thread_block"),
    ("__half h = 1.f; y[0] = h;", "cuda_fp16.h", "__half"),
    ("__nv_bfloat16 h = 1.f; y[0] = h;", "cuda_bf16.h", "__nv_bfloat16"),
    ("__nv_fp8_e4m3 h(1.f); y[0] = float(h);", "cuda_fp8.h", "__nv_fp8_e4m3"),
    ("nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> a; y[0] = sizeof a;", "mma.h", "nvcuda::wmma"),
])
def test_a_missing_include_of_a_kernel_is_named_and_helps(body, header, what):
    cuda_or_skip()
    source = f"__global__ void k(float* y, int n) {{\n  {body}\n}}"
    messages = [d.message for d in error_of(source, arch="sm_90").diagnostics]
    assert any(message.endswith(f"; #include <{header}>, where {what} is") for message in messages), messages
    if header not in ("curand_kernel.h", "cub/cub.cuh", "cooperative_groups.h"):  # not each toolkit of the tests has these
        tarsia.load_inline(f"#include <{header}>\n{source}", arch="sm_90")


@pytest.mark.parametrize("host, header, what", [
    ("namespace cg = cooperative_groups;", "cooperative_groups.h", "cooperative_groups"),
    ("void f(float* x) { thrust::sort(x, x); }", "thrust/sort.h", "thrust::sort"),
    ("int f(curandState* s) { return s != nullptr; }", "curand_kernel.h", "curandState"),
    ("void f() { cublasHandle_t handle; }", "cublas_v2.h", "cublasHandle_t"),
])
def test_so_is_one_of_cudas_libraries_on_the_host(host, header, what):
    cuda_or_skip()
    told = error_of(f"{host}\n__global__ void k(float* y) {{}}", arch="sm_90").diagnostics[0].message
    assert told.endswith(f"; #include <{header}>, where {what} is")


@pytest.mark.parametrize("template, name", [
    ("template <class T> T twice(T x) { return x + x; }", "twice"),
    ("namespace ns { template <class T, int n> T times(const T* x) { return n * x[0]; } }", "ns::times"),
    ("template <typename T, bool negate = false> void scale(T* x, long n, T by) { x[0] *= by; }", "scale"),
    ("template <class T> T odd(T x) { return x % 2; }", "odd"),
    ("template <class T> T mask(T x, T y) { return (x & ~y) << 1; }", "mask"),
    ("template <class T> void fill(T* x, long n, T v) { for (long i = 0; i < n; ++i) x[i] = v; }", "fill"),
    ("auto same(auto x) { return x; }", "same"), ("auto five(auto x) { return 5 + x; }", "five"),
    ("#include <cstddef>\ntemplate <std::size_t n> int sized(int x) { return x + n; }", "sized"), ("template <char c> int letter(int x) { return x + c; }", "letter"),
    ("namespace ns { enum class E { a = 3, b }; template <E e> int pick(int x) { return x + int(e); } }", "ns::pick"),
    ("enum E { none };\ntemplate <E e, unsigned short n> int plain(const int* x) { return x[n] + e; }", "plain")])
def test_a_template_says_what_to_write_and_that_works(template, name):
    lib = tarsia.load_inline(template + "\nint other() { return 1; }")
    advice = lib.skipped[name]
    written = re.search(r"`(.*)`", advice).group(1)
    exported = re.search(r"and (\S.*) is exported", advice).group(1)
    lib = tarsia.load_inline(f"{template}\n{written}\n")
    assert lib.functions == (exported,)
    with pytest.raises(AttributeError, match="is exported"):
        tarsia.load_inline(template + "\nint another() { return 1; }")[name]


def test_named_instantiations_are_exported():
    import numpy as np

    lib = tarsia.load_inline("""
        template <class T> T sum(const T* x, long n) { T s = 0; for (long i = 0; i < n; ++i) s += x[i]; return s; }
        template float sum<float>(const float*, long);
        template int sum(const int*, long);
        template <int a, int b> int both(int x) { return a * x + b; }
        template int both<2, 3>(int);
    """)
    assert set(lib.functions) == {"sum<float>", "sum<int>", "both<2, 3>"} and lib.skipped == {}
    assert lib["sum<float>"](np.ones(3, "float32"), 3) == 3.0 and lib["both<2, 3>"](10) == 23


@pytest.mark.parametrize("template", [
    "template <class F> int apply(F f) { return f(1); }",
    "template <class T> long count(const T& x) { return x.size(); }",
    "template <class T> typename T::value_type first(const T& x) { return x[0]; }",
    "template <class T> auto at(T x, int i) { return x[i]; }",
    "template <class T> auto what(T x) { return *x; }",
    "template <class T> int total(T x) { int s = 0; for (int i : x) s += i; return s; }",
    "template <class T> requires (sizeof(T) == 1) int small(T x) { return x; }",
    "template <class T> int checked(T x) { static_assert(sizeof(T) == 1); return x; }",
    "#include <vector>\ntemplate <class T> int sized(std::vector<std::vector<T>> x) { return x.size(); }",
    # What no instance exports.
    "template <class T> void twice(T& x) { x += x; }", "template <class T> T moved(T&& x) { return x; }",
    "template <class T, int n> T sum(T (&x)[n]) { return x[0]; }", "template <class T> T* same(T* x) { return x; }",
    "template <class T> T deep(T** x) { return **x; }", "template <class T> consteval T early(T x) { return x; }",
    "template <class T> auto local(T x) { struct L { T y; }; return L{x}; }", "template <class T> auto at(T& x) { return &x; }",
    "template <class T> auto place(T* x) { return x; }",
])
def test_a_template_that_asks_for_more_than_a_number_advises_a_wrapper(template):
    lib = tarsia.load_inline(template + "\nint other() { return 1; }")
    assert list(lib.skipped.values()) == ["is a template; a function that calls it with types of your choice is exported"]


def test_a_template_of_packs_advises_a_wrapper():
    lib = tarsia.load_inline("template <class... T> int count(T... x) { return sizeof...(x); }\nint two() { return count(1, 2); }")
    assert lib.skipped["count"] == "is a template; a function that calls it with types of your choice is exported"


MEMBERS = {
    "g": "struct A { float g(float x) { return x * 5; } };\n__global__ void k(float* x) { A a; x[0] = a.g(x[1]); }",
    "operator+": "struct A { float v; A operator+(A o) const { return {v + o.v}; } };\n__global__ void k(A* x) { x[0] = x[1] + x[2]; }",
    "operator()": "struct A { float operator()(float x) const { return x; } };\n"
    "template <class T> __global__ void k(T f, float* x) { x[0] = f(x[1]); }\nvoid run(float* x) { k<<<1, 1>>>(A{}, x); }",
    "operator int": "struct A { int n; operator int() const { return n; } };\n__global__ void k(A a, int* x) { x[0] = a; }",
    "f": "struct A { static int f(int x) { return x; } };\n__global__ void k(int* x) { x[0] = A::f(1); }",
    "t": "template <class T> struct A { T t(T x) { return x; } };\n__global__ void k(float* x) { A<float> a; x[0] = a.t(x[1]); }",
}


@pytest.mark.parametrize("name", MEMBERS)
def test_a_hosts_member_that_a_kernel_calls_is_an_error(name):
    cuda_or_skip()
    with pytest.raises(tarsia.CompileError) as caught:
        tarsia.load_inline(MEMBERS[name], arch="sm_90")
    assert f"'A::{name}' is a host function (line 1), and device code calls it: write __device__" in str(caught.value)


def test_traits_see_a_hosts_member():
    cuda_or_skip()
    source = """#include <type_traits>
#include <utility>
struct A { int n; int size() const { return n; } A& operator=(const A&) { return *this; } };
template <class T, class = void> struct has_size { static constexpr bool value = false; };
template <class T> struct has_size<T, std::void_t<decltype(std::declval<T>().size())>> { static constexpr bool value = true; };
__global__ void k(int* x) {
  static_assert(has_size<A>::value);
  static_assert(std::is_copy_assignable<A>::value);
  static_assert(requires(A a) { a.size(); });
}"""
    assert tarsia.load_inline(source, arch="sm_90").device_compilers == {"source": "nvrtc"}


# Constructors and destructors of the host have no bodies in device code: the linker finds that they are missing.
CONSTRUCTORS = {
    "A::A": ("struct A { int n;\n A(int m) : n(m) {} };\n__global__ void k(int* x) {\n A a(1); x[0] = a.n; }", 2),
    "A::A ": ("struct A { int n;\n A(float, int); A(int m) : n(m) {}\n  A(int m, float) { n = m; } };\n"
              "__global__ void k(int* x) {\n A a(1, 2.0f); x[0] = a.n; }", 3),
    "A::A  ": ("struct A { int n;\n A(int);\n};\nA::A(int m) : n(m) {}\n__global__ void k(int* x) {\n A a(1); x[0] = a.n; }", 2),
    "A::~A": ("struct A { int n;\n ~A() { n = 0; } };\n__global__ void k(int* x) {\n A a{1}; x[0] = a.n; }", 2),
    "n::A::A": ("namespace n { template <class T> struct A { T n;\n A(T m) : n(m) {} }; }\n"
                "__global__ void k(int* x) {\n n::A<int> a(1); x[0] = a.n; }", 2),
    "A::A   ": ("struct A { int n;\n template <class T> A(T m) : n(m) {} };\n__global__ void k(int* x) {\n A a(1.0f); x[0] = a.n; }", 2),
    "B::B": ("struct B { int n;\n B(int m) : n(m) {} };\nstruct A { B b{3}; };\n__global__ void k(int* x) { A a; x[0] = a.b.n; }", 2),
    "A::f": ("struct A { int n;\n int f(); };\n__global__ void k(A a, int* x) {\n x[0] = a.f(); }", 2),
}


@pytest.mark.parametrize("compiler", ["auto", "nvrtc"])
@pytest.mark.parametrize("name", CONSTRUCTORS)
def test_a_hosts_constructor_that_a_kernel_calls_is_an_error_at_its_line(name, compiler):
    cuda_or_skip()
    source, line = CONSTRUCTORS[name]
    told = error_of(source, arch="sm_90", device_compiler=compiler).diagnostics
    assert f"'{name.strip()}' is a host function (line {line}), and device code calls it: write __device__" in told[0].message, told
    assert told[0].line == line and all(one.line > 0 for one in told), told
    if compiler == "auto":  # and where it is called
        assert any(one.line > line for one in told), told


def test_a_device_function_that_is_defined_nowhere_has_the_line_of_its_declaration():
    cuda_or_skip()
    told = error_of("int g();\n__device__ int f(int);\n__global__ void k(int* x) { x[0] = f(1); }", arch="sm_90").diagnostics
    assert [one.line for one in told if one.severity == "error"] == [2], told
    assert "'f(int)', which is defined nowhere in this source; define it here, marked __device__" in told[0].message


@pytest.mark.parametrize("text", [
    "struct A { int n; int size() { return n; } int twice() { return 2 * size(); } };\n"
    "int f() { A a{1}; return a.twice(); }\n__global__ void k(A a, int* x) { x[0] = a.n; }",
    # nvcc warns: the device may never make the call.
    "struct A { int n; int size() { return n; } __host__ __device__ int get(bool b) { return b ? size() : n; } };\n"
    "__global__ void k(A a, int* x) { x[0] = a.get(false); }",
    "struct A { void log() {} };\ntemplate <class T> __host__ __device__ void use(T t, bool b) { if (b) t.log(); }\n"
    "__global__ void k(int* x) { use(A{}, false); }",
    "struct A { void operator()() {} };\ntemplate <class T> __host__ __device__ void use(T t, bool b) { if (b) t(); }\n"
    "__global__ void k(int* x) { use(A{}, false); }",
    # The implicit calls of a loop over a range, of a rewritten operator, of what depends on a parameter, of constexpr.
    "struct A { int v[2]; int* begin() { return v; } int* end() { return v + 2; } };\n"
    "__host__ __device__ int sum(A& a, bool b) { int s = 0; if (b) for (int x : a) s += x; return s; }\n"
    "__global__ void k(A a, int* x) { x[0] = sum(a, false); }",
    "struct A { int n; bool operator==(const A& o) const { return n == o.n; } };\n"
    "__host__ __device__ bool differs(A a, bool b) { return b && a != A{1}; }\n__global__ void k(A a, int* x) { x[0] = differs(a, false); }",
    "struct A { int n; operator int() const { return n; } };\n"
    "template <class T> __host__ __device__ int number(T t, bool b) { return b ? int(t) : 0; }\n"
    "__global__ void k(A a, int* x) { x[0] = number(a, false); }",
    "struct A { int n; int size() const { return n; } constexpr int get(bool b) const { return b ? n : size(); } };\n"
    "__global__ void k(A a, int* x) { x[0] = a.get(true); }",
    # Code may ask for the declaration.
    "struct A { float g(float x) { return x; } };\n__global__ void k(float* x) { decltype(A().g(1.f)) y = 1; x[0] = y; }",
    "struct A { virtual int f() { return 1; } };\n\nstruct B : A { int f() override { return 2; } int n; };\n"
    "__global__ void k(B* b, int* x) { x[0] = b->n; }",
])
def test_a_hosts_member_that_no_kernel_calls_is_none(text):
    cuda_or_skip()
    assert list(tarsia.load_inline(text, arch="sm_90").kernels) == ["k"]


@pytest.mark.parametrize("name", ["threadIdx", "blockIdx", "blockDim", "gridDim"])
def test_what_kernels_alone_have_is_named_with_its_line(name):
    error = error_of(f"__global__ void k() {{ }}\nint f() {{\n  return {name}.x;\n}}")
    first = error.diagnostics[0]
    assert (first.line, first.severity) == (3, "error") and f"'{name}' has a value in kernels and device functions alone" in first.message


def test_an_undefined_symbol_has_the_line_that_refers_to_it():
    error = error_of("int elsewhere();\nint f() {\n  return elsewhere(); }")
    assert error.diagnostics[0].line == 3 and "source:3: error: undefined symbol: elsewhere(); define it" in str(error)
    assert "in f()" in str(error) and "referenced by" not in str(error)


@pytest.mark.parametrize("include, meant", [
    ("<vectro>", "<vector>"), ("<iostrem>", "<iostream>"), ("<math>", "<cmath>"), ("<string.hpp>", "<string>"), ("<Vector>", "<vector>"),
    ("<cuda_fp61.h>", "<cuda_fp16.h>"), ("<tarsia/ops.h>", "<tarsia/op.h>"), ('"hlper.h"', '"helper.h"'), ('"sub/deeep.h"', '"sub/deep.h"'),
])
@pytest.mark.parametrize("more", ["", "__global__ void k(int* x) { *x = 1; }"])
def test_headers_that_are_not_found_have_the_one_that_is_meant(include, meant, more, tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "deep.h").write_text("")
    with pytest.raises(tarsia.CompileError) as caught:
        tarsia.load_inline(f"int a;\n#include {include}\n{more}", headers={"helper.h": ""}, include_dirs=[tmp_path])
    (error,) = caught.value.diagnostics
    assert error.line == 2 and f"file not found; did you mean {meant}? Otherwise give its folder in include_dirs" in error.message


def test_headers_that_nothing_is_near_have_no_guess():
    with pytest.raises(tarsia.CompileError, match="'absent_library/all.hpp' file not found; give its folder"):
        tarsia.load_inline("#include <absent_library/all.hpp>\n")


@pytest.mark.parametrize("compiler", ["auto", "clang"])
@pytest.mark.parametrize("source", [
    "__global__ void k(int* p) { *p = 1; }\nvoid f(int* p) {\n  k<<<1>>>(p);\n}",
    "template <class T> __global__ void k(T* p) { *p = 1; }\ntemplate <class T> void g(T* p) {\n  k<T><<<dim3(4)>>>(p);\n}\nvoid f(int* p) { g(p); }",
    "__global__ void k(int* p) { *p = 1; }\n#define LAUNCH(n) k<<<n>>>(p)\nvoid f(int* p) { LAUNCH(3); }",
    "#include <cuda_runtime.h>\n__global__ void k(int* p);\nvoid f(int* p) { k<<<3>>>(p); }\n__global__ void k(int* p) { *p = 1; }",
    "#include <vector>\n__global__ void k(int* p) { *p = 1; }\nvoid f(int* p) { k<<<{1, 2}>>>(p); }",
])
def test_a_launch_without_a_block_is_refused_as_nvcc_does(source, compiler):
    with pytest.raises(tarsia.CompileError, match=r"a kernel launch needs a grid and a block: write k<<<grid, block>>>\(...\)") as caught:
        tarsia.load_inline(source, device_compiler=compiler)
    assert caught.value.diagnostics[0].line == 3 and all(one.line <= 5 for one in caught.value.diagnostics)
    assert tarsia.load_inline(source.replace("<<<1>>>", "<<<1, 2>>>").replace(")>>>", "), 3>>>").replace("<<<n>>>", "<<<n, n>>>")
                              .replace("<<<3>>>", "<<<3, 4, 5>>>").replace("}>>>", "}, {5}>>>"), device_compiler=compiler).kernels


@pytest.mark.parametrize("header, body, line, said", [
    ("", "std::vector<int> v; x[0] = v.size();", 2, 'namespace "std" has no member "vector"; std::vector is not in device code: take a pointer and a size, or a std::array'),
    ("#include <vector>", "std::vector<int> v; x[0] = v.size();", 2, "std::vector is not in device code"),
    ("#include <string>", "std::string s; x[0] = s.size();", 2, "std::string is not in device code: texts are const char*"),
    ("#include <iostream>", "std::cout << x[0];", 2, "std::cout is not in device code: printf writes"),
    ("#include <functional>", "std::function<float(float)> f; x[0] = f(1);", 2, "by a template parameter"),
    ("#include <atomic>", "std::atomic<int> a; a++;", 2, "use atomicAdd and its like, or cuda::atomic_ref"),
    ("#include <random>", "std::mt19937 g(3); x[0] = g();", 2, "use curand_init and curand_uniform"),
    ("#include <thread>", "std::this_thread::yield();", 2, "std::this_thread is not in device code"),
    ("", "std::print(\"a\");", 2, "std::print is not in device code: printf writes"),
    ("#include <cstdio>", "fprintf(stderr, \"a\");", 2, "stderr is the host's: printf writes"),
    ("#include <cstdlib>", "x[0] = rand();", 2, "rand is a host function; device code cannot call it: curand_init"),
    ("#include <cstdlib>", "abort();", 2, "abort is a host function; device code cannot call it: __trap() ends the kernel"),
    ("", "cudaMalloc(&x, 3);", 2, "cudaMalloc is a host function; device code cannot call it"),
    ("", "throw 3;", 2, "device code does not support exception handling: return a value"),
    ("", "x[threadIx.x] = 1;", 2, "did you mean 'threadIdx'?"),
    ("", "__syncthread();", 2, "did you mean '__syncthreads'?"),
    ("", "atomicadd(x, 1.f);", 2, "did you mean 'atomicAdd'?"),
    ("#include <cuda/std/utility>", "cuda::std::array<float, 2> f; x[0] = f[0];", 2, "#include <cuda/std/array>, where it is defined"),
    ("", "half h = x[0];", 2, "#include <cuda_fp16.h>, where half is"),
    ("", "using R = cub::BlockReduce<float, 128>;", 2, "#include <cub/cub.cuh>, where cub::BlockReduce is"),
])
def test_names_that_device_code_lacks_say_what_to_write_there(header, body, line, said):
    cuda_or_skip()
    first = error_of(f"{header}\n__global__ void k(float* x) {{ {body} }}", arch="sm_90").diagnostics[0]
    assert said in first.message and first.line == line, first


def test_what_c_has_in_device_code_needs_no_hint():
    cuda_or_skip()
    tarsia.load_inline("""__global__ void k(float* x) { printf("%f", x[0]); assert(x[0] > 0); x[1] = sqrt(x[0]) + std::sqrt(x[1]) + M_PI + FLT_MAX;
    std::array<float, 2> a; std::pair<int, float> p; std::optional<int> o; x[2] = a[0] + p.second + *o + std::numeric_limits<float>::max(); std::swap(x[3], x[4]); }""",
                       arch="sm_90", device_compiler="nvrtc")


@pytest.mark.parametrize("host, use", [
    ("struct S {\n  static float f(float);\n};\nfloat S::f(float x) { return x; }\n", "S::f(1)"),
    ("namespace n {\nstruct S {\n  float f(float);\n}; }\nfloat n::S::f(float x) { return x; }\n", "n::S().f(1)"),
])
def test_a_hosts_member_that_is_defined_outside_of_its_class_has_its_line(host, use):
    cuda_or_skip()
    told = error_of(f"{host}__global__ void k(float* x) {{ x[0] = {use}; }}", arch="sm_90").diagnostics
    first = told[0]
    assert "S::f' is a host function (line " in first.message and first.line > 0 and first.severity == "error", told
    assert all(one.line > 0 for one in told), told


@pytest.mark.parametrize("declared, said", [
    ('.forward("cpu", f)', ".forward and .backward take a function `void f(tarsia::Context& c)`"), ('.backward("cpu", f)', ".forward and .backward take a function"),
    ('.forward("cpu", [](int) {})', ".forward and .backward take a function"), (".infer(f)", ".infer takes a function `void f(tarsia::BindInfo&)`"),
    (".arity(f)", ".arity takes a function"), (".state(f)", ".state takes a function"), ('.forward("cpu", g).when(f)', ".when takes a function `bool f(const tarsia::BindInfo&)`"),
    ('.forward("cpu", g).workspace(f)', ".workspace takes a function"), (".backward_needs(f)", ".backward_needs takes names in braces, or a function"),
])
def test_declarations_of_ops_say_which_functions_they_take(declared, said):
    told = error_of("#include <tarsia/op.h>\nvoid f(const float* x, float* y) {}\nvoid g(tarsia::Context&) {}\n"
                    f'TARSIA_OP(hint_of_functions).input("x").output("y"){declared};').diagnostics
    assert said in told[0].message, told
    assert any(one.file == "source" and one.line == 4 for one in told), told
