"""Nothing leaks: references of arguments and results, memory over many calls, libraries."""

import gc
import os
import resource
import subprocess
import sys
import time

import numpy as np
import pytest

import tarsia

torch = pytest.importorskip("torch")


def cases(lib):
    x, t = np.ones((3, 4), np.float32), torch.ones(3, 4)
    strided = np.ones((8, 8), np.float32)[::2, ::2]
    ints, words, tensors = [1, 2, 3], ["a", "bb"], [torch.zeros(3), torch.ones(3)]
    stream = type("S", (), {"cuda_stream": 5})()
    return {
        "numpy": (lambda: lib.scale(x, 12, 1.0), [x]),
        "torch": (lambda: lib.scale(t, 12, 1.0), [t]),
        "keywords": (lambda: lib.scale(x=x, n=12, factor=1.0), [x]),
        "strided": (lambda: lib.describe(strided), [strided]),
        "numpy result": (lambda: lib.doubled(x), [x]),
        "torch result": (lambda: lib.doubled(t), [t]),
        "identity": (lambda: lib.identity(t), [t]),
        "tuple": (lambda: lib.both(x), [x]),
        "list result": (lambda: lib.copies(t, 3), [t]),
        "list of numbers": (lambda: lib.sum_of(ints), [ints]),
        "list of words": (lambda: lib.join(words), [words, words[1]]),
        "list of tensors": (lambda: lib.total(tensors, 3), [tensors, *tensors]),
        "strings": (lambda: lib.several(), []),
        "stream": (lambda: lib.only_stream(1, stream, 2), [stream]),
        "overloads": (lambda: lib.kind(x[0]), [x]),
        "buffer": (lambda: lib.address_any(memoryview(x)), [x]),
    }


NAMES = ["numpy", "torch", "keywords", "strided", "numpy result", "torch result", "identity", "tuple", "list result",
         "list of numbers", "list of words", "list of tensors", "strings", "stream", "overloads", "buffer"]


@pytest.mark.parametrize("name", NAMES)
def test_references_stay_as_they_were(lib, name):
    call, watched = cases(lib)[name]
    call()
    gc.collect()
    before = [sys.getrefcount(object) for object in watched]
    drifts = []
    for _ in range(5):  # what other tests left behind may go meanwhile, with its references to None
        none = sys.getrefcount(None)
        for _ in range(100):
            call()
        gc.collect()
        drifts.append(abs(sys.getrefcount(None) - none))
    assert [sys.getrefcount(object) for object in watched] == before
    assert min(drifts) < 50


@pytest.mark.parametrize("arguments", [("x",), (1, 2, 3, 4), (np.zeros(3), 3, 1.0),
                                       (np.zeros((3, 3), np.float32).T, 9, 1.0)])
def test_references_stay_when_arguments_are_refused(lib, arguments):
    before = [sys.getrefcount(argument) for argument in arguments]
    for _ in range(100):
        with pytest.raises(tarsia.ArgumentError):
            lib.scale(*arguments)
    gc.collect()
    after = [sys.getrefcount(argument) for argument in arguments]
    assert all(abs(a - b) < 50 for a, b in zip(after, before))  # small numbers are shared with the interpreter


def test_memory_stays_level(lib):
    x, t = np.ones(250_000, np.float32), torch.ones(250_000)  # 1 MB each

    def calls(n):
        for _ in range(n):
            lib.doubled(x)
            lib.doubled(t)
            lib.both(t)
            lib.copies(x, 2)
            torch.from_dlpack(lib.doubled(t))
            with pytest.raises(RuntimeError):
                lib.fails_after(t)

    calls(20)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    calls(200)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # kB; a leak of one call in six would be 200 MB


def test_functions_keep_their_library(build_library):
    path = build_library("#include <tarsia/op.h>\nint seven() { return 7; }\nTARSIA_EXPORT(seven)")
    seven = tarsia.load(path).seven
    gc.collect()
    assert seven() == 7
    lib = tarsia.load(path)
    kept = lib.seven
    lib.unload()
    assert kept() == 7 and lib.functions == () and lib.origin == "unloaded"
    with pytest.raises(AttributeError, match="was unloaded"):
        lib.seven
    lib.unload()


def test_a_library_is_unmapped_when_nothing_holds_it(build_library):
    path = build_library("#include <tarsia/op.h>\nint eleven() { return 11; }\nTARSIA_EXPORT(eleven)")

    def mapped():
        with open("/proc/self/maps") as maps:
            return {(line.split()[4], line.split(maxsplit=5)[5]) for line in maps if "/" in line}  # inode, path

    before = mapped()
    lib = tarsia.load(path)
    eleven = lib.eleven
    new = mapped() - before
    assert new
    del lib
    gc.collect()
    assert eleven() == 11 and new <= mapped()
    del eleven
    gc.collect()
    assert not new & mapped()


def test_the_addresses_of_a_library_with_kernels_are_not_used_again():
    """The CUDA runtime keeps the addresses of unloaded kernels (registry/resources/unmap.cpp)."""
    source = "__global__ void k(float* y) { *y = %d; }\nvoid f(float* y, cudaStream_t s) { k<<<1, 1, 0, s>>>(y); }"

    def ranges(of_files):
        with open("/proc/self/maps") as maps:
            for line in maps:
                begin, end = (int(x, 16) for x in line.split()[0].split("-"))
                if ("/" in line) == of_files and "libcudart" not in line:
                    yield begin, end, line.split()[1], int(line.split()[2], 16)

    before = set(ranges(True))
    try:
        lib = tarsia.load_inline(source % 1)
    except tarsia.CompileError as e:
        pytest.skip(f"CUDA sources cannot be compiled here: {e}")
    mapped = set(ranges(True)) - before
    assert mapped
    lib.unload()
    del lib
    deadline = time.monotonic() + 10
    while mapped & set(ranges(True)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not mapped & set(ranges(True))
    second = tarsia.load_inline(source % 2)
    assert second.functions == ("f",)
    # The whole file is mapped beside its segments, for export; that place may be used again.
    whole_file = max((r for r in mapped if r[3] == 0), key=lambda r: r[1] - r[0])
    assert whole_file[2] == "r--p" and len(mapped) > 2
    for begin, end, *_ in mapped - {whole_file}:
        assert any(b <= begin and end <= e and rights == "---p" for b, e, rights, _ in ranges(False)), hex(begin)


def test_what_a_program_still_holds_at_its_end_is_not_reported():
    program = """
import tarsia, threading
def hold(lib, held=threading.Event()):
    held.set()
    threading.Event().wait()
started = threading.Event()
lib = tarsia.load_inline("int one() { return 1; }")
threading.Thread(target=hold, args=(lib, started), daemon=True).start()
started.wait()
print(lib.one())
"""
    package = os.path.dirname(os.path.dirname(tarsia.__file__))
    for warnings in ({}, {"TARSIA_LEAK_WARNINGS": "1"}):
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                              env={**os.environ, "PYTHONPATH": package, **warnings})
        assert (done.returncode, done.stdout) == (0, "1\n")
        assert ("leaked" in done.stderr) == bool(warnings), done.stderr
