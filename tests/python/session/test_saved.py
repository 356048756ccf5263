"""Saved sessions: sources and libraries that compile and do what the session did, in its order."""

import pathlib
import random
import shutil
import subprocess
import sys

import numpy as np
import pytest
import tarsia
from cells import ok

INCLUDE = pathlib.Path(tarsia.__file__).parent / "include"


def saved(tmp_path, texts, suffix=".cc"):
    session = tarsia.Session()
    ok(session, *texts)
    path = tmp_path / f"saved{suffix}"
    session.save(path)
    return path


@pytest.mark.parametrize("suffix", [".cc", ".so"])
@pytest.mark.parametrize("texts, result", [
    (["#include <vector>", "std::vector<int> v;", "v.push_back(3);", "int first = v[0];", "int get() { return first; }"], 3),
    (["int x = 1;", "x = 2;", "int y = x;", "x = 5;", "const int z = x;", "int get() { return 10 * y + z; }"], 25),
    (["#include <memory>\n#include <vector>", "std::vector<int> v{1};", "v.push_back(2); v.push_back(3)", "int& last = v.back();",
      "struct NoDefault { int a; explicit NoDefault(int a) : a(a) {} }", "const NoDefault kept(last * 2)", "auto owner = std::make_unique<int>(kept.a);",
      "*owner += 1", "auto [p, q] = std::pair<int, int>(*owner, 1);", "int get() { return p + q; }"], 8),
    (["int n = 0;", "n += 5;", "int seen = n;", "int n = 10;", "n += 1", "int get() { return 100 * seen + n; }"], 511),
    (["#include <string>", "std::string s = \"a\";", "s += \"b\";", "std::string s{\"xyz\"};", "int get() { return s.size(); }"], 3),
    (["int a[2] = {1, 2};", "int b = a[1];", "int a[2] = {3, 4};", "int get() { return 10 * b + a[1]; }"], 44),
    (["#include <vector>", "int f() { return 1; }", "int y = f();", "std::vector<int> w{7};", "int f() { return w[0]; }", "int get() { return y; }"], 7),
    (["namespace n { int x = 1; int f() { return x; } }", "n::x = 3;", "int seen = n::f();", "namespace n { int x = 5; }",
      "int get() { return 10 * seen + n::x; }"], 35)])
def test_statements_and_initial_values_have_the_order_of_the_session(tmp_path, texts, result, suffix):
    assert tarsia.load(saved(tmp_path, texts, suffix)).get() == result


@pytest.mark.parametrize("texts", [
    ["int y = 4", "int get() { return y; }"],
    ["struct S { int a; }", "using T = int", "T get() { return S{4}.a; }"],
    ["int f(int x)", "int g(int x) { return f(x); }", "int f(int x) { return x; }", "int get() { return g(4); }"],
    ["bool odd(int);", "bool even(int n) { return n == 0 || odd(n - 1); }", "bool odd(int n) { return n != 0 && even(n - 1); }",
     "bool odd(int n) { return n == 0 ? false : even(n - 1); }", "int get() { return even(4) ? 4 : 0; }"],
    ["int f(int a = 4);", "int f(int a) { return a; }", "int get() { return f(); }", "int f(int a) { return a + 0; }"],
    ["int f() { return 1; }", "int get() { return f() + 3; }", "double f() { return 1; }"],
    ["int x = 1;", "int* p = &x;", "*p = 3;", "double x = 4;", "int get() { return x; }"],
    ["int x = 1;", "int& rx = x;", "rx = 2;", "double x = 4;", "int get() { return x; }"],
    ["struct S { int a; };", "int old(S s) { return s.a; }", "struct S { int b; };", "int get() { return S{4}.b; }"],
    ["struct S { int f(); int g(); };", "int S::f() { return 1; }\nint S::g() { return 2; }", "struct S { int h() { return 4; } };", "int get() { return S().h(); }"],
    ["#define N 4", "const int N = 4;", "int get() { return N; }"],
    ["#define ON 1\n#if ON\nint a = 1;\n#endif", "a = 4;", "int get() { return a; }"],
    ["int a = 1, b = 2;", "double a = 2;", "int get() { return a + b; }"],
    ["namespace n { int f() { return 1; } int h() { return 1; } }", "namespace n { int f() { return 3; } }", "int get() { return n::f() + n::h(); }"],
    ["template <class T> T same(T a) { return a; }", "template int same<int>(int)", "int get() { return same(4); }"],
    ["int v = 1;", "v = {4}", "int get() { return v; }"]])
def test_saved_sources_compile(tmp_path, texts):
    path = saved(tmp_path, texts)
    assert tarsia.load(path).get() == 4, path.read_text()
    compile_with_gcc(path)


def test_what_does_not_compile_is_a_comment_with_its_reason(tmp_path):
    text = saved(tmp_path, ["struct S { int a; };", "int old() { return S{4}.a; }", "struct S { int b; };"]).read_text()
    assert "// cell 2, no longer compiles: no member named 'a' in 'S'\n// int old() { return S{4}.a; }\n" in text


def test_a_library_whose_statements_throw_is_an_error(tmp_path):
    texts = ["#include <stdexcept>", "int n = 0;", "void check() { }", "check();", "void check() { throw std::runtime_error(\"no\"); }"]
    with pytest.raises(tarsia.Error, match="no"):
        tarsia.load(saved(tmp_path, texts))


def test_code_of_a_declaration_alone_is_shown():
    session = tarsia.Session()
    ok(session, "int declared(int x)", "int shown(int x) { return declared(x); }")
    assert "int declared(int x);" in session._shown_source()


def compile_with_gcc(path):
    if not shutil.which("g++"):
        return
    done = subprocess.run(["g++", "-std=c++20", "-fsyntax-only", "-w", f"-I{INCLUDE}", "-x", "c++", str(path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:3000] + path.read_text()


# What a cell of a generated session may be. {n} is one of few names, {m} another, {k} a number.
CELLS = [
    "int {n} = {k};", "double {n} = {k};", "int {n} = {k}, {m} = 2;", "int {n}() {{ return {k}; }}", "double {n}(int a = {k}) {{ return a; }}",
    "int {n}()", "int {n}(int)", "struct {n} {{ int a; int f(); }};", "struct {n} {{ double b; }}", "int {n}::f() {{ return {k}; }}", "struct {n} {{ int a; }} {m}{{3}};",
    "enum {{ {n} = {k} }};", "enum class {n} {{ one }};", "template <class T> T {n}(T a) {{ return a; }}", "template <class T> struct {n} {{ T a; }};",
    "using {n} = int;", "typedef double {n}", "auto {n} = [](int a) {{ return a + {k}; }};", "namespace {n} {{ int a = {k}; int f() {{ return a; }} }}",
    "namespace {n} {{ int f() {{ return {k}; }} }}", "const int {n} = {k};", "static int {n} = {k};", "inline int {n}() {{ return {k}; }}", "#define {n} {k}",
    "int* {n} = &{m};", "auto& {n} = {m};", "auto {n} = {m};", "int {n}() {{ return {m}(); }}", "int {n}() {{ return {m}; }}", "{m} {n}{{}};",
    "int {n}({m} a) {{ return a.a; }}", "{n} = {k}", "{n} += {m};", "{n}", "{n}()", "{n}::f();", "for (int i = 0; i < 3; ++i) {{ {n} += i; }}",
    "std::vector<int> {n}{{1, {k}}};", "{n}.push_back({k});", "int {n} = {m}[0];", "template <class T> concept {n} = sizeof(T) == {k};", "thread_local int {n} = {k};",
    "union {n} {{ int a; float b; }};", "template <class T> T {n} = {k};", "{{ int {n} = {k}; {m} = {n}; }}", "static_assert(sizeof({n}) > 0);", "int {n}[2] = {{1, {k}}};"]


@pytest.mark.parametrize("seed", range(40))
def test_generated_sessions_are_saved_as_sources_that_compile(tmp_path, seed):
    chance = random.Random(seed)
    session = tarsia.Session()
    ok(session, "#include <vector>")
    names, done = ["aa", "bb", "cc", "dd"], []
    while len(done) < 25:
        n, m = chance.sample(names, 2)
        text = chance.choice(CELLS).format(n=n, m=m, k=chance.randint(1, 9))
        if session.run(text).ok:
            done.append(text)
    ok(session, "int get() { return 0; }")
    path = tmp_path / "saved.cc"
    session.save(path)
    try:
        tarsia.compile(path, tmp_path / "saved.so")
    except tarsia.CompileError as error:
        raise AssertionError(f"{error}\n{done}\n{path.read_text()}") from None
    compile_with_gcc(path)


VALUES = ["#include <vector>", "tarsia::Tensor x = arange(6), y = x; const tarsia::Tensor ones_of_them = ones({2, 3});", "float* data = x.data<float>();",
          "std::vector<tarsia::Tensor> many{randn({4}), rand_uniform({4})};", "float at(int i) { return data[i]; }",
          "bool same() { return allclose(x, y) && !allclose(many[0], many[1]); }", "tarsia::Tensor filled(long n) { return full({n}, 7); }",
          'void keep(const char* path) { save_npy(path, ones_of_them); }', 'long read(const char* path) { return load_npy(path).numel(); }',
          "data[2] = 9;", "image(ones_of_them)", "x"]


@pytest.mark.parametrize("suffix", [".cc", ".so"])
@pytest.mark.parametrize("isolated", [False, True])
def test_a_session_with_tensors_is_saved_and_loads(tmp_path, suffix, isolated):
    session = tarsia.Session(isolated=isolated)
    ok(session, *VALUES)
    path = tmp_path / f"saved{suffix}"
    session.save(path)
    library = tarsia.load(path)
    assert (library.at(2), library.same()) == (9, True)
    assert np.asarray(library.filled(3)).tolist() == [7, 7, 7]
    library.keep(str(tmp_path / "kept.npy"))
    assert np.load(tmp_path / "kept.npy").shape == (2, 3) and library.read(str(tmp_path / "kept.npy")) == 6
    with pytest.raises(tarsia.Error, match="cannot read /nowhere"):
        library.read("/nowhere/x.npy")
    # In a process of its own, it takes from Tarsia what it needs.
    done = subprocess.run([sys.executable, "-c", f"import tarsia; l = tarsia.load({str(path)!r}); print(l.at(5), l.same())"],
                          capture_output=True, text=True)
    assert done.stdout == "5.0 True\n", done.stderr


def test_a_session_is_saved_as_a_source_that_compiles(session, tmp_path):
    ok(session, "int f(int a) { return a; }", "int g(int a) { return f(a) + 1; }", "int f(int a) { return 10 * a; }",
       "int x = 3; x++;", "g(1)")
    session.save(tmp_path / "session.cc")
    library = tarsia.load(str(tmp_path / "session.cc"))
    assert library.g(2) == 21
    session.save(tmp_path / "session.so")
    assert tarsia.load(str(tmp_path / "session.so")).f(2) == 20


def test_a_session_that_uses_cuda_is_saved_as_cuda(session, tmp_path):
    ok(session, "// __shared__ is no word of this cell\nint f() { return 1; }")
    session.save(tmp_path / "host.cpp")
    assert tarsia.load(tmp_path / "host.cpp").f() == 1
    if not tarsia.doctor()["works"]["cuda"]:
        pytest.skip("no CUDA to compile with")
    ok(session, "#include <cuda_fp16.h>\nfloat half_of(float a) { return __half2float(__float2half(a)) / 2; }")
    for suffix in (".cc", ".CPP", ".c"):
        with pytest.raises(tarsia.ArgumentValueError, match=r"of which a compiler of \.\w+ files knows nothing: save it as \.cu"):
            session.save(tmp_path / f"saved{suffix}")
    session.save(tmp_path / "saved.cu")
    assert tarsia.load(tmp_path / "saved.cu").half_of(3) == 1.5


# Each was defined again as something else after code had used it, and is used by what came later.
REDEFINED = [
    "struct P { int x; }; P p{1};", "int use() { return p.x; }", "int scale = 3;", "struct P { int x, y; }; P p{scale, 2};",
    "template <class T> T sq(T a) { return a * a; }", "int q() { return sq(3); }", "#define ONE_MORE(a) ((a) + 1)",
    "template <class T> T sq(T a) { return ONE_MORE(a * a); }", "p.x", "enum E { A, B };", "int last() { return B; }", "enum E { A, N, B };",
    "using U = int; U u = 1;", "double v() { return u; }", "using U = double; U u = 1.5;", "auto l = [](int a) { return a + 1; };",
    "int of_l() { return l(1); }", "auto l = [](int a) { return a + 2; };", "namespace n { int f() { return 1; } }",
    "int of_n() { return n::f(); }", "namespace n { int f() { return 2; } }", "int runs = 0;", "runs += 2;",
    "for (int i = 0; i < 3; ++i) { runs += 1; }", "P{1, 2}.y", "u + runs"]


@pytest.mark.parametrize("suffix", [".cc", ".so"])
def test_a_session_in_which_much_was_defined_again_is_saved(session, tmp_path, suffix):
    ok(session, *REDEFINED)
    path = tmp_path / f"session{suffix}"
    session.save(path)
    library = tarsia.load(path)
    # All code has what there is now.
    assert (library.use(), library.q(), library.last(), library.v(), library.of_l(), library.of_n()) == (3, 10, 2, 1.5, 3, 2)
    if suffix == ".cc":
        assert tarsia.load_inline(path.read_text() + "int n_runs() { return runs; }").n_runs() == 5


def test_statements_that_no_longer_compile_are_comments_of_a_saved_session(session):
    ok(session, "struct P { int old; }; P p{4};", "p.old += 1;", "p.old", "struct P { int now; }; P p{7};", "p.now += 1;", "int get() { return p.now; }")
    text = session.source
    for number, statement in ((2, "p.old += 1;"), (3, "p.old;")):
        assert f"// cell {number}, no longer compiles: no member named 'old' in 'P'\n// {statement}\n" in text
    assert tarsia.load_inline(text).get() == 8


def test_a_session_with_kernels_is_saved_as_what_is_compiled_as_cuda(session, tmp_path):
    ok(session, "__global__ void k(float* x) { x[0] = 1; }")
    for suffix in (".cc", ".cpp", ".c"):
        with pytest.raises(tarsia.ArgumentValueError, match=r"save it as \.cu"):
            session.save(tmp_path / f"session{suffix}")
        assert not (tmp_path / f"session{suffix}").exists()
    session.save(tmp_path / "session.cu")
    assert list(tarsia.load(tmp_path / "session.cu").kernels) == ["k"]
