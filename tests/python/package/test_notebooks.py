"""IPython: the cell magic, what is displayed, and what help() says."""

import random
import subprocess
import sys

import pytest

import tarsia

SOURCE = """
// Not of f, as a line is between them.

/// Adds one
/// to each element.
__global__
void add_one(float* x, int n) {
  __shared__ float kept[32];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  kept[threadIdx.x % 32] = x[i]; __syncthreads();
  if (i < n) x[i] = kept[(threadIdx.x + 1) % 32] + 1;
}
/* Of the
 * smaller one: a < b & c. */
extern "C" float smaller(float a,
                         float b) { return a < b ? a : b; }
namespace geometry {
/**
 * The area.
 *   - in square metres
 */
[[nodiscard]]
double area(double a, double b) { return a * b; }
int plain(int a) { return a; }  // a comment behind
int bare(int a) { return a; }
// Of a circle.
double area(double r) { return 3 * r * r; }
/// Scales.
template <class T>
__global__ void scale(T* x, T by) { *x *= by; }
}  // namespace geometry
static int hidden() { return 0; }
"""


@pytest.fixture(scope="module")
def lib():
    return tarsia.load_inline(SOURCE, "noted", arch="sm_90")


def test_signatures_hold_default_arguments_as_the_source_has_them():
    lib = tarsia.load_inline("""
    #include <vector>
    enum class Mode { fast, slow };
    #define ONE 1
    int f(Mode m = Mode::slow, std::vector<int> v = {1, 2}, double d = 3 * (1 + 1), const char* s = "a,)", int o = ONE);
    int f(Mode m, std::vector<int> v, double d, const char* s, int o) { return int(m); }
    """)
    assert lib.f.__doc__.startswith("int f(Mode m = Mode::slow, std::vector<int> v = {1, 2}, double d = 3 * (1 + 1), "
                                    'const char *s = "a,)", int o = ONE) at source:')
    assert lib.f() == 1


def test_docstrings_hold_the_comment_above(lib):
    assert lib.smaller.__doc__ == ("float smaller(float a, float b) at source:15\n\nOf the\nsmaller one: a < b & c.")
    assert lib.add_one.__doc__.startswith("void add_one(float *x, int n) at source:7\n\nAdds one\nto each element.\n")
    assert "Not of f" not in lib.add_one.__doc__ and "k[grid, block" in lib.add_one.__doc__
    assert "\n\n    The area.\n      - in square metres\n" in lib.area.__doc__
    assert "double geometry::area(double r)" in lib.area.__doc__ and "\n\n    Of a circle." in lib.area.__doc__
    assert lib.plain.__doc__ == "int geometry::plain(int a) at source:24"
    assert lib.bare.__doc__ == "int geometry::bare(int a) at source:25"  # the comment is the line's above
    assert "\n\nScales.\n" in lib.scale.__doc__


def test_comments_of_headers_and_files():
    lib = tarsia.load_inline({"a.cc": '#include "h.h"\n// In a file.\nint in_file() { return in_header(); }\n'},
                             headers={"h.h": "// In a header.\ninline int in_header() { return 4; }\n"})
    assert lib.in_file.__doc__ == "int in_file() at a.cc:3\n\nIn a file."


def test_a_prebuilt_library_has_signatures(lib, tmp_path):
    lib.export(tmp_path / "noted.so")
    assert tarsia.load(tmp_path / "noted.so").smaller.__doc__.startswith("float smaller(float a, float b)")


def test_help_shows_signature_and_comment(lib):
    import pydoc

    text = pydoc.plain(pydoc.render_doc(lib.smaller))
    assert "smaller(float a, float b)" in text and "smaller one: a < b & c." in text
    assert "to each element." in pydoc.plain(pydoc.render_doc(lib.add_one))


def test_a_library_is_displayed_with_what_its_kernels_need(lib):
    html = lib._repr_html_()
    assert "<b>tarsia.Library</b> noted, " in html
    assert "Of the<br>smaller one: a &lt; b &amp; c." in html
    a = lib.add_one.attributes
    assert a.shared == 128 and f"{a.registers} registers, 128 bytes of shared memory" in html
    assert "<td style=\"text-align:left\">skipped</td>" in html and "hidden" in html
    assert html.count("<tr>") == html.count("</tr>") == 8


def test_where_it_came_from_is_told():
    source = f"int one() {{ return 1; }} // {random.getrandbits(64):x}"
    first, second = tarsia.load_inline(source), tarsia.load_inline(source)
    assert "compiled in " in repr(first) and " ms" in first._repr_html_()
    assert "from memory" in second._repr_html_() and "(memory)" in repr(second)


@pytest.fixture
def shell():
    pytest.importorskip("IPython")
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    shell.run_line_magic("load_ext", "tarsia")
    yield shell
    shell.reset()


def test_the_magic_compiles_a_cell(shell):
    assert shell.run_cell_magic("tarsia", "", "int twice(int a) { return 2 * a; }") is shell.user_ns["lib"]
    assert shell.user_ns["lib"].twice(4) == 8
    shell.run_cell("%%tarsia other -D N=3 --std c++17 -O 1 --fast-math\nlong n() { return N * __cplusplus; }")
    assert shell.user_ns["other"].n() == 3 * 201703
    result = shell.run_cell("%%tarsia --names -q\nint thrice(int a) { return 3 * a; }")
    assert result.result is None and shell.user_ns["thrice"](2) == 6


@pytest.mark.parametrize("line, text", [("--nonsense", "unrecognized arguments"), ("-O x", "invalid int"), ("1x", "'1x' cannot be")])
def test_the_magic_refuses(shell, line, text):
    from IPython.core.error import UsageError

    with pytest.raises(UsageError, match=text):
        shell.run_cell_magic("tarsia", line, "int f() { return 1; }")


def test_the_magic_shows_errors_without_a_traceback(shell, capsys):
    result = shell.run_cell("%%tarsia\nint f() {\n  return nowhere;\n}")
    assert isinstance(result.error_in_exec, tarsia.CompileError)
    shown = "".join(capsys.readouterr())
    assert "nowhere" in shown and "return nowhere;" in shown and "_ipython.py" not in shown


def test_help_of_the_magic(shell, capsys):
    shell.run_cell("%tarsia --help")
    assert "--fast-math" in capsys.readouterr().out
    assert "stands in a cell below %%tarsia" in str(shell.run_cell("%tarsia lib").error_in_exec)
    shell.run_cell("%%tarsia --help\nint f() { return 1; }")
    assert "--fast-math" in capsys.readouterr().out


def test_ipython_is_not_imported_without_need():
    program = "import sys, tarsia; tarsia.load_inline('int f() { return 1; }').f(); sys.exit('IPython' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


def run_session(shell, text, options=""):
    result = shell.run_cell(f"%%tarsia --session {options}\n{text}")
    result.raise_error()
    return None if result.result is None else repr(result.result)


def test_cells_of_a_session_share_what_they_define(shell, capsys):
    assert run_session(shell, "struct Pair { int a, b; };\nint sum(Pair p) { return p.a + p.b; }") is None
    assert run_session(shell, "Pair p{2, 3};\nsum(p)") == "5"
    run_session(shell, "int sum(Pair p) { return 10 * (p.a + p.b); }")
    assert run_session(shell, "sum(p)") == "50"
    assert run_session(shell, "sum(p)", "-q") is None
    capsys.readouterr()
    assert run_session(shell, '#include <cstdio>\nprintf("hi\\n");') is None
    assert capsys.readouterr().out == "hi\n"
    assert run_session(shell, ":undo\n:undo\nsum(p)") == "50" and capsys.readouterr().out.count("taken back") == 2
    shell.run_cell("%%tarsia\nint f() { return 1; }")  # a library, as ever
    assert shell.user_ns["lib"].f() == 1
    run_session(shell, ":quit")
    assert isinstance(shell.run_cell("%%tarsia --session\nsum(p)").error_in_exec, tarsia.CompileError)


def test_ops_of_a_session_are_there_for_python(shell):
    run_session(shell, 'TARSIA_OP(notebook_op).forward("cpu", [](tarsia::Context&) {});')
    assert "notebook_op" in dir(tarsia.ops)
    run_session(shell, ":undo")


def test_options_of_a_session_hold_for_later_cells(shell):
    assert run_session(shell, "N * (__cplusplus == 201703L)", "-D N=7 -std=c++17") == "7"
    assert run_session(shell, "N * (__cplusplus == 201703L)") == "7"


def test_tensors_of_a_session_are_displayed_as_tables(shell):
    html = shell.run_cell("%%tarsia --session\nfull({2, 2}, 0.5)").result._repr_html_()
    assert "<b>float32</b> 2 × 2, cpu" in html and html.count("0.5</td>") == 4
    assert shell.run_cell("%%tarsia --session\n1").result._repr_html_() is None


def test_errors_of_a_session_are_shown_without_a_traceback(shell, capsys):
    run_session(shell, "int kept = 3;")
    result = shell.run_cell("%%tarsia --session\nint f() {\n  return nowhere;\n}")
    assert isinstance(result.error_in_exec, tarsia.CompileError)
    shown = "".join(capsys.readouterr())
    assert "cell 2:2:10: error: use of undeclared identifier 'nowhere'\n      return nowhere;\n             ^" in shown
    assert "_ipython.py" not in shown
    result = shell.run_cell("%%tarsia --session\n#include <stdexcept>\n\nthrow std::runtime_error(\"ouch\");")
    assert isinstance(result.error_in_exec, tarsia.Error) and "cell 3:3: error: ouch" in "".join(capsys.readouterr())
    assert run_session(shell, "kept") == "3"


@pytest.mark.parametrize("line, text", [("lib", "makes no library"), ("--names", "makes no library")])
def test_a_session_refuses_what_is_for_libraries(shell, line, text):
    from IPython.core.error import UsageError

    with pytest.raises(UsageError, match=text):
        shell.run_cell_magic("tarsia", "--session " + line, "1")
