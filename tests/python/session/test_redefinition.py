"""Sessions in which a cell defines again what an earlier one has defined."""

import pytest
from cells import ok, value

import tarsia


@pytest.mark.parametrize("pointer", ["auto p = &f;", "int (*p)(int) = f;", "int (*p)(int); p = f;", "auto& p = f;", "auto p = [](int a) { return (*&f)(a); };",
                                     "int (*table[2])(int) = {f, f};\n#define p table[1]", "#include <functional>\nstd::function<int(int)> p = f;"])
def test_pointers_to_functions_lead_to_the_new_one(session, pointer):
    ok(session, "int f(int a) { return a; }", pointer, "int before = p(3);", "int f(int a) { return 100 * a; }")
    assert value(session, "before + p(1)") == "103"
    assert value(session, "&f == (int (*)(int))&f") == "true"
    session.undo(), session.undo(), session.undo()
    assert value(session, "p(1)") == "1"


def test_pointers_to_functions_are_the_same_in_all_cells(session):
    ok(session, "int f(); int g(); auto early = &f; int f() { return 1; }", "auto p = &f; bool same() { return p == &f && p == early && p != &g; }",
       "int f() { return 2; } int g() { return 3; }", "int f() { return 4; }")
    assert value(session, "same() && p == &f && early() == 4 && (&g)() == 3") == "true"
    session.undo(), session.undo()
    assert value(session, "same() && p == &f && early() == 2") == "true"


def test_an_exception_passes_a_pointer(session):
    ok(session, "#include <stdexcept>\nint f(int a, double b, float c, const char* text) { if (a) throw std::runtime_error(text); return b + c; }",
       'auto p = &f; int caught = 0; try { p(1, 2, 3, "x"); } catch (const std::exception&) { caught = 7; }')
    assert value(session, 'caught + p(0, 3, 4, "")') == "14"


def test_a_pointer_that_keeps_the_old_function_is_noted(session):
    ok(session, "int f() { return 1; }", "auto p = &f; int g() { return 3; }")
    cell = session.run("double f() { return 2; }").raise_if_failed()
    assert cell.notes == ["'p' of cell 2 keeps the earlier 'int (void)': this one is 'double (void)'"]
    assert value(session, "p() + f()") == "3.0"


def test_pointers_to_members_of_a_class_of_another_cell(session):
    ok(session, "struct S { int f(int a); int x; };\nint S::f(int a) { return a + x; }", "int (S::*p)(int) = &S::f;", "auto q = &S::f; int S::*r = &S::x;",
       "struct Row { const char* name; int (S::*call)(int); } rows[] = {{\"f\", &S::f}};", "S s{4};")
    assert value(session, "(s.*p)(1) + (s.*q)(2) + (s.*rows[0].call)(3) + s.*r") == "22"
    ok(session, "int S::f(int a) { return 1000; }")
    assert value(session, "(s.*p)(1) + (s.*q)(2) + (s.*rows[0].call)(3)") == "3000"


def test_initial_values_compute_with_addresses_of_other_cells(session):
    ok(session, "int x = 3, list[4] = {0, 1, 2, 3}; int f() { return 5; }",
       "long where = (long)&x + 5; int* third = list + 3; struct Both { long at; int* p; } both{(long)&x - 1, &list[2]}; long of_f = (long)&f;")
    assert value(session, "where == (long)&x + 5 && *third == 3 && both.at == (long)&x - 1 && *both.p == 2 && of_f == (long)&f") == "true"


def test_what_is_declared_together_lives_on(session):
    ok(session, "int a = 1, *b = &a, c[2] = {5, 6}; const int d = 3, e = 4; struct P { int x; } p{7}, q{8};", "int old() { return a + *b; }")
    cell = session.run("double a = 0.5; int d = 30; long q = 80;").raise_if_failed()
    assert cell.undone == []
    assert value(session, "a + *b + c[1] + d + e + p.x + P{9}.x + q + old()") == "139.5"
    session.undo(), session.undo()
    assert value(session, "a + d + q.x") == "12"


def test_members_of_a_namespace_live_on(session):
    ok(session, "namespace n { int f() { return 1; } int h() { return 2; } int x = 3, y = 4; struct S { int a; }; namespace m { int deep() { return 5; } } }",
       "namespace k::l { int f() { return 1; } int g() { return 6; } }", 'extern "C" { int c_f() { return 1; } int c_g() { return 7; } }',
       "int use() { return n::f() + k::l::f() + c_f(); }")
    for text in ("namespace n { int f() { return 10; } double x = 0.5; }", "namespace k { namespace l { int f() { return 20; } } }",
                 'extern "C" { int c_f() { return 30; } }'):
        assert session.run(text).raise_if_failed().undone == []
    assert value(session, "n::h() + n::y + n::S{100}.a + n::m::deep() + k::l::g() + c_g() + n::x") == "124.5"
    assert value(session, "use()") == "60"
    cell = session.run("int n = 1;").raise_if_failed()
    assert sorted(cell.undone) == ["n::S", "n::f", "n::h", "n::m::deep", "n::x", "n::y"]


def test_what_goes_with_a_replaced_declaration_is_named(session):
    ok(session, "#include <utility>\nauto [p, q] = std::make_pair(1, 2);", "enum E { A, B };")
    assert session.run("int p = 3;").raise_if_failed().undone == ["q"]


def test_other_values_of_an_enumeration_live_on(session):
    ok(session, "enum E { A = 4, B, C = A + B }; namespace n { enum { A, B = 7 }; }", "E e = B; int use() { return A; }")
    cell = session.run("int A = 30; namespace n { double A = 0.5; }").raise_if_failed()
    assert (cell.undone, cell.notes) == ([], ["'use' of cell 2 keeps the earlier 'A'"])
    assert value(session, "A + B + C + e + use() + n::A + n::B") == "60.5"
    assert session.run("struct B { int x; };").raise_if_failed().undone == []
    assert value(session, "B{5}.x + C") == "14"
    assert tarsia.load_inline(session.source).use() == 30
    session.undo(), session.undo(), session.undo(), session.undo()
    assert value(session, "A + B + C + n::A") == "18"


@pytest.mark.parametrize("old", ["static int f(int a) { return a; }", "inline int f(int a) { return a; }", "template <class T> T f(T a) { return a; }"])
def test_a_pointer_to_a_function_that_was_compiled_in_is_noted(session, old):
    ok(session, old + " int (*own)(int) = f;", "auto unrelated = 3; int (*p)(int) = f;")
    cell = session.run(old.replace("return a", "return 10 * a")).raise_if_failed()
    noted = [name for name in ("own", "p") if f"'{name}' of cell {1 + (name == 'p')} keeps the earlier 'f'" in cell.notes]
    kept = [name for name in ("own", "p") if value(session, f"{name}(1)") == "1"]
    assert noted == kept and "own" in kept


def test_a_macro_that_takes_the_place_of_a_function_is_no_note_about_it(session):
    ok(session, "#define SQUARE(x) ((x) * (x))", "int SQUARE(int x) { return x; }")
    assert session.run("#define SQUARE(x) 100").raise_if_failed().notes == []
    assert value(session, "SQUARE(3)") == "100"


# What declares `t`, what uses it, and the value of that.
KINDS = {
    "function": ("int t(int a) { return a + 1; }", "t(1)", "2"),
    "variable": ("int t = 3;", "t", "3"),
    "lambda": ("auto t = [](int a) { return a + 3; };", "t(1)", "4"),
    "kernel": ("__global__ void t(float* x) { x[0] = 1; }", "void (*k)(float*) = t; k != nullptr", "true"),
    "function template": ("template <class T> T t(T a) { return a + 5; }", "t<int>(0)", "5"),
    "class template": ("template <class T> struct t { T a; };", "t<int>{6}.a", "6"),
    "enumerator": ("enum E { t = 7 };", "int e = t; e", "7"),
    "enum": ("enum t { one = 8 };", "t e = one; (int)e", "8"),
    "enum class": ("enum class t { two = 9 };", "t e = t::two; (int)e", "9"),
    "class": ("class t { public: int a; };", "t{10}.a", "10"),
    "struct": ("struct t { int b; };", "t{11}.b", "11"),
    "union": ("union t { int c; };", "t{12}.c", "12"),
    "using": ("using t = long;", "t(13)", "13"),
    "typedef": ("typedef double t;", "t(14)", "14.0"),
    "macro": ("#define t 15", "t", "15"),
    "namespace": ("namespace t { int a = 16; }", "t::a", "16"),
    "variable template": ("template <class T> T t = 17;", "t<int>", "17"),
    "concept": ("template <class T> concept t = sizeof(T) == 1;", "t<char> && !t<int>", "true"),
}


@pytest.mark.parametrize("new", KINDS)
@pytest.mark.parametrize("old", KINDS)
def test_a_thing_of_any_kind_takes_the_place_of_one_of_any_other(session, old, new):
    ok(session, KINDS[old][0])
    assert value(session, KINDS[old][1]) == KINDS[old][2]
    session.undo()
    ok(session, KINDS[new][0])
    assert value(session, KINDS[new][1]) == KINDS[new][2]
    session.undo(), session.undo()
    assert value(session, KINDS[old][1]) == KINDS[old][2]


def test_a_name_is_replaced_many_times(session):
    order = [*KINDS, *reversed(KINDS), "struct", "variable", "struct", "macro", "struct", "enumerator", "union", "function", "class", "macro", "macro"]
    for kind in order:
        ok(session, KINDS[kind][0])
        assert value(session, KINDS[kind][1]) == KINDS[kind][2], kind
        session.undo()
    for kind in reversed(order):
        assert value(session, KINDS[kind][1]) == KINDS[kind][2], kind
        session.undo(), session.undo()
