"""Programs of Python that use Tarsia and end in a way that a test looks at."""

import os
import subprocess
import sys

HEAD = """
import ctypes, faulthandler, signal, sys, threading
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
import numpy as np
import tarsia

def load(source, **options):
    return tarsia.load_inline(source, name="broken", **options)
"""


def program(text, **environment):
    return subprocess.Popen([sys.executable, "-W", "ignore", "-c", HEAD + text], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, env={**os.environ, **environment})


def ended(process, timeout=120):
    """What a program wrote until it ended. One that does not end is killed."""
    try:
        return process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
