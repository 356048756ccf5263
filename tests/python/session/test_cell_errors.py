"""What cells are refused for, and what is said of them, with the line in the cell."""

import pytest
import tarsia
from cells import ok, value
from tarsia._session.repl import messages


def test_a_statement_without_a_body_is_an_error(session):
    for text in ("for (int i = 0; i < 3; ++i)", "if (true)", "if (true) 1; else", "while (false) // none"):
        cell = session.run(text)
        assert not cell.ok and "ends before the body" in cell.diagnostics[0].message and cell.diagnostics[0].line == 1, text
    ok(session, "for (int i = 0; i < 3; ++i);", "while (false) { }")


def test_a_comment_that_does_not_end_is_an_error(session):
    for text, line, column in (("/* open", 1, 1), ("1;\n  2 /* open\n", 2, 5), ('"/*"; int x = 1; /* a */ /*/', 1, 26)):
        cell = session.run(text)
        assert not cell.ok and cell.error_class == "CompileError"
        assert [(one.line, one.column, one.severity) for one in cell.diagnostics] == [(line, column, "error")]
        assert "comment" in cell.diagnostics[0].message
    assert value(session, "1 /* whole */ + 1 // rest /*") == "2"


def test_what_no_cell_defines_is_named_with_the_lines_that_use_it(session):
    ok(session, "int absent(const char* p, int n);\n\nint uses() {\n  return absent(\"a\", 2) + 1;\n}")
    first = session.run("0").number - 1
    assert f"absent(char const*, int), used at cell {first}:4, was called, which no cell" in session.run("uses()").error
    own = session.run("absent(\"a\", 1) +\n  absent(\"b\", 2)")
    assert f"absent(char const*, int), used at cell {own.number}:1, cell {own.number}:2, was" in own.error
    ok(session, "namespace lib { struct A { int size(long) const; }; }\nlib::A a;")
    assert "lib::A::size(long) const, used at cell" in session.run("a.size(3)").error
    for text, name, line in [("extern int i;\nint get() {\n  return i; }", "i", 3), ("extern int i;\n\n\nint* p = &i;", "i", 4),
                             ("namespace lib { extern long l; }\nlib::l", "lib::l", 2),
                             ("extern thread_local int t;\nint get() {\n  return t; }", "t", 3),
                             ("struct B { static int c; };\nB::c", "B::c", 2)]:
        cell = session.run(text)
        assert cell.error.startswith(f"{name}, used at cell {cell.number}:{line}, is declared"), cell.error
        assert [(one.file, one.line) for one in cell.diagnostics] == [(f"cell {cell.number}", line)]


def test_an_exception_is_an_error_and_the_session_goes_on(session):
    ok(session, "#include <stdexcept>", "int x = 1;")
    cell = session.run("x = 2;\nthrow std::invalid_argument(\"bad\");\nx = 3;")
    assert (cell.ok, cell.error, cell.error_class) == (False, "bad", "OpValueError")
    assert [(d.file, d.line, d.message) for d in cell.diagnostics] == [("cell 3", 2, "bad")]
    assert value(session, "x") == "2"


def test_an_exception_of_an_earlier_cell_or_a_library_names_a_line(session):
    ok(session, "#include <stdexcept>\n#include <vector>", "void f() {\n  throw std::runtime_error(\"no\");\n}")
    assert [(d.file, d.line) for d in session.run("f();").diagnostics] == [("cell 2", 2)]
    assert [(d.file, d.line) for d in session.run("std::vector<int> v;\n\nv.at(3)").diagnostics] == [("cell 4", 3)]


def test_an_open_brace_is_an_error_with_its_place(session):
    cell = session.run("int bad() {\n  return 1")
    assert [(d.line, d.message) for d in cell.diagnostics] == [(2, "expected '}'"), (1, "to match this '{'")]
    assert not session.run("}}").ok
    assert value(session, "1") == "1"


def test_warnings_are_of_the_cell_that_ran(session):
    cell = session.run("#define TWICE 1\nstatic inline int f(unsigned a) { int b; return a < 0 ? b : 1; }").raise_if_failed()
    assert cell.diagnostics and all(one.file == "cell 1" for one in cell.diagnostics)
    assert session.run("f(1)").raise_if_failed().diagnostics == []


def test_bad_texts(session):
    assert "NUL" in session.run(b"int x\0;").error
    assert not session.run(b"int \xff;").ok
    assert session.run("").ok and session.run("  // nothing\n").ok
    with pytest.raises(tarsia.ArgumentTypeError, match="text of a cell"):
        session.run(3)
    with pytest.raises(tarsia.NotFound, match="no cell"):
        tarsia.Session().undo()
    with pytest.raises(tarsia.ArgumentTypeError, match="functions"):
        tarsia.Session(functions=["f"])
    with pytest.raises(TypeError, match="fastmath"):
        tarsia.Session(fastmath=True)


@pytest.mark.parametrize("text, line", [("return 3;", 1), ("int b = 1;\nreturn;", 2), ("{\n  return; }", 2), ("if (1)\n return; else 2;", 2),
                                        ("{ auto f = [] { return 1; }; f(); return; }", 1),
                                        ("#define GIVE(x) return x\n\nGIVE(3);", 3), ("#define GIVE(x) return x\n{\n GIVE(3); }", 3),
                                        ("#define GIVE(x) return x\n{ auto f = [] { GIVE(1); };\n f(); GIVE(f()); }", 3),
                                        ("#define ALL if (1) { return; }\nALL", 2), ("#define SAME(x) x\nSAME(if (1) {\n return; })", 3),
                                        ("__global__ void k() { return; }\n#define GIVE return\n{ GIVE; }", 3)])
def test_statements_that_belong_into_a_function(session, text, line):
    cell = session.run(text)
    assert not cell.ok and cell.error_class == "CompileError" and cell.diagnostics[0].line == line, cell
    assert session.run("[] { struct A { int f() { return 1; } }; return A().f(); }()").value == "1"
    ok(session, "#define NEGATED(x) [&] { return -(x); }()")
    assert session.run("NEGATED([] { return 4; }())").value == "-4"
    ok(session, "#define NOTHING(x)", "#define GIVE(x) return x", "{ NOTHING(return 1) auto f = [](auto a) { GIVE(a); }; f(1); }",
       "#define BOTH(x) int both() { return x; } int from_both = both();", "BOTH(7) from_both += both();")
    assert session.run("from_both").value == "14"


@pytest.mark.parametrize("before, after", [
    ("const int n = 4;", "const int n = 5;"),
    ("inline int n() { return 4; }", "inline int n() { return 5; }"),
    ("template <class T> T n() { return 4; }", "template <class T> T n() { return 5; }"),
    ("struct n { int x = 4; };", "struct n { int x = 5; };"),
    ("constexpr int n() { return 4; }", "constexpr int n() { return 5; }"),
])
def test_what_was_compiled_with_the_earlier_one_is_named(session, before, after):
    use = {"const": "n", "struc": "n{}.x", "templ": "n<int>()"}.get(before[:5], "n()") if "constexpr" not in before else "n()"
    ok(session, before + " int same() { return 1; }", f"int g() {{ return {use}; }}\nint h(int nn) {{ return nn; }}")
    cell = session.run(after).raise_if_failed()
    assert cell.notes == ["'g' of cell 2 keeps the earlier 'n'"]
    assert value(session, "g()") == "4" and value(session, use) == "5"


def test_a_missing_folder_is_told_once(tmp_path):
    session = tarsia.Session(include_dirs=[tmp_path / "none"])
    assert [one.message for one in session.run("int a = 1;").diagnostics] == [
        f"include_dirs: '{tmp_path}/none' is no folder: it does not exist [-Wmissing-include-dirs]"]
    assert session.run("a").diagnostics == []


@pytest.mark.parametrize("cell, line, meant", [
    ("int a = 1;\n#include <vectro>\nint b = 2;", 2, "<vector>"),
    ("#include <iostrem>", 1, "<iostream>"),
    ("#include <vector>\n\n  #  include <tarsia/ops.h>\nstd::vector<int>{1}", 3, "<tarsia/op.h>"),
    ("#include <cuda_fp61.h>\n__global__ void k(float* x) {}", 1, "<cuda_fp16.h>"),
])
def test_a_missing_header_has_its_line_in_the_cell_and_what_is_meant(session, cell, line, meant):
    ok(session, "int before = 4;")
    result = session.run(cell)
    (error,) = result.diagnostics
    assert not result.ok and (error.file, error.line) == ("cell 2", line) and f"did you mean {meant}?" in error.message
    assert value(session, "before") == "4"


@pytest.mark.parametrize("cell, shown, where", [
    ("old()", "3", "1:1"), ("q::old_too(2);", None, "1:4"), ("q::old_value", "5", "1:4"), ("int a = 1;\nif (old()) { a = q::old_value; }\na", "5", "2:5"),
    ("for (int i = 0; i < old(); ++i) {}", None, "1:21"), ("auto f = [] { return old(); };\nf()", "3", "1:22"), ("{ int b = old(); }", None, "1:11"),
    ("[] { return old(); }()", "3", "1:13"),
])
def test_what_is_deprecated_warns_in_statements(session, cell, shown, where):
    ok(session, "[[deprecated(\"use new_one\")]] int old() { return 3; }\n"
       "namespace q { template <class T> [[deprecated]] T old_too(T x) { return x; } [[deprecated]] int old_value = 5; }")
    result = session.run(cell).raise_if_failed()
    first = result.diagnostics[0]
    assert result.value == shown and f"{first.line}:{first.column}" == where and first.severity == "warning"
    assert "deprecated" in first.message and len([one for one in result.diagnostics if one.line == first.line and one.severity == "warning"]) == 1 + ("value; }" in cell)


def test_a_guess_at_a_deprecated_name_is_an_error(session):
    """<future> declares std::unexpected(), which is near."""
    result = session.run("#include <future>\nstd::expected<int, int>(3)")
    assert not result.ok and result.diagnostics[0].line == 2 and "std=\"c++23\" or later" in result.diagnostics[0].message


@pytest.mark.parametrize("cell", ["c.hidden", "c.hidden = 2;", "C::secret()", "{ int x = c.hidden; }", "if (c.hidden) {}", "[] { return c.hidden; }()",
                                  "int y = c.hidden;", "sizeof(C::Inner)", "&C::hidden"])
def test_private_members_are_refused_in_statements(session, cell):
    ok(session, "class C { int hidden = 1; static int secret() { return 3; } struct Inner {}; friend int sees(C&); public: int open = 2; };\n"
                "int sees(C& c) { return c.hidden; } C c;")
    result = session.run(cell)
    assert not result.ok and "is a private member of 'C'" in result.diagnostics[0].message and result.diagnostics[0].line == 1
    assert value(session, "sees(c) + c.open") == "3"


@pytest.mark.parametrize("text, column", [("{1, 2}", 6), ("{1, 2};", 6), ("int a = 1; {a, 2}", 17), ("{{1, 2}, {3}}", 7), ("{1}", 3), ("void f() {}\n{\"a\", 2}", 8)])
def test_a_list_without_a_type_is_told_what_to_write(session, text, column):
    cell = session.run(text)
    assert not cell.ok and len(cell.diagnostics) == 1, cell.error
    assert cell.diagnostics[0].column == column and "a list in braces has no type of its own: write one before it" in cell.error, cell.error


def test_a_block_in_a_cell_is_no_list(session):
    assert session.run("int n = 0; { n++; }").ok and session.run("{ }").ok
    assert "a list in braces" not in session.run("{ n++; n = 2 }").error
    assert "a list in braces" not in session.run("{ int b = 2 }").error


@pytest.mark.parametrize("text, line", [("int f( {", 1), ("int f() {\n  return 1;\n", 2), ("struct S { int a;\nint b", 2), ("f(1,\n2", 2), ("int a = (1 +\n2;", 2)])
def test_what_is_left_open_is_told_with_the_lines_of_the_cell(session, text, line):
    cell = session.run(text)
    assert not cell.ok and {one.file for one in cell.diagnostics} == {"cell 1"}, cell.error
    assert max(one.line for one in cell.diagnostics) <= line, cell.error


def test_a_long_word_is_an_unknown_name_as_any_other(session):
    cell = session.run("int a = 1;\n" + "QUJD" * 100_000)  # data that lacks its quotation marks
    assert not cell.ok and cell.diagnostics[0].line == 2 and "undeclared identifier 'QUJD" in cell.error and len(cell.error) < 10_000
    assert session.run("1 + 1").value == "2"


@pytest.mark.parametrize("line", ["int q = 1;", "none();", "int w(int) { return none; }"])
def test_a_large_cell_of_errors_is_told_of_the_first(session, line):
    """Clang would compare each repetition of a name with all before it: minutes for these."""
    ok(session, "int before = 4;")
    result = session.run(f"{line}\n" * 50_000)
    assert not result.ok and 20 <= sum(one.severity == "error" for one in result.diagnostics) <= 50 and result.diagnostics[0].line <= 2
    assert value(session, "before") == "4"


def test_the_caret_stands_below_what_is_meant_behind_wide_characters(session):
    before = '\tauto s = "한글e\u0301"; int x = '
    cell = session.run(before + "nope;")
    told = messages(cell, before + "nope;")
    at = told.index("    " + before + "nope;")
    assert told[at + 1] == "    \t" + " " * (len(before) - 1 + 2 - 1) + "^", told
