"""Compiles that are under way when nobody wants them any more: the interpreter ends, Ctrl-C, fork."""

import subprocess
import sys

LONG = 150  # seconds; the compile below would take as many as its limit, 300

# A source that is compiled for longer than any test, and what waits until it is.
SLOW = """
import os, random, signal, sys, threading
import tarsia

slow = "constexpr long spin() { long s = 0; for (long i = 0; i < 400000; ++i) s += i % 7; return s; }\\n" + "".join(
    f"template <int n> constexpr long f{i}() {{ return spin() + n; }} int x{i}() {{ constexpr long v = f{i}<{i}>(); return int(v); }}\\n"
    for i in range(9000)) + f"// {random.getrandbits(64)}"

def wait_for_the_compiler():
    while not tarsia.stats()["workers_started"]:
        pass
"""


def run(code):
    done = subprocess.run([sys.executable, "-c", SLOW + code], capture_output=True, text=True, timeout=LONG)
    assert done.stderr == "", done.stderr
    return done.returncode, done.stdout.split()


def test_the_interpreter_ends_without_a_compile_that_has_begun():
    assert run("""
threading.Thread(target=lambda: tarsia.load_inline(slow, wait=False)).start()
wait_for_the_compiler()
print("left")
""") == (0, ["left"])


def test_the_interpreter_ends_without_a_compile_that_was_just_asked_for():
    assert run("""
libs = [tarsia.load_inline(f"{slow}{i}", wait=False) for i in range(3)]
print("left")
sys.exit(3)
""") == (3, ["left"])


def test_who_asks_for_it_while_the_interpreter_ends_gets_an_error():
    assert run("""
import atexit

def ask():
    try:
        lib.x0
    except tarsia.Error as error:
        print("interrupted" in str(error))
    print(tarsia.load_inline("int one() { return 1; }").one())

atexit.register(ask)
lib = tarsia.load_inline(slow, wait=False)
""") == (0, ["True", "1"])


def test_ctrl_c_ends_all_compiles_of_compile_all():
    assert run("""
signal.signal(signal.SIGINT, signal.default_int_handler)  # shells ignore it for what runs in the background

def interrupt():
    wait_for_the_compiler()
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt).start()
try:
    tarsia.compile_all([f"{slow}{i}" for i in range(3)], jobs=2)
except KeyboardInterrupt:
    print("interrupted")
""") == (0, ["interrupted"])


def test_a_forked_child_is_told_that_its_parent_compiles():
    assert run("""
lib = tarsia.load_inline(slow, wait=False)
child = os.fork()
if child == 0:
    try:
        lib.x0
    except tarsia.Error as error:
        sys.stdout.write("forked" if "load it again" in str(error) else str(error))
    sys.exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
""") == (0, ["forked7"])
