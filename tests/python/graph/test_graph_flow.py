"""Independent branches of a graph on the CPU run at the same time, and give what they give one after the other."""

import subprocess
import sys
import threading

import numpy as np
import pytest
from graph_models import graph_error

import tarsia

N = 1 << 19  # elements whose bytes make a step a heavy one

OPS = r"""
#include <tarsia/op.h>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
// Waits for another run of it beside it; false in y[0] where none comes.
static std::mutex m;
static std::condition_variable came;
static int here = 0, most = 0;
static bool fails[2];
TARSIA_OP(gf_meet).input("x").output("y").infer([](tarsia::BindInfo& i) { i.output(0).set_shape(i.input(0).shape()); i.output(0).set_dtype(i.input(0).dtype()); })
.forward("cpu", [](tarsia::Context& c) {
  std::unique_lock lock(m);
  ++here;
  if (here > most) most = here;
  came.notify_all();
  came.wait_for(lock, std::chrono::seconds(20), [] { return most >= 2; });
  --here;
  const float* x = c.input(0).data<const float>();
  float* y = c.output(0).data<float>();
  for (int64_t i = 0; i < c.input(0).numel(); ++i) y[i] = x[i] + 1;
});
extern "C" int met() { return most; }
TARSIA_OP(gf_mix).input("a").input("b").attribute("k", 1.0).output("y").infer([](tarsia::BindInfo& i) { i.output(0).set_shape(i.input(0).shape()); i.output(0).set_dtype(i.input(0).dtype()); })
.inplace(0, 0).inplace(1, 0).forward("cpu", [](tarsia::Context& c) {
  const float *a = c.input(0).data<const float>(), *b = c.input(1).data<const float>();
  float* y = c.output(0).data<float>();
  const float k = static_cast<float>(c.attribute<double>("k"));
  for (int64_t i = 0; i < c.input(0).numel(); ++i) y[i] = a[i] * k - 0.25f * b[i];
});
TARSIA_OP(gf_fail).input("x").attribute("text", "").output("y").infer([](tarsia::BindInfo& i) { i.output(0).set_shape(i.input(0).shape()); i.output(0).set_dtype(i.input(0).dtype()); })
.forward("cpu", [](tarsia::Context& c) { throw std::runtime_error(c.attribute<std::string>("text")); });
"""


@pytest.fixture(scope="module", autouse=True)
def ops():
    return tarsia.load_inline(OPS)


def test_two_heavy_branches_run_at_the_same_time(ops):
    g = tarsia.Graph()
    x = g.input("x")
    g.output(g.gf_meet(x))
    g.output(g.gf_meet(x))
    first, second = g(x=np.ones(N, np.float32))
    assert (first == 2).all() and (second == 2).all() and ops.met() == 2


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

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
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
import os, sys
import numpy as np
import tarsia
sys.path.insert(0, {folder!r})
import test_graph_flow as t
tarsia.load_inline(t.OPS)
g = t.random_graph(1)
x = np.ones(t.N, np.float32)
bound = g.bind(x=x, v=x)
before = [y.tobytes() for y in bound(x=x, v=x)]
child = os.fork()
if child == 0:
    os._exit(0 if [y.tobytes() for y in bound(x=x, v=x)] == before and [y.tobytes() for y in g(x=x, v=x)] == before else 1)
assert os.waitpid(child, 0)[1] == 0
"""


def test_a_forked_child_computes_the_same(request):
    program = FORK.format(folder=str(request.path.parent))
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
