"""Copies and pickles of libraries, functions, kernels and ops, and processes that get them."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

import tarsia

SOURCE = """
    #include <tarsia/op.h>
    namespace ns { float half(float x) { return x / 2; } }
    int add(int a, int b) { return a + b; }
    double add(double a, double b) { return a + b; }
    static void run(tarsia::Context& c) {
      const tarsia::Tensor x = c.input(0), y = c.output(0);
      for (long i = 0; i < x.numel(); ++i) y.data<float>()[i] = 2 * x.data<const float>()[i];
    }
    TARSIA_OP(pickled_double).input("x").output("y").forward("cpu", run);
"""


def load():
    return tarsia.load_inline(SOURCE, "pickled")


def in_a_fresh_process(thing, code, folder):
    """Runs code with the unpickled thing as `it`; gives what it prints."""
    (folder / "thing.pickle").write_bytes(pickle.dumps(thing))
    text = f"import pickle\nit = pickle.load(open({str(folder / 'thing.pickle')!r}, 'rb'))\n{code}"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_copies_are_the_thing_itself():
    lib = load()
    for thing in (lib, lib.add, lib["ns::half"], tarsia.op("pickled_double")):
        assert copy.copy(thing) is thing and copy.deepcopy({"it": [thing]})["it"][0] is thing


def test_a_library_goes_to_another_process_and_comes_from_the_cache(tmp_path):
    assert in_a_fresh_process(load(), "print(it.name, it.origin, it.add(1, 2), it.half(3.0))", tmp_path) == "pickled disk 3 1.5"


def test_functions_go_to_another_process(tmp_path):
    lib = load()
    lib.add.release_gil = False
    printed = in_a_fresh_process([lib, lib.add, lib.half], "print(it[1](1, 2), it[1](1.5, 2), it[2](3.0), it[1].release_gil, "
                                 "it[0].name)", tmp_path)
    assert printed == "3 3.5 1.5 False pickled"


def test_a_source_that_still_compiles_can_be_pickled(tmp_path):
    lib = tarsia.load_inline("int late() { return 7; }", wait=False)
    assert in_a_fresh_process(lib, "print(it.late())", tmp_path) == "7"


def test_ops_go_to_another_process(tmp_path):
    load()
    op = tarsia.op("pickled_double")
    code = "import numpy as np; print(it(np.ones(2, 'float32')), it.name)"
    assert in_a_fresh_process(op, code, tmp_path) == "[2. 2.] pickled_double"


def test_an_op_that_is_here_already_stays():
    load()
    op = tarsia.op("pickled_double")
    bound = op.bind(np.ones(2, "float32"))
    again = pickle.loads(pickle.dumps(op))
    assert again(np.ones(2, "float32")).tolist() == [2, 2] and bound(np.ones(2, "float32")).tolist() == [2, 2]


def test_an_op_of_a_library_that_another_replaced_is_the_others(tmp_path):
    load()
    other = tarsia.load_inline(SOURCE.replace("= 2 *", "= 3 *"))
    op = tarsia.op("pickled_double")
    code = "import numpy as np; print(it(np.ones(1, 'float32')))"
    assert in_a_fresh_process(op, code, tmp_path) == "[3.]"
    other.unload()
    with pytest.raises(tarsia.NotFound):
        pickle.dumps(op)


def test_things_that_are_unpickled_apart_share_their_library(tmp_path):
    lib = tarsia.load_inline("static int calls = 0; int next() { return ++calls; } int last() { return calls; }")
    (tmp_path / "last.pickle").write_bytes(pickle.dumps(lib.last))
    (tmp_path / "lib.pickle").write_bytes(pickle.dumps(lib))
    code = f"""
import copy, gc, pathlib, weakref
folder = pathlib.Path({str(tmp_path)!r})
it(), it()
last = pickle.loads((folder / "last.pickle").read_bytes())
again = pickle.loads(pickle.dumps(last))
lib = pickle.loads((folder / "lib.pickle").read_bytes())
print(last(), again(), lib.last(), it._recipe.library is lib)
gone = weakref.ref(lib)
del it, last, again
gc.disable()
del lib
print(gone() is None)
"""
    assert in_a_fresh_process(lib.next, code, tmp_path) == "2 2 2 True\nTrue"


def test_a_library_that_this_process_has_loaded_is_the_one_that_a_pickle_means():
    source = "static int calls = 0; int next() { return ++calls; } int own_library() { return 1; }"
    lib = tarsia.load_inline(source)
    assert lib.next() == 1
    assert pickle.loads(pickle.dumps(lib)) is lib
    assert pickle.loads(pickle.dumps(lib.next))() == 2
    other = tarsia.load_inline(source)
    assert pickle.loads(pickle.dumps(lib)) is other  # the one that was loaded last
    pickled = pickle.dumps(other)
    other.unload()
    assert pickle.loads(pickled) is lib
    assert tarsia.load_inline(source, opt=1) is not pickle.loads(pickled)
    lib.unload()
    again = pickle.loads(pickled)
    assert again is not lib and again.own_library() == 1


def test_an_op_and_a_function_that_are_unpickled_apart_share_their_library(tmp_path):
    lib = load()
    (tmp_path / "half.pickle").write_bytes(pickle.dumps(lib.half))
    code = f"""
import pathlib, tarsia, numpy as np
bound = it.bind(np.ones(1, "float32"))
half = pickle.loads((pathlib.Path({str(tmp_path)!r}) / "half.pickle").read_bytes())
lib = half._recipe.library
print(half(3.0), tarsia.op("pickled_double") is it or tarsia.op("pickled_double").name, lib.ops)
lib.unload()
try: tarsia.op("pickled_double")
except tarsia.NotFound: print("gone")
half = pickle.loads((pathlib.Path({str(tmp_path)!r}) / "half.pickle").read_bytes())
print(half(5.0), half._recipe.library is lib, tarsia.op("pickled_double").name)
"""
    printed = in_a_fresh_process(tarsia.op("pickled_double"), code, tmp_path)
    assert printed == "1.5 pickled_double ('pickled_double',)\ngone\n2.5 False pickled_double"


def test_a_prebuilt_library_goes_by_its_path(tmp_path, monkeypatch):
    tarsia.compile("int built() { return 5; }", tmp_path / "built.so")
    monkeypatch.chdir(tmp_path)
    lib = tarsia.load("built.so")
    monkeypatch.chdir("/")
    assert in_a_fresh_process(lib.built, "print(it())", tmp_path) == "5"


def test_expressions_go_to_another_process(tmp_path):
    twice = tarsia.elementwise("T x", "T y", "y = 2 * x", "twice_pickled")
    total = tarsia.reduction("T x", "T y", "x", "a + b", "y = a", "0", "total_pickled")
    code = "import numpy as np; print(it[0](np.ones(2)), it[1](np.ones(3)))"
    assert in_a_fresh_process([twice, total], code, tmp_path) == f"{twice(np.ones(2))} {total(np.ones(3))}"


def test_what_cannot_be_pickled_says_why_and_what_to_do():
    @tarsia.define_op
    def defined_here(x, y):
        y[...] = x

    with pytest.raises(TypeError, match=r"op 'defined_here' cannot be pickled: it was defined in Python.*tarsia.op\('defined_here'\)"):
        pickle.dumps(tarsia.op("defined_here"))
    lib = load()
    with pytest.raises(tarsia.Error, match="a bound op cannot be pickled: pickle tarsia.op"):
        pickle.dumps(tarsia.op("pickled_double").bind(np.ones(2, "float32")))
    lib.unload()
    with pytest.raises(TypeError, match="library 'pickled' cannot be pickled: it was unloaded"):
        pickle.dumps(lib)


@pytest.mark.parametrize("isolated", [False, True])
def test_a_session_is_neither_copied_nor_pickled(isolated):
    session = tarsia.Session(isolated=isolated)
    for way in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match=r"a session can be neither copied nor pickled: .*save\(path\)") as caught:
            way(session)
        assert isinstance(caught.value, tarsia.Error)


def test_an_op_of_a_session_says_that_it_is_one():
    session = tarsia.Session()
    session.run('#include <tarsia/op.h>\nTARSIA_OP(of_a_cell).forward("cpu", [](tarsia::Context& c) {});').raise_if_failed()
    with pytest.raises(tarsia.Error, match="op 'of_a_cell' cannot be pickled: a cell of a session has registered it.*tarsia.load"):
        pickle.dumps(tarsia.op("of_a_cell"))
    assert copy.deepcopy(tarsia.op("of_a_cell")).name == "of_a_cell"
    assert session.ops == ["of_a_cell"]


def test_spawned_workers_get_functions_and_ops(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(f"""
import multiprocessing
import numpy as np
import tarsia

SOURCE = {SOURCE!r}

if __name__ == "__main__":
    lib = tarsia.load_inline(SOURCE, "pickled")
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        print(pool.starmap(lib.add, [(i, 1) for i in range(4)]))
        print([y.tolist() for y in pool.map(tarsia.op("pickled_double"), [np.ones(1, "float32")] * 2)])
""")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300)
    assert done.stdout == "[1, 2, 3, 4]\n[[2.0], [2.0]]\n", done.stderr


def test_joblibs_workers_get_functions():
    import joblib

    lib = load()
    assert joblib.Parallel(n_jobs=2)(joblib.delayed(lib.add)(i, 1) for i in range(3)) == [1, 2, 3]
    assert joblib.Parallel(n_jobs=2)(joblib.delayed(lambda i: lib.half(i))(float(i)) for i in range(3)) == [0, 0.5, 1]


KERNELS = """
    __global__ void one(float* x) { x[0] = 1; }
    __global__ void over(float* x) { x[0] = 1; }
    __global__ void over(double* x) { x[0] = 2; }
    template <class T, int n> __global__ void many(T* x) { x[0] = n; }
"""


def test_kernels_and_their_templates_can_be_pickled(tmp_path):
    if not tarsia.doctor()["works"]["cuda"]:
        pytest.skip("no CUDA to compile with")
    lib = tarsia.load_inline(KERNELS)
    things = [lib.one, lib.over, lib.over.overloads[1], lib.many, lib.many["float"], lib.many["float", 4], lib.one[2, (32, 2), 16]]
    for thing in things[:-1]:
        assert copy.deepcopy(thing) is thing
    code = ("print([t.signatures for t in it[:-1]] == %r, it[5].__qualname__, it[6].grid, it[6].block, it[6].shared_bytes)"
            % [t.signatures for t in things[:-1]])
    assert in_a_fresh_process(things, code, tmp_path) == "True many<float, 4> (2, 1, 1) (32, 2, 1) 16"
    with pytest.raises(TypeError, match="a launch of kernel one on a stream cannot be pickled"):
        pickle.dumps(lib.one[1, 1, 0, 0])


def test_a_function_equals_what_its_pickle_becomes():
    lib = load()
    again = pickle.loads(pickle.dumps(lib.add))
    assert again == lib.add and not again != lib.add and hash(again) == hash(lib.add) and len({again, lib.add}) == 1
    assert lib.add != lib.half and lib.add != 5 and tarsia.load_inline("int add(int a, int b) { return 0; }").add != lib.add


def test_kernels_equal_what_their_pickles_become():
    if not tarsia.doctor()["works"]["cuda"]:
        pytest.skip("no CUDA to compile with")
    lib = tarsia.load_inline(KERNELS)
    things = [lib.one, lib.over, lib.over.overloads[0], lib.over.overloads[1], lib.many, lib.many["float"], lib.many["float", 4],
              lib.one[2, 32], lib.one[2, 64], lib.over[2, 32]]
    for i, thing in enumerate(things):
        again = pickle.loads(pickle.dumps(thing))
        assert again == thing and not again != thing and hash(again) == hash(thing) and len({again, thing}) == 1
        assert [one == again for one in things] == [k == i for k in range(len(things))], thing
        assert thing != 5
    other = tarsia.load_inline(KERNELS + "\n")
    assert other.one != lib.one and other.many != lib.many and other.one[2, 32] != lib.one[2, 32]


def test_relative_folders_go_to_a_process_that_works_elsewhere(tmp_path, monkeypatch):
    work = tmp_path / "work"
    (work / "headers").mkdir(parents=True)
    (work / "headers" / "seven.h").write_text("constexpr int seven = 7;\n")
    monkeypatch.chdir(work)
    lib = tarsia.load_inline('#include "seven.h"\nint f() { return seven; }', include_dirs=["headers"], library_dirs=["."])
    thing = pickle.dumps(lib)
    assert pickle.loads(thing) is lib
    (tmp_path / "thing.pickle").write_bytes(thing)
    done = subprocess.run([sys.executable, "-c", "import pickle; print(pickle.load(open('thing.pickle', 'rb')).f())"], cwd=tmp_path,
                          capture_output=True, text=True)
    assert done.stdout == "7\n", done.stderr
