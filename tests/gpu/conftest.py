"""Runs every GPU test in a process of its own.

CUDA does not survive its errors: after an illegal address, all that a process asks of it fails. So the process that
collects the tests never uses CUDA, and each test runs in a child forked from it: a crash, a hang or a spoiled context
costs one test. Modules of tests must not touch CUDA while they are imported (torch.cuda.is_available() does).
"""

import faulthandler
import os
import pathlib
import pickle
import select
import shutil
import signal
import sys
import tempfile

import pytest

HERE = pathlib.Path(__file__).resolve().parent
TIMEOUT = 120  # seconds a test may take

sys.path.insert(0, str(HERE))  # gpu_support and op.graphs_support
sys.path.append(str(HERE.parent / "python" / "support"))  # where pytest does not read pyproject.toml: in a bundle
pytest.register_assert_rewrite("gpu_support")

# Imported once, here, and not in every child. Neither uses CUDA before it is asked to.
for module in ("numpy", "torch"):
    try:
        __import__(module)
    except ImportError:
        pass  # the tests that need it say so
import tarsia  # noqa: E402


def pytest_configure(config):
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    if not hasattr(config, "workerinput"):  # not under xdist: its workers share the folder of their parent
        config.tarsia_cache = tempfile.mkdtemp(prefix="tarsia-gpu-tests-")
        os.environ["TARSIA_CACHE_DIR"] = config.tarsia_cache


def pytest_unconfigure(config):
    if hasattr(config, "tarsia_cache"):
        shutil.rmtree(config.tarsia_cache, ignore_errors=True)
        shutil.rmtree(config.tarsia_cache + "-nvcc", ignore_errors=True)


def pytest_report_header():
    import gpu_support

    return f"GPUs: {gpu_support.gpu_count()}, tarsia {tarsia.__version__} of {pathlib.Path(tarsia.__file__).parent}"


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item):
    if HERE not in item.path.parents:
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in _run_in_child(item):
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def _run_in_child(item):
    """The reports of the test, or one that says how its process died."""
    with tempfile.TemporaryDirectory(prefix="tarsia-gpu-test-") as folder:
        results, trace = pathlib.Path(folder, "results"), pathlib.Path(folder, "trace")
        sys.stdout.flush()
        sys.stderr.flush()
        child = os.fork()
        if child == 0:
            _child(item, results, trace)
        status, timed_out = _wait(child)
        if results.exists():
            return [item.config.hook.pytest_report_from_serializable(config=item.config, data=data)
                    for data in pickle.loads(results.read_bytes())]
        how = f"took longer than {TIMEOUT} s" if timed_out else f"died: {_death(status)}"
        # Tarsia's own crash report is among what the test printed.
        capture = item.config.pluginmanager.getplugin("capturemanager")
        printed = "".join(capture.read_global_capture()) if capture else ""
        text = f"the test's process {how}\n{trace.read_text() if trace.exists() else ''}\n{printed}"
        return [pytest.TestReport(item.nodeid, item.location, {name: 1 for name in item.keywords}, "failed", text, "call")]


def _child(item, results, trace):
    from _pytest.runner import runtestprotocol

    code = 1
    try:
        faulthandler.enable(trace.open("w"))  # SIGABRT too, with which a hanging test is ended
        reports = runtestprotocol(item, log=False, nextitem=None)
        hook = item.config.hook.pytest_report_to_serializable
        data = pickle.dumps([hook(config=item.config, report=report) for report in reports])
        part = results.with_suffix(".part")
        part.write_bytes(data)
        part.rename(results)
        code = 0
    finally:
        os._exit(code)  # what the parent registered for its exit is not the child's


def _wait(child):
    descriptor = os.pidfd_open(child)
    try:
        timed_out = not select.select([descriptor], [], [], TIMEOUT)[0]
        if timed_out:
            os.kill(child, signal.SIGABRT)
            if not select.select([descriptor], [], [], 5)[0]:
                os.kill(child, signal.SIGKILL)
        return os.waitpid(child, 0)[1], timed_out
    finally:
        os.close(descriptor)


def _death(status):
    if os.WIFSIGNALED(status):
        return signal.Signals(os.WTERMSIG(status)).name
    return f"exit code {os.WEXITSTATUS(status)}"
