"""Compiles beside the caller: load_inline(wait=False), compile_all."""

import atexit
import os
import threading
import time

from . import _tarsia

_pending = set()  # those that have not ended
_lock = threading.Lock()
_stop = _tarsia.Stop()  # ends them when the interpreter ends


@atexit.register
def _leave():
    """Nobody can use what is still compiled: ends it. Python is whole here, and the threads may not outlive it."""
    _stop.set()
    wait_for_all()


def _forked():
    """In a child the threads are gone, and may have held the lock."""
    global _lock
    _lock = threading.Lock()
    for one in _pending:
        one._give_up()
    _pending.clear()


os.register_at_fork(after_in_child=_forked)


class Pending:
    """A compile on a thread of its own. It is given up when the interpreter ends."""

    def __init__(self, compile, explain):
        self._compile = compile
        self._explain = explain
        self._handle = self._error = None
        self._seconds = 0.0
        self._thread = threading.Thread(target=self._run, name="tarsia compile", daemon=True)  # _leave waits for it
        with _lock:  # whoever waits for it finds it running; where no thread can be started, it is not there
            self._thread.start()
            _pending.add(self)

    def _run(self):
        began = time.perf_counter()
        try:
            self._handle = _stop.call(self._compile)
        except BaseException as error:
            self._explain(error)
            self._error = error
        finally:
            self._seconds = time.perf_counter() - began
            self._compile = self._explain = None  # they hold the source and the caller's globals
            with _lock:
                _pending.discard(self)

    def _give_up(self):
        from ._errors import Error

        self._error = Error("it was compiled by a thread of the process that forked: load it again in this one")

    def is_done(self):
        return not self._thread.is_alive()

    def result(self):
        """The library's handle and the seconds it took; raises what went wrong, each time it is asked."""
        if self._thread is threading.current_thread():  # a static initialiser that asks for its own ops
            from ._errors import LoadError

            raise LoadError("a library cannot be used while it is loaded: ask for its ops when it is")
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._handle, self._seconds

    def wait(self, timeout):
        self._thread.join(timeout)
        return self.is_done()


def wait_for_all():
    """Waits for all compiles under way, whose ops may be what somebody looks for. Whether there were any."""
    me = threading.current_thread()
    with _lock:
        under_way = [one for one in _pending if one._thread is not me]
    for one in under_way:
        one._thread.join()
    return bool(under_way)


def compile_all(load_one, sources, jobs, return_exceptions, options):
    from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

    from . import _progress
    from ._compile_options import wrong_type

    if isinstance(sources, (str, bytes, dict)) or not hasattr(sources, "__iter__"):
        raise wrong_type("sources", "a list of sources, or of pairs (source, options)", sources)
    requests = []
    for item in sources:
        source, own = item if isinstance(item, tuple) and len(item) == 2 else (item, {})
        if not isinstance(own, dict):
            raise wrong_type("a pair's second item", "a dict of load_inline's options", own)
        requests.append((source, {**options, **own}))
    if jobs is None:
        jobs = os.cpu_count() or 1
    if not hasattr(jobs, "__index__") or isinstance(jobs, bool) or jobs < 1:
        raise wrong_type("jobs", "an int of 1 or more, or None", jobs)
    if not requests:
        return []

    stop = _tarsia.Stop()

    def load(source, options):
        return stop.call(lambda: load_one(source, **options))

    pool = ThreadPoolExecutor(min(jobs, len(requests)), thread_name_prefix="tarsia compile")
    try:
        futures = [pool.submit(load, source, own) for source, own in requests]
        with _progress.Bar(len(futures)) as bar:
            left = set(futures)
            while left:
                ended, left = wait(left, timeout=0.1, return_when=FIRST_COMPLETED)
                for future in ended:
                    bar.advance(failed=future.exception() is not None)
                bar.draw()
    finally:
        stop.set()  # there are some left only after Ctrl-C
        pool.shutdown(wait=False, cancel_futures=True)
    errors = [(i, future.exception()) for i, future in enumerate(futures) if future.exception() is not None]
    if errors and not return_exceptions:
        _raise_first(errors, len(futures))
    return [future.exception() or future.result() for future in futures]


def _raise_first(errors, total):
    """Raises the first error; a note names the other sources that failed."""
    first = errors[0][1]
    if hasattr(first, "add_note"):  # from Python 3.11 on
        first.add_note(f"This is source {errors[0][0]} of {total} (from 0).")
        for i, error in errors[1:]:
            first.add_note(f"Source {i} failed too: {str(error).splitlines()[0] if str(error) else type(error).__name__}")
    raise first
