"""Tests of ops: each fault is found, by tarsia.testing and by `tarsia check`."""

import os
import pathlib
import re
import subprocess

import places
import pytest

import tarsia
import tarsia.testing
from tarsia.testing import assert_op, check

SOURCE = pathlib.Path(__file__).parent / "faulty_ops.cc"


@pytest.fixture(scope="module", autouse=True)
def library():
    lib = tarsia.load_inline({SOURCE.name: SOURCE.read_text()})
    yield lib
    lib.unload()


FAULTS = {
    "bad_unwritten": "forward writes every element: output 'y': element 11 is not written",
    "bad_overrun": "forward stays within its memory: output 'y': memory behind the last element is written to",
    "bad_copies_too_far": "forward stays within its memory: output 'y': memory behind the last element is written to",
    "bad_underrun": "forward stays within its memory: output 'y': memory before the first element is written to",
    "bad_writes_input": "forward stays within its memory: input 'x' is written to, and is not declared mutable",
    "bad_changes": "forward gives the same again: output 'y': element 0 (0, 0) is ",
    "bad_changes_little": "forward gives the same again: output 'y': element 0 (0, 0) is ",
    "bad_accumulates": "forward does not depend on what the output held: output 'y': element",
    "bad_scratch": "forward gives the same again: output 'y': element 0 (0, 0) is ",
    "bad_far_overrun": "forward stays within its memory: output 'y': memory behind the last element is written to",
    "bad_scratch_overrun": "forward stays within its memory: scratch of 48 bytes: memory behind the last element is written to",
    "bad_scratch_underrun": "forward stays within its memory: scratch of 48 bytes: memory before the first element is written to",
    "bad_hidden_gradient": "(faulty_ops.cc:66); it takes the gradient of a hidden output, which nobody passes: ask first",
    "bad_unwritten_hidden": "backward does not depend on what the output held: ",
    "bad_null": "forward honours the request null: output 'y' is written to",
    "bad_add": "forward honours the request add: output 'y', which is and should be: element",
    "bad_inplace": "forward honours the request inplace: output 'y', with output 'y' in place of input 'x': element",
    "bad_gradient": "gradient is that of finite differences: the gradient of input 'x', element 0, is ",
    "bad_throws": "forward runs: op 'bad_throws', forward on the CPU: never works",
    "bad_sparse": "csr: forward gives the same again: output 'y': element 0 is ",
}


@pytest.mark.parametrize("op", FAULTS)
def test_faults_are_found(op):
    report = check(op)
    assert not report and not report.passed
    assert any(FAULTS[op] in str(fault) for fault in report.failed), str(report)
    assert str(report).startswith(f"op '{op}' fails\n") and "FAILED " in str(report)
    with pytest.raises(AssertionError, match=re.escape(FAULTS[op])):
        assert_op(op)


def test_what_is_well_passes():
    report = assert_op("good_square")
    names = [one.name for one in report.checks]
    assert "cpu float32: backward honours the request add" in names
    (gradient,) = [one for one in report.checks if "finite differences" in one.name]
    assert gradient.status == "passed" and gradient.message == "12 derivatives"
    assert {one.status for one in report.checks if one.name.startswith("cpu float32")} == {"passed"}
    assert [one.name for one in report.checks if one.status == "skipped"][0] == "cpu float64: forward runs"
    assert check(tarsia.ops.good_square, seed=5).passed


def test_results_of_two_runs_may_differ_by_rounding():
    names = [one.name for one in assert_op("good_rounding").checks if one.status == "passed"]
    for check_of in ("forward gives the same again", "backward gives the same again", "forward honours the request null"):
        assert f"cpu float32: {check_of}" in names


def test_hidden_outputs_have_no_gradient():
    report = assert_op("good_hidden")
    (gradient,) = [one for one in report.checks if "finite differences" in one.name]
    assert gradient.message == "12 derivatives"


def test_a_hidden_output_may_stay_unwritten():
    report = assert_op("good_unwritten_hidden")
    assert [str(one) for one in report.checks if "writes every element" in one.name] == [
        "ok      cpu float32: forward writes every element", "ok      cpu float32: backward writes every element"]


def test_scratch_that_is_used_as_it_should_be_passes():
    assert_op("good_scratch")


def test_a_gradient_need_not_be_the_derivative():
    assert not check("straight")
    assert check("straight", gradient=False)


def test_shapes_can_be_given():
    report = check("needs_columns")
    assert "none of the usual shapes and dtypes fit; name them" in str(report.failed[0])
    assert check("needs_columns", shapes=[(3, 7), (4,)], dtypes=["float32", "int64"])
    assert "rows are int64" in str(check("needs_columns", shapes=[(3, 7), (4,)], dtypes="float32"))
    with pytest.raises(ValueError, match="there is no dtype 'float33'"):
        check("needs_columns", shapes=[(3, 7), (4,)], dtypes=["float33", "int64"])
    with pytest.raises(ValueError, match="2 shapes need as many dtypes"):
        check("needs_columns", shapes=[(3, 7), (4,)], dtypes=["float32"])
    with pytest.raises(tarsia.NotFound):
        check("no_such_op")


@pytest.fixture(scope="module")
def command(tmp_path_factory):
    program = places.command()
    environment = {**os.environ, "TARSIA_CACHE_DIR": str(tmp_path_factory.mktemp("cache"))}

    def run(*words):
        return subprocess.run([program, "check", *map(str, words)], capture_output=True, text=True, timeout=300,
                              env=environment)

    return run


def test_the_command_reports_and_exits_for_ci(command):
    done = command(SOURCE, "good_square")
    assert done.returncode == 0 and re.match(r"op 'good_square' passes \(\d+ checks passed, \d+ skipped\)", done.stdout)
    done = command("-v", SOURCE, "good_square")
    assert "ok      cpu float32: forward writes every element" in done.stdout
    done = command(SOURCE)
    assert done.returncode == 1 and "5 of 27 ops pass" in done.stdout
    for fault in FAULTS.values():
        assert fault in done.stdout
    done = command("--no-gradient", SOURCE, "straight")
    assert done.returncode == 0
    done = command("--shapes", "3,7;4", "--dtypes", "float32;int64", SOURCE, "needs_columns")
    assert done.returncode == 0, done.stdout
    for words, said in [((SOURCE, "nothing"), "has no op 'nothing'"), (("--shapes", "3,x", SOURCE), "is no shape"),
                        (("--dtypes", "float32", SOURCE), "--dtypes needs --shapes"), ((), "FILE is required")]:
        done = command(*words)
        assert done.returncode == 2 and said in done.stderr


# A loss whose labels get no gradient, as SoftmaxOutput's do: nobody asks for it.
LOSS = """
#include <tarsia/op.h>
TARSIA_OP(labelled).input("x").input("label").output("y")
    .forward("cpu", [](tarsia::Context& c) {
      for (long i = 0; i < c.input(0).numel(); ++i)
        c.output(0).data<float>()[i] = c.input(0).data<const float>()[i] * c.input(1).data<const float>()[i];
    })
    .backward("cpu", [](tarsia::Context& c) {
      for (long i = 0; i < c.in_grad(0).numel(); ++i)
        c.in_grad(0).data<float>()[i] = c.out_grad(0).data<float>()[i] * c.forward_input(1).data<float>()[i];
    });
"""


def test_gradients_that_nobody_asks_for_are_not_checked(command, tmp_path):
    lib = tarsia.load_inline(LOSS)
    shapes = {"shapes": [(3, 4), (3, 4)], "dtypes": "float32"}
    report = tarsia.testing.check("labelled", **shapes)
    assert not report and any("the gradient of input 'label'" in check.message for check in report.failed)
    for constants in (["label"], "label", ["1"]):
        tarsia.testing.assert_op("labelled", constants=constants, **shapes)
    report = tarsia.testing.check("labelled", constants=["labels"], **shapes)
    assert not report and "constants names 'labels', and the op has input 'x', input 'label'" in str(report)
    with pytest.raises(tarsia.ArgumentTypeError, match="constants must be a list such as"):
        tarsia.testing.check("labelled", constants=1, **shapes)
    lib.unload()
    (tmp_path / "loss.cc").write_text(LOSS)
    words = ("--shapes", "3,4;3,4", "--dtypes", "float32", tmp_path / "loss.cc")
    assert command(*words).returncode == 1
    done = command("--constant", "label", *words)
    assert done.returncode == 0, done.stdout


def test_the_command_takes_libraries_and_tells_of_crashes(command, build_library):
    done = command(build_library(SOURCE.read_text(), "-DCRASHES"), "crashes")
    assert done.returncode == 1 and "op 'crashes' crashed: segmentation fault" in done.stderr
    assert "tarsia: segmentation fault (SIGSEGV" in done.stderr, done.stderr
    assert "  #0 int tarsia::detail::run_implementation<" in done.stderr, done.stderr  # the op is inlined in it, without lines


READS_TOO_FAR = """
#include <tarsia/op.h>
TARSIA_OP(reads_too_far).forward("cpu", [](tarsia::Context& c) {
  const float* x = c.input(0).data<const float>();
  const long n = c.input(0).numel();
  for (long i = 0; i < n; ++i) c.output(0).data<float>()[i] = x[i] + 0 * x[(i + 1) % (n + 1)];
});
"""


def test_memory_errors_are_found_on_request(command, tmp_path):
    source = tmp_path / "reads.cc"
    source.write_text(READS_TOO_FAR)
    done = command("--asan", source)
    assert done.returncode not in (0, 2) and "AddressSanitizer: heap-buffer-overflow" in done.stderr, done.stderr
    assert "reads.cc:6" in done.stderr
    source.write_text(READS_TOO_FAR.replace("(n + 1)", "n"))
    done = command("--asan", source)
    assert done.returncode == 0 and "op 'reads_too_far' passes" in done.stdout, done.stderr
