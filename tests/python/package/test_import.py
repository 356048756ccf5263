"""What importing the package costs, and what it leaves alone."""

import ast
import importlib.util
import inspect
import pathlib
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


def names_of_the_stub():
    """(what the stub's __all__ has, what it defines or imports)."""
    listed, defined = [], set()
    for node in ast.parse((pathlib.Path(tarsia.__file__).parent / "__init__.pyi").read_text()).body:
        if isinstance(node, ast.Assign) and node.targets[0].id == "__all__":
            listed = ast.literal_eval(node.value)
        elif isinstance(node, ast.AnnAssign):
            defined.add(node.target.id)
        elif isinstance(node, ast.ImportFrom):
            defined.update(alias.asname for alias in node.names)
        elif isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            defined.add(node.name)
    return listed, defined


def test_each_name_that_is_imported_when_asked_for_is_public():
    """In __all__, which the stub repeats, and in the stub; submodules are in the stub alone, since `import *` is not to import them."""
    tree = ast.parse(inspect.getsource(tarsia.__getattr__))
    compared = [one for node in ast.walk(tree) if isinstance(node, ast.Compare) for one in node.comparators]
    lazy = {one.value for node in compared for one in ast.walk(node) if isinstance(one, ast.Constant)} | set(tarsia._ERRORS)
    submodules = {name for name in lazy if importlib.util.find_spec(f"tarsia.{name}")}
    assert {"torch", "testing"} <= submodules and {"Cell", "reduction", "ops", "Error"} <= lazy - submodules
    listed, defined = names_of_the_stub()
    assert sorted(lazy - submodules - set(tarsia.__all__)) == []
    assert sorted(listed) == sorted(set(listed)) == sorted(tarsia.__all__)
    assert sorted((lazy | set(tarsia.__all__)) - defined) == []
    assert [name for name in tarsia.__all__ if not hasattr(tarsia, name)] == []


def test_what_a_submodule_needs_is_told():
    for name, needed in (("torch", "PyTorch: pip install torch"), ("jax", "JAX: pip install jax")):
        said = run(f"""import sys, tarsia
sys.modules[{name!r}] = None  # not there
try: tarsia.{name}
except ImportError as error: print(error)""")
        assert f"tarsia.{name} needs {needed}" in said


def test_everything_promised_is_there():
    for name in tarsia.__all__:
        assert getattr(tarsia, name) is not None


def test_interpreters_end_with_libraries_and_functions_alive(build_library):
    path = build_library("#include <tarsia/op.h>\n#include <string>\nstatic std::string s = \"static\";\n"
                         "std::string get() { return s; }\nTARSIA_EXPORT(get)")
    out = run(f"import tarsia, atexit\nlib = tarsia.load({str(path)!r})\nf = lib.get\natexit.register(lambda: print(f()))")
    assert out == "static\n"
