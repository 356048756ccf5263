"""Sources in CUDA that begin with the same includes share the parse of these while the worker lives."""

import os
import pathlib
import signal
import subprocess
import sys

import pytest

import tarsia

# More than a small header (docs/preludes.md).
HEAVY = "#pragma once\n#include <vector>\n" + "".join(
    f"inline int heavy{i}(int a, int b) {{ return (a * {i} + b) ^ (a >> {i % 31}) ^ (b << {i % 7}); }}\n" for i in range(1000))
SOURCE = """#include <cuda_runtime.h>
#include "heavy.h"
__global__ void scale(float* x) { x[threadIdx.x] *= FACTOR; }
int answer(int x) { return heavy3(x, ADDED); }
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TARSIA_HOLD_AFTER_MS", "0")
    write(tmp_path / "heavy.h", HEAVY)
    return tmp_path


def write(path, text):
    """No file elsewhere is the same, so that what other runs compiled does not count."""
    path.write_text(f"{text}// {path}\n")


def compile_source(folder, text=SOURCE, defines=None, **options):
    defines = {"FACTOR": 2} if defines is None else defines
    return tarsia.load_inline(text, include_dirs=[str(folder)], defines=defines, **options)


def is_held():
    return tarsia.stats()["last_compile"][0][0] == "prelude held"


def edited(added, more=""):
    return SOURCE.replace("ADDED", str(added)) + more


def expected(x, b):
    return (x * 3 + b) ^ (x >> 3) ^ (b << 3)


def test_an_edit_below_the_includes_takes_their_parse(folder):
    assert compile_source(folder, edited(1)).answer(5) == expected(5, 1)
    assert not is_held()
    for added in (2, 3):
        lib = compile_source(folder, edited(added))
        assert is_held()
        assert lib.answer(5) == expected(5, added)
        assert list(lib.kernels) == ["scale"]
    # What only the first text had is gone, what only this one has is there.
    lib = compile_source(folder, edited(4).replace("scale", "other") + "int more() { return 7; }\n")
    assert is_held()
    assert lib.more() == 7
    assert list(lib.kernels) == ["other"]


def test_a_variable_that_a_header_declares_is_defined_below_or_by_its_declaration(folder):
    write(folder / "heavy.h", HEAVY + "extern __device__ float later[2], never[2];\n")
    text = edited(1, "__device__ float later[2];\nint set(const float* x) { return cudaMemcpyToSymbol(later, x, 8) + "
                     "cudaMemcpyToSymbol(never, x, 8); }\n").replace("FACTOR", "later[1] + never[1]")
    for i in range(3):
        lib = compile_source(folder, text + f"int number() {{ return {i}; }}\n")
        assert is_held() == (i > 0)
        assert sorted(lib.globals) == ["later", "never"] and lib.number() == i
    program = "import sys, tarsia; print(sorted(tarsia.load_inline(sys.argv[1], include_dirs=[sys.argv[2]]).globals))"
    done = subprocess.run([sys.executable, "-c", program, text, str(folder)], capture_output=True, text=True)
    assert done.stdout == "['later', 'never']\n", done.stderr


def test_the_module_is_the_one_that_a_new_worker_makes(folder, tmp_path):
    program = """
import sys, tarsia
for text in sys.argv[3:]:
    tarsia.compile(text, sys.argv[1], include_dirs=[sys.argv[2]], defines={"FACTOR": 2})
print(tarsia.stats()["last_compile"][0][0] == "prelude held")
"""
    made = []
    for texts in ([edited(8)], [edited(7), edited(8)]):
        output = tmp_path / f"made{len(texts)}.so"
        environment = os.environ | {"TARSIA_CACHE_DIR": str(tmp_path / f"cache{len(texts)}")}
        done = subprocess.run([sys.executable, "-c", program, str(output), str(folder), *texts], env=environment,
                              capture_output=True, text=True, check=True)
        assert done.stdout == f"{len(texts) == 2}\n"
        made.append(output.read_bytes())
    assert made[0] == made[1]


NAMES = """const char* host_file() { return __FILE__; }
__device__ const char* file_of_device() { return __FILE__; }
__global__ void tell(char* to) { *to = *file_of_device(); }
int thrower(int x) { if (x > 0) throw x; return x; }
"""


def test_texts_of_other_names_share_it(folder, tmp_path):
    """Byte for byte, the module is the one that a new worker makes."""
    program = """
import sys, tarsia
for name in sys.argv[4:]:
    tarsia.compile({name: sys.argv[3]}, sys.argv[1], include_dirs=[sys.argv[2]], defines={"FACTOR": 2})
    print(tarsia.stats()["last_compile"][0][0] == "prelude held", tarsia.load(sys.argv[1]).host_file())
"""
    made = []
    for names in (["second.cu"], ["first.cu", "second.cu"]):
        output = tmp_path / f"made{len(names)}.so"
        environment = os.environ | {"TARSIA_CACHE_DIR": str(tmp_path / f"cache{len(names)}")}
        done = subprocess.run([sys.executable, "-c", program, str(output), str(folder), edited(8, NAMES), *names], env=environment,
                              capture_output=True, text=True, check=True)
        assert done.stdout.splitlines() == [f"{i == 1} {name}" for i, name in enumerate(names)]
        made.append(output.read_bytes())
    assert made[0] == made[1]


def test_errors_name_the_text_at_hand(folder):
    compile_source(folder, {"first.cu": edited(1)})
    with pytest.raises(tarsia.CompileError) as raised:
        compile_source(folder, {"second.cu": edited(2) + "int wrong() { return undeclared; }\n"})
    (error,) = [one for one in raised.value.diagnostics if one.severity == "error"]
    assert (error.file, error.line) == ("second.cu", 5)
    # A text that ends too soon is told at its own end.
    with pytest.raises(tarsia.CompileError) as raised:
        compile_source(folder, {"third.cu": edited(3).rstrip()[:-1]})
    assert {(one.file, one.line) for one in raised.value.diagnostics if one.severity == "error"} == {("third.cu", 4)}
    # The first one is no file of this source.
    with pytest.raises(tarsia.CompileError, match="'first.cu' file not found"):
        compile_source(folder, {"second.cu": edited(3) + '#include "first.cu"\n'})


def test_headers_that_name_the_main_file_are_read_each_time(folder):
    write(folder / "heavy.h", HEAVY + "inline const char* base() { return __BASE_FILE__; }\n")
    for name in ("first.cu", "second.cu"):
        lib = compile_source(folder, {name: edited(1) + "const char* main_file() { return base(); }\n"})
        assert not is_held()
        assert lib.main_file() == name


def test_other_includes_options_and_macros_have_a_parse_of_their_own(folder):
    compile_source(folder, edited(1))
    compile_source(folder, "#define BEFORE 1\n" + edited(2))
    assert not is_held()
    compile_source(folder, edited(3), {"FACTOR": 3})
    assert not is_held()
    compile_source(folder, edited(4), opt=1)
    assert not is_held()


def test_a_header_that_changes_is_read_again(folder):
    compile_source(folder, edited(1))
    write(folder / "heavy.h", HEAVY + "#define ADDED 100\n")
    assert compile_source(folder, SOURCE).answer(1) == expected(1, 100)
    assert not is_held()
    write(folder / "heavy.h", HEAVY + "#define ADDED 200\n")
    assert compile_source(folder, SOURCE + "\n").answer(1) == expected(1, 200)
    assert not is_held()
    assert compile_source(folder, SOURCE + "\n\n").answer(1) == expected(1, 200)
    assert is_held()


def test_a_header_that_appears_before_the_one_that_was_read_counts(folder, tmp_path_factory):
    first = tmp_path_factory.mktemp("first")
    include_dirs = [str(first), str(folder)]
    tarsia.load_inline(edited(1), include_dirs=include_dirs, defines={"FACTOR": 2})
    write(first / "heavy.h", "inline int heavy3(int, int b) { return b; }\n")
    lib = tarsia.load_inline(edited(2), include_dirs=include_dirs, defines={"FACTOR": 2})
    assert lib.answer(5) == 2


def test_errors_name_their_place_in_the_text_at_hand(folder):
    compile_source(folder, edited(1))
    wrong = edited(2) + "\n\nint wrong() { return undeclared; }\n"
    with pytest.raises(tarsia.CompileError) as raised:
        compile_source(folder, wrong)
    (error,) = [one for one in raised.value.diagnostics if one.severity == "error"]
    assert (error.line, error.column) == (7, 22)
    assert "return undeclared;" in str(raised.value)
    # A text that ends too soon is told at its own end.
    with pytest.raises(tarsia.CompileError) as raised:
        compile_source(folder, edited(3).rstrip()[:-1])
    assert {one.line for one in raised.value.diagnostics if one.severity == "error"} == {4}
    assert compile_source(folder, edited(4)).answer(5) == expected(5, 4)
    assert is_held()


def test_a_much_longer_text_is_compiled_too(folder):
    compile_source(folder, edited(1))
    many = "".join(f"int own{i}(int x) {{ return x + {i}; }}\n" for i in range(3000))
    lib = compile_source(folder, edited(2) + many)
    assert not is_held()
    assert lib.own2999(1) == 3000


def test_a_crash_behind_the_includes_is_told_and_the_next_source_compiles(folder):
    compile_source(folder, edited(1))
    with pytest.raises(tarsia.CompilerCrashed):
        compile_source(folder, edited(2, "#pragma clang __debug crash\n"))
    assert compile_source(folder, edited(3)).answer(5) == expected(5, 3)


def children_of(process):
    tasks = pathlib.Path(f"/proc/{process}/task")
    return [int(child) for task in tasks.iterdir() for child in (task / "children").read_text().split()]


def held_parses():
    """Processes whose parents are workers of this process."""
    return [held for worker in children_of(os.getpid()) for held in children_of(worker)]


def test_a_held_parse_that_is_killed_is_no_loss(folder):
    compile_source(folder, edited(1))
    for process in held_parses():
        os.kill(process, signal.SIGKILL)
    assert compile_source(folder, edited(2)).answer(5) == expected(5, 2)
    assert compile_source(folder, edited(3)).answer(5) == expected(5, 3)


def test_a_compile_that_takes_too_long_is_stopped_with_all_its_processes(folder):
    compile_source(folder, edited(1))
    before = held_parses()
    assert before
    endless = "constexpr long spin() { long x = 0; for (long i = 0; i < 900000000; ++i) x += i; return x; }\n"
    with pytest.raises(tarsia.CompileTimeout):
        compile_source(folder, edited(2, endless + "static_assert(spin() > 0);\n"), timeout=2)
    assert compile_source(folder, edited(3)).answer(5) == expected(5, 3)
    assert not set(before) & {process for process in before if pathlib.Path(f"/proc/{process}").exists()
                              and "Z" not in pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1]}


def test_a_header_may_end_amid_a_declaration(folder):
    (folder / "begin.h").write_text('#include "heavy.h"\ninline int\n')
    text = '#include <cuda_runtime.h>\n#include "begin.h"\nours(int x) { return heavy3(x, %d); }\nint answer(int x) { return ours(x); }\n'
    for added in (1, 2):
        assert compile_source(folder, text % added).answer(5) == expected(5, added)


def test_headers_of_the_request_are_part_of_what_is_held(folder):
    text = '#include "heavy.h"\n#include "own.h"\n__global__ void k() {}\nint answer(int x) { return own(x) + %d; }\n'
    for value, added, held in ((1, 1, False), (1, 2, True), (2, 3, False)):
        lib = compile_source(folder, text % added, headers={"own.h": f"inline int own(int x) {{ return x + {value}; }}\n"})
        assert lib.answer(5) == 5 + value + added
        assert is_held() == held


def test_headers_that_name_the_time_are_read_each_time(folder):
    (folder / "now.h").write_text('#include "heavy.h"\ninline const char* when() { return __TIME__; }\n')
    text = '#include "now.h"\n__global__ void k() {}\nint answer(int x) { return heavy3(x, %d); }\n'
    for added in (1, 2):
        assert compile_source(folder, text % added).answer(5) == expected(5, added)
        assert not is_held()


def test_headers_that_need_openmp_are_held_as_they_are_read_with_it(folder):
    (folder / "sum.h").write_text("""#include "heavy.h"
inline long sum(int n) {
  long s = 0;
#pragma omp parallel for reduction(+ : s)
  for (int i = 0; i < n; ++i) s += i;
  return s;
}
""")
    text = '#include "sum.h"\n__global__ void k() {}\nlong answer(int n) { return sum(n) + %d; }\n'
    for added, held in ((1, False), (2, True)):
        assert compile_source(folder, text % added).answer(10) == 45 + added
        assert is_held() == held


def test_code_that_runs_at_load_runs_once_for_each_library(folder):
    text = edited(1) + "static int counted = [] { return heavy3(1, 2); }();\nint count() { return counted; }\n"
    for more in ("", "\n"):
        assert compile_source(folder, text + more).count() == expected(1, 2)


def test_the_environment_says_which_includes_are_held(folder, monkeypatch):
    monkeypatch.setenv("TARSIA_HOLD_AFTER_MS", "600000")
    for added in (1, 2):
        assert compile_source(folder, edited(added)).answer(5) == expected(5, added)
        assert not is_held()
    monkeypatch.setenv("TARSIA_HOLD_AFTER_MS", "soon")
    with pytest.raises(tarsia.ArgumentValueError, match="TARSIA_HOLD_AFTER_MS is 'soon', which is no time: set it to a whole "
                                                        "number of milliseconds"):
        compile_source(folder, edited(3))
