"""What happens at limits of this process and of a source: texts that are too large, no file descriptors left."""

import os
import subprocess
import sys

import pytest

import tarsia

MOST = 64 << 20  # bytes of a source


def peak_of(call):
    """By how many bytes the memory of this process grew at most during a call."""
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")

    def status(name):
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) << 10 for line in file if line.startswith(name))

    before = status("VmRSS")
    call()
    return status("VmHWM") - before


@pytest.mark.parametrize("how", ["str", "bytes", "dict", "headers", "compile"])
def test_a_source_that_is_too_large_is_refused_before_it_is_copied(how):
    text = "x" * (2 * MOST)
    source = {"str": text, "bytes": text.encode(), "dict": {"a.cc": "", "b.cc": text}}.get(how, text)

    def load():
        with pytest.raises(tarsia.InvalidSource, match="larger than 64 MiB"):
            if how == "headers":
                tarsia.load_inline("", headers={"h.h": text})
            elif how == "compile":
                tarsia.compile(source, "/nonexistent/out.so")
            else:
                tarsia.load_inline(source)

    load()  # what is imported for an error is there
    assert peak_of(load) < MOST / 4


# Runs a source at every number of descriptors that may be left, and says what came of it.
WITHOUT_DESCRIPTORS = """
import os, resource, sys
import tarsia
lowest = os.dup(0)
os.close(lowest)
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
try:
    for left in range(int(sys.argv[1]), int(sys.argv[2])):
        resource.setrlimit(resource.RLIMIT_NOFILE, (lowest + left, hard))
        try:
            lib = tarsia.load_inline(sys.argv[3].replace("LEFT", str(left)))
            outcome = str(lib.f())
        except BaseException as error:
            outcome = f"{type(error).__module__}.{type(error).__name__}: {error}"
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        print(left, outcome.splitlines()[0])
finally:
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
"""


def without_descriptors(begin, end, source, tmp_path):
    done = subprocess.run([sys.executable, "-c", WITHOUT_DESCRIPTORS, str(begin), str(end), source], capture_output=True,
                          text=True, timeout=280, env={**os.environ, "TARSIA_CACHE_DIR": str(tmp_path / "cache")})
    assert done.returncode == 0, done.stderr
    return [line.split(" ", 1)[1] for line in done.stdout.splitlines()]


def names_the_limit(outcome):
    return outcome.startswith("tarsia.ResourceLimit: ") and "ulimit -n" in outcome


def test_a_compile_beside_the_caller_says_so_too(tmp_path):
    code = WITHOUT_DESCRIPTORS.replace('str(left)))', 'str(left)), wait=False)')
    assert "wait=False" in code
    for left in range(12):
        done = subprocess.run([sys.executable, "-c", code, str(left), str(left + 1), "int f() { return 7 + LEFT * 0; }"],
                              capture_output=True, text=True, timeout=280,
                              env={**os.environ, "TARSIA_CACHE_DIR": str(tmp_path / "cache")})
        outcome = done.stdout.split(" ", 1)[1].strip()
        assert outcome == "7" or names_the_limit(outcome), outcome


def test_a_long_compile_goes_on_without_descriptors(tmp_path):
    """A line of progress is shown after half a second, by a module that is not there yet."""
    source = "template <int n> struct S { S<n - 1> s; int f() { return s.f() + n; } }; template <> struct S<0> { int f()" \
             " { return LEFT * 0; } }; int f() { return 7 + 0 * S<800>().f(); }"
    outcomes = without_descriptors(10, 11, source, tmp_path)
    assert outcomes == ["7"] or names_the_limit(outcomes[0]), outcomes


LATE = {"load": "tarsia.load(sys.argv[2])", "elementwise": "tarsia.elementwise('T x', 'T y', 'y = x')", "reduction": "tarsia.reduction('T x', 'T y', 'x', 'a + b')",
        "Session": "tarsia.Session()", "isolated": "tarsia.Session(isolated=True)", "define_op": "tarsia.define_op('x')", "Graph": "tarsia.Graph()",
        "ops": "tarsia.ops", "RowSparse": "tarsia.RowSparse", "torch": "tarsia.torch", "jax": "tarsia.jax", "stats": "tarsia.stats()",
        "doctor": "tarsia.doctor()", "mobula": "import tarsia.mobula", "testing": "from tarsia import testing", "no_compile": "tarsia.no_compile()",
        "template": "lib.t['float']", "wait": "tarsia.load_inline('int h();', wait=False)"}


@pytest.mark.parametrize("what", LATE)
def test_what_is_imported_late_says_so_without_descriptors(what, tmp_path):
    (tmp_path / "x.cu").write_text("int f() { return 7; }")
    code = f"""
import os, resource, sys
import tarsia
lib = tarsia.load_inline("int f() {{ return 7; }} template <class T> __global__ void t(T* x) {{}}")
lib.f()
lowest = os.dup(0)
os.close(lowest)
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, hard))
try:
    {LATE[what]}
except BaseException as caught:
    error = caught
else:
    error = None
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
print(f"{{type(error).__module__}}.{{type(error).__name__}}: {{error}}")
"""
    done = subprocess.run([sys.executable, "-c", code, "", str(tmp_path / "x.cu")], capture_output=True, text=True, timeout=280)
    assert names_the_limit(done.stdout), done


# Each begins without any of the modules that an error, or a long compile, may need.
@pytest.mark.parametrize("left", [*range(12), 14, 18, 24])
def test_without_descriptors_a_load_says_so(left, tmp_path):
    [outcome] = without_descriptors(left, left + 1, "int f() { return 7 + LEFT * 0; }", tmp_path)
    assert outcome == "7" or names_the_limit(outcome), outcome


def test_errors_of_a_source_are_its_own_without_descriptors(tmp_path):
    source = "int f() { return LEFT + nothing; }"
    outcomes = without_descriptors(0, 24, source, tmp_path)
    assert len(outcomes) == 24
    for outcome in outcomes:
        assert outcome.startswith("tarsia.CompileError: ") or names_the_limit(outcome), outcome
    [outcome] = without_descriptors(40, 41, source, tmp_path)
    assert outcome.startswith("tarsia.CompileError: "), outcome


def test_nothing_wrong_is_kept_when_descriptors_were_short(tmp_path):
    source = "#include <vector>\nint f() { return std::vector<int>(7).size(); }"
    outcomes = without_descriptors(0, 30, source, tmp_path)
    assert len(outcomes) == 30 and all(outcome == "7" or names_the_limit(outcome) for outcome in outcomes), outcomes
    assert without_descriptors(40, 41, source, tmp_path) == ["7"]
