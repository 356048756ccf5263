"""Calls from several threads, and the interpreter's lock."""

import sys
import threading

import numpy as np
import pytest
from threads import at_once

import tarsia

torch = pytest.importorskip("torch")


@pytest.fixture
def opener(lib):
    """A thread that opens the gate, and can do so only when the thread of the test releases the lock by itself."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    go = threading.Event()

    def run():
        go.wait()
        lib.open_gate()

    thread = threading.Thread(target=run)
    thread.start()
    thread.go = go.set
    yield thread
    sys.setswitchinterval(before)
    thread.join()


def test_other_threads_run_during_a_call(lib, opener):
    opener.go()
    assert lib.wait_for_gate(60000) is True


def test_the_lock_can_be_kept():
    lib = tarsia.load_inline('extern "C" int PyGILState_Check();\nbool has_lock() { return PyGILState_Check() != 0; }')
    assert lib.has_lock.release_gil is True
    assert lib.has_lock() is False
    lib.has_lock.release_gil = False
    assert lib.has_lock() is True
    with pytest.raises(AttributeError):
        del lib.has_lock.release_gil


def test_many_threads_call_at_once(lib):
    def work(seed):
        x = np.full(1000, seed, np.float32)
        t = torch.full((1000,), float(seed))
        for _ in range(200):
            assert lib.doubled(x)[0] == 2 * seed
            assert lib.doubled(t)[-1] == 2 * seed
            assert lib.same_string(f"thread {seed}") == f"thread {seed}"
            with pytest.raises(ValueError, match="^a bad value$"):
                lib.fails("value")

    at_once(work, range(1, 9))


def test_threads_load_and_drop_libraries(build_library):
    import tarsia

    path = build_library("#include <tarsia/op.h>\nint three() { return 3; }\nTARSIA_EXPORT(three)")

    def work(_):
        for _ in range(20):
            assert tarsia.load(path).three() == 3

    at_once(work, range(4))
