"""What importing the package costs, and what it leaves alone."""

import subprocess
import sys

import tarsia


def run(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_brings_no_heavy_module():
    heavy = "numpy torch inspect ast json re typing dataclasses enum ctypes subprocess linecache difflib".split()
    seen = run(f"import sys; before = set(sys.modules); import tarsia; "
               f"print(sorted(set({heavy}) & (set(sys.modules) - before)))")
    assert seen.strip() == "[]"


def test_the_version_is_the_library_s():
    assert tarsia.__version__.count(".") == 2


def test_everything_promised_is_there():
    for name in tarsia.__all__:
        assert getattr(tarsia, name) is not None


def test_interpreters_end_with_libraries_and_functions_alive(build_library):
    path = build_library("#include <tarsia/op.h>\n#include <string>\nstatic std::string s = \"static\";\n"
                         "std::string get() { return s; }\nTARSIA_EXPORT(get)")
    out = run(f"import tarsia, atexit\nlib = tarsia.load({str(path)!r})\nf = lib.get\natexit.register(lambda: print(f()))")
    assert out == "static\n"
