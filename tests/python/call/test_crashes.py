"""A crash in a library's code says which function, which line and which arguments, and then takes its course."""

import re
import signal
import subprocess
import sys

import pytest
import tarsia
from places import include_dir
from programs import ended, program


def crash(text, expected=signal.SIGSEGV, **environment):
    """What a program writes to standard error that the signal ends."""
    process = program(text, **environment)
    errors = ended(process)[1]
    assert process.returncode == -expected, errors
    return errors


READ = '''
static __attribute__((noinline)) float third(const float* p, int64_t i) {
  return p[i];
}
static inline float second(const float* p, int64_t i) { return third(p, i) + 1; }
float first(const float* x, int64_t i, double scale, const std::string& name) {
  return second(x, i) * scale;
}
'''
CALL = f"""
library = load('''#include <cstdint>
#include <string>{READ}''')
library.first(np.zeros((4, 3), np.float32), 1 << 44, 0.5, "a\\nb")
"""


def test_a_bad_address_names_the_functions_their_lines_and_the_arguments():
    lines = crash(CALL).splitlines()
    assert re.fullmatch(r"tarsia: segmentation fault \(SIGSEGV at address 0x[0-9a-f]+\) in float first\(.*\), source:7",
                        lines[0])
    assert lines[1] == f"  called with x = float32[4, 3], i = {1 << 44}, scale = 0.5, name = 'a.b'"
    assert lines[2:] == ["  #0 third(float const*, long) at source:4", "  #1 second at source:6", "  #2 first at source:8"]


def test_a_static_function_has_the_users_name_where_two_objects_share_it():
    body = "".join(f"  s += std::sin(s * {i}.5) * p[(i + {i}) % 7]; if (s > {i * 100}) s /= std::cos(s + {i});\n" for i in range(60))
    text = f"""#include <cmath>
static __attribute__((noinline)) double bad(const double* p, long i) {{
  double s = p[i];
{body}  return s;
}}
double one(const double* p, long i) {{
  double s = bad(p, i);
{body}  return s;
}}
double two(const double* p, long i) {{
  double s = bad(p, i + 1);
{body}  return s;
}}
"""
    lines = crash(f"load({text!r}).one(np.ones(9), 1 << 44)").splitlines()
    assert lines[2] == "  #0 bad(double const*, long) at source:3"


def test_complex_numbers_and_spans_are_shown():
    text = """#include <complex>
#include <span>
int f(std::complex<double> z, std::span<const float> x, int64_t at) { return x[at]; }"""
    lines = crash(f"load({text!r}).f(1 - 2.5j, np.zeros((2, 3), np.float32), 1 << 44)").splitlines()
    assert lines[1] == f"  called with z = (1,-2.5), x = float32[2, 3], at = {1 << 44}"


MODEL = r"""
import numpy as np
import tarsia

SOURCE = r'''
static __attribute__((noinline)) float third(const float* p, long i) {
  return p[i];  // \n
}
float first(const float* x, long i) { return third(x, i) * 2; }
'''

def load(**options):
    return tarsia.load_inline(SOURCE, **options)

load(LOAD).first(np.zeros(3, np.float32), 1 << 44)
"""


def crash_of_script(text, folder):
    """The report of a program in the file model.py, without the folder's name."""
    script = folder / "model.py"
    script.write_text(text)
    process = subprocess.run([sys.executable, "-W", "ignore", script], capture_output=True, text=True, timeout=120)
    assert process.returncode == -signal.SIGSEGV, process.stderr
    return process.stderr.replace(f"{folder}/", "").splitlines()


@pytest.mark.parametrize("options", ["", "lineinfo=True", "debug=True"])
def test_a_literal_of_a_python_file_is_named_with_its_line_there(options, tmp_path):
    for _ in range(2):  # compiled, and from the cache
        lines = crash_of_script(MODEL.replace("LOAD", options), tmp_path)
        assert lines[0].endswith("in float first(const float *x, long i), source:5 (model.py:9)")
        third, first = ("model.py:7", "model.py:9") if "debug" in options else ("source:3 (model.py:7)", "source:5 (model.py:9)")
        assert lines[2] == f"  #0 third(float const*, long) at {third}"
        assert lines[3].startswith("  #1 first") and lines[3].endswith(f" at {first}")


def test_files_and_headers_of_a_source_are_named_too(tmp_path):
    lines = crash_of_script(r"""
import numpy as np
import tarsia
tarsia.load_inline({"a.cc": "#include \"b.h\"\nint f(int* x) {\n"
                            "  return g(x) + 1; }"},
                   headers={"b.h": '''
static __attribute__((noinline)) int g(int* x) {
  return x[1l << 42];
}'''}).f(np.zeros(1, np.int32))
""", tmp_path)
    assert lines[0].endswith("in int f(int *x), a.cc:2 (model.py:4)")
    assert lines[2].startswith("  #0 g(int*)") and lines[2].endswith(" at b.h:3 (model.py:8)")
    assert lines[3].startswith("  #1 f") and lines[3].endswith(" at a.cc:3 (model.py:5)")


def test_a_text_that_stands_nowhere_in_the_file_has_its_own_lines_alone(tmp_path):
    lines = crash_of_script(MODEL.replace("LOAD", "").replace("load_inline(SOURCE", "load_inline(SOURCE + ' '"), tmp_path)
    assert lines[0].endswith(", source:5") and lines[2].endswith(" at source:3")


def test_static_initialisers_and_ops_of_a_literal(tmp_path):
    lines = crash_of_script("""import tarsia
tarsia.load_inline('''
struct Table {
  int first;
  Table() { int* volatile p = nullptr; first = *p; }
};
static Table table;
int f() { return table.first; }''')""", tmp_path)
    assert lines[1:3] == ["  #0 Table at source:4 (model.py:5)", "  #1 __cxx_global_var_init at source:6 (model.py:7)"]
    lines = crash_of_script("""import numpy as np, tarsia
tarsia.load_inline('''#include <tarsia/op.h>
static void forward(tarsia::Context& c) {
  volatile int64_t far = 1l << 44;
  c.output(0).data<float>()[far] = 1;
}
TARSIA_OP(breaks).input("x").output("y").forward("cpu", forward);''')
tarsia.ops.breaks(np.zeros(3, np.float32))""", tmp_path)
    assert lines[0].endswith("in op 'breaks', forward, source:6 (model.py:7)") and "at source:4 (model.py:5)" in lines[2]


def test_a_library_of_the_cache_says_as_much():
    assert crash(CALL).splitlines()[2:] == crash(CALL).splitlines()[2:]


def test_without_the_compiler_there_are_addresses():
    lines = crash("load('int f(int n) { return n; }')" + CALL, TARSIA_COMPILER="").splitlines()
    assert "third" in lines[2]
    lines = crash(CALL, TARSIA_COMPILER="/nowhere/tarsia-compiler").splitlines()
    assert lines[1].startswith("  called with x = float32[4, 3]")
    assert re.fullmatch(r"  #0 broken\+0x[0-9a-f]+", lines[2])


def test_the_report_can_be_turned_off():
    assert crash(CALL, TARSIA_CRASH_REPORT="0") == ""


ILLEGAL = "trap or illegal instruction, as where a function ends without its return (SIGILL)"


@pytest.mark.parametrize("body, expected, what, frame", [
    ("int f(int a) { volatile int zero = 0; return a / zero; }", signal.SIGFPE, "integer division by zero (SIGFPE)", "f(int) at source:2"),
    ("int f(int a) { std::abort(); }", signal.SIGABRT, "abort (SIGABRT)", "f(int) at source:2"),
    ("int f(int a) noexcept { throw a; }", signal.SIGABRT, "abort (SIGABRT)", "f(int)"),
    ("int f(int a) { __builtin_trap(); }", signal.SIGILL, ILLEGAL, "f(int) at source:2"),
    ("#include <csignal>\nint f(int a) { raise(SIGSYS); return a; }", signal.SIGSYS,
     "system call that is not allowed (SIGSYS)", "f(int) at source:3"),
    ("int f(int a) { __builtin_debugtrap(); return a; }", signal.SIGTRAP,
     "trap (SIGTRAP)", "f(int) at source:2"),
    ("int f(int a) { auto g = (int (*volatile)(int))0x1234; return g(a) + 1; }", signal.SIGSEGV,
     "segmentation fault (SIGSEGV at address 0x1234)", "at source:2"),
    ("int (*volatile g)(int) = nullptr;\nint f(int a) { return g(a) + 1; }", signal.SIGSEGV,
     "segmentation fault (SIGSEGV at address 0x0)", "at source:3"),
    ("int f(int a) { volatile char b[999]; b[a] = 1; return f(a + b[1] % 2) + b[0]; }", signal.SIGSEGV,
     "stack overflow (SIGSEGV at address", "f(int) at source:2"),
])
def test_each_kind_of_crash_has_its_name_and_its_place(body, expected, what, frame):
    errors = crash(f"load('''#include <cstdlib>\n{body}''').f(3)", expected)
    assert f"tarsia: {what}" in errors and " in int f(int a)" in errors and "called with a = 3" in errors, errors
    assert frame in errors, errors


# What the language leaves undefined, with another function behind it, and the signal that ends it.
UNDEFINED = [
    ("int f(int a) {\n}", signal.SIGILL),
    ("int f(int a) {\n  if (a < 3) return 1; }", signal.SIGILL),
    ("enum class E { a, b };\nint g(E e) { switch (e) { case E::a: return 1; case E::b: return 2; } }\nint f(int a) { return g(E(a)); }",
     signal.SIGILL),
    ("[[noreturn]] static void stops() { }\nint f(int a) { if (a == 3) stops(); return a; }", signal.SIGILL),
    ("[[noreturn]] static __attribute__((noinline)) void stops(int* p) { ++*p; }\nint f(int a) { stops(&a); }", signal.SIGILL),
    ("int f(int a) { int* p = nullptr; *p = a;\n return a; }", signal.SIGSEGV),
    ("int f(int a) { int* p = nullptr; if (a == 3) *p = a;\n return a; }", signal.SIGSEGV),
    ("int f(int a) { int* p = nullptr;\n return p[a]; }", signal.SIGSEGV),
    ("#include <vector>\nint f(int a) { std::vector<int> v; return v[a]; }", signal.SIGSEGV),
    ("struct A { int n; int get() { return n; } };\nint f(int a) { A* p = nullptr; return p->get(); }", signal.SIGSEGV),
    ("int f(int a) { int (*g)(int) = nullptr;\n return g(a) + 1; }", signal.SIGSEGV),
]
BEHIND = "\nint behind(int n) { return 42; }"


@pytest.mark.parametrize("options", [{}, {"opt": 1}, {"opt": 3}, {"dev": True}, {"debug": True}], ids=str)
@pytest.mark.parametrize("body, expected", UNDEFINED)
def test_undefined_code_does_not_run_on_into_the_next_function(body, expected, options):
    errors = crash(f"load({body + BEHIND!r}, **{options}).f(3)", expected)
    assert " in int f(int a)" in errors and "called with a = 3" in errors, errors
    assert "#0 " in errors or "g(a)" in body, errors  # a jump to nowhere leaves no frame


LAST_CALLS = '''
#include <csignal>
#include <cstdlib>
#include <cstring>
double* volatile kept;
char* const low = (char*)8;
__attribute__((noinline)) static void twice(double* p) {
  delete[] p;
  delete[] kept;
}
void deletes() { kept = new double[4]; twice(kept); }
__attribute__((noinline)) static void give(void* p) {
  std::free((char*)p + 4);
}
void frees() { void* volatile p = std::malloc(10); give(p); }
void copies(int64_t n) {
  std::memcpy(low, low + 800, n);
}
int64_t measures() {
  char* volatile p = low; return strlen(p);
}
void raises() {
  raise(SIGSEGV);
}
'''


@pytest.mark.parametrize("call, expected, frame", [
    ("deletes()", signal.SIGABRT, "twice(double*) at source:9"),
    ("frees()", signal.SIGABRT, "give(void*) at source:13"),
    ("copies(1 << 30)", signal.SIGSEGV, "copies(long) at source:17"),
    ("measures()", signal.SIGSEGV, "measures() at source:20"),
    ("raises()", signal.SIGSEGV, "raises() at source:23"),
])
def test_the_last_call_of_a_function_is_named(call, expected, frame):
    errors = crash(f"library = load('''#include <cstdint>{LAST_CALLS}''')\nlibrary.{call}", expected)
    assert frame in errors


def test_recursions_within_a_module_need_no_stack():
    library = tarsia.load_inline('''
        #include <cstdint>
        __attribute__((noinline)) static bool odd(int64_t n);
        __attribute__((noinline)) static bool even(int64_t n) { return n == 0 || odd(n - 1); }
        static bool odd(int64_t n) { return n != 0 && even(n - 1); }
        bool is_even(int64_t n) { return even(n); }
    ''')
    assert library.is_even(100_000_000)


def test_undefined_code_of_c_and_of_cuda_does_not_either():
    text = "int f(int a) { int* p = 0; *p = a; return a; }" + BEHIND
    assert "called with a = 3" in crash(f"load({{'a.c': {text!r}}}).f(3)")
    if tarsia.doctor()["works"]["cuda"]:
        assert "called with a = 3" in crash(f"load({text + ' __global__ void k() {{ }}'!r}, arch='sm_90').f(3)")


def test_the_trap_of_a_missing_return_is_no_sanitizer_to_the_source():
    assert tarsia.load_inline("""
#if __has_feature(undefined_behavior_sanitizer)
int f(int a) { if (a) return 1; }
#else
int f(int a) { return 0; }
#endif""").f(1) == 0


def test_a_return_address_that_was_overwritten():
    body = "int f(int a) { char b[16]; char* volatile p = b; for (int i = 0; i < 64; ++i) p[i] = 0x41; return b[a]; }"
    errors = crash(f"load('{body}').f(3)")
    assert " in int f(int a)" in errors and "called with a = 3" in errors, errors


@pytest.mark.parametrize("n", [64, 4096, 100_000_000], ids=["the caller", "the call's own records", "the process's environment"])
def test_a_buffer_that_overflows_over_the_stack_still_names_the_place(n):
    text = """int fills(int n) {
  volatile char b[8];
  for (int i = 0; i < n; ++i) ((volatile char*)b)[i] = 0x41;
  return b[3];
}"""
    lines = crash(f"load({text!r}).fills({n})").splitlines()
    assert re.match(r"tarsia: (segmentation fault|stack overflow) \(SIGSEGV", lines[0]), lines
    assert any(re.fullmatch(r"  #0 fills\(int\) at source:[345]", line) for line in lines), lines
    if n > 64:
        assert lines[-1] == "tarsia: what the call was given cannot be read", lines


def test_frames_of_a_recursion_are_counted():
    errors = crash("load('int f(int a) { volatile char b[99]; b[a % 99] = 1; return f(a + 1) + b[0]; }').f(3)")
    assert "more like this" in errors and "frames more" in errors and len(errors.splitlines()) < 12


def test_a_stack_that_overflows_on_a_thread_of_python():
    errors = crash("""
library = load('int f(int a) { volatile char b[99]; b[a % 99] = 1; return f(a + 1) + b[0]; }')
thread = threading.Thread(target=library.f, args=(3,))
thread.start()
thread.join()""")
    assert "tarsia: stack overflow" in errors and "f(int) at source:1" in errors


def test_static_initialisers():
    lines = crash("""load('''struct Table {
  int first;
  Table() { int* volatile p = nullptr; first = *p; }
};
static Table table;
int f() { return table.first; }''')""").splitlines()
    assert lines[0].endswith("while 'broken' was loaded, in its static initialisers")
    assert lines[1:3] == ["  #0 Table at source:3", "  #1 __cxx_global_var_init at source:5"]


LEAVING = """
library = load('''#include <cstdlib>
struct Table {
  int* volatile first = nullptr;
  ~Table() { *first = 1; }
};
static Table& table() { static Table one; return one; }
static void at_exit() { volatile int* p = nullptr; *p = 1; }
int in_destructor() { return &table() != nullptr; }
int in_exit_handler() { return std::atexit(at_exit) == 0; }''')
library.CALL()
"""
UNLOADED = "while 'broken' was unloaded, in its destructors and exit handlers"


@pytest.mark.parametrize("call, frame", [("in_destructor", "#0 Table::~Table() at source:4"),
                                         ("in_exit_handler", "at_exit() at source:7")])
@pytest.mark.parametrize("end, what", [
    ("", UNLOADED),
    ("del library; import gc; gc.collect(); print('still here')", UNLOADED),
    ("ctypes.pythonapi.Py_IncRef(ctypes.py_object(library._handle))",
     "in library 'broken', outside of calls: in a thread, a destructor or an exit handler of its own"),
])
def test_destructors_and_exit_handlers(call, frame, end, what):
    lines = crash(LEAVING.replace("CALL", call) + end).splitlines()
    assert lines[0].startswith("tarsia: segmentation fault") and lines[0].endswith(what), lines
    assert frame in "\n".join(lines), lines


def test_destructors_of_a_library_that_stays_mapped_when_it_is_closed(tmp_path):
    """g++ makes the variable of an inline function unique, and such a library is mapped to the process's end."""
    (tmp_path / "kept.cpp").write_text("""#include <tarsia/op.h>
struct Table { int* volatile first = nullptr; ~Table() { *first = 1; } };
inline Table& table() { static Table one; return one; }
int f() { return &table() != nullptr; }
TARSIA_EXPORT(f);""")
    subprocess.run(["g++", "-std=c++17", "-g", "-shared", "-fPIC", f"-I{include_dir()}", "kept.cpp", "-o", "kept.so"],
                   cwd=tmp_path, check=True)
    lines = crash(f"library = tarsia.load({str(tmp_path / 'kept.so')!r}); library.f(); del library; load('int g() {{ return 1; }}')"
                  ).splitlines()
    assert "in library 'kept', outside of calls" in lines[0], lines
    assert "Table" in lines[1] and lines[1].endswith("kept.cpp:2"), lines


@pytest.mark.parametrize("threads", [
    "#pragma omp parallel\n  third(x, i);",
    "std::thread one(third, x, i), two(third, x, i);\n  one.join(); two.join();",
], ids=["openmp", "threads"])
def test_threads_that_crash_at_once_leave_one_whole_report(threads):
    for _ in range(3):
        lines = crash(f"""load('''#include <thread>
static __attribute__((noinline)) void third(float* p, long i) {{ p[i] = 1; }}
void first(float* x, long i) {{
  {threads}
}}''').first(np.zeros(3, np.float32), 1 << 44)""", OMP_NUM_THREADS="4").splitlines()
        assert sum(line.startswith("tarsia: ") for line in lines) == 1, lines
        assert any(re.match(r"  #\d+ third\(.* at source:2", line) for line in lines), lines


def test_a_thread_that_the_code_has_started():
    lines = crash("""load('''#include <thread>
static void work() { int* volatile p = nullptr; *p = 1; }
int f() { std::thread(work).join(); return 1; }''').f()""").splitlines()
    assert "in library 'broken', outside of calls" in lines[0] and lines[1] == "  #0 work() at source:2"


OP = """
load('''#include <tarsia/op.h>
static void forward(tarsia::Context& c) {
  volatile int64_t far = 1l << 44;
  c.output(0).data<float>()[0] = c.input(0).data<float>()[BACKWARD ? 0 : far];
}
static void backward(tarsia::Context& c) {
  volatile int64_t far = 1l << 44;
  c.output(0).data<float>()[0] = c.input(0).data<float>()[far];
}
TARSIA_OP(breaks).input("x").output("y").forward("cpu", forward).backward("cpu", backward);''', defines={"BACKWARD": %d})
x = np.zeros((4, 3), np.float32)
bound = tarsia.ops.breaks.bind(x)
bound(x) if not %d else bound.backward([x], [x], [x])
"""


def test_an_op_names_its_pass_and_its_tensors():
    lines = crash(OP % (0, 0)).splitlines()
    assert lines[0].endswith(") in op 'breaks', forward, source:10")
    assert lines[1] == "  called with input 'x' float32[4, 3], output 'y' float32[4, 3]"
    assert "at source:4" in lines[2]
    assert not [line for line in lines if "OpDefinition" in line], lines
    lines = crash(OP % (1, 1)).splitlines()
    assert not [line for line in lines if "OpDefinition" in line], lines
    assert lines[0].endswith(") in op 'breaks', backward, source:10")
    assert lines[1] == "  called with gradient of 'y' float32[4, 3], input 'x' float32[4, 3], gradient of 'x' float32[4, 3]"
    assert "at source:8" in lines[2]


def test_a_call_whose_tensors_cannot_be_read_any_more_still_leaves_a_report():
    lines = crash("""load('''#include <tarsia/op.h>
static void forward(tarsia::Context& c) {
  const_cast<tarsia_tensor*>(c.input(0).get())->shape = reinterpret_cast<int64_t*>(8);
  *(volatile int*)nullptr = 1;
}
TARSIA_OP(breaks).input("x").output("y").forward("cpu", forward);''')
tarsia.ops.breaks(np.zeros(3, np.float32))""").splitlines()
    assert lines[:2] == ["tarsia: segmentation fault (SIGSEGV at address 0x0)", "  #0 forward(tarsia::Context&) at source:4"], lines
    assert lines[-1] == "tarsia: what the call was given cannot be read", lines


STEPS = """
load('''#include <tarsia/op.h>
#include <sstream>
static int zero() { volatile int* p = nullptr; return *p; }
static bool in(int step) { return step == STEP; }
struct Text { int n = 0; };
static std::istream& operator>>(std::istream& in_, Text& t) { t.n = in(0) ? zero() : 1; return in_.ignore(99); }
struct Params {
  int k = 2;
  Params() { if (in(1)) k = zero(); }
  ~Params() { if (in(7)) k = zero(); }
};
struct State { int n = 1; ~State() { if (in(6)) n = zero(); } };
static void arity(const tarsia::BindInfo&, int* n_in, int* n_out) { *n_in = *n_out = in(2) ? zero() : 1; }
static void infer(tarsia::BindInfo& b) { if (in(3)) zero(); b.output(0) = b.input(0); }
static bool applies(const tarsia::BindInfo&) { return in(4) ? zero() == 1 : true; }
static State* state(const tarsia::BindInfo&) { if (in(5)) zero(); return new State; }
static void forward(tarsia::Context& c) {}
TARSIA_OP(breaks).input("x").output("y").attribute<Text>("text").attribute<double>("scale", 0.5).params<Params>()
    .arity(arity).infer(infer).state(state).forward("cpu", forward).when(applies);''', defines={"STEP": STEP})
x = np.zeros((4, 3), np.float32)
bound = tarsia.ops.breaks.bind(x, text="a")
del bound
"""
KNOWN = "input 'x' float32[4, 3], text = 'a', scale = 0.5"


@pytest.mark.parametrize("step, function, known", [
    (0, "text", None), (1, "attributes", KNOWN), (2, "number of inputs and outputs", KNOWN),
    (3, "inference", KNOWN), (4, "when", KNOWN), (5, "state", KNOWN), (6, "end of its state", KNOWN),
    (7, "end of its attributes", KNOWN)])
def test_each_function_of_a_declaration_is_named_with_its_op_and_what_it_was_asked(step, function, known):
    lines = crash(STEPS.replace("STEP}", f"{step}}}")).splitlines()
    assert lines[0].endswith(f"in op 'breaks', {function}, source:18"), lines
    assert (lines[1] == f"  called with {known}") if known else lines[1].startswith("  #0"), lines
    assert any(line.endswith("at source:3") for line in lines[1:4]), lines


def test_a_call_inside_of_inference_is_the_inner_one():
    lines = crash("""
load('''#include <tarsia/op.h>
static int zero() { volatile int* p = nullptr; return *p; }
static void crashes(tarsia::Context&) { zero(); }
static void infer(tarsia::BindInfo& b) {
  b.output(0) = b.input(0);
  tarsia_tensor tensor{};
  int64_t shape[] = {4};
  tensor.dtype = {TARSIA_FLOAT, 32, 1};
  tensor.device = {TARSIA_CPU, 0};
  tensor.ndim = 1, tensor.shape = shape;
  const tarsia::Tensor own(&tensor);
  tarsia::InnerOp("breaks", {own})({own}, {own});
}
static void copies(tarsia::Context&) {}
TARSIA_OP(breaks).forward("cpu", crashes);
TARSIA_OP(outer).infer(infer).forward("cpu", copies);''')
tarsia.ops.outer(np.zeros(3, np.float32))""").splitlines()
    assert "in op 'breaks', forward" in lines[0] and "called with input 'x' float32[4]" in lines[1], lines


@pytest.mark.parametrize("enabled", ["before", "after"])
def test_pythons_faulthandler_has_its_turn(enabled):
    load = "library = load('int f(int n) { int* volatile p = nullptr; return p[n]; }')\n"
    enable = "faulthandler.enable()\n"
    errors = crash((enable + load if enabled == "before" else load + enable) + "library.f(3)")
    assert "Fatal Python error: Segmentation fault" in errors and 'File "<string>", line' in errors
    assert "in int f(int n), source:1" in errors and "f(int) at source:1" in errors


def test_other_peoples_crashes_are_not_reported():
    assert crash("load('int f(int n) { return n; }').f(1)\nctypes.string_at(0)") == ""


def test_a_forked_child_reports_its_own():
    errors = crash("""
import os, signal
library = load('int f(int n) { int* volatile p = nullptr; return p[n]; }')
child = os.fork()
if child == 0: library.f(7)
state = os.waitpid(child, 0)[1]
os.kill(os.getpid(), os.WTERMSIG(state))""")
    assert errors.count("tarsia: ") == 1 and "called with n = 7" in errors
