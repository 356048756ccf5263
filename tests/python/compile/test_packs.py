"""What one process records, a fresh one replays: with an empty cache, in no_compile(), and without a compiler."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading

import places
import pytest
from alone import alone

import tarsia
from stores import make_keys

KERNEL = "template <class T> __global__ void twice(T* x) { *x *= 2; }\n__global__ void one(int* x) { *x = 1; }\n"
# Uses all that asks for modules. The numbers tell whether the libraries are whole.
PROGRAM = """
import json, sys, threading
import numpy as np
import tarsia

def run():
    import importlib.util
    lib = tarsia.load_inline('#include <string>\\nint length(const std::string& s) { return int(s.size()); }', name="lib")
    found = []
    threads = [threading.Thread(target=lambda i=i: found.append(tarsia.load_inline(f"int f() {{ return {i}; }}").f()))
               for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kernels = tarsia.load_inline(KERNEL, arch="sm_90")
    ptx = kernels.twice["float"].ptx
    y = tarsia.elementwise("T x", "T y", "y = x * 3")(np.ones(3, np.float32))
    later = tarsia.load_inline("int g() { return 7; }", wait=False)
    later.wait()
    relu = tarsia.load(EXAMPLE)
    bound = tarsia.op("relu")(np.array([-1, 2], np.float32))
    cell = tarsia.Session().run("int v = 3;").ok
    return [lib.length("abc"), sorted(found), ".entry" in ptx, float(y.sum()), later.g(), bound.tolist(), cell]
"""
EXPECTED = [3, [0, 1, 2, 3], True, 9.0, 7, [0.0, 2.0], True]
RECORD = PROGRAM + "with tarsia.record('ops.pack') as recording:\n    done = run()\nprint(json.dumps([done, recording.report]))"
REPLAY = PROGRAM + """
report = tarsia.replay('ops.pack', devices=[])
with tarsia.no_compile():
    done = run()
counts = tarsia.stats()
print(json.dumps([done, report, counts["cache"]["hits"], counts["cache"]["compiles"], counts["workers_started"]]))
"""


@pytest.fixture
def fresh(tmp_path):
    """Runs a program in a process of its own, with a folder for its cache; gives what it printed as JSON."""
    example = places.REPO / "examples/relu.cu"

    def run(program, cache, path=None, **env):
        program = program.replace("KERNEL", repr(KERNEL)).replace("EXAMPLE", repr(str(example)))
        done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=600, env={
            **os.environ, "TARSIA_CACHE_DIR": str(tmp_path / cache), **env, **({"PYTHONPATH": str(path)} if path else {})})
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    run.folder = tmp_path
    return run


def cache_counts():
    return tarsia.stats()["cache"]


def test_a_fresh_process_runs_the_same_program_without_a_compile(fresh):
    done, report = fresh(RECORD, "builder")
    assert done == EXPECTED and report["written"] and report["left_out"] == []
    pack = (fresh.folder / "ops.pack").read_bytes()
    assert report["bytes"] == len(pack) and report["modules"] >= 10
    done, replayed, hits, compiles, workers = fresh(REPLAY, "server")
    assert done == EXPECTED
    counted = {"modules": report["modules"], "known": 0, "revoked": 0, "bytes": len(pack)}
    assert replayed == {**counted, "signer": "", "gpus": []}
    assert (compiles, workers) == (0, 0) and hits["disk"] == 0 and hits["memory"] >= 10
    assert not list((fresh.folder / "server").rglob("*.so"))  # a replay keeps nothing on disk

    # A run that only hits, on disk and in memory, gives the same pack.
    done, again = fresh(RECORD.replace("done = run()", "run(), run(); done = run()"), "builder")
    assert again == report and (fresh.folder / "ops.pack").read_bytes() == pack


def test_packs_are_signed_and_those_of_strangers_refused(tmp_path):
    """With the variables that shared stores have: by the command and in Python."""
    keys = {name: make_keys(tmp_path / name) for name in ("build", "stranger")}
    env = {name: value for name, value in os.environ.items() if not name.startswith(("TARSIA_SIGN", "TARSIA_TRUST"))}

    def run(program, fails=False, cache="builder", **more):
        done = subprocess.run([sys.executable, "-c", "import json, tarsia\n" + program], cwd=tmp_path, capture_output=True, text=True,
                              env={**env, "TARSIA_CACHE_DIR": str(tmp_path / cache), **more})
        assert (done.returncode != 0) == fails, done.stderr
        return done.stderr if fails else json.loads(done.stdout)

    def command(*words, cache="builder", **more):
        return subprocess.run([places.command(), *words], cwd=tmp_path, capture_output=True, text=True,
                              env={**env, "TARSIA_CACHE_DIR": str(tmp_path / cache), **more})

    record = "with tarsia.record('{}') as r:\n    tarsia.load_inline('int f() {{ return 42; }}')\nprint(json.dumps(r.report))"
    signer = run(record.format("signed.pack"), TARSIA_SIGN_KEY=keys["build"])["signer"]
    assert re.fullmatch("[0-9a-f]{16}", signer)
    assert run(record.format("unsigned.pack"))["signer"] == ""
    assert run(record.format("stranger.pack"), TARSIA_SIGN_KEY=keys["stranger"])["signer"] not in ("", signer)

    replay = "report = tarsia.replay('{}', devices=[])\nprint(json.dumps([report['signer'], tarsia.load_inline('int f() {{ return 42; }}').origin]))"
    trust = {"TARSIA_TRUST": keys["build"] + ".pub"}
    assert run(replay.format("signed.pack"), cache="server", **trust) == [signer, "memory"]
    assert "LoadError" in (said := run(replay.format("unsigned.pack"), fails=True, cache="server", **trust)) and "it is not signed" in said
    assert "which TARSIA_TRUST does not name" in run(replay.format("stranger.pack"), fails=True, cache="server", **trust)
    for allowed in ({}, {"TARSIA_TRUST": "unsafe-unsigned"}, {"TARSIA_TRUST": trust["TARSIA_TRUST"] + ":unsafe-unsigned"}):
        assert run(replay.format("unsigned.pack"), cache="server", **allowed) == ["", "memory"]

    # A file of keys that names none, a list of revoked keys alone, and a builder that trusts itself alone.
    (tmp_path / "none").write_text("# lost\n")
    assert "it is not signed" in run(replay.format("unsigned.pack"), fails=True, cache="server", TARSIA_TRUST=str(tmp_path / "none"))
    assert "it is not signed" in run(replay.format("unsigned.pack"), fails=True, cache="server", TARSIA_SIGN_KEY=keys["build"])
    assert run(replay.format("signed.pack"), cache="server", TARSIA_SIGN_KEY=keys["build"]) == [signer, "memory"]
    missing = run(record.format("lost.pack"), fails=True, TARSIA_SIGN_KEY=str(tmp_path / "absent"))
    assert "absent" in missing and "in stop" not in missing  # before anything ran

    # By the command. What an import brought goes when its signer's key is revoked.
    assert command("cache", "export", "all.pack", TARSIA_SIGN_KEY=keys["build"]).returncode == 0
    refused = command("cache", "import", "unsigned.pack", cache="other", **trust)
    assert refused.returncode != 0 and "unsigned.pack is not taken in: it is not signed" in refused.stderr
    taken = command("cache", "import", "all.pack", "--json", cache="other", **trust)
    assert json.loads(taken.stdout)["signer"] == signer, taken.stderr
    load = "print(json.dumps(tarsia.load_inline('int f() { return 42; }').origin))"
    assert run(load, cache="other", **trust) == "disk"
    public = pathlib.Path(keys["build"] + ".pub").read_text().split()[-1]
    (tmp_path / "revoked").write_text(f"revoked: {public}\n")
    assert run(load, cache="other", TARSIA_TRUST=f"{keys['build']}.pub:{tmp_path}/revoked") == "compiled"
    assert "is revoked" in run(replay.format("signed.pack"), fails=True, TARSIA_TRUST=str(tmp_path / "revoked"))
    assert command("cache", "import", "all.pack", cache="late").returncode == 0  # by one who trusts nobody in particular
    assert run(load, cache="late") == "disk" and run(load, cache="late", TARSIA_TRUST=str(tmp_path / "revoked")) == "compiled"


def test_without_a_compiler_and_without_cuda_headers_and_nvrtc(fresh):
    _, report = fresh(RECORD, "builder")
    package = pathlib.Path(tarsia.__file__).parent
    library = (package / "libtarsia.so").resolve()
    place = fresh.folder / "image" / "tarsia"
    place.mkdir(parents=True)
    for file in [*package.iterdir(), library]:
        if file.name.startswith(("tarsia-compiler", "tarsia-sysroot", "tarsia-preludes")):
            continue
        if file.suffix == ".so":
            shutil.copy(file, place / file.name)
        elif not (place / file.name).exists():
            (place / file.name).symlink_to(file)
    program = """
import json, tarsia
try:
    tarsia.load_inline("int fresh() { return 1; }")
except tarsia.NotFound as error:
    print(json.dumps(str(error)))
"""
    image = place.parent
    assert "the compiler tarsia-compiler is missing" in fresh(program, "server", path=image, TARSIA_COMPILER="")
    done, replayed, _, compiles, workers = fresh(REPLAY, "server", path=image, TARSIA_COMPILER="")
    assert done == EXPECTED and (compiles, workers) == (0, 0) and replayed["modules"] == report["modules"]


def test_without_cudas_headers(fresh):
    kernel = "template <class T> __global__ void third(T* x) { *x *= 3; }"
    headers = {line["path"] for line in tarsia.doctor()["lines"]
               if line["found"] and line["part"] in ("CUDA headers", "CUDA crt headers", "cuRAND headers", "CCCL (CUB, libcu++)")}
    mount = " && ".join(f"mount -t tmpfs tmpfs {path}" for path in sorted(headers, reverse=True))
    if not headers or subprocess.run(["unshare", "--mount", "sh", "-c", mount], capture_output=True).returncode:
        pytest.skip("mounting is not allowed here")
    fresh(f"""
import json, tarsia
with tarsia.record("ops.pack"):
    tarsia.load_inline({kernel!r}).third["float"]
print(json.dumps(None))
""", "builder")
    program = f"""
import json, os, tarsia
missing = [line["part"] for line in tarsia.doctor()["lines"] if not line["found"]]
def said(source):
    try:
        return tarsia.load_inline(source).origin
    except tarsia.Error as error:
        return type(error).__name__ + ": " + str(error)
before = said({kernel!r})
tarsia.replay("ops.pack", devices=[])
after = said({kernel!r})
tarsia.load_inline({kernel!r}).third["float"]
other = said({kernel!r} + " // another")
with tarsia.no_compile():
    forbidden = said({kernel!r} + " // another")
print(json.dumps([missing, before, after, other, forbidden]))
"""
    done = subprocess.run(["unshare", "--mount", "sh", "-c", mount + ' && exec "$0" -c "$1"', sys.executable, program], cwd=fresh.folder,
                          env={**os.environ, "TARSIA_CACHE_DIR": str(fresh.folder / "server")}, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    missing, before, after, other, forbidden = json.loads(done.stdout)
    assert "CUDA headers" in missing
    assert before.startswith("NotFound: the source holds CUDA, and this machine lacks ")
    assert after == "memory"
    assert other.startswith("NotFound: the source holds CUDA, and this machine lacks ") and other.endswith("; no pack that is replayed has its module")
    assert forbidden.startswith("CompileForbidden: ") and "file source: its text changed" in forbidden


def fake_driver(folder):
    """A CUDA driver with one GPU of sm_90, which loads nothing."""
    table = (places.REPO / "base/cuda/cuda_driver.cpp").read_text()
    told = {"cuDeviceGetCount": ("int* n", "*n = 1;"), "cuCtxGetCurrent": ("void** c", "*c = (void*)8;"),
            "cuDevicePrimaryCtxRetain": ("void** c, int d", "*c = (void*)8;"),
            "cuDeviceGetAttribute": ("int* v, int a, int d", "*v = a == 75 ? 9 : 0;")}
    names = re.findall(r'need\("(\w+)"', table)
    assert set(told) <= set(names)
    none = ("void", "")
    (folder / "driver.c").write_text("".join(f"int {name}({told.get(name, none)[0]}) {{ {told.get(name, none)[1]} return 0; }}\n" for name in names))
    subprocess.run(["gcc", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "driver.c", "-o", "libcuda.so.1"], cwd=folder, check=True)


def fake_runtime(folder):
    """A CUDA runtime that counts what is registered and loaded."""
    (folder / "runtime.c").write_text("""
int registered, gone, loaded;
static void* none[4];
void** __cudaRegisterFatBinary(const void* unit) { ++registered; return none; }
void __cudaUnregisterFatBinary(void** handle) { ++gone; }
int cudaGetFuncBySymbol(void** function, const void* stub) { ++loaded; *function = (void*)stub; return 0; }
const char* cudaGetErrorName(int code) { return "none"; }
const char* cudaGetErrorString(int code) { return "none"; }
""" + "".join(f"int {name}() {{ return 0; }}\n" for name in (
        "__cudaRegisterFatBinaryEnd", "__cudaRegisterFunction", "__cudaRegisterVar", "__cudaRegisterManagedVar", "__cudaInitModule",
        "__cudaPushCallConfiguration", "__cudaPopCallConfiguration", "cudaLaunchKernel", "cudaPeekAtLastError", "cudaGetLastError",
        "cudaGetSymbolAddress", "cudaDeviceReset", "cudaGetKernel", "cudaGetDriverEntryPointByVersion")))
    (folder / "versions").write_text("libcudart.so.13 { global: *; };")
    subprocess.run(["gcc", "-shared", "-fPIC", "-Wl,-soname,libcudart.so.13", "-Wl,--version-script=versions", "runtime.c", "-o", "libcudart.so.13"], cwd=folder, check=True)


# The constructor of the second is the user's.
OF_USER = "#include <cstdlib>\nstruct Made { Made() { setenv(\"TARSIA_TEST_MADE\", \"yes\", 1); } } made;\n__global__ void two(int* x) { *x = 2; }\n"


def test_gpus_are_readied_and_kernels_loaded_once_and_ahead(fresh):
    fake_driver(fresh.folder)
    fake_runtime(fresh.folder)
    fresh(f"""
import json, tarsia
with tarsia.record("host.pack"):
    tarsia.load_inline("int no_kernel() {{ return 1; }}")
with tarsia.record("ops.pack") as recording:
    tarsia.load_inline({KERNEL!r}, arch="sm_90").twice["float"]
    tarsia.load_inline({OF_USER!r}, arch="sm_90")
    tarsia.load_inline("__global__ void of_another_gpu(int* x) {{}}", arch="sm_100")
print(json.dumps(None))
""", "builder")
    program = f"""
import ctypes, json, os, tarsia
runtime = ctypes.CDLL("libcudart.so.13")
def counts():
    return [ctypes.c_int.in_dll(runtime, name).value for name in ("registered", "loaded", "gone")]
getenv = ctypes.CDLL(None).getenv
getenv.restype = ctypes.c_char_p
gpus = [tarsia.replay("host.pack")["gpus"], tarsia.replay("ops.pack", devices=[])["gpus"]]
told = [counts()]
gpus += [tarsia.replay("ops.pack")["gpus"], tarsia.replay("ops.pack", devices=[0])["gpus"]]
told += [counts(), getenv(b"TARSIA_TEST_MADE").decode()]
with tarsia.no_compile():
    first = tarsia.load_inline({KERNEL!r})
    assert first.kernels == ("one",)
    first.twice["float"]
    told.append(counts())
    second = tarsia.load_inline({KERNEL!r})
    told.append(counts())
    first.unload(), second.unload()
    user = tarsia.load_inline({OF_USER!r})
    told.append(counts())
print(json.dumps([gpus, told]))
"""
    gpus, told = fresh(program, "server", LD_PRELOAD=str(fresh.folder / "libcudart.so.13"), LD_LIBRARY_PATH=str(fresh.folder),
                       TARSIA_COMPILER="")
    assert gpus == [[], [], [0], [0]]
    ahead = [3, 3, 0]  # three modules for this GPU, of a kernel each
    assert told[:4] == [[0, 0, 0], ahead, "yes", ahead]
    assert told[4] == ahead  # a second library of the same module shares its mapping, as ever
    assert told[5][:2] == [3, 3]


def test_a_source_with_a_text_that_asks_for_the_time_is_told(own_cache):
    recording = tarsia.record(own_cache / "ops.pack").start()
    tarsia.load_inline("const char* when() { return __TIME__; }", name="clock")
    with pytest.warns(tarsia.CompileWarning, match=r"ops\.pack does not have all that the run used: clock: its text asks for the time") as told:
        report = recording.stop()
    assert told[0].filename == __file__
    assert report["modules"] == 0 and report["left_out"][0]["name"] == "clock"


@alone
def test_blocks_nest_and_each_notes_all(own_cache, monkeypatch):
    monkeypatch.chdir(own_cache)
    with tarsia.record("outer.pack") as outer:
        tarsia.load_inline("int a() { return 1; }")
        with tarsia.record("inner.pack") as inner:
            tarsia.load_inline("int b() { return 1; }")
        monkeypatch.chdir("/")
        tarsia.load_inline("int c() { return 1; }")
    assert (outer.report["modules"], inner.report["modules"]) == (3, 1)
    assert (own_cache / "outer.pack").stat().st_size == outer.report["bytes"]

    @tarsia.record(own_cache / "decorated.pack")
    def run(deeper):
        tarsia.load_inline("int a() { return 1; }")
        if deeper:
            run(False)

    run(True)
    assert tarsia.replay(own_cache / "decorated.pack", devices=[])["modules"] == 1


@alone
def test_a_block_that_fails_writes_nothing_and_one_that_is_left_does(own_cache):
    pack = own_cache / "ops.pack"
    with pytest.raises(ZeroDivisionError), tarsia.record(pack):
        tarsia.load_inline("int a() { return 1; }")
        1 / 0
    assert not pack.exists()
    for ending in (SystemExit, KeyboardInterrupt):
        with pytest.raises(ending), tarsia.record(pack):
            tarsia.load_inline("int a() { return 1; }")
            raise ending
        assert tarsia.replay(pack, devices=[])["modules"] == 1
        pack.unlink()
    recording = tarsia.record(pack)
    with pytest.raises(tarsia.Error, match=r"is not under way: start\(\) it first"):
        recording.stop()
    recording.start()
    recording.cancel()
    with pytest.raises(tarsia.Error, match=r"is not under way: start\(\) it first"):
        recording.add_archs(["sm_80"])
    assert not pack.exists()
    with pytest.raises(tarsia.Error, match=r"a pack cannot be written to .*nowhere/ops\.pack: .*make its folder"):
        recording = tarsia.record(own_cache / "nowhere/ops.pack")
        recording.start()
    with pytest.raises(tarsia.ArgumentTypeError, match="pass the path of the pack to write"):
        tarsia.record()


def test_a_forked_child_writes_nothing(own_cache):
    with tarsia.record(own_cache / "ops.pack") as recording:
        tarsia.load_inline("int parents() { return 1; }")
        child = os.fork()
        if child == 0:
            wrong = 1
            with contextlib.suppress(BaseException):
                tarsia.load_inline("int childs() { return 1; }")
                wrong = int(recording.stop()["written"] or (own_cache / "ops.pack").exists())
            os._exit(wrong)
        assert os.waitpid(child, 0)[1] == 0
    assert recording.report["modules"] == 1 and recording.report["written"]


@alone
def test_a_child_that_is_forked_after_a_replay_has_the_modules(own_cache):
    source = "int replayed_before_fork() { return 5; }"
    with tarsia.record(own_cache / "ops.pack"):
        tarsia.load_inline(source)
    shutil.rmtree(own_cache / "cache")
    tarsia.replay(own_cache / "ops.pack", devices=[])
    child = os.fork()
    if child == 0:
        wrong = 1
        with contextlib.suppress(BaseException), tarsia.no_compile():
            wrong = int(tarsia.load_inline(source).replayed_before_fork() != 5)
        os._exit(wrong)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("harm", ["cut", "damaged", "foreign version", "no pack", "too large", "missing", "folder"])
def test_a_pack_that_is_not_whole_is_refused_and_nothing_of_it_is_used(own_cache, harm):
    pack = own_cache / "ops.pack"
    source = f"int of_a_pack_with_harm_{harm.replace(' ', '_')}() {{ return 1; }}"
    with tarsia.record(pack):
        tarsia.load_inline(source)
    shutil.rmtree(own_cache / "cache")
    whole = pack.read_bytes()
    middle = len(whole) // 2
    if harm == "missing":
        pack.unlink()
    elif harm == "folder":
        pack.unlink()
        pack.mkdir()
    elif harm == "too large":
        with pack.open("r+b") as file:
            file.truncate((2 << 30) + 1)  # sparse
    else:
        pack.write_bytes({"cut": whole[:middle], "damaged": whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1:],
                          "foreign version": whole[:8] + b"\x09" + whole[9:], "no pack": b"hello"}[harm])
    with pytest.raises(tarsia.Error, match="ops\\.pack") as caught:
        tarsia.replay(pack, devices=[])
    if harm not in ("missing", "folder"):
        assert isinstance(caught.value, tarsia.LoadError)
        assert "copy it again, or make it again with this Tarsia" in str(caught.value)
    if harm == "foreign version":
        assert "its version is 9, and this Tarsia reads 1" in str(caught.value)
    with tarsia.no_compile(), pytest.raises(tarsia.CompileForbidden):
        tarsia.load_inline(source)


@alone
def test_a_pack_may_be_replaced_and_replayed_again(own_cache):
    pack, header = own_cache / "ops.pack", own_cache / "near.h"
    source = '#include "near.h"\nint replaced() { return NEAR; }'

    def load():
        return tarsia.load_inline(source, name="replaced", include_dirs=[own_cache])

    def record(n):
        header.write_text(f"#define NEAR {n}\n")
        with tarsia.record(pack):
            assert load().replaced() == n
        shutil.rmtree(own_cache / "cache")

    record(1)
    assert tarsia.replay(pack, devices=[])["known"] == 0
    assert tarsia.replay(pack, devices=[])["known"] == 1
    with tarsia.no_compile():
        assert load().replaced() == 1
        header.write_text("#define NEAR 2\n")
        with pytest.raises(tarsia.CompileForbidden, match=r"replaced \[[0-9a-f]{12}\] is not in the cache \(.*near\.h is not as it was when the "
                                                          r"pack's module was compiled\), nor in a pack that is replayed"):
            load()
    record(2)
    assert tarsia.replay(pack, devices=[])["known"] == 0
    with tarsia.no_compile():
        assert load().replaced() == 2
        header.write_text("#define NEAR 1\n")
        assert load().replaced() == 1


def test_headers_and_libraries_lie_elsewhere_on_the_server(fresh):
    program = """
import json, sys, tarsia
def load(place):
    return tarsia.load_inline('#include "near.h"\\n#include <sub/far.h>\\nint f() { return NEAR + FAR; }', include_dirs=[place], name="elsewhere")
def linked(place):
    return tarsia.load_inline('extern "C" int seven(); int h() { return seven(); }', libraries=["seven"], library_dirs=[place])
def alone(place):
    return tarsia.load_inline("int g() { return 3; }", include_dirs=[place])
"""
    record = program + "with tarsia.record('ops.pack') as r: [load('build/include'), alone('build/include'), linked('build/include')]\nprint(json.dumps(r.report['modules']))"
    replay = program + """
tarsia.replay('ops.pack', devices=[])
with tarsia.no_compile():
    done = [load('app/headers').f(), alone('app/headers').g(), alone('app').g(), linked('app/headers').h()]
    again = tarsia.record('again.pack')
    again.start()
    load('app/headers')
    again.stop()
    with open('app/headers/near.h', 'a') as file: file.write('#define FURTHER 1\\n')
    try:
        load('app/headers')
    except tarsia.CompileForbidden as error:
        done.append(str(error))
print(json.dumps(done))
"""
    for place in ("build/include", "app/headers"):
        folder = fresh.folder / place
        (folder / "sub").mkdir(parents=True)
        (folder / "near.h").write_text("#define NEAR 40\n")
        (folder / "sub/far.h").write_text("#define FAR 2\n")
    tarsia.compile('extern "C" int seven() { return 7; }', fresh.folder / "build/include/libseven.so", exports=["seven"], functions=[])
    shutil.copy(fresh.folder / "build/include/libseven.so", fresh.folder / "app/headers")
    assert fresh(record, "builder") == 3
    shutil.rmtree(fresh.folder / "build")
    *values, refused = fresh(replay, "server")
    assert values == [42, 3, 3, 7] and "app/headers/near.h is not as it was when the pack's module was compiled" in refused
    # What was found elsewhere is recorded anew, and found where it was recorded first.
    for place in ("build/include/sub", "app"):
        (fresh.folder / place).mkdir(parents=True, exist_ok=True)
    (fresh.folder / "build/include/near.h").write_text("#define NEAR 40\n")
    (fresh.folder / "build/include/sub/far.h").write_text("#define FAR 2\n")
    assert fresh(program + "tarsia.replay('again.pack', devices=[])\nwith tarsia.no_compile(): print(load('build/include').f())", "third") == 42


@alone
def test_a_pack_of_an_exported_cache_and_an_imported_recording(own_cache, monkeypatch):
    source = "int of_an_export() { return 6; }"
    tarsia.load_inline(source)
    subprocess.run([places.command(), "cache", "export", "all.pack"], cwd=own_cache, check=True, capture_output=True)
    with tarsia.record(own_cache / "ops.pack"):
        tarsia.load_inline(source)
    monkeypatch.setenv("TARSIA_CACHE_DIR", str(own_cache / "other"))
    done = subprocess.run([places.command(), "cache", "import", "ops.pack"], cwd=own_cache, check=True, capture_output=True, text=True)
    assert done.stdout == "1 modules came from ops.pack; 0 of them were there\n"
    with tarsia.no_compile():
        assert tarsia.load_inline(source).origin == "disk"
    monkeypatch.setenv("TARSIA_CACHE_DIR", str(own_cache / "third"))
    assert tarsia.replay(own_cache / "all.pack", devices=[])["modules"] == 1
    with tarsia.no_compile():
        assert tarsia.load_inline(source).of_an_export() == 6


@alone
def test_compiles_go_on_beside_replays_and_recordings(own_cache):
    with tarsia.record(own_cache / "ops.pack"):
        tarsia.load_inline("int beside() { return 1; }")
    errors = []

    def compile_some(n):
        try:
            for i in range(3):
                assert tarsia.load_inline(f"int beside_{n}_{i}() {{ return {i}; }}").functions == (f"beside_{n}_{i}",)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=compile_some, args=(n,)) for n in range(3)]
    with tarsia.record(own_cache / "all.pack") as recording:
        for thread in threads:
            thread.start()
        for _ in range(20):
            tarsia.replay(own_cache / "ops.pack", devices=[])
        for thread in threads:
            thread.join()
    assert errors == [] and recording.report["modules"] == 9


@alone
def test_a_pack_for_two_architectures(own_cache, monkeypatch):
    with tarsia.record(own_cache / "ops.pack") as recording:
        tarsia.load_inline(KERNEL, arch="sm_80").twice["float"]
        tarsia.load_inline("int host() { return 1; }")
        recording.add_archs(["sm_90", 80, "80"])
        with pytest.raises(tarsia.ArgumentValueError, match="architecture 'sm_x' is unknown"):
            recording.add_archs(["x"])
    of_one = recording.report["modules"]
    monkeypatch.setenv("TARSIA_CACHE_DIR", str(own_cache / "other"))
    tarsia.replay(own_cache / "ops.pack", devices=[])
    compiles = cache_counts()["compiles"]
    with tarsia.no_compile():
        for arch in ("sm_80", "sm_90"):
            lib = tarsia.load_inline(KERNEL, arch=arch)
            assert list(lib.cubins) == [arch]
            lib.twice["float"]
        with pytest.raises(tarsia.CompileForbidden, match=r"option arch: it was sm_\d0, and is sm_100"):
            tarsia.load_inline(KERNEL, arch="sm_100")
    assert of_one == 5 and cache_counts()["compiles"] == compiles == 0


@alone
def test_gpus_that_are_not_there_are_told(own_cache):
    with tarsia.record(own_cache / "ops.pack"):
        tarsia.load_inline("int on_no_gpu() { return 1; }")
    with pytest.raises(tarsia.CudaError):
        tarsia.replay(own_cache / "ops.pack", devices=[63])
    with pytest.raises(tarsia.ArgumentTypeError, match="devices"):
        tarsia.replay(own_cache / "ops.pack", devices="cuda:0")
    assert tarsia.replay(own_cache / "ops.pack")["gpus"] == []  # it has no device code
