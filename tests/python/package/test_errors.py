"""The classes of errors: one for each row of <tarsia/detail/error_rows.h>, known by a public name and documented."""

import ast
import builtins
import importlib
import importlib.util
import pickle
import pkgutil
import re
import subprocess
import sys
import traceback
import warnings
from pathlib import Path

import numpy as np
import places
import pytest

import tarsia
import tarsia.mobula.func
from pages import DOCS

HEADER = places.REPO / "include/tarsia/detail/error_rows.h"
ROWS = re.findall(r"^\s*X\((TARSIA_\w+),\s*(\d+),\s*(\w+),\s*(\w+),\s*(\w+)\)", HEADER.read_text(), re.MULTILINE)

# Throws each error as a library's own code can: with a code of the table.
THROWS = """
#include <tarsia/op.h>
int codes[] = {
#define TARSIA_DETAIL_ROW(code_, number_, enumerator_, cpp_, python_) code_,
    TARSIA_DETAIL_ERROR_ROWS(TARSIA_DETAIL_ROW)
#undef TARSIA_DETAIL_ROW
};
int n() { return sizeof(codes) / sizeof(codes[0]); }
int code(int i) { return codes[i]; }
void fail(int i) { throw tarsia::CallError(codes[i], "as asked"); }
"""


def test_each_code_raises_its_class():
    lib = tarsia.load_inline(THROWS)
    assert lib.n() == len(ROWS) > 0
    for i, (name, number, _, _, python) in enumerate(ROWS):
        assert lib.code(i) == int(number), name
        with pytest.raises(tarsia.Error, match="as asked") as caught:
            lib.fail(i)
        assert type(caught.value) is getattr(tarsia, python), name


def test_numbers_are_given_once():
    numbers = [int(number) for _, number, _, _, _ in ROWS]
    assert numbers == list(range(1, len(ROWS) + 1))


def test_all_classes_are_documented():
    for language, column in (("python", 4), ("cpp", 3)):
        page = (DOCS / f"{language}.md").read_text()
        missing = [row[column] for row in ROWS if not re.search(rf"`{row[column]}`|`tarsia::{row[column]}`", page)]
        assert missing == [] or missing == ["Error"], language


# What the package does not bring along, and which of its modules import it.
NEEDS = {
    "torch": r"tarsia\.(_torch\.(expression|gradient|old_function|ops|pair|register)|mobula\.glue\.torch_glue|torch)",
    "jax": r"tarsia\.(_jax\.call|jax)",
    "cupy": r"tarsia\.mobula\.glue\.cupy_glue",
    "IPython": r"tarsia\.(_ipython|_jupyter\.(__main__|kernel))",
    "ipykernel": r"tarsia\._jupyter\.(__main__|kernel)",
    "prompt_toolkit": r"tarsia\._session\.(lexer|toolkit)",
    "pygments": r"tarsia\.(_ipython|_jupyter\.(__main__|kernel)|_session\.lexer)",
}
# The package's modules; its shared libraries beside them look like some.
MODULES = [one.name for one in pkgutil.walk_packages(tarsia.__path__, "tarsia.") if not one.name.startswith("tarsia.lib")]


def is_lacking(module):
    """Whether this machine has not what a module of the package imports."""
    return any(re.fullmatch(modules, module) and importlib.util.find_spec(needed) is None for needed, modules in NEEDS.items())


def modules():
    """The package's modules, but those that import what is not there."""
    return [importlib.import_module(name) for name in MODULES if not is_lacking(name)]


@pytest.mark.parametrize("name", MODULES)
def test_each_module_of_the_package_can_be_imported(name):
    for needed in [needed for needed, modules in NEEDS.items() if re.fullmatch(modules, name)]:
        pytest.importorskip(needed)
    importlib.import_module(name)


def exceptions():
    """All classes of exceptions that the package's modules define or hold."""
    found = set()
    for module in modules():
        found |= {one for one in vars(module).values() if isinstance(one, type) and issubclass(one, BaseException)
                  and one.__module__.split(".")[0] == "tarsia"}
    waiting = [tarsia.Error]
    while waiting:
        waiting += [one for one in waiting.pop().__subclasses__() if one.__module__.startswith("tarsia") and one not in found
                    and not found.add(one)]
    return found


def test_every_exception_shows_its_public_name():
    found = exceptions()
    assert {tarsia.CompileError, tarsia.MissingFunction, tarsia.Interrupted} <= found
    for one in found:
        assert one.__module__ == "tarsia" and getattr(tarsia, one.__qualname__) is one, one
    with pytest.raises(tarsia.NotFound) as caught:
        tarsia.op("no_such_op_at_all")
    text = "".join(traceback.format_exception_only(type(caught.value), caught.value))
    assert text.startswith("tarsia.NotFound: ")
    assert type(pickle.loads(pickle.dumps(caught.value))) is tarsia.NotFound


def test_so_do_those_raised_before_the_extension_is_there():
    code = """
import sys
sys.modules["tarsia._tarsia"] = None  # cannot be imported
try:
    import tarsia
except ImportError:
    from errno import EMFILE
    early = sys.modules["tarsia._errors"].of_import(OSError(EMFILE, "Too many open files"))
    raise early from None
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "\ntarsia.ResourceLimit: " in done.stderr, done.stderr


ARRAY = np.zeros(3, np.float32)


@pytest.mark.parametrize("call, kind, said", [
    (lambda: tarsia.seed(-1), ValueError, r"seed\(\) takes an int from 0 to 2\*\*64 - 1, not int -1"),
    (lambda: tarsia.seed(2**64), ValueError, r"from 0 to 2\*\*64 - 1, not int 18446744073709551616"),
    (lambda: tarsia.seed("a"), TypeError, "from 0 to .*, not str 'a'"),
    (lambda: tarsia.seed(1.5), TypeError, "from 0 to .*, not float 1.5"),
    (lambda: tarsia.op(5), TypeError, r"op\(\) takes the name of a registered op, a str, not int 5"),
    (lambda: tarsia.load_inline(foo=1), TypeError, r"load_inline\(\) is missing its argument 'source': pass C\+\+ or CUDA text"),
    (lambda: tarsia.load_inline("int f();", foo=1), TypeError, "unexpected keyword argument 'foo'; it takes functions, headers"),
    (lambda: tarsia.load_inline("int f();", definse={}), TypeError, "did you mean 'defines'"),
    (lambda: tarsia.load(), TypeError, r"load\(\) is missing its argument 'path'"),
    (lambda: tarsia.compile("int f();"), TypeError, r"compile\(\) is missing its argument 'output'"),
    (lambda: tarsia.ops.nosuch, AttributeError, "there is no op 'nosuch'.*load (a|the) library that registers it first"),
    (lambda: tarsia.ops["nosuch"], LookupError, "there is no op 'nosuch'.*load (a|the) library that registers it first"),
    (lambda: tarsia.load("x.cuh"), tarsia.LoadError, "x.cuh is a header by its suffix: .*include it in a source, or give the file"),
    (lambda: tarsia.sparse_parts(ARRAY), TypeError, "is no sparse tensor"),
])
def test_each_wrong_use_is_an_error_of_tarsias_that_says_the_remedy(call, kind, said):
    with pytest.raises(tarsia.Error, match=said) as caught:
        call()
    assert isinstance(caught.value, kind)


def test_an_op_says_what_it_takes():
    library = tarsia.load_inline('#include <tarsia/op.h>\nTARSIA_OP(takes_x).forward("cpu", [](tarsia::Context&) {});')
    for call in (lambda: tarsia.ops.takes_x(5), lambda: tarsia.ops.takes_x([1, 2]), lambda: tarsia.ops.takes_x.bind(5)):
        with pytest.raises(tarsia.ArgumentTypeError, match="takes_x: input 0 'x' must be a tensor of numbers, such as a NumPy array, got"):
            call()
    library.unload()


def test_seeds_are_numbers_of_any_kind():
    tarsia.load_inline("""
#include <tarsia/op.h>

#include <random>

static void draw(tarsia::Context& context) {
  context.output(0).data<double>()[0] = double((*context.random_states<std::mt19937>())());
}

TARSIA_OP(draw_of_seed).input("x").output("y").forward("cpu", draw);
""")
    x = np.zeros(1)

    def drawn(seed):
        tarsia.seed(seed)
        return float(tarsia.ops.draw_of_seed(x)[0])

    assert drawn(7) == drawn(np.int64(7))
    assert drawn(1) == drawn(True) != drawn(0)
    assert drawn(2**64 - 1) not in (drawn(0), drawn(1), drawn(7))


# Python's own protocols ask for these; what an op's Python functions raise becomes an error of the op,
# and the end of a session's process one of the cell.
PROTOCOL = {"AttributeError": {"__init__.py", "_expressions/expression.py", "_graph/graph.py", "_library.py", "_ops.py", "_torch/extension.py", "mobula/func.py", "mobula/internal/edict.py", "mobula/op/__init__.py"},
            "ImportError": {"jax.py", "_python_module.py", "_sparse.py"},
            "ModuleNotFoundError": {"torch.py"}, "RuntimeError": {"_torch/register.py"}, "TypeError": {"_define/added.py", "_define/define.py", "_define/attributes.py"}, "ValueError": {"_define/define.py"},
            "NotImplementedError": {"_expressions/expression.py"}, "EOFError": {"_session/isolated.py"}}


def test_the_package_raises_no_others():
    package = Path(tarsia.__file__).resolve().parent
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            raised = node.exc if isinstance(node, ast.Raise) else None
            name = getattr(getattr(raised, "func", raised), "id", "")
            if isinstance(getattr(builtins, name, None), type) and issubclass(getattr(builtins, name), Exception):
                assert path.relative_to(package).as_posix() in PROTOCOL.get(name, ()), f"{path}:{node.lineno} raises {name}"


MISTAKES = {
    "elementwise(5)": "pass inputs, outputs and the operation",
    "elementwise('T x', 'T y', 5)": "operation must be a str",
    "reduction('T x')": "pass inputs, outputs, map and reduce",
    "reduction()": "pass inputs, outputs, map and reduce",
    "testing.check('o', foo=5)": "pass the op, and shapes, dtypes",
    "testing.check('o', shapes=5)": "shapes must be a list",
    "testing.check('o', shapes=[5])": "each of shapes must be a list",
    "testing.check('o', shapes=[('a',)])": "shapes hold extents",
    "testing.check('o', shapes=[(3,)], storages=['x'])": "storages are 'dense'",
    "testing.check('o', attributes=5)": "attributes must be a dict",
    "testing.check(5)": "op must be an op or its name",
    "testing.check('o', seed='x')": "seed must be an int",
    "testing.assert_op()": "pass the op, and shapes, dtypes",
    "RowSparse(1, 2, 3)": "data must be an array",
    "RowSparse(1)": "pass data, indices and shape",
    "RowSparse(np.ones((1, 2)), np.zeros(1, int), 3)": "shape must be a tuple of ints",
    "sparse_parts()": "pass a sparse tensor",
    "doctor(5)": "it takes no arguments",
    "stats(5)": "it takes no arguments",
    "seed()": "pass an int from 0",
    "Range('a')": "at_least must be a number or None",
    "Range(5, 1)": "no number is at least 5 and at most 1",
    "Range(1, 2, 3)": "pass the least and the greatest value",
    "load_inline('int f(int n) { return n; }').f[1, 2]": "f is a function, and is called as f",
    "load_inline('int f(int n) { return n; }', opt='fastest')": "opt must be an int from 0 to 3 or 'fast'",
}


@pytest.mark.parametrize("call", MISTAKES)
def test_calls_of_the_package_with_wrong_arguments_say_what_to_pass(call):
    import tarsia.testing

    with pytest.raises(tarsia.Error) as caught:
        eval(f"tarsia.{call}", {"tarsia": tarsia, "np": np})
    assert isinstance(caught.value, (TypeError, ValueError)) and MISTAKES[call] in str(caught.value), str(caught.value)


class Nothing:
    """What no function of the package takes."""


def calls_of_the_package():
    """Functions of the package and methods of its objects, by name; but those that Python makes, and classes without a constructor."""
    library = tarsia.load_inline("""#include <tarsia/op.h>
int f(int n) { return n; }
template <class T> __global__ void t(T* x) {}
__global__ void k(int* p) {}
TARSIA_OP(called_wrongly).input("x").output("y").forward("cpu", [](tarsia::Context&) {});""")
    op, session, graph = tarsia.op("called_wrongly"), tarsia.Session(), tarsia.Graph()
    graph.output(graph.called_wrongly(graph.input("x", (3,), "float32")))
    bound = graph.bind(x=ARRAY)
    objects = [library, session, session.run("1"), graph, op, op.bind(ARRAY), library.f, library.k, library.t, bound, bound.plan,
               tarsia.elementwise("T x", "T y", "y = x")]
    found = {}
    for one in objects:
        for name, value in ((name, getattr(type(one), name)) for name in dir(type(one)) if not name.startswith("_")):
            if callable(value):
                found[f"{type(one).__name__}.{name}"] = getattr(one, name)
    for name in tarsia.__all__:
        value = getattr(tarsia, name)
        if callable(value) and (not isinstance(value, type) or value in (tarsia.Session, tarsia.Graph, tarsia.RowSparse, tarsia.Range)):
            found[name] = value
    return found


def test_whatever_is_called_wrongly_raises_tarsias_errors(tmp_path):
    others = []
    for name, call in calls_of_the_package().items():
        for arguments, keywords in (([Nothing()] * 9, {}), ([], {"no_such_argument": 1}), ([Nothing()], {}), ([None], {}), ([], {})):
            if not arguments and not keywords and name.partition(".")[2] in ("unload", "undo"):
                continue
            try:
                call(*arguments, **keywords)
            except tarsia.Error:
                pass
            except Exception as error:
                others.append(f"{name}: {type(error).__name__}: {error}")
    assert others == []
    for path in (tmp_path / "no" / "x.cpp", tmp_path):
        with pytest.raises(tarsia.Error, match="cannot write '"):
            tarsia.Session().save(path)
    with pytest.raises(tarsia.ArgumentTypeError, match=r"missing 1 required .*'name'; it is called as input\(name, shape=None"):
        tarsia.Graph().input()


def test_fast_is_a_level_of_optimisation():
    source = "int f(int n) { return n + 1; }"
    tarsia.load_inline(source, dev=True)
    assert tarsia.load_inline(source, opt="fast").origin == "memory"


def public_modules():
    """The package and its submodules that say what is public."""
    return [tarsia, *(one for one in modules() if hasattr(one, "__all__") and not any(part.startswith("_") for part in one.__name__.split(".")))]


def public_callables():
    for module in public_modules():
        for name in module.__all__:
            value = getattr(module, name)
            if callable(value) and not (isinstance(value, type) and issubclass(value, Exception)):  # which Python makes
                yield f"{module.__name__}.{name}", value


WRONG = [((), {"no_such_argument": 1}), ((1,) * 30, {}), ((1,) * 30, {"no_such_argument": 1}), ((), {}), ((b"\0",), {}), ((object(),), {}),
         ((3,), {}), ((3, 3), {}), ((None, None, None), {})]
# They change the process, or end when somebody types.
NOT_CALLED_RIGHT = {"tarsia.compat.install"}


# Classes that programs call.
CALLED = {"tarsia.Diagnostic", "tarsia.Graph", "tarsia.Range", "tarsia.RowSparse", "tarsia.Session", "tarsia.torch.Registered"}


def test_a_class_that_programs_do_not_call_says_what_gives_its_objects():
    classes = {name: one for name, one in public_callables() if isinstance(one, type) and not name.startswith("tarsia.mobula.")}
    assert CALLED - {"tarsia.torch.Registered"} <= classes.keys()
    classes = {name: one for name, one in classes.items() if name not in CALLED} | {"MobulaFunc": tarsia.mobula.func.MobulaFunc}
    assert {"tarsia.Cell", "tarsia.Expression", "tarsia.KernelTemplate", "tarsia.Plan", "tarsia.testing.Report"} <= classes.keys()
    for name, one in classes.items():
        for args, keywords in (((), {}), (({},), {}), ((None,), {}), ((tarsia.Graph(), 3), {}), ((1,) * 4, {"no_such_argument": 1})):
            with pytest.raises(tarsia.ArgumentTypeError, match=rf"^{one.__name__}\(\) is not for programs; \w.* (get|give|gives|is|makes) "):
                one(*args, **keywords)
                pytest.fail(f"{name} takes {args}")


def test_every_wrong_call_of_a_public_name_is_an_error_of_tarsias(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = dict(public_callables())
    assert {"tarsia.load", "tarsia.Graph", "tarsia.Function", "tarsia.testing.check", "tarsia.tvm_ffi.options"} <= set(names)
    wrong = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, value in names.items():
            others = name in NOT_CALLED_RIGHT or name.startswith("tarsia.mobula.")  # values are checked as MobulaOP's package does
            for args, keywords in WRONG[:3] if others else WRONG:
                try:
                    value(*args, **keywords)
                except tarsia.Error as error:
                    if type(error).__module__ != "tarsia" or not str(error):
                        wrong.append((name, args, keywords, repr(error)))
                except Exception as error:
                    wrong.append((name, args[:3], keywords, repr(error)))
    assert not wrong, "\n".join(map(str, wrong))


def public_objects():
    """An object of each public class that programs get, and of those that such objects give."""
    library = tarsia.load_inline("""
#include <tarsia/op.h>
template <class T> __global__ void filled(T* p) { *p = 1; }
__global__ void plain(float* p) { *p = 1; }
double twice(double x) { return 2 * x; }
""")
    graph = tarsia.Graph()
    x = graph.input("x")
    graph.output(tarsia.ops.relu(x))
    scale = tarsia.elementwise("T x", "T y", "y = 2 * x", "scale")
    objects = [library, library.twice, library.plain, library.filled, library.plain[1, 1], graph, x, graph.bind(x=ARRAY),
               graph.bind(x=ARRAY).plan, tarsia.ops, tarsia.op("relu"), tarsia.op("relu").bind(ARRAY), scale, tarsia.Range(0, 1),
               tarsia.RowSparse(np.zeros((1, 2)), np.zeros(1, int), (3, 2)), tarsia.testing.check("relu"), tarsia.testing.check("relu").checks[0]]
    session = tarsia.Session()
    return [*objects, session, session.run("1 + 1")]


def test_what_a_public_object_lacks_is_told_with_its_public_name():
    wrong = []
    for one in public_objects():
        with pytest.raises(AttributeError) as caught:
            one.no_such_attribute
        assert not hasattr(type(one), "no_such_attribute")
        module = type(one).__module__
        module = module if isinstance(module, str) else "tarsia"  # of a type whose objects have a __module__ of their own
        if isinstance(caught.value, tarsia.Error):  # such as MissingFunction
            continue
        if not re.search(rf"'({module}\.)?{type(one).__qualname__}'", str(caught.value)) and "'tarsia.Expression'" not in str(caught.value):
            wrong.append(str(caught.value))
        if module.split(".")[0] == "tarsia" and any(part.startswith("_") for part in module.split(".")):
            wrong.append(repr(type(one)))
    assert not wrong, "\n".join(wrong)


def test_every_class_whose_name_is_public_is_found_by_it():
    """As pickle and a reader of a traceback look for it."""
    public_objects()  # imports the modules of what they show
    from tarsia._graph import bound, plan  # noqa: F401

    classes = {value for name, module in list(sys.modules.items()) if name.startswith("tarsia.") for value in vars(module).values()
               if isinstance(value, type) and value.__module__ == "tarsia"}
    assert len(classes) > 20
    assert [one for one in classes if getattr(tarsia, one.__qualname__.split(".")[0], None) is None] == []


def test_bytes_are_no_input_of_a_graph():
    graph = tarsia.Graph()
    with pytest.raises(tarsia.ArgumentTypeError, match="graph: it takes no inputs, and got 1"):
        graph(b"\0")
    graph.output(tarsia.ops.relu(graph.input("x")))
    for wrong in (b"\0", bytearray(4), object(), "x", None, 5):
        for call in (lambda: graph(wrong), lambda: graph(x=wrong), lambda: graph.bind(x=wrong)):
            with pytest.raises(tarsia.ArgumentTypeError, match="input 'x' is an array or "):
                call()
    for wrong in (b"\0", object(), "x", None):
        with pytest.raises(tarsia.ArgumentError):
            graph.bind(x=ARRAY)(wrong)
