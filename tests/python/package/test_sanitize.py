"""tarsia sanitize, with a stand-in for compute-sanitizer that prints what the real one printed.

The text of memcheck is recorded: docs/acceptance/compute-sanitizer.txt. Those of the other tools are in the form that
NVIDIA's manual of version 2025 shows. tests/gpu/test_sanitize.py runs the real one.
"""

import json
import os
import subprocess
import sys

import places
import pytest

import tarsia

RECORDED = "\n".join(line.strip() for line in (places.REPO / "docs/acceptance/compute-sanitizer.txt").read_text().splitlines()
                     if line.strip().startswith("=========")) + "\n"
CLEAN = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"
RACE = """\
========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at total(int *, int *)+0x90 in shift.cu:3
=========     and Read access at total(int *, int *)+0x100 in shift.cu:5 [508 hazards]
=========
========= Warning: (Warp Level Programming) Potential RAW hazard detected at __shared__ 0x8c in block (0,0,0) :
=========     Write Thread (35,0,0) at total(int *, int *)+0x90 in shift.cu:3
=========     Read Thread (32,0,0) at total(int *, int *)+0x120 in shift.cu:5
=========     Current Value : 35
=========
========= RACECHECK SUMMARY: 2 hazards displayed (1 error, 1 warning)
"""
INIT = """\
========= COMPUTE-SANITIZER
========= Uninitialized __global__ memory read of size 4 bytes
=========     at shift(const float *, float *, int)+0x70 in shift.cu:5
=========     by thread (31,0,0) in block (1,0,0)
=========     Address 0x7f3c7ec000fc
=========
========= Uninitialized __global__ memory read of size 4 bytes
=========     at shift(const float *, float *, int)+0x70 in shift.cu:5
=========     by thread (30,0,0) in block (1,0,0)
=========     Address 0x7f3c7ec000f8
=========
========= ERROR SUMMARY: 769 errors
========= ERROR SUMMARY: 669 errors were not printed. Use --print-limit option to adjust the number of printed errors
"""
SYNC = """\
========= COMPUTE-SANITIZER
========= Barrier error detected. Divergent thread(s) in block.
=========     at [clone shift(const float *, float *, int)] outlineSync()+0x11f0 in shift.cu:2
=========     by thread (32,0,0) in block (0,0,0)
=========         Device Frame: shift(const float *, float *, int)+0xe40 in shift.cu:5
=========
========= Program hit cudaErrorLaunchFailure (error 719) due to "unspecified launch failure" on CUDA API call to cudaDeviceSynchronize.
=========     Saved host backtrace up to driver entry point at error
=========         Host Frame:  [0x1fe264] in libcuda.so.1
=========         Host Frame: cudaDeviceSynchronize [0x446eb] in libcudart.so.13
=========         Host Frame: run_all(int) [0xc317] in library.so
=========         Host Frame: main [0xc4] in library.so
=========
========= ERROR SUMMARY: 2 errors
"""
NO_GPU = "========= COMPUTE-SANITIZER\n========= Target application terminated before first instrumented API call\n"

PROGRAM = r"""
__device__ float shifted(const float* x, int i) { return x[i + 1]; }
__global__ void shift(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = shifted(x, i + (i == n - 1 ? 1 << 28 : 0));
}
#include <cstdio>
int main(int argc, char** argv) {
  std::printf("%s has %d\n", argv[0], argc);
  return argc > 1 && argv[1][0] == 'f' ? 3 : 0;
}
"""

# It runs the program, and writes the text of the tool, with the paths of kept copies as the real one does with
# --strip-paths no.
STAND_IN = """#!{python}
import glob, json, os, subprocess, sys
words = sys.argv[1:]
options = {{}}
while words[0].startswith("--"):
    options[words[0]] = words[1]
    del words[:2]
assert set(options) == {{"--tool", "--log-file", "--strip-paths", "--print-limit", "--launch-timeout"}}, options
assert os.environ["TARSIA_LINEINFO"] == "1"
code = subprocess.run(words).returncode
text = json.load(open({texts!r}))[options["--tool"]]
for copy in glob.glob(os.environ.get("TARSIA_CACHE_DIR", "?") + "/1/source/*/*"):
    text = text.replace(" in " + os.path.basename(copy) + ":", " in " + copy + ":")
open(options["--log-file"], "w").write(text)
sys.exit(code)
"""


@pytest.fixture
def sanitize(tmp_path):
    """Runs the command with texts of tools: memcheck=…"""
    def run(*words, with_it=True, stdin=None, **texts):
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        (tmp_path / "texts.json").write_text(json.dumps(texts))
        program = folder / "compute-sanitizer"
        program.write_text(STAND_IN.format(python=sys.executable, texts=str(tmp_path / "texts.json")))
        program.chmod(0o755)
        env = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}" if with_it else "/usr/bin:/bin",
               "TARSIA_CACHE_DIR": str(tmp_path / "cache"), "TARSIA_COMMAND_PYTHON": sys.executable,
               "PYTHONPATH": str(places.PACKAGE.parent)}
        for name in ("TARSIA_CUDA_HOME", "CUDA_HOME", "CUDA_PATH"):
            if not with_it:
                env.pop(name, None)
        return subprocess.run([places.command(), "sanitize", *map(str, words)], cwd=tmp_path, env=env, capture_output=True,
                              text=True, timeout=300, input=stdin)

    (tmp_path / "shift.cu").write_text(PROGRAM)
    return run


@pytest.fixture(autouse=True)
def cuda():
    if not tarsia.doctor()["works"]["cuda"]:
        pytest.skip("CUDA code does not compile on this machine: see `tarsia doctor`")


def test_findings_are_diagnostics(sanitize):
    done = sanitize("shift.cu", "one", "two", memcheck=RECORDED)
    assert done.returncode == 1 and done.stdout == "shift.cu has 3\n", done.stderr
    lines = done.stderr.splitlines()
    assert lines == [
        "shift.cu:2: error: Invalid __global__ read of size 4 bytes, in shifted(const float *, int)",
        "    2 | __device__ float shifted(const float* x, int i) { return x[i + 1]; }",
        "shift.cu:2: note: Access to 0x7fcf80801000 is out of bounds and is 499,125,505 bytes after the nearest allocation at "
        "0x7fcf62c00100 of size 512 bytes",
        "shift.cu:5: note: called from shift(const float *, float *, int)",
        "    5 |   if (i < n) y[i] = shifted(x, i + (i == n - 1 ? 1 << 28 : 0));",
        "shift.cu:2: note: by thread (255,0,0) in block (3,0,0)",
        "oob.py:20: note: launched by <module>",
        "tarsia: memcheck found 3 errors in 1 place of shift.cu"]


def test_nothing_found_is_success(sanitize):
    done = sanitize("shift.cu", memcheck=CLEAN)
    assert (done.returncode, done.stderr) == (0, "tarsia: memcheck found nothing in shift.cu\n")


def test_races_name_both_accesses(sanitize):
    done = sanitize("--tool", "racecheck", "shift.cu", racecheck=RACE)
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "shift.cu:3: error: Race reported between Write access, in total(int *, int *)",
        "    3 | __global__ void shift(const float* x, float* y, int n) {",
        "shift.cu:5: note: and Read access [508 hazards], in total(int *, int *)",
        "    5 |   if (i < n) y[i] = shifted(x, i + (i == n - 1 ? 1 << 28 : 0));",
        "shift.cu:3: warning: (Warp Level Programming) Potential RAW hazard detected at __shared__ 0x8c in block (0,0,0), in "
        "total(int *, int *)",
        "    3 | __global__ void shift(const float* x, float* y, int n) {",
        "shift.cu:3: note: Current Value : 35",
        "shift.cu:3: note: Write Thread (35,0,0), in total(int *, int *)",
        "    3 | __global__ void shift(const float* x, float* y, int n) {",
        "shift.cu:5: note: Read Thread (32,0,0), in total(int *, int *)",
        "    5 |   if (i < n) y[i] = shifted(x, i + (i == n - 1 ? 1 << 28 : 0));",
        "tarsia: racecheck found 2 hazards in 2 places of shift.cu"]


def test_all_runs_every_tool_and_counts_what_threads_have_in_common(sanitize):
    done = sanitize("--all", "-O3", "shift.cu", "one", memcheck=CLEAN, racecheck=RACE, initcheck=INIT, synccheck=SYNC)
    assert done.returncode == 1 and done.stdout == "shift.cu has 2\n" * 4
    lines = done.stderr.splitlines()
    assert "tarsia: memcheck found nothing in shift.cu" in lines and "tarsia: racecheck found 2 hazards in 2 places of shift.cu" in lines
    assert "shift.cu:5: error: Uninitialized __global__ memory read of size 4 bytes, in shift(const float *, float *, int)" in lines
    assert "shift.cu:5: note: by thread (31,0,0) in block (1,0,0) and 1 more" in lines
    assert "tarsia: initcheck found 769 errors in 1 place of shift.cu" in lines
    assert ("shift.cu:2: error: Barrier error detected. Divergent thread(s) in block, in [clone shift(const float *, float *, int)] "
            "outlineSync()") in lines
    assert ('tarsia: error: Program hit cudaErrorLaunchFailure (error 719) due to "unspecified launch failure" on CUDA API call to '
            "cudaDeviceSynchronize, in run_all(int)") in lines
    assert "tarsia: synccheck found 2 errors in 2 places of shift.cu" in lines


SCRIPT = r"""import sys
import tarsia
lib = tarsia.load_inline(r'''
__device__ float shifted(const float* x, int i) { return x[i + 1]; }
__global__ void shift(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = shifted(x, i + (i == n - 1 ? 1 << 28 : 0));
}
''')
print(sys.argv[1:])
"""


def test_a_script_is_run_and_its_literal_named(sanitize, tmp_path):
    (tmp_path / "oob.py").write_text(SCRIPT)
    done = sanitize("oob.py", "-O3", "shift", memcheck=RECORDED.replace("shift.cu:", "source:"))
    assert done.returncode == 1 and done.stdout == "['-O3', 'shift']\n", done.stderr
    lines = done.stderr.splitlines()
    assert lines[:2] == ["source:2 (oob.py:4): error: Invalid __global__ read of size 4 bytes, in shifted(const float *, int)",
                         "    2 | __device__ float shifted(const float* x, int i) { return x[i + 1]; }"]
    assert "source:5 (oob.py:7): note: called from shift(const float *, float *, int)" in lines
    assert "tarsia: memcheck found 3 errors in 1 place of oob.py" == lines[-1]
    done = sanitize("-O3", "oob.py", memcheck=CLEAN)
    assert done.returncode == 2 and "-O3 is for sources: a script has its own options" in done.stderr


def test_findings_as_json(sanitize):
    done = sanitize("--json", "shift.cu", memcheck=RECORDED)
    (report,) = json.loads(done.stdout)
    (finding,) = report["findings"]
    assert done.returncode == 1 and (report["tool"], report["errors"]) == ("memcheck", 3) and "shift.cu has 1" in done.stderr
    assert (finding["severity"], finding["file"], finding["line"], finding["function"]) == (
        "error", "shift.cu", 2, "shifted(const float *, int)")
    assert finding["thread"] == "thread (255,0,0) in block (3,0,0)" and finding["launch"]["line"] == 20
    assert finding["notes"] == [{"text": "called from", "file": "shift.cu", "line": 5, "origin": "", "function": "shift(const float *, float *, int)"}]
    assert json.loads(sanitize("--json", "shift.cu", memcheck=CLEAN).stdout) == [{"tool": "memcheck", "errors": 0, "findings": []}]


def test_what_stands_in_the_way_is_said(sanitize, tmp_path):
    if not os.path.exists("/usr/local/cuda/bin/compute-sanitizer"):
        done = sanitize("shift.cu", with_it=False)
        assert done.returncode == 1 and "there is no compute-sanitizer on PATH" in done.stderr and "set CUDA_HOME" in done.stderr
    done = sanitize("--all", "shift.cu", memcheck=NO_GPU)
    assert done.returncode == 1 and done.stdout == "shift.cu has 1\n"
    assert ("did not check shift.cu: Target application terminated before first instrumented API call (the program called nothing of "
            "CUDA, or there is no GPU") in done.stderr
    assert "did not check shift.cu: it gave no summary" in sanitize("shift.cu", memcheck="").stderr
    done = sanitize("shift.cu", "f", memcheck=CLEAN)
    assert done.returncode == 1 and "shift.cu ended with the exit code 3" in done.stderr
    (tmp_path / "relu.cu").write_text("__global__ void relu(float* x) { x[0] = 0; }")
    done = sanitize("relu.cu")
    assert done.returncode == 2 and "relu.cu has no main to run: give a program, or a Python script" in done.stderr
    (tmp_path / "wrong.cu").write_text("int main() {\n  return nowhere;\n}\n")
    done = sanitize("wrong.cu")
    assert done.returncode == 1 and "wrong.cu:2:10: error: use of undeclared identifier 'nowhere'" in done.stderr
    assert "cannot read 'missing.cu'" in sanitize("missing.cu").stderr
    assert sanitize("-", stdin="int main() { }").returncode == 2
    done = sanitize("--tool", "leakcheck", "shift.cu")
    assert done.returncode == 2 and "memcheck,racecheck,initcheck,synccheck" in done.stderr.replace(" ", "")
    assert "FILE [ARGUMENTS...]" in sanitize("--help").stdout


def test_lineinfo_in_the_environment(tmp_path):
    done = subprocess.run([places.command(), "compile", "-", "-o", tmp_path / "a.so"], env={**os.environ, "TARSIA_LINEINFO": "yes"},
                          input="int f() { return 1; }", capture_output=True, text=True, timeout=100)
    assert done.returncode == 2 and "the environment's TARSIA_LINEINFO is 'yes': it may be '1' or '0'" in done.stderr


def test_older_versions_write_the_same_in_other_words(sanitize):
    text = """\
========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at 0x120 in shift.cu:5:shift(const float *, float *, int)
=========     by thread (3,0,0) in block (4,0,0)
=========     Address 0x7f00 is misaligned
=========     Device Frame:shift.cu:5:shift(const float *, float *, int) [0x120]
=========     Saved host backtrace up to driver entry point at kernel launch time
=========     Host Frame: [0x32e990]
=========                in /lib/x86_64-linux-gnu/libcuda.so.1
=========     Host Frame:main [0x1754]
=========                in /home/a/program
=========
========= ERROR SUMMARY: 1 error
"""
    lines = sanitize("shift.cu", memcheck=text).stderr.splitlines()
    assert lines[0] == "shift.cu:5: error: Invalid __global__ write of size 4 bytes, in shift(const float *, float *, int)"
    assert "shift.cu:5: note: called from shift(const float *, float *, int)" in lines
    assert "shift.cu:5: note: launched by main" in lines and lines[-1] == "tarsia: memcheck found 1 error in 1 place of shift.cu"
