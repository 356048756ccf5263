"""cflags=[…]: options in gcc's spelling, in Python, in the command and in %%tarsia."""

import random
import re
import subprocess
import warnings

import places
import pytest

import tarsia

VALUES = """
int value() {
#ifdef VALUE
  return VALUE + 0;
#else
  return -1;
#endif
}
long standard() { return __cplusplus; }
"""


def same_key(source, flags, **options):
    """Whether flags and options of the table are one source to the cache."""
    tarsia.load_inline(source, **options)
    return tarsia.load_inline(source, cflags=flags).origin == "memory"


@pytest.mark.parametrize("flags, options", [
    (["-O3"], {"opt": 3}), (["-O"], {"opt": 1}), (["-O1", "-O2"], {}), (["-Ofast"], {"opt": 3, "fast_math": True}),
    (["-ffast-math"], {"fast_math": True}), (["-std=gnu++17"], {"std": "c++17"}), (["-std=c++17"], {"std": "c++17"}),
    (["-march=x86-64"], {"march": "x86-64"}), (["-g"], {"debug": True}), (["-gline-tables-only"], {"lineinfo": True}),
    (["-fopenmp"], {"openmp": True}), (["-DVALUE=7"], {"defines": {"VALUE": 7}}), (["-D", "VALUE"], {"defines": {"VALUE": None}}),
    (["-lm"], {"libraries": ["m"]}), (["-I/usr/include"], {"include_dirs": ["/usr/include"]}), (["-L", "/"], {"library_dirs": ["/"]}),
    (["-Os"], {}), (["-Og"], {"opt": 1}), (["-ggdb"], {"debug": True}), (["-g3"], {"debug": True}), (["-std=c++2a"], {}),
    (["-std=gnu++1z"], {"std": "c++17"}), (["-isystem", "/usr/include"], {"include_dirs": ["/usr/include"]}),
    (["-mavx2", "-mfma", "-msse4.2"], {"march": "x86-64-v3"}), (["-mavx2", "-march=x86-64-v2"], {"march": "x86-64-v2"}),
    (["-msse2", "-mtune=native", "-fdiagnostics-color", "-fdiagnostics-color=always", "-fno-exceptions", "-fno-rtti"], {}),
    (["-fPIC", "-shared", "-pthread", "-fno-math-errno"], {})])
def test_what_mirrors_an_option_sets_it(flags, options):
    assert same_key(VALUES, flags, **options)


@pytest.mark.parametrize("flags, options", [
    (["--use_fast_math"], {"fast_math": True}), (["-lineinfo"], {"lineinfo": True}), (["-G"], {"debug": True}),
    (["-maxrregcount=40"], {"maxrregcount": 40}), (["--maxrregcount", "40"], {"maxrregcount": 40}),
    (["-arch=sm_90"], {"arch": "sm_90"}), (["--gpu-architecture", "compute_90"], {"arch": "sm_90"}),
    (["-gencode", "arch=compute_80,code=sm_80", "-gencode=arch=compute_90,code=[sm_90,compute_90]"],
     {"arch": ["sm_80", "sm_90"], "ptx": True}),
    (["-Xcompiler", "-O3,-fPIC"], {"opt": 3}), (["-Xcompiler=-fopenmp"], {"openmp": True}),
    (["--expt-relaxed-constexpr", "-Xptxas", "-v", "--ptxas-options=-v,-O3", "-Xcudafe", "--diag_suppress=20012", "--threads=4",
      "-ftz=false", "-rdc=false", "-arch=native", "--std=c++20"], {})])
def test_nvccs_spellings_set_the_same_options(flags, options):
    assert same_key("__global__ void k(float* x) { *x = 1; }", flags, **options)


def test_extended_lambda_brings_functional_as_under_nvcc():
    source = "__global__ void k(float* x) { *x = 1; }\nint f(int x) { std::function<int()> g = [=] { return x + 1; }; return g(); }"
    for compiler in ("auto", "clang"):
        with pytest.raises(tarsia.CompileError, match="function"):
            tarsia.load_inline(source, device_compiler=compiler)
        for flag in ("--expt-extended-lambda", "-extended-lambda"):
            assert tarsia.load_inline(source, cflags=[flag], device_compiler=compiler).f(1) == 2


@pytest.mark.parametrize("flag, what", [
    ("-rdc=true", "one file"), ("--ftz=true", "fast_math"), ("-default-stream=per-thread", "stream"), ("-Xptxas=-dlcm=ca", "ptxas"),
    ("-maxrregcount=many", "number"), ("-arch=hopper", "sm_90"), ("-gencode=sm_90", "code=sm_90"), ("-Xcompiler", "behind"),
    ("--use_fast_maths", "--use_fast_math")])
def test_nvccs_options_that_mean_something_else_are_refused(flag, what):
    with pytest.raises(tarsia.Error, match=f"cflags: .*{what}"):
        tarsia.load_inline("int f() { return 1; }", cflags=[flag])


def test_defines_and_standards_reach_the_source():
    lib = tarsia.load_inline(VALUES, cflags=["-DVALUE=41", "-std=c++17"])
    assert (lib.value(), lib.standard()) == (41, 201703)
    assert tarsia.load_inline(VALUES, cflags=["-DVALUE"]).value() == 1
    assert tarsia.load_inline("int f() {\n#ifdef __linux__\nreturn 1;\n#else\nreturn 0;\n#endif\n}", cflags=["-U__linux__"]).f() == 0


@pytest.mark.parametrize("includes", ["", "#include <vector>\n#include <tarsia/op.h>\n#include <regex>\n"])
@pytest.mark.parametrize("flag", ["-ffp-contract=fast", "-fmath-errno", "-fno-signed-zeros", "-ffinite-math-only", "-freciprocal-math",
                                  "-fassociative-math", "-funroll-loops", "-fno-unroll-loops", "-fno-strict-aliasing", "-fwrapv",
                                  "-fno-omit-frame-pointer", "-fopenmp-simd", "-fno-openmp", "-emit-llvm", "-pedantic", "-w", "-U__unix__"])
def test_each_flag_compiles_and_is_part_of_the_key(flag, includes):
    source = includes + f"float f(float x, float y) {{ return x * y + 1; }}  // {random.getrandbits(64):x}"
    tarsia.load_inline(source)
    lib = tarsia.load_inline(source, cflags=[flag])
    assert lib.origin == "compiled" and lib.f(2.0, 3.0) == 7
    assert tarsia.load_inline(source, cflags=[flag, flag]).origin == "memory"


def test_what_the_flags_do():
    wrap = "bool wraps(int x) { return x + 1 < x; }"
    assert tarsia.load_inline(wrap, cflags=["-fwrapv"]).wraps(2**31 - 1) and not tarsia.load_inline(wrap).wraps(2**31 - 1)
    finite = "bool odd(float x) { return x != x; }"
    assert tarsia.load_inline(finite).odd(float("nan")) and not tarsia.load_inline(finite, cflags=["-ffinite-math-only"]).odd(float("nan"))
    pragma = "int on() {\n  int n = 0;\n#pragma omp parallel num_threads(2)\n#pragma omp atomic\n  ++n;\n  return n;\n}"
    for flag, n in (("-fno-openmp", 1), ("-fopenmp-simd", 1), ("-fopenmp", 2)):
        assert tarsia.load_inline(pragma, cflags=[flag]).on() == n


@pytest.mark.parametrize("flag, nearest", [
    ("-ffast-maths", "'-ffast-math'"), ("-funrol-loops", "'-funroll-loops'"), ("-O4", "'-O"), ("-mcpu=x", "'-march='"),
    ("-fwrap", "'-fwrapv'"), ("-stdd=c++20", "'-std='"), ("--sysroot=/", "is none of"), ("nonsense", "is none of"),
    ("-Wl,-z,now", "is none of"), ("-fplugin=x.so", "is none of"), ("", "is none of"), ("-I", "lacks"), ("-Ux y", "names no macro")])
def test_others_are_refused_with_the_nearest(flag, nearest):
    with pytest.raises(tarsia.ArgumentValueError, match="^cflags: ") as caught:
        tarsia.load_inline(VALUES, cflags=[flag])
    assert nearest in str(caught.value) and f"'{flag}'" in str(caught.value)


@pytest.mark.parametrize("flags, options, what", [
    (["-O3"], {"opt": 1}, "opt"), (["-std=c++17"], {"std": "c++14"}, "std"), (["-march=x86-64"], {"march": "native"}, "march"),
    (["-DVALUE=1"], {"defines": {"VALUE": 2}}, "VALUE"), (["-UVALUE"], {"defines": {"VALUE": 2}}, "VALUE"),
    (["-fno-openmp"], {"openmp": True}, "openmp")])
def test_contradictions_are_refused(flags, options, what):
    with pytest.raises(tarsia.ArgumentValueError, match=f"^cflags: '{re.escape(flags[0])}' contradicts .*{what}"):
        tarsia.load_inline(VALUES, cflags=flags, **options)


def test_values_of_flags_are_checked_as_those_of_options():
    with pytest.raises(tarsia.ArgumentValueError, match="^std "):
        tarsia.load_inline(VALUES, cflags=["-std=c++99"])
    with pytest.raises(tarsia.CompileError, match="'x87'"):
        tarsia.load_inline(VALUES, cflags=["-march=x87"])


SHADOW = "int f(int x) { { int x = 2; (void)x; } return x; }\nint g(unsigned a, int b) { return a < b; }\n"


def shown_by(**options):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        tarsia.load_inline({"w.cc": SHADOW}, **options)
    return [str(one.message) for one in found if issubclass(one.category, tarsia.CompileWarning)]


def test_warnings_are_turned_on_and_off_by_name():
    assert shown_by() == []
    assert [one[-10:] for one in shown_by(cflags=["-Wshadow"])] == ["[-Wshadow]"]
    assert any("[-Wsign-compare]" in one for one in shown_by(cflags=["-Wextra"]))
    assert shown_by(cflags=["-Wextra", "-Wshadow", "-Wno-sign-compare", "-Wno-shadow"]) == []
    assert shown_by(cflags=["-Wextra", "-Wshadow", "-w"]) == []


def test_warnings_become_errors():
    with pytest.raises(tarsia.CompileError, match="-Wshadow"):
        tarsia.load_inline({"w.cc": SHADOW}, cflags=["-Wshadow", "-Werror"])
    with pytest.raises(tarsia.CompileError, match="-Wshadow"):
        tarsia.load_inline({"w.cc": SHADOW}, cflags=["-Wshadow", "-Werror=shadow"])
    assert tarsia.load_inline({"w.cc": SHADOW}, cflags=["-Wshadow", "-Werror", "-Wno-error=shadow"]).f(1) == 1


def test_an_unknown_warning_is_named_with_the_nearest():
    with pytest.raises(tarsia.CompileError, match=r"-Wshadowed.*'-Wshadow'"):
        tarsia.load_inline(VALUES, cflags=["-Wshadowed"])


@pytest.mark.parametrize("words, printed", [
    (["-O3", "-march=native", "-Wall"], "0"), (["-fwrapv", "-funroll-loops", "-DVALUE=3"], "3"), (["-fopenmp", "-DVALUE=2"], "2"),
    (["--cflags", "-DVALUE=5", "-pthread"], "5"), (["--cflags=-DVALUE=6"], "6")])
def test_the_command_takes_the_same_spellings(tmp_path, words, printed):
    (tmp_path / "s.cc").write_text("#include <cstdio>\n#ifndef VALUE\n#define VALUE 0\n#endif\nint main() { std::printf(\"%d\\n\", VALUE); }\n")
    done = subprocess.run([places.command(), "run", *words, "s.cc"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.stdout.strip(), done.returncode) == (printed, 0), done.stderr


def test_the_command_shows_asked_for_warnings_and_refuses_what_is_unknown(tmp_path):
    (tmp_path / "w.cc").write_text(SHADOW)
    done = subprocess.run([places.command(), "compile", "-Wshadow", "w.cc", "-o", "w.so"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and "[-Wshadow]" in done.stderr
    done = subprocess.run([places.command(), "compile", "-fwrapw", "w.cc", "-o", "v.so"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2 and "'-fwrapv'" in done.stderr and not (tmp_path / "v.so").exists()


def test_a_suggestion_is_near_to_what_was_written():
    with pytest.raises(ValueError, match="did you mean '-funroll-loops'"):
        tarsia.load_inline(VALUES, cflags=["-funroll-lopos"])
    with pytest.raises(ValueError) as caught:
        tarsia.load_inline(VALUES, cflags=["-fsome-other-thing-that-nobody-knows"])
    assert "did you mean" not in str(caught.value)
    with pytest.raises(ValueError, match="write the #include at the beginning of the source"):
        tarsia.load_inline(VALUES, cflags=["-include", "a.h"])


def test_the_command_takes_what_cflags_takes(tmp_path):
    file = tmp_path / "a.cc"
    file.write_text("#ifdef A\n#error A\n#endif\nint main() { return 0; }\n")
    for flags in ("-Ofast", "-O", "-Os", "-gline-tables-only", "-g0", "-g1", "-g3", "-ggdb", "-Xptxas -v", "-diag-suppress 177",
                  "-threads 4", "-gencode=arch=compute_90,code=sm_90", "-gencode arch=compute_90,code=sm_90", "-lineinfo", "-use_fast_math",
                  "--expt-relaxed-constexpr", "--extended-lambda", "--ptxas-options=-v", "-U A", "-arch=native", "-arch=sm_90",
                  "-isystem /usr/include", "-fno-exceptions", "-mavx2 -mfma", "-mtune=native", "-std=c++2a", "-O3", "-O 3", "-g"):
        result = subprocess.run([places.command(), "run", *flags.split(), file], capture_output=True, text=True)
        assert result.returncode == 0, (flags, result.stderr)


DEEP = """template <int n> struct Deep { static constexpr int value = Deep<n - 1>::value + 1; };
template <> struct Deep<0> { static constexpr int value = 0; };
int f() { return Deep<2000>::value; }
"""
FOLD = """#include <utility>
template <int... n> int sum(std::integer_sequence<int, n...>) { return (n + ...); }
int f() { return sum(std::make_integer_sequence<int, 3000>()); }
"""


@pytest.mark.parametrize("source, flag, value", [(DEEP, "-ftemplate-depth=2500", 2000), (FOLD, "-fbracket-depth=4000", 2999 * 1500)],
                         ids=["templates", "folds"])
def test_deep_sources_compile_as_deep_as_they_ask(source, flag, value):
    with pytest.raises(tarsia.CompileError):
        tarsia.load_inline(source)
    assert tarsia.load_inline(source, cflags=[flag]).f() == value
    for bad in ("0", "many", "9999999"):
        with pytest.raises(tarsia.ArgumentValueError, match="takes a number from 1 to 65536"):
            tarsia.load_inline(source, cflags=[flag.split("=")[0] + "=" + bad])
