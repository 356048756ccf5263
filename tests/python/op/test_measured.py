"""The measured choice of implementations: the fastest on this machine, timed once, with nothing of the caller's changed."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import tarsia

# What an implementation does besides takes no time to speak of; the slow one waits.
OPS = r"""
#include <tarsia/op.h>
#include <chrono>
#include <random>
#include <stdexcept>

static long long n_calls = 0;
long long calls() { return n_calls; }

static void linger() {
  const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(400);
  while (std::chrono::steady_clock::now() < end) {}
}
static void copy(tarsia::Context& c, float add = 0) {
  ++n_calls;
  for (int64_t i = 0; i < c.input(0).numel(); ++i) c.output(0).data<float>()[i] = c.input(0).data<const float>()[i] + add;
}
static void slow(tarsia::Context& c) { linger(); copy(c); }
static void quick(tarsia::Context& c) { copy(c); }
static void back(tarsia::Context& c) {
  for (int64_t i = 0; i < c.out_grad(0).numel(); ++i) c.in_grad(0).data<float>()[i] = c.out_grad(0).data<const float>()[i];
}
static void slow_back(tarsia::Context& c) { linger(); back(c); }
TARSIA_OP(measured_copy)
    .forward("cpu", slow).named("slow").priority(1).backward("cpu", slow_back).named("slow").priority(1)
    .forward("cpu", quick).named("quick").forward_inplace(0, 0).backward("cpu", back).named("quick");

static void broken(tarsia::Context&) { throw std::runtime_error("out of order"); }
TARSIA_OP(measured_broken)
    .forward("cpu", slow).named("slow").priority(2).forward("cpu", broken).named("broken").priority(1).forward("cpu", quick).named("quick");
TARSIA_OP(measured_broken_first).forward("cpu", broken).named("broken").priority(1).forward("cpu", quick).named("quick");

struct Count { int n = 0; };
static void count_slowly(tarsia::Context& c) { linger(); copy(c, float(++c.state<Count>().n)); }
static void count(tarsia::Context& c) { copy(c, float(++c.state<Count>().n)); }
TARSIA_OP(measured_count).state([](const tarsia::BindInfo&) { return new Count(); })
    .forward("cpu", count_slowly).named("slow").priority(1).forward("cpu", count).named("quick");

static void accumulate(tarsia::Context& c) {
  for (int64_t i = 0; i < c.input(0).numel(); ++i) c.input(1).data<float>()[i] += c.input(0).data<const float>()[i];
  copy(c);
}
static void accumulate_slowly(tarsia::Context& c) { linger(); accumulate(c); }
TARSIA_OP(measured_accumulate).input("x").mutable_input("sum").output("y")
    .forward("cpu", accumulate_slowly).named("slow").priority(1).forward("cpu", accumulate).named("quick");

static void draw(tarsia::Context& c) { copy(c, float(c.random_states<std::mt19937>()[0]() % 1000)); }
static void draw_slowly(tarsia::Context& c) { linger(); draw(c); }
TARSIA_OP(measured_draw).random().forward("cpu", draw_slowly).named("slow").priority(1).forward("cpu", draw).named("quick");

// Takes elements of a table by index, and refuses an index that is not there.
static void take(tarsia::Context& c) {
  ++n_calls;
  for (int64_t i = 0; i < c.input(1).numel(); ++i) {
    const int64_t at = c.input(1).data<const int64_t>()[i];
    if (at < 1 || at >= c.input(0).numel()) throw std::out_of_range("no such index");
    c.output(0).data<float>()[i] = c.input(0).data<const float>()[at];
  }
}
static void take_slowly(tarsia::Context& c) { linger(); take(c); }
TARSIA_OP(measured_take).input("table").input("at").no_gradient().output("y")
    .infer([](tarsia::BindInfo& i) { i.output(0).set_dtype(i.input(0).dtype()); i.output(0).set_shape(i.input(1).shape()); })
    .forward("cpu", take_slowly).named("slow").priority(1).forward("cpu", take).named("quick");

TARSIA_OP(measured_chosen).infer([](tarsia::BindInfo& i) { i.output(0) = i.input(0); i.choose("slow"); })
    .forward("cpu", slow).named("slow").forward("cpu", quick).named("quick");
TARSIA_OP(measured_option).attribute<std::string>("implementation")
    .forward("cpu", slow).named("slow").priority(1).forward("cpu", quick).named("quick");
"""

X = np.arange(8, dtype=np.float32)


@pytest.fixture(scope="module", autouse=True)
def lib():
    return tarsia.load_inline(OPS)


def bound_by_measure(name, *inputs, **attributes):
    return tarsia.op(name).bind(*inputs, implementation="measure", **attributes)


def test_the_fastest_is_bound_and_its_pairs_follow():
    usual = tarsia.op("measured_copy").bind(X)
    assert (usual.implementation, usual.measured, usual.inplace) == ("slow", {}, [])
    bound = bound_by_measure("measured_copy", X)
    assert (bound.implementation, bound.backward_implementation, bound.inplace) == ("quick", "quick", [(0, 0)])
    assert set(bound.measured) == set(bound.backward_measured) == {"slow", "quick"}
    assert 0 < bound.measured["quick"] < bound.measured["slow"]
    assert bound.measured["slow"] > 300e-6
    assert np.array_equal(bound(X), X)
    assert tarsia.op("measured_copy").bind(X).implementation == "slow"


def test_explain_tells_the_times():
    text = tarsia.op("measured_copy").explain(X, implementation="measure")
    assert "forward: 'quick', measured: " in text
    assert "not 'slow': measured: it takes " in text
    assert "measured:" not in tarsia.op("measured_copy").explain(X)


def test_a_signature_is_measured_once(lib, tmp_path, monkeypatch):
    monkeypatch.setenv("TARSIA_CACHE_DIR", str(tmp_path))  # an earlier run's times are in the usual one
    x = np.ones((3, 5), np.float32)
    bound_by_measure("measured_copy", x)
    before = lib.calls()
    assert bound_by_measure("measured_copy", x).implementation == "quick"
    assert lib.calls() == before
    bound_by_measure("measured_copy", np.ones((5, 3), np.float32))
    assert lib.calls() > before


SCRIPT = """
import json, sys
import numpy as np, tarsia
lib = tarsia.load_inline(open(sys.argv[1]).read())
bound = tarsia.op("measured_copy").bind(np.ones(6, np.float32))
print(json.dumps([bound.implementation, bound.measured, lib.calls()]))
"""


def test_the_next_process_measures_nothing(tmp_path):
    source = tmp_path / "ops.cc"
    source.write_text(OPS)
    environment = os.environ | {"TARSIA_CACHE_DIR": str(tmp_path / "cache"), "TARSIA_IMPLEMENTATION": "measure"}

    def start():
        done = subprocess.run([sys.executable, "-c", SCRIPT, str(source)], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    first, second = start(), start()
    assert first[0] == second[0] == "quick"
    assert first[1] == second[1]
    assert first[2] > 0
    assert second[2] == 0
    source.write_text(OPS + "// its code is another file's\nint more() { return 1; }\n")
    assert start()[2] > 0  # other code is measured anew


def test_one_that_fails_is_out_of_the_race():
    bound = bound_by_measure("measured_broken", X)
    assert bound.implementation == "quick"
    assert bound.measured["broken"] is None
    text = tarsia.op("measured_broken").explain(X, implementation="measure")
    assert "not 'broken': it failed when it was measured: " in text
    assert "out of order" in text


def test_if_the_usual_one_fails_nothing_is_measured():
    bound = bound_by_measure("measured_broken_first", X)
    assert (bound.implementation, bound.measured) == ("broken", {})
    assert "not measured: the usual one failed: " in tarsia.op("measured_broken_first").explain(X, implementation="measure")


def test_a_state_is_as_if_nothing_had_run():
    bound = bound_by_measure("measured_count", X)
    assert bound.measured
    assert [bound(X)[0] for _ in range(3)] == [1, 2, 3]


def test_an_input_that_the_op_changes_is_not_changed():
    total = np.zeros(8, np.float32)
    bound = bound_by_measure("measured_accumulate", X, total)
    assert bound.measured
    assert not total.any()
    bound(X, total)
    assert np.array_equal(total, X)


def test_random_numbers_go_on_as_if_nothing_had_been_drawn():
    x = np.zeros(1, np.float32)
    tarsia.seed(3)
    bound = tarsia.op("measured_draw").bind(x)
    wanted = [bound(x)[0] for _ in range(4)]
    tarsia.seed(3)
    got = [bound(x)[0], bound(x)[0]]
    bound = bound_by_measure("measured_draw", x)
    assert bound.measured
    assert got + [bound(x)[0], bound(x)[0]] == wanted


def test_integers_are_the_callers_or_nothing_is_measured(lib):
    table, at = X, np.array([1, 7, 3], np.int64)
    bound = bound_by_measure("measured_take", table, at)
    assert bound.implementation == "quick"
    assert bound.measured
    g = tarsia.Graph()
    g.output(tarsia.ops.measured_take(g.input("table"), g.input("at")))
    before = lib.calls()
    plan = g.bind(table=((9,), "float32"), at=((2,), "int64"), implementation="measure").plan
    assert plan.implementations == {"measured_take": "slow"}
    assert plan.measured == {}
    assert lib.calls() == before


def test_what_inference_chose_stays():
    bound = bound_by_measure("measured_chosen", X)
    assert (bound.implementation, bound.measured) == ("slow", {})


def test_sparse_tensors_are_not_measured():
    tarsia.load_inline(r"""
#include <tarsia/op.h>
static void count(tarsia::Context& c) { c.output(0).data<float>()[0] = float(c.sparse_input(0).count()); }
TARSIA_OP(measured_sparse).input("x").output("n")
    .infer([](tarsia::BindInfo& i) { i.output(0).set_dtype(i.input(0).dtype()); i.output(0).set_shape({1}); })
    .forward("cpu", count).named("one").sparse().forward("cpu", count).named("other").sparse();
""")
    x = pytest.importorskip("scipy.sparse").csr_matrix(np.eye(3, dtype=np.float32))
    text = tarsia.op("measured_sparse").explain(x, implementation="measure")
    assert "forward: 'one', not measured: input 'x' is sparse" in text


def test_a_graph_is_bound_by_measure():
    g = tarsia.Graph()
    x = g.input("x")
    g.output(tarsia.ops.measured_copy(x))
    g.output(g.gradient(tarsia.ops.measured_copy(x), wrt=x))
    spec = ((16,), "float32")
    usual, measured = g.bind(x=spec), g.bind(x=spec, implementation="measure")
    assert set(usual.plan.implementations.values()) == {"slow"}
    assert set(measured.plan.implementations.values()) == {"quick"}
    assert usual.plan.measured == {}
    times = next(iter(measured.plan.measured.values()))
    assert times["quick"] < times["slow"]


def test_the_process_decides_where_nobody_says(monkeypatch):
    monkeypatch.setenv("TARSIA_IMPLEMENTATION", "measure")
    assert tarsia.op("measured_copy").bind(X).implementation == "quick"
    assert tarsia.op("measured_copy").bind(X, implementation="priority").implementation == "slow"
    g = tarsia.Graph()
    g.output(tarsia.ops.measured_copy(g.input("x")))
    assert list(g.bind(x=X).plan.implementations.values()) == ["quick"]
    assert list(g.bind(x=X, implementation="priority").plan.implementations.values()) == ["slow"]
    monkeypatch.setenv("TARSIA_IMPLEMENTATION", "fastest")
    with pytest.raises(tarsia.ArgumentValueError, match="TARSIA_IMPLEMENTATION is 'priority' or 'measure', not 'fastest'"):
        tarsia.op("measured_copy").bind(X)


def test_other_words_are_errors():
    with pytest.raises(tarsia.ArgumentValueError, match="measured_copy: implementation is 'measure', 'priority' or None, not 'best'"):
        tarsia.op("measured_copy").bind(X, implementation="best")
    with pytest.raises(tarsia.ArgumentTypeError, match="implementation is 'measure', 'priority' or None, not "):
        tarsia.op("measured_copy").explain(X, implementation=3)
    g = tarsia.Graph()
    g.output(tarsia.ops.measured_copy(g.input("x")))
    with pytest.raises(tarsia.ArgumentValueError, match="graph: implementation is"):
        g.bind(x=X, implementation="best")


def test_an_attribute_or_an_input_of_that_name_comes_first():
    bound = tarsia.op("measured_option").bind(X, implementation="measure")
    assert (bound.implementation, bound.measured) == ("slow", {})
    g = tarsia.Graph()
    g.output(tarsia.ops.measured_copy(g.input("implementation")))
    assert np.array_equal(g.bind(implementation=X)(implementation=X), X)
    assert np.array_equal(g(implementation=X), X) and np.array_equal(g(X), X)


@pytest.mark.parametrize("n", [4, 5])
def test_ops_written_in_python_are_measured_and_remembered_for_this_process(n):
    import time

    ran = []

    @tarsia.define_op
    def measured_python(x, y):
        ran.append("slow")
        time.sleep(0.002)
        y[...] = x

    def quick(x, y):
        ran.append("quick")
        y[...] = x

    tarsia.add_implementation("measured_python", forward=quick, name="quick", priority=-1)
    x = np.ones(n, np.float32)
    assert bound_by_measure("measured_python", x).implementation == "quick"
    n_ran = len(ran)
    assert n_ran > 2
    assert bound_by_measure("measured_python", x).implementation == "quick"
    assert len(ran) == n_ran
