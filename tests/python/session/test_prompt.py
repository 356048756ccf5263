"""The prompt in a terminal, with both line editors."""

import os
import re
import subprocess
import sys

import pytest

pexpect = pytest.importorskip("pexpect")

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]")


def _has(name):
    import importlib.util

    return importlib.util.find_spec(name) is not None


class Terminal:
    """A prompt in a terminal of 100 columns."""

    def __init__(self, state, **environment):
        kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLORTERM")}
        self._child = pexpect.spawn(sys.executable, ["-m", "tarsia", "repl"], encoding="utf-8", codec_errors="replace", timeout=30, dimensions=(30, 100), env={
            **kept, "XDG_STATE_HOME": str(state), "TERM": "xterm-256color", **environment})
        self._child.delaybeforesend = None
        self.told, self.has_ended = "", False

    def type(self, text):
        self._child.send(text)

    def type_bytes(self, data):
        os.write(self._child.child_fd, data)

    def expect(self, text):
        """Reads until the text has been written. Escapes between its characters do not count."""
        between = r"(?:\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]|\x00)*"
        self._child.expect(between.join(map(re.escape, text)))
        self.told += self._child.before + self._child.after

    def ask(self, text, answer):
        """Types a line and reads its answer, which begins a line."""
        self.type(text + "\r")
        self.expect("\n" + answer)
        self.expect(">>> ")

    def end(self):
        """Types Ctrl-D. The exit code."""
        self.has_ended = True
        self.type("\x04")
        self._child.expect(pexpect.EOF)
        self.told += self._child.before
        self._child.close()
        return self._child.exitstatus


@pytest.fixture(params=["toolkit", "plain"])
def editor(request, tmp_path_factory):
    """The environment that chooses an editor."""
    if request.param == "toolkit":
        if not _has("prompt_toolkit"):
            pytest.skip("prompt_toolkit is not installed")
        return {}
    stub = tmp_path_factory.mktemp("stub")
    (stub / "prompt_toolkit.py").write_text("raise ImportError('not here')")
    return {"PYTHONPATH": os.pathsep.join([str(stub), *filter(None, [os.environ.get("PYTHONPATH")])])}


@pytest.fixture
def toolkit():
    pytest.importorskip("prompt_toolkit")


@pytest.fixture
def prompt(tmp_path):
    """Opens prompts in terminals of their own. Those that a test leaves open end well with Ctrl-D."""
    opened = []

    def begin(**environment):
        opened.append(Terminal(tmp_path, **environment))
        opened[-1].expect(">>> ")
        return opened[-1]

    yield begin
    assert all(one.has_ended or one.end() == 0 for one in opened)


def test_cells_of_one_and_of_many_lines(tmp_path, editor, prompt):
    terminal = prompt(**editor)
    terminal.type("int sq(int a) {\r")
    terminal.expect("... ")
    terminal.type("return a * a; }\r")
    terminal.expect(">>> ")
    terminal.ask("sq(12)", "144")
    terminal.ask(":undo", "taken back: a cell without declarations")
    terminal.type("nope\r")
    terminal.expect("error: use of undeclared identifier 'nope'")
    terminal.ask("::sq(3)", "9")
    assert terminal.end() == 0
    assert [ESCAPES.sub("", line) for line in (tmp_path / "tarsia" / "history").read_text().splitlines()] == [
        "int sq(int a) {\u2424return a * a; }", "sq(12)", ":undo", "nope", "::sq(3)"]


def test_bytes_that_are_no_utf8_are_told_with_their_line(editor, prompt):
    terminal = prompt(**editor)
    terminal.type_bytes(b'auto s = "\xff"; \r')
    terminal.expect("cell 1:1:11: error: the byte 0xff is not UTF-8")
    terminal.expect(">>> ")
    terminal.ask("6 * 7", "42")


def test_what_is_typed_before_the_prompt_is_there_counts(tmp_path, editor):
    terminal = Terminal(tmp_path, **editor)
    terminal.type("6 * 7\r")
    terminal.expect("\n42")
    terminal.expect(">>> ")


def test_control_c_drops_the_input_and_control_d_ends(prompt, editor):
    terminal = prompt(**editor)
    terminal.ask("1 + 1", "2")
    terminal.type("int f() {\r")
    terminal.expect("... ")
    terminal.type("dropped\x03")
    terminal.expect(">>> ")
    terminal.ask("2 + 3", "5")


def test_control_c_ends_a_cell(prompt, editor):
    terminal = prompt(**editor)
    terminal.ask("int kept = 3; kept", "3")
    terminal.type('extern "C" int puts(const char*); puts("it" "runs"); for (;;) {}\r')
    terminal.expect("itruns")
    terminal.type("\x03")
    terminal.expect("ended its process")
    terminal.expect(">>> ")
    terminal.ask("kept", "3")


def test_tab_completes(tmp_path, editor, prompt):
    terminal = prompt(**editor)
    terminal.ask("int some_long_name = 17; 0", "0")
    terminal.type("some_lo\t")
    terminal.expect("some_long_name")
    terminal.ask(" + 1", "18")
    terminal.type(":hel\t\r")
    terminal.expect("lists the commands")
    terminal.expect(">>> ")
    (tmp_path / "some_file.cc").write_text("3 * 7")
    terminal.type(f":load {tmp_path}/some_\t")
    terminal.expect("file.cc")
    terminal.ask("", "21")


def test_the_history_is_there_in_the_next_prompt(prompt, editor):
    terminal = prompt(**editor)
    terminal.ask("100 + 11", "111")
    assert terminal.end() == 0
    terminal = prompt(**editor)
    terminal.type("\x1b[A")
    terminal.expect("100 + 11")
    terminal.ask("1", "1111".replace("1111", "211"))


def test_two_prompts_at_once_lose_nothing(tmp_path, editor, prompt):
    terminals = [prompt(**editor) for _ in range(2)]
    for i in range(3):
        for j, terminal in enumerate(terminals):
            terminal.ask(f"{i} * 100 + {j}", str(100 * i + j))
    assert [terminal.end() for terminal in terminals] == [0, 0]
    assert (tmp_path / "tarsia" / "history").read_text().splitlines() == [f"{i} * 100 + {j}" for i in range(3) for j in range(2)]


def test_a_history_that_cannot_be_written_is_told_once(tmp_path, editor, prompt):
    (tmp_path / "tarsia").write_text("a file where the folder should be")
    terminal = prompt(**editor)
    for i in range(3):
        terminal.ask(f"{i} + 10", str(10 + i))
    assert terminal.end() == 0
    assert terminal.told.count("the history is not kept: ") == 1


def test_a_terminal_that_can_do_nothing(prompt):
    terminal = prompt(TERM="dumb")
    terminal.ask("6 * 7", "42")
    assert terminal.end() == 0
    assert "\x1b[3" not in terminal.told and "\x1b[1" not in terminal.told


def test_no_color(prompt, editor):
    colour = re.compile(r"\x1b\[(?:[0-9;]*;)?(?:1|3[0-8]|9[0-7])(?:;[0-9;]*)?m")
    for environment, expected in (({"NO_COLOR": "1"}, False), ({}, True)):
        terminal = prompt(**editor, **environment)
        terminal.ask('"text"', '"text"')
        terminal.type("int x = nope;\r")
        terminal.expect("error:")
        terminal.expect("^")
        terminal.expect(">>> ")
        assert terminal.end() == 0
        assert bool(colour.search(terminal.told)) == expected, terminal.told


def test_a_paste_of_many_lines_is_one_cell(prompt, toolkit):
    terminal = prompt()
    terminal.expect("\x1b[?2004h")
    terminal.type("\x1b[200~int pasted = 4;\nint more = pasted * 2;\n\npasted + more\x1b[201~")
    terminal.ask("", "12")


def test_a_cell_from_the_history_is_edited_as_a_whole(prompt, toolkit):
    terminal = prompt()
    terminal.ask("int whole = [] {\r  return 5; }(); whole", "5")
    terminal.type("\x1b[A")
    terminal.expect("return 5; }(); whole")
    terminal.ask(" + 1", "6")


def test_a_watched_file_runs_when_it_is_saved(tmp_path, editor, prompt):
    file = tmp_path / "watched.cc"
    file.write_text("int f() { return 1; }\nf() * 1000")
    terminal = prompt(**editor)
    terminal.ask(f":watch {file}", "1000")
    (tmp_path / "new").write_text("int f() { return 2; }\nf() * 1000")
    os.replace(tmp_path / "new", file)
    terminal.type("f() * 1")  # is there still after the file has run
    terminal.expect("watched.cc changed")
    terminal.expect("2000")
    terminal.expect(">>> f() * 1" if editor else ">>> ")
    terminal.ask("1", "22")


def test_control_c_ends_a_watched_file(tmp_path, editor, prompt):
    file = tmp_path / "watched.cc"
    file.write_text("int n = 1;")
    terminal = prompt(**editor)
    terminal.ask(f":watch {file}\r1 + 1", "2")
    file.write_text('extern "C" int puts(const char*); puts("it" "runs"); for (;;) {}')
    terminal.expect("itruns")
    terminal.type("\x03")
    terminal.expect(">>> ")
    terminal.ask("n + 4", "5")


def test_a_cell_reads_what_a_person_types(editor, prompt):
    terminal = prompt(**editor)
    terminal.ask("#include <iostream>\r1", "1")
    terminal.type("int n = 0; std::cout << \"n\" << \"? \"; std::cin >> n; n * 2\r")
    terminal.expect("n? ")
    terminal.type("21 9\r")
    terminal.expect("\n42")
    terminal.expect(">>> ")
    terminal.type("char text[9]; std::cout << \"t\" << \"? \"; scanf(\"%8s\", text); text\r")
    terminal.expect("t? ")
    terminal.type("word\r")
    terminal.expect('\n"word"')
    terminal.expect(">>> ")
    terminal.type("std::cout << \"e\" << \"? \"; getchar()\r")
    terminal.expect("e? ")
    terminal.type("\x04")  # ends this read, and no later one
    terminal.expect("-1")
    terminal.expect(">>> ")
    terminal.type("std::cout << \"c\" << \"? \"; std::cin >> n;\r")
    terminal.expect("c? ")
    terminal.type("\x03")
    terminal.expect("cell 6:1: error: interrupted")
    terminal.expect(">>> ")
    terminal.ask("int* null = nullptr; *null = 1;\rn", "21")  # a cell that runs again reads the same
    terminal.ask("n + 1", "22")


def test_the_terminal_is_as_it_was(tmp_path, editor):
    import pty
    import termios

    ours, theirs = pty.openpty()
    before = termios.tcgetattr(theirs)
    child = os.fork()
    if child == 0:
        os.setsid()
        for number in range(3):
            os.dup2(theirs, number)
        os.environ.update(XDG_STATE_HOME=str(tmp_path), TERM="xterm", **editor)
        os.execv(sys.executable, [sys.executable, "-m", "tarsia", "repl"])
    told = b""
    while b">>> " not in told:
        told += os.read(ours, 4096)
    os.write(ours, b":quit\r")
    status = None
    while status is None:
        os.set_blocking(ours, False)
        try:
            os.read(ours, 4096)
        except BlockingIOError:
            pass
        ended, code = os.waitpid(child, os.WNOHANG)
        status = code if ended else None
    assert status == 0 and termios.tcgetattr(theirs) == before
    os.close(ours)
    os.close(theirs)


@pytest.mark.parametrize("variables, coloured", [({}, False), ({"FORCE_COLOR": "1"}, True), ({"PYTHON_COLORS": "1"}, True),
                                                 ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
                                                 ({"FORCE_COLOR": "1", "PYTHON_COLORS": "0"}, False)])
def test_python_s_variables_decide_about_colours(variables, coloured):
    environment = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR", "PYTHON_COLORS", "TERM")}
    done = subprocess.run([sys.executable, "-m", "tarsia", "repl", "-c", "6 * 7\n%%\nint x = nope;"], capture_output=True, text=True,
                          timeout=120, env=environment | variables)
    assert done.stdout == ("\033[36m42\033[0m\n" if coloured else "42\n"), done
    assert ("\033[1;31merror:\033[0m" in done.stderr) == ("\033[1;32m^\033[0m" in done.stderr) == coloured, done
    assert ("\033" in done.stderr) == coloured, done
