"""debug="undefined", "address" and "thread": host code that checks itself while it runs."""

import os
import pathlib
import re
import subprocess
import sys
import textwrap

import numpy as np
import places
import pytest

import tarsia

UNDEFINED = r"""
#include <cstdint>
int add(int a, int b) {
  return a + b;
}
int shift(int a, int n) { return a << n; }
int divide(int a, int b) { return b == -1 ? a / b : 0; }
int at(int i) {
  int table[4] = {1, 2, 3, 4};
  volatile int* p = table;
  return i < 100 ? table[i & 7] + (p[0] - 1) : 0;
}
int narrow(double x) { return static_cast<int>(x); }
int misaligned(const int8_t* bytes) { return *reinterpret_cast<const int*>(bytes + 1); }
int negate(int a) { return -a; }
enum Colour { red, green };
int colour(int number) { Colour c; __builtin_memcpy(&c, &number, 4); return c; }
long count(int n) { int table[n]; table[0] = n; return table[0]; }
struct Point { int x, y; };
int member(int64_t where) { auto* p = reinterpret_cast<Point*>(where); return where ? p->y : 0; }
unsigned wraps(unsigned a) { return a + 1u; }
int fine(const float* x, long n) { int sum = 0; for (long i = 0; i < n; ++i) sum += x[i] > 0; return sum; }
"""


@pytest.fixture(scope="module")
def undefined():
    return tarsia.load_inline({"maths.cc": UNDEFINED}, debug="undefined", cflags=["-Wno-vla-cxx-extension"])


@pytest.mark.parametrize("call, told", [
    (("add", 2147483647, 1), r"add\(\): undefined behaviour: maths\.cc:4:\d+: signed integer overflow: 2147483647 \+ 1 cannot be "
                             r"represented in type 'int'$"),
    (("shift", 1, 40), r"shift exponent 40 is too large for 32-bit type 'int'"),
    (("shift", 1, -1), r"shift exponent -1 is negative"),
    (("divide", -2147483648, -1), r"division of -2147483648 by -1 cannot be represented in type 'int'"),
    (("at", 6), r"index 6 out of bounds for type 'int\[4\]'"),
    (("narrow", 1e20), r"1e\+20 is outside the range of representable values of type 'int'"),
    (("misaligned", np.zeros(64, np.int8)), r"load of misaligned address 0x\w+ for type 'const int', which requires 4 byte alignment"),
    (("negate", -2147483648), r"negation of -2147483648 cannot be represented in type 'int'"),
    (("count", 0), r"variable length array bound evaluates to non-positive value 0"),
], ids=lambda value: value[0] if isinstance(value, tuple) else "")
def test_each_kind_is_an_error_of_the_call(undefined, call, told):
    name, *arguments = call
    with pytest.raises(tarsia.UndefinedBehaviour, match=told):
        getattr(undefined, name)(*arguments)


def test_what_is_defined_goes_through(undefined):
    assert undefined.add(1, 2) == 3 and undefined.wraps(4294967295) == 0
    assert undefined.fine(np.ones(5, np.float32), 5) == 5
    with pytest.raises(tarsia.UndefinedBehaviour):
        undefined.add(2147483647, 1)
    assert undefined.add(1, 2) == 3  # it is told once


HERE = re.escape(__file__)


def line_of(piece):
    """Where a source of this file has it first; a literal is known by the lines of its file."""
    return pathlib.Path(__file__).read_text().split(piece)[0].count("\n") + 1


def test_several_findings_of_one_call_are_lines():
    lib = tarsia.load_inline("""
int twice(int a, int b) {
  int c = a + b;
  return c - (1 << b);
}
int often(int n) { int sum = 2147483647; for (int i = 1; i <= n; ++i) { sum = 2147483647; sum += i; } return sum; }
""", debug="undefined", opt=0)
    with pytest.raises(tarsia.UndefinedBehaviour) as caught:
        lib.twice(2147483647, 33)
    first = line_of("int c = a + b;")
    assert re.findall(HERE + r":(\d+):\d+: (\w+)", str(caught.value)) == [(str(first), "signed"), (str(first + 1), "shift")], caught.value
    with pytest.raises(tarsia.UndefinedBehaviour, match=r"\(5 times\)$"):
        lib.often(5)


def test_an_op_tells_too():
    lib = tarsia.load_inline("""
#include <tarsia/op.h>
static void run(tarsia::Context& c) {
  const int* x = c.input(0).data<const int>();
  int* y = c.output(0).data<int>();
  for (int64_t i = 0; i < c.input(0).numel(); ++i) y[i] = x[i] + 1;
}
TARSIA_OP(ub_plus_one).input("x").output("y").forward("cpu", run);
""", debug="undefined")
    assert lib is not None
    op = tarsia.op("ub_plus_one")
    assert op(np.array([1], np.int32)).tolist() == [2]
    with pytest.raises(tarsia.UndefinedBehaviour, match=rf"op 'ub_plus_one': undefined behaviour: {HERE}:{line_of('y[i] = x[i] + 1')}:\d+: signed integer overflow"):
        op(np.array([2147483647], np.int32))


def test_static_initialisers_tell_when_the_library_is_loaded():
    where = rf"{HERE}:{line_of('int sum = ' 'large() + 1;')}"
    with pytest.raises(tarsia.UndefinedBehaviour, match=rf"while it was loaded: undefined behaviour: {where}:\d+: signed integer overflow"):
        tarsia.load_inline("""int large() { volatile int a = 2147483647; return a; }
int sum = large() + 1;
int f() { return sum; }""", debug="undefined")


def test_results_of_a_call_that_fails_are_given_back():
    lib = tarsia.load_inline("""
#include <string>
#include <vector>
std::vector<std::string> make(int a) { return {std::to_string(a + 1)}; }
""", debug="undefined")
    assert lib.make(1) == ["2"]
    with pytest.raises(tarsia.UndefinedBehaviour):
        lib.make(2147483647)


def run(script, tmp_path, *arguments, launcher=(), timeout=300, **environment):
    path = tmp_path / "script.py"
    path.write_text(textwrap.dedent(script))
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(places.PACKAGE.parent), os.environ.get("PYTHONPATH", "")]), **environment}
    return subprocess.run([sys.executable, *launcher, str(path), *arguments], capture_output=True, text=True, env=env, timeout=timeout)


def test_what_the_code_throws_after_a_finding_is_told_as_well():
    lib = tarsia.load_inline("""
#include <stdexcept>
int f(int a) {
  if (a + 1 > 5) throw std::out_of_range("too far");
  if (a > 0) throw std::out_of_range("overflowed");
  return 0;
}
""", debug="undefined", opt=0)
    with pytest.raises(tarsia.OpIndexError, match="^too far"):
        lib.f(7)
    where = rf"{HERE}:{line_of('if (a + 1 > 5)')}"
    with pytest.raises(tarsia.UndefinedBehaviour, match=where + r":\d+: signed integer overflow.*\nthe code then threw: overflowed"):
        lib.f(2147483647)


def test_a_crash_says_what_was_found_before(tmp_path):
    done = run("""
        import tarsia
        lib = tarsia.load_inline({"c.cc": "struct P { int x, y; };\\nint f(long a) { return reinterpret_cast<P*>(a)->y; }"}, debug="undefined")
        lib.f(0)
    """, tmp_path)
    assert done.returncode == -11
    assert re.search(r"undefined behaviour before: c\.cc:2:\d+: member access within null pointer of type 'P'", done.stderr), done.stderr


def test_what_has_no_end_is_said_before_the_process_dies(tmp_path):
    done = run("""
        import tarsia
        lib = tarsia.load_inline({"c.cc": "int f(int a) { if (a) return 1; }"}, debug="undefined")
        lib.f(0)
    """, tmp_path)
    assert done.returncode == -6
    assert re.search(r"undefined behaviour: c\.cc:1:\d+: execution reached the end of a value-returning function", done.stderr), done.stderr


ADDRESS = """
    import sys
    import numpy as np
    import tarsia
    lib = tarsia.load_inline({"heap.cc": '''
    #include <vector>
    float last(int n, int i) {
      std::vector<float> v(n);
      const float* p = v.data();
      return p[i];
    }
    int stack(int i) { int table[4] = {1, 2, 3, 4}; int* volatile p = table; return p[i]; }
    '''}, debug="address")
    print(lib.last(4, 3), lib.stack(3), flush=True)
    getattr(lib, sys.argv[1])(*map(int, sys.argv[2:]))
    print("not reached")
"""


@pytest.mark.parametrize("call, told, function, line", [
    (("last", "4", "4"), "heap-buffer-overflow", "last", 6), (("stack", "4"), "stack-buffer-overflow", "stack", 8)])
def test_address_sanitizer_finds_it_in_a_script(tmp_path, call, told, function, line):
    done = run(ADDRESS, tmp_path, *call, launcher=["-m", "tarsia"])
    assert done.stdout == "0.0 4\n", (done.stdout, done.stderr)
    assert f"AddressSanitizer: {told}" in done.stderr and done.returncode != 0, done.stderr
    assert re.search(rf"#\d+ 0x\w+ in {function}\(.*heap\.cc:{line}", done.stderr), done.stderr


def test_load_inline_alone_refuses(tmp_path):
    with pytest.raises(tarsia.LoadError, match=r"debug=\"address\" needs AddressSanitizer, which must be in a process from its start: run the "
                                               r"program by `python -m tarsia SCRIPT` or `tarsia run FILE`, or with LD_PRELOAD=/"):
        tarsia.load_inline("int f() { return 1; }", debug="address")
    with pytest.raises(tarsia.LoadError, match=r"debug=\"address\" needs AddressSanitizer"):
        tarsia.load_inline("int f() { does not compile", cflags=["-fsanitize=address"])
    tarsia.compile("int f() { return 1; }", tmp_path / "a.so", debug="thread")  # for another process
    with pytest.raises(tarsia.LoadError, match=r"needs ThreadSanitizer"):
        tarsia.load(tmp_path / "a.so")


def test_libraries_that_are_compiled_together_start_the_script_again_too(tmp_path):
    done = run("""
        import tarsia
        one, two = tarsia.compile_all(["int f() { return 1; }", "int g() { return 2; }"], debug="address")
        print(one.f(), two.g())
    """, tmp_path, launcher=["-m", "tarsia"])
    assert done.stdout == "1 2\n" and done.returncode == 0, done.stderr


SIGNALS = """
    import sys
    import tarsia
    lib = tarsia.load_inline({"crash.cc": '''
    #include <cstdlib>
    int null(int n) { int* volatile p = nullptr; *p = n; return 1; }
    int wild(int n) { char* volatile p = reinterpret_cast<char*>(0x10); *p = n; return 1; }
    int deep(int n) { volatile char b[400]; b[n % 400] = 1; return n < 0 ? 0 : deep(n + 1) + b[0]; }
    int aborts(int n) { std::abort(); }
    '''}, debug=sys.argv[1], cflags=["-w"])
    getattr(lib, sys.argv[2])(3)
"""


@pytest.mark.parametrize("sanitizer, name", [("address", "AddressSanitizer"), ("thread", "ThreadSanitizer")])
@pytest.mark.parametrize("function, what, line", [("null", "SEGV", 3), ("wild", "SEGV", 4), ("deep", "stack-overflow", 5)])
def test_a_signal_under_a_sanitizer_leaves_both_reports(tmp_path, sanitizer, name, function, what, line):
    done = run(SIGNALS, tmp_path, sanitizer, function, launcher=["-m", "tarsia"])
    said = done.stderr.splitlines()
    assert done.returncode > 0, done.stderr
    assert any(f" in int {function}(int n), crash.cc:{line}" in one for one in said) and "  called with n = 3" in said, done.stderr
    assert any(one.startswith(f"  #0 {function}(int) at crash.cc:{line}") for one in said), done.stderr
    assert re.search(rf"^SUMMARY: {name}: {what} .*crash\.cc:{line}.* in {function}\(int\)", done.stderr, re.M), done.stderr
    for wrong in ("cannot be read", "signal-unsafe", "nested bug", "libc.so.6"):
        assert wrong not in done.stderr.split("#1 ")[0], done.stderr
    assert "signal-unsafe" not in done.stderr and "nested bug" not in done.stderr, done.stderr


@pytest.mark.parametrize("sanitizer", ["address", "thread"])
def test_an_abort_under_a_sanitizer_is_one(tmp_path, sanitizer):
    done = run(SIGNALS, tmp_path, sanitizer, "aborts", launcher=["-m", "tarsia"])
    assert done.returncode == -6 and " in int aborts(int n), crash.cc:6" in done.stderr and "crash.cc:6" in done.stderr.split("  #0")[1], done.stderr


def test_the_programs_own_options_of_a_sanitizer_win(tmp_path):
    script = "import os, tarsia; tarsia.load_inline('int f();\\nint g() {{ return 1; }}', debug='thread'); print(os.environ['TSAN_OPTIONS'])"
    done = run(script.replace("{{", "{").replace("}}", "}"), tmp_path, launcher=["-m", "tarsia"], TSAN_OPTIONS="report_signal_unsafe=1")
    assert re.search(r"report_signal_unsafe=0:.*:report_signal_unsafe=1$", done.stdout.strip()), (done.stdout, done.stderr)


def test_a_program_that_crashes_under_a_sanitizer_is_reported_by_both(tmp_path):
    (tmp_path / "np.cc").write_text("int main(int, char**) {\n  int* volatile p = nullptr;\n  *p = 1;\n}\n")
    done = subprocess.run([places.command(), "run", "-fsanitize=address", "np.cc"], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert re.search(r"^  #0 .* at np\.cc:3$", done.stderr, re.M) and re.search(r"^SUMMARY: AddressSanitizer: SEGV .*np\.cc:3", done.stderr, re.M), done.stderr


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_a_worker_of_a_script_hears_that_it_has_the_scripts_sanitizer(tmp_path, method):
    script = f"""
        import multiprocessing
        import sys
        import tarsia
        def work(n):
            try:
                return tarsia.load_inline("int f(int n) {{ return n; }}", debug="address").f(n)
            except tarsia.LoadError as error:
                return str(error)
        if __name__ == "__main__":
            if sys.argv[1:]:
                work(0)
            with multiprocessing.get_context("{method}").Pool(1) as pool:
                print(pool.map(work, [7])[0])
    """
    done = run(script, tmp_path, launcher=["-m", "tarsia"])
    assert "this process is one that the script has started" in done.stdout and "run the program by" not in done.stdout, (done.stdout, done.stderr)
    done = run(script, tmp_path, "first", launcher=["-m", "tarsia"])
    assert done.stdout.strip() == "7", (done.stdout, done.stderr)


def test_a_second_sanitizer_in_one_script_is_refused_as_such(tmp_path):
    done = run("""
        import tarsia
        print(tarsia.load_inline("int f() { return 1; }", debug="address").f(), flush=True)
        tarsia.load_inline("int g() { return 1; }", debug="thread")
    """, tmp_path, launcher=["-m", "tarsia"])
    assert done.stdout == "1\n" and done.returncode == 1
    assert "needs ThreadSanitizer, and this process has AddressSanitizer: a process has one sanitizer" in done.stderr, done.stderr


THREAD = """
    import tarsia
    lib = tarsia.load_inline({"race.cc": '''
    #include <thread>
    int total = 0;
    void add() { for (int i = 0; i < 1000; ++i) ++total; }
    int race() { std::thread a(add), b(add); a.join(); b.join(); return total > 0; }
    '''}, debug="thread")
    print(lib.race(), flush=True)
"""


def test_thread_sanitizer_finds_a_race_in_a_script(tmp_path):
    done = run(THREAD, tmp_path, launcher=["-m", "tarsia"])
    assert done.stdout == "1\n", (done.stdout, done.stderr)
    assert "ThreadSanitizer: data race" in done.stderr and re.search(r"race\.cc:4", done.stderr), done.stderr


@pytest.mark.parametrize("flag", ["--debug=address", "-fsanitize=address"])
def test_the_command_starts_itself_again(tmp_path, flag):
    (tmp_path / "a.cc").write_text("#include <cstdio>\nint main(int argc, char**) {\n  int* volatile p = new int[2];\n  std::printf(\"begun\\n\");\n"
                                   "  std::fflush(stdout);\n  return p[argc + 1];\n}\n")
    done = subprocess.run([places.command(), "run", flag, "a.cc"], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.stdout == "begun\n" and done.returncode != 0
    assert "heap-buffer-overflow" in done.stderr and "a.cc:6" in done.stderr, done.stderr


@pytest.mark.parametrize("flag", ["address", "thread"])
def test_a_programs_memory_is_given_back_as_it_was_asked_for(tmp_path, flag):
    file = tmp_path / "program.cc"
    file.write_text('''
        #include <cstdio>
        #include <cstdlib>
        #include <regex>
        #include <string>
        #include <thread>
        int main() {
          std::string text(100, 'x');
          double* numbers = new double[100];
          numbers[3] = 3;
          int* one = new int(4);
          void* bytes = std::malloc(10);
          int sum = 0;
          std::thread([&] { sum = int(numbers[3]) + *one; }).join();
          const bool found = std::regex_search(text, std::regex("x+"));
          std::free(bytes);
          delete one;
          delete[] numbers;
          std::printf("%d %d\\n", sum, found);
        }
    ''')
    done = subprocess.run([places.command(), "run", f"--debug={flag}", file], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout, done.stderr) == (0, "7 1\n", "")


def test_the_command_says_what_is_undefined(tmp_path):
    (tmp_path / "a.cc").write_text("int main(int argc, char**) {\n  int large = 2147483647;\n  return (large + argc) & 0;\n}\n")
    done = subprocess.run([places.command(), "run", "--debug=undefined", "a.cc"], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 1 and "a.cc:3:" in done.stderr and "signed integer overflow" in done.stderr, done.stderr


def test_a_script_without_sanitizers_runs_as_by_python(tmp_path):
    (tmp_path / "beside.py").write_text("x = 3")
    done = run("import sys, beside; print(beside.x, sys.argv[1:], __name__)", tmp_path, "a", "-b", launcher=["-m", "tarsia"])
    assert done.stdout == "3 ['a', '-b'] __main__\n", done.stderr


def test_two_sanitizers_are_refused_by_all_faces(tmp_path):
    several = "'-fsanitize=undefined,address' asks for several sanitizers, and a compile has one: give '-fsanitize=undefined', "
    with pytest.raises(tarsia.ArgumentValueError, match=several):
        tarsia.load_inline("int f() { return 1; }", cflags=["-fsanitize=undefined,address"])
    with pytest.raises(tarsia.ArgumentValueError, match="'-fsanitize=undefined' and '-fsanitize=thread' ask for two sanitizers"):
        tarsia.load_inline("int f() { return 1; }", cflags=["-fsanitize=undefined", "-fsanitize=thread"])
    done = run("import tarsia; tarsia.load_inline('int f();', cflags=['-fsanitize=undefined,address'])", tmp_path, launcher=["-m", "tarsia"])
    assert done.returncode != 0 and several in done.stderr
    (tmp_path / "a.cc").write_text("int main() {}\n")
    done = subprocess.run([places.command(), "run", "-fsanitize=undefined,address", "a.cc"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode != 0 and several in done.stderr


@pytest.mark.parametrize("given", ["debug='address'", "cflags=['-fsanitize=address']"])
def test_a_script_starts_again_for_the_option_and_for_the_flag(tmp_path, given):
    done = run(f"import tarsia; print(tarsia.load_inline('int f() {{ return 3; }}', {given}).f())", tmp_path, launcher=["-m", "tarsia"])
    assert done.stdout == "3\n" and re.search(r"needs a sanitizer: starting it again with libclang_rt.asan", done.stderr), done.stderr


def test_unknown_words_are_refused():
    with pytest.raises(tarsia.ArgumentValueError, match="debug must be True, False, 'undefined' or 'address' or 'thread', got 'memory'"):
        tarsia.load_inline("int f() { return 1; }", debug="memory")
    for word in ("memory", "on"):
        with pytest.raises(tarsia.ArgumentValueError, match=f"'-fsanitize={word}' is unknown: it may be '-fsanitize=undefined', "
                                                            "'-fsanitize=address' or '-fsanitize=thread'"):
            tarsia.load_inline("int f() { return 1; }", cflags=[f"-fsanitize={word}"])
    with pytest.raises(tarsia.ArgumentValueError, match="contradicts the option debug"):
        tarsia.load_inline("int f() { return 1; }", cflags=["-fsanitize=address"], debug="undefined")


UNWRITTEN = r"""
#include <cstring>
#include <stdexcept>
#include <tarsia/op.h>
template <class T, int step>
static void every(tarsia::Context& c) {
  for (long i = 0; i < c.output(0).numel(); i += step) c.output(0).data<T>()[i] = c.input(0).data<const T>()[i];
}
static void none(tarsia::Context&) {}
static void copied(tarsia::Context& c) {
  std::memcpy(c.output(0).data(), c.input(0).data(), c.input(0).numel() * (c.input(0).get()->dtype.bits / 8));
}
static void wrong(tarsia::Context&) { throw std::runtime_error("its own error"); }
TARSIA_OP(left_out).input("x").output("y").forward("cpu", none);
TARSIA_OP(each_float).input("x").output("y").forward("cpu", every<float, 1>).backward("cpu", none);
TARSIA_OP(second_float).input("x").output("y").forward("cpu", every<float, 2>);
TARSIA_OP(each_byte).input("x").output("y").forward("cpu", every<unsigned char, 1>);
TARSIA_OP(in_place).input("x").output("y").inplace(0, 0).forward("cpu", none);
TARSIA_OP(copied).input("x").output("y").forward("cpu", copied);
TARSIA_OP(fails).input("x").output("y").forward("cpu", wrong);
"""


def test_an_op_that_leaves_elements_of_its_outputs_is_told():
    library = tarsia.load_inline(UNWRITTEN, debug="undefined")
    ops = library.ops
    x = np.arange(10, dtype=np.float32)
    for dtype in (np.float32, np.float64, np.float16, np.int8, np.bool_, np.int64, np.complex64):
        with pytest.raises(tarsia.UndefinedBehaviour, match="op 'left_out': output 'y' is not written: its memory is unset"):
            tarsia.op("left_out")(x.astype(dtype))
        given = np.array([0, 1, np.nan, np.inf, -0.0, 5] if np.dtype(dtype).kind in "fc" else [0, 1, 0, 1, 1, 1], dtype)
        assert tarsia.op("copied")(given).tobytes() == given.tobytes()
    with pytest.raises(tarsia.UndefinedBehaviour, match="output 'y' is not written at 5 of its 10 elements, first at number 1, counted from 0"):
        tarsia.op("second_float")(x)
    assert (tarsia.op("each_float")(x) == x).all() and tarsia.op("each_byte")(np.arange(99, dtype=np.uint8)).tolist() == list(range(99))
    bound = tarsia.op("each_float").bind(x)
    with pytest.raises(tarsia.UndefinedBehaviour, match="the gradient of input 'x' is not written"):
        bound.backward(x, x, x)
    with pytest.raises(RuntimeError, match="its own error"):
        tarsia.op("fails")(x)
    y = x.copy()
    assert tarsia.op("in_place")(y, out=y) is y and (y == x).all()
    out = np.full(10, 3, np.float32)
    with pytest.raises(tarsia.UndefinedBehaviour, match="output 'y' is not written"):
        tarsia.op("left_out")(x, out=out)
    assert ops


def test_without_the_check_nothing_is_looked_at():
    library = tarsia.load_inline(UNWRITTEN.replace("left_out", "left_out_freely"), debug=True)
    assert library.ops and tarsia.op("left_out_freely")(np.zeros(3, np.float32)).shape == (3,)


def test_modules_code_and_scripts_without_a_suffix_are_run(tmp_path):
    (tmp_path / "beside.py").write_text("import sys; print(__name__, sys.argv[1:])")
    (tmp_path / "tool").write_text("import sys; print(__name__, sys.argv)")
    (tmp_path / "run.sh").write_text("#!/usr/bin/env python\nprint('by its first line')")
    for words, said in ((["-m", "beside", "a", "-b"], "__main__ ['a', '-b']"),
                        (["-c", "import sys, beside; print(sys.argv, __name__)", "a", "-b"], "beside ['a', '-b']\n['-c', 'a', '-b'] __main__"),
                        (["tool", "-x"], "__main__ ['tool', '-x']"), (["./run.sh"], "by its first line"),
                        (["-c", "import sys; sys.exit(0)"], ""), (["-m", "unittest", "-h"], None)):
        done = subprocess.run([sys.executable, "-m", "tarsia", *words], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0 and (said is None or done.stdout.strip() == said), (words, done.stdout, done.stderr)
    for words, code in ((["-m"], 1), (["-c"], 1), (["-m", "no_such_module"], 1), (["-c", "raise SystemExit(7)"], 7)):
        assert subprocess.run([sys.executable, "-m", "tarsia", *words], cwd=tmp_path, capture_output=True).returncode == code


@pytest.mark.parametrize("words", [["-c", "SOURCE"], ["-m", "program"]], ids=["-c", "-m"])
def test_they_start_again_with_a_sanitizer_too(words, tmp_path):
    source = "import tarsia; print(tarsia.load_inline('int f() { return 3; }', debug='address').f())"
    (tmp_path / "program.py").write_text(source)
    words = [source if word == "SOURCE" else word for word in words]
    done = subprocess.run([sys.executable, "-m", "tarsia", *words], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout == "3\n", done.stderr
