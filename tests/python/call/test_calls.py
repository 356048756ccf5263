"""Matching arguments to parameters: counts, names, defaults, overloads, streams; what callables tell of themselves."""

import inspect
import pickle
import weakref

import numpy as np
import pytest

import tarsia


def test_counts(lib):
    with pytest.raises(TypeError, match=r"scale: argument 'factor' \(3 of 3\) is missing"):
        lib.scale(np.ones(3, np.float32), 3)
    with pytest.raises(TypeError, match="scale: takes 3 arguments, got 4"):
        lib.scale(np.ones(3, np.float32), 3, 1.0, 2)
    with pytest.raises(TypeError, match=r"\(1 of 1\) is missing"):
        lib.same_i32()


def test_keywords(lib):
    x = np.ones(3, np.float32)
    lib.scale(x, factor=2.0, n=3)
    lib.scale(n=2, x=x, factor=3.0)
    assert x.tolist() == [6, 6, 2]
    lib.scale(**{"x": x, "n": 1, "".join(["fac", "tor"]): 2.0})  # a name that is not interned
    assert x.tolist() == [12, 6, 2]
    with pytest.raises(TypeError, match=r"no parameter 'm'; its parameters are \(x, n, factor\)"):
        lib.scale(x, m=3, factor=1.0)
    with pytest.raises(TypeError, match="argument 'x' .* is given twice"):
        lib.scale(x, 3, 1.0, x=x)
    with pytest.raises(TypeError, match="by position only"):
        lib.same_i32(x=1)


def test_default_arguments(lib):
    assert lib.defaults(1) == 123
    assert lib.defaults(1, 5) == 153
    assert lib.defaults(1, 5, 6) == 156
    assert lib.defaults(1, b=7) == 173
    assert lib.defaults(a=1, b=7, c=8) == 178
    with pytest.raises(TypeError, match=r"'a' .* is missing"):
        lib.defaults()
    with pytest.raises(TypeError, match=r"'b' \(2 of 3\) is left out, but one after it is given"):
        lib.defaults(1, c=5)
    with pytest.raises(TypeError, match="at most 3 arguments, got 4"):
        lib.defaults(1, 2, 3, 4)


def test_overloads_take_the_first_that_fits_exactly(lib):
    assert lib.kind(1) == "int"
    assert lib.kind(1.0) == "float"
    assert lib.kind(True) == "bool"
    assert lib.kind("x") == "string"
    assert lib.kind(np.zeros(1, np.float32)) == "float*"
    assert lib.kind(np.zeros(1, np.float64)) == "double*"
    assert lib.kind(2**40) == "float"  # no int, but a number all the same
    assert lib.kind(np.int64(1)) == "int"


def test_overloads_that_do_not_fit_are_all_told(lib):
    with pytest.raises(TypeError) as caught:
        lib.kind(None)
    message = str(caught.value)
    assert "kind: no overload fits" in message
    assert message.count("must be") == 6
    assert "must be a float64 tensor, got None" in message
    with pytest.raises(TypeError, match="takes 1 argument, got 2"):
        lib.kind(1, 2)


class FakeStream:
    def __init__(self, handle):
        self.handle = handle

    def __cuda_stream__(self):
        return 0, self.handle


class TorchLikeStream:
    cuda_stream = 9


class CupyLikeStream:
    ptr = 4


def test_streams_are_taken_in_many_forms(lib):
    assert lib.only_stream(1, 7, 2) == 712
    assert lib.only_stream(1, FakeStream(3), 2) == 312
    assert lib.only_stream(1, TorchLikeStream(), 2) == 912
    assert lib.only_stream(1, CupyLikeStream(), 2) == 412
    assert lib.only_stream(1, None, 2) == 12
    assert lib.only_stream(1, b=2, stream=5) == 512


def test_streams_may_be_left_out_anywhere(lib):
    assert lib.only_stream(1, 2) == 12
    assert lib.only_stream(1, b=2) == 12
    assert lib.only_stream(a=1, b=2) == 12


@pytest.mark.parametrize("bad", ["x", 1.5, np.zeros(1)])
def test_other_things_are_no_streams(lib, bad):
    with pytest.raises(TypeError, match="must be a CUDA stream"):
        lib.only_stream(1, bad, 2)


def test_errors_of_a_stream_arrive(lib):
    class Bad:
        def __cuda_stream__(self):
            raise ValueError("gone")

    with pytest.raises(ValueError, match="gone"):
        lib.only_stream(1, Bad(), 2)


def test_exceptions_arrive_with_their_words(lib):
    with pytest.raises(tarsia.OpError, match="^the author's words$") as caught:
        lib.fails("runtime")
    assert isinstance(caught.value, RuntimeError) and isinstance(caught.value, tarsia.Error)
    with pytest.raises(ValueError, match="a bad value"):
        lib.fails("value")
    with pytest.raises(IndexError, match="a bad index"):
        lib.fails("index")
    with pytest.raises(MemoryError):
        lib.fails("memory")
    with pytest.raises(tarsia.Error):
        lib.fails("number")
    assert lib.fails("nothing") is None


def test_errors_name_function_parameter_argument_and_place(lib):
    with pytest.raises(tarsia.ArgumentTypeError) as caught:
        lib.scale("x", 3, 1.0)
    assert isinstance(caught.value, TypeError)
    message = str(caught.value)
    assert message.startswith("scale: argument 'x' (1 of 3) must be a float32 tensor, got str 'x'")
    assert "in void scale(float *x, int n, float factor) at functions.cpp:" in message


def test_callables_tell_of_themselves(lib):
    assert lib.scale.__name__ == "scale"
    assert lib["one::f"].__name__ == "f" and lib["one::f"].__qualname__ == "one::f"
    assert lib.scale.signatures == ("void scale(float *x, int n, float factor)",)
    assert lib.scale.__doc__.startswith("void scale(float *x, int n, float factor) at functions.cpp:")
    assert "void scale(" in repr(lib.scale) and repr(lib.kind).count("\n") == 5
    assert str(inspect.signature(lib.scale)) == "(x, n, factor)"
    assert str(inspect.signature(lib.defaults)) == "(a, b=Ellipsis, c=Ellipsis)"
    assert str(inspect.signature(lib.kind)) == "(*args, **kwargs)"
    assert callable(lib.scale) and weakref.ref(lib.scale)() is lib.scale
    assert pickle.loads(pickle.dumps(lib.scale)).signatures == lib.scale.signatures
    with pytest.raises(TypeError):
        tarsia.Function()


def test_functions_are_found(lib):
    assert lib.f() == 1
    assert lib["one::twin"]() == 1 and lib["two::twin"]() == 2
    with pytest.raises(AttributeError, match=r"lib\['one::twin'\], lib\['two::twin'\]"):
        lib.twin
    assert lib["name"]() == 5 and isinstance(lib.name, str)
    assert lib.scale is lib.scale
    assert "scale" in lib and "one::f" in lib and "f" in lib
    assert "missing" not in lib and "twin" not in lib and "e::f" not in lib and 5 not in lib
    assert "scale" in dir(lib) and "f" in dir(lib)
    assert "scale" in lib.functions and len(lib.functions) == len(set(lib.functions))
    with pytest.raises(AttributeError, match="did you mean 'scale'"):
        lib.scalee
    with pytest.raises(LookupError):
        lib["no::such"]
    assert not hasattr(lib, "missing")


def test_the_library_tells_of_itself(lib):
    assert lib.origin == "prebuilt"
    assert lib.kernels == () and lib.ops == () and lib.cubins == {} and lib.skipped == {} and lib.warnings == []
    assert "scale" in repr(lib)


def test_overloads_that_differ_by_a_default_are_called_by_all_their_arguments():
    lib = tarsia.load_inline("""
int f(int a, bool b) { return a + b; }
int f(int a, bool b, int c = 0) { return 100 * a + b + c; }
int g(int a) { return a; }
int g(int a, int b = 1, int c = 2) { return a + 10 * b + 100 * c; }
template <class T> T h(T a) { return a; }
template <class T> T h(T a, T b = 5) { return a + b; }
template int h<int>(int);
template int h<int>(int, int);
""")
    assert (lib.f(1, True), lib.f(1, True, 5)) == (2, 106)
    assert (lib.g(7), lib.g(7, 3), lib.g(7, 3, 4)) == (7, 237, 437)
