"""tarsia.Session: cells that share what they define."""

import subprocess
import sys

import numpy as np
import pytest

import tarsia


@pytest.fixture
def session():
    return tarsia.Session()


def value(session, text):
    return session.run(text).raise_if_failed().value


def ok(session, *texts):
    for text in texts:
        session.run(text).raise_if_failed()


def test_expressions_have_values(session):
    assert value(session, "1 + 2") == "3"
    assert value(session, "1.0f / 3") == "0.33333334"
    assert value(session, "2.0") == "2.0"
    assert value(session, "'c'") == "'c'"
    assert value(session, "\"a\\n\"") == "\"a\\n\""
    assert value(session, "true") == "true"
    assert value(session, "nullptr") == "nullptr"
    assert value(session, "int a[3] = {1, 2, 3}; a") == "{1, 2, 3}"
    assert value(session, "(unsigned char)7") == "7"


@pytest.mark.parametrize("text, shown", [
    ('L"wi\\u00e4de"', '"wi\N{LATIN SMALL LETTER A WITH DIAERESIS}de"'), ('u"a\\U0001F600c"', '"a\N{GRINNING FACE}c"'),
    ('U"\\u20ac"', '"\N{EURO SIGN}"'), ('u8"x"', '"x"'), ("L'x'", "'x'"), ("char16_t(0xd800)", r"'\x{d800}'"), ("char32_t(0x20ac)", "'\N{EURO SIGN}'"),
    ('#include <string>\nstd::u32string(U"x\\n")', r'"x\n"'), ('#include <string_view>\nstd::wstring_view(L"abc")', '"abc"'),
    ("(const wchar_t*)nullptr", "nullptr"), ("wchar_t b[8] = L\"xy\"; b", '"xy"'), ("char c[2] = {'a', 'b'}; c", '"ab"'),
    ("(__int128)1 << 100", str(1 << 100)), ("-((__int128)1 << 126) - ((__int128)1 << 126)", str(-(1 << 127))),
    ("~(unsigned __int128)0", str((1 << 128) - 1)), ("(__int128)0", "0"), ("1.5L", "1.5"), ("1.0L / 3", "0.33333333333333333334")])
def test_wide_text_and_numbers_are_shown_whole(session, text, shown):
    assert value(session, text) == shown


@pytest.mark.parametrize("text, shown", [
    ("struct B { operator bool() const { return true; } }; B()", None), ("struct I { operator int() const { return 3; } }; I()", None),
    ("[] { return 1; }", None), ("struct P { operator const void*() const { return nullptr; } }; P()", None),
    ("enum E { one, two }; two", "(E) 1"), ("enum class F : short { one = 7 }; F::one", "(F) 7"),
    ("enum G { g }; std::ostream& operator<<(std::ostream& out, G) { return out << \"gee\"; }\ng", "gee"),
    ("struct S { operator int() const { return 3; } friend std::ostream& operator<<(std::ostream& out, const S&) { return out << 'S'; } }; S()", "S"),
    ("struct Base { }; std::ostream& operator<<(std::ostream& out, const Base&) { return out << \"base\"; }\nstruct D : Base { operator bool() const { return true; } }; D()", "base"),
    ("namespace n { template <class T> struct V { T a; }; template <class T> std::ostream& operator<<(std::ostream& out, const V<T>& v) { return out << v.a; } }\nn::V<int>{4}", "4"),
    ("#include <vector>\nstd::vector<bool> v{true, false}; v", "{true, false}"), ("#include <vector>\nstd::vector<bool> w{true, false}; w[1]", "false"),
    ("#include <atomic>\nstd::atomic<int> a{5}; a", "5"), ("#include <bitset>\nstd::bitset<3>(5)", "101"), ("#include <complex>\nstd::complex<float>(1, 2)", "(1,2)"),
    ("#include <filesystem>\nstd::filesystem::path(\"a\")", '"a"'), ("#include <string>\nstd::string(\"a\")", '"a"'),
    ("#include <variant>\nstd::variant<int, double> x = 2.5; x", "2.5"), ("#include <variant>\n#include <string>\nstd::variant<int, std::string> y = \"s\"; y", '"s"'),
    ("#include <ranges>\n#include <vector>\nstd::vector<int> u{1, 2, 3, 4}; u | std::views::filter([](int i) { return i % 2 == 0; })", "{2, 4}"),
    ("#include <ranges>\nstd::views::iota(1, 7) | std::views::filter([](int i) { return i % 2; }) | std::views::transform([](int i) { return i * i; })", "{1, 9, 25}"),
    ("#include <ranges>\nstd::views::iota(0)", "{" + "".join(f"{i}, " for i in range(200)) + "…}"),
    ("#include <vector>\nstd::vector<int>(200, 7)", "{" + ", ".join(["7"] * 200) + "}"),
])
def test_values_are_shown_as_their_types_say(session, text, shown):
    cell = session.run("#include <iostream>\n" + text).raise_if_failed()
    if shown is None:
        assert cell.value.startswith("(") and ") at 0x" in cell.value
    else:
        assert cell.value == shown


def test_a_stream_has_no_value(session):
    cell = session.run("#include <iostream>\n#include <sstream>\nstd::cout << \"x\"").raise_if_failed()
    assert cell.value is None and cell.stdout == "x"
    assert session.run("std::ostringstream() << 1").raise_if_failed().value is None


@pytest.mark.parametrize("text, values", [
    (["#ifndef G\n#define G\nint g() { return 2; }\n#endif", "g()", "g() + 1"], [None, "2", "3"]),
    (["#ifdef NO\nint e = 1;\n#else\nint e = 2;\n#endif\nint k = 5;", "e", "e + k"], [None, "2", "7"]),
    (["#if 1\n#if 0\nint a = 1;\n#elif 1\nint a = 3;\nint b() { return a; }\n#endif\n#endif", "a = 4; b()", "b()"], [None, "4", "4"]),
    (["#if 1\nvoid f() {\n#else\nvoid f(int) {\n#endif\n}\nint z = 2", "f(); z", "void f() { z = 7; }", "f(); z"], [None, "2", None, "7"]),
    (["struct V { int x; int operator-(int y) { return x - y; } };", "V{5} - 2", "int x = int{3} - int{1}; x", "if (x) { x = 9; }\n-x"], [None, "3", "2", "-9"]),
    (["namespace { int h() { return 1; } }\nh()", "h()", "namespace { int h() { return 2; } }\nh()", "h()"], ["1", "1", "2", "2"]),
])
def test_conditions_signs_and_unnamed_namespaces(session, text, values):
    assert [value(session, one) for one in text] == values


def test_a_statement_without_a_body_is_an_error(session):
    for text in ("for (int i = 0; i < 3; ++i)", "if (true)", "if (true) 1; else", "while (false) // none"):
        cell = session.run(text)
        assert not cell.ok and "ends before the body" in cell.diagnostics[0].message and cell.diagnostics[0].line == 1, text
    ok(session, "for (int i = 0; i < 3; ++i);", "while (false) { }")


def test_labels_and_their_goto_stand_in_a_block(session):
    cell = session.run("int y = 1;\nagain: y++; if (y < 5) goto again;")
    assert not cell.ok and "between { and }" in cell.diagnostics[0].message
    ok(session, "int y = 1;\n{ again: y++; if (y < 5) goto again; }")
    assert value(session, "y") == "5"


def test_a_comment_that_does_not_end_is_an_error(session):
    for text, line, column in (("/* open", 1, 1), ("1;\n  2 /* open\n", 2, 5), ('"/*"; int x = 1; /* a */ /*/', 1, 26)):
        cell = session.run(text)
        assert not cell.ok and cell.error_class == "CompileError"
        assert [(one.line, one.column, one.severity) for one in cell.diagnostics] == [(line, column, "error")]
        assert "comment" in cell.diagnostics[0].message
    assert value(session, "1 /* whole */ + 1 // rest /*") == "2"


@pytest.mark.parametrize("isolated", [False, True])
def test_undefined_behaviour_ends_the_cell_in_which_it_happens(isolated):
    session = tarsia.Session(debug="undefined", isolated=isolated)
    ok(session, "int add(int a, int b) { return a + b; }")
    cell = session.run("add(2147483647, 1)")
    assert (cell.ok, cell.error_class) == (False, "UndefinedBehaviour")
    assert cell.error.startswith("cell 2: undefined behaviour: cell 1:1:34: signed integer overflow"), cell.error
    assert value(session, "add(1, 2)") == "3"


def test_main_is_a_function_like_others(session):
    ok(session, "int main() { return 3; }", "int g() { return main() + 1; }", "int main() { return 5; }")
    assert (value(session, "main()"), value(session, "g()")) == ("5", "6")


def test_a_semicolon_hides_the_value(session):
    assert value(session, "1 + 2;") is None


def test_variables_live_on(session):
    ok(session, "int x = 5;", "x += 2;", "for (int i = 0; i < 3; i++) x += i;")
    assert value(session, "x") == "10"


def test_declarations_and_statements_mix_in_their_order(session):
    assert value(session, "int a = 1; a += 1; int b = a; a = 10; b") == "2"


def test_functions_call_those_of_earlier_cells(session):
    ok(session, "int square(int a) { return a * a; }", "int next(int a) { return square(a) + 1; }")
    assert value(session, "next(3)") == "10"


def test_a_function_that_is_defined_again_reaches_earlier_code(session):
    ok(session, "int f(int a) { return a; }", "int g(int a) { return f(a) + 1; }", "int f(int a) { return a * 100; }")
    assert value(session, "g(3)") == "301"
    assert session.undo() == []  # the cell of g(3)
    assert session.undo() == ["f"]
    assert value(session, "g(3)") == "4"


def test_a_function_may_be_called_in_the_cell_that_replaces_it(session):
    ok(session, "int f() { return 1; }")
    assert value(session, "int f() { return 2; }\nf()") == "2"


def test_recursion_and_forward_declarations(session):
    assert value(session, "int fact(int n) { return n < 2 ? 1 : n * fact(n - 1); }\nfact(10)") == "3628800"
    ok(session, "int later(int); int user(int a) { return later(a) + 1; }")
    missing = session.run("user(1)")
    assert not missing.ok and "no cell has defined" in missing.error
    ok(session, "int later(int a) { return a * 10; }")
    assert value(session, "user(1)") == "11"


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


def test_classes_whose_virtual_functions_are_defined_outside_of_them(session):
    ok(session, "struct A { virtual int g(); int a = 5; virtual ~A() {} };\nint A::g() { return 1; }", "A a;")
    assert value(session, "a.g()") == "1"
    assert value(session, "struct B : A { int g() override { return 2; } }; B b; A& r = b; r.g()") == "2"
    assert value(session, "#include <typeinfo>\ntypeid(r) == typeid(B) && dynamic_cast<B*>(&r)") == "true"
    ok(session, "void throws() { throw B(); }")
    assert value(session, "int n = 0; try { throws(); } catch (A& x) { n = x.g(); } n") == "2"
    ok(session, "int A::g() { return 10; }")
    assert value(session, "a.g() + A().g()") == "20"
    ok(session, "struct K { virtual int later(); };", "K* k = new K;", "int K::later() { return 4; }")
    assert value(session, "k->later() + K().later()") == "8"
    ok(session, "struct L { virtual int l() { return 1; } int li = 4; };\n"
                "struct R { virtual int r(); virtual ~R(); }; int R::r() { return 2; } R::~R() {}\n"
                "struct LR : L, R { virtual int key(); int r() override; ~LR() override; int own = 6; };\n"
                "int LR::key() { return 9; } int LR::r() { return own; } LR::~LR() {}")
    assert value(session, "LR lr; R& as_r = lr; as_r.r() + lr.key()") == "15"
    assert value(session, "struct D : LR { int key() override { return 7; } }; R* d = new D; int got = d->r(); delete d; got") == "6"


def test_another_result_type_is_noted(session):
    ok(session, "int f(int a) { return a; }", "int g(int a) { return f(a) + 1; }")
    cell = session.run("double f(int a) { return 0.5 * a; }").raise_if_failed()
    assert cell.notes == ["'g' of cell 2 keeps the earlier 'int (int)': this one is 'double (int)'"]
    assert value(session, "f(3)") == "1.5"
    assert value(session, "g(3)") == "4"


def test_overloads_stand_side_by_side(session):
    ok(session, "int f(int a) { return 1; }", "int f(double a) { return 2; }")
    assert (value(session, "f(1)"), value(session, "f(1.0)")) == ("1", "2")


def test_a_variable_of_another_type_takes_the_place(session):
    ok(session, "int x = 3;", "int get() { return x; }", "double x = 2.5;")
    assert (value(session, "x"), value(session, "get()")) == ("2.5", "3")


def test_a_variable_of_the_same_type_reaches_earlier_code(session):
    ok(session, "int x = 3;", "int get() { return x; }", "int x = 4;")
    assert value(session, "get()") == "4"


def test_what_needs_a_replaced_type_is_taken_back_and_named(session):
    ok(session, "struct P { int a; };", "P p{1};")
    cell = session.run("struct P { int z; };").raise_if_failed()
    assert cell.undone == ["p"]
    assert value(session, "P{4}.z") == "4"


def test_a_failed_cell_changes_nothing(session):
    ok(session, "int x = 1;")
    failed = session.run("int y = 2; int x = ;")
    assert not failed.ok and failed.error_class == "CompileError"
    assert failed.diagnostics[0].file == "cell 2" and failed.diagnostics[0].line == 1
    assert not session.run("y").ok
    assert value(session, "x") == "1"


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


def test_containers_strings_and_pairs_are_shown(session):
    ok(session, "#include <map>\n#include <optional>\n#include <string>\n#include <vector>")
    assert value(session, "std::vector<int> v{1, 2}; v.push_back(3); v") == "{1, 2, 3}"
    assert value(session, "std::map<std::string, std::vector<int>> m{{\"a\", {1, 2}}}; m") == "{(\"a\", {1, 2})}"
    assert value(session, "std::optional<double> o; o") == "nothing"
    assert value(session, "o = 2; o") == "2.0"
    assert value(session, "std::make_pair(1, 2.5f)") == "(1, 2.5)"
    assert value(session, "std::string(\"x\")") == "\"x\""
    assert value(session, "std::vector<int>(100000, 7)").endswith("…}")


def test_types_of_the_user_are_shown_by_their_operator(session):
    ok(session, "#include <iostream>",
       "struct V { int a; }; std::ostream& operator<<(std::ostream& o, const V& v) { return o << \"V\" << v.a; }")
    assert value(session, "V{5}") == "V5"
    assert value(session, "struct W {}; W{}").startswith("(W) at 0x")
    assert value(session, "enum class Color { red, green }; Color::green") == "(Color) 1"


def test_output_is_kept(session):
    assert session.run("#include <cstdio>\nprintf(\"hi %d\\n\", 3);").stdout == "hi 3\n"


def test_lambdas_templates_macros_and_namespaces(session):
    ok(session, "auto add = [](int a, int b) { return a + b; };", "template <class T> T twice(T a) { return a + a; }",
       "#define SQUARE(x) ((x) * (x))", "namespace ns { int deep = 4; int f() { return deep; } static int hidden = 9; }",
       "static int counter = 0; static int count() { return ++counter; }", "template <class T> T& kept() { static T one; return one; }")
    assert value(session, "add(1, 2)") == "3"
    assert value(session, "twice(2.5f)") == "5.0"
    assert value(session, "SQUARE(7)") == "49"
    assert value(session, "ns::f() + ns::hidden") == "13"
    assert value(session, "count(); count()") == "2"
    assert value(session, "kept<int>() += 1; kept<int>()") == "1"
    assert value(session, "kept<int>() += 1; kept<int>()") == "2"


def test_constants_and_bindings(session):
    ok(session, "const int N = 5; constexpr int M = N * 2;", "#include <cmath>\nconst double root = std::sqrt(16.0 * N);",
       "#include <utility>\nauto [p, q] = std::make_pair(3, 4);")
    assert value(session, "int a[M]; sizeof(a)") == "40"
    assert value(session, "p * q") == "12"
    assert value(session, "root * root > 79.9").startswith("true")


def test_constants_have_their_turn(session):
    assert value(session, "int x = 1; x = 5; const int y = x; x = 6; y") == "5"
    assert value(session, "y") == "5"


def test_ops_of_several_cells(session):
    for name in ("first", "second"):
        ok(session, f'TARSIA_OP(session_{name}).forward("cpu", [](tarsia::Context& c) {{ c.output(0).data<float>()[0] = 1; }});')
    assert session.ops == ["session_first", "session_second"]
    session.undo()
    assert session.ops == ["session_first"] and tarsia.op("session_first") is not None


def test_initial_values_may_name_functions_of_earlier_cells(session):
    ok(session, "int f(int a) { return a * 10; }", "int g(int a) { return a + 1; }", "int (*table[2])(int) = {f, g};")
    assert value(session, "table[0](2) + table[1](2)") == "23"


def test_classes_with_virtual_functions(session):
    ok(session, "struct A { virtual int f() { return 1; } virtual ~A() {} };", "struct B : A { int f() override { return 2; } };",
       "A* a = new B;")
    assert value(session, "a->f()") == "2"


def test_an_open_brace_is_an_error_with_its_place(session):
    cell = session.run("int bad() {\n  return 1")
    assert [(d.line, d.message) for d in cell.diagnostics] == [(2, "expected '}'"), (1, "to match this '{'")]
    assert not session.run("}}").ok
    assert value(session, "1") == "1"


def test_ready_values(session):
    assert value(session, "zeros({2, 3})") == "float32[2, 3] cpu\n{{0, 0, 0},\n {0, 0, 0}}"
    assert value(session, "arange(5)") == "float32[5] cpu {0, 1, 2, 3, 4}"
    assert value(session, "auto x = randn({1000}); allclose(x, x)") == "true"
    assert value(session, "zeros({2000})") == "float32[2000] cpu {0, 0, 0, …, 0, 0, 0}"
    ok(session, "int zeros = 3;")  # the name is free for the user's own
    assert value(session, "zeros") == "3"
    failed = session.run("full({-1}, 0)")
    assert not failed.ok and "negative" in failed.error


def test_npy_files(session, tmp_path):
    given = np.arange(6, dtype=np.float64).reshape(2, 3)
    np.save(tmp_path / "x.npy", given)
    ok(session, f"auto x = load_npy(\"{tmp_path}/x.npy\");", f"save_npy(\"{tmp_path}/y.npy\", x);")
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), given)
    missing = session.run(f"load_npy(\"{tmp_path}/none.npy\")")
    assert not missing.ok and "none.npy" in missing.error


def test_ops_are_in_the_registry_until_they_are_taken_back(session):
    ok(session, """
        static void scale(tarsia::Context& c) {
          for (long i = 0; i < c.input(0).numel(); i++)
            c.output(0).data<float>()[i] = 3 * c.input(0).data<const float>()[i];
        }
        TARSIA_OP(session_scale).input("x").output("y").forward("cpu", scale);
    """)
    assert session.ops == ["session_scale"]
    np.testing.assert_array_equal(tarsia.ops.session_scale(np.ones(2, np.float32)), [3, 3])
    session.undo()
    assert session.ops == []
    with pytest.raises(tarsia.NotFound):
        tarsia.op("session_scale")


def test_replaying_a_session_compiles_nothing(session):
    texts = ["int f(int a) { return a; }", "int x = f(2);", "int f(int a) { return 2 * a; }", "x + f(1)"]
    ok(session, *texts)
    again = tarsia.Session()
    cells = [again.run(text) for text in texts]
    assert cells[-1].value == "4"
    assert {cell.origin for cell in cells} <= {"memory", "disk"}


def test_two_sessions_have_their_own_variables():
    one, other = tarsia.Session(), tarsia.Session()
    ok(one, "int x = 1;")
    ok(other, "int x = 1;")
    ok(one, "x = 5;")
    assert (value(one, "x"), value(other, "x")) == ("5", "1")


def test_the_same_cell_runs_again(session):
    ok(session, "int x = 0;", "x++;", "x++;")
    assert value(session, "x") == "2"


VALUES = ["#include <vector>", "tarsia::Tensor x = arange(6), y = x; const tarsia::Tensor ones_of_them = ones({2, 3});", "float* data = x.data<float>();",
          "std::vector<tarsia::Tensor> many{randn({4}), rand_uniform({4})};", "float at(int i) { return data[i]; }",
          "bool same() { return allclose(x, y) && !allclose(many[0], many[1]); }", "tarsia::Tensor filled(long n) { return full({n}, 7); }",
          'void keep(const char* path) { save_npy(path, ones_of_them); }', 'long read(const char* path) { return load_npy(path).numel(); }',
          "data[2] = 9;", "image(ones_of_them)", "x"]


@pytest.mark.parametrize("suffix", [".cc", ".so"])
@pytest.mark.parametrize("isolated", [False, True])
def test_a_session_with_tensors_is_saved_and_loads(tmp_path, suffix, isolated):
    session = tarsia.Session(isolated=isolated)
    ok(session, *VALUES)
    path = tmp_path / f"saved{suffix}"
    session.save(path)
    library = tarsia.load(path)
    assert (library.at(2), library.same()) == (9, True)
    assert np.asarray(library.filled(3)).tolist() == [7, 7, 7]
    library.keep(str(tmp_path / "kept.npy"))
    assert np.load(tmp_path / "kept.npy").shape == (2, 3) and library.read(str(tmp_path / "kept.npy")) == 6
    with pytest.raises(tarsia.Error, match="cannot read /nowhere"):
        library.read("/nowhere/x.npy")
    # In a process of its own, it takes from Tarsia what it needs.
    done = subprocess.run([sys.executable, "-c", f"import tarsia; l = tarsia.load({str(path)!r}); print(l.at(5), l.same())"],
                          capture_output=True, text=True)
    assert done.stdout == "5.0 True\n", done.stderr


def test_static_initialisers_of_a_source_may_make_tensors():
    library = tarsia.load_inline("""
        #include <tarsia/op.h>
        static tarsia::Tensor made = tarsia::empty({3}, tarsia::float32, {TARSIA_CPU, 0});
        static tarsia::Tensor shared = made;
        long n() { return made.numel() + shared.numel(); }
    """)
    assert library.n() == 6


def test_a_session_is_saved_as_a_source_that_compiles(session, tmp_path):
    ok(session, "int f(int a) { return a; }", "int g(int a) { return f(a) + 1; }", "int f(int a) { return 10 * a; }",
       "int x = 3; x++;", "g(1)")
    session.save(tmp_path / "session.cc")
    library = tarsia.load(str(tmp_path / "session.cc"))
    assert library.g(2) == 21
    session.save(tmp_path / "session.so")
    assert tarsia.load(str(tmp_path / "session.so")).f(2) == 20


def test_a_macro_that_is_defined_again_names_what_keeps_the_earlier_one(session):
    ok(session, "#define N 4\nint n() { return N; }", "int unrelated() { return 1; }")
    cell = session.run("#define N 6").raise_if_failed()
    assert (cell.notes, cell.diagnostics) == (["'n' of cell 1 keeps the earlier 'N'"], [])
    cell = session.run("n() + N").raise_if_failed()
    assert (cell.value, cell.diagnostics, cell.notes) == ("10", [], [])


def test_an_op_that_is_defined_again_with_another_signature_is_noted(session):
    op = 'TARSIA_OP(noted_again).input("x")@.output("y").forward("cpu", [](tarsia::Context&) { });'
    ok(session, op.replace("@", ""))
    assert session.run(op.replace("@", "")).raise_if_failed().notes == []
    (note,) = session.run(op.replace("@", '.input("z")')).raise_if_failed().notes
    assert "noted_again(x) -> y at cell 2:1, now noted_again(x, z) -> y at cell 3:1" in note


def test_warnings_are_of_the_cell_that_ran(session):
    cell = session.run("#define TWICE 1\nstatic inline int f(unsigned a) { int b; return a < 0 ? b : 1; }").raise_if_failed()
    assert cell.diagnostics and all(one.file == "cell 1" for one in cell.diagnostics)
    assert session.run("f(1)").raise_if_failed().diagnostics == []


# Each was defined again as something else after code had used it, and is used by what came later.
REDEFINED = [
    "struct P { int x; }; P p{1};", "int use() { return p.x; }", "int scale = 3;", "struct P { int x, y; }; P p{scale, 2};",
    "template <class T> T sq(T a) { return a * a; }", "int q() { return sq(3); }", "#define ONE_MORE(a) ((a) + 1)",
    "template <class T> T sq(T a) { return ONE_MORE(a * a); }", "p.x", "enum E { A, B };", "int last() { return B; }", "enum E { A, N, B };",
    "using U = int; U u = 1;", "double v() { return u; }", "using U = double; U u = 1.5;", "auto l = [](int a) { return a + 1; };",
    "int of_l() { return l(1); }", "auto l = [](int a) { return a + 2; };", "namespace n { int f() { return 1; } }",
    "int of_n() { return n::f(); }", "namespace n { int f() { return 2; } }", "int runs = 0;", "runs += 2;",
    "for (int i = 0; i < 3; ++i) { runs += 1; }", "P{1, 2}.y", "u + runs"]


@pytest.mark.parametrize("suffix", [".cc", ".so"])
def test_a_session_in_which_much_was_defined_again_is_saved(session, tmp_path, suffix):
    ok(session, *REDEFINED)
    path = tmp_path / f"session{suffix}"
    session.save(path)
    library = tarsia.load(path)
    # All code has what there is now.
    assert (library.use(), library.q(), library.last(), library.v(), library.of_l(), library.of_n()) == (3, 10, 2, 1.5, 3, 2)
    if suffix == ".cc":
        assert tarsia.load_inline(path.read_text() + "int n_runs() { return runs; }").n_runs() == 5


def test_statements_that_no_longer_compile_are_comments_of_a_saved_session(session):
    ok(session, "struct P { int old; }; P p{4};", "p.old += 1;", "p.old", "struct P { int now; }; P p{7};", "p.now += 1;", "int get() { return p.now; }")
    text = session.source
    for number, statement in ((2, "p.old += 1;"), (3, "p.old;")):
        assert f"// cell {number}, no longer compiles: no member named 'old' in 'P'\n// {statement}\n" in text
    assert tarsia.load_inline(text).get() == 8


def test_a_session_with_kernels_is_saved_as_what_is_compiled_as_cuda(session, tmp_path):
    ok(session, "__global__ void k(float* x) { x[0] = 1; }")
    for suffix in (".cc", ".cpp", ".c"):
        with pytest.raises(tarsia.ArgumentValueError, match=r"save it as \.cu"):
            session.save(tmp_path / f"session{suffix}")
        assert not (tmp_path / f"session{suffix}").exists()
    session.save(tmp_path / "session.cu")
    assert list(tarsia.load(tmp_path / "session.cu").kernels) == ["k"]


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


def test_kernels_are_declared_and_launched_in_cells_of_their_own(session):
    ok(session, "__global__ void twice(float* x, int n) { int i = threadIdx.x; if (i < n) x[i] *= 2; }",
       "__device__ float one_more(float a) { return a + 1; }",
       "__global__ void more(float* x) { x[threadIdx.x] = one_more(x[threadIdx.x]); }",
       "void go(float* p, int n) { twice<<<1, n>>>(p, n); more<<<1, n>>>(p); }",
       "template <class T> __global__ void fill(T* x, T v) { x[threadIdx.x] = v; }",
       "void filled(float* p) { fill<<<1, 32>>>(p, 1.0f); }")


@pytest.mark.skipif(any(line["part"] == "CUDA driver" and line["found"] for line in tarsia.doctor()["lines"]),
                    reason="there is a GPU: launches do not fail")
def test_launches_of_earlier_kernels_fail_as_those_of_the_cell(session):
    ok(session, "__global__ void kernel(float* x) { x[0] = 1; }", "void go() { kernel<<<1, 1>>>(nullptr); }")
    for text in ("kernel<<<1, 1>>>(nullptr);", "go();", "__global__ void own() {}\nown<<<1, 1>>>();"):
        cell = session.run(text)
        assert not cell.ok and cell.error_class == "CudaError" and "launches a kernel" in cell.error, text
    assert session.run("1").value == "1"


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


@pytest.mark.parametrize("text, name", [
    ("thread_local int x = 5;", "x"), ("int five() { return 5; } thread_local int x = five();", "x"), ("static thread_local int x = 5;", "x"),
    ("int five() { return 5; } static thread_local int x = five();", "x"), ("__thread int x = 5;", "x"), ("namespace { thread_local int x = 5; }", "x"),
    ("namespace n { thread_local int x = 5; }", "n::x"), ("struct S { static thread_local int x; }; thread_local int S::x = 5;", "S::x"),
    ("int five() { return 5; } inline thread_local int x = five();", "x"), ("thread_local int own = 5; thread_local int& x = own;", "x"),
    ("template <class T> thread_local T y = 5;", "y<int>"), ("inline int& x() { thread_local int own = 5; return own; }", "x()"),
    ("__global__ void k() {} thread_local int x = 5;", "x"), ("extern \"C\" { thread_local int x = 5; }", "x")])
def test_thread_local_variables_live_on_for_each_thread(session, text, name):
    ok(session, "#include <thread>", text, f"{name} += 2;", f"int get() {{ return {name}; }}", f"int* at() {{ return &{name}; }}")
    assert session.run(f"{name} + 10 * get()").value == "77"
    assert session.run(f"int other = 0; std::thread([] {{ {name} *= 3; other = get(); }}).join(); 100 * other + {name}").value == "1507"
    assert session.run(f"at() == &{name}").value == "true"


def test_thread_local_variables_are_defined_again_and_taken_back(session):
    ok(session, "thread_local int x = 5; int own() { return x; }", "int get() { return x; }", "int start() { return 7; }",
       "thread_local int x = start(); int both() { return x + get(); }")
    assert session.run("both() + own()").value == "21"
    session.undo(), session.undo()
    assert session.run("get() + own()").value == "10"
    cell = session.run("int x = 1;").raise_if_failed()
    assert cell.notes == [f"'{name}' of cell {number} keeps the earlier 'thread_local int': this one is 'int'" for name, number in
                          (("own", 1), ("get", 2))]
    assert session.run("x + get()").value == "6"


def test_thread_local_objects_end_with_their_thread(session):
    ok(session, "#include <thread>", "int alive = 0;", "struct Counted { Counted() { ++alive; } ~Counted() { --alive; } int n = 1; };",
       "thread_local Counted counted;", "int within = 0; std::thread([] { counted.n = 2; within = 10 * alive + counted.n; }).join();")
    assert session.run("100 * within + alive").value == "1200"
    cell = session.run("extern thread_local int nowhere;\nnowhere")
    assert not cell.ok and "nowhere" in cell.error and "define it" in cell.error


def test_a_kernel_with_another_body_is_another_cell():
    for body in ("x[0] = 1;", "if (x) { x[0] = 1; }", "x[0] = 1; x[1] = 2;"):
        session = tarsia.Session()  # the host's half of these cells is the same
        ok(session, "__global__ void same_host_half(float* x) { " + body + " }", "int after;", "auto* at = &same_host_half;")


def test_kernels_have_what_op_h_gives_them(session, tmp_path):
    ok(session, "__global__ void twice(const float* x, float* y, long n) { TARSIA_GRID_LOOP(i, n) y[i] = 2 * x[i]; }",
       "void go(float* x, long n) { twice<<<tarsia::blocks(n), 256>>>(x, x, n); }")
    session.save(tmp_path / "saved.cu")
    assert tarsia.load(str(tmp_path / "saved.cu")).twice


def test_a_kernel_replaces_one_that_earlier_code_launches(session):
    ok(session, "__global__ void k(float* x, int n) { if (n) { x[0] = n; } }", "auto* before = &k; auto* at() { return &k; }",
       "__global__ void k(float* x, int n) { x[0] = n + 1; }", "__global__ void other(int* a) { *a = 1; } int between = 3;")
    assert session.run("at() == &k").value == "true" and session.run("before == &k").value == "false"
    session.undo(), session.undo(), session.undo(), session.undo()
    assert session.run("before == &k").value == "true"


@pytest.mark.parametrize("compiler", ["nvrtc", "clang"])
def test_statements_stand_between_kernels(compiler):
    session = tarsia.Session(device_compiler=compiler)
    ok(session, "template <class T> __global__ void fill(T* x, T v) { x[0] = v; }\nint a = 3; a += 4;\n__global__ void k(float* x) { x[0] = 1; }",
       "for (int i = 0; i < 3; ++i) { auto same = [](int x) { return x; }; a += same(1); }",
       "if (a > 100) fill<<<1, 1>>>((double*)nullptr, 1.0);", "if (a > 100) k<<<1, 1>>>(nullptr);")
    assert session.run("a").value == "10"
    cell = session.run("void open() { int x;")
    assert not cell.ok and {one.file for one in cell.diagnostics} == {f"cell {cell.number}"}, cell.diagnostics
    assert session.run("k").value == "(void (float *)) function"


@pytest.mark.parametrize("compiler", ["nvrtc", "clang"])
def test_a_device_variable_belongs_to_the_kernels_of_its_cell(compiler):
    session = tarsia.Session(device_compiler=compiler)
    ok(session, "__device__ float total; __constant__ float unused = 1; __device__ void add(float a) { total += a; }\n"
                "__global__ void own(float* x) { add(x[0]); }",
       "__device__ float total_of(float a) { return total + a; }",
       "__global__ void other(float* unused) { unused[0] = 1; }", "float* where() { void* at; cudaGetSymbolAddress(&at, total); return (float*)at; }")
    for text in ("__global__ void direct(float* x) { x[0] = total; }", "__global__ void by_another(float* x) { x[0] = total_of(1); }",
                 "__global__ void added(float* x) { add(x[0]); }"):
        cell = session.run(text)
        assert not cell.ok and "'total' (cell 1:1)" in cell.error and "define it together" in cell.error
        assert [(one.file, one.line) for one in cell.diagnostics] == [(f"cell {cell.number}", 1)]
    assert session.run("3").value == "3"


def test_statements_have_lambdas_classes_and_static_variables(session):
    ok(session, "#include <vector>", "#include <algorithm>", "template <class F> int call(F f) { return f(2); }", "int total = 0;",
       "for (int i = 0; i < 3; ++i) { auto add = [i](int a) { return a + i; }; total += add(1); }",
       "{ struct Pair { int a, b; int sum() const { return a + b; } }; Pair p{1, 2}; total += p.sum(); }",
       "{ struct Pair { int a; int sum() const { return 10 * a; } }; Pair p{2}; total += p.sum(); }",
       "{ static int n = total; total += n; }", "{ static int n = 1; total += n; auto f = [](auto x) { static int k = 1; return x + k; }; total += f(0); }",
       "try { struct Thrown {}; throw Thrown(); } catch (...) { total += 100; }")
    assert session.run("total").value == "160"
    assert session.run("call([](int a) { return a * total; })").value == "320"
    ok(session, "std::vector<int> v{3, 1, 2};", "{ std::sort(v.begin(), v.end(), [](int a, int b) { return a > b; }); }")
    assert session.run("v").value == "{3, 2, 1}"
    assert session.run("std::transform(v.begin(), v.end(), v.begin(), [](auto x) { return x * x; }); v").value == "{9, 4, 1}"
    ok(session, "int twice_again() { return call([](int a) { return 2 * a; }); }\n{ total = call([](int a) { return 2 * a; }); }")
    assert session.run("total + twice_again()").value == "8"


@pytest.mark.parametrize("isolated", [False, True])
def test_completion(isolated):
    session = tarsia.Session(isolated=isolated)
    ok(session, "struct Punkt { int x; int länge(int a) const { return a; } };", "Punkt größe; int square(int a) { return a * a; }")
    assert session.complete("squ") == {"start": 0, "matches": ["square"], "details": ["int square(int a)"]}
    found = session.complete('"ä"; größe.')
    assert found["start"] == 11 and {"x", "länge"} <= set(found["matches"]) and "square" not in found["matches"]
    assert session.complete("größ") == {"start": 0, "matches": ["größe"], "details": ["Punkt größe"]}
    assert session.complete("int y = squ + 1;", 11)["matches"] == ["square"]
    assert session.complete("int f() {\n  if (squ", 18)["start"] == 16
    assert "vector>" in session.complete("#include <vec")["matches"]
    assert session.complete("")["matches"] and session.complete("nothing_like_it")["matches"] == []
    assert session.complete("squ", 99)["matches"] == session.complete("square", 3)["matches"] == ["square"]
    assert session.run("square(3)").value == "9"


def test_blank_cells_are_no_cells():
    session = tarsia.Session(isolated=True)
    ok(session, "int f() { return 1; }", "int f() { return 2; }", "", "// nothing")
    assert session.run("").origin is None
    assert session.undo() == ["f"]
    assert not session.run("#include <cstdlib>\nabort();").ok
    assert value(session, "f()") == "1"


def test_standards(session):
    old = tarsia.Session(std="c++17")
    assert (value(old, "__cplusplus"), value(session, "__cplusplus")) == ("201703", "202002")
    with pytest.raises(tarsia.ArgumentValueError, match=r"C\+\+17 or newer"):
        tarsia.Session(std="c++14")
    with pytest.raises(tarsia.ArgumentValueError, match=r"C\+\+17 or newer"):
        old.set_options(std="c++11")
    old.set_options(defines={"N": "3"})
    assert value(old, "N + (__cplusplus == 201703L)") == "4"


def test_variables_with_initial_values_in_brackets_live_on(session):
    ok(session, "int e(4); bool b(true); int* p(nullptr); auto f(2.5f);", "int a[2]{1, 2}, n(3);",
       "tarsia::Tensor x(ones({2}));")
    assert value(session, "e + a[1] + n + b") == "10"
    assert value(session, "x.size(0) + f") == "4.5"


def test_expressions_begin_with_a_sign(session):
    assert value(session, "-1") == "-1"
    ok(session, "int i = 3;")
    assert [value(session, text) for text in ("-i", "+i", "// no\n-i * -2", "int j = i\n- 1; -j")] == ["-3", "3", "6", "-2"]
    assert value(session, "#if -1\n-i - 1 // ;\n#endif") == "-4"


def test_a_lambda_after_another_variable_of_its_line_is_called_later(session):
    ok(session, "int much = 1; auto five = [] { return 5; };")
    assert value(session, "five()") == "5"


def test_constructors_and_destructors_outside_of_their_class(session):
    ok(session, "int n = 3; struct A { A(); ~A(); };", "A::A() { n = 7; }\nA::~A() { n--; }", "{ A a; }")
    assert value(session, "n") == "6"
    ok(session, "A::~A() { n = 100; }", "{ A a; }")
    assert value(session, "n") == "100"


@pytest.mark.parametrize("cells", [
    ["struct A { ~A(); }; int n = 0; A::~A() { n--; }", "A a;"],
    ["struct A { ~A(); };", "#include <cstdio>\nA::~A() { std::puts(\"gone\"); std::fflush(stdout); }", "A a;"],
    ["struct A { ~A(); }; A::~A() {}", "A a;", "int helper() { return 1; }\nA::~A() { helper(); }"],
])
def test_objects_end_before_any_code_goes(cells):
    code = f"import tarsia; s = tarsia.Session(); [s.run(one).raise_if_failed() for one in {cells!r}]"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ("gone\n" if "puts" in cells[1] else "")


def test_an_op_that_was_replaced_is_there_again_after_undo(session):
    op = 'TARSIA_OP(undone_op).input("x").output("y").forward("cpu", [](tarsia::Context& c) {{ c.output(0).data<float>()[0] = {}; }});'
    ok(session, op.format(1), op.format(2))
    x = np.zeros(1, np.float32)
    assert tarsia.ops.undone_op(x) == 2
    assert session.undo() == ["undone_op"]
    assert session.ops == ["undone_op"] and tarsia.ops.undone_op(x) == 1
    session.undo()
    assert session.ops == [] and "undone_op" not in tarsia.ops


def test_tensors_are_made_on_a_device(session):
    ok(session, 'auto a = zeros({2}, "cpu"), b = ones({2}, "cpu"), c = full({2}, 3, "cpu"), d = randn({2}, "cpu"), e = rand_uniform({2}, "cpu");')
    assert value(session, 'arange(3, "cpu")') == "float32[3] cpu {0, 1, 2}"
    assert value(session, "allclose(c, c) && !allclose(a, b)") == "true"


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


def test_static_functions_are_called_directly_in_their_own_cell(session):
    ok(session, "static int n() { return 4; } int g() { return n(); }", "int h() { return n(); }")
    cell = session.run("static int n() { return 5; }").raise_if_failed()
    assert cell.notes == ["'g' of cell 1 keeps the earlier 'n'"]
    assert (value(session, "g()"), value(session, "h()"), value(session, "n()")) == ("4", "5", "5")


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


def test_a_launch_without_a_block_has_its_line(session):
    ok(session, "__global__ void k(int* p) { *p = 1; }")
    for cell, line in (("int n = 1;\nk<<<1>>>(nullptr);", 2), ("void f(int* p) {\n\n  k<<<1>>>(p); }", 3)):
        (error,) = session.run(cell).diagnostics
        assert error.line == line and "a kernel launch needs a grid and a block" in error.message


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
