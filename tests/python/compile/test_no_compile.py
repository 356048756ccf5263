"""Where no compile may start: a miss is an error at once, which says why it is one."""

import os
import re
import subprocess
import sys
import threading

import places
import pytest

import tarsia

KERNEL = "template <class T> __global__ void twice(T* x) { *x *= 2; }\n"


def compiles():
    return tarsia.stats()["cache"]["compiles"]


def test_a_miss_is_an_error_that_says_why(own_cache):
    header = own_cache / "near.h"
    header.write_text("#define NEAR 1\n")
    source = '#include "near.h"\nint near() { return NEAR; }'

    def load():
        return tarsia.load_inline(source, name="nearest", include_dirs=[own_cache])

    with tarsia.no_compile(), pytest.raises(tarsia.CompileForbidden, match=r"nearest \[[0-9a-f]{12}\] is not in the cache \(nothing is kept under this key\), "
                                                                           r"and no compile may start within no_compile\(\)"):
        load()
    assert compiles() == 0
    load()
    with tarsia.no_compile():
        assert load().near() == 1  # a hit
    header.write_text("#define NEAR 2\n")
    with tarsia.no_compile(), pytest.raises(tarsia.CompileForbidden, match=re.escape(f"({header} changed since it was compiled)")):
        load()
    assert compiles() == 1 and tarsia.stats()["cache"]["forbidden"] == 2
    assert load().near() == 2
    assert issubclass(tarsia.CompileForbidden, tarsia.Error) and tarsia.CompileForbidden is not tarsia.CompileError


def test_scopes_nest_and_end_with_errors(own_cache):
    scope = tarsia.no_compile()
    with scope:
        with scope, tarsia.no_compile():
            pass
        with pytest.raises(tarsia.CompileForbidden):
            tarsia.load_inline("int f() { return 1; }")
    with pytest.raises(ZeroDivisionError), tarsia.no_compile():
        1 / 0

    @tarsia.no_compile()
    def served():
        return tarsia.load_inline("int f() { return 1; }")

    with pytest.raises(tarsia.CompileForbidden):
        served()
    assert tarsia.load_inline("int f() { return 1; }").f() == 1
    assert served().f() == 1
    with pytest.raises(tarsia.Error, match="leave one on the thread that entered it"):
        scope.__exit__(None, None, None)
    with pytest.raises(TypeError, match="takes no arguments"):
        tarsia.no_compile(1)


def test_each_thread_has_its_own(own_cache):
    made = []
    with tarsia.no_compile():
        thread = threading.Thread(target=lambda: made.append(tarsia.load_inline("int other() { return 1; }")))
        thread.start()
        thread.join()
        assert made[0].origin == "compiled"


def test_threads_that_compile_for_the_caller_are_forbidden_too(own_cache):
    with tarsia.no_compile():
        errors = tarsia.compile_all(["int a() { return 1; }", "int b() { return 2; }"], return_exceptions=True)
        later = tarsia.load_inline("int c() { return 3; }", wait=False)
    assert [type(error) for error in errors] == [tarsia.CompileForbidden] * 2
    with pytest.raises(tarsia.CompileForbidden):
        later.c()
    assert compiles() == 0


def test_files_expressions_and_sessions_are_forbidden_too(own_cache):
    (own_cache / "op.cc").write_text("int f() { return 1; }")
    import numpy as np

    x = np.ones(3, np.float32)
    with tarsia.no_compile():
        for what in (lambda: tarsia.load(own_cache / "op.cc"),
                     lambda: tarsia.compile("int f() { return 1; }", own_cache / "lib.so"),
                     lambda: tarsia.elementwise("T x", "T y", "y = x * 12345")(x)):
            with pytest.raises(tarsia.CompileForbidden):
                what()
        for isolated in (False, True):
            cell = tarsia.Session(isolated=isolated).run("int v = 31;")
            assert not cell.ok and "is not in the cache" in cell.error
    assert compiles() == 0
    session = tarsia.Session(isolated=True)
    assert session.run("int v = 31;").ok
    with tarsia.no_compile():
        assert tarsia.Session(isolated=True).run("int v = 31;").ok  # a hit
        assert not session.run("int w = 32;").ok
    assert session.run("int w = 32;").ok


def test_a_kernel_that_is_instantiated_on_first_use_counts(own_cache):
    lib = tarsia.load_inline(KERNEL)
    with tarsia.no_compile(), pytest.raises(tarsia.CompileForbidden, match="is not in the cache"):
        lib.twice["float"].ptx
    assert ".entry" in lib.twice["float"].ptx
    with tarsia.no_compile():
        assert ".entry" in tarsia.load_inline(KERNEL).twice["float"].ptx


def test_a_library_that_was_built_ahead_loads(own_cache):
    tarsia.compile("int f() { return 4; }", own_cache / "lib.so")
    with tarsia.no_compile():
        assert tarsia.load(own_cache / "lib.so").f() == 4


def test_an_unusable_folder_is_a_reason(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    folder.mkdir()
    folder.chmod(0o777)
    monkeypatch.setenv("TARSIA_CACHE_DIR", str(folder))
    with tarsia.no_compile(), pytest.raises(tarsia.CompileForbidden, match=r"\(the cache could not be read\)"):
        tarsia.load_inline("int unusable() { return 1; }")


def test_a_forked_child_stays_forbidden(own_cache):
    with tarsia.no_compile():
        child = os.fork()
        if child == 0:
            try:
                tarsia.load_inline("int f() { return 1; }")
            except tarsia.CompileForbidden:
                os._exit(0)
            os._exit(1)
        assert os.waitpid(child, 0)[1] == 0


def fake_driver(folder):
    """A CUDA driver with one GPU, whose stream 0x77 is capturing."""
    table = (places.REPO / "base/cuda/cuda_driver.cpp").read_text()
    told = {"cuDeviceGetCount": "int* n", "cuCtxGetCurrent": "void** c", "cuDevicePrimaryCtxRetain": "void** c, int d",
            "cuStreamIsCapturing": "void* s, int* status"}
    bodies = {"cuDeviceGetCount": "*n = 1;", "cuCtxGetCurrent": "*c = (void*)8;", "cuDevicePrimaryCtxRetain": "*c = (void*)8;",
              "cuStreamIsCapturing": "*status = s == (void*)0x77;"}
    names = re.findall(r'need\("(\w+)"', table)
    assert set(told) <= set(names)
    text = "".join(f"int {name}({told.get(name, 'void')}) {{ {bodies.get(name, '')} return 0; }}\n" for name in names)
    (folder / "driver.c").write_text(text)
    subprocess.run(["gcc", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "driver.c", "-o", "libcuda.so.1"], cwd=folder, check=True)


def test_a_capturing_stream_forbids_compiles(own_cache):
    fake_driver(own_cache)
    code = """
import ctypes, pathlib, sys, tarsia
native = ctypes.CDLL(str(next(pathlib.Path(tarsia.__file__).parent.rglob("libtarsia.so*"))))
native.tarsia_set_stream.argtypes = [ctypes.c_int32, ctypes.c_void_p]
def load(n, **options):
    return tarsia.load_inline("int f() { return %d; }" % n, arch="sm_90", **options)
load(0)
native.tarsia_set_stream(0, 0x77)
load(1)  # nothing uses CUDA yet
assert native.tarsia_device_enter(0, None) == 0
try:
    load(2)
    sys.exit("compiled")
except tarsia.CompileForbidden as error:
    assert "while the current stream captures a CUDA graph" in str(error), error
assert load(1).f() == 1  # a hit
native.tarsia_set_stream(0, 0x78)
assert load(2).f() == 2
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300,
                          env={**os.environ, "LD_LIBRARY_PATH": str(own_cache)})
    assert done.returncode == 0, done.stderr
