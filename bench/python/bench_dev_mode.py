"""Development mode: what an edit costs by default and with dev=True, the compiler running.

The sources: an op of about 1,000 lines, functions with <regex>, one with <random>, and ten kernels. The versions of each
differ in a number, and each is compiled once, by default and with dev=True in turn. Medians of all but the first, which
makes what later ones find in the cache.

    python bench/python/bench_dev_mode.py [--rounds 7]
"""

import argparse
import os
import statistics
import time

import report

import tarsia

PART = """
float smooth_INDEX(const float* x, long n, float alpha) {
  float sum = 0;
  for (long k = 0; k < n; ++k) {
    const float a = std::abs(x[k]) * alpha;
    if (a > INDEX.5f)
      sum += std::sqrt(a);
    else
      sum += a * a - VERSION.5f;
  }
  return sum / float(n);
}
void forward_INDEX(const float* from, float* to, long n, float alpha) {
  std::vector<Window> windows;
  for (long at = 0; at < n; at += 16) {
    const long end = std::min(at + 16, n);
    windows.push_back({at, end, smooth_INDEX(from + at, end - at, alpha)});
  }
  for (const Window& window : windows)
    for (long k = window.begin; k < window.end; ++k) to[k] += from[k] * window.weight;
}
"""
OP = (
    """
#include <tarsia/op.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace {
struct Window {
  long begin, end;
  float weight;
};
"""
    + "".join(PART.replace("INDEX", str(i)) for i in range(50))
    + """
void forward(tarsia::Context& c) {
  const float alpha = c.attribute<float>("alpha");
  const tarsia::Tensor x = c.input(0), y = c.output(0);
"""
    + "".join(f"  forward_{i}(x.data<float>(), y.data<float>(), x.numel(), alpha);\n" for i in range(50))
    + """}
}  // namespace
TARSIA_OP(bench_dev_mode).input("x").output("y").attribute("alpha", 1.0f).forward("cpu", forward);
"""
)
REGEX = """
#include <regex>
#include <string>
bool matches(const char* text) {
  static const std::regex pattern("([a-z]+)VERSION([0-9]*)");
  return std::regex_match(std::string(text), pattern);
}
std::string replaced(const char* text) {
  static const std::regex pattern("([a-z]+)VERSION");
  return std::regex_replace(std::string(text), pattern, "$1");
}
bool found(const char* text) {
  std::smatch match;
  const std::string all(text);
  return std::regex_search(all, match, std::regex("VERSIONx+"));
}
"""
RANDOM = """
#include <random>
double draw(int seed) {
  std::mt19937 engine(seed + VERSION);
  return std::normal_distribution<double>(0, 1)(engine);
}
"""
KERNEL = """
__global__ void multiply_INDEX(const float* a, const float* b, float* c, int n) {
  __shared__ float part[32][33];
  const int row = blockIdx.y * 32 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < n; ++k) {
    part[threadIdx.y][threadIdx.x] = a[row * n + k] * VERSION;
    __syncthreads();
    sum += part[threadIdx.y][threadIdx.x] * b[k * n + column] + __expf(sum) * sinf(sum);
    __syncthreads();
  }
  c[row * n + column] = sum + INDEX;
}
"""
SOURCES = {"op of 1,000 lines": OP, "<regex>": REGEX, "<random>": RANDOM}
KERNELS = {"ten kernels": "".join(KERNEL.replace("INDEX", str(i)) for i in range(10))}


def row(name, text, rounds, **options):
    times = {False: [], True: []}
    for version in range(rounds + 1):
        for dev, list_ in times.items():
            source = text.replace("VERSION", str(version + 1))
            begin = time.perf_counter()
            tarsia.load_inline(source, dev=dev, **options)
            list_.append((time.perf_counter() - begin) * 1e3)
    usual, ours = (statistics.median(list_[1:]) for list_ in times.values())
    return [name, f"{usual:.0f}", f"{ours:.0f}", usual / ours]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    report.print_header("bench_dev_mode.py: edits by default and with dev=True, ms to callable")
    with report.fresh_folder() as folder:
        os.environ["TARSIA_CACHE_DIR"] = folder
        rows = [row(name, text, arguments.rounds) for name, text in SOURCES.items()]
        try:
            rows += [row(name, text, arguments.rounds, arch="sm_90") for name, text in KERNELS.items()]
        except tarsia.NotFound as error:
            print(f"  kernels are left out: {error}")
        report.print_table(["", "default", "dev=True", "default / dev"], rows)


if __name__ == "__main__":
    main()
