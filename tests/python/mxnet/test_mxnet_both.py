"""An op for MXNet's extension API does the same as a source and as a library built against MXNet's own header."""

import pathlib
import re

import numpy as np
import pytest

import tarsia

TEXT = (pathlib.Path(__file__).parent / "both.cc").read_text()

X = np.arange(3, dtype=np.float32)


def call(**attributes):
    return lambda: tarsia.ops.both_op(X, **attributes).tolist()


def backward_without_outputs():
    sparse = pytest.importorskip("scipy.sparse")
    x = sparse.csr_matrix(np.eye(3, dtype=np.float32))
    tarsia.op("both_op").bind(x).backward([x], [x], [None])


OUTCOMES = {
    "it runs": (call(), [0, 2, 4]),
    "no numbers": (call(mode="no numbers"), (
        tarsia.OpValueError, "op 'both_op', number of inputs and outputs: parseAttrs gives no numbers of inputs and outputs")),
    "no dtype": (call(mode="no dtype"), (
        tarsia.OpValueError, "op 'both_op', inference: inferType gives 99 for output 0, which is no dtype")),
    "no storage type": (call(mode="no storage type"), (
        tarsia.OpValueError, "op 'both_op', inference: inferSType gives 7 for output 0, which is no storage type")),
    "33 dimensions": (call(mode="33 dimensions"), (
        tarsia.OpValueError,
        "op 'both_op', inference: inferShape gives output 0 33 dimensions; tensors have up to 32")),
    "no such input": (call(mode="no such input"), (
        tarsia.OpValueError, "op 'both_op', inference: mutateInputs names input 5 of 1")),
    "another input": (call(mode="another input"), (
        tarsia.ArgumentError, "op 'both_op': input 0 is float32 (3,), but the op infers float32 (4,)")),
    "negative size": (call(mode="negative size"), (
        tarsia.OpValueError, "op 'both_op', forward on the CPU: memory of a negative size was asked for")),
    "throws": (call(mode="throws"), (tarsia.OpIndexError, "op 'both_op', forward on the CPU: thrown by forward")),
    "a NUL": (call(mode="a\0b"), (
        tarsia.ArgumentError,
        "op 'both_op', number of inputs and outputs: attribute 'mode' has a NUL in it, where texts of MXNet's extension "
        "API end")),
    "a large extent": (lambda: tarsia.op("both_op").infer([(2**33,)], ["float32"]), (
        tarsia.ArgumentError, "op 'both_op', inference: an extent of 2^32 and more does not fit this API")),
    "a foreign dtype": (lambda: tarsia.ops.both_op(X > 1), (
        tarsia.OpTypeError, "op 'both_op', inference: input 0 is of a dtype that this API does not have: it has float16, "
        "float32, float64, int8, int32, int64 and uint8")),
    "a foreign dtype of a subgraph": (lambda: tarsia.ops.both_subgraph(X > 1), (
        tarsia.OpTypeError, "op 'both_subgraph', state: input 0 is of a dtype that this API does not have: it has float16, "
        "float32, float64, int8, int32, int64 and uint8")),
    "no state": (lambda: tarsia.ops.both_state(X), (
        tarsia.OpValueError, "op 'both_state', state: createOpState made no state")),
    "a sparse output that is not given": (backward_without_outputs, (
        tarsia.OpValueError, "op 'both_op', backward on the CPU: storage 2, its parts hold 0 and 0")),
    **{f"{mode} fails": (call(mode=f"{mode} fails"), (tarsia.OpError, f"op 'both_op', {text} failed")) for mode, text in {
        "parse": "number of inputs and outputs: parseAttrs", "type": "inference: inferType",
        "storage": "inference: inferSType", "shape": "inference: inferShape", "mutate": "inference: mutateInputs",
        "forward": "forward on the CPU: forward"}.items()},
}


@pytest.fixture(scope="module", params=["inline", "source", "built"])
def library(request, build_library):
    if request.param == "inline":
        lib = tarsia.load_inline(TEXT)
    else:
        lib = tarsia.load(build_library(TEXT, "-std=c++11", *(["-DBUILT"] if request.param == "built" else [])))
    yield lib
    lib.unload()


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_both_ways_do_the_same(library, outcome):
    act, expected = OUTCOMES[outcome]
    if isinstance(expected, list):
        assert act() == expected
        return
    with pytest.raises(expected[0]) as error:
        act()
    # What its author throws names the place of an op's source. A library of C symbols has none.
    assert re.sub(r" \(\S+:\d+\)$", "", str(error.value)) == expected[1]
