"""Programs that end while daemon threads call libraries, ops and the compiler: they end as programs without Tarsia do."""

import os
import re
import subprocess
import sys

import places
import pytest

# Python code that Tarsia's code calls, and an end of the program that takes long enough for the threads to be within it.
COMPUTES = """
def compute():
    for _ in range(100000): pass
class Number:
    def __index__(self):
        compute()
        return 1
class Owner:
    def __del__(self):
        compute()
class Owned:
    @property
    def __array_interface__(self): return {**a.__array_interface__, "owner": Owner()}
class Slow:
    def __del__(self, now=time.perf_counter):
        end = now() + 0.2
        while now() < end: pass
slow = Slow()
"""
ACTIONS = {
    "a function": ("lib = tarsia.load_inline('int f(int x) { return x + 1; }')", "lib.f(1)"),
    "a function that takes a while": (r"lib = tarsia.load_inline('#include <unistd.h>\nvoid f() { usleep(2000); }')", "lib.f()"),
    "an op": ("""tarsia.load_inline('''#include <tarsia/op.h>
static void forward(tarsia::Context& c) { for (int i = 0; i < 4; ++i) c.output(0).data<float>()[i] = 1; }
TARSIA_OP(ends_op).input("x").output("y").forward("cpu", forward);''')""", "tarsia.ops.ends_op(a)"),
    "an op in Python": ("""
@tarsia.define_op(name="ends_python")
def ends_python(x, y):
    y[...] = x
""", "tarsia.ops.ends_python(a)"),
    "an elementwise expression": ("add = tarsia.elementwise('float32 x', 'float32 y', 'y = x + 1')", "add(a)"),
    "a compile that fails": ("", "refused()"),
    "a compile": ("", "tarsia.load_inline(f'int f() {{ return {next(count)}; }}')"),
    "an error": ("lib = tarsia.load_inline('int f(int x) { return x + 1; }')", "wrong(lib.f)"),
    "a number of a class of their own": (COMPUTES, "tarsia.seed(Number())"),
    "an extent of a class of their own": (COMPUTES, "tarsia.Graph().input('x', (Number(),))"),
    "memory of a class of their own": (COMPUTES + "lib = tarsia.load_inline('int f(const float* x) { return 1; }')", "lib.f(Owned())"),
}
PROGRAM = """
import itertools, threading, time, numpy as np, tarsia
count = itertools.count()
a = np.ones(4, np.float32)
def refused():
    try:
        tarsia.load_inline("int f( {")
    except tarsia.CompileError:
        pass
def wrong(f):
    try:
        f("x")
    except tarsia.Error:
        pass
%s
turns = [0, 0, 0]
def turn(i):
    while True:
        %s
        turns[i] += 1
for i in range(3):
    threading.Thread(target=turn, args=(i,), daemon=True).start()
end = time.monotonic() + 60
while min(turns) < 3 and time.monotonic() < end:
    time.sleep(0.001)
assert min(turns) >= 3, turns
"""


@pytest.mark.parametrize("what", ACTIONS)
def test_a_program_ends_while_daemon_threads_use(what):
    for _ in range(3):
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", PROGRAM % ACTIONS[what]], capture_output=True, text=True, timeout=120, env=dict(os.environ))
        assert (done.returncode, done.stderr) == (0, "")


def test_the_extension_asks_for_the_gil_in_one_place_alone():
    """What may wait for the GIL goes through python/core/py.h, which holds threads there once the interpreter ends: so does what may run
    Python code, since that gives the GIL away now and then."""
    raw = re.compile(r"\b(PyObject_Call\w*|PyImport_ImportModule|PyGILState_Ensure\(|PyEval_RestoreThread|PyEval_AcquireThread|gil_scoped_\w+"
                     r"|(PyObject_(Repr|Str|ASCII|GetAttr\w*|GetItem|GetIter|Rich\w+|IsTrue|Not|Is(Instance|Subclass)|Hash|Length|Size|GetBuffer)"
                     r"|PyNumber_(?!Check)\w+|PySequence_(?!Check)\w+|PyMapping_(?!Check)\w+|PyIter_\w+|PyErr_(NormalizeException|Warn\w+)"
                     r"|PyFloat_AsDouble|PyLong_As\w+|PyComplex_\w+AsDouble|PyBuffer_Release)\()")
    found = [f"{path.name}: {match.group()}" for path in sorted((places.REPO / "python").rglob("*.[ch]*")) if path.name != "py.h"
             for match in raw.finditer(path.read_text()) if "unless_python_ends" not in path.read_text()[max(0, match.start() - 60):match.start()]]
    assert found == []
