"""Sessions in a child process: a crash costs no definition."""

import gc
import io
import json
import os
import re
import signal
import socket
import subprocess
import sys

import places
import pytest
from cells import value

import tarsia
from tarsia._session import child


@pytest.fixture(scope="module")
def session():
    return tarsia.Session(isolated=True)


@pytest.mark.parametrize("text, how", [
    ("int* p = nullptr; *p = 1;", "SIGSEGV"),
    ("int* p = nullptr; { int unused = *p; }", "SIGSEGV"),
    ("int* p = nullptr; *p == 3;", "SIGSEGV"),
    ("int* p = nullptr; if (*p) {}", "SIGSEGV"),
    ("void f() { int* p = nullptr; int unused = *p; } f();", "SIGSEGV"),
    ("#include <cstdlib>\nabort();", "SIGABRT"),
    ("int seven = 7, zero = 0; seven / zero", "SIGFPE"),
    ("volatile int zero = 0; 1 / zero", "SIGFPE"),
    ("int zero = 0; 0 % zero", "SIGFPE"),
    ("int zero = 0; { long unused = 4l / zero; }", "SIGFPE"),
    ("int f(unsigned a) { int unused = 5 / a; return 3; } f(0)", "SIGFPE"),
    ("#include <chrono>\nstd::chrono::seconds(1) / int{}", "SIGFPE"),
    ("#include <cstdlib>\nexit(3);", "exit code 3"),
    ("#include <signal.h>\n#include <unistd.h>\nkill(getpid(), SIGKILL);", "SIGKILL"),
])
def test_a_crash_is_an_error_and_definitions_are_restored(session, text, how):
    value(session, "int kept = 3; int get() { return kept; }")
    cell = session.run(text)
    assert not cell.ok and how in cell.error
    assert any("again" in note for note in cell.notes)
    assert value(session, "get()") == "3"


def test_a_crash_names_its_line(session):
    cell = session.run("int* null = nullptr;\n\n*null = 1;")
    assert f"cell {cell.number}:3" in cell.error
    cell = session.run("int divided(int a) {\n  return a > 3 ? 1 / (a - 4) :\n    1 / (a - 2);\n}\ndivided(2)")
    assert f"divided(int) at cell {cell.number}:3" in cell.error and "integer division by zero" in cell.error


@pytest.mark.parametrize("text, line", [
    ("int (*fp)(int) = nullptr;\n\nfp(3)", 3),
    ("int (*fp)(int) = nullptr; int before = 1;\nfp(3);", 2),
    ("void (*fp)() = nullptr;\nvoid calls() { fp(); }\n\ncalls();", 4),
    ("void (*fp)() = nullptr;\nvoid calls() { fp(); }\n\ncalls()", 4),
    ("struct Node { void (*go)(); } node{};\n\nnode.go()", 3),
    ("1 / 0", 1),
    ("int a = 4;\na = 7 % 0;", 2),
])
def test_a_call_through_a_null_pointer_and_a_literal_division_name_their_line(session, text, line):
    cell = session.run(text)
    assert not cell.ok and f"at cell {cell.number}:{line}\n" in cell.error


@pytest.mark.parametrize("call", ["pthread_exit(nullptr)", "thrd_exit(3)"])
def test_a_cell_does_not_end_the_sessions_thread(session, call):
    value(session, "#include <pthread.h>\n#include <threads.h>\n#include <thread>\nint kept = 5;")
    for text, line in ((f"int a = 1;\n{call};", 2), (f"void leaves() {{\n  {call};\n}}\n\nleaves()", 5)):
        cell = session.run(text)
        (error,) = cell.diagnostics
        assert not cell.ok and not cell.notes and error.line == line
        assert "pthread_exit and thrd_exit would end the thread that runs the session" in cell.error
    assert value(session, "kept") == "5"
    assert value(session, f"std::thread t([] {{ kept = 6; {call}; kept = 7; }});\nt.join();\nkept") == "6"


def test_a_crash_in_a_last_call_names_its_line(session):
    cell = session.run("#include <cstdlib>\nvoid twice(double* p) {\n  delete[] p;\n  delete[] p;\n}\ntwice(new double[4]);")
    assert "SIGABRT" in cell.error and f"twice(double*) at cell {cell.number}:4" in cell.error


def test_what_cells_print_comes_before_their_values_in_the_programs_own_process_too():
    done = run("--in-process", "-c", '#include <cstdio>\nprintf("one\\n");\n7\n%%\nprintf("two\\n");\n8')
    assert (done.returncode, done.stdout) == (0, "one\n7\ntwo\n8\n")


FORKS = """#include <cstdio>
#include <sys/wait.h>
#include <unistd.h>
pid_t forked = fork();
if (forked == 0) printf("child\\n"); else { waitpid(forked, nullptr, 0); printf("parent\\n"); }
forked != 0"""


@pytest.mark.parametrize("options", [[], ["--json"], ["--in-process"], ["--in-process", "--json"]])
def test_a_process_that_a_cell_forks_answers_nothing(options):
    done = run(*options, "-c", FORKS + "\n%%\n1\n%%\n2\n%%\n3")
    assert (done.returncode, done.stderr) == (0, "")
    if "--json" in options:
        cells = [json.loads(line) for line in done.stdout.splitlines()]
        assert [(cell["number"], cell["value"]) for cell in cells] == [(1, "true"), (2, "1"), (3, "2"), (4, "3")]
        assert cells[0]["stdout"] == "child\nparent\n"
    else:
        assert done.stdout == "child\nparent\ntrue\n1\n2\n3\n"


def test_a_forked_process_that_fails_or_reads_answers_nothing():
    given = iter(["7\n", "8\n"])
    session = tarsia.Session(isolated=True, stdin=lambda: next(given))
    value(session, "#include <cstdio>\n#include <sys/wait.h>\n#include <unistd.h>\nint n = 0;\npid_t forked = fork();\n"
          "if (forked == 0) { getchar(); throw 1; } else { waitpid(forked, nullptr, 0); scanf(\"%d\", &n); }")
    assert [value(session, text) for text in ("n", "n + 1")] == ["7", "8"]


def test_a_forked_process_that_goes_on_hides_no_crash():
    session = tarsia.Session(isolated=True)
    process = int(value(session, "#include <unistd.h>\nint kept = 3; pid_t forked = fork(); if (forked == 0) { alarm(30); pause(); } forked"))
    cell = session.run("_exit(5);")
    assert not cell.ok and "exit code 5" in cell.error
    os.kill(process, signal.SIGKILL)  # it is there still
    assert value(session, "kept") == "3"


@pytest.mark.parametrize("text, line, how", [
    ("exit(3);", 1, "exit code 3"), ("int one = 1;\n\n_exit(1);", 3, "exit code 1"), ("1;\nkill(getpid(), SIGKILL);", 2, "signal SIGKILL"),
    ("1;\nleave();", 2, "exit code 7"), ("for (int i = 0; i < 3; i++)\n  if (i == 2)\n    leave();", 3, "exit code 7"),
    ("struct Leaves { Leaves() { leave(); } };\nLeaves leaves;", 2, "exit code 7"),
])
def test_an_end_of_the_process_is_told_with_its_line(session, text, line, how):
    value(session, "#include <csignal>\n#include <cstdlib>\n#include <unistd.h>\nvoid leave() { _exit(7); }")
    cell = session.run(text)
    assert cell.error == f"the cell ended its process ({how})"
    assert [(one.file, one.line, one.message) for one in cell.diagnostics] == [(f"cell {cell.number}", line, cell.error)]


def test_an_end_without_a_line_names_the_cell(session):
    value(session, "#include <cstdio>\nputs(\"\");")  # its place is not that of the next
    process = session._handle._child._process
    process.kill()
    process.wait()
    cell = session.run("1")
    assert cell.error == f"cell {cell.number}: the cell ended its process (signal SIGKILL)" and cell.diagnostics == []


def test_an_interrupt_is_told_with_its_line():
    text = "#include <cstdio>\nputs(\"begins\");\nfor (;;)\n  tarsia::check_interrupt();"
    program = ("import signal, tarsia; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
               f"cell = tarsia.Session(isolated=True, keep_output=False).run({text!r})\n"
               "print(cell.error, cell.error_class, [(one.file, one.line) for one in cell.diagnostics])")
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "begins\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == "interrupted Interrupted [('cell 1', 4)]\n"


def test_errors_of_cells_are_those_of_sessions_in_the_process(session):
    cell = session.run("nope")
    assert (cell.ok, cell.error_class) == (False, "CompileError")
    assert cell.diagnostics[0].file == f"cell {cell.number}"


def run(*arguments, text=None, **environment):
    return subprocess.run([sys.executable, "-m", "tarsia", "repl", *arguments], input=text, capture_output=True, text=True, timeout=120,
                          env={**os.environ, **environment})


@pytest.fixture
def run_with_fake(fake_driver):
    """Runs cells where there is that driver. NVRTC cannot stand it: what it compiles is in the cache by then."""
    def run_twice(*cells, options=()):
        cells = "\n%%\n".join(cells)
        run("--arch", "sm_90", *options, text=cells)
        return run("--arch", "sm_90", *options, text=cells, LD_LIBRARY_PATH=str(fake_driver))

    return run_twice


@pytest.mark.parametrize("options", [["--json"], ["--json", "--in-process"]])
def test_work_of_a_gpu_that_fails_is_an_error_of_its_cell(run_with_fake, options):
    done = run_with_fake("#include <cstdlib>", "__global__ void k() {} int kept = 3;", "{ kept = 4;\nsetenv(\"FAKE_WAIT\", \"700\", 1); }",
                         "kept", "1 + 1", options=options)
    cells = [json.loads(line) for line in done.stdout.splitlines()]
    assert [cell["ok"] for cell in cells] == [True, True, False, True, True], done
    assert cells[2]["error_class"] == "CudaError" and "cell 3 gave the GPU work that failed: error 700" in cells[2]["error"]
    assert [(one["file"], one["line"]) for one in cells[2]["diagnostics"]] == [("cell 3", 2)]
    assert cells[3]["value"] == ("4" if options[1:] else "3")
    assert [("cells 1, 2 again" in note, "memory of GPUs is new" in note) for note in cells[2]["notes"]] == [(True, True)][len(options[1:]):]


def test_a_cell_whose_work_fails_when_it_runs_again_is_taken_back(run_with_fake, tmp_path):
    done = run_with_fake(
        "#include <cstdlib>", "#include <cstdio>\n#include <unistd.h>", "__global__ void k() {} int kept = 3;",
        f"{{ if (access(\"{tmp_path}/again\", F_OK) == 0) setenv(\"FAKE_WAIT\", \"719\", 1); }}", f"fclose(fopen(\"{tmp_path}/again\", \"w\"));",
        "int gone = 1;", f"remove(\"{tmp_path}/again\");", "gone", f"fclose(fopen(\"{tmp_path}/again\", \"w\"));", "abort();", "kept",
        f"remove(\"{tmp_path}/again\");")
    assert done.stdout == "1\n3\n" and "note: cell 4 broke the GPU's work when it ran again, and is taken back\n" in done.stderr, done
    assert "note: a new process has run cells 1, 2, 3, 5, 6, 7, 8, 9 again" in done.stderr


def test_cells_of_a_text():
    done = run("-c", "int x = 3;\n%%\nx * 2\n%%\nint f(int a)\n{ return a; }\n%%\nf(x)")
    assert (done.returncode, done.stdout, done.stderr) == (0, "6\n3\n", "")


@pytest.mark.parametrize("options", [[], ["--json"], ["--in-process"], ["-c", ""]])
def test_an_empty_script_says_nothing(options):
    for _ in range(5):  # the child may be at any point of its start
        done = run(*options, text="")
        assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), done


def test_a_session_that_is_closed_at_once_says_nothing(capfd):
    for _ in range(5):
        tarsia.Session(isolated=True)._handle.close()
    assert capfd.readouterr() == ("", "")


def test_lines_of_scripts_may_end_as_on_windows():
    done = subprocess.run([sys.executable, "-m", "tarsia", "repl"], input=b"int x = 3;\r\n%%\r\nx\r\n%%\r\n:undo\r\n", capture_output=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"3\ntaken back: a cell without declarations\n", b"")
    done = subprocess.run([sys.executable, "-m", "tarsia", "repl"], input=b"int f()\r\n{ return 4; }\r\nf()\r\n", capture_output=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"4\n", b"")


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_output_that_cannot_be_written_is_an_error(options):
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-m", "tarsia", "repl", *options, "-c", "1"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (2, "tarsia repl: what is told cannot be written: No space left on device\n")


@pytest.mark.parametrize("isolated", [False, True])
@pytest.mark.parametrize("options", [{"std": "c++99"}, {"arch": "zzz"}, {"march": "foo"}, {"opt": 9}])
def test_options_that_are_refused_change_nothing(isolated, options):
    session = tarsia.Session(isolated=isolated)
    with pytest.raises(tarsia.Error, match="0 to 3" if "opt" in options else re.escape(next(iter(options.values())))):
        session.set_options(**options)
    assert session.options == {} and value(session, "1") == "1"


def test_a_script_on_standard_input_is_read_as_if_typed():
    done = run(text="int x = 3;\nx * 2\nint f(int a)\n{\n  return a;\n}\nf(x)\n:undo\n")
    assert (done.returncode, done.stdout) == (0, "6\n3\ntaken back: a cell without declarations\n")


@pytest.mark.parametrize("text, code", [
    ("#include <cstdlib>\nexit(3);", 3), ("#include <cstdlib>\nexit(0);", 1), ("#include <cstdlib>\nabort();", 128 + 6), ("int x = nope;", 1),
    ("throw 1;", 1), ("#include <cstdlib>\nint x = nope;\n%%\nexit(4);", 1), ("#include <cstdlib>\n1\n%%\nexit(4);\n%%\nexit(5);", 4)])
def test_the_exit_code_is_that_of_the_first_cell_that_failed(text, code):
    assert run("-c", text).returncode == code


@pytest.mark.parametrize("options", [[], ["--in-process"]])
def test_nothing_but_cells_is_on_standard_output_with_json(options):
    text = ("#include <cstdio>\n#include <thread>\nstruct Bye { ~Bye() { puts(\"bye\"); } } object;\n%%\n"
            "std::thread other([] { getchar(); for (int i = 0; i < 50; ++i) { puts(\"tick\"); fflush(stdout); } });\n%%\n:ops\n%%\nother.join(); 1")
    done = run("--json", *options, "-c", text)
    cells = [json.loads(line) for line in done.stdout.splitlines()]
    assert [cell["ok"] for cell in cells] == [True, True, True], done
    assert "bye" in done.stderr and "none" in done.stderr


def test_what_destructors_write_at_the_end_is_told():
    told = []
    with tarsia.Session(isolated=True) as session:
        session.run('#include <cstdio>\nstruct Bye { ~Bye() { fputs("bye", stderr); } } object;')
        session._handle.tells[0], session._handle._child._errors._pause = told.append, 1  # the thread that reads it is late
    assert told == ["bye"]


def test_json_lines_are_alone_on_standard_output():
    done = run("--json", "-c", "#include <cstdio>\nprintf(\"hi\\n\");\n%%\nnope\n%%\n1 + 1")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["ok"] for line in lines] == [True, False, True]
    assert [line["value"] for line in lines] == [None, None, "2"]
    assert lines[0]["stdout"] == "hi\n"
    assert lines[1]["diagnostics"][0]["file"] == "cell 2"
    assert set(lines[0]) >= {"ok", "value", "stdout", "diagnostics", "compile_ms", "run_ms", "undone"}
    assert done.returncode == 1


BROKEN = b'1;\nauto s = "\xe4";'
TOLD = "cell 1:2:11: error: the byte 0xe4 is not UTF-8: save the text as UTF-8\n    auto s = \"\N{REPLACEMENT CHARACTER}\";\n              ^\n"


@pytest.mark.parametrize("way", ["-c", "script", "load", "watch", "in-process"])
def test_broken_utf8_is_told_with_its_line_and_the_next_cell_runs(tmp_path, way):
    file = tmp_path / "latin.cc"
    file.write_bytes(BROKEN)
    if way == "script":
        done = subprocess.run([sys.executable, "-m", "tarsia", "repl"], input=BROKEN + b"\n%%\n4", capture_output=True, timeout=120)
        done.stdout, done.stderr = done.stdout.decode(), done.stderr.decode()
    elif way in ("load", "watch"):
        done = run("-c", f":{way} {file}\n%%\n4")
    else:
        done = run(*(["--in-process"] if way == "in-process" else []), "-c", BROKEN + b"\n%%\n4")
    assert (done.stdout, done.stderr) == ("4\n", TOLD.replace("cell 1", str(file)) if way in ("load", "watch") else TOLD)
    assert done.returncode == int(way not in ("load", "watch"))


def test_broken_utf8_of_a_text_has_its_own_bytes_in_json():
    cell, last = [json.loads(line) for line in run("--json", "-c", BROKEN + b"\n%%\n4").stdout.splitlines()]
    assert cell["diagnostics"] == [{"file": "cell 1", "line": 2, "column": 11, "severity": "error",
                                    "message": "the byte 0xe4 is not UTF-8: save the text as UTF-8"}]
    assert last["value"] == "4"


@pytest.mark.parametrize("form", ["people", "json"])
def test_what_standard_output_has_no_characters_for_ends_nothing(form):
    done = run(*(["--json"] if form == "json" else []), "-c", '"\N{SNOWMAN}"\n%%\n4', PYTHONIOENCODING="ascii")
    shown = [json.loads(line)["value"] for line in done.stdout.splitlines()] if form == "json" else done.stdout.splitlines()
    assert shown == ['"\N{SNOWMAN}"' if form == "json" else '"\\u2603"', "4"], done


def test_a_failed_cell_is_shown_with_a_caret_and_the_next_ones_run():
    done = run("-c", "int y = nope + 1;\n%%\n4")
    assert done.returncode == 1 and done.stdout == "4\n"
    assert "cell 1:1:9: error: use of undeclared identifier 'nope'\n    int y = nope + 1;\n            ^\n" in done.stderr


def test_options_are_those_of_the_command():
    assert run("--std", "c++23", "-c", "__cplusplus > 202002L").stdout == "true\n"
    assert run("-DN=5", "-c", "N").stdout == "5\n"
    assert run("--nonsense").returncode == 2


@pytest.mark.parametrize("words, text, answer", [
    (["-std=c++20"], "__cplusplus > 201703L", "true"), (["-std=gnu++2b"], "__cplusplus > 202002L", "true"), (["-march=native", "-Wall", "-w"], "1", "1"),
    (["-O", "3", "-DN=4"], "N", "4"), (["-Os", "-g3"], "1", "1"), (["-ffast-math"], "__FAST_MATH__", "1"), (["-U", "X", "-isystem", "/nowhere"], "2", "2"),
    (["--cflags", "-Wextra"], "3", "3"),
])
def test_options_are_taken_as_gcc_spells_them(words, text, answer):
    done = run(*words, "-c", text)
    assert (done.stdout, done.returncode) == (answer + "\n", 0), done
    done = subprocess.run([places.command(), "repl", "-c", text, *words], capture_output=True, text=True, timeout=120,
                          env={**os.environ, "TARSIA_COMMAND_PYTHON": sys.executable})
    assert (done.stdout, done.returncode) == (answer + "\n", 0), done


def test_warnings_are_those_that_were_asked_for():
    assert "unused variable" in run("-Wall", "-c", "void f() { int a; }").stderr
    done = run("-w", "-c", "void f() { int a; }")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_cell_may_begin_with_a_dash():
    done = run("-Wall", "-c", "--nothing;")
    assert done.returncode == 1 and "cell 1:1:" in done.stderr and "usage" not in done.stderr, done


def test_what_a_cell_prints_is_seen_while_it_runs(tmp_path):
    program = ("import tarsia; tarsia.Session(isolated=True, keep_output=False).run('#include <cstdio>\\n#include <unistd.h>\\n'"
               f"'puts(\"begins\"); while (access(\"{tmp_path}/seen\", F_OK) != 0) usleep(1000); printf(\"ends\");')")
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "begins\n"
        (tmp_path / "seen").touch()
        assert process.stdout.read() == "ends"


@pytest.mark.parametrize("keep", [False, True])
def test_standard_error_is_seen_while_a_cell_runs(tmp_path, keep):
    program = (f"import tarsia; tarsia.Session(isolated=True, keep_output={keep}).run('#include <cstdio>\\n#include <unistd.h>\\n'"
               f"'fputs(\"begins\\\\n\", stderr); while (access(\"{tmp_path}/seen\", F_OK) != 0) usleep(1000); fputs(\"ends\", stderr);')")
    with subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr.readline() == "begins\n"
        (tmp_path / "seen").touch()
        assert process.stderr.read() == "ends"


def test_both_streams_of_a_script_are_in_order():
    text = ("#include <iostream>\nfor (int i = 0; i < 50; i++) { std::cout << 'o' << i << std::endl; std::cerr << 'e' << i << std::endl; }")
    done = subprocess.run([sys.executable, "-m", "tarsia", "repl", "-c", text], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
    assert done.stdout.split() == [f"{stream}{i}" for i in range(50) for stream in "oe"]


def test_a_crash_is_reported_once_and_what_was_written_before_is_not_lost():
    text = "#include <cstdio>\n%%\nfputs(\"before\\n\", stderr);\nint* null = nullptr; *null = 1;"
    done = run("-c", text)
    assert done.stderr.startswith("before\n") and done.stderr.count("segmentation fault") == 1 and "cell 2:2" in done.stderr
    done = run("--json", "-c", text)
    cell = json.loads(done.stdout.splitlines()[-1])
    assert "before\n" in cell["error"] and cell["error"].count("segmentation fault") == 1 and done.stderr == "before\n"


READS = """#include <iostream>
#include <unistd.h>
int number = -1; std::cin >> number;
%%
number
%%
char c; scanf("%c", &c)
%%
read(0, &c, 1)
"""


@pytest.mark.parametrize("options", [[], ["--in-process"], ["--json"], ["--json", "--in-process"]])
@pytest.mark.parametrize("script", [False, True])
def test_what_cells_of_a_script_read_has_ended(options, script):
    done = run(*options, *([] if script else ["-c", READS]), text=READS if script else "12 34\n")
    values = [json.loads(line)["value"] for line in done.stdout.splitlines()] if "--json" in options else [None, *done.stdout.split()]
    assert values == [None, "-1", "-1", "0"], done


def test_a_function_gives_what_cells_read():
    given = iter(["12 99\n", "name of", " a person\nnext line\n", ""])
    session = tarsia.Session(isolated=True, stdin=lambda: next(given))
    value(session, "#include <cstdio>\n#include <iostream>\n#include <string>\nint n; std::cin >> n;")
    assert value(session, "std::string line; std::getline(std::cin, line); line") == '"name of a person"'  # and not what was left
    assert value(session, "std::getline(std::cin, line); line") == '""'  # the end
    assert not session.run("int* null = nullptr; *null = 1;").ok
    assert value(session, "n") == "12"  # cells that run again read the same


def test_sync_with_stdio_may_be_turned_off():
    given = iter(["7 8\n"])
    session = tarsia.Session(isolated=True, stdin=lambda: next(given, ""))
    assert value(session, "#include <iostream>\nstd::ios::sync_with_stdio(false); int a, b; std::cin >> a >> b; std::cout << 'x' << std::endl; a * b") == "56"


def test_a_function_that_fails_ends_the_input(capfd):
    def fail():
        raise ValueError("nobody is there")

    session = tarsia.Session(isolated=True, stdin=fail)
    assert value(session, "#include <cstdio>\ngetchar()") == "-1"
    assert "standard input of the cell has ended: nobody is there" in capfd.readouterr().err


@pytest.mark.parametrize("wrong, told", [(b"5\n", "the function for stdin returns text, not bytes"), (None, "returns text, not NoneType"),
                                         ("\ud800", "can't encode")])
def test_a_function_that_gives_no_text_ends_the_input(capfd, wrong, told):
    given = iter([wrong])
    session = tarsia.Session(isolated=True, stdin=lambda: next(given, ""))
    assert value(session, "#include <cstdio>\ngetchar()") == "-1"
    assert "standard input of the cell has ended: " in (error := capfd.readouterr().err) and told in error
    assert [value(session, f"{number} * 2") for number in range(3)] == ["0", "2", "4"]  # each has its own answer


def test_a_function_that_ends_the_program_leaves_a_session_that_can_go_on():
    def leave():
        raise SystemExit(3)

    session = tarsia.Session(isolated=True, stdin=leave)
    value(session, "#include <cstdio>\nint kept = 3;")
    with pytest.raises(SystemExit):
        session.run("getchar()")
    assert [value(session, text) for text in ("kept", "7")] == ["3", "7"]


def test_a_file_that_is_closed_is_read_by_the_next_process_too(tmp_path):
    (tmp_path / "in").write_text("5\n")
    with open(tmp_path / "in") as file:
        session = tarsia.Session(isolated=True, stdin=file)
    value(session, "int kept = 3;")
    assert not session.run("int* null = nullptr; *null = 1;").ok
    assert value(session, "#include <iostream>\nint a = 0; std::cin >> a; a + kept") == "8"


def test_a_process_that_does_not_start_is_an_error_and_keeps_nothing_open(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    gc.collect()  # sessions of other tests
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(tarsia.Error, match="the process that is to run the cells does not start: .*/nowhere/python"):
        tarsia.Session(isolated=True)
    assert len(os.listdir("/proc/self/fd")) == before


def test_an_interrupt_while_errors_are_told_leaves_a_cell_that_both_know():
    session = tarsia.Session(isolated=True)

    def interrupted():
        raise KeyboardInterrupt

    value(session, "1")
    process = session._handle._child
    process.finish_errors = interrupted
    with pytest.raises(KeyboardInterrupt):
        session.run("int kept = 3;")
    del process.finish_errors
    assert not session.run("int* null = nullptr; *null = 1;").ok
    assert value(session, "kept") == "3"


def test_an_interrupt_while_a_read_is_asked_for_leaves_its_answer_to_nobody_else(monkeypatch):
    class Parent:
        """A connection whose other side is interrupted as soon as it is asked."""

        answers = [b'{"typed": "late"}\n', b'{"typed": "next\\n"}\n']

        def sendall(self, request):
            signal.raise_signal(signal.SIGINT)

        def readline(self):
            return self.answers.pop(0)

    parent = Parent()
    before = signal.signal(signal.SIGINT, child._Interrupts.handle)
    monkeypatch.setattr(child._Interrupts, "ends", True)
    try:
        with pytest.raises(KeyboardInterrupt):
            child._asking(parent, parent)(1)
        parent.sendall = lambda request: None
        assert child._asking(parent, parent)(1) == b"next\n"
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_interrupt_after_a_cell_takes_its_result_away_no_more(monkeypatch):
    ours, theirs = socket.socketpair()

    class Late:
        """json, with Ctrl-C when a session's answer is read."""

        dumps = json.dumps

        @staticmethod
        def loads(text):
            if b"do" not in (text if isinstance(text, bytes) else text.encode())[:5]:
                os.kill(os.getpid(), signal.SIGINT)
            return json.loads(text)

    before = signal.signal(signal.SIGINT, child._Interrupts.handle)
    monkeypatch.setattr(child, "json", Late)
    try:
        for request in ({"do": "open", "options": {}, "keep_output": True, "stdin": "none"}, {"do": "run", "text": "int kept = 3;", "number": 1},
                        {"do": "undo"}):
            ours.sendall(json.dumps(request).encode() + b"\n")
        ours.shutdown(socket.SHUT_WR)
        child.serve(theirs)
    finally:
        signal.signal(signal.SIGINT, before)
    theirs.close()
    opened, ran, undone = (json.loads(line)["result"] for line in ours.makefile("rb"))
    ours.close()
    assert opened is None and ran["ok"] and ran["error"] is None and undone == ["kept"]


def test_standard_input_of_sessions_is_a_file_or_a_function(tmp_path):
    (tmp_path / "in").write_text("5\n6\n")
    with open(tmp_path / "in") as file:
        session = tarsia.Session(isolated=True, stdin=file)
    assert value(session, "#include <iostream>\nint a = 0; std::cin >> a; a") == "5"
    for options in ({"isolated": True, "stdin": 3.5}, {"isolated": True, "stdin": io.StringIO("5")}, {"stdin": sys.stdin}):
        with pytest.raises(tarsia.ArgumentTypeError, match="stdin"):
            tarsia.Session(**options)


def test_definitions_are_restored_without_their_output(capfd):
    session = tarsia.Session(isolated=True, keep_output=False)
    value(session, '#include <cstdio>\nint kept = 3; puts("out"); fputs("error\\n", stderr);')
    assert capfd.readouterr() == ("out\n", "error\n")
    assert not session.run("int* null = nullptr; *null = 1;").ok
    assert value(session, "kept") == "3" and capfd.readouterr() == ("", "")


def test_a_cell_ends_with_the_process_that_waits_for_it():
    program = ("import tarsia; tarsia.Session(isolated=True, keep_output=False).run('#include <cstdio>\\n'"
               "'puts(\"begins\"); for (;;) {}')")
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "begins\n"
        process.kill()
        assert process.stdout.read() == ""  # it ends when the child, which holds it too, has ended


def test_one_interrupt_of_all_processes_is_one_for_the_cell():
    program = ("import signal, tarsia; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
               "cell = tarsia.Session(isolated=True, keep_output=False).run('#include <cstdio>\\n'"
               "'puts(\"begins\"); for (;;) tarsia::check_interrupt();')\nprint(cell.error_class, cell.notes)")
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                          start_new_session=True) as process:
        assert process.stdout.readline() == "begins\n"
        os.killpg(process.pid, signal.SIGINT)
        assert process.stdout.read() == "Interrupted []\n"


def test_a_cell_that_asks_nothing_is_ended_by_one_interrupt_which_is_told_as_one():
    program = ("import signal, tarsia; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
               "cell = tarsia.Session(isolated=True, keep_output=False).run('#include <cstdio>\\n'"
               "'puts(\"begins\");\\nwhile (true) { }')\nprint(cell.error)")
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, start_new_session=True) as process:
        assert process.stdout.readline() == "begins\n"
        os.killpg(process.pid, signal.SIGINT)
        told = process.communicate()[0]
        assert "interrupted (SIGINT) in cell 1" in told and "twice" not in told and "cell 1:3" in told


def test_a_crash_tells_what_the_compiler_has_warned_of():
    with_warning = tarsia.Session(isolated=True)
    cell = with_warning.run("int bad() { }\nbad()")
    assert not cell.ok and cell.exit_code == 132
    assert "the compiler had warned: cell 1:1:13: warning: non-void function does not return a value [-Wreturn-type]" in cell.error, cell.error
    assert "the compiler had warned" not in with_warning.run("__builtin_trap();").error
