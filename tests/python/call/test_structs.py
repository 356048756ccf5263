"""Plain structs as parameters and results: by value, behind pointers, in spans, lists and optionals."""

import ctypes

import numpy as np
import pytest

import tarsia

SOURCE = r"""
#include <array>
#include <optional>
#include <span>
#include <utility>
#include <vector>

struct P { float a; int n; };
struct Big { double x[9]; char tag; };
union U { int i; float f; };
namespace ns { struct Inner { P p; short s; }; }

float behind(const P* p) { return p->a * p->n; }
void change(P* p) { p->a = -p->a; p->n += 1; }
float sum(const P* p, int n) { float s = 0; for (int i = 0; i < n; ++i) s += p[i].a * p[i].n; return s; }
float by_value(P p) { return p.a * p.n; }
float by_reference(const P& p) { return p.a * p.n; }
double of_big(const Big* big) { return big->x[8] + big->tag; }
double of_big_value(Big big) { return big.x[8] + big.tag; }
int of_inner(ns::Inner one) { return one.p.n + one.s; }
int of_union(U u) { return u.i; }
P make(float a, int n) { return {a, n}; }
Big make_big(double x) { Big big{}; big.x[8] = x; big.tag = 'b'; return big; }
const P* find(int which) { static const P ps[2] = {{1, 2}, {3, 4}}; return which < 2 ? &ps[which] : nullptr; }
float of_optional(std::optional<P> p) { return p ? p->a : -1; }
float of_list(const std::vector<P>& ps) { float s = 0; for (const P& p : ps) s += p.a; return s; }
float of_span(std::span<const P> ps) { float s = 0; for (const P& p : ps) s += p.a; return s; }
void scale(std::span<P> ps, float by) { for (P& p : ps) p.a *= by; }
int of_two(std::span<const P, 2> ps) { return ps[0].n + ps[1].n; }
std::vector<P> several(int n) { return std::vector<P>(n, P{2, n}); }
std::pair<P, int> paired() { return {P{5, 6}, 7}; }
int first(P) { return 1; }
int first(const Big&) { return 2; }
"""

P = np.dtype([("a", np.float32), ("n", np.int32)], align=True)


class CP(ctypes.Structure):
    _fields_ = [("a", ctypes.c_float), ("n", ctypes.c_int)]


class CBig(ctypes.Structure):
    _fields_ = [("x", ctypes.c_double * 9), ("tag", ctypes.c_char)]


@pytest.fixture(scope="module")
def lib():
    return tarsia.load_inline(SOURCE, std="c++20")


def record(a, n):
    return np.array((a, n), P)


@pytest.mark.parametrize("one", [record(1.5, 4), record(1.5, 4)[()], CP(1.5, 4), record(1.5, 4).tobytes()], ids=["array", "record", "ctypes", "bytes"])
def test_one_struct_is_read(lib, one):
    assert lib.behind(one) == lib.by_value(one) == lib.by_reference(one) == lib.sum(one, 1) == 6


def test_what_is_behind_a_pointer_is_changed(lib):
    array, one = record(1.5, 4), CP(1.5, 4)
    lib.change(array)
    lib.change(one)
    assert array.item() == (-1.5, 5) and (one.a, one.n) == (-1.5, 5)


def test_rows_of_structs(lib):
    rows = np.array([(1, 1), (2, 2), (3, 3)], P)
    assert lib.sum(rows, 3) == 14 and lib.sum((CP * 2)(CP(1, 1), CP(2, 2)), 2) == 5
    assert lib.of_span(rows) == 6 and lib.of_list(list(rows)) == 6 and lib.of_list([]) == 0
    assert lib.of_span(rows[::2]) == 4  # a copy, since it is only read
    lib.scale(rows, 2.0)
    assert rows["a"].tolist() == [2, 4, 6] and lib.of_two(rows[:2]) == 3


def test_larger_and_nested_structs(lib):
    big = CBig(tag=b"b")
    big.x[8] = 1.25
    assert lib.of_big(big) == lib.of_big_value(big) == 99.25
    assert lib.of_inner(np.array(((1, 2), 40), np.dtype([("p", P), ("s", np.int16)], align=True))) == 42
    assert lib.of_union(np.array([7], np.int32)) == 7


def test_results_are_bytes(lib):
    assert np.frombuffer(lib.make(2.5, 3), P)[0].item() == (2.5, 3)
    big = CBig.from_buffer_copy(lib.make_big(4.0))
    assert big.x[8] == 4 and big.tag == b"b"
    assert np.frombuffer(lib.find(1), P).tolist() == [(3, 4)] and lib.find(2) is None
    assert [CP.from_buffer_copy(one).n for one in lib.several(2)] == [2, 2]
    one, n = lib.paired()
    assert CP.from_buffer_copy(one).a == 5 and n == 7


def test_an_overload_is_chosen_by_size(lib):
    assert lib.first(CP()) == 1 and lib.first(CBig()) == 2


def test_what_is_only_read_may_lie_anywhere(lib):
    memory = np.zeros(17, np.uint8)
    memory[1:9] = np.frombuffer(record(2, 3).tobytes(), np.uint8)
    assert lib.behind(memory[1:9]) == 6
    with pytest.raises(ValueError, match=r"argument 'p' \(1 of 1\) must be aligned to its elements of 4 bytes"):
        lib.change(memory[1:9])


@pytest.mark.parametrize("call, message", [
    (lambda lib: lib.by_value(b"123"), r"argument 'p' \(1 of 1\) must have the 8 bytes of its C\+\+ type, got bytes of uint8, shape \(3,\), on the CPU; a NumPy dtype has its layout with align=True"),
    (lambda lib: lib.by_value(np.zeros(2, P)), "must have the 8 bytes of its"),
    (lambda lib: lib.behind(b""), "must be one or more structs of 8 bytes each"),
    (lambda lib: lib.behind(np.zeros(2, np.float32)), "must be one or more structs of 8 bytes each"),
    (lambda lib: lib.sum(np.zeros(3, [("a", "f4"), ("n", "i8")]), 3), "must be one or more structs of 8 bytes each"),
    (lambda lib: lib.of_two(np.zeros(3, P)), "must be 2 structs of 8 bytes each"),
    (lambda lib: lib.change(record(1, 2).tobytes()), "must be writable, since the function writes to it"),
    (lambda lib: lib.scale(np.zeros(4, P)[::2], 1.0), "must be contiguous"),
])
def test_values_that_do_not_fit(lib, call, message):
    with pytest.raises(tarsia.ArgumentValueError, match=message):
        call(lib)


@pytest.mark.parametrize("given", [None, 3, "text", (1.0, 2), {"a": 1}])
def test_objects_without_bytes_do_not_fit(lib, given):
    with pytest.raises(tarsia.ArgumentTypeError, match="must be a struct of 8 bytes"):
        lib.by_value(given)
    with pytest.raises(tarsia.ArgumentTypeError, match="must be one or more structs of 8 bytes each"):
        lib.behind(given)


def test_structs_that_are_more_than_their_bytes_are_not_exported():
    lib = tarsia.load_inline("""
    #include <cstdio>
    #include <string>
    struct Named { std::string name; };
    struct Virtual { virtual int f() { return 1; } int x; };
    class Hidden { int x; public: Hidden() : x(1) {} };
    struct Declared;
    namespace { struct Local { int x; }; }
    int a(const Named* x) { return 1; }
    int b(Virtual* x) { return 1; }
    int c(Hidden x) { return 1; }
    int d(Declared* x) { return 1; }
    int e(FILE* x) { return 1; }
    int f(int x) { return x; }
    """)
    assert set(lib.functions) == {"f"} and "no plain struct" in lib.skipped["a"]
    assert "no plain struct" in lib.skipped["e"] and "no counterpart" in lib.skipped["c"]


def test_c_sources_take_pointers_to_structs():
    lib = tarsia.load_inline({"structs.c": """
    struct P { float a; int n; };
    typedef struct { double x, y; } Q;
    float f(const struct P* p) { return p->a * p->n; }
    void g(Q* q, int n) { for (int i = 0; i < n; ++i) q[i].x = q[i].y; }
    """})
    assert lib.f(CP(1.5, 4)) == 6
    q = np.array([(1, 2), (3, 4)], [("x", float), ("y", float)])
    lib.g(q, 2)
    assert q["x"].tolist() == [2, 4]


def test_pytorch_has_no_type_for_them():
    torch = pytest.importorskip("torch")
    lib = tarsia.load_inline("struct P { float a; int n; }; float f(P p, const float* x) { return p.a * *x; }")
    with pytest.raises(tarsia.Unsupported, match="parameter 'p'"):
        tarsia.torch.register(lib.f)
    assert lib.f(CP(1.5, 4), torch.ones(1)) == 1.5


def test_a_struct_that_a_function_hides_is_not_exported():
    lib = tarsia.load_inline("struct P { int a; };\nint take(P p) { return p.a; }\nint P() { return 5; }\nint two() { return P(); }")
    assert lib.two() == 5 and any("take" in name for name in lib.skipped)


FIELDS = r"must have the struct's fields, float32 at byte 0, int32 at byte 4, got .* with .* at byte 0"


@pytest.mark.parametrize("dtype", [
    [("n", "i4"), ("a", "f4")],
    [("a", "f4"), ("n", "u4")],
    [("a", "f4"), ("n", "f4")],
    [("a", "f2"), ("h", "i2"), ("n", "i4")],
    [("a", ">f4"), ("n", ">i4")],
    [("a", "f4"), ("s", "S4")],
    [("both", "f8")],
    "f8",
    "i8",
], ids=str)
def test_records_of_other_fields_do_not_fit(lib, dtype):
    rows = np.zeros(2, dtype)
    for call in (lambda: lib.by_value(rows[:1]), lambda: lib.behind(rows), lambda: lib.change(rows), lambda: lib.of_span(rows), lambda: lib.of_list([rows[:1]])):
        with pytest.raises(tarsia.ArgumentValueError, match=FIELDS):
            call()


@pytest.mark.parametrize("dtype", [[("b", "f4"), ("m", "i4")], [("", "f4"), ("", "i4")], "V8", [("inner", P)], [("raw", "u1", 8)]], ids=str)
def test_records_of_the_same_numbers_fit_whatever_their_names(lib, dtype):
    rows = np.frombuffer(np.array([(2, 3), (4, 5)], P).tobytes(), dtype)
    assert lib.sum(rows, 2) == 26 and lib.by_value(rows[1:]) == 20


def test_records_of_bytes_halves_arrays_and_pointers():
    lib = tarsia.load_inline(r"""
    #include <complex>
    #include <cstdint>
    #include <cuda_fp16.h>
    enum Kind : short { kOne, kTwo };
    struct Name { char text[6]; bool known; unsigned char level; };
    struct Mixed { Name name; std::complex<float> z; double m[2][3]; __half h; Kind kind; const float* where; long long count; };
    struct Bits { int low : 4; int high : 28; };
    struct Base { int x; };
    int take(const Mixed* one) { return int(one->m[1][2]) + one->kind + one->name.level + (one->where == nullptr); }
    int take_bits(const Bits* one) { return one->low; }
    """)
    name = np.dtype([("text", "S6"), ("known", "?"), ("level", "u1")])
    mixed = [("name", name), ("z", "c8"), ("m", "f8", (2, 3)), ("h", "f2"), ("kind", "i2"), ("where", "u8"), ("count", "i8")]
    one = np.zeros((), np.dtype(mixed, align=True))
    one["m"][1, 2], one["kind"], one["name"]["level"] = 40, 1, 5
    assert lib.take(one) == 47
    as_bytes = np.dtype([("name", "u1", 8), *mixed[1:]], align=True)  # single bytes fit each other
    assert lib.take(one.view(as_bytes)) == 47
    for place, other in ((1, "f8"), (3, "i2"), (4, "u2"), (6, "f8")):
        changed = [*mixed[:place], (mixed[place][0], other), *mixed[place + 1 :]]
        with pytest.raises(tarsia.ArgumentValueError, match="the struct's fields, 6 of int8 at byte 0, bool at byte 6, uint8 at byte 7, 2 of float32 at byte 8"):
            lib.take(np.zeros(1, np.dtype(changed, align=True)))
    assert lib.take_bits(np.array([3], "f4")) == 0  # what its bits are is not compared


def test_what_is_no_number_is_told_as_such(lib):
    for dtype, told in (("U2", "2 of something else of 4 bytes at byte 0"), ([("a", ">f4"), ("n", "i4")], "something else of 4 bytes at byte 0, int32 at byte 4")):
        with pytest.raises(tarsia.ArgumentValueError, match=f"{FIELDS[:-len(' with .* at byte 0')]}.* with {told}"):
            lib.by_value(np.zeros(1, dtype))


def test_ctypes_structures_of_other_fields_do_not_fit(lib):
    class Other(ctypes.Structure):
        _fields_ = [("n", ctypes.c_int), ("a", ctypes.c_float)]

    with pytest.raises(tarsia.ArgumentValueError, match=FIELDS):
        lib.behind(Other(1, 2))


def test_an_overload_is_chosen_by_fields():
    lib = tarsia.load_inline("struct A { float x; }; struct B { int x; }; int f(A) { return 1; } int f(B) { return 2; }")
    assert lib.f(np.zeros(1, "f4")) == 1 and lib.f(np.zeros(1, "i4")) == 2 and lib.f(bytes(4)) == 1


def test_functions_that_the_source_exports_itself_tell_their_fields_too():
    lib = tarsia.load_inline("#include <tarsia/op.h>\nstruct P { float a; int n; };\nfloat f(P p) { return p.a; }\nTARSIA_EXPORT(f);")
    assert lib.f(record(2, 3)) == 2
    with pytest.raises(tarsia.ArgumentValueError, match=FIELDS):
        lib.f(np.zeros(1, "f8"))
