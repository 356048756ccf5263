"""What a process precompiled of the includes with which a source in CUDA begins, the next process takes from the cache."""

import json
import os
import subprocess
import sys

import pytest

# More than a small header (docs/preludes.md).
HEAVY = (
    "#pragma once\n#include <vector>\n#define CHECK(x) if (!(x)) throw 1\nconstexpr int HEAVY_SIZE = 3;\n"
    "inline int only_host(int a) { return a; }\n"
    + "".join(f"inline int heavy{i}(int a, int b) {{ return (a * {i} + b) ^ (a >> {i % 31}); }}\n" for i in range(1000))
)
SOURCE = """#include <cuda_runtime.h>
#define ABOVE 2
#include "heavy.h"
#define CHECK_INPUT(x) CHECK((x) >= 0)
__global__ void scale(float* x, int n) { int i = threadIdx.x; if (i < n) x[i] *= ABOVE; }
int answer(int x) { CHECK_INPUT(x); return heavy3(x, ADDED); }
"""
PROGRAM = """
import json, sys, tarsia
try:
    lib = tarsia.load_inline(sys.argv[2], include_dirs=[sys.argv[1]])
    print(json.dumps([tarsia.stats()["last_compile"][0][0], lib.answer(5), list(lib.kernels)]))
except tarsia.CompileError as error:
    print(json.dumps(str(error)))
"""
KEPT = "leading includes kept"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TARSIA_HOLD_AFTER_MS", "0")
    (tmp_path / "heavy.h").write_text(HEAVY)
    return tmp_path


def in_new_process(folder, added, text=SOURCE, program=PROGRAM):
    environment = os.environ | {"TARSIA_CACHE_DIR": str(folder / "cache")}
    done = subprocess.run([sys.executable, "-c", program, str(folder), text.replace("ADDED", str(added))], env=environment,
                          capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def expected(x, b):
    return (x * 3 + b) ^ (x >> 3)


def test_a_new_process_does_not_read_them_again(folder):
    origin, answer, _ = in_new_process(folder, 1)
    assert origin != KEPT and answer == expected(5, 1)
    assert in_new_process(folder, 2) == [KEPT, expected(5, 2), ["scale"]]
    renamed = SOURCE.replace("scale", "other")
    assert in_new_process(folder, 3, renamed) == [KEPT, expected(5, 3), ["other"]]


NAMED = """
import json, sys, tarsia
text = sys.argv[2] + ("const char* file() { return __FILE__ ABOVE_FILE; }\\n"
                      "__global__ void tell(const char** to) { *to = __FILE__ ABOVE_FILE; }\\n")
lib = tarsia.load_inline({NAME: text}, include_dirs=[sys.argv[1]])
print(json.dumps([tarsia.stats()["last_compile"][0][0], lib.answer(5), lib.file()]))
"""


def test_a_text_of_another_name_takes_them(folder):
    text = SOURCE.replace("#define ABOVE 2", "#define ABOVE 2\n#define ABOVE_FILE __FILE__")
    for name, origin in (("first.cu", None), ("second.cu", KEPT)):
        found, answer, file = in_new_process(folder, len(name), text, NAMED.replace("NAME", repr(name)))
        assert (found == KEPT) == (origin == KEPT)
        assert (answer, file) == (expected(5, len(name)), name + name)
    # What is wrong within a macro above them is told by the name at hand.
    wrong = text.replace("#define ABOVE 2", "#define ABOVE undeclared_above").replace("x, ADDED", "x, ADDED + ABOVE")
    for name in ("first.cu", "second.cu"):
        program = PROGRAM.replace("sys.argv[2]", f"{{{name!r}: sys.argv[2]}}")
        message = in_new_process(folder, 1, wrong, program)
        assert "undeclared_above" in message
        assert name in message
        assert ("first.cu" if name == "second.cu" else "second.cu") not in message


def test_macros_of_options_count_if_a_header_asks_for_them(folder):
    (folder / "heavy.h").write_text(HEAVY + "#ifndef SCALE\n#define SCALE 5\n#endif\ninline int scaled(int x) { return SCALE * x; }\n")
    text = SOURCE.replace("heavy3(x, ADDED)", "scaled(x) + ADDED + NAMED").replace("*= ABOVE", "*= ABOVE + NAMED")

    def with_defines(**defines):
        program = PROGRAM.replace("include_dirs=[sys.argv[1]]", f"include_dirs=[sys.argv[1]], defines={defines}")
        origin, answer, _ = in_new_process(folder, 1, text, program)
        return origin == KEPT, answer

    assert with_defines(NAMED=2) == (False, 5 * 5 + 1 + 2)
    assert with_defines(NAMED=3) == (True, 5 * 5 + 1 + 3)
    assert with_defines(NAMED=3, SCALE=7) == (False, 7 * 5 + 1 + 3)
    assert with_defines(NAMED=4, SCALE=7) == (True, 7 * 5 + 1 + 4)
    assert with_defines(NAMED=5, OTHER=6) == (True, 5 * 5 + 1 + 5)


@pytest.mark.parametrize("first", ["ABOVE", "HEAVY_SIZE"])
def test_kernels_may_need_something_of_them(folder, first):
    in_new_process(folder, 1, SOURCE.replace("*= ABOVE", f"*= {first}"))
    needs = SOURCE.replace("*= ABOVE", "*= HEAVY_SIZE")
    assert in_new_process(folder, 2, needs) == [KEPT, expected(5, 2), ["scale"]]


def test_a_text_that_is_parsed_twice_reads_them_once(folder):
    # Clang takes the constant under C++23's rules alone, so it parses this text once more.
    twice = SOURCE + "struct S { static constexpr int k = 4; };\nint of(const S& s) { constexpr int k = s.k; return k; }\n"
    steps = PROGRAM.replace('["last_compile"][0][0]', '["last_compile"]')
    for added in (1, 2):
        timings, answer, kernels = in_new_process(folder, added, twice, steps)
        assert KEPT in [step for step, _ in timings] and answer == expected(5, added) and kernels == ["scale"]


def test_it_reads_them_if_one_of_them_has_changed(folder):
    in_new_process(folder, 1)
    (folder / "heavy.h").write_text(HEAVY.replace("(a * 3 + b)", "(a * 4 + b)"))
    origin, answer, _ = in_new_process(folder, 2)
    assert origin != KEPT and answer == (5 * 4 + 2) ^ (5 >> 3)


def test_other_macros_above_them_count(folder):
    in_new_process(folder, 1)
    assert in_new_process(folder, 2, SOURCE.replace("ABOVE 2", "ABOVE 3"))[0] != KEPT


@pytest.mark.parametrize("mistake", ["x[i] *= misspelt", "x[i] *= only_host(2)", "x[i] *= ;"])
def test_errors_in_kernels_are_the_same(folder, mistake):
    wrong = SOURCE.replace("x[i] *= ABOVE", mistake)
    whole = in_new_process(folder, 1, wrong)
    in_new_process(folder, 1)
    assert in_new_process(folder, 1, wrong) == whole


def test_what_a_precompiled_form_does_not_say_is_the_same(folder):
    """Numbers of __COUNTER__, the order in which templates evaluate arguments, headers that are included again."""
    heavy = HEAVY + (
        "enum { FIRST = __COUNTER__, SECOND = __COUNTER__ };\ninline int digits(int a, int b) { return a * 10 + b; }\n"
        "template <class F> int both(F f) { return digits(f(), f()); }\nstatic thread_local int of_the_thread;\n")
    (folder / "heavy.h").write_text(heavy)
    text = SOURCE.replace('#define CHECK_INPUT', '#include "./heavy.h"\n#define CHECK_INPUT').replace(
        "return heavy3(x, ADDED);", "int n = ADDED; return both([&] { return ++n; }) * 100 + __COUNTER__ - SECOND;")
    whole = in_new_process(folder, 0, text)
    assert whole[1] == 2101 and whole[2] == ["scale"]
    in_new_process(folder, 1, text)
    again = in_new_process(folder, 0, text + "\n")
    assert again == [KEPT, *whole[1:]]


def test_headers_with_variables_of_the_device_are_read(folder):
    (folder / "heavy.h").write_text(HEAVY + "__device__ int variable_of_the_header;\n")
    in_new_process(folder, 1)
    assert in_new_process(folder, 2)[0] != KEPT


KERNELS = """
#include <cuda_fp16.h>
namespace deep { __device__ int twice(int x) { return 2 * x; } }
using namespace deep;
__global__ void plain(int* x) { *x = twice(HEAVY_SIZE); }
static __global__ void hidden(int* x) { *x = 2; }
namespace { __global__ void unnamed(int* x) { *x = 3; } }
namespace of { template <class T, int N = 4> __global__ void pattern(T* x) { for (int i = 0; i < N; ++i) x[i] = T(i); } }
template <class T> void run_pattern(T* x) { of::pattern<T><<<1, 1>>>(x); }
inline void run_all(int* x) { plain<<<1, 1>>>(x); hidden<<<1, 1>>>(x); unnamed<<<1, 1>>>(x); run_pattern(x); }
"""


def test_headers_with_kernels_are_precompiled(folder):
    (folder / "heavy.h").write_text(HEAVY + KERNELS)
    text = SOURCE + "int more(int n) { if (n > 9) { run_all(nullptr); run_pattern<float>(nullptr); } return ADDED; }\n"
    program = PROGRAM.replace("list(lib.kernels)", "sorted(lib.kernels), sorted(lib.templates), lib.more(1)")
    whole = in_new_process(folder, 0, text, program)
    assert whole[0] != KEPT
    assert {"plain", "hidden", "unnamed", "scale", "of::pattern<int, 4>", "of::pattern<float, 4>"} == set(whole[2])
    assert "of::pattern" in whole[3]
    in_new_process(folder, 1, text, program)
    again = in_new_process(folder, 0, text + "\n", program)
    assert again == [KEPT, *whole[1:]]
    # One more instance, by the text that stands on them.
    more = text + "void third(double* x) { if (x) of::pattern<double, 7><<<1, 1>>>(x); }\n"
    origin, _, kernels, *_ = in_new_process(folder, 0, more, program)
    assert origin == KEPT and set(kernels) == {*whole[2], "of::pattern<double, 7>"}


def test_texts_beside_the_source_are_not_precompiled(folder):
    (folder / "heavy.h").write_text(HEAVY + '#if __has_include("config.h")\n#include "config.h"\n#endif\n')
    program = PROGRAM.replace("include_dirs=[sys.argv[1]]", "include_dirs=[sys.argv[1]], headers=json.loads(sys.argv[3])")
    text = SOURCE.replace("heavy3(x, ADDED)", "CFG")
    for value in (1, 2):
        done = subprocess.run([sys.executable, "-c", program, str(folder), text, json.dumps({"config.h": f"#define CFG {value}"})],
                              env=os.environ | {"TARSIA_CACHE_DIR": str(folder / "cache")}, capture_output=True, text=True, check=True)
        assert json.loads(done.stdout)[1] == value
