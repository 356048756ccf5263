"""The compiler's warnings as Python warnings."""

import contextlib
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pytest

import tarsia
import tarsia.mobula
from tarsia._compile import warnings as _warnings


@pytest.fixture(autouse=True)
def nothing_shown(monkeypatch):
    monkeypatch.setattr(_warnings, "_shown", set())


def shown_by(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [one for one in caught if issubclass(one.category, tarsia.CompileWarning)]


NO_RETURN = "int missing_return() { }\n"


def test_a_missing_return_warns_before_it_is_called():
    found = shown_by(lambda: tarsia.load_inline(NO_RETURN))
    assert [str(one.message) for one in found] == ["source:1: non-void function does not return a value [-Wreturn-type]"]
    diagnostic = found[0].message.diagnostic
    assert (diagnostic.line, diagnostic.severity, diagnostic.source_line) == (1, "warning", NO_RETURN.rstrip())


def test_a_warning_is_shown_once_and_for_sources_from_the_cache(monkeypatch):
    assert len(shown_by(lambda: tarsia.load_inline(NO_RETURN))) == 1
    assert shown_by(lambda: tarsia.load_inline(NO_RETURN)) == []
    monkeypatch.setattr(_warnings, "_shown", set())  # as in another process
    lib = []
    assert len(shown_by(lambda: lib.append(tarsia.load_inline(NO_RETURN)))) == 1
    assert lib[0].origin == "memory"


def test_warnings_stand_at_their_line_of_the_py_file():
    text = """
        int first() { return 1; }
        int second() { }
    """
    found, = shown_by(lambda: tarsia.load_inline(text))
    assert found.filename == __file__
    assert "int second() { }" in open(__file__).read().splitlines()[found.lineno - 1]


def registered_twice(folder):
    """What registers an operator of MobulaOP again, in four ways."""
    mobula = tarsia.mobula

    class PlacedTwice:
        def forward(self, x):
            return x

        backward = forward

        def infer_shape(self, in_shape):
            return in_shape, in_shape

    mobula.op.register(PlacedTwice)
    return {"class": lambda: mobula.op.register(PlacedTwice), "name": lambda: mobula.op.register("PlacedTwice")(PlacedTwice),
            "called": lambda: mobula.op.register()(PlacedTwice), "kernels": lambda: mobula.op.load("Placed2", path=str(folder))}


def leaves_out(path):
    """What records a source that a pack does not take, in four ways."""
    def clock(name):
        tarsia.load_inline(f"const char* {name}() {{ return __TIME__; }}", name=name)

    def stopped():
        recording = tarsia.record(path).start()
        clock("stopped")
        recording.stop()

    def within():
        with tarsia.record(path):
            clock("within")

    def stacked():
        with contextlib.ExitStack() as stack:
            stack.enter_context(tarsia.record(path))
            clock("stacked")

    return {"stop": stopped, "with": within, "stack": stacked, "decorator": lambda: tarsia.record(path)(clock)("decorated")}


def converts():
    """What converts sparse tensors: an op called, bound, and in a graph."""
    x = tarsia.RowSparse(np.zeros((1, 3), np.float32), np.zeros(1, int), (2, 3))

    def op(name):
        return tarsia.define_op(lambda x, y: y.fill(0), name=name)

    called, bound, backward = op("placed_called"), op("placed_bound"), op("placed_again")
    return {"call": lambda: called(x), "bind": lambda: bound.bind(x), "explicit": lambda: backward.bind(x, implementation="priority")}


def defines_again():
    tarsia.load_inline('''#include <tarsia/op.h>
TARSIA_OP(placed_op).input("a").input("b").output("y").forward("cpu", [](tarsia::Context&) {});''')
    return {"define": lambda: tarsia.define_op(lambda x, y: None, name="placed_op")}


def test_each_warning_names_the_line_that_called_the_package(tmp_path):
    """Whatever lies between the two: functions that wrap those of the package, and contextlib."""
    for number in (1, 2):
        folder = tmp_path / f"Placed{number}"
        folder.mkdir()
        (folder / f"Placed{number}.cpp").write_text("MOBULA_FUNC int placed_twice() { return 1; }\n")
    tarsia.mobula.op.load("Placed1", path=str(tmp_path))
    ways = {**registered_twice(tmp_path), **leaves_out(tmp_path / "placed.pack"),
            **converts(), **defines_again(), "source": lambda: tarsia.load_inline("int placed_source() { }"),
            "all": lambda: tarsia.compile_all(["int placed_all() { }"]), "cell": lambda: tarsia.Session().run("int placed_cell() { }"),
            "compile": lambda: tarsia.compile("int placed_file() { }", tmp_path / "placed.so")}
    for way, call in ways.items():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call()
        assert [one.filename for one in caught] == [__file__], (way, caught)


def test_filters_keep_quiet_or_make_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", category=tarsia.CompileWarning)
        tarsia.load_inline("int quiet() { }")
    with warnings.catch_warnings():
        warnings.filterwarnings("error", category=tarsia.CompileWarning)
        for _ in range(2):  # an error is one each time
            with pytest.raises(tarsia.CompileWarning, match="Wreturn-type"):
                tarsia.load_inline(NO_RETURN)
        with pytest.raises(tarsia.CompileWarning, match="Wreturn-type"):
            tarsia.load_inline(NO_RETURN, wait=False).missing_return


def test_a_library_that_a_filter_refused_registers_no_ops():
    source = """
        #include <tarsia/op.h>
        int fault() { }
        static void run(tarsia::Context&) {}
        TARSIA_OP(refused_by_filter).input("x").output("y").forward("cpu", run);
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("error", category=tarsia.CompileWarning)
        with pytest.raises(tarsia.CompileWarning):
            tarsia.load_inline(source)
    assert "refused_by_filter" not in tarsia.ops


def test_only_the_users_own_text_warns(tmp_path):
    (tmp_path / "theirs.h").write_text("inline int theirs() { }\n")
    found = shown_by(lambda: tarsia.load_inline('#include "theirs.h"\n#include "mine.h"\nint f() { return theirs() + mine(); }',
                                                include_dirs=[tmp_path], headers={"mine.h": "inline int mine() { }\n"}))
    assert [str(one.message).partition(":")[0] for one in found] == ["mine.h"]


def test_compile_and_compile_all_warn(tmp_path):
    found = shown_by(lambda: tarsia.compile({"a.cc": "int a() { }"}, tmp_path / "a.so"))
    assert [str(one.message) for one in found] == ["a.cc:1: non-void function does not return a value [-Wreturn-type]"]
    assert found[0].filename == __file__
    found = shown_by(lambda: tarsia.compile_all([{"b.cc": "int b() { }"}, {"c.cc": "int c() { }"}]))
    assert sorted(str(one.message)[:6] for one in found) == ["b.cc:1", "c.cc:1"] and found[0].filename == __file__


def test_many_warnings_are_cut_short():
    text = "".join(f"int f{i}() {{ }}\n" for i in range(30))
    found = shown_by(lambda: tarsia.load_inline(text))
    assert len(found) == 11 and str(found[-1].message) == "20 more warnings, which the library's .warnings has"


@pytest.mark.parametrize("pragma, flag", [("#pragma no_such_pragma", "-Wunknown-pragmas")])
@pytest.mark.parametrize("suffix", ["cc", "cu"])
def test_ignored_pragmas_warn(pragma, flag, suffix):
    text = f"void f(float* x, int n) {{\n{pragma}\nfor (int i = 0; i < n; ++i) x[i] = 1;\n}}"
    found = shown_by(lambda: tarsia.load_inline({f"p.{suffix}": text}))
    assert len(found) == 1 and str(found[0].message).startswith("p." + suffix + ":2: ") and f"[{flag}]" in str(found[0].message)


OPENMP_IN_DEVICE_CODE = {
    "kernel": "__global__ void k(float* x, int n) {\nPRAGMA\n for (int i = 0; i < n; ++i) x[i] = 1;\n}",
    "device": "__device__ void d(float* x) {\nPRAGMA\n for (int i = 0; i < 9; ++i) x[i] = 1;\n}\n__global__ void k(float* x) { d(x); }",
    "template": "template <class T> __global__ void k(T* x, int n) {\nPRAGMA\n for (int i = 0; i < n; ++i) x[i] = 1;\n}",
    "member": "struct S { __device__ static void f(float* x) {\nPRAGMA\n for (int i = 0; i < 9; ++i) x[i] = 1;\n} };\n"
              "__global__ void k(float* x) { S::f(x); }",
    "namespace": "namespace n { __global__ void k(float* x, int n) {\nPRAGMA\n for (int i = 0; i < n; ++i) x[i] = 1;\n} }",
}


@pytest.mark.parametrize("pragma", ["#pragma omp parallel for", "#pragma omp simd", '_Pragma("omp parallel for")'])
@pytest.mark.parametrize("where", OPENMP_IN_DEVICE_CODE)
def test_openmp_in_device_code_is_not_ignored_in_silence(where, pragma):
    text = OPENMP_IN_DEVICE_CODE[where].replace("PRAGMA", pragma)
    for compiler in ("auto", "clang"):
        found, = shown_by(lambda: tarsia.load_inline(text, arch="sm_90", device_compiler=compiler))
        assert found.message.diagnostic.line == 2, found.message
        assert "OpenMP's pragma is ignored in device code" in str(found.message) and "[-Wsource-uses-openmp]" in str(found.message)
        _warnings._shown.clear()


def test_openmp_of_the_host_beside_device_code_is_quiet():
    text = """
        __global__ void k(float* x) { x[0] = 1; }
        __host__ __device__ void both(float* x, int n) {
        #pragma omp simd
          for (int i = 0; i < n; ++i) x[i] = 1;
        }
        int threads() {
          int n = 0;
        #pragma omp parallel for reduction(+ : n)
          for (int i = 0; i < 9; ++i) n += 1;
          return n;
        }
    """
    assert shown_by(lambda: tarsia.load_inline(text, arch="sm_90")) == []
    text = OPENMP_IN_DEVICE_CODE["kernel"].replace("PRAGMA", "#pragma omp parallel for")
    assert shown_by(lambda: tarsia.load_inline(text, arch="sm_90", cflags=["-Wno-source-uses-openmp"])) == []


def test_a_cell_warns_of_its_own_openmp_in_device_code():
    session = tarsia.Session()
    cell = session.run(OPENMP_IN_DEVICE_CODE["kernel"].replace("PRAGMA", "#pragma omp parallel for")).raise_if_failed()
    assert [one.line for one in cell.diagnostics] == [2]
    assert session.run("__global__ void other(float* x) { x[0] = 2; }").raise_if_failed().diagnostics == []


IN_AN_INSTANCE = """
template <class T> __global__ void kk(T* x) {
  int never_set;
  x[0] = never_set;
}
"""


@pytest.mark.parametrize("compiler", ["auto", "clang"])
@pytest.mark.parametrize("compile", [lambda lib: lib.kk["float"], lambda lib: lib["kk"]["float32"], lambda lib: lib.kk["float"].ptx])
def test_an_instance_warns_like_a_plain_kernel(compile, compiler):
    plain = IN_AN_INSTANCE.replace("template <class T> ", "").replace("T*", "float*")
    wanted = shown_by(lambda: tarsia.load_inline(plain, arch="sm_90", device_compiler=compiler))
    assert len(wanted) == 1
    _warnings._shown.clear()
    lib = tarsia.load_inline(IN_AN_INSTANCE, arch="sm_90", device_compiler=compiler)
    before = lib.warnings
    found = shown_by(lambda: compile(lib))
    assert [str(one.message) for one in found] == [str(one.message) for one in wanted]
    assert found[0].message.diagnostic.line == 4 and found[0].filename == __file__
    assert found[0].message.diagnostic.source_line.strip() == "x[0] = never_set;"
    assert [one.line for one in lib.warnings if one.severity == "warning"] == [4] and before == []
    n = len(lib.warnings)
    assert shown_by(lambda: (lib.kk["float"], lib.kk["double"])) == []  # the same text at the same line
    assert len(lib.warnings) == n


def test_the_warnings_of_a_library_are_not_its_instances_again():
    lib = []
    assert len(shown_by(lambda: lib.append(tarsia.load_inline(NO_RETURN + "template <class T> __global__ void k(T* x) { x[0] = 1; }", arch="sm_90")))) == 1
    assert shown_by(lambda: lib[0].k["float"]) == [] and len(lib[0].warnings) == 1


def test_a_filter_refuses_an_instance():
    lib = tarsia.load_inline(IN_AN_INSTANCE, arch="sm_90")
    with warnings.catch_warnings():
        warnings.filterwarnings("error", category=tarsia.CompileWarning)
        for _ in range(2):
            with pytest.raises(tarsia.CompileWarning, match="never_set"):
                lib.kk["int"]
    assert "kk<int>" not in lib.kk.instances


def test_nvccs_pragmas_are_quiet():
    text = """
        #pragma nv_diagnostic push
        #pragma nv_diag_suppress 177
        #pragma nv_exec_check_disable
        #pragma hd_warning_disable
        void f(float* x, int n) {
        #pragma unroll 4
          for (int i = 0; i < n; ++i) x[i] = 1;
        }
        #pragma nv_diagnostic pop
    """
    assert shown_by(lambda: tarsia.load_inline({"quiet.cu": text})) == []
    assert shown_by(lambda: tarsia.load_inline({"quiet.cc": text})) == []


def test_an_expressions_own_text_warns():
    x = __import__("numpy").ones(3, "float32")
    clumsy = tarsia.elementwise("T x", "T y", "int k; if (k = 2) y = x; else y = 0", "clumsy_in_test")
    found = shown_by(lambda: clumsy(x))
    assert len(found) == 1 and str(found[0].message).startswith("clumsy_in_test: operation:1: ")
    assert "[-Wparentheses]" in str(found[0].message)


def test_what_a_script_prints(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent("""
        import tarsia
        for _ in range(2):
            tarsia.load_inline('''
                int run() { }
            ''')
    """))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stderr == (f"{script}:5: CompileWarning: source:2: non-void function does not return a value [-Wreturn-type]\n"
                           "  int run() { }\n")


def test_openacc_is_not_ignored_in_silence():
    with pytest.warns(tarsia.CompileWarning, match="unexpected '#pragma acc"):
        tarsia.load_inline("int openacc(int n) {\n#pragma acc parallel loop\nfor (int i = 0; i < 9; ++i) n += i;\nreturn n; }")


DEVICE_READS = """
#include <cuda_runtime.h>
struct Pair { int a, b; };
__device__ int number = 3; __device__ Pair pair; __constant__ float table[4]; __managed__ int shared_by_both; __constant__ const int known = 5;
__global__ void kernel(int* y) { y[0] = number + int(table[0]) + shared_by_both + known + pair.a; number = 2; }
int reads() { return number; }
float reads_an_element(int i) { return table[i]; }
void writes() { number = 4; }
void writes_a_member() { pair.a += 1; }
Pair copies() { return pair; }
template <class T> T instance() { return T(number); }
float instantiates() { return instance<float>(); }
"""
NO_DEVICE_READS = """
#include <cuda_runtime.h>
__device__ int number = 3; __constant__ float table[4]; __managed__ int shared_by_both; __constant__ const int known = 5;
__global__ void kernel(int* y) { y[0] = number + int(table[0]) + shared_by_both + known; }
int reads_what_both_have() { return shared_by_both + known; }
unsigned long measures() { return sizeof(number + 1) + sizeof table; }
void copies(int value) { cudaMemcpyToSymbol(number, &value, sizeof value); void* place; cudaGetSymbolAddress(&place, table); }
__host__ __device__ int both() { return number; }
__device__ int of_the_device() { return number++; }
"""


def test_host_code_that_reads_or_writes_variables_of_the_device():
    found = shown_by(lambda: tarsia.load_inline(DEVICE_READS, arch="sm_90"))
    assert [(one.message.diagnostic.line, one.message.diagnostic.message.split(", a variable")[0]) for one in found] == [
        (6, "host code reads 'number'"), (7, "host code reads 'table'"), (8, "host code writes to 'number'"),
        (9, "host code writes to 'pair'"), (10, "host code reads 'pair'"), (11, "host code reads 'number'")]
    assert "cudaMemcpyFromSymbol" in str(found[0].message) and "cudaMemcpyToSymbol" in str(found[2].message)
    assert shown_by(lambda: tarsia.load_inline(NO_DEVICE_READS, arch="sm_90")) == []


def test_a_cell_that_reads_a_variable_of_the_device():
    session = tarsia.Session()
    assert session.run("__device__ int number = 3;").raise_if_failed().diagnostics == []
    for text, n in (("number", 1), ("int f() { return number; }", 1), ("1 + 1", 0)):
        cell = session.run(text).raise_if_failed()
        assert len([one for one in cell.diagnostics if "host code reads 'number'" in one.message]) == n, text


def test_folders_that_do_not_exist_warn(tmp_path):
    (tmp_path / "file").write_text("")
    source = "int with_folders() { return 3; }"
    for options, words in [({"include_dirs": [tmp_path / "none"]}, f"include_dirs: '{tmp_path}/none' is no folder: it does not exist"),
                           ({"include_dirs": [tmp_path, tmp_path / "file"]}, f"include_dirs: '{tmp_path}/file' is no folder"),
                           ({"library_dirs": [tmp_path / "none"]}, f"library_dirs: '{tmp_path}/none' is no folder: it does not exist"),
                           ({"cflags": [f"-I{tmp_path}/none2"]}, f"include_dirs: '{tmp_path}/none2' is no folder: it does not exist")]:
        found, = shown_by(lambda: tarsia.load_inline(source, **options))
        assert str(found.message) == words + " [-Wmissing-include-dirs]" and found.filename == __file__
    assert shown_by(lambda: tarsia.load_inline(source, include_dirs=[tmp_path / "none3"], cflags=["-Wno-missing-include-dirs"])) == []


def test_a_folder_that_appears_warns_no_more(tmp_path, monkeypatch):
    """The module is the same, and comes from the cache."""
    source = "int with_a_folder() { return 4; }"
    assert len(shown_by(lambda: tarsia.load_inline(source, include_dirs=[tmp_path / "later"]))) == 1
    monkeypatch.setattr(_warnings, "_shown", set())
    (tmp_path / "later").mkdir()
    assert shown_by(lambda: tarsia.load_inline(source, include_dirs=[tmp_path / "later"])) == []


def test_a_failed_compile_names_missing_folders(tmp_path):
    with pytest.raises(tarsia.CompileError, match=f"(?s)nothing_here.h.*'{tmp_path}/none' is no folder"):
        tarsia.load_inline('#include "nothing_here.h"\n', include_dirs=[tmp_path / "none"])


@pytest.mark.parametrize("isolated", [False, True])
def test_cells_warn_as_sources_do(isolated):
    session = tarsia.Session(isolated=isolated)
    found = shown_by(lambda: session.run("int run11() { }"))
    assert [str(one.message) for one in found] == ["cell 1:1: non-void function does not return a value [-Wreturn-type]"]
    assert (found[0].filename, found[0].message.diagnostic.line, found[0].message.diagnostic.source_line) == (__file__, 1, "int run11() { }")
    assert open(__file__).read().splitlines()[found[0].lineno - 1].lstrip().startswith("found = shown_by(lambda: session.run(")
    assert shown_by(lambda: session.run("int run11() { }")) == [], "once"
    assert shown_by(lambda: tarsia.Session().run(b"int run11() { }")) == []
    assert len(shown_by(lambda: session.run("int run12() { }"))) == 1
    assert shown_by(lambda: session.run("int run13() { return 1; }")) == []
    cell = []
    assert shown_by(lambda: cell.append(session.run("int run14() { }\nnowhere"))) == [], "they are told with the error"
    assert not cell[0].ok and {one.severity for one in cell[0].diagnostics} == {"error", "warning"}


def test_a_filter_that_makes_errors_of_warnings_raises_what_a_cell_warns_of():
    session = tarsia.Session()
    with warnings.catch_warnings():
        warnings.filterwarnings("error", category=tarsia.CompileWarning)
        for _ in range(2):
            with pytest.raises(tarsia.CompileWarning, match="Wreturn-type"):
                session.run("int has_run() { }")
    assert session.run("int (*p)() = has_run; p != nullptr").value == "true", "the cell has run"
