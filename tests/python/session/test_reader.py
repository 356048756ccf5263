"""When a cell is whole, and what the cells of a script are."""

import pytest

from tarsia._session.reader import cells_of, commands_of, is_whole


@pytest.mark.parametrize("text", [
    "1 + 2", "int f() { return 1; }", "if (a) { b(); } else { c(); }", "// {", "\"{\"", "'{'", "/* { */ 1", "R\"x({)x\"",
    "1'000'000", "f(a, b);", "}", "k<<<1, 32>>>(x);", "#ifdef A\n#endif",
])
def test_whole(text):
    assert is_whole(text)


@pytest.mark.parametrize("text", [
    "int f() {", "f(a,", "int a[] = {1,", "/* a", "R\"(a", "#define A \\", "#if A\nint x;", "template <class T>", "template <int N, class T>",
    "if (a) b(); else", "do",
])
def test_not_whole(text):
    assert not is_whole(text)


def test_cells_of_lines():
    assert cells_of("1\n\nint f()\n{\n}\nif (a) {\n}\nelse {\n}\n2") == ["1", "int f()\n{\n}", "if (a) {\n}\nelse {\n}", "2"]


def test_cells_between_marks():
    assert cells_of("int x;\nint y;\n%%\n3\n%% \n4") == ["int x;\nint y;", "3", "4"]


@pytest.mark.parametrize("text, commands, rest", [
    ("int x;", [], "int x;"), ("\nx", [], "\nx"), (":undo", [":undo"], ""), ("\n:set opt=3 \n\n:undo\nf(x)\n:y", [":set opt=3", ":undo"], "\n\n\n\nf(x)\n:y"),
    ("::f()", [], "::f()"), ("", [], ""),
])
def test_commands_stand_before_the_text_and_leave_its_lines_where_they_are(text, commands, rest):
    assert commands_of(text) == (commands, rest)
