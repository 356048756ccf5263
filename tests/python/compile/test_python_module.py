"""lib.python_module: extension modules of Python that a source defines."""

import gc
import pathlib
import pickle
import subprocess
import sys
import sysconfig
import textwrap
import weakref

import pytest

import tarsia

PYTHON = {"include_dirs": list({sysconfig.get_path("include"), sysconfig.get_path("platinclude")})}
MULTI = r"""
#include <Python.h>
static PyObject* number(PyObject*, PyObject*) { return PyLong_FromLong(%d); }
static PyMethodDef methods[] = {{"number", number, METH_NOARGS, "a number"}, {nullptr, nullptr, 0, nullptr}};
static int execute(PyObject* module) { return PyModule_AddIntConstant(module, "executed", 1); }
static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void*)execute}, {0, nullptr}};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "%s", nullptr, 0, methods, slots, nullptr, nullptr, nullptr};
PyMODINIT_FUNC PyInit_%s() { return PyModuleDef_Init(&definition); }
"""
SINGLE = r"""
#include <Python.h>
static int calls;
static PyObject* count(PyObject*, PyObject*) { return PyLong_FromLong(++calls); }
static PyMethodDef methods[] = {{"count", count, METH_NOARGS, ""}, {nullptr, nullptr, 0, nullptr}};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "counter", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};
PyMODINIT_FUNC PyInit_counter() { return PyModule_Create(&definition); } // %s
"""


def test_a_module_of_pythons_c_api():
    lib = tarsia.load_inline(MULTI % (7, "seven", "seven"), **PYTHON)
    module = lib.python_module("seven")
    assert module.number() == 7 and module.executed == 1
    assert lib.python_module("seven") is module and lib.python_module() is module
    assert module.__name__.endswith(".seven") and sys.modules[module.__name__] is module


def test_after_an_edit_the_new_code_is_there_beside_the_old():
    first, second = (tarsia.load_inline(MULTI % (i, "edited", "edited"), **PYTHON).python_module("edited") for i in (1, 2))
    assert (first.number(), second.number()) == (1, 2)
    assert first.__name__ != second.__name__ and first.__file__ != second.__file__


def test_modules_with_one_phase_of_initialisation_have_states_of_their_own():
    one, other = (tarsia.load_inline(SINGLE % i, name="counting", **PYTHON) for i in (1, 2))
    assert [one.python_module().count(), one.python_module().count(), other.python_module().count()] == [1, 2, 1]


def test_the_same_source_loaded_again_gives_the_same_module():
    one, other = (tarsia.load_inline(SINGLE % "twice", **PYTHON).python_module() for _ in range(2))
    assert one is other and one.count() == 1
    lib = tarsia.load_inline(SINGLE % "twice", **PYTHON)
    assert lib.python_module() is one
    lib.unload()
    assert one.count() == 2 and tarsia.load_inline(SINGLE % "twice", **PYTHON).python_module().count() == 3


def test_a_module_keeps_its_library_and_what_it_gave_works_after_both():
    lib = tarsia.load_inline(MULTI % (9, "kept", "kept"), **PYTHON)
    module, seen = lib.python_module(), weakref.ref(lib)
    del lib
    gc.collect()
    assert seen() is not None and module.number() == 9
    number = module.number
    seen().unload()
    assert module.__name__ not in sys.modules
    del module
    gc.collect()
    assert number() == 9


def test_several_modules_in_one_library():
    source = {"a.cc": MULTI % (1, "one", "one"), "b.cc": MULTI % (2, "two", "two")}
    lib = tarsia.load_inline(source, **PYTHON)
    assert [lib.python_module(name).number() for name in ("one", "two")] == [1, 2]
    with pytest.raises(tarsia.NotFound, match="several extension modules of Python; name one: it has one, two"):
        lib.python_module()
    with pytest.raises(tarsia.NotFound, match="no extension module 'three' of Python; it has one, two"):
        lib.python_module("three")


def test_a_library_without_modules_says_how_to_define_one():
    lib = tarsia.load_inline("int f() { return 1; }")
    with pytest.raises(tarsia.NotFound, match="no extension module 'm' of Python; it has none: define one with PYBIND11_MODULE"):
        lib.python_module("m")
    assert lib.f() == 1


def test_a_module_whose_initialisation_fails_raises_its_error_and_leaves_nothing():
    lib = tarsia.load_inline('#include <Python.h>\nPyMODINIT_FUNC PyInit_bad() {'
                             ' PyErr_SetString(PyExc_ImportError, "not today"); return nullptr; }', **PYTHON)
    before = set(sys.modules)
    with pytest.raises(ImportError, match="not today"):
        lib.python_module("bad")
    assert {name for name in set(sys.modules) - before if "bad" in name} == set()


def test_names_that_are_not_ascii():
    lib = tarsia.load_inline(MULTI.replace("PyInit_%s", "PyInitU_%s") % (3, "größe", "gre_y4a5k"), **PYTHON)
    (name,) = [symbol for symbol in lib.symbols if symbol.startswith("PyInitU_")]
    assert "PyInitU_" + "größe".encode("punycode").decode().replace("-", "_") != name or lib.python_module("größe").number() == 3


def test_a_compiled_file_has_its_modules(tmp_path):
    tarsia.compile(MULTI % (5, "five", "five"), tmp_path / "five.so", **PYTHON)
    assert tarsia.load(tmp_path / "five.so").python_module("five").number() == 5
    code = "import five; print(five.number())"  # it is an extension module of its own
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "5\n", done.stderr


CLASSES = r"""
#include <nanobind/nanobind.h>
struct Point { int x; };
NB_MODULE(shapes, m) {
  nanobind::class_<Point>(m, "Point").def(nanobind::init<int>()).def_rw("x", &Point::x)
      .def("__getstate__", [](const Point& p) { return p.x + %d - %d; })
      .def("__setstate__", [](Point& p, int x) { new (&p) Point{x}; });
}
"""


def nanobind_options(tmp_path):
    nanobind = pytest.importorskip("nanobind")
    root = pathlib.Path(nanobind.include_dir()).parent
    return {"include_dirs": [nanobind.include_dir(), root / "ext" / "robin_map" / "include", *PYTHON["include_dirs"]],
            "cflags": ["-fno-strict-aliasing"]}, (root / "src" / "nb_combined.cpp")


def test_modules_of_nanobind_and_pickles_of_their_objects(tmp_path):
    options, combined = nanobind_options(tmp_path)
    options["include_dirs"].append(combined.parent)
    # Each module has types of its own.
    options["defines"] = {"NB_DOMAIN": "shapes1"}
    sources = [CLASSES % (i, i) + f'#include "{combined.name}"\n' for i in (1, 2)]
    one = tarsia.load_inline(sources[0], **options).python_module("shapes")
    point = pickle.loads(pickle.dumps(one.Point(3)))
    assert type(point) is one.Point and point.x == 3
    options["defines"] = {"NB_DOMAIN": "shapes2"}
    other = tarsia.load_inline(sources[1], **options).python_module("shapes")
    assert other.Point(4).x == 4 and other.Point is not one.Point


def pybind11_options():
    torch = pytest.importorskip("torch")
    return {"include_dirs": [pathlib.Path(torch.__file__).parent / "include", *PYTHON["include_dirs"]]}


BOUND = r"""
#include <pybind11/pybind11.h>
#include <stdexcept>
#include <string>
namespace py = pybind11;
struct Counter { int n = 0; int next() { return n += %d; } };
PYBIND11_MODULE(counting, m) {
  m.doc() = "counts";
  m.def("fail", [](const std::string& text) { throw std::invalid_argument(text); });
  py::class_<Counter>(m, "Counter").def(py::init<>()).def("next", &Counter::next).def(py::pickle(
      [](const Counter& c) { return py::make_tuple(c.n); },
      [](py::tuple t) { Counter c; c.n = t[0].cast<int>(); return c; }));
}
"""


def test_modules_of_pybind11_and_again_after_an_edit():
    options = pybind11_options()
    one = tarsia.load_inline(BOUND % 1, **options).python_module("counting")
    counter = one.Counter()
    assert (counter.next(), counter.next(), one.__doc__) == (1, 2, "counts")
    assert pickle.loads(pickle.dumps(counter)).next() == 3
    with pytest.raises(ValueError, match="no good"):
        one.fail("no good")
    other = tarsia.load_inline(BOUND % 10, **options).python_module("counting")
    assert other.Counter().next() == 10 and one.Counter().next() == 1


def test_it_is_not_imported_before_it_is_asked_for(tmp_path):
    code = f"""
        import sys, tarsia
        lib = tarsia.load_inline({MULTI % (1, "late", "late")!r}, include_dirs={PYTHON["include_dirs"]!r})
        print("tarsia._python_module" in sys.modules, [name for name in sys.modules if "late" in name])
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True)
    assert done.stdout == "False []\n", done.stderr
