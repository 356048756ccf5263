"""Compiles that nobody waits for, many at once, and what a person sees meanwhile."""

import os
import pty
import random
import subprocess
import sys
import threading

import numpy as np
import pytest
from threads import at_once

import tarsia


def fresh(body):
    """A source that no cache holds."""
    return f"{body}\n// {random.getrandbits(64):x}\n"


ADD = "float add(float a, float b) { return a + b; }"
# Its own code takes the time: that of headers is kept.
SLOW = """
#include <regex>
#include <string>
#define LOOP(i) static int loop_##i(const int* x, int n) { int s = i; for (int j = 0; j < n; ++j) s = s * (i + 31) + x[j] / (j + i + 1); return s; }
LOOPS
int (*loops[])(const int*, int) = {NAMES};
bool has_digits(const std::string& text) { return std::regex_search(text, std::regex("[0-9]+(\\\\.[0-9]*)?")); }
""".replace("LOOPS", " ".join(f"LOOP({i})" for i in range(600))).replace("NAMES", ", ".join(f"loop_{i}" for i in range(600)))


def test_wait_false_gives_the_library_at_once_and_the_first_call_waits():
    lib = tarsia.load_inline(fresh(SLOW), wait=False)
    assert not lib.ready and repr(lib) == "<tarsia.Library, still compiling>"
    assert "still compiling" in lib._repr_html_()
    assert lib.has_digits("pi is 3.14") and not lib.has_digits("none")
    assert lib.ready and lib.origin == "compiled" and lib.functions == ("has_digits",)
    assert lib.wait() is True


def test_wait_tells_whether_it_is_ready():
    lib = tarsia.load_inline(fresh(SLOW), wait=False)
    assert lib.wait(0) is False
    assert lib.wait(120) is True and lib.name
    assert tarsia.load_inline("int one() { return 1; }").ready


def test_what_goes_wrong_is_raised_where_the_library_is_used():
    lib = tarsia.load_inline(fresh("int f() { return nowhere; }"), wait=False)
    for _ in range(2):
        with pytest.raises(tarsia.CompileError, match="use of undeclared identifier 'nowhere'") as caught:
            lib.f()
        assert caught.value.diagnostics[0].source_line.startswith("int f()")
    with pytest.raises(tarsia.CompileError):
        lib.wait()
    assert lib.ready
    assert repr(lib).startswith("<tarsia.Library, which failed: source does not compile") and "nowhere" in repr(lib)
    assert "which failed" in lib._repr_html_() and "nowhere" in lib._repr_html_()


def test_a_compile_whose_thread_cannot_be_started_leaves_nothing_to_wait_for(monkeypatch):
    from tarsia import _pending

    def refuse(thread):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError, match="can't start new thread"):
            tarsia.load_inline(fresh(ADD), wait=False)
    assert _pending.wait_for_all() is False
    lib = tarsia.load_inline(fresh(SLOW), wait=False)
    assert _pending.wait_for_all() is True and lib.ready


BROKEN = """int good;
int f() { return nowhere; }
"""


def test_the_line_of_the_literal_is_named_although_nobody_waited():
    lib = tarsia.load_inline(BROKEN, wait=False)
    with pytest.raises(tarsia.CompileError) as caught:
        lib.f()
    assert caught.value.diagnostics[0].origin.startswith(__file__)


def test_options_are_checked_at_once():
    with pytest.raises(TypeError, match="opt must be"):
        tarsia.load_inline(ADD, wait=False, opt="slow")


def test_an_op_is_waited_for():
    name = f"pending_{random.getrandbits(48):x}"
    lib = tarsia.load_inline(fresh(f"""
    #include <regex>
    #include <tarsia/op.h>
    TARSIA_OP({name}).forward("cpu", [](tarsia::Context& c) {{
      for (long i = 0; i < c.input(0).numel(); ++i) c.output(0).data<float>()[i] = 2 * c.input(0).data<const float>()[i];
    }});
    """), wait=False)
    assert not lib.ready
    assert tarsia.op(name)(np.array([1.5], np.float32)).tolist() == [3]
    with pytest.raises(tarsia.NotFound):
        tarsia.op(name + "_not")


def test_unload_waits():
    lib = tarsia.load_inline(fresh(ADD), wait=False)
    lib.unload()
    assert lib.origin == "unloaded" and lib.functions == ()


def test_several_threads_wait_for_one_compile():
    lib = tarsia.load_inline(fresh(SLOW), wait=False)
    assert at_once(lambda _: lib.has_digits("7"), range(4)) == [True] * 4


def test_compile_all_keeps_the_order():
    sources = [fresh(f"int value() {{ return {i}; }}") for i in range(6)]
    libs = tarsia.compile_all(sources)
    assert [lib.value() for lib in libs] == list(range(6)) and {lib.origin for lib in libs} == {"compiled"}
    assert [lib.value() for lib in tarsia.compile_all(iter(sources), jobs=1)] == list(range(6))
    assert tarsia.compile_all([]) == []


def test_compile_all_takes_options_for_all_and_for_each():
    source = fresh("int value() { return A * B; }")
    libs = tarsia.compile_all([source_with for source_with in ((source, {"defines": {"A": 2, "B": 3}}), (source, {"name": "n"}))],
                              defines={"A": 5, "B": 7})
    assert [lib.value() for lib in libs] == [6, 35] and libs[1].name == "n"


def test_compile_all_raises_the_first_error_when_all_have_ended():
    good = fresh("int value() { return 1; }")
    sources = [good, BROKEN, fresh("int g() { return also_nowhere; }")]
    with pytest.raises(tarsia.CompileError, match="nowhere") as caught:
        tarsia.compile_all(sources)
    assert caught.value.diagnostics[0].origin.startswith(__file__)
    if sys.version_info >= (3, 11):
        assert caught.value.__notes__[0] == "This is source 1 of 3 (from 0)."
        assert caught.value.__notes__[1].startswith("Source 2 failed too")
    assert tarsia.load_inline(good).origin in ("memory", "disk")
    lib, *errors = tarsia.compile_all(sources, return_exceptions=True)
    assert lib.value() == 1 and [type(error) for error in errors] == [tarsia.CompileError] * 2


@pytest.mark.parametrize("arguments, error, text", [
    (("int f();",), TypeError, "sources must be a list"),
    (({"a.cc": "int f();"},), TypeError, "sources must be a list"),
    (([3],), TypeError, "source must be a str"),
    (([("int f();", 3)],), TypeError, "a dict of load_inline's options"),
])
def test_compile_all_refuses(arguments, error, text):
    with pytest.raises(error, match=text):
        tarsia.compile_all(*arguments)


@pytest.mark.parametrize("jobs", [0, -1, True, "2", 1.5])
def test_compile_all_refuses_jobs(jobs):
    with pytest.raises(TypeError, match="jobs must be"):
        tarsia.compile_all(["int f() { return 1; }"], jobs=jobs)


def seen_in_a_terminal(program, **variables):
    """What a program writes to a terminal."""
    leader, terminal = pty.openpty()
    environment = {k: v for k, v in os.environ.items() if k not in ("CI", "TARSIA_PROGRESS")}
    process = subprocess.Popen([sys.executable, "-c", program], stderr=terminal, stdout=subprocess.PIPE,
                               env=environment | {"TERM": "xterm", "PYTHONIOENCODING": "utf-8"} | variables)
    os.close(terminal)
    seen = b""
    while True:
        try:
            more = os.read(leader, 65536)
        except OSError:  # nobody has the other end any more
            break
        if not more:
            break
        seen += more
    out = process.stdout.read()
    assert process.wait() == 0, seen.decode()
    os.close(leader)
    return seen.decode(), out


def test_a_long_compile_shows_a_line_that_goes_away():
    program = f"import tarsia; tarsia.load_inline({fresh(SLOW)!r}, name='long one')"
    seen, _ = seen_in_a_terminal(program)
    assert "Compiling long one, 0." in seen and seen.endswith("\r\033[K")
    again, _ = seen_in_a_terminal(program)
    assert again == ""  # from the cache


@pytest.mark.parametrize("variables", [{"CI": "true"}, {"TARSIA_PROGRESS": "0"}, {"TERM": "dumb"}])
def test_no_line_is_shown_where_nobody_looks(variables):
    assert seen_in_a_terminal(f"import tarsia; tarsia.load_inline({fresh(SLOW)!r})", **variables)[0] == ""


def test_a_pipe_gets_no_line():
    environment = {k: v for k, v in os.environ.items() if k not in ("CI", "TARSIA_PROGRESS")}
    done = subprocess.run([sys.executable, "-c", f"import tarsia; tarsia.load_inline({fresh(SLOW)!r})"], capture_output=True,
                          env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_compile_all_shows_a_bar():
    sources = [fresh(SLOW) for _ in range(2)]
    seen, _ = seen_in_a_terminal(f"import tarsia; tarsia.compile_all({sources!r}, jobs=1)")
    assert "1/2" in seen and "━" in seen and "Compiling the source" not in seen and seen.endswith("\r\033[K")
