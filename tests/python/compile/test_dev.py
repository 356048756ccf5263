"""dev=True and TARSIA_OPT=fast: code that compiles fast and does the same."""

import os
import random
import subprocess
import sys

import numpy as np
import places
import pytest

import tarsia

PROGRAM = """
#include <algorithm>
#include <map>
#include <random>
#include <regex>
#include <stdexcept>
#include <string>
#include <vector>
double draw(int seed) {
  std::mt19937 engine(seed);
  return std::normal_distribution<double>(0, 1)(engine);
}
std::string replaced(const char* text) { return std::regex_replace(std::string(text), std::regex("([a-z]+)([0-9]*)"), "$2$1"); }
bool found(const char* text) {
  std::smatch match;
  const std::string all(text);
  return std::regex_search(all, match, std::regex("(b+)c")) && match.str(1) == "bb";
}
long counted(const char* text) {
  std::map<char, std::vector<int>> places;
  for (int i = 0; text[i]; ++i) places[text[i]].push_back(i);
  long most = 0;
  for (const auto& [letter, all] : places) most = std::max(most, long(all.size()));
  try {
    if (most > 3) throw std::runtime_error("many");
  } catch (const std::exception& error) {
    return -most;
  }
  return most;
}
void axpy(float a, const float* x, float* y, int n) { for (int i = 0; i < n; ++i) y[i] += a * x[i]; }
"""


def origin_in_process(source, tmp_path, *options, **environment):
    script = f"import tarsia; print(tarsia.load_inline({source!r}{''.join(', ' + one for one in options)}).origin)"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(places.PACKAGE.parent), os.environ.get("PYTHONPATH", "")]),
           "TARSIA_CACHE_DIR": str(tmp_path / "cache"), **environment}
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=env, timeout=120)


@pytest.mark.parametrize("options", [{}, {"debug": True}, {"lineinfo": True}, {"fast_math": True}, {"march": "x86-64"}, {"openmp": True}],
                         ids=lambda options: "".join(options) or "alone")
def test_the_code_does_the_same(options):
    ours, usual = (tarsia.load_inline(PROGRAM, dev=dev, **options) for dev in (True, False))
    assert ours.draw(3) == pytest.approx(usual.draw(3))
    assert ours.replaced("abc12 x") == "12abc x" and ours.found("abbc") and not ours.found("abb")
    assert ours.counted("hello, all") == -4 and ours.counted("abc") == 1
    y = np.ones(100, np.float32)
    ours.axpy(2.0, np.ones(100, np.float32), y, 100)
    assert (y == 3).all()


def test_kernels_compile_too():
    source = """
    __global__ void scale(float* x, float a, int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      for (int k = 0; k < n; ++k)
        if (i < n) x[i] = a * x[i] + sinf(x[k]);
    }
    void run(float* x, int n) { scale<<<(n + 255) / 256, 256>>>(x, 2, n); }
    """ + f"// {random.getrandbits(64):x}\n"
    for options in ({}, {"debug": True}, {"lineinfo": True}, {"fast_math": True}):
        code = [tarsia.load_inline(source, arch="sm_90", dev=dev, **options).cubins["sm_90"] for dev in (True, False)]
        assert all(len(one) > 0 for one in code)
        assert (code[0] == code[1]) == ("debug" in options)  # which says by itself that nothing is optimised


def test_shipped_preludes_stay_valid(tmp_path):
    source = "#include <tarsia/op.h>\n#include <vector>\nint f() { return 1; }"
    done = origin_in_process(source, tmp_path, "dev=True", TARSIA_LOG="debug")
    assert done.stdout == "compiled\n" and "prelude shipped" in done.stderr, done.stderr


def test_the_environment_is_the_default_and_part_of_the_key(tmp_path):
    source = "int f() { return 1; }"

    def origin(*options, **environment):
        done = origin_in_process(source, tmp_path, *options, **environment)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    assert origin(TARSIA_OPT="fast") == "compiled"
    assert origin() == "compiled"
    assert origin("dev=True") == "disk"
    assert origin("opt=3") == "compiled"
    assert origin("opt=3", TARSIA_OPT="fast") == "disk"  # what is asked for counts
    assert origin(TARSIA_OPT="") == "disk"
    refused = origin_in_process(source, tmp_path, TARSIA_OPT="slow")
    assert refused.returncode == 1 and "TARSIA_OPT is 'slow': it may be 'fast'" in refused.stderr


def test_a_level_and_dev_contradict_each_other():
    with pytest.raises(tarsia.ArgumentValueError, match="dev and opt=3 contradict each other"):
        tarsia.load_inline("int f() { return 1; }", dev=True, opt=3)
    with pytest.raises(tarsia.ArgumentValueError, match="dev and opt=3 contradict each other"):
        tarsia.load_inline("int f() { return 1; }", dev=True, cflags=["-O3"])
