"""What comes out of a pipe, as text, while it is written."""

import codecs
import os
import select
import threading
import time


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
        """Tells what is in the pipe. Returns whether there was something, or None at the end."""
        with self._lock:
            try:
                data = os.read(self._descriptor, 1 << 20)
            except BlockingIOError:
                return False
            text = self._decode(data, not data)
            if text:
                self.tell(text)
            return True if data else None

    def finish(self):
        """Returns when all that was written so far is told."""
        while self._take():
            pass

    def wait_for_end(self, seconds):
        """Returns when nobody can write any more and all is told, or after this time."""
        self._thread.join(seconds)
        self.finish()
