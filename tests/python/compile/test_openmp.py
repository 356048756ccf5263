"""OpenMP in host code: on by openmp=True or by a pragma, with the libomp that Tarsia brings along."""

import os
import re
import subprocess
import sys
import textwrap

import numpy as np
import places
import pytest

import tarsia

SUM = """
double total(const double* x, long n) {
  double sum = 0;
#pragma omp parallel for reduction(+ : sum) num_threads(4)
  for (long i = 0; i < n; ++i) sum += x[i];
  return sum;
}
int threads() {
  int n = 0;
#pragma omp parallel num_threads(3)
#pragma omp atomic
  ++n;
  return n;
}
"""


def needed_by(source, tmp_path, **options):
    path = tmp_path / "lib.so"
    tarsia.compile(source, path, **options)
    listed = subprocess.run(["readelf", "-d", path], capture_output=True, text=True, check=True).stdout
    return [line.partition("[")[2].rstrip("]") for line in listed.splitlines() if "(NEEDED)" in line]


def run(script, tmp_path, *arguments, **environment):
    path = tmp_path / "script.py"
    path.write_text(textwrap.dedent(script))
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(places.PACKAGE.parent), os.environ.get("PYTHONPATH", "")]), **environment}
    return subprocess.run([sys.executable, path, *arguments], capture_output=True, text=True, env=env, timeout=120)


@pytest.mark.parametrize("suffix", ["cc", "cu", "c"])
def test_a_pragma_alone_turns_it_on(suffix):
    lib = tarsia.load_inline({f"a.{suffix}": SUM})
    x = np.arange(100000, dtype=np.float64)
    assert lib.total(x, x.size) == x.sum() and lib.threads() == 3 and not lib.warnings


def test_headers_of_the_source_and_on_disk_turn_it_on(tmp_path):
    call = '#include <vector>\n#include "part.h"\nint f() { return threads(); }'
    part = SUM.replace("int threads", "inline int threads").replace("double total", "inline double total")
    assert tarsia.load_inline(call, headers={"part.h": part}).f() == 3
    (tmp_path / "part.h").write_text(part)
    lib = tarsia.load_inline(call, include_dirs=[tmp_path])
    assert lib.f() == 3 and not lib.warnings
    assert tarsia.load_inline({"a.cu": call + "\n__global__ void k() {}"}, include_dirs=[tmp_path]).f() == 3


def test_a_pragma_of_a_macro_turns_it_on():
    source = """
    #define PARALLEL _Pragma("omp parallel num_threads(2)")
    int threads() {
      int n = 0;
      PARALLEL {
        __atomic_add_fetch(&n, 1, __ATOMIC_RELAXED);
      }
      return n;
    }"""
    assert tarsia.load_inline(source).threads() == 2


def test_comments_and_strings_turn_nothing_on():
    source = """
    // #pragma omp parallel
    /* #pragma omp parallel */
    const char* text() { return "#pragma omp parallel"; }
    int on() {
    #ifdef _OPENMP
      return 1;
    #else
      return 0;
    #endif
    }"""
    assert tarsia.load_inline(source).on() == 0
    assert tarsia.load_inline(source, openmp=True).on() == 1


@pytest.mark.parametrize("includes", ["", "#include <tarsia/op.h>\n#include <vector>\n#include <cmath>\n", "#include <regex>\n"])
@pytest.mark.parametrize("suffix", ["cc", "cu"])
def test_preludes_and_the_macro(includes, suffix):
    source = includes + "#include <omp.h>\nlong version() { return _OPENMP; }\nint most() { return omp_get_max_threads(); }\n"
    lib = tarsia.load_inline({f"a.{suffix}": source + "__global__ void k() {}" if suffix == "cu" else source}, openmp=True)
    assert lib.version() == 202011 and lib.most() >= 1


def test_the_environment_says_how_many(tmp_path):
    script = '''
        import tarsia
        lib = tarsia.load_inline("""
        #include <omp.h>
        int threads() {
          int n = 0;
        #pragma omp parallel
        #pragma omp single
          n = omp_get_num_threads();
          return n;
        }""")
        print(lib.threads())
    '''
    for n in (1, 2, 5):
        done = run(script, tmp_path, OMP_NUM_THREADS=str(n))
        assert (done.stdout, done.returncode) == (f"{n}\n", 0), done.stderr


def test_tasks_critical_sections_and_locks():
    source = """
    #include <omp.h>
    #include <vector>
    long fib(long n) {
      if (n < 2) return n;
      long a, b;
    #pragma omp task shared(a)
      a = fib(n - 1);
    #pragma omp task shared(b)
      b = fib(n - 2);
    #pragma omp taskwait
      return a + b;
    }
    long tasks(long n) {
      long result = 0;
    #pragma omp parallel num_threads(4)
    #pragma omp single
      result = fib(n);
      return result;
    }
    int critical() {
      std::vector<int> all;
    #pragma omp parallel for num_threads(4) schedule(dynamic)
      for (int i = 0; i < 1000; ++i) {
    #pragma omp critical
        all.push_back(i);
      }
      return int(all.size());
    }
    int locked() {
      omp_lock_t lock;
      omp_init_lock(&lock);
      int n = 0;
    #pragma omp parallel num_threads(4)
      for (int i = 0; i < 1000; ++i) {
        omp_set_lock(&lock);
        ++n;
        omp_unset_lock(&lock);
      }
      omp_destroy_lock(&lock);
      return n;
    }
    """
    lib = tarsia.load_inline(source)
    assert (lib.tasks(18), lib.critical(), lib.locked()) == (2584, 1000, 4000)


def test_exceptions_stay_within_a_region():
    source = """
    #include <stdexcept>
    int caught() {
      int n = 0;
    #pragma omp parallel for num_threads(4) reduction(+ : n)
      for (int i = 0; i < 100; ++i) {
        try {
          if (i % 2) throw std::runtime_error("odd");
        } catch (const std::exception&) {
          ++n;
        }
      }
      return n;
    }"""
    assert tarsia.load_inline(source).caught() == 50


def test_simd_needs_no_library(tmp_path):
    source = """
    void twice(float* x, int n) {
    #pragma omp simd
      for (int i = 0; i < n; ++i) x[i] *= 2;
    }"""
    assert not [name for name in needed_by(source, tmp_path) if "omp" in name]
    assert [name for name in needed_by(SUM, tmp_path) if "omp" in name] == ["libomp.so.5"]
    assert not [name for name in needed_by("int f() { return 1; }", tmp_path, openmp=True) if "omp" in name]


def test_an_op_runs_on_several_threads():
    source = """
    #include <tarsia/op.h>
    #include <omp.h>
    void which(tarsia::Context& c) {
      const tarsia::Tensor x = c.input(0), y = c.output(0);
      const float* from = x.data<float>();
      float* to = y.data<float>();
    #pragma omp parallel for num_threads(3) schedule(static)
      for (long i = 0; i < x.numel(); ++i) to[i] = from[i] + omp_get_thread_num();
    }
    TARSIA_OP(omp_which).input("x").output("y").forward("cpu", which);
    """
    lib = tarsia.load_inline(source)  # keeps the op
    assert not lib.warnings
    np.testing.assert_array_equal(tarsia.ops.omp_which(np.zeros(9, np.float32)), [0, 0, 0, 1, 1, 1, 2, 2, 2])


def test_a_second_process_takes_it_from_the_cache(tmp_path):
    script = f'''
        import numpy as np, tarsia
        lib = tarsia.load_inline({SUM!r})
        x = np.ones(1000)
        print(lib.origin, lib.total(x, x.size), lib.threads())
    '''
    cache = str(tmp_path / "cache")
    for origin in ("compiled", "disk"):
        done = run(script, tmp_path, TARSIA_CACHE_DIR=cache)
        assert (done.stdout, done.returncode) == (f"{origin} 1000.0 3\n", 0), done.stderr


def test_an_exported_library_loads_in_another_process(tmp_path):
    tarsia.compile(SUM, tmp_path / "omp.so")
    done = run("import sys, tarsia; print(tarsia.load(sys.argv[1]).threads())", tmp_path, str(tmp_path / "omp.so"))
    assert (done.stdout, done.returncode) == ("3\n", 0), done.stderr


def test_the_command_runs_it(tmp_path):
    (tmp_path / "a.cc").write_text("#include <cstdio>\n#include <omp.h>\n" + SUM + 'int main() { std::printf("%d\\n", threads()); }\n')
    for flag in ([], ["-fopenmp"], ["--fopenmp"]):
        done = subprocess.run([places.command(), "run", *flag, "a.cc"], cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert (done.stdout, done.returncode) == ("3\n", 0), done.stderr


@pytest.mark.parametrize("at_fork", ["", "FALSE"])
def test_a_forked_child_runs_regions_and_ends(tmp_path, at_fork):
    # In a process of its own: a fork of this one would leave children the locks of other packages' threads.
    script = f"""
import multiprocessing, os, sys
import tarsia

def threads_of(function):
    return function()

lib = tarsia.load_inline({SUM!r})
assert lib.threads() == 3  # libomp's threads live
with multiprocessing.get_context("fork").Pool(2) as pool:
    assert pool.map_async(threads_of, [lib.threads] * 4).get(timeout=60) == [3] * 4
child = os.fork()
if child == 0:
    os._exit(lib.threads())
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
assert lib.threads() == 3
print("done")
"""
    # joblib sets it, and libomp would not start anew in the child.
    done = run(script + "assert os.environ['KMP_INIT_AT_FORK'] == sys.argv[1]\n", tmp_path, at_fork, KMP_INIT_AT_FORK=at_fork)
    assert done.stdout == "done\n", done.stderr


def test_a_region_outlives_the_library_that_started_it():
    for i in range(3):
        lib = tarsia.load_inline(SUM + f"// {i}\n")
        assert lib.threads() == 3
        del lib


def test_threads_of_python_start_regions_of_their_own():
    from concurrent.futures import ThreadPoolExecutor

    lib = tarsia.load_inline(SUM)
    x = np.ones(10000)
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda _: lib.total(x, x.size), range(50))) == [10000.0] * 50


def test_without_libomp_the_error_says_what_to_install(tmp_path, build_library):
    # No machine has a libomp of this name.
    runtime = tmp_path / "libomp.so.99"
    subprocess.run(["gcc", "-shared", "-fPIC", "-Wl,-soname,libomp.so.99", "-o", runtime, "-xc", "-"], input="void omp_unknown(void) {}",
                   text=True, check=True)
    library = build_library("""
        #include <tarsia/op.h>
        extern "C" void omp_unknown();
        int f() { omp_unknown(); return 1; }
        TARSIA_EXPORT(f);
    """, str(runtime))
    done = run("""
        import sys, tarsia
        try:
            tarsia.load(sys.argv[1])
        except tarsia.LoadError as error:
            print(error)
    """, tmp_path, str(library))
    assert re.search(r"needs libomp\.so\.99, OpenMP's .* not found: .*apt install libomp5", done.stdout), done.stdout + done.stderr
    done = run("import ctypes, sys, tarsia; ctypes.CDLL(sys.argv[1]); print(tarsia.load(sys.argv[2]).f())", tmp_path, str(runtime), str(library))
    assert (done.stdout, done.returncode) == ("1\n", 0), done.stderr


def test_another_copy_of_the_runtime_is_named(tmp_path):
    other = tmp_path / "libiomp5.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-Wl,-soname,libiomp5.so", "-o", other, "-xc", "/dev/null"], check=True)
    script = f'''
        import ctypes, tarsia
        ctypes.CDLL({str(other)!r})
        try:
            print(tarsia.load_inline({SUM!r}).threads())
        except tarsia.LoadError as error:
            print(error)
    '''
    done = run(script, tmp_path)
    assert "libiomp5.so" in done.stdout and "KMP_DUPLICATE_LIB_OK" in done.stdout, done.stdout + done.stderr
    assert run(script, tmp_path, KMP_DUPLICATE_LIB_OK="TRUE").stdout == "3\n"


def test_it_is_off_for_headers_too(tmp_path):
    """Also where a header of the same text was compiled with it before: the two share no precompiled header."""
    (tmp_path / "team.h").write_text("""#pragma once
inline int members() {
  int n = 0;
#pragma omp parallel num_threads(3) reduction(+ : n)
  n += 1;
  return n;
}
""")
    source = '#include "team.h"\nint count() { return members(); }'
    for options, expected in (({}, 3), ({"cflags": ["-fno-openmp"]}, 1), ({}, 3)):
        assert tarsia.load_inline(source, include_dirs=[tmp_path], **options).count() == expected
