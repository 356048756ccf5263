"""Sessions in a child process: a crash costs no definition."""

import json
import os
import signal
import subprocess
import sys

import pytest

import tarsia


@pytest.fixture(scope="module")
def session():
    return tarsia.Session(isolated=True)


def value(session, text):
    return session.run(text).raise_if_failed().value


@pytest.mark.parametrize("text, how", [
    ("int* p = nullptr; *p = 1;", "SIGSEGV"),
    ("#include <cstdlib>\nabort();", "SIGABRT"),
    ("int seven = 7, zero = 0; seven / zero", "SIGFPE"),
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


def test_a_script_on_standard_input_is_read_as_if_typed():
    done = run(text="int x = 3;\nx * 2\nint f(int a)\n{\n  return a;\n}\nf(x)\n:undo\n")
    assert (done.returncode, done.stdout) == (0, "6\n3\ntaken back: a cell without declarations\n")


def test_json_lines_are_alone_on_standard_output():
    done = run("--json", "-c", "#include <cstdio>\nprintf(\"hi\\n\");\n%%\nnope\n%%\n1 + 1")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["ok"] for line in lines] == [True, False, True]
    assert [line["value"] for line in lines] == [None, None, "2"]
    assert lines[0]["stdout"] == "hi\n"
    assert lines[1]["diagnostics"][0]["file"] == "cell 2"
    assert set(lines[0]) >= {"ok", "value", "stdout", "diagnostics", "compile_ms", "run_ms", "undone"}
    assert done.returncode == 1


def test_a_failed_cell_is_shown_with_a_caret_and_the_next_ones_run():
    done = run("-c", "int y = nope + 1;\n%%\n4")
    assert done.returncode == 1 and done.stdout == "4\n"
    assert "cell 1:1:9: error: use of undeclared identifier 'nope'\n    int y = nope + 1;\n            ^\n" in done.stderr


def test_options_are_those_of_the_command():
    assert run("--std", "c++23", "-c", "__cplusplus > 202002L").stdout == "true\n"
    assert run("-DN=5", "-c", "N").stdout == "5\n"
    assert run("--nonsense").returncode == 2


def test_what_a_cell_prints_is_seen_while_it_runs(tmp_path):
    program = ("import tarsia; tarsia.Session(isolated=True, keep_output=False).run('#include <cstdio>\\n#include <unistd.h>\\n'"
               f"'puts(\"begins\"); while (access(\"{tmp_path}/seen\", F_OK) != 0) usleep(1000); printf(\"ends\");')")
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "begins\n"
        (tmp_path / "seen").touch()
        assert process.stdout.read() == "ends"


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
