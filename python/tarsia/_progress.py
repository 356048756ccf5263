"""A line on the terminal while something takes long. It goes away at the end."""

import os
import sys
import threading
import time

_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_PLAIN_FRAMES = "|/-\\"
_lock = threading.Lock()
_owner = None  # the thread whose line is shown: one at a time


def wanted():
    """Whether standard error is a terminal that a person looks at. TARSIA_PROGRESS=0 or 1 decides otherwise."""
    setting = os.environ.get("TARSIA_PROGRESS")
    if setting in ("0", "1"):
        return setting == "1"
    try:
        return sys.stderr.isatty() and not os.environ.get("CI") and os.environ.get("TERM") != "dumb"
    except (AttributeError, ValueError):  # no standard error, or a closed one
        return False


def tick(name, seconds):
    """Called every 50 ms of a compile that has taken half a second: shows or moves the line. Never raises."""
    global _owner
    me = threading.get_ident()
    with _lock:
        if _owner is None and wanted():
            _owner = me
        if _owner != me:
            return
    frames = _frames()
    tell(f"\r{frames[int(seconds * 10) % len(frames)]} Compiling {name}, {seconds:.1f} s")


def done():
    """Takes this thread's line away."""
    global _owner
    with _lock:
        if _owner != threading.get_ident():
            return
        _owner = None
    tell("\r\033[K")


def _frames():
    encoding = getattr(sys.stderr, "encoding", None) or "ascii"
    return _FRAMES if encoding.lower().replace("-", "") == "utf8" else _PLAIN_FRAMES


def tell(text):
    """Writes to standard error, if somebody looks."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (AttributeError, OSError, ValueError):
        pass  # nobody looks any more


class Bar:
    """A bar over a number of compiles, shown from the first half second on, as a context manager."""

    def __init__(self, total):
        self._total = total
        self._done = self._failed = 0
        self._began = time.monotonic()
        self._shown = False
        self._wanted = wanted()

    def advance(self, failed=False):
        self._done += 1
        self._failed += failed
        self.draw()

    def draw(self):
        seconds = time.monotonic() - self._began
        if not self._wanted or seconds < 0.5:
            return
        self._shown = True
        width = 30
        filled = width * self._done // self._total
        full, empty = ("━", "─") if _frames() is _FRAMES else ("#", ".")
        failed = f", {self._failed} failed" if self._failed else ""
        tell(f"\rCompiling {full * filled}{empty * (width - filled)} {self._done}/{self._total}{failed}, {seconds:.1f} s")

    def __enter__(self):
        global _owner
        with _lock:
            self._before, _owner = _owner, self  # no spinner beside it
        return self

    def __exit__(self, *exception):
        global _owner
        with _lock:
            _owner = self._before
        if self._shown:
            tell("\r\033[K")
