"""The command's show, bench and new, its spellings, and what it says to a typing error."""

import os
import re
import shutil
import subprocess
import sys

import places
import pytest

import tarsia

AXPY = """
void axpy(float a, const float* x, float* y, long n) { for (long i = 0; i < n; ++i) y[i] += a * x[i]; }
int lengths(const char* text, int times, bool twice, double scale) { return times; }
"""

OP = """
#include <tarsia/op.h>
struct Params { float slope = 0; };
static void run(tarsia::Context& c) {
  const tarsia::Tensor x = c.input(0), y = c.output(0);
  for (long long i = 0; i < x.numel(); ++i) y.data<float>()[i] = c.params<Params>().slope * x.data<const float>()[i];
}
TARSIA_OP(sloped).input("x").output("y").attribute("slope", &Params::slope).forward("cpu", run);
"""


@pytest.fixture
def command(tmp_path):
    def run(*words, input=None):
        return subprocess.run([places.command(), *map(str, words)], cwd=tmp_path, input=input, capture_output=True, text=True, timeout=300)

    (tmp_path / "axpy.cc").write_text(AXPY)
    (tmp_path / "op.cc").write_text(OP)
    return run


def test_an_unknown_command_suggests_the_nearest(command):
    done = command("chekc", "op.cc")
    assert done.returncode == 2 and "there is no command 'chekc'; did you mean 'check'?" in done.stderr
    assert "to run the file: tarsia run op.cc" in command("op.cc").stderr
    done = command("foo")
    assert done.returncode == 2 and "There are run, compile, pack, check, sanitize, show, bench, new, repl, jupyter, cache, serve, doctor" in done.stderr


def test_run_reads_standard_input(command):
    done = command("run", "-", "one", input='#include <cstdio>\nint main(int n, char** v) { std::printf("%d %s %s\\n", n, v[0], v[1]); }\n')
    assert (done.stdout, done.returncode) == ("2 - one\n", 0), done.stderr
    done = command("run", "-", input="int main() {\n  return nowhere;\n}\n")
    assert "<stdin>:2:10: error: use of undeclared identifier 'nowhere'" in done.stderr and "    2 |   return nowhere;" in done.stderr
    done = command("run", "-", input='#include "axpy.cc"\nint main() { return 3; }\n')
    assert done.returncode == 3, done.stderr


def test_python_dash_m(tmp_path):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(places.PACKAGE.parent), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run([sys.executable, "-m", "tarsia", "--version"], capture_output=True, text=True, env=env, cwd=tmp_path)
    assert done.stdout.strip() == f"tarsia {tarsia.__version__}", done.stderr


STANDARD = "#include <cstdio>\nint main() { std::printf(\"%ld %d\\n\", __cplusplus, VALUE + 0); }\n"


@pytest.mark.parametrize("words, printed", [
    (["-std=c++17", "-O3", "-DVALUE=4", "-Wall"], "201703 4"),
    (["-std=gnu++17", "-DVALUE"], "201703 1"),
    (["-std", "c++20", "-O0", "-ffast-math", "-DVALUE=2"], "202002 2"),
    (["--std=c++17", "-lineinfo", "-G", "-DVALUE="], "201703 0"),
    (["-w", "-Wno-return-type", "-use_fast_math", "-DVALUE=1", "-host-headers=own"], "202002 1")])
def test_options_are_taken_as_gcc_and_nvcc_spell_them(command, tmp_path, words, printed):
    (tmp_path / "s.cc").write_text(STANDARD)
    done = command("run", *words, "s.cc", "-std=c++17", "-x")
    assert done.stdout.strip() == printed and done.returncode == 0, done.stderr


def test_every_option_of_the_table_is_taken_with_one_dash(command):
    from tarsia._compile_options import ROWS

    help = command("run", "--help").stdout
    for row in ROWS.values():
        for name in re.findall(r"--[\w-]+", row.command):
            assert name in help
            done = command("run", name[1:] + "=no-value-of-any-option" if row.kind != "flag" else name[1:], "axpy.cc")
            assert "unknown option" not in done.stderr and "not expected" not in done.stderr, (name, done.stderr)


def test_the_programs_own_options_stay_as_they_are(command, tmp_path):
    (tmp_path / "p.cc").write_text('#include <cstdio>\nint main(int n, char** v) { for (int i = 1; i < n; ++i) std::puts(v[i]); }\n')
    assert command("run", "-I", ".", "p.cc", "-std=c++17", "-lineinfo").stdout.split() == ["-std=c++17", "-lineinfo"]


def test_warnings_follow_w(command, tmp_path):
    (tmp_path / "w.cc").write_text("int f(int x) { if (x = 2) return 1; }\n")
    seen = command("compile", "w.cc", "-o", "w.so").stderr
    assert "[-Wparentheses]" in seen and "[-Wreturn-type]" in seen
    less = command("compile", "-Wno-parentheses", "w.cc", "-o", "w.so").stderr
    assert "[-Wparentheses]" not in less and "place parentheses" not in less and "[-Wreturn-type]" in less
    assert command("compile", "-w", "w.cc", "-o", "w.so").stderr == ""
    assert command("compile", "-Wno-parentheses", "-Werror=parentheses", "w.cc", "-o", "w.so").returncode == 0
    done = command("compile", "-Werror", "w.cc", "-o", "none.so")
    assert done.returncode == 1 and not (tmp_path / "none.so").exists() and "-Werror" in done.stderr
    done = command("compile", "-Wshadowed", "w.cc", "-o", "w.so")
    assert done.returncode == 1 and "-Wshadowed" in done.stderr and "-Wshadow" in done.stderr


WARNS = OP + """
#include <cstdio>
static const int loaded = std::puts("loaded");
int oops(int x) { if (x) return 1; }
int main() { return 0; }
"""


@pytest.mark.parametrize("words", [
    ["run", "FILE"], ["compile", "FILE", "-o", "out"], ["pack", "FILE", "-o", "out"], ["check", "FILE"], ["show", "FILE"],
    ["bench", "FILE", "oops", "1"]], ids=lambda words: words[0])
def test_warnings_count_also_if_the_source_came_from_the_cache(command, tmp_path, words):
    (tmp_path / "warns.cc").write_text(WARNS)
    call = [words[0], *(word.replace("FILE", "warns.cc") for word in words[1:])]
    seen = []
    for _ in range(2):  # compiled at most once
        done = command(*call)
        assert done.returncode == 0 and "warns.cc:12:36: warning: " in done.stderr and "[-Wreturn-type]" in done.stderr, done.stderr
        seen.append(done.stderr)
    assert seen[0] == seen[1] and seen[0].count("[-Wreturn-type]") == 1
    (tmp_path / "out").unlink(missing_ok=True)
    for flag in ("-Werror", "-Werror=return-type"):
        done = command(call[0], flag, *call[1:])
        assert (done.returncode, done.stdout) == (1, "") and not (tmp_path / "out").exists(), (flag, done.stdout, done.stderr)
        by_compiler = "=" in flag and call[0] != "pack"
        assert ("[-Werror,-Wreturn-type]" if by_compiler else "-Werror makes errors of warnings: [-Wreturn-type]") in done.stderr, done.stderr
    done = command(call[0], "-Werror=parentheses", *call[1:])
    assert done.returncode == 0 and "[-Wreturn-type]" in done.stderr, done.stderr
    for flags in (("-Wno-error=return-type",), ("-Werror=return-type", "-Wno-error=return-type"), ("-Wno-error=return-type", "-Wno-error")):
        done = command(call[0], "-Werror", *flags, *call[1:])
        assert done.returncode == 0 and "warning: " in done.stderr and "[-Wreturn-type]" in done.stderr, (flags, done.stderr)
    for flag in ("-w", "-Wno-return-type"):
        done = command(call[0], flag, "-Werror", *call[1:])
        assert done.returncode == 0 and "return-type" not in done.stderr, (flag, done.stderr)


@pytest.mark.parametrize("words", [
    ["run", "FILE"], ["compile", "FILE", "-o", "out"], ["pack", "FILE", "-o", "out"], ["check", "FILE"], ["show", "FILE"],
    ["bench", "FILE", "oops", "1"], ["cache", "explain", "FILE"]], ids=lambda words: words[0])
def test_a_misspelt_name_of_a_warning_is_refused_alike(command, tmp_path, words):
    (tmp_path / "w.cc").write_text(WARNS)
    call = [word.replace("FILE", "w.cc") for word in words]
    n = 2 if words[0] == "cache" else 1
    assert command(*call).returncode == 0  # so that the source itself comes from the cache
    (tmp_path / "out").unlink(missing_ok=True)
    for flag in ("-Wparenthesis", "-Wno-parenthesis", "-Werror=parenthesis", "-Wno-error=parenthesis"):
        for more in ([], ["-Wno-return-type"]):
            done = command(*call[:n], *more, flag, *call[n:])
            assert (done.returncode, done.stdout) == (1, "") and not (tmp_path / "out").exists(), (flag, done.stdout, done.stderr)
            assert done.stderr == (f"tarsia: error: '{flag}' names no warning of Clang's; did you mean '-Wparentheses'?\n"
                                   "tarsia: w.cc does not compile (1 error)\n")
    for flag in ("-Wno-parentheses", "-Wno-everything", "-Wno-error=parentheses", "-Werror=parentheses"):
        assert command(*call[:n], flag, *call[n:]).returncode == 0, flag


def test_werror_takes_groups_and_turns_their_warnings_on(command, tmp_path):
    (tmp_path / "w.cc").write_text("int main(int n, char**) { int m = 0; { int n = 1; m += n; } return m - 1; }\n")
    assert command("run", "w.cc").returncode == 0
    done = command("run", "-Werror=shadow", "w.cc")
    assert done.returncode == 1 and "[-Werror,-Wshadow]" in done.stderr, done.stderr


def test_of_repeated_options_the_last_one_counts(command, tmp_path):
    (tmp_path / "std.cc").write_text("int main() { return __cplusplus / 100 % 100; }\n")
    for words in (["-std=c++17", "-std=c++20"], ["-O3", "-O0", "-std=c++20"], ["-march=x86-64", "-march=x86-64-v2", "-std=c++20"]):
        done = command("run", *words, "std.cc")
        assert done.returncode == 2020 % 100 and not done.stderr, done.stderr
    (tmp_path / "opt.cc").write_text("#ifdef __OPTIMIZE__\nint main() { return 3; }\n#else\nint main() { return 0; }\n#endif\n")
    assert command("run", "-O3", "-O0", "opt.cc").returncode == 0 and command("run", "-O0", "-O3", "opt.cc").returncode == 3


def test_v_tells_of_the_compile_with_werror_too(command, tmp_path):
    for flags in ((), ("-Werror",)):
        (tmp_path / "fine.cc").write_text(f"int main() {{ return {len(flags)}; }}\n")
        done = command("run", "-v", *flags, "fine.cc")
        assert done.returncode == len(flags) and "fine.cc: compiled, ready in" in done.stderr and done.stderr.count("  codegen") == 1, done.stderr
        assert "fine.cc: disk" in command("run", "-v", *flags, "fine.cc").stderr


def test_pack_tells_the_warnings_of_all_architectures_once(command, tmp_path):
    (tmp_path / "warns.cc").write_text(WARNS)
    done = command("pack", "warns.cc", "-o", "out", "--arch", "sm_80,sm_90")
    assert done.returncode == 0 and done.stderr.count("[-Wreturn-type]") == 1, done.stderr


def test_pack_tells_a_warning_of_one_architecture_and_no_other_again(command, tmp_path):
    (tmp_path / "warns.cu").write_text(WARNS + """
__global__ void kernel(float* x) {
#if __CUDA_ARCH__ == 900
#warning only here
#endif
  *x = 1;
}
""")
    done = command("pack", "warns.cu", "-o", "out", "--arch", "sm_80,sm_90,sm_100,sm_120")
    assert done.returncode == 0 and done.stderr.count("[-Wreturn-type]") == 1 and done.stderr.count("directive: only here") == 1, done.stderr
    assert command("pack", "warns.cu", "-o", "out", "--arch", "sm_80,sm_90", "-Werror").returncode == 1


def test_show_has_the_machine_code_of_functions(command):
    if not shutil.which("objdump"):
        pytest.skip("there is no objdump")
    done = command("show", "axpy.cc", "--asm")
    assert done.returncode == 0 and "axpy(float, float const*, float*, long):" in done.stdout and "ret" in done.stdout, done.stderr
    assert "tarsia_" not in done.stdout
    done = command("show", "axpy.cc", "lengths", "--asm", "--lineinfo", "-O0")
    assert "axpy(" not in done.stdout and re.search(r"axpy\.cc:3", done.stdout)
    assert command("show", "axpy.cc").stdout.startswith("axpy.cc: 2 functions")
    done = command("show", "axpy.cc", "--ptx")
    assert done.returncode == 1 and "there is no PTX: the source has no kernels" in done.stderr


def test_show_has_the_ir_of_functions(command):
    done = command("show", "axpy.cc", "--ir", "--march", "x86-64")
    assert done.returncode == 0 and "; axpy(float, float const*, float*, long)\n" in done.stdout, done.stderr
    assert re.search(r"^define [^\n]*@_Z4axpyfPKfPfl\([^\n]*%a,", done.stdout, re.M), "values keep their names"
    assert "fmul <4 x float>" in done.stdout and "alloca" not in done.stdout, "the optimiser has been at work"
    assert "tarsia" not in done.stdout and "!dbg" not in done.stdout
    assert "!dbg" in command("show", "axpy.cc", "--ir", "-g").stdout
    done = command("show", "axpy.cc", "lengths", "--ir", "-O0")
    assert "@_Z7lengthsPKcibd(" in done.stdout and "%times.addr = alloca i32" in done.stdout and "axpy" not in done.stdout
    assert command("show", "axpy.cc", "lengths", "--ir", "--dev").stdout.count("alloca") == done.stdout.count("alloca")
    done = command("show", "axpy.cc", "nowhere", "--ir")
    assert done.returncode == 1 and "no function to show that is called 'nowhere'" in done.stderr


def test_show_has_the_ir_of_both_halves_and_what_it_names(command, tmp_path):
    body = "double s = 0; for (long i = 0; i < n; ++i) for (long j = 1; j < n; ++j) s += x[i] / x[j] + x[i * j] * {k}; return s;"
    (tmp_path / "big.cu").write_text(
        '#include <stdexcept>\nstruct Pair { int first; float second; };\nPair kept[3] = {{1, 2}};\n'
        "int first_of(int i) { return kept[i].first; }\n"
        'void raise(int i) { if (i > 5) throw std::runtime_error("too many"); }\n'
        + "".join(f"double sum_{k}(const double* x, long n) {{ {body.replace('{k}', str(k))} }}\n" for k in range(12)))
    done = command("show", "big.cu", "--ir")
    assert done.returncode == 0, done.stderr
    assert sorted(re.findall(r"^; (sum_\d+)\(", done.stdout, re.M)) == sorted(f"sum_{k}" for k in range(12))
    assert re.search(r"^@kept = .*Pair", done.stdout, re.M) and re.search(r"^%struct\.Pair = type { i32, float }", done.stdout, re.M)
    assert re.search(r'^@\.str\S* = .*c"too many', done.stdout, re.M)
    done = command("show", "big.cu", "first_of", "--ir")
    assert "kept" in done.stdout and "too many" not in done.stdout
    assert command("compile", "big.cu", "-o", "big.so").returncode == 0
    done = command("show", "big.so", "--ir")
    assert done.returncode == 1 and "keeps no IR" in done.stderr
    assert command("compile", "-emit-llvm", "big.cu", "-o", "kept.so").returncode == 0
    assert "; first_of(int)" in command("show", "kept.so", "--ir").stdout


def test_show_has_the_code_of_kernels(command, tmp_path):
    (tmp_path / "k.cu").write_text("__global__ void scale(float* x) { x[threadIdx.x] *= 2; }\n")
    if not tarsia.doctor()["works"]["cuda"]:
        pytest.skip("no CUDA to compile with")
    done = command("show", "k.cu", "--ptx", "--regs")
    assert ".entry _Z5scalePf" in done.stdout and re.search(r"^ +\d+ +0 +0 +\d+ +\d+  void scale\(float \*x\)$", done.stdout, re.M)
    done = command("show", "k.cu", "--sass")
    assert "_Z5scalePf" in done.stdout if done.returncode == 0 else "there is no nvdisasm" in done.stderr


def test_bench_times_functions_and_ops(command):
    done = command("bench", "axpy.cc", "axpy", "0.5", "float32[4096]", "float32[4096]", "int:4096")
    number = r"[\d.]+ (?:ns|us|ms)"
    assert re.fullmatch(rf"axpy: {number} median, {number} to {number} \(quartiles\), {number} least; \d+ samples of \d+ calls?, "
                        "the host's clock\n", done.stdout), done.stderr
    assert command("bench", "axpy.cc", "lengths", "string:abc", "3", "true", "float:1").returncode == 0
    done = command("bench", "op.cc", "sloped", "float32[64,64]", "slope=0.5")
    assert done.returncode == 0 and done.stdout.startswith("sloped: "), done.stderr


def test_bench_explains_its_arguments(command):
    for words, text in [(["axyp"], "has no function or op 'axyp'; did you mean 'axpy'?"),
                        (["axpy", "float31[4]"], "'float31' is no dtype"),
                        (["axpy", "float32[4,x]"], "'float32[4,x]' is no tensor: write float32[64,128]"),
                        (["axpy", "nonsense", "float32[4]", "float32[4]", "4"], "must be a float, got the string 'nonsense'"),
                        (["axpy", "a=2"], "is an op's attribute"),
                        (["axpy", "float64[4]"], "axpy")]:
        done = command("bench", "axpy.cc", *words)
        assert done.returncode == 2 and text in done.stderr, (words, done.stderr)


BENCHED = """
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>
double half(double x) { return x / 2; }
double sum(const std::vector<double>& v) { double s = 0; for (double x : v) s += x; return s; }
std::string repeat(const std::string& text, int times = 2) { std::string s; while (times--) s += text; return s; }
double maybe(std::optional<double> x) { return x ? *x : -1; }
bool flag(bool b) { return !b; }
void throws(int n) { throw std::invalid_argument("it is no good"); }
namespace one { int inner(int k) { return k; } }
namespace two { int inner(int a, int b) { return a; } }
static int hidden(int x) { return x; }
float total(const float* x, long n) { float s = 0; for (long i = 0; i < n; ++i) s += x[i]; return s; }
__global__ void fill(float* x) { x[0] = 1; }
"""


@pytest.mark.parametrize("words, text", [
    (["half", "inf"], ""), (["sum", "[1,2.5,3]"], ""), (["sum", "[]"], ""), (["sum", "list:[1]"], ""), (["repeat", "ab", "3"], ""),
    (["repeat", "string:a:b[1]"], ""), (["maybe", "none"], ""), (["maybe", "2"], ""), (["one::inner", "3"], ""),
    (["total", "float32[64]", "64"], ""),
    (["half", "x"], "half: argument 'x' (1 of 1) must be a float, got the string 'x'"),
    (["half", "1e400"], "'1e400' is no argument: write 5, 0.5, true, none, a text, [1,2,3] or float32[64,128]"),
    (["sum", "[1,x]"], "argument 'v' (1 of 1) item 1 must be a float, got the string 'x'"),
    (["sum", "1,2"], "'1,2' is no argument"), (["repeat", "str:ab"], "'str:ab' is no argument"),
    (["flag", "yes"], "must be a bool, got the string 'yes'"),
    (["throws", "3"], "tarsia: error: throws: it is no good"),
    (["inner", "3"], "'inner' may be one::inner or two::inner: write one of them"),
    (["hidden", "3"], "has no function or op 'hidden' that can be called: it is static; TARSIA_EXPORT(hidden) exports it"),
    (["fill", "float32[4]"], "'fill' is a kernel: bench takes a function that launches it, or an op"),
    (["zzz"], "has no function or op 'zzz'; there are half, sum, repeat"), ([], "name a function or op of benched.cu: half, sum"),
    (["total", "f32[64]", "64"], "'f32' is no dtype of a tensor that bench can fill; there are bool, int8"),
    (["total", "float32[64", "64"], "'float32[64' is no argument"),
    (["total", "float32[99999999999,999999]", "64"], "'float32[99999999999,999999]' cannot be made: out of memory")])
def test_bench_takes_what_newcomers_write_or_says_what_to_write(command, tmp_path, words, text):
    if not tarsia.doctor()["works"]["cuda"]:
        pytest.skip("CUDA code does not compile on this machine: see `tarsia doctor`")
    (tmp_path / "benched.cu").write_text(BENCHED)
    done = command("bench", "benched.cu", *words)
    if text:
        assert done.returncode in (1, 2) and text in done.stderr, done
    else:
        assert done.returncode == 0 and done.stdout.startswith(f"{words[0]}: "), done


def test_bench_keeps_the_sign_of_numbers(command, tmp_path):
    (tmp_path / "signs.cc").write_text("unsigned long plain(unsigned long x) { return x; }\nlong with_sign(long x) { return x; }\n")
    assert command("bench", "signs.cc", "plain", "18446744073709551615").returncode == 0
    assert command("bench", "signs.cc", "with_sign", "-9223372036854775808").returncode == 0
    for words, text in [(["plain", "-1"], "must be an int from 0 to 18446744073709551615 (uint64), got -1"),
                        (["with_sign", "int:9223372036854775808"], "got 9223372036854775808"),
                        (["plain", "int:18446744073709551616"], "'int:18446744073709551616' is no argument")]:
        done = command("bench", "signs.cc", *words)
        assert done.returncode == 2 and text in done.stderr, (words, done.stderr)


@pytest.mark.parametrize("words, passed", [((), 3), (("--class",), 4)])
def test_new_op_works_at_once(command, tmp_path, words, passed):
    assert command("new", "op", "my_op", *words).returncode == 0
    assert sorted(path.name for path in (tmp_path / "my_op").iterdir()) == ["README.md", "my_op.cc", "test_my_op.py"]
    done = command("check", "my_op/my_op.cc")
    assert done.returncode == 0 and "op 'my_op' passes" in done.stdout, done.stderr + done.stdout
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(places.PACKAGE.parent), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", tmp_path / "my_op"], env=env,
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and f"{passed} passed" in done.stdout, done.stdout
    assert ("c.state<my_op_op>()" in (tmp_path / "my_op/my_op.cc").read_text()) == bool(words)
    done = command("new", "op", "my_op")
    assert done.returncode == 1 and "'my_op' is there already" in done.stderr
    assert "cannot be an op's name" in command("new", "op", "my-op").stderr
    assert command("new", "op", "other", "--folder", "deep/place").returncode == 0 and (tmp_path / "deep/place/other.cc").exists()


@pytest.mark.parametrize("name", ["class", "int", "lambda", "None", "template", "async"])
def test_new_op_refuses_words_of_the_languages(command, name, tmp_path):
    done = command("new", "op", name)
    assert done.returncode != 0 and f"it is a word of C++ or Python; {name}_op can be one" in done.stderr
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize("words, said", [
    (["rnu", "axpy.cc"], "did you mean 'run'?"), (["nwe"], "did you mean 'new'?"), (["hlep"], "did you mean 'tarsia --help'?"),
    (["help"], "did you mean 'tarsia --help'?"), (["version"], "did you mean 'tarsia --version'?"),
    (["compile", "axpy.cc", "-o", "a.so", "--fsat-math"], "there is no option '--fsat-math'; did you mean '--fast-math'?"),
    (["run", "--lineinof", "axpy.cc"], "there is no option '--lineinof'; did you mean '--lineinfo'?"),
    (["check", "op.cc", "slopd"], "op.cc has no op 'slopd'; did you mean 'sloped'?"), (["new", "opp", "x"], "did you mean 'op'?"),
    (["show", "axpy.cc", "--amsd"], "did you mean '--asm'?"), (["bench", "axpy.cc", "axpy", "--deivce", "cpu"], "did you mean '--device'?")])
def test_typing_errors_get_suggestions(command, words, said):
    done = command(*words)
    assert done.returncode == 2 and said in done.stderr, done.stderr


def test_far_words_get_none(command):
    assert "did you mean" not in command("frobnicate").stderr


def test_show_says_that_there_are_no_kernels(command):
    done = command("show", "axpy.cc", "--sass")
    assert done.returncode != 0 and "there is no GPU code: the source has no kernels" in done.stderr


def test_show_has_the_ptx_of_one_kernel(command, tmp_path):
    if not tarsia.doctor()["works"]["cuda"]:
        pytest.skip("no CUDA to compile with")
    (tmp_path / "two.cu").write_text("__global__ void first(float* x) { *x = 1; }\n__global__ void second(float* x) { *x = 2; }\n")
    text = command("show", "two.cu", "second", "--ptx", "--arch", "sm_90").stdout
    assert ".version" in text and "6second" in text and "5first" not in text and text.count(".entry") == 1
    done = command("show", "two.cu", "third", "--ptx", "--arch", "sm_90")
    assert done.returncode != 0 and "there is no kernel 'third' to show" in done.stderr
