"""Files that run again when they are saved."""

import os


class Watches:
    """Names of files, and what each was like when it last ran."""

    def __init__(self):
        self._ran = {}   # path -> its stamp
        self._seen = {}  # path -> the stamp at the last look
        self._names = {}

    @property
    def names(self):
        """The names as they were given."""
        return list(self._names.values())

    def add(self, name):
        """From now on; call it before the file is read, so that no change is missed."""
        path = _path(name)
        self._names[path] = name
        self._ran[path] = self._seen[path] = _stamp(path)

    def remove(self, name):
        """Returns whether it was watched."""
        path = _path(name)
        self._seen.pop(path, None)
        self._names.pop(path, None)
        return self._ran.pop(path, False) is not False

    def changed(self, settled=False):
        """The names of files that are not as they were when they last ran; they count as run now.

        settled: only those that are as they were at the last look, so that a file is not read while it is being written.
        """
        found = []
        for path, name in self._names.items():
            stamp = _stamp(path)
            # Editors write a new file and rename it, or empty the old one first: what is not there is yet to come.
            if stamp is not None and stamp != self._ran[path] and (not settled or stamp == self._seen[path]):
                self._ran[path] = stamp
                found.append(name)
            self._seen[path] = stamp
        return found


def _path(name):
    return os.path.abspath(os.path.expanduser(name))


def _stamp(path):
    """What differs once a file is saved; None without a file, and for an empty one."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return (status.st_mtime_ns, status.st_size, status.st_ino) if status.st_size else None
