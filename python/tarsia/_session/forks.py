"""Processes that cells fork, and leave behind when they end."""

import os
from contextlib import contextmanager


class Forks:
    """They are told by their process, which is not the one that has made this."""

    def __init__(self):
        self._process = os.getpid()

    def is_one(self):
        """Whether this process is one."""
        return os.getpid() != self._process

    @contextmanager
    def ended(self):
        """Ends them, quietly, when they come to the end of what runs within: the cell is theirs, and the session is not. What they
        have written is not lost."""
        try:
            yield
        finally:
            if self.is_one():
                import ctypes

                ctypes.CDLL(None).fflush(None)
                os._exit(0)
