"""Tests whose effects last as long as their process."""

import functools
import os
import sys
import traceback


def alone(test):
    """Runs a test in a forked process, such as one that replays a pack."""

    @functools.wraps(test)
    def run(*args, **keywords):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                test(*args, **keywords)
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0, "the forked test failed: its traceback is above"

    return run
