"""Functions of the CUDA driver are found when they are first called."""

import os
import re
import subprocess
import sys
import textwrap

import places
import pytest

import tarsia

DECLARED = """
extern "C" int cuInit(unsigned);
extern "C" int cuDeviceGetCount(int*);
extern "C" int cuGetErrorName(int, const char**);
extern "C" int cuGetErrorString(int, const char**);
extern "C" int cuTakesMany(int, double, long, float, int, int, int, int, double, int, double*);
extern "C" int cuOfTomorrow(int);
"""
SOURCE = DECLARED + """
#include <string>
int initialize() { return cuInit(0); }
int count() { int n = -1; return cuDeviceGetCount(&n) ? -1 : n; }
std::string error_name(int error) { const char* text = nullptr; cuGetErrorName(error, &text); return text; }
std::string error_text(int error) { const char* text = nullptr; cuGetErrorString(error, &text); return text; }
double many() {
  double sum = 0;
  return cuTakesMany(1, 2.5, 3, 4.5f, 5, 6, 7, 8, 9.5, 10, &sum) ? -1 : sum;
}
int tomorrow() { return cuOfTomorrow(1); }
"""
FAKE = """
int cuInit(unsigned flags) { return 0; }
int cuDeviceGetCount(int* n) { *n = 3; return 0; }
int cuTakesMany(int a, double b, long c, float d, int e, int f, int g, int h, double i, int j, double* sum) {
  *sum = a + b + c + d + e + f + g + h + i + j;
  return 0;
}
"""


def run(code, *arguments, **environment):
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)], capture_output=True, text=True,
                          env={**os.environ, **environment})
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def fake(tmp_path_factory):
    """A folder with a driver that has some functions."""
    folder = tmp_path_factory.mktemp("driver")
    (folder / "driver.c").write_text(FAKE)
    subprocess.run(["gcc", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "driver.c", "-o", "libcuda.so.1"], cwd=folder, check=True)
    return folder


def has_driver():
    return any("libcuda.so.1" in line for line in subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True).stdout.splitlines())


@pytest.mark.skipif(has_driver(), reason="the machine has a driver")
def test_without_a_driver_a_module_loads_and_its_calls_say_that_there_is_no_device():
    lib = tarsia.load_inline(SOURCE)
    assert lib.initialize() == 100 and lib.count() == -1
    assert lib.error_name(100) == "CUDA_ERROR_NO_DEVICE" and "libcuda.so.1 is not found" in lib.error_text(100)
    assert lib.initialize() == 100


def test_a_driver_is_opened_by_the_first_call(fake):
    assert run("""
        import sys, tarsia
        lib = tarsia.load_inline(sys.argv[1])
        print("libcuda" in open("/proc/self/maps").read())
        print(lib.initialize(), lib.count(), lib.many(), lib.many(), lib.tomorrow())
    """, SOURCE, LD_LIBRARY_PATH=str(fake)) == "False\n0 3 56.5 56.5 500\n"


def test_lcuda_is_taken(fake):
    for option in ({"libraries": ["cuda"]}, {"cflags": ["-lcuda"]}):
        lib = tarsia.load_inline(DECLARED + f"int f() {{ return cuInit(0); }} // {option}", **option)
        assert lib.f() in (0, 100)


def test_a_library_that_is_named_by_its_path_comes_first(fake):
    lib = tarsia.load_inline(DECLARED + "int f() { int n = 0; cuDeviceGetCount(&n); return n; }", libraries=[fake / "libcuda.so.1"])
    assert lib.f() == 3


def test_static_libraries_may_call_the_driver(tmp_path):
    (tmp_path / "user.c").write_text("int cuInit(unsigned);\nint user(void) { return cuInit(0); }\n")
    subprocess.run("gcc -fPIC -c user.c && ar rc libuser.a user.o", shell=True, cwd=tmp_path, check=True)
    lib = tarsia.load_inline('extern "C" int user();\nint f() { return user(); }', libraries=[tmp_path / "libuser.a"])
    assert lib.f() in (0, 100)


def test_functions_of_the_source_that_look_like_the_drivers_are_its_own():
    assert tarsia.load_inline('extern "C" int cuMine() { return 5; }\nint f() { return cuMine(); }').f() == 5


def test_what_is_compiled_needs_no_driver_to_be_loaded(tmp_path):
    tarsia.compile(SOURCE, tmp_path / "a.so", libraries=["cuda"])
    needed = subprocess.run(["readelf", "-d", tmp_path / "a.so"], capture_output=True, text=True, check=True).stdout
    assert "libcuda" not in needed
    assert tarsia.load(tmp_path / "a.so").initialize() in (0, 100)


def test_a_child_of_a_process_that_uses_the_gpu_is_told_and_host_functions_go_on(tmp_path):
    """Over a driver whose functions all succeed and do nothing."""
    needed = re.findall(r'need\("(\w+)"', (places.REPO / "base/cuda/cuda_driver.cpp").read_text())
    assert len(needed) > 30
    (tmp_path / "driver.c").write_text("".join(f"int {name}() {{ return 0; }}\n" for name in needed if name != "cuDeviceGetCount") +
                                       "int cuDeviceGetCount(int* n) { *n = 1; return 0; }\n")
    subprocess.run(["gcc", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "driver.c", "-o", "libcuda.so.1"], cwd=tmp_path, check=True)
    told = run("""
        import os, sys, tarsia
        lib = tarsia.load_inline("__global__ void k() {}  int f() { return 6; }", arch="sm_90")
        def launch():
            try: lib.k[1, 1]()
            except tarsia.CudaError as error: print(lib.f(), error, flush=True)
        launch()
        if os.fork() == 0:
            launch()
            os._exit(0)
        os.wait()
        """, LD_LIBRARY_PATH=str(tmp_path))
    parent, child = told.splitlines()
    assert parent.startswith("6 ") and "forked" not in parent
    assert child.startswith("6 CUDA cannot be used in this process: it was forked")
