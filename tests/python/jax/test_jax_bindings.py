"""What a call site of JAX keeps of an op: the bindings that were used last, found by several threads at once."""

import gc
import os
import subprocess
import sys
import weakref

import pytest

import tarsia

jax = pytest.importorskip("jax")
if not hasattr(jax, "ffi"):
    pytest.skip("this JAX has no jax.ffi", allow_module_level=True)
import jax.numpy as jnp  # noqa: E402

import tarsia.jax  # noqa: E402

LONG = 120  # seconds: nothing here takes them unless it hangs
MOST_BINDINGS = MOST_PROGRAMS = 64
MOST_STATES = 256


def define(name, stateful=False):
    """An op that adds up how often its binding was called, and the bindings that there are."""
    bindings = weakref.WeakSet()

    class Op:
        def __init__(self):
            bindings.add(self)
            self.n = 0

        def infer_shape(self, x):
            return x

        def forward(self, x, y):
            self.n += 1
            y[...] = x + self.n

    Op.stateful = stateful
    return tarsia.define_op(Op, name=name), bindings


MEETING = """
import threading
import jax, numpy as np
import tarsia, tarsia.jax

meet, armed = threading.Barrier(2), threading.Event()

@tarsia.define_op
class jb_meets:
    def __init__(self):  # of each binding
        if armed.is_set():
            meet.wait(LONG)

    def infer_shape(self, x):
        return x

    def forward(self, x, y):
        y[...] = x + 1

function = jax.jit(tarsia.jax.function(jb_meets))
xs = [jax.device_put(np.zeros(2, np.float32), device) for device in jax.devices()]
for x in xs:
    function.lower(x).compile()
armed.set()
found = []
threads = [threading.Thread(target=lambda x=x: found.append(function(x).tolist())) for x in xs]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(found)
""".replace("LONG", str(LONG))


def test_bindings_are_made_without_a_lock():
    # Two devices run one call site at once: each waits, while it binds, for the other to bind.
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    done = subprocess.run([sys.executable, "-c", MEETING], capture_output=True, text=True, env=environment)
    assert done.stdout == "[[1.0, 1.0], [1.0, 1.0]]\n", done.stderr[-2000:]


def batched(function, n):
    """The call with a batch of n, which is one more shape for the same call site."""
    return jax.block_until_ready(jax.vmap(function)(jnp.zeros((n, 3))))


def test_a_call_site_keeps_the_bindings_that_were_used_last():
    op, bindings = define("jb_many")
    function = tarsia.jax.function(op, vmap="broadcast_all")
    for n in range(1, 2 * MOST_BINDINGS + 1):
        batched(function, n)
    gc.collect()
    assert len(bindings) <= MOST_BINDINGS + 1  # one more for inference
    kept = set(map(id, bindings))
    for n in (2 * MOST_BINDINGS, 2 * MOST_BINDINGS - 1):
        batched(function, n)
    assert set(map(id, bindings)) <= kept  # found again
    assert batched(function, 1)[0, 0] == 1  # bound anew


def test_state_is_never_let_go_and_no_more_begins_than_there_may_be():
    op, bindings = define("jb_state", stateful=True)
    function = tarsia.jax.function(op)
    x = jnp.zeros(MOST_STATES + 1)
    many = jax.jit(lambda x: [function(x[:n])[0] for n in range(1, MOST_STATES + 1)])  # one program of many call sites
    assert many(x) == [1] * MOST_STATES
    for _ in range(2):
        with pytest.raises(Exception, match=f"jb_state has a state for each of {MOST_STATES} combinations .*pad its inputs to fewer"):
            jax.block_until_ready(function(x))
    gc.collect()
    assert len(bindings) <= MOST_STATES + 1  # one more for inference
    assert many(x) == [2] * MOST_STATES
    assert tarsia.jax.function(op)(x)[0] == 1


def test_the_programs_that_were_used_last_are_kept():
    op, _ = define("jb_programs")
    lib = tarsia.load_inline("void jb_add(const float* x, float* y, int n) { for (int i = 0; i < n; ++i) y[i] = x[i] + n; }")
    of_function = tarsia.jax.function(lib.jb_add, outputs=lambda x, n: jax.ShapeDtypeStruct(x.shape, x.dtype))
    for function, call in ((tarsia.jax.function(op), lambda f, n: f(jnp.zeros(n))),
                           (of_function, lambda f, n: f(jnp.zeros(n), n))):
        first = call(function, 1)
        program = weakref.ref(next(iter(function._programs._kept.values())))
        for n in range(2, 2 * MOST_PROGRAMS):
            call(function, n)
            call(function, 2)  # used again and again: never let go
        gc.collect()
        assert len(function._programs._kept) == MOST_PROGRAMS
        assert program() is None
        assert call(function, 1).shape == first.shape  # made anew


def test_compiled_programs_outlast_the_programs_that_they_were_traced_with():
    lib = tarsia.load_inline("void jb_plus(const float* x, float* y, int n) { for (int i = 0; i < n; ++i) y[i] = x[i] + 1; }")
    plus = tarsia.jax.function(lib.jb_plus, outputs=lambda x, n: jax.ShapeDtypeStruct(x.shape, x.dtype))
    op, _ = define("jb_outlasts")
    count = tarsia.jax.function(op)
    x = jnp.zeros(3)
    compiled = jax.jit(lambda x: plus(x, 3) + count(x)).lower(x).compile()
    assert compiled(x)[0] == 2
    for n in range(4, 2 * MOST_PROGRAMS):
        plus(jnp.zeros(n), n)
        count(jnp.zeros(n))
    gc.collect()
    assert compiled(x)[0] > 1


def test_compiled_programs_outlast_the_loading_of_another_library():
    op, _ = define("jb_loaded")
    count = tarsia.jax.function(op)
    x = jnp.zeros(3)
    compiled = jax.jit(count).lower(x).compile()
    assert compiled(x)[0] == 1
    define("jb_another")
    count(x)  # sees that the registry has changed
    gc.collect()
    assert compiled(x)[0] > 1


def test_a_replaced_op_is_taken_anew():
    op, _ = define("jb_replaced")
    count = tarsia.jax.function(op)
    assert count(jnp.zeros(3))[0] == 1

    class Op:
        def infer_shape(self, x):
            return x

        def forward(self, x, y):
            y[...] = x - 1

    tarsia.define_op(Op, name="jb_replaced")
    assert count(jnp.zeros(3))[0] == -1
