"""What was typed at prompts, in a file that all of them share.

An entry is a line. A new line within an entry is written as the sign for it, U+2424. Prompts append under a lock, each entry
when it is typed, so that none is lost.
"""

import os
import sys

_NEW_LINE = "\u2424"
_MOST = 10000     # entries that a prompt reads
_LONGEST = 4 << 20  # bytes; a longer file is cut to its latest entries


class History:
    """path: of the file; a missing one is made by the first entry."""

    def __init__(self, path=None):
        self.path = path or os.path.join(os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state"), "tarsia", "history")
        self._failed = False

    def entries(self):
        """The latest entries, oldest first; none if the file cannot be read."""
        try:
            with open(self.path, encoding="utf-8", errors="replace", newline="\n") as file:
                lines = file.read().split("\n")
        except OSError:
            return []
        return [line.replace(_NEW_LINE, "\n") for line in lines if line.strip()][-_MOST:]

    def add(self, text):
        """Appends an entry. That it cannot be written is told once, on standard error."""
        if self._failed or not text.strip():
            return
        line = text.strip("\n").replace("\n", _NEW_LINE) + "\n"
        try:
            self._append(line.encode("utf-8", "replace"))
        except OSError as error:
            self._failed = True
            sys.stderr.write(f"the history is not kept: {error.strerror}: {self.path}\n")

    def _append(self, line):
        import fcntl

        os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
        with open(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600), "r+b", buffering=0) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX)
            except OSError:  # file systems without locks append in one piece all the same
                pass
            if os.fstat(file.fileno()).st_size > _LONGEST:
                file.seek(-_LONGEST // 2, os.SEEK_END)
                kept = file.read().partition(b"\n")[2]
                file.truncate(0)
                file.write(kept)
            file.write(line)
