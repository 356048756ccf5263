"""Attributes of type uint64_t, of which half the numbers do not fit into int64_t."""

import subprocess

import numpy as np
import places
import pytest

import tarsia

MOST, HALF = 2**64 - 1, 2**63
SOURCE = """
#include <tarsia/op.h>
#include <vector>
static void run(tarsia::Context& c) {
  const uint64_t seed = c.attribute<uint64_t>("seed");
  const std::vector<uint64_t> list = c.attribute<std::vector<uint64_t>>("list");
  uint64_t* y = c.output(0).data<uint64_t>();
  y[0] = seed, y[1] = list[0], y[2] = c.attribute<double>("seed") > 0;
}
TARSIA_OP(wide).input("x").output("y").attribute<uint64_t>("seed", 1ull << 63)
    .attribute<std::vector<uint64_t>>("list", {~0ull}).forward("cpu", run);
static void inner(tarsia::Context& c) {
  tarsia::InnerOp("wide", {c.input(0)}, {{"seed", ~0ull}, {"list", "7"}})({c.input(0)}, {c.output(0)});
}
TARSIA_OP(wide_inside).input("x").output("y").forward("cpu", inner);
"""
X = np.zeros(3, np.uint64)


@pytest.fixture(scope="module")
def op():
    lib = tarsia.load_inline(SOURCE)
    yield tarsia.op("wide")
    lib.unload()


def test_defaults_and_values_keep_their_64_bits(op):
    assert op(X).tolist() == [HALF, MOST, 1]
    assert op(X, seed=MOST, list=[HALF, 1]).tolist() == [MOST, HALF, 1]
    assert op(X, seed=str(MOST), list=f"({HALF}, 1)").tolist() == [MOST, HALF, 1]
    assert op(X, seed=0, list=(3,)).tolist() == [0, 3, 0]
    assert tarsia.ops.wide_inside(X).tolist() == [MOST, 7, 1]


def test_texts_show_them_without_a_sign(op, tmp_path):
    assert f"seed={HALF}, list=[{MOST}]" in repr(op) and f"seed={HALF}" in op.__doc__
    file = tmp_path / "wide.cc"
    file.write_text(SOURCE)
    listing = subprocess.run([places.command(), "run", file], capture_output=True, text=True, timeout=300)
    assert f"seed: int = {HALF}, list: list of int = [{MOST}]" in listing.stdout, listing


@pytest.mark.parametrize("given, text", [
    (dict(seed=-1), "attribute 'seed' has to fit into uint64, and '-1' does not"),
    (dict(seed=2**64), f"attribute 'seed' has to fit into uint64, and '{2**64}' does not"),
    (dict(seed=str(2**64)), f"attribute 'seed' has to fit into uint64, and '{2**64}' does not"),
    (dict(seed="x"), "attribute 'seed' has to be a whole number, not negative, not 'x'"),
    (dict(list=[1, -1]), "attribute 'list' has to fit into uint64, and '-1' does not"),
])
def test_what_does_not_fit_is_refused(op, given, text):
    with pytest.raises(ValueError, match=text.replace("(", r"\(")):
        op(X, **given)


def test_a_range_names_the_number_that_was_given():
    lib = tarsia.load_inline("""
        #include <tarsia/op.h>
        static void run(tarsia::Context& c) { }
        TARSIA_OP(ranged_seed).input("x").output("y").attribute<uint64_t>("seed", 1).at_most(10).forward("cpu", run);
    """)
    with pytest.raises(ValueError, match=f"has to be at most 10, not {HALF + 1}"):
        tarsia.ops.ranged_seed(X, seed=HALF + 1)
    lib.unload()


def test_a_default_beyond_pytorchs_numbers_stays_the_ops_own(op):
    torch = pytest.importorskip("torch")
    registered = tarsia.torch.register(op)
    assert registered(torch.zeros(3, dtype=torch.uint64)).tolist() == [HALF, MOST, 1]
