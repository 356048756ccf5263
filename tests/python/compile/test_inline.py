"""load_inline and compile, end to end with the compiler."""

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from threads import at_once

import tarsia

try:
    tarsia.load_inline("int probe() { return 1; }")
except tarsia.Error as error:
    if not isinstance(error, (tarsia.NotFound, tarsia.Unsupported)):
        raise
    pytest.skip(f"no compiler: {error}", allow_module_level=True)

RELU = """
void relu(const float* x, float* y, int n) {
  for (int i = 0; i < n; ++i) y[i] = x[i] > 0 ? x[i] : 0;
}
"""


def test_a_string_becomes_a_library():
    lib = tarsia.load_inline(RELU)
    x = np.array([-1, 2], np.float32)
    y = np.empty_like(x)
    assert lib.relu(x, y, 2) is None and y.tolist() == [0, 2]
    lib.relu(y=x, x=y, n=1)
    assert lib.relu.signatures == ("void relu(const float *x, float *y, int n)",)
    assert lib.relu.location.endswith(":2")
    assert lib.origin in ("compiled", "disk", "memory") and lib.functions == ("relu",)


def test_the_second_time_it_comes_from_the_cache(tmp_path):
    source = f"int fresh() {{ return {os.getpid()}; }}"
    assert tarsia.load_inline(source).origin == "compiled"
    lib = tarsia.load_inline(source)
    assert lib.origin == "memory" and lib.fresh() == os.getpid()
    out = subprocess.run([sys.executable, "-c", f"import tarsia; print(tarsia.load_inline({source!r}).origin)"],
                         capture_output=True, text=True, check=True)
    assert out.stdout == "disk\n"


def test_types_without_includes_of_tarsia():
    lib = tarsia.load_inline("""
        #include <map>
        #include <optional>
        #include <stdexcept>
        #include <string>
        #include <tuple>
        #include <vector>
        std::string greet(const std::string& name, int times = 1) {
          std::string all;
          for (int i = 0; i < times; ++i) all += "hello " + name + ";";
          return all;
        }
        std::tuple<int, double> split(double x) { return {int(x), x - int(x)}; }
        std::vector<std::string> words(std::vector<int> n) {
          std::map<int, std::string> names{{1, "one"}, {2, "two"}};
          std::vector<std::string> all;
          for (int i : n) all.push_back(names.at(i));
          return all;
        }
        std::optional<int> none() { return std::nullopt; }
    """)
    assert lib.greet("you") == "hello you;" and lib.greet(name="x", times=2) == "hello x;hello x;"
    assert lib.split(2.5) == (2, 0.5)
    assert lib.words([1, 2]) == ["one", "two"] and lib.none() is None
    with pytest.raises(IndexError):
        lib.words([3])


def test_tensors_of_tarsia():
    torch = pytest.importorskip("torch")
    lib = tarsia.load_inline("""
        #include <tarsia/op.h>
        tarsia::Tensor twice(const tarsia::Tensor& x) {
          tarsia::Tensor y = tarsia::empty_like(x);
          for (int64_t i = 0; i < x.numel(); ++i) y.data<float>()[i] = 2 * x.data<const float>()[i];
          return y;
        }
    """)
    y = lib.twice(torch.ones(3))
    assert type(y) is torch.Tensor and y.tolist() == [2] * 3
    assert type(lib.twice(np.ones(3, np.float32))) is np.ndarray


def test_ops_in_a_string():
    lib = tarsia.load_inline("""
        #include <tarsia/op.h>
        TARSIA_OP(inline_negate).forward("cpu", [](tarsia::Context& c) {
          for (int64_t i = 0; i < c.input(0).numel(); ++i)
            c.output(0).data<float>()[i] = -c.input(0).data<const float>()[i];
        });
    """)
    assert lib.ops == ("inline_negate",)
    assert tarsia.ops.inline_negate(np.ones(2, np.float32)).tolist() == [-1, -1]
    lib.unload()
    with pytest.raises(AttributeError):
        tarsia.ops.inline_negate


def test_options():
    lib = tarsia.load_inline("""
        int value() { return VALUE; }
        #ifdef EMPTY
        long standard() { return __cplusplus; }
        #endif
    """, "named", defines={"VALUE": 41, "EMPTY": None}, std="c++17", opt=0)
    assert lib.name == "named" and lib.value() == 41 and lib.standard() == 201703
    lib = tarsia.load_inline("int a() { return 1; } int b() { return 2; }", functions=["b"])
    assert lib.functions == ("b",)
    with pytest.raises(AttributeError):
        lib.a
    lib = tarsia.load_inline("#include \"my.h\"\nint f() { return mine(); }",
                             headers={"my.h": "inline int mine() { return 7; }"})
    assert lib.f() == 7


def test_functions_that_are_not_there_are_named(tmp_path):
    source = """namespace ns { int f(int x) { return x; } int f(float x) { return x; } } int half() { return 1; }
                static int hidden() { return hidden(); } template <class T> T any(T x) { return x; }"""
    for wanted in (["nope"], ["half", "nope"], ["f"], ["hidden"], ["any"]):
        message = rf"functions: the source has no function '{wanted[-1]}' that can be exported; it has 'half', 'ns::f'$"
        with pytest.raises(tarsia.ArgumentValueError, match=message):
            tarsia.load_inline(source, functions=wanted)
        with pytest.raises(tarsia.ArgumentValueError, match=message):
            tarsia.compile(source, tmp_path / "a.so", functions=wanted)
    assert not list(tmp_path.iterdir())
    stored = tarsia.stats()["disk"]["stores"]
    with pytest.raises(tarsia.ArgumentValueError, match="it has 'half'$"):
        tarsia.load_inline(f"int half() {{ return 1; }}  // {os.urandom(8).hex()}", functions=["hafl"])
    assert tarsia.stats()["disk"]["stores"] == stored  # nothing was compiled to its end
    with pytest.raises(tarsia.ArgumentValueError, match="no function 'a', 'b' that .*; it has none at all"):
        tarsia.load_inline("template <class T> T any(T x) { return x; }\nstruct S;", functions=["a", "b"])
    lib = tarsia.load_inline(source, functions=["ns::f", "half"])
    assert lib.functions == ("ns::f", "half") and len(lib.f.signatures) == 2
    tarsia.compile(source, tmp_path / "a.so", functions=["ns::f"])
    assert tarsia.load(tmp_path / "a.so").functions == ("ns::f",)
    lib = tarsia.load_inline({"a.cc": "int a() { return 1; }", "b.cc": "int b() { return 2; }"}, functions=["b", "a"])
    assert sorted(lib.functions) == ["a", "b"]
    with pytest.raises(tarsia.ArgumentValueError, match="no function 'c' that .*; it has 'a', 'b'$"):
        tarsia.load_inline({"a.c": "int a(void) { return 1; }", "b.cc": "int b() { return 2; }"}, functions=["a", "c"])
    assert tarsia.load_inline("int main() { return 3; } int f() { return 1; }", functions=["main"]).main() == 3


@pytest.mark.parametrize(("use", "header"), [
    ("int f(const std::vector<float>& x) { return x.size(); }", "vector"),
    ("int f(std::optional<int> x) { return x ? *x : 3; }", "optional"),
    ("double f(std::tuple<int, double> x) { return x._M_head(x); }", "tuple")])
def test_a_template_that_is_only_declared_is_told_with_its_header(use, header):
    with pytest.raises(tarsia.CompileError, match=f"; #include <{header}>, where it is defined"):
        tarsia.load_inline(f"#include <tarsia/op.h>\n{use}")
    assert tarsia.load_inline("#include <tarsia/op.h>\n#include <vector>\nint f(const std::vector<float>& x) { return x.size(); }").f([1]) == 1


def test_a_template_that_another_header_declares_is_told_with_its_own():
    with pytest.raises(tarsia.CompileError, match="; #include <tuple>, where it is defined"):
        tarsia.load_inline("#include <vector>\nstd::tuple<int, int> f() { return {1, 2}; }")
    with pytest.raises(tarsia.CompileError) as caught:
        tarsia.load_inline("namespace mine { template <class> struct tuple; }\nmine::tuple<int> f() { return {}; }")
    assert "#include" not in str(caught.value)


def test_a_missing_gpu_is_an_error_of_functions_that_launch():
    if not tarsia.doctor()["works"]["cuda"]:
        pytest.skip("CUDA code does not compile on this machine")
    code = """if True:
        import tarsia
        lib = tarsia.load_inline('''
            __global__ void k(int* x) { if (x) *x = 1; }
            void go(int n, cudaStream_t s) { k<<<1, n, 0, s>>>(nullptr); }
            int number() { return 7; }
            void nothing() {}
            void launch(bool really) { if (really) k<<<1, 1>>>(nullptr); }
            int code() { k<<<1, 1>>>(nullptr); return cudaPeekAtLastError(); }
        ''')
        assert lib.number() == 7 and lib.nothing() is None
        for stream in ({}, {"s": 0}):
            try:
                lib.go(1, **stream)
            except tarsia.CudaError as error:
                print(error)
        assert lib.number() == 7 and lib.nothing() is None
        try:
            lib.launch(True)
        except tarsia.CudaError as error:
            print(error)
        # Who gives a number is asked nothing, and answers for nobody else.
        assert lib.code() != 0 and lib.launch(False) is None
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          env=dict(os.environ, CUDA_VISIBLE_DEVICES=""))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 3 and lines[0] == lines[1]
    assert lines[2] == lines[0].replace("go() works on a GPU, as it takes a stream", "launch() launches a kernel")
    assert lines[0].startswith("go() works on a GPU, as it takes a stream: ")
    assert "no CUDA driver" in lines[0] or "nvidia-smi" in lines[0]


def test_device_errors_in_headers_on_disk_name_their_path_and_duplicates_their_files(tmp_path):
    if not tarsia.doctor()["works"]["cuda"]:
        pytest.skip("CUDA code does not compile on this machine")
    (tmp_path / "h.cuh").write_text("// 1\n// 2\n__device__ float helper(float x) {\n  return x + missing;\n}\n")
    with pytest.raises(tarsia.CompileError) as caught:
        tarsia.load_inline('#include "h.cuh"\n__global__ void k(float* x) { x[0] = helper(1); }\n',
                           include_dirs=[tmp_path])
    found = caught.value.diagnostics[0]
    assert (found.file, found.line, found.source_line) == (str(tmp_path / "h.cuh"), 4, None)
    kernel = "__global__ void k() {}\nvoid %s() { k<<<1, 1>>>(); }"
    with pytest.raises(tarsia.CompileError) as caught:
        tarsia.load_inline({"a.cu": kernel % "f", "b.cu": kernel % "g"})
    assert caught.value.stage == "link"
    assert caught.value.diagnostics[0].message == (
        "kernel k() is defined more than once: make it static or inline, or rename one. It is in\na.cu\nb.cu")


def test_errors_of_the_link_name_lines():
    with pytest.raises(tarsia.CompileError) as caught:
        tarsia.load_inline({"a.cc": "\nint f() { return 1; }", "b.cc": "\n\nint f() { return 2; }"})
    assert caught.value.diagnostics[0].message.splitlines()[1:] == ["a.cc:2", "b.cc:3"]
    with pytest.raises(tarsia.CompileError) as caught:
        tarsia.load_inline({"a.cc": "int g();\nint f() {\n  return g();\n}"})
    assert (caught.value.diagnostics[0].file, caught.value.diagnostics[0].line) == ("a.cc", 3)


def test_ctrl_c_ends_a_compile_at_once_and_the_next_one_works(tmp_path):
    code = """if True:
        import os, pathlib, signal, threading, time
        import tarsia

        def compilers():   # how long each has computed, in ticks
            pids = [pid for task in pathlib.Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()]
            stats = {int(pid): pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in pids}
            return {pid: int(stat[11]) + int(stat[12]) for pid, stat in stats.items()}

        def interrupts(number):   # this process, as soon as its compiler has computed for a while
            (pid, before), = compilers().items()
            def interrupt():
                while compilers()[pid] < before + os.sysconf("SC_CLK_TCK") // 5:
                    time.sleep(0.01)
                os.kill(os.getpid(), number)
            threading.Thread(target=interrupt).start()
            return pid

        signal.signal(signal.SIGINT, signal.default_int_handler)  # shells ignore it for what runs in the background
        slow = "template <int n> struct S { static constexpr long v = S<n - 1>::v * 3 + S<n - 2>::v; };" \\
               "template <> struct S<0> { static constexpr long v = 1; }; template <> struct S<1> : S<0> {};" \\
               "constexpr long spin() { long s = 0; for (long i = 0; i < 400000; ++i) s += i % 7; return s; }"
        slow += "".join(f"template <int n> constexpr long f{i}() {{ return spin() + n; }} int x{i}() {{ constexpr long v = f{i}<{i}>(); return int(v); }}" for i in range(400))
        tarsia.load_inline("int one() { return 1; }")
        compiler = interrupts(signal.SIGINT)
        try:
            tarsia.load_inline(slow, timeout=600)
        except KeyboardInterrupt:
            print("interrupted", compiler in compilers())   # one that had finished would stay
        tarsia.load_inline("int another() { return 1; }")
        signal.signal(signal.SIGUSR1, lambda *_: 1 / 0)
        compiler = interrupts(signal.SIGUSR1)
        try:
            tarsia.compile(slow, "/nonexistent/x.so", timeout=600)
        except ZeroDivisionError:
            print("raised", compiler in compilers())
        print(tarsia.load_inline("int two() { return 2; }").two())
    """
    environment = {**os.environ, "TARSIA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env=environment)
    assert done.stdout.splitlines() == ["interrupted False", "raised False", "2"], done.stdout + done.stderr


def test_strings_with_nuls_are_refused_where_they_would_be_cut():
    lib = tarsia.load_inline("""
        #include <cstring>
        #include <string_view>
        int c(const char* s) { return (int)std::strlen(s); }
        int view(std::string_view s) { return (int)s.size(); }
    """)
    light = tarsia.load_inline("#include <cstring>\nint c(const char* s) { return (int)std::strlen(s); }")
    assert lib.view("a\0b") == 3 and lib.view(b"a\0b") == 3 and lib.c("ab") == 2 and lib.c("") == 0
    for f in (lib.c, light.c):
        for text in ("a\0b", b"a\0b", "\0"):
            with pytest.raises(tarsia.ArgumentValueError, match=r"'s' .* must be without NUL .*take a std::string_view"):
                f(text)


def test_functions_that_are_not_exported_by_default_say_how():
    lib = tarsia.load_inline("""
        template <class T> T twice(T x) { return x + x; }
        static int hidden(int x) { return x; }
        namespace ns { namespace { int secret() { return 1; } } }
        struct S { static int method() { return 1; } int operator()(int) const; };
        int operator+(S, int) { return 1; }
        int shown() { return twice(hidden(ns::secret())); }
    """)
    assert lib.functions == ("shown",)
    assert set(lib.skipped) == {"twice", "hidden", "ns::secret"}
    assert lib.skipped["twice"] == ("is a template; write `template float twice<float>(float);` below it, with types of your "
                                    "choice, and twice<float> is exported")
    with pytest.raises(AttributeError, match=r"'hidden'.* not exported: is static; TARSIA_EXPORT\(hidden\) exports it"):
        lib.hidden


@pytest.mark.parametrize("options, kind, message", [
    ({"opt": "2"}, TypeError, "opt must be an int from 0 to 3 or 'fast', got str '2'"),
    ({"opt": True}, TypeError, "opt must be an int from 0 to 3 or 'fast', got bool True"),
    ({"opt": 4}, ValueError, "opt must be an int from 0 to 3, got 4"),
    ({"opt": 2**70}, ValueError, "opt must be an int from 0 to 3, got 1180591620717411303424"),
    ({"name": 5}, TypeError, "name must be a str, got int 5"),
    ({"name": "a\0b"}, ValueError, "name must be a str without NUL characters, got 'a\\x00b'"),
    ({"name": "\udc80"}, ValueError, "name must be text that can be written as UTF-8, got '\\udc80'"),
    ({"timeout": "a"}, TypeError, "timeout must be seconds above 0, at most 4294967, or None for 300, got str 'a'"),
    ({"timeout": 1e9}, ValueError, "timeout must be seconds above 0, at most 4294967, or None for 300, got 1000000000.0"),
    ({"timeout": 0}, ValueError, "timeout must be seconds above 0, at most 4294967, or None for 300, got 0"),
    ({"timeout": -1}, ValueError, "timeout must be seconds above 0, at most 4294967, or None for 300, got -1"),
    ({"timeout": float("nan")}, ValueError, "timeout must be seconds above 0, at most 4294967, or None for 300, got nan"),
    ({"std": 20}, TypeError, "std must be a str, got int 20"),
    ({"functions": "f"}, TypeError, "functions must be a list: write ['f'], got str 'f'"),
    ({"functions": [3]}, TypeError, "functions: each name must be a str, got int 3"),
    ({"functions": 3}, TypeError, "functions must be a list, got int 3"),
    ({"headers": ["a.h"]}, TypeError, "headers must be a dict, got list ['a.h']"),
    ({"headers": {"a.h": 1}}, TypeError, "header 'a.h' must be a str, got int 1"),
    ({"headers": {1: ""}}, TypeError, "a header's name must be a path (str, bytes or os.PathLike), got int 1"),
    ({"defines": "A"}, TypeError, "defines must be a dict, got str 'A'"),
    ({"defines": {1: 2}}, TypeError, "a macro's name in defines must be a str, got int 1"),
    ({"include_dirs": [1]}, TypeError, "include_dirs: each item must be a path (str, bytes or os.PathLike), got int 1"),
    ({"libraries": 1}, TypeError, "libraries must be a list, got int 1"),
    ({"arch": 9.0}, TypeError, "arch must be a list, got float 9.0"),
    ({"arch": [9.0]}, TypeError, "arch: each item must be a str, got float 9.0"),
    ({"host_headers": 1}, ValueError, "host_headers must be 'own' or 'system', got 1"),
], ids=lambda value: repr(value) if isinstance(value, dict) else "")
def test_bad_options_are_named(options, kind, message, tmp_path):
    for call in (lambda: tarsia.load_inline("int f() { return 1; }", **options),
                 lambda: tarsia.compile("int f() { return 1; }", tmp_path / "a.so", **options)):
        with pytest.raises(tarsia.Error) as raised:
            call()
        assert isinstance(raised.value, kind) and str(raised.value) == message
    assert not list(tmp_path.iterdir())


def test_options_take_what_means_the_same(tmp_path):
    lib = tarsia.load_inline(b"int f() { return 4; }", opt=np.int64(1), timeout=np.float32(100), include_dirs=None)
    lib.export(os.fsencode(tmp_path / "a.so"))
    assert tarsia.load(os.fsencode(tmp_path / "a.so")).f() == 4
    for path in (5, None):
        with pytest.raises(tarsia.ArgumentTypeError, match=r"^path must be a path \(str, bytes or os.PathLike\), got "):
            tarsia.load(path)
        with pytest.raises(tarsia.ArgumentTypeError, match=r"^path must be a path"):
            lib.export(path)
        with pytest.raises(tarsia.ArgumentTypeError, match=r"^output must be a path"):
            tarsia.compile("int f() { return 4; }", path)
    with pytest.raises(tarsia.ArgumentTypeError, match="^a function's name must be a str, got int 5$"):
        lib[5]


def test_include_dirs(tmp_path):
    (tmp_path / "found.h").write_text("inline int found() { return 5; }\n")
    source = "#include <found.h>\nint f() { return found(); }"
    for dirs in ([tmp_path], (str(tmp_path),), tmp_path):
        assert tarsia.load_inline(source, include_dirs=dirs).f() == 5
    (tmp_path / "found.h").write_text("inline int found() { return 6; }\n")
    assert tarsia.load_inline(source, include_dirs=[tmp_path]).f() == 6


def test_several_files():
    lib = tarsia.load_inline({
        "common.h": "#pragma once\n#ifdef __cplusplus\nextern \"C\"\n#endif\nint from_c(int x);\n",
        "part.c": "#include \"common.h\"\nint from_c(int x) { int class = x; return class + 1; }\n",
        "main.cc": "#include \"common.h\"\nint f(int x) { return from_c(x) * 2; }\n",
    })
    assert lib.f(1) == 4


def test_what_is_not_exported_says_why():
    lib = tarsia.load_inline("struct S { int x; ~S(); };\nint good() { return 1; }\nint bad(S s) { return s.x; }\n"
                             "static int hidden() { return 2; }\nint use() { return hidden(); }")
    assert lib.good() == 1 and any("bad" in name for name in lib.skipped)
    with pytest.raises(AttributeError, match="not exported"):
        lib.bad


def test_compile_errors_point_into_the_string_and_this_file():
    with pytest.raises(tarsia.CompileError) as caught:
        tarsia.load_inline("""
int fine() { return 1; }
int broken() {
  return undeclared + 1;
}
""")
    error = caught.value
    assert error.stage == "host" and len(error.diagnostics) >= 1
    first = error.diagnostics[0]
    assert first.line == 4 and first.column == 10 and first.severity == "error" and "undeclared" in first.message
    assert first.source_line == "  return undeclared + 1;"
    text = str(error)
    assert "    4 |   return undeclared + 1;\n      |          ^" in text
    file, line = first.origin.rsplit(":", 1)
    assert file == __file__
    assert pathlib.Path(__file__).read_text().split("\n")[int(line) - 1] == "  return undeclared + 1;"


@pytest.mark.parametrize("source, words", [
    ("int f( {", "expected"),
    ('#include "nowhere.h"\nint f() { return 1; }', "nowhere.h"),
    ("int missing(); int f() { return missing(); }", "missing"),
    ("", "no function"),
    ("static int f() { return 1; }", "no function"),
])
def test_bad_sources_are_errors_and_the_next_one_works(source, words):
    with pytest.raises(tarsia.Error, match=words):
        tarsia.load_inline(source)
    value = abs(hash(source)) % 1000
    assert tarsia.load_inline(f"int after() {{ return {value}; }}").after() == value


@pytest.mark.parametrize("source", ["int f() { return 1; }\0", b"int f() { return 1; } // \xff", "// \ud800"])
def test_sources_that_are_no_text(source):
    with pytest.raises(tarsia.InvalidSource):
        tarsia.load_inline(source)


def test_bad_options():
    for options in ({"std": "c++99"}, {"opt": 7}, {"host_headers": "x"}, {"functions": "f"}, {"include_dirs": "x"},
                    {"arch": "sm_1"}, {"timeout": "x"}):
        with pytest.raises((tarsia.Error, TypeError, ValueError)):
            tarsia.load_inline("int f() { return 1; }", **options)
    with pytest.raises(TypeError, match="^source must be a str, or a dict of file name to str, got int 3$"):
        tarsia.load_inline(3)


def test_a_path_in_place_of_a_source_names_load(tmp_path):
    path = tmp_path / "lib.cc"
    path.write_text("int f() { return 1; }\n")
    with pytest.raises(tarsia.ArgumentTypeError, match=r"got a path; for a file write tarsia\.load\('.*lib\.cc'\)"):
        tarsia.load_inline(path)
    with pytest.raises(tarsia.ArgumentValueError, match=r"is the path of a file: write tarsia\.load\('.*lib\.cc'\)"):
        tarsia.load_inline(str(path))
    with pytest.raises(tarsia.ArgumentValueError, match=r"write pathlib\.Path\('.*lib\.cc'\)"):
        tarsia.compile(str(path), tmp_path / "lib.so")


def test_compile_writes_a_library_that_load_takes(tmp_path):
    output = tmp_path / "lib.so"
    tarsia.compile(RELU, output)
    assert tarsia.load(output).functions == ("relu",)
    exported = tmp_path / "exported.so"
    tarsia.load_inline(RELU).export(exported)
    lib = tarsia.load(exported)
    x = np.array([-1, 2], np.float32)
    lib.relu(x, x, 2)
    assert x.tolist() == [0, 2]
    with pytest.raises(tarsia.CompileError):
        tarsia.compile("int f( {", tmp_path / "no.so")
    assert not (tmp_path / "no.so").exists()


@pytest.mark.parametrize("source", ["", "static int f() { return 1; }", "template <class T> T f(T x) { return x; }",
                                    {"a.cu": "__device__ int f() { return 1; }"}, {"a.cu": "__device__ int g;"}])
def test_a_source_that_defines_nothing_is_one_error(source, tmp_path):
    for take in (tarsia.load_inline, lambda text: tarsia.compile(text, tmp_path / "no.so")):
        with pytest.raises(tarsia.LoadError, match="has no function, kernel or op that can be called"):
            take(source)
    assert not (tmp_path / "no.so").exists()


def test_sources_of_ops_templates_or_variables_that_register_compile(tmp_path):
    for k, source in enumerate([
            '#include <tarsia/op.h>\nTARSIA_OP(t_lone).input("x").output("y").forward("cpu", [](tarsia::Context&) {});',
            {"a.cu": '#include <tarsia/op.h>\nTARSIA_OP(t_lone).input("x").output("y").forward("cpu", [](tarsia::Context&) {});'},
            "template <class T> __global__ void k(T* x) {}", "int main() { return 0; }",
            '#include "lib_api.h"\nusing namespace mxnet::ext;\nMXReturnValue initialize(int) { return MX_SUCCESS; }']):
        tarsia.compile(source, tmp_path / f"{k}.so")
        tarsia.load(tmp_path / f"{k}.so").unload()


def test_load_refuses_what_is_no_library(tmp_path):
    (tmp_path / "text.so").write_text("not a library")
    for path in (tmp_path / "text.so", tmp_path / "missing.so", tmp_path, "/dev/null"):
        with pytest.raises(tarsia.Error, match=str(path)):
            tarsia.load(path)


def test_threads_compile_at_once():
    def work(i):
        return tarsia.load_inline(f"int number() {{ return {i % 3} + {os.getpid()}; }}").number()

    assert at_once(work, range(6)) == [i % 3 + os.getpid() for i in range(6)]


def test_stats_and_doctor():
    statistics = tarsia.stats()
    assert isinstance(statistics, dict) and statistics
    report = tarsia.doctor()
    assert isinstance(report, dict) and report


def test_main_programs():
    lib = tarsia.load_inline("""
        #include <cstdio>
        #include <cstring>
        int main(int argc, char** argv) { return argc > 1 ? int(std::strlen(argv[1])) : 0; }
    """)
    assert lib.main() == 0 and lib.main("four") == 4


def test_the_memory_of_a_program_begins_as_zeros():
    lib = tarsia.load_inline("""
        #include <cstdlib>
        #include <string>
        #include <vector>
        int main() {
          for (int i = 0; i < 100; i++) std::vector<char> used(777 + i, 'y');
          int others = 0;
          for (int i = 0; i < 100; i++) {
            char *made = new char[777 + i], *given = (char*)malloc(700 + i);
            for (int k = 0; k < 700; k++) others += (made[k] != 0) + (given[k] != 0);
            if (i % 2) delete[] made, free(given);
          }
          return others > 0;
        }
    """)
    assert lib.main() == 0


def test_a_program_keeps_its_own_operator_new():
    lib = tarsia.load_inline("""
        #include <cstdlib>
        #include <new>
        static int made;
        void* operator new(std::size_t n) { made++; return std::malloc(n); }
        void operator delete(void* p) noexcept { std::free(p); }
        void operator delete(void* p, std::size_t) noexcept { std::free(p); }
        int* volatile kept;
        int main() { kept = new int; delete kept; return made; }
    """)
    assert lib.main() == 1


def test_errors_within_a_header_are_told_once_for_each_place_that_leads_there():
    with pytest.raises(tarsia.CompileError) as caught:
        tarsia.load_inline("""
        #include <algorithm>
        #include <vector>
        struct S {};
        void f(std::vector<int> x) { std::vector<S> v; std::sort(v.begin(), v.end()); }
        void g(std::vector<int> x) { std::vector<S> v; std::sort(v.begin(), v.end()); x.nosuch(); }
        """)
    text = str(caught.value)
    assert text.count("std::sort(v.begin()") == 2 and "no member named 'nosuch'" in text
    assert len(text.splitlines()) < 16 and len(caught.value.diagnostics) > 10


def test_dtypes_have_their_article():
    lib = tarsia.load_inline("int f(const int* x) { return *x; } int g(const unsigned* x) { return *x; }")
    with pytest.raises(TypeError, match="must be an int32 tensor"):
        lib.f(np.zeros(1))
    with pytest.raises(TypeError, match="must be a uint32 tensor"):
        lib.g(np.zeros(1))


@pytest.mark.parametrize("kernel", ["", "__global__ void k() {}\n"], ids=["host", "cuda"])
@pytest.mark.parametrize("name", ["__TIME__", "__DATE__", "__TIMESTAMP__"])
def test_a_text_that_asks_for_the_time_is_compiled_each_time(name, kernel):
    source = f"{kernel}const char* when() {{ return {name}; }}"
    assert [tarsia.load_inline(source).origin for _ in range(2)] == ["compiled", "compiled"]


def test_a_text_that_only_mentions_the_time_is_kept():
    source = """#define __TIME__ "noon"
#define LATER __DATE__
// __TIMESTAMP__
const char* when() { return __TIME__; }"""
    assert [tarsia.load_inline(source).origin for _ in range(2)][1] != "compiled"


def test_an_included_header_that_asks_for_the_time_counts(tmp_path):
    (tmp_path / "now.h").write_text("inline const char* now() { return __TIME__; }\n")
    source = '#include "now.h"\nconst char* when() { return now(); }'
    assert [tarsia.load_inline(source, include_dirs=[tmp_path]).origin for _ in range(2)] == ["compiled", "compiled"]
