"""Sessions in which a cell defines again what an earlier one has defined."""

import pytest

import tarsia


@pytest.fixture
def session():
    return tarsia.Session()


def ok(session, *texts):
    for text in texts:
        session.run(text).raise_if_failed()


def value(session, text):
    return session.run(text).raise_if_failed().value


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
