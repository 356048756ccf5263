"""Compile errors point at the user's text and at the .py file where it stands."""

import re
import subprocess
import sys

import pytest
from places import REPO

import tarsia
from tarsia import _colours, _diagnose
from tarsia._errors import CompileError, Diagnostic
from tarsia._compile.loading import callers_place

SOURCE = """
int f() {
\treturn x + 1;
}
"""


def error_at(line, column, file="source.cu"):
    error = CompileError("1 error")
    error.diagnostics = [Diagnostic(file, line, column, "error", "use of undeclared identifier 'x'")]
    return error


def explained(source, line, column, headers=None, file="source.cu"):
    error = error_at(line, column, file)
    _diagnose.explain(error, source, headers, callers_place())
    return error


def test_the_line_and_a_caret_are_shown():
    error = explained(SOURCE, 3, 9)
    assert error.diagnostics[0].source_line == "\treturn x + 1;"
    lines = str(error).split("\n")
    assert lines[0] == "1 error"
    assert lines[1].startswith("source.cu:3:9: error: use of undeclared identifier 'x'")
    assert lines[2] == "    3 | \treturn x + 1;"
    assert lines[3] == "      | \t       ^"


def test_columns_count_characters_of_the_string():
    source = "/* ä€ */ int y = x;"
    found = explained(source, 1, len(source[:source.index("x")].encode()) + 1)
    assert found.diagnostics[0].column == source.index("x") + 1
    lines = str(found).split("\n")
    assert lines[2].index("x") == lines[3].index("^")


def test_carets_stand_below_characters_of_any_width():
    source = "/* 漢字 e\u0301 */ int y = x;"  # two of two columns each, and a mark of none
    lines = str(explained(source, 1, len(source[:source.index("x")].encode()) + 1)).split("\n")
    assert lines[3].index("^") == lines[2].index("x") + 2 - 1


def test_notes_about_headers_are_not_shown_but_kept():
    error = error_at(3, 9)
    error.diagnostics += [Diagnostic("/usr/include/vector", n, 1, "note", f"candidate {n}") for n in (1, 2)]
    error.diagnostics.append(Diagnostic("source.cu", 2, 5, "note", "declared here"))
    _diagnose.explain(error, SOURCE, None, callers_place())
    text = str(error)
    assert "candidate" not in text and "declared here" in text and text.endswith("(.diagnostics has all, with what is said about headers)")
    assert len(error.diagnostics) == 4


def test_errors_come_first_and_warnings_about_headers_are_kept_apart(tmp_path):
    warns = "".join(f"inline int f{i}() {{ }}\n" for i in range(30))
    (tmp_path / "theirs.h").write_text(warns)
    with pytest.raises(CompileError) as caught:
        tarsia.load_inline('#include "theirs.h"\nint own() { }\nint g() { return missing; }', include_dirs=[tmp_path])
    found = caught.value.diagnostics
    assert found[0].severity == "error" and "missing" in found[0].message
    assert sum(one.severity == "warning" for one in found) == 31
    for text in (str(caught.value), caught.value.args[0]):
        assert "theirs.h" not in text and text.index("missing") < text.index("own" if "own()" in text else "-Wreturn-type")


def test_many_errors_are_cut_short():
    error = error_at(3, 9)
    error.diagnostics *= 40
    assert str(error).count("undeclared") < 20 and "more" in str(error)


PRINTING = """
import sys, traceback
from tarsia._errors import CompileError, Diagnostic
error = CompileError("1 error")
error.diagnostics = [Diagnostic("source.cu", 1, 1, "error", "wrong")]
try:
    raise error
except CompileError as e:
    assert "\\033" not in str(e) and "\\033" not in repr(e), "kept plain for logs"
    assert "\\033" not in traceback.format_exc()
    traceback.print_exc()
    print("====", file=sys.stderr)
raise error
"""


@pytest.mark.parametrize("variables, coloured", [({"FORCE_COLOR": "1"}, True), ({"PYTHON_COLORS": "1"}, True), ({}, False),
                                                 ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
                                                 ({"FORCE_COLOR": "1", "PYTHON_COLORS": "0"}, False)])
def test_tracebacks_have_colours_in_a_terminal_and_texts_have_none(variables, coloured):
    import os

    environment = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR", "PYTHON_COLORS", "TERM")}
    done = subprocess.run([sys.executable, "-c", PRINTING], capture_output=True, text=True, env=environment | variables)
    caught, uncaught = done.stderr.split("====")
    for text in (caught, uncaught):
        assert ("\033[1;31merror:\033[0m \033[1mwrong\033[0m" in text) == coloured, text
        assert ("error: wrong" in text) != coloured


def test_fatal_errors_are_as_red_as_errors():
    for severity in ("error", "fatal error"):
        text = Diagnostic("source.cu", 1, 1, severity, "wrong")._render(_colours.coloured)
        assert f"\033[1;31m{severity}:\033[0m \033[1mwrong\033[0m" in text


def test_the_literal_s_own_line_is_named():
    error = explained(SOURCE, 3, 9)
    file, line = error.diagnostics[0].origin.rsplit(":", 1)
    assert file == __file__
    with open(__file__) as text:
        first = next(i for i, row in enumerate(text, 1) if row.startswith("SOURCE = "))
    assert int(line) == first + 2


JOINED = ("int a;\n"
          "int b; int c;"
          " int d;\n"

          "int e;\n\n"
          "int f;")
IN_ONE_LINE = "int a;\nint b;\nint c;"
CONTINUED = """\
int a;
int b; \
int c;
int d;\n\nint e;
"""
RAW = r"""int a;
// \n no escape
int c; \
int d;
"""


@pytest.mark.parametrize("name, rows", [
    ("JOINED", [0, 1, 4, 4, 5]), ("IN_ONE_LINE", [0, 0, 0]), ("CONTINUED", [1, 2, 4, 4, 4, 5]), ("RAW", [0, 1, 2, 3, 4]),
])
def test_literals_of_every_form_name_their_lines(name, rows):
    with open(__file__) as text:
        first = next(i for i, row in enumerate(text, 1) if row.startswith(name + " = "))
    found = [explained(globals()[name], line, 1).diagnostics[0].origin for line in range(1, len(rows) + 1)]
    assert found == [f"{__file__}:{first + row}" for row in rows]


def test_texts_made_at_run_time_have_no_literal():
    error = explained(SOURCE + "// more", 3, 9)
    assert error.diagnostics[0].origin is None and error.diagnostics[0].source_line == "\treturn x + 1;"


def test_files_and_headers_are_told_apart():
    source = {"a.cu": "int a;\nint b;", "b.cc": "int c;"}
    assert explained(source, 2, 1, file="a.cu").diagnostics[0].source_line == "int b;"
    assert explained(source, 1, 1, file="b.cc").diagnostics[0].source_line == "int c;"
    assert explained("int x;", 1, 1, headers={"h.h": "int h;"}, file="h.h").diagnostics[0].source_line == "int h;"
    assert explained(source, 1, 1, file="/usr/include/x.h").diagnostics[0].source_line is None
    assert explained("int x;", 99, 1).diagnostics[0].source_line is None


def test_the_family():
    for name in ("CompileError", "CompilerCrashed", "CompileTimeout", "LoadError", "ArgumentError", "CudaError",
                 "NotFound", "Unsupported", "OpError", "ResourceLimit", "InvalidSource"):
        assert issubclass(getattr(tarsia, name), tarsia.Error)
    assert issubclass(tarsia.ArgumentTypeError, TypeError) and issubclass(tarsia.ArgumentValueError, ValueError)
    assert issubclass(tarsia.InvalidSource, tarsia.CompileError)


def test_the_page_shows_the_message_as_it_is(tmp_path):
    try:
        tarsia.load_inline("int probe() { return 1; }")
    except (tarsia.NotFound, tarsia.Unsupported) as error:
        pytest.skip(f"no compiler: {error}")
    page = (REPO / "docs" / "python.md").read_text()
    shown = re.search(r"^```\n(.*?)^```", page[page.index("## Errors"):], re.MULTILINE | re.DOTALL).group(1)
    lines = [""] * 13 + ["import tarsia", "lib = tarsia.load_inline(\"\"\"", "int f() {", "  return x + 1;", "}", "\"\"\")"]
    (tmp_path / "train.py").write_text("\n".join(lines))
    done = subprocess.run([sys.executable, "train.py"], cwd=tmp_path, capture_output=True, text=True)
    message = done.stderr[done.stderr.index("CompileError: ") + len("CompileError: "):]
    assert message.replace(f"[{tmp_path}/", "[") == shown


def test_a_literal_is_found_while_other_threads_parse():
    import ast
    import gc
    import linecache
    import threading

    lines = ["x = (1, [2, {3: 4}])\n"] * 300 + ["source = 'int f() { }'\n"]
    linecache.cache["<many>"] = (0, None, lines, "<many>")
    parse = threading.Event(), threading.Event()

    class Garbage:
        """Collected in the middle of a parse, it lets another thread parse."""

        def __init__(self):
            self.cycle = self

        def __del__(self):
            if threading.current_thread() is threading.main_thread():
                parse[0].set()
                parse[1].wait(10)
                parse[1].clear()

    def parse_meanwhile():
        while parse[0].wait(10) and not done:
            parse[0].clear()
            ast.parse("y = (1, 2)")
            parse[1].set()

    done = []
    other = threading.Thread(target=parse_meanwhile)
    other.start()
    threshold = gc.get_threshold()
    gc.collect()
    gc.set_threshold(50, 1, 1)
    try:
        for _ in range(5):
            Garbage()
            assert _diagnose._literal("int f() { }", ("<many>", {}, 301)) == ("<many>", [301])
    finally:
        gc.set_threshold(*threshold)
        done.append(True)
        parse[0].set()
        other.join()
        del linecache.cache["<many>"]
        gc.collect()
