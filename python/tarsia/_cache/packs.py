"""Recordings of what a run uses, and replays of them: tarsia.record, tarsia.replay."""

import json
from contextlib import ContextDecorator

from .. import _tarsia
from .._compile.loading import warn_caller
from .._compile_options import _items as items
from .._compile_options import to_path, to_text
from .._errors import CompileWarning, Error


class Recording(ContextDecorator):
    """What tarsia.record() gives: ``start()`` begins it and ``stop()`` writes the pack, as a with block does at its ends. It may
    be started again, and then notes anew. ``report``: what the last stop() returned."""

    def __init__(self, path):
        self.path = to_path(path, "path")
        self.report = None
        self._started = []  # the innermost last: a decorated function may call itself

    def start(self):
        """From now on, modules are noted."""
        self._started.append(_tarsia.record_begin(self.path))
        return self

    def add_archs(self, archs):
        """Compiles the CUDA sources that were noted so far for further architectures, such as "sm_80", each by itself."""
        if not self._started:
            raise Error(f"the recording for {self.path} is not under way: start() it first")
        _tarsia.record_add_archs(self._started[-1], [_arch(one) for one in items(archs, "archs")])

    def stop(self):
        """Writes the pack. Returns a dict: ``modules``, ``bytes``, ``written``, and ``left_out``, a list of name and why. If the
        pack cannot be written, the recording goes on."""
        if not self._started:
            raise Error(f"the recording for {self.path} is not under way: start() it first")
        self.report = json.loads(_tarsia.record_end(self._started[-1]))
        self._started.pop()
        if self.report["left_out"]:
            names = "; ".join(f"{one['name']}: {one['why']}" for one in self.report["left_out"])
            warn_caller(CompileWarning(f"{self.path} does not have all that the run used: {names}"))
        return self.report

    def cancel(self):
        """Ends the recording and writes nothing."""
        if self._started:
            _tarsia.record_drop(self._started.pop())

    def __enter__(self):
        return self.start()

    def __exit__(self, kind, *error):
        # Programs are ended by these two: the run was whole.
        if kind is None or issubclass(kind, (SystemExit, KeyboardInterrupt)):
            started = self._started[-1:]
            try:
                self.stop()
            finally:
                if started and self._started[-1:] == started:  # nobody else could end it
                    self.cancel()
        else:
            self.cancel()


def _arch(given):
    """"sm_90" of "sm_90", "90" or 90."""
    text = to_text(str(given) if isinstance(given, int) else given, "archs")
    return text if text.startswith("sm_") else f"sm_{text}"


def replay(path, devices):
    """tarsia.replay."""
    from .._library import _device_number

    if devices is not None:
        devices = [_device_number(device) for device in items(devices, "devices")]
    return json.loads(_tarsia.replay(to_path(path, "path"), devices))
