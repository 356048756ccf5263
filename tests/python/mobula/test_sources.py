"""Sources of MobulaOP: where they are looked for, what is read of them, and what is wrong with them; settings; comparisons."""

import ctypes
import os
import runpy

import numpy as np
import pytest

import tarsia
import tarsia.mobula as mobula
from tarsia.mobula._declarations import find
from tarsia.mobula._instances import Source
from tarsia.mobula.internal.edict import edict
from tarsia.mobula.testing import assert_almost_equal


def test_declarations():
    found = find('''
// MOBULA_KERNEL not_this_kernel(const int n) {}
#define M MOBULA_FUNC int nor_this(int)
/* template <typename X> */ const char* text = "MOBULA_FUNC int nor_that(int) {";
namespace a { inline namespace b { struct S { int x; };
template <class T,
          typename U = std::pair<int, float>, int N = (3 > 2)>
inline MOBULA_FUNC std::vector<T> first(const unsigned int count, const T* __restrict__ x, U const y[], const std::size_t& size,
                                        const S *s, float z = f(1, 2), long long) { if (1) { return {}; } }
}  // namespace b
MOBULA_KERNEL second_kernel(const int n, double* y);
}
extern "C" { MOBULA_KERNEL second_kernel(int64_t n,
  double* result) { } }
template <typename T> struct Other {};
MOBULA_FUNC void last(void) {}
''', "x.cpp")
    assert list(found) == ["first", "second", "last"]
    first, second, last = found.values()
    assert (first.namespace, first.symbol, first.result, first.is_kernel) == ("a::b", "first", "std::vector<T>", False)
    assert first.templates == (("T", True, ""), ("U", True, "std::pair<int, float>"), ("N", False, "(3 > 2)"))
    assert [(p.name, p.type, p.is_pointer, p.is_const) for p in first.parameters] == [
        ("count", "unsigned", False, True), ("x", "T", True, True), ("y", "U", True, True), ("size", "uint64_t", False, True),
        ("s", "S", True, True), ("z", "float", False, False), ("argument7", "long long", False, False)]
    assert (second.symbol, second.namespace, second.line) == ("second_kernel", "", 13)  # the definition
    assert [p.name for p in second.parameters] == ["n", "result"]
    assert last.parameters == () and last.templates == ()


@pytest.mark.parametrize("source, message", [
    ("MOBULA_KERNEL add(const int n) {}", r"wrong_\w+.cpp:2: the name of a MOBULA_KERNEL ends in _kernel: add_kernel"),
    ("MOBULA_KERNEL add_kernel(float* x) {}", "the first parameter of a MOBULA_KERNEL is the number of threads"),
    ("MOBULA_KERNEL add_kernel() {}", "the first parameter of a MOBULA_KERNEL is the number of threads"),
    ("MOBULA_FUNC int f(float** x) {}", r"f: a parameter is a number or a pointer to elements, not a pointer to pointers: float \* \* x"),
    ("MOBULA_FUNC int f(float& x) {}", "f: 'x' is a reference, to which Python has nothing to give: take a pointer"),
    ("MOBULA_FUNC int f(int x", "the parameters of f have no end"),
    ("MOBULA_FUNC { }", "stand before a function"),
    ("MOBULA_FUNC int f(Thing* x) {}", r"f: the type of 'x', Thing, is neither .* mobula.glue.register_cstruct\('Thing'"),
    ("MOBULA_FUNC int func_is_taken(int x) {} MOBULA_FUNC int bind(int x) {}", "mobula.func cannot hold a function called bind"),
])
def test_wrong_declarations(load, source, message):
    with pytest.raises(tarsia.ArgumentError, match=message):
        load("wrong_source", "\n" + source)


KERNEL = """
template <typename T, typename U>
MOBULA_KERNEL ms_copy_kernel(const int n, const T* x, U* y) { parfor(n, [&](int i) { y[i] = x[i]; }); }
template <typename T>
MOBULA_KERNEL ms_number_kernel(const int n, T value, float* y) { parfor(n, [&](int i) { y[i] = value; }); }
template <typename T>
MOBULA_KERNEL ms_pair_kernel(const int n, const T* x, T* y) { parfor(n, [&](int i) { y[i] = x[i]; }); }
template <typename T>
MOBULA_FUNC int ms_nobody(const int n) { return sizeof(T) * n; }
MOBULA_KERNEL ms_plain_kernel(const int n, const float* x, float* y) { parfor(n, [&](int i) { y[i] = x[i]; }); }
template <typename T = double>
MOBULA_FUNC int ms_default(const int n) { return sizeof(T) * n; }
"""


@pytest.mark.parametrize("call, message", [
    (lambda f, x, y: f.ms_number(4, 3.0, y), r"ms_number: no tensor tells the type T: pass a number with a type of its own as 'value', such as "
                                             r"ctypes.c_float\(3.0\)\n  in ms_number\(const int n, T value, float\* y\) at .*ms_errors.cpp:5"),
    (lambda f, x, y: f.ms_nobody(4), "ms_nobody: no tensor tells the type T: no parameter has it; give it a default"),
    (lambda f, x, y: f.ms_pair(4, x, y.astype(np.float64)), "T is float by 'x' and double by 'y'; convert one of them, to float32 or float64"),
    (lambda f, x, y: f.ms_pair(4, [1, 2], y), r"'x' takes a tensor of NumPy, PyTorch or CuPy, got list \[1, 2\]"),
    (lambda f, x, y: f.ms_pair(4, x.astype(np.float16), y), "'x' is to tell the type T, and elements of this dtype have none .*float16"),
    (lambda f, x, y: f.ms_pair(4, x), "ms_pair: 'y' is missing"),
    (lambda f, x, y: f.ms_pair(4, x, y, y), "ms_pair takes 3 arguments, got 4"),
    (lambda f, x, y: f.ms_pair(4, x, y, n=4), "ms_pair takes 3 arguments, got 4|'n' is given twice"),
    (lambda f, x, y: f.ms_pair(4, x, z=y), "ms_pair has no parameter 'z'"),
    (lambda f, x, y: f.ms_pair(4.5, x, y), "^ms_pair: argument 'n'"),
    (lambda f, x, y: f.ms_pair(2**31, x, y), "^ms_pair: argument 'n'"),
    (lambda f, x, y: f.ms_number(4, np.float32(2), np.zeros(4)), "^ms_number: argument 'y'.*must be a float32 tensor"),
    (lambda f, x, y: f.ms_plain(4, x.astype(np.float64), y), r"^ms_plain: argument 'x' \(2 of 3\) must be a float32 tensor, got numpy.ndarray of "
     r"float64.*\n  in ms_plain\(const int n, const float\* x, float\* y\) at .*ms_errors.cpp:10$"),
    (lambda f, x, y: f.ms_plain(4, x, y.astype(np.int32)), "^ms_plain: argument 'y'"),
])
def test_wrong_calls(load, call, message):
    x, y = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    with pytest.raises(tarsia.ArgumentError, match=f"(?s){message}"):
        call(load("ms_errors", KERNEL), x, y)


def test_types_that_defaults_and_typed_numbers_tell(load):
    func = load("ms_told", KERNEL)
    assert func.ms_default(3) == 24
    y = np.zeros(4, np.float32)
    func.ms_number(4, np.int16(7), y)
    assert (y == 7).all()
    read_only = np.arange(4.0)
    read_only.flags.writeable = False
    func.ms_copy(4, read_only, y)
    assert y.tolist() == [0, 1, 2, 3]
    with pytest.raises(tarsia.ArgumentError, match="(?s)'y'.*read"):
        func.ms_copy(4, y, read_only)


DEFAULTS = """
namespace ms { constexpr int three = 3; template <typename T> struct Twice { using type = T; }; }
template <int N = 4, typename T>
MOBULA_KERNEL ms_before_kernel(const int n, T* y) { parfor(n, [&](int i) { y[i] = N + sizeof(T); }); }
namespace ms {
template <typename U = unsigned long long, int N = (three > 2 ? three : 0), typename = Twice<U>, typename V = typename Twice<U>::type, typename T>
MOBULA_FUNC int ms_more(const T* y, int n) { return 1000 * sizeof(U) + 100 * N + 10 * sizeof(V) + sizeof(T); }
}
template <typename T, typename U = T, typename V = double>
MOBULA_KERNEL ms_number_default_kernel(const int n, T* y, U by, V and_by) { parfor(n, [&](int i) { y[i] = 100 * by + sizeof(U) + and_by; }); }
template <int N, typename T>
MOBULA_FUNC int ms_none(T* y) { return N; }
template <typename T, typename U>
MOBULA_FUNC int ms_none_at_all(U* y) { return sizeof(T); }
"""


def test_defaults_before_what_arguments_tell(load):
    func = load("ms_defaults", DEFAULTS)
    y = np.zeros(2, np.int16)
    func.ms_before(2, y)
    assert y.tolist() == [6, 6]
    assert func.ms_more(np.zeros(1), 0) == 8388 and func.ms_more(y, 0) == 8382
    func.ms_number_default(2, y, 3, 0.5)
    assert y.tolist() == [302, 302]
    z = np.zeros(1)
    func.ms_number_default(1, z, 0.25, ctypes.c_float(0.5))
    assert z.tolist() == [33.5]
    func.ms_number_default.build("cpu", {"T": "float", "U": "float", "V": "int"})
    with pytest.raises(tarsia.ArgumentTypeError, match="no tensor tells the type N: no parameter has it; give it a default"):
        func.ms_none(y)
    for one, name in ((func.ms_none, "N"), (func.ms_none_at_all, "T")):
        with pytest.raises(tarsia.ArgumentTypeError, match=rf"(?s)no argument tells {name}, .* give it a default in the source.*ms_defaults.cpp:\d+"):
            one.build("cpu", ["float"])


@pytest.mark.parametrize("source, files", [(b"// caf\xe9\nMOBULA_FUNC int ms_latin() { return 1; }\n", {}),
                                           (b'#include "ms_latin.h"\nMOBULA_FUNC int ms_latin() { return 1; }\n', {"ms_latin.h": b"\n// caf\xe9\n"})])
def test_a_source_of_another_encoding_is_an_invalid_source(load, source, files):
    func = load("ms_latin", source, **files)
    with pytest.raises(tarsia.InvalidSource, match=r"ms_latin.(cpp|h):[12]:7: error: the byte 0xe9 is not UTF-8"):
        func.ms_latin()


def test_a_source_that_cannot_be_read_is_an_error_of_loading(tmp_path):
    (tmp_path / "ms_unread").mkdir()
    (tmp_path / "ms_unread" / "ms_unread.cpp").write_text('#include "ms_gone.h"\nMOBULA_FUNC int ms_unread() { return 1; }\n')
    (tmp_path / "ms_unread" / "ms_gone.h").write_text("")
    mobula.op.load("ms_unread", str(tmp_path))
    source = tmp_path / "ms_unread" / "ms_unread.cpp"
    source.unlink()
    with pytest.raises(tarsia.LoadError, match=r"cannot read .*ms_unread.cpp: No such file"):
        Source(str(source))
    assert mobula.func.ms_unread() == 1  # its text is kept


def test_a_source_that_does_not_compile_names_the_line(load):
    func = load("ms_broken", "\nMOBULA_FUNC int ms_broken(int n) {\n  return m;\n}\n")
    with pytest.raises(tarsia.CompileError, match=r"ms_broken.cpp:3:10: error: use of undeclared identifier 'm'"):
        func.ms_broken(3)


def test_more_than_32_bits(load):
    func = load("ms_long", """
MOBULA_KERNEL ms_narrow_kernel(const int n, int64_t size, int* out) { parfor(size, [&](int i) { *out = i; }); }
MOBULA_KERNEL ms_wide_kernel(const int n, int64_t size, int64_t* out) {
  parfor(size, [&](long long i) { if (i + 1 == size) *out = i; });
}
""")
    out = np.zeros(1, np.int64)
    func.ms_wide(1, 2**31 + 5, out)
    assert out[0] == 2**31 + 4
    with pytest.raises(tarsia.OpError, match="parfor runs to 2147483648, but the function that it calls counts in 32 bits: let it take a long long"):
        func.ms_narrow(1, 2**31, np.zeros(1, np.int32))


# ---- where sources are ----


def test_headers_beside_a_source(load):
    func = load("ms_around", '#pragma once\n#include "ms_part.h"\n#include "defines.h"\nMOBULA_FUNC int ms_get() { return ms_part() + MS_OWN; }\n',
                **{"ms_part.h": '#pragma once\n#include "ms_around.cpp"\ninline int ms_part() { return 40; }\n', "defines.h": "#define MS_OWN 2\n"})
    assert func.ms_get() == 42


def test_headers_of_mobulaop_by_their_names(load):
    func = load("ms_names", "".join(f'#include "{name}"\n' for name in ("defines.h", "helper.h", "logging.h", "ctypes.h", "context/context.h"))
                + "MOBULA_FUNC int ms_named() { return mobula::get_num_threads(); }\n")
    assert func.ms_named() == 1


def test_folders_below_and_above(tmp_path):
    (tmp_path / "below" / "deep").mkdir(parents=True)
    (tmp_path / "common.h").write_text("inline int ms_common() { return 3; }\n")
    (tmp_path / "below" / "deep" / "more.h").write_text('#include "../../common.h"\ninline int ms_more() { return ms_common() + 4; }\n')
    (tmp_path / "below" / "below.cpp").write_text('#include "deep/more.h"\nMOBULA_FUNC int ms_below() { return ms_more(); }\n')
    mobula.op.load("below", str(tmp_path))
    assert mobula.func.ms_below() == 7


def test_where_load_looks(tmp_path, monkeypatch):
    def write(folder, number):
        folder.mkdir(parents=True)
        (folder / "Place.cpp").write_text(f"MOBULA_FUNC int ms_place() {{ return {number}; }}\n")

    caller = tmp_path / "script" / "run.py"
    caller.parent.mkdir()
    caller.write_text("import warnings, tarsia.mobula as mobula\nwarnings.simplefilter('ignore')\nmobula.op.load(PLACE, **OPTIONS)\n")

    def loaded(place, **options):
        runpy.run_path(str(caller), {"PLACE": place, "OPTIONS": options})
        return mobula.func.ms_place()

    monkeypatch.chdir(tmp_path)
    with pytest.raises(tarsia.LoadError, match=r"op.load\('Place'\): there is neither Place.cpp nor Place.py nor __init__.py in any of .*"
                                               r"append the folder that holds Place to mobula.op.search_path"):
        loaded("Place")
    write(tmp_path / "searched" / "Place", 1)
    monkeypatch.setattr(mobula.op.loader, "search_path", mobula.op.search_path)
    mobula.op.search_path.append(str(tmp_path / "searched"))
    try:
        assert loaded("Place") == 1
        write(tmp_path / "Place", 2)  # the working folder
        assert loaded("Place") == 2 == loaded("./Place/")
        write(tmp_path / "script" / "Place", 3)  # beside the caller
        assert loaded("Place") == 3 == loaded("./Place")
        assert loaded("Place", path="searched") == 1 == loaded("searched/Place") == loaded(str(tmp_path / "searched" / "Place"))
    finally:
        mobula.op.search_path.remove(str(tmp_path / "searched"))
    (tmp_path / "script" / "Place" / "run.py").write_text(caller.read_text())
    caller = tmp_path / "script" / "Place" / "run.py"  # a file of the folder itself
    monkeypatch.chdir("/")
    assert loaded("Place") == 3


def test_scripts_alone(tmp_path):
    (tmp_path / "Alone").mkdir()
    (tmp_path / "Alone" / "__init__.py").write_text("import tarsia.mobula as mobula\nmobula.alone = __file__\n")
    mobula.op.load(tmp_path / "Alone")
    assert mobula.alone == str(tmp_path / "Alone" / "__init__.py")
    del mobula.alone


def test_a_name_that_comes_again_warns_and_is_replaced(load, tmp_path):
    load("ms_first", "MOBULA_FUNC int ms_again() { return 1; }\n")
    with pytest.warns(UserWarning, match="mobula.func.ms_again of .*ms_first.cpp is replaced by the one of .*ms_second.cpp"):
        func = load("ms_second", "MOBULA_FUNC int ms_again() { return 2; }\n")
    assert func.ms_again() == 2


# ---- settings and small things ----


def test_settings():
    config = mobula.config
    with config.TempConfig(TARGET="other", DEBUG=True):
        assert config.TARGET == "other" and config.DEBUG
    assert config.TARGET == "mobula_op" and not config.DEBUG
    with pytest.raises(AttributeError, match="mobula.config has no setting 'NOTHING'"):
        config.NOTHING
    with pytest.raises(AttributeError, match="no setting 'NOTHING'"):
        config.NOTHING = 3
    with pytest.raises(TypeError, match="mobula.config.TARGET is of type str, not int 3"):
        config.TARGET = 3
    with pytest.raises(TypeError, match="GPU_BACKEND"):
        config.GPU_BACKEND = "hip"
    with pytest.raises(AttributeError), config.TempConfig(TARGET="x", NOTHING=39):
        pass
    with pytest.raises(TypeError), config.TempConfig(TARGET="x", DEBUG=39):
        pass
    assert config.TARGET == "mobula_op"


def test_settings_hold_for_the_next_call(load):
    func = load("ms_settings", """
MOBULA_KERNEL ms_width_kernel(const int n, int* out) { if (get_thread_num() == 0) *out = get_num_threads(); }
MOBULA_FUNC int ms_cblas(int n) { return USING_CBLAS + USING_CUDA * 10; }
""")
    out = np.zeros(1, np.int32)
    for threads in (3, 5, 3):
        with mobula.config.TempConfig(HOST_NUM_THREADS=threads, DEBUG=threads == 5, USING_OPTIMIZATION=False):
            func.ms_width(100, out)
            assert out[0] == threads
    assert func.ms_cblas(0) == 0
    with mobula.config.TempConfig(USING_CBLAS=True):
        assert func.ms_cblas(0) == 1


def test_edict():
    data = edict(a=3, b=4)
    assert data.a == 3 == data["a"] and hasattr(data, "b") and not hasattr(data, "c")
    data.c = 5
    data.a += 1
    assert data == {"a": 4, "b": 4, "c": 5}
    del data.b
    assert "b" not in data
    with pytest.raises(AttributeError):
        del data.b


def test_utilities():
    assert mobula.utils.get_git_hash() == "custom"
    assert mobula.utils.list_gpus() == list(range(len(mobula.utils.list_gpus())))
    assert os.path.isdir(mobula.utils.ENV_PATH)
    assert mobula.function is mobula.func and mobula.operator is mobula.op and mobula.__version__ == tarsia.__version__


def test_comparisons():
    a = np.random.rand(2, 3)
    assert_almost_equal(a, a.copy(), atol=0)
    assert_almost_equal(3, np.full((2, 2), 3.0))
    assert_almost_equal([1, 2], (1.0, 2.0))
    assert_almost_equal(a + 5e-4, a, atol=1e-3, rtol=1e3)
    assert_almost_equal(np.empty(0), np.empty(0))
    assert_almost_equal(np.array([np.nan, 1]), np.array([np.nan, 1]))
    for x, y, message in ((a, a[0], r"the shapes differ: \(2, 3\) and \(3,\)"), (a, a + 1e-3, "the largest absolute error is 0.001"),
                          (a * 1e-9, a * 1.1e-9, "the largest relative error is 0.0909"), (np.array([np.nan]), np.array([1.0]), r"NaN at \(0,\)")):
        with pytest.raises(AssertionError, match=message):
            assert_almost_equal(x, y)
    with pytest.raises(tarsia.ArgumentTypeError, match="not str 'x'"):
        assert_almost_equal("x", 3)
    torch = pytest.importorskip("torch")
    assert_almost_equal(torch.ones(2, requires_grad=True), np.ones(2))
