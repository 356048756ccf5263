"""The kernel's process: python -m tarsia._jupyter -f CONNECTION_FILE, as `tarsia jupyter install` writes it for Jupyter."""

import fcntl
import os

from ipykernel.kernelapp import IPKernelApp

from tarsia._jupyter.kernel import TarsiaKernel
from tarsia._session.piped import ROOM, Piped

_PAUSE = 0.05


def pipe_output():
    """Puts a pipe in the place of standard output, also for the processes that this one starts."""
    ours, theirs = os.pipe()
    try:
        fcntl.fcntl(theirs, fcntl.F_SETPIPE_SZ, ROOM)  # cells may be ahead of what is sent
    except OSError:  # the user has large pipes already, and may have no more
        pass
    os.dup2(theirs, 1)
    os.close(theirs)
    return Piped(ours, lambda text: None, _PAUSE)


def main():
    TarsiaKernel.output = pipe_output()
    # Work-around: ipykernel does not say when all of standard output has come.
    # Trigger: a cell writes to standard output from C++. Symptom: its text may come after the cell's end, below the next
    # cell. Tarsia reads the pipe itself. Removal: ipykernel's own watch can be waited for.
    IPKernelApp.launch_instance(kernel_class=TarsiaKernel, capture_fd_output=False)
    # The thread that was asked for the end has more to send; without the threads that Python ends now it would wait long.
    IPKernelApp.instance().control_thread.join(2)


if __name__ == "__main__":
    main()
