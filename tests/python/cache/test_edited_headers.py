"""Headers beside a source that are edited: the next load has the edit, in this process and in a new one."""

import os
import secrets
import subprocess
import sys

import pytest
import tarsia

# The precompiled form of the first has more than 8 MiB, so the cache's file is mapped; that of the second has less.
BEGINNINGS = {"large": "#include <mxnet/operator.h>\n", "small": "#include <vector>\n"}


def load(folder, beginning, number, again=0):
    (folder / "near.h").write_text(f"{beginning}inline int near() {{ return {number}; }}\n")
    (folder / "op.cc").write_text(f'#include "near.h"\nint f() {{ return near() + {again}; }}\n')
    return tarsia.load(folder / "op.cc").f()


@pytest.fixture
def one():
    """A number with which nobody has compiled these sources."""
    return 1_000_000 + secrets.randbelow(9_000_000)


@pytest.mark.parametrize("size", BEGINNINGS)
def test_an_edit_of_a_header_is_in_the_next_load(tmp_path, size, one):
    numbers = [one, one * 100, one + 1, one * 10, one * 100, one]  # of the same size as before, and of others
    assert [load(tmp_path, BEGINNINGS[size], number) for number in numbers] == numbers
    assert [load(tmp_path, BEGINNINGS[size], one * 10, again) for again in (1, 2)] == [one * 10 + 1, one * 10 + 2]


@pytest.mark.parametrize("size", BEGINNINGS)
def test_a_new_process_takes_the_prelude_of_the_edited_header(tmp_path, size, one):
    assert [load(tmp_path, BEGINNINGS[size], number) for number in (one, one * 10)] == [one, one * 10]
    (tmp_path / "op.cc").write_text('#include "near.h"\nint f() { return near() + 1; }\n')
    text = f"import tarsia; print(tarsia.load({str(tmp_path / 'op.cc')!r}).f())"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", text], env={**os.environ, "TARSIA_LOG": "debug"}, capture_output=True, text=True, timeout=300)
    assert done.stdout == f"{one * 10 + 1}\n" and ("prelude kept" in done.stderr or "prelude shipped" in done.stderr), (done.stdout, done.stderr)


def load_guarded(folder, ending, number):
    (folder / "near.h").write_text(f"#pragma once\n#include <mxnet/operator.h>\ninline int near() {{ return {number}; }}\n")
    (folder / f"op.{ending}").write_text('#include "near.h"\nint f() { return near(); }\n')
    result = tarsia.load(folder / f"op.{ending}").f()
    return result, {step for step, _ in tarsia.stats()["last_compile"]}


@pytest.mark.parametrize("ending", ["cc", "cu"])
def test_an_edit_of_a_small_header_leaves_what_it_includes(tmp_path, ending, one):
    load_guarded(tmp_path, ending, one)
    if ending == "cu":
        load_guarded(tmp_path, ending, one + 1)  # the first compile after what it includes was written
    for number in (one + 2, one + 3):
        result, steps = load_guarded(tmp_path, ending, number)
        assert result == number
        assert not {"prelude made", "leading includes written"} & steps, steps
        assert {"prelude kept", "prelude held", "leading includes kept"} & steps, steps


def test_a_new_process_takes_what_a_small_header_of_a_cuda_source_includes(tmp_path, one):
    load_guarded(tmp_path, "cu", one)
    load_guarded(tmp_path, "cu", one + 1)
    (tmp_path / "near.h").write_text(f"#pragma once\n#include <mxnet/operator.h>\ninline int near() {{ return {one + 2}; }}\n")
    text = f"import tarsia; print(tarsia.load({str(tmp_path / 'op.cu')!r}).f())"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", text], env={**os.environ, "TARSIA_LOG": "debug"}, capture_output=True, text=True, timeout=300)
    assert done.stdout == f"{one + 2}\n" and "leading includes kept" in done.stderr, (done.stdout, done.stderr)


def test_functions_of_precompiled_headers_call_each_other(tmp_path, one):
    """The check for device functions in host code reads their bodies, and with each the next function."""
    chain = "inline int step0(int a) { return a; }\n" + "".join(f"inline int step{i}(int a) {{ return step{i - 1}(a) + 1; }}\n" for i in range(1, 300))
    (tmp_path / "near.h").write_text(f"#pragma once\n#include <mxnet/operator.h>\n{chain}inline int near() {{ return {one}; }}\n")
    for number in (1, 2):
        (tmp_path / "op.cu").write_text(f'#include "near.h"\n__global__ void k(float* x) {{ *x = {number}; }}\nint f() {{ return step299({number}); }}\n')
        assert tarsia.load(tmp_path / "op.cu").f() == 299 + number
    (tmp_path / "op.cu").write_text('#include "near.h"\n__global__ void k(float* x) { *x = 3; }\nint f() { return step299(near()); }\n')
    text = f"import tarsia; print(tarsia.load({str(tmp_path / 'op.cu')!r}, device_compiler='nvrtc').f())"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", text], env={**os.environ, "TARSIA_LOG": "debug"}, capture_output=True, text=True, timeout=300)
    assert done.stdout == f"{299 + one}\n" and "leading includes kept" in done.stderr, (done.stdout, done.stderr)


def test_a_missing_header_is_told_where_a_small_header_includes_it(tmp_path):
    (tmp_path / "near.h").write_text("#pragma once\n#include <mxnet/operator.h>\n#include <missing_one.h>\n")
    for ending in ("cc", "cu"):
        (tmp_path / f"op.{ending}").write_text('#include "near.h"\nint f() { return 1; }\n')
        with pytest.raises(tarsia.CompileError, match=r"near\.h:3:10: .*missing_one\.h"):
            tarsia.load(tmp_path / f"op.{ending}")
