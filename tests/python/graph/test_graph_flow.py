"""Independent branches of a graph on the CPU run at the same time, and give what they give one after the other."""

import gc
import os
import signal
import sys
import threading

import numpy as np
import pytest
from graph_models import graph_error
from threads import at_once
from programs import ended, program

import tarsia

N = 1 << 19  # elements whose bytes make a step a heavy one

OPS = r"""
#include <tarsia/op.h>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <set>
#include <thread>
#include <unistd.h>
#define GF_LIKE_X .output("y").infer([](tarsia::BindInfo& i) { i.output(0).set_shape(i.input(0).shape()); i.output(0).set_dtype(i.input(0).dtype()); })
static std::mutex m;
static std::condition_variable changed;
static int here = 0, most = 0;
static bool is_open = false;
static std::set<std::thread::id> threads;
static void add_one(tarsia::Context& c) {
  const float* x = c.input(0).data<const float>();
  float* y = c.output(0).data<float>();
  for (int64_t i = 0; i < c.input(0).numel(); ++i) y[i] = x[i] + 1;
}
// Waits for another run of it beside it, for 20 seconds.
TARSIA_OP(gf_meet).input("x") GF_LIKE_X.forward("cpu", [](tarsia::Context& c) {
  std::unique_lock lock(m);
  ++here;
  if (here > most) most = here;
  changed.notify_all();
  changed.wait_for(lock, std::chrono::seconds(20), [] { return most >= 2; });
  --here;
  add_one(c);
});
extern "C" int met() { return most; }
// Waits until open() is called.
TARSIA_OP(gf_gate).input("x") GF_LIKE_X.forward("cpu", [](tarsia::Context& c) {
  std::unique_lock lock(m);
  ++here;
  changed.notify_all();
  changed.wait_for(lock, std::chrono::seconds(60), [] { return is_open; });
  add_one(c);
});
extern "C" void wait_for_two() {
  std::unique_lock lock(m);
  changed.wait_for(lock, std::chrono::seconds(60), [] { return here == 2; });
}
extern "C" void open_gate() {
  const std::lock_guard lock(m);
  is_open = true;
  changed.notify_all();
}
// Goes on until it is interrupted. Says so when two do.
TARSIA_OP(gf_asks).input("x") GF_LIKE_X.forward("cpu", [](tarsia::Context&) {
  { const std::lock_guard lock(m); if (++here == 2 && write(1, "begun\n", 6) != 6) throw 1; }
  for (;;) tarsia::check_interrupt();
});
static void note(tarsia::Context& c) {
  { const std::lock_guard lock(m); threads.insert(std::this_thread::get_id()); }
  add_one(c);
}
TARSIA_OP(gf_note).input("x") GF_LIKE_X.forward("cpu", note);
TARSIA_OP(gf_random).input("x").random() GF_LIKE_X.forward("cpu", note);
TARSIA_OP(gf_at).input("i").no_gradient() GF_LIKE_X.forward("cpu", note);
// 0: none but the caller's; else how many.
extern "C" int other_threads() {
  const std::lock_guard lock(m);
  const int n = threads.count(std::this_thread::get_id()) ? 0 : static_cast<int>(threads.size());
  threads.clear();
  return n;
}
TARSIA_OP(gf_mix).input("a").input("b").attribute("k", 1.0) GF_LIKE_X.inplace(0, 0).inplace(1, 0).forward("cpu", [](tarsia::Context& c) {
  const float *a = c.input(0).data<const float>(), *b = c.input(1).data<const float>();
  float* y = c.output(0).data<float>();
  const float k = static_cast<float>(c.attribute<double>("k"));
  for (int64_t i = 0; i < c.input(0).numel(); ++i) y[i] = a[i] * k - 0.25f * b[i];
});
TARSIA_OP(gf_fail).input("x").attribute("text", "") GF_LIKE_X.forward("cpu", [](tarsia::Context& c) { throw std::runtime_error(c.attribute<std::string>("text")); });
"""


@pytest.fixture(scope="module", autouse=True)
def ops():
    return tarsia.load_inline(OPS)


def flow_program(text, threads="2", **environment):
    """A program with the ops of this file; branches("op", n) is a graph of n of them."""
    return program(f"OPS, N = {OPS!r}, {N}" + """
library = load(OPS)
x = np.ones(N, np.float32)
def branches(op, n=2):
    g = tarsia.Graph()
    v = g.input("x")
    for _ in range(n):
        g.output(g.add(op, v))
    return g
""" + text, **({"TARSIA_NUM_THREADS": threads} if threads else {}), **environment)


def told_by(process):
    output, errors = ended(process)
    assert process.returncode == 0, errors
    return output


def test_two_heavy_branches_run_at_the_same_time():
    assert told_by(flow_program("""
first, second = branches("gf_meet")(x=x)
print((first == 2).all() and (second == 2).all(), library.met())
""")) == "True 2\n"


def test_the_environment_says_which_branches_are_heavy():
    text = "branches('gf_note')(x=x[:64]); print(library.other_threads() > 0)"
    assert told_by(flow_program(text)) == "False\n"
    assert told_by(flow_program(text, TARSIA_FLOW_SIZE_MB="0")) == "True\n"
    assert "the environment variable TARSIA_FLOW_SIZE_MB is 'much'" in told_by(flow_program("""
try:
    branches("gf_note").bind(x=x)
except tarsia.ArgumentValueError as error:
    print(error)
""", TARSIA_FLOW_SIZE_MB="much"))


NOTED = "branches('gf_note', 6)(x=x); print(library.other_threads())"


def test_the_number_of_threads():
    """That of TARSIA_NUM_THREADS, of OMP_NUM_THREADS, of the cores of the process."""
    one_core = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
    for others in (flow_program(NOTED, "1"), flow_program(NOTED, None, OMP_NUM_THREADS="1"), flow_program(one_core + NOTED, None)):
        assert told_by(others) == "0\n"
    assert told_by(flow_program(one_core + NOTED, None, OMP_NUM_THREADS="2")) in ("1\n", "2\n")
    assert told_by(flow_program(NOTED, "3", OMP_NUM_THREADS="1")) in ("1\n", "2\n", "3\n")


def test_ops_that_must_not_run_at_once_do_not():
    assert told_by(flow_program("""
for op in ("gf_note", "gf_random", "gf_at"):
    branches(op)(x=x)
    print(library.other_threads() > 0)
import threading
on = set()
tarsia.define_op(lambda x, y: on.add(threading.get_ident()), name="gf_python")
branches("gf_python")(x=x)
print(on == {threading.get_ident()})
""")) == "True\nFalse\nTrue\nTrue\n"


def test_ctrl_c_ends_steps_that_ask():
    process = flow_program("""
g = branches("gf_asks")
g.output(g.gf_note(g.gf_mix(*[output for output in (g.gf_asks(g.input("z")), g.gf_asks(g.input("w")))])))
bound = g.bind(x=x, z=x, w=x)
try:
    bound(x=x, z=x, w=x)
except KeyboardInterrupt as error:
    print(type(error).__name__, library.other_threads())
print(all((y == 2).all() for y in branches("gf_note")(x=x)))
""")
    assert process.stdout.readline() == "begun\n", process.communicate()[1]
    process.send_signal(signal.SIGINT)
    assert told_by(process) == "KeyboardInterrupt 0\nTrue\n"


def test_a_graph_that_is_released_while_it_runs_ends_first(ops):
    g = tarsia.Graph()
    x = g.input("x")
    for _ in range(2):
        g.output(g.gf_gate(x))
    bound, results = [g.bind(x=((N,), "float32", "cpu"))], []
    array = np.ones(N, np.float32)
    thread = threading.Thread(target=lambda: results.extend(bound.pop()(x=array)))
    thread.start()
    if len(os.sched_getaffinity(0)) > 1:
        ops.wait_for_two()
    del g, x
    gc.collect()
    ops.open_gate()
    thread.join()
    assert all((y == 2).all() for y in results) and len(results) == 2


def test_errors_are_those_of_one_step_after_the_other():
    g = tarsia.Graph()
    x = g.input("x")
    g.output(g.gf_mix(g.add("gf_fail", x, text="luckless", name="one"), g.add("gf_fail", x, text="luckless", name="two")))
    errors = []
    for n in (8, N):
        with pytest.raises(tarsia.Error) as caught:
            g(x=np.ones(n, np.float32))
        errors.append((type(caught.value), str(caught.value)))
    assert errors[0] == errors[1]


def random_graph(seed, nodes=24):
    choose = np.random.default_rng(seed)
    g = tarsia.Graph()
    values = [g.input("x"), g.input("v")]
    for _ in range(nodes):
        a, b = (values[-1 - min(len(values) - 1, int(choose.integers(6)))] for _ in range(2))
        values.append(g.gf_mix(a, b, k=float(choose.integers(-3, 4)) / 4))
    for i in (1, 3, 5):
        g.output(values[-i])
    return g


def whole(g, arrays):
    """In pieces that are too small to run at once."""
    pieces = [g(**{name: array[i : i + N // 16] for name, array in arrays.items()}) for i in range(0, N, N // 16)]
    return [np.concatenate(parts).tobytes() for parts in zip(*pieces)]


@pytest.mark.parametrize("seed", range(12))
def test_random_graphs_give_the_same_bits(seed):
    g = random_graph(seed)
    draw = np.random.default_rng(seed)
    arrays = {name: draw.standard_normal(N).astype(np.float32) for name in ("x", "v")}
    expected = whole(g, arrays)
    bound = g.bind(**arrays)
    for _ in range(3):
        assert [y.tobytes() for y in bound(**arrays)] == expected


def test_calls_of_several_threads_give_the_same_bits():
    g = random_graph(99)
    bound, wrong = g.bind(x=((N,), "float32", "cpu"), v=((N,), "float32", "cpu")), []

    def work(seed):
        draw = np.random.default_rng(seed)
        arrays = {name: draw.standard_normal(N).astype(np.float32) for name in ("x", "v")}
        expected = whole(g, arrays)
        for _ in range(10):
            if [y.tobytes() for y in bound(**arrays)] != expected:
                wrong.append(seed)

    at_once(work, range(4))
    assert not wrong


def test_the_first_error_in_the_order_of_the_steps_is_told():
    g = tarsia.Graph()
    x = g.input("x")
    g.output(g.gf_mix(g.add("gf_fail", x, text="one", name="first"), g.add("gf_fail", x, text="two", name="second")))
    bound = g.bind(x=((N,), "float32", "cpu"))
    for _ in range(20):
        with pytest.raises(tarsia.Error, match=graph_error("node 'first'|one")):
            bound(x=np.ones(N, np.float32))


FORK = """
sys.path[:0] = {folders!r}
import os
import test_graph_flow as t
g = t.random_graph(1)
bound = g.bind(x=x, v=x)
before = [y.tobytes() for y in g(x=x[:64], v=x[:64])]
def check():
    for run in bound, g:
        assert [y[:64].tobytes() for y in run(x=x, v=x)] == before
def child_of(work):
    child = os.fork()
    if child == 0:
        try:
            work()
        except Exception as error:
            print(repr(error), file=sys.stderr)
            os._exit(1)
        sys.exit(0)   # with all that happens at the end
    return child
def ends(child):
    assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.parametrize("work", [
    "check(); ends(child_of(check)); ends(child_of(lambda: ends(child_of(check))))",
    # The parent has not used oneTBB: the child has threads of its own.
    "ends(child_of(lambda: (branches('gf_meet')(x=x), library.met() == 2 or 1 / 0)))",
    # Another thread is in the middle of a run.
    """
stop = threading.Event()
def run():
    while not stop.is_set():
        check()
others = [threading.Thread(target=run) for _ in range(2)]
for thread in others: thread.start()
for _ in range(5): ends(child_of(check))
stop.set()
for thread in others: thread.join()
"""])
def test_forked_children(work, request):
    told_by(flow_program(FORK.format(folders=[str(request.path.parent), *sys.path]) + work))
