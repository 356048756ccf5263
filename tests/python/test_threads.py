"""Calls from several threads, and the interpreter's lock."""

import threading
import time

import numpy as np
import pytest

torch = pytest.importorskip("torch")


def test_other_threads_run_during_a_call(lib):
    # The call waits for what another thread of Python does: with the lock held this would never end in time.
    opener = threading.Timer(0.05, lib.open_gate)
    opener.start()
    assert lib.wait_for_gate(5000) is True
    opener.join()


def test_the_lock_can_be_kept(lib):
    assert lib.wait_for_gate.release_gil is True
    lib.wait_for_gate.release_gil = False
    try:
        ticks = []
        running = threading.Event()
        stop = threading.Event()

        def tick():
            running.set()
            while not stop.is_set():
                ticks.append(time.monotonic())
                time.sleep(0.001)

        thread = threading.Thread(target=tick)
        thread.start()
        running.wait()
        start = time.monotonic()
        lib.wait_for_gate(200)
        end = time.monotonic()
        stop.set()
        thread.join()
        assert sum(start + 0.02 < at < end - 0.02 for at in ticks) == 0
    finally:
        lib.wait_for_gate.release_gil = True
    with pytest.raises(AttributeError):
        del lib.wait_for_gate.release_gil


def test_many_threads_call_at_once(lib):
    errors = []

    def work(seed):
        try:
            x = np.full(1000, seed, np.float32)
            t = torch.full((1000,), float(seed))
            for _ in range(200):
                assert lib.doubled(x)[0] == 2 * seed
                assert lib.doubled(t)[-1] == 2 * seed
                assert lib.same_string(f"thread {seed}") == f"thread {seed}"
                try:
                    lib.fails("value")
                except ValueError as error:
                    assert str(error) == "a bad value"
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(i + 1,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_threads_load_and_drop_libraries(build_library):
    import tarsia

    path = build_library("#include <tarsia/op.h>\nint three() { return 3; }\nTARSIA_EXPORT(three)")
    errors = []

    def work():
        try:
            for _ in range(20):
                assert tarsia.load(path).three() == 3
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
