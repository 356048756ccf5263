"""When a cell is whole, and what the cells of a script are."""

import pytest

from tarsia._session.reader import cells_of, commands_of, is_whole


@pytest.mark.parametrize("text", [
    "1 + 2", "int f() { return 1; }", "if (a) { b(); } else { c(); }", "// {", "\"{\"", "'{'", "/* { */ 1", "R\"x({)x\"",
    "1'000'000", "f(a, b);", "}", "k<<<1, 32>>>(x);", "#ifdef A\n#endif",
    "i++", "i--", "x // +", "x /* = */", "#define A 1 +", "#define A \\\n  -\n1", "bool b = is_same_v<int, int>", "do { f(); } while (x)", "do f(); while (x)",
    "while (x) f();", "for (;;) { } while (x) { }", "if (x) while (y) f();", "f(x)", "if (a) 1;", "int f(int a)", "'='", "\"a +\"", "#include <vector>",
    "#include \"a.h\" // -", "// a \\\n +", "auto f = [] { for (;;) ; };", "x = {1}", "struct S",
])
def test_whole(text):
    assert is_whole(text)


@pytest.mark.parametrize("text", [
    "int f() {", "f(a,", "int a[] = {1,", "/* a", "R\"(a", "#define A \\", "#if A\nint x;", "template <class T>", "template <int N, class T>",
    "if (a) b(); else", "do", "int z =", "f(1) +", "f(1) + // 2", "f(1) && /* */ ", "a ?", "a ? b :", "f(1,", "x.", "x->", "if (a)", "if constexpr (a)",
    "for (int i = 0; i < 3; ++i)", "while (f(1))", "switch (a)", "do {\n  f();\n}", "do f();", "if (a) 1; else if (b)", "for (auto x : y) // each",
    "for (;;) { } while (x)", "return", "x = (1) *",
])
def test_not_whole(text):
    assert not is_whole(text)


def test_cells_of_lines():
    assert cells_of("1\n\nint f()\n{\n}\nif (a) {\n}\nelse {\n}\n2") == ["1", "int f()\n{\n}", "if (a) {\n}\nelse {\n}", "2"]


@pytest.mark.parametrize("cells", [
    ["if (x)\n  1;\nelse\n  2;", "3"], ["int z =\n4;", "z"], ["f(1) +\nf(2)", "3"], ["do\n{\n  f();\n}\nwhile (x);", "3"], ["for (;;)\n  f();", "3"],
    ["do f();\nwhile (x);", "2"], ["std::cout\n  << 1\n  << 2;", "1"], ["int z\n  = 4;", "z"], ["a\n  .b()\n  ->c()", "d"], ["f(x);", "-x"], ["x", "*p"],
    ["S::S()\n  : a(1) {\n}", "1"], ["1;", ":undo"], ["1", ":set opt=3"], [":time", "{ f(); }"], [":undo", "= 3"], [":load a +", "2"], ["try {\n}\ncatch (...) {\n}", "1"], ["if (a) {\n}\nelse if (b)\n  f();\nelse\n  g();", "1"],
])
def test_a_cell_of_a_script_goes_on_where_a_statement_does(cells):
    assert cells_of("\n".join(cells)) == cells


def test_cells_between_marks():
    assert cells_of("int x;\nint y;\n%%\n3\n%% \n4") == ["int x;\nint y;", "3", "4"]


@pytest.mark.parametrize("text, commands, rest", [
    ("int x;", [], "int x;"), ("\nx", [], "\nx"), (":undo", [":undo"], ""), ("\n:set opt=3 \n\n:undo\nf(x)\n:y", [":set opt=3", ":undo"], "\n\n\n\nf(x)\n:y"),
    ("::f()", [], "::f()"), ("  :time\n1", [":time"], "\n1"), ("", [], ""),
])
def test_commands_stand_before_the_text_and_leave_its_lines_where_they_are(text, commands, rest):
    assert commands_of(text) == (commands, rest)
