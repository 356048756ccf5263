"""The commands of the prompt."""

import io
import json
import os
import re
import subprocess
import sys

import pytest

import tarsia
from tarsia._session.commands import Commands


@pytest.fixture
def ask():
    """Runs cells and commands; gives what a command writes."""
    session = tarsia.Session(std="c++17")
    commands = Commands(session)

    def run(text):
        out = io.StringIO()
        if not text.startswith(":"):
            commands.note(session.run(text).raise_if_failed())
        elif not commands.run(text, out):
            return "the end"
        return out.getvalue()

    run.session, run.commands = session, commands
    return run


def test_help_lists_each_with_a_text(ask):
    rows = ask(":help").splitlines()
    assert len(rows) > 15 and all(len(row.split(None, 1)) == 2 and row.startswith(":") for row in rows)


def test_beginnings_of_names_do_and_unknown_ones_are_told(ask):
    assert ask(":q") == ask(":quit") == "the end"
    for text in (":nothing", ":", ":s"):
        with pytest.raises(tarsia.ArgumentValueError, match="there is no command"):
            ask(text)


def test_load_save_and_source(ask, tmp_path):
    (tmp_path / "f.cc").write_text("int f(int a) {\n  return a + 1; }\nf(2)")
    assert ask(f":load {tmp_path}/f.cc") == "3\n"
    assert "int f(int a) {" in ask(":source")
    ask(f":save {tmp_path}/saved.cc")
    assert tarsia.load(str(tmp_path / "saved.cc")).f(4) == 5
    for text, said in ((":load /nowhere", "cannot read '/nowhere'"), (":save", "path"), (":save /nowhere/x.cc", "cannot write")):
        with pytest.raises(tarsia.Error, match=said):
            ask(text)


def test_a_loaded_file_finds_its_headers_and_so_do_later_cells(ask, tmp_path):
    (tmp_path / "inner").mkdir()
    (tmp_path / "y.h").write_text("#pragma once\ninline int y() { return 42; }\n")
    (tmp_path / "inner" / "x.cc").write_text('#include "../y.h"\nint z() { return y(); }\n')
    (tmp_path / "w.cc").write_text('#include "y.h"\ny() + 1\n')
    ask(f":load {tmp_path}/inner/x.cc")
    assert ask(f":watch {tmp_path}/w.cc") == "43\n"
    ask.session.run("int again() { return y() + z(); }").raise_if_failed()
    assert ask.session.run("again()").value == "84"
    assert len(ask.session.options["include_dirs"]) == 2


def test_bench_computes_the_value_and_refuses_what_it_cannot_write(ask):
    ask("int calls = 0; int count() { return ++calls; }")
    ask(":bench count()")
    assert int(ask.session.run("calls").value) > 1000
    ask("#include <string>\nvoid nothing() { }\nint list[3];")
    for expression in ("nothing()", "list", "1.5L * 2", 'std::string("a")', "calls", "&calls"):
        assert " in the median of " in ask(f":bench {expression}")
    with pytest.raises(tarsia.ArgumentValueError, match=r"\.png and \.svg files, not 'x\.gif'"):
        ask(":plot list x.gif")


def test_time_and_bench(ask):
    with pytest.raises(tarsia.NotFound, match="no cell"):
        ask(":time")
    ask("int f(int a) { return a + 1; }")
    assert ask(":time").startswith("compile ")
    ask.commands.note(ask.session.run("nothing_here"))
    assert re.fullmatch(r"compile \S+ ms, run 0.000 ms; it failed\n?", ask(":time"))
    before = ask(":source")
    assert re.fullmatch(r"\S+ .s in the median of 7 rounds of \d+, \S+ .s at least\n", ask(":bench f(3)"))
    assert ask(":source") == before  # it leaves nothing behind
    for text in (":bench", ":bench nope"):
        with pytest.raises(tarsia.Error):
            ask(text)


@pytest.mark.parametrize("options", [[], ["--in-process"]])
@pytest.mark.parametrize("query, wait, clock", [(600, 0, "events"), (0, 0, "host"), (0, 700, "error")])
def test_bench_takes_the_gpus_time_if_it_is_the_gpu_that_works(fake_driver, options, query, wait, clock):
    done = subprocess.run([sys.executable, "-m", "tarsia", "repl", *options], input="int f(int a) { return a; }\n:bench f(3)\n", text=True,
                          capture_output=True, timeout=100,
                          env={**os.environ, "LD_LIBRARY_PATH": str(fake_driver), "FAKE_QUERY": str(query), "FAKE_WAIT": str(wait)})
    if clock == "error":
        assert (done.returncode, done.stdout) == (1, "") and done.stderr.startswith("CudaError: cuCtxSynchronize: "), done.stderr
        return
    found = re.fullmatch(r"(\S+) (.s) in the median of 7 rounds of (\d+), (\S+) (.s) at least(.*)\n", done.stdout)
    assert found and done.returncode == 0, done
    assert found[6] == (", GPU time by CUDA's events" if clock == "events" else "")
    nanoseconds = float(found[1]) * {"ns": 1, "us": 1e3, "ms": 1e6}[found[2]]
    assert (abs(nanoseconds - 4e9 / int(found[3])) < 0.01 * nanoseconds) == (clock == "events")


def test_set_changes_options_and_keeps_the_others(ask):
    ask(":set opt=1 defines=N=7,M lineinfo")
    assert ask.session.options == {"std": "c++17", "opt": 1, "defines": {"N": "7", "M": None}, "lineinfo": True}
    assert "opt=1\n" in ask(":set")
    assert ask.session.run("N + (__cplusplus == 201703L)").value == "8"
    ask(":set lineinfo=off opt")
    assert ask.session.options["lineinfo"] is False and "opt" not in ask.session.options
    for text, said in ((":set nothing=1", "no option 'nothing'"), (":set opt=x", "opt must be a number"), (":set opt=9", "opt must be"),
                       (":set functions=f", "cells have no use for it")):
        with pytest.raises(tarsia.Error, match=said):
            ask(text)
    assert ask.session.run("N").value == "7"


def test_the_cache_tells_of_the_process_that_runs_the_cells():
    session = tarsia.Session(isolated=True)
    session.run("1 + 1").raise_if_failed()
    out = io.StringIO()
    Commands(session).run(":cache", out)
    counts = json.loads(out.getvalue())
    assert counts == session.stats() and counts["disk"]["hits"] + counts["disk"]["stores"] > 0


def test_gpus_or_what_they_lack(ask):
    assert ask(":gpu").startswith(("GPU", "CUDA driver: "))


def test_ops_undo_and_edit(ask, monkeypatch):
    assert ask(":ops") == "none\n"
    ask('TARSIA_OP(session_command).forward("cpu", [](tarsia::Context&) {});')
    assert ask(":ops") == "session_command\n"
    assert ask(":undo").startswith("taken back: ")
    assert ask(":ops") == "none\n"
    monkeypatch.setenv("VISUAL", "sh -c 'echo 6*7 > $0'")
    assert ask(":edit") == "42\n"
    monkeypatch.setenv("VISUAL", "/nowhere/editor")
    with pytest.raises(tarsia.NotFound, match="set EDITOR"):
        ask(":edit")


def test_code_is_shown(ask):
    ask("extern \"C\" int shown_here(int a) { return a * 3; }")
    assert "shown_here" in ask(":asm shown_here") and "ret" in ask(":asm")
    assert "define" in ask(":ir shown_here")


@pytest.mark.parametrize("isolated", [False, True])
def test_code_is_shown_of_sessions_with_values(isolated):
    session, out = tarsia.Session(isolated=isolated), io.StringIO()
    for text in ("__global__ void shown_kernel(float* x) { x[threadIdx.x] *= 3; }", 'tarsia::Tensor x = zeros({2}), y = randn({2});',
                 "float* p = x.data<float>(); const tarsia::Tensor z = ones({3}); static long n = z.numel(); thread_local int per_thread = p[0];",
                 "float first() { return p[0] + allclose(x, z) + n + per_thread; }", "struct S { static int a; }; int S::a = 3; x", "p[1] = 2;"):
        session.run(text).raise_if_failed()
    Commands(session).run(":asm first", out)
    assert "first" in out.getvalue() and "ret" in out.getvalue()
    for command, said in (("ptx", ".entry"), ("regs", "registers")):
        for name in ("", " shown_kernel"):
            out = io.StringIO()
            Commands(session).run(f":{command}{name}", out)
            assert "shown_kernel" in out.getvalue() and said in out.getvalue()


@pytest.mark.parametrize("isolated", [False, True])
def test_code_is_shown_as_the_session_compiles_it(isolated):
    session = tarsia.Session(isolated=isolated, std="c++20")
    commands = Commands(session)

    def ask(text):
        out = io.StringIO()
        commands.run(text, out)
        return out.getvalue()

    for text in ("template <class T> concept Small = sizeof(T) < 8;", 'extern "C" long standard() { return __cplusplus; }',
                 "float summed(const float* x, int n) { float s = 0; for (int i = 0; i < n; i++) s += x[i]; return s; }",
                 "__global__ void halved(float* x) { x[threadIdx.x] *= 0.5f; }"):
        session.run(text).raise_if_failed()
    assert "202002" in ask(":ir standard")
    assert "alloca" not in ask(":ir summed")
    ask(":set opt=0 std=c++23 arch=sm_80")
    assert "202302" in ask(":ir standard")
    assert "alloca" in ask(":ir summed")
    assert ".target sm_80" in ask(":ptx halved")
    ask(":set opt defines=NDEBUG,N=3 timeout=100 ptx")
    assert "alloca" not in ask(":ir summed") and ".entry" not in ask(":asm summed")


def test_completion(ask, tmp_path):
    ask("int some_long_name = 1; __global__ void some_kernel() {}")

    def complete(text, position=None):
        return ask.commands.completions(text, len(text) if position is None else position)

    assert complete("1 + some_l") == (4, ["some_long_name"])
    assert complete("int f() {\n  some_l }", 18) == (12, ["some_long_name"])
    assert complete(":un") == (0, [":undo"]) and complete("  :und") == (2, [":undo"])
    assert complete(":bench 2 * some_l") == (11, ["some_long_name"])
    assert complete(":ptx some_k") == (5, ["some_kernel"])
    (tmp_path / "file one.cc").touch()
    (tmp_path / "folder").mkdir()
    for command in ("load", "save", "watch", "edit"):
        start = len(command) + 2
        assert complete(f":{command} {tmp_path}/f") == (start, [f"{tmp_path}/file one.cc", f"{tmp_path}/folder/"])
    assert complete(f":watch -{tmp_path}/fi") == (8, [f"{tmp_path}/file one.cc"])
    assert complete(":load /nowhere/at/all") == (6, [])


def test_without_a_compiler_nothing_is_completed(ask, monkeypatch):
    def fail(_, text, position):
        raise tarsia.Error("no")

    monkeypatch.setattr(tarsia.Session, "complete", fail)
    assert ask.commands.completions("whil", 4) == (4, [])


def test_undo_takes_back_so_many_cells(ask):
    for text in ("int a = 1;", "int b = 2;", "int c = 3;"):
        ask(text)
    assert ask(":undo 2") == "taken back: c\ntaken back: b\n"
    for argument in ("0", "-1", "x", "1 2", "\N{SUPERSCRIPT TWO}"):
        with pytest.raises(tarsia.ArgumentValueError, match="number of cells"):
            ask(":undo " + argument)
    assert ask.session.run("a").value == "1" and not ask.session.run("b").ok


@pytest.mark.parametrize("command", ["plot", "bench"])
def test_errors_in_the_expression_of_a_command_name_their_place_in_it(ask, command):
    ask("int x = 3;")
    with pytest.raises(tarsia.CompileError) as failed:
        ask(f":{command} x + nosuch")
    assert [(one.file, one.line, one.column) for one in failed.value.diagnostics[:1]] == [(":" + command, 1, 5)]
    assert ask.session.run("x").value == "3"


@pytest.mark.parametrize("command", ["asm", "ptx", "ir"])
def test_code_that_cannot_be_shown_is_told_without_warnings_and_paths(ask, command):
    ask("#include <cstdio>\nint f(int a) { int b; return 1; }")
    with pytest.raises(tarsia.Error) as failed:
        ask(f":{command} nosuch")
    assert ("nosuch" in str(failed.value) or command == "ptx") and "warning" not in str(failed.value) and "/tmp" not in str(failed.value)


def test_load_wants_a_file(ask):
    with pytest.raises(tarsia.ArgumentValueError, match="path of a file"):
        ask(":load")


def test_scripts_have_the_commands_of_the_prompt(capsys):
    from tarsia._session.reader import cells_of
    from tarsia._session.repl import run_cells

    assert run_cells(tarsia.Session(), cells_of("1 + 1\n:time\n{ int n = 1; }\n:undo\n"), False) == 0
    assert re.fullmatch(r"2\ncompile .* ms \(.*\), run .* ms\ntaken back: .*\n", capsys.readouterr().out)
    assert run_cells(tarsia.Session(), ["1", ":time\n:nothing\n2 + 1"], False) == 1  # as %% separates them
    told = capsys.readouterr()
    assert told.out.startswith("1\ncompile ") and told.out.endswith("\n3\n") and "no command ':nothing'" in told.err
