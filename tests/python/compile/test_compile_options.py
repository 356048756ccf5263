"""The options of a compile are one table: every face takes each of them, and the cache tells apart what they change."""

import argparse
import inspect
import os
import pydoc
import random
import subprocess
import sys

import places
import pytest

import tarsia
from tarsia._compile_options import ROWS, add_arguments, given_options, normalised, words_of

SCRIPT = places.REPO / "scripts" / "options"
IN_COMMAND = [row for row in ROWS.values() if row.command]
# A value of each that is not its default. A new option needs one here.
OTHER = {"functions": ["f"], "headers": {"other.h": "// nothing\n"}, "include_dirs": ["/"], "defines": {"OTHER": 1},
         "libraries": ["m"], "library_dirs": ["/"], "std": "c++17", "opt": 1, "arch": "sm_80", "ptx": True,
         "fast_math": True, "debug": True, "lineinfo": True, "host_headers": "system", "timeout": 299, "march": "x86-64",
         "openmp": True, "dev": True, "cflags": ["-fwrapv"], "undefined": "load",
         "exports": ["f"], "device_compiler": "clang", "maxrregcount": 64}
OF_KERNELS = ("arch", "ptx")  # a source without CUDA is the same under any


def test_each_option_has_another_value_here():
    assert list(OTHER) == list(ROWS)


@pytest.fixture(scope="module")
def source():
    return f"int f() {{ return 1; }} int g() {{ return 2; }} // {random.getrandbits(64):x}\n"


@pytest.mark.parametrize("name", OTHER)
def test_the_cache_tells_apart_what_an_option_changes(name, source):
    if name == "host_headers" and not os.path.exists("/usr/include/stdlib.h"):
        pytest.skip("the machine has no C headers")
    if name in OF_KERNELS:
        source = {"a.cu": source + "__global__ void k() {}\n"}
    assert tarsia.load_inline(source).origin in ("compiled", "memory")
    origin = tarsia.load_inline(source, **{name: OTHER[name]}).origin
    assert origin == ("compiled" if ROWS[name].in_key else "memory")
    assert tarsia.load_inline(source, **{name: OTHER[name]}).origin == "memory"


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row.default in (None, ())])
def test_none_is_the_default_of_what_has_no_value_by_itself(name, source):
    tarsia.load_inline(source)
    assert tarsia.load_inline(source, **{name: None}).origin == "memory"


def test_inspect_and_help_show_each_option():
    for function in (tarsia.load_inline, tarsia.compile):
        parameters = inspect.signature(function).parameters
        text = pydoc.plain(pydoc.render_doc(function))
        for row in ROWS.values():
            assert parameters[row.name].kind is inspect.Parameter.KEYWORD_ONLY
            assert parameters[row.name].default == row.default
            assert row.described() in text and f"{row.name}={row.default!r}" in text
        assert not any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values())
    assert inspect.signature(tarsia.load_inline).parameters["wait"].default is True


@pytest.mark.parametrize("function", [tarsia.load_inline, tarsia.compile])
def test_inspect_finds_the_source_text(function):
    text = inspect.getsource(function)
    decorators, _, body = text.partition("def ")
    assert "@_compile_options.shown\n" in decorators and body.startswith(f"{function.__name__}(source=")
    assert inspect.getsourcefile(inspect.unwrap(function)).endswith("_library.py")


@pytest.mark.parametrize("function, arguments", [(tarsia.load_inline, ()), (tarsia.compile, ("/nonexistent/lib.so",))])
def test_an_unknown_option_is_named_with_those_like_it(function, arguments):
    with pytest.raises(TypeError, match=rf"^{function.__name__}\(\) got an unexpected keyword argument 'fastmath'; "
                                        r"did you mean 'fast_math'\?$"):
        function("int f() { return 1; }", *arguments, fastmath=True)
    with pytest.raises(TypeError, match="argument 'qqq'; it takes functions, headers, "):
        function("int f() { return 1; }", *arguments, qqq=True)
    with pytest.raises(TypeError, match="argument 'fastmath'"):
        tarsia.compile_all(["int f() { return 1; }"], fastmath=True)


@pytest.mark.parametrize("row", [row for row in ROWS.values() if row.kind not in ("flag", "mode")], ids=lambda row: row.name)
def test_a_value_of_another_type_is_an_error_that_names_the_option(row):
    with pytest.raises((tarsia.ArgumentTypeError, tarsia.ArgumentValueError), match=rf"^{row.name}\b"):
        tarsia.load_inline("int f() { return 1; }", **{row.name: object()})
    if isinstance(row.values, tuple):
        first, last = row.values
        for value in (first - 1, last + 1):
            with pytest.raises(tarsia.ArgumentValueError, match=rf"^{row.name} must be .*\b{last}\b"):
                tarsia.load_inline("int f() { return 1; }", **{row.name: value})
    elif row.values:
        with pytest.raises(tarsia.ArgumentValueError, match=rf"^{row.name} .*{row.values[-1].replace('+', '.')}"):
            tarsia.load_inline("int f() { return 1; }", **{row.name: "another"})


@pytest.mark.parametrize("row", IN_COMMAND, ids=lambda row: row.name)
def test_the_magic_takes_each_option_of_the_command(row):
    pytest.importorskip("IPython")
    from tarsia import _ipython

    value = OTHER[row.name]
    for flag in row.command.partition(" ")[0].split(","):
        if row.kind in ("flag", "mode"):
            words = [flag]
        elif row.kind == "defines":
            words = [word for name, one in value.items() for word in (flag, f"{name}={one}")]
        else:
            words = [flag, ",".join(value) if isinstance(value, list) else str(value)]
        given = given_options(vars(_ipython._parser().parse_args(words)))
        if row.kind == "defines":
            value = {name: str(one) for name, one in value.items()}
        assert given == {row.name: [value] if row.kind == "archs" else value}


@pytest.mark.parametrize("name, value", [*((row.name, OTHER[row.name]) for row in IN_COMMAND), ("opt", 0), ("opt", "fast"), ("debug", "undefined"),
                                         ("timeout", 0.5), ("arch", [90, "sm_100"]), ("defines", {"A": "x=1", "B": None}), ("ptx", False)])
def test_the_words_of_options_give_the_command_the_same_options(name, value):
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    given = given_options(vars(parser.parse_args(words_of({name: value}))))
    assert normalised(given, "f") == {one: seen for one, seen in normalised({name: value}, "f").items() if seen is not False}


def test_the_command_lists_each_option():
    shown = subprocess.run([places.command(), "compile", "--help"], capture_output=True, text=True, check=True).stdout
    words = " ".join(shown.split())
    for row in IN_COMMAND:
        names = row.command.partition(" ")[0]
        assert f" {names} " in words and row.help in words, row.name


@pytest.mark.parametrize("row", IN_COMMAND, ids=lambda row: row.name)
def test_the_command_takes_each_option(row, tmp_path):
    (tmp_path / "a.cc").write_text("int f() { return 1; }\n")
    value = OTHER[row.name]
    flag = row.command.partition(" ")[0].split(",")[-1]
    words = [flag]
    if row.kind == "defines":
        words += [f"{name}={one}" for name, one in value.items()]
    elif row.kind not in ("flag", "mode"):
        words += value if isinstance(value, list) else [str(value)]
    done = subprocess.run([places.command(), "compile", *words, "a.cc", "-o", "a.so"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert tarsia.load(tmp_path / "a.so").f() == 1
    if row.values and row.kind != "mode":
        unknown = str(row.values[1] + 1) if isinstance(row.values, tuple) else "another"
        refused = subprocess.run([places.command(), "compile", flag, unknown, "a.cc", "-o", "b.so"], cwd=tmp_path,
                                 capture_output=True, text=True)
        assert refused.returncode == 2 and flag in refused.stderr and not (tmp_path / "b.so").exists()


def test_what_is_written_about_the_options_follows_the_table():
    path = os.pathsep.join([str(places.PACKAGE.parent), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("source", ["int f() { return 1; }", "__global__ void k(int* x) { *x = 1; }"])
@pytest.mark.parametrize("arch", ["sm_999", "sm_250", "sm_50", "sm_72", "sm_101", "sm_12", "banana", "", "90", "sm_90x", "sm_90f", "sm_80a", "compute_90", ["sm_90", "sm_05"]])
def test_architectures_that_do_not_exist_are_refused_with_those_that_do(source, arch):
    wrong = arch[-1] if isinstance(arch, list) else arch
    with pytest.raises(tarsia.ArgumentValueError, match=f"architecture '{wrong}' is unknown: .*sm_75, .*sm_121"):
        tarsia.load_inline(source, arch=arch)
