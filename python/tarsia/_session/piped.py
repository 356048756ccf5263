"""What comes out of a pipe, as text, while it is written."""

import codecs
import os
import select
import threading
import time


ROOM = 1 << 20  # bytes that a pipe holds at most


class Piped:
    """A thread reads the pipe and gives texts to `tell`, until nobody can write any more."""

    def __init__(self, descriptor, tell, pause=0.0):
        """pause: seconds from the first byte of a text to its end, so that many short lines are few texts."""
        self.tell, self._descriptor, self._pause = tell, descriptor, pause
        os.set_blocking(descriptor, False)
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._lock = threading.Lock()  # held from reading a text until it is told
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self):
        waiting = select.poll()
        waiting.register(self._descriptor, select.POLLIN)
        while True:
            waiting.poll()
            time.sleep(self._pause)
            if self._take() is None:
                return

    def _take(self):
        """Tells what is in the pipe. Returns how many bytes there were, or None at the end."""
        with self._lock:
            try:
                data = os.read(self._descriptor, ROOM)
            except BlockingIOError:
                return 0
            text = self._decode(data, not data)
            if text:
                self.tell(text)
            return len(data) or None

    def finish(self):
        """Returns when all that was written so far is told. Others may go on writing."""
        left = ROOM
        while left > 0 and (n := self._take()):
            left -= n

    def wait_for_end(self, seconds):
        """Returns when nobody can write any more and all is told, or after this time."""
        self._thread.join(seconds)
        self.finish()
