"""Ops for graphs on GPUs, and branches of a graph that show that they run at the same time."""

import pytest

import tarsia

torch = pytest.importorskip("torch")

SOURCE = r"""
#include <tarsia/elementwise.h>
#include <tarsia/op.h>
struct Twice { template <class T> TARSIA_HOST_DEVICE T operator()(T x) const { return x + x; } };
struct TwiceGradient { template <class T> TARSIA_HOST_DEVICE T operator()(T dy, T, T) const { return dy + dy; } };
TARSIA_ELEMENTWISE(gg_twice, Twice, TwiceGradient);
struct Product { template <class T> TARSIA_HOST_DEVICE T operator()(T a, T b) const { return a * b; } };
struct ProductA { template <class T> TARSIA_HOST_DEVICE T operator()(T dy, T, T b, T) const { return dy * b; } };
struct ProductB { template <class T> TARSIA_HOST_DEVICE T operator()(T dy, T a, T, T) const { return dy * a; } };
TARSIA_ELEMENTWISE(gg_product, Product, ProductA, ProductB);

// A slow op: branches that overlap take less time than one after the other.
__global__ void gg_slow_kernel(const float* x, float* y, long n, long cycles) {
  const long long begin = clock64();
  while (clock64() - begin < cycles) {}
  TARSIA_GRID_LOOP(i, n) y[i] = x[i] + 1;
}
TARSIA_OP(gg_slow).attribute("cycles", int64_t(0)).forward("gpu", [](tarsia::Context& c) {
  gg_slow_kernel<<<1, 256, 0, c.stream()>>>(c.input(0).data<const float>(), c.output(0).data<float>(), c.output(0).numel(),
                                            c.attribute<int64_t>("cycles"));
}).forward("cpu", [](tarsia::Context& c) {
  for (int64_t i = 0; i < c.output(0).numel(); ++i) c.output(0).data<float>()[i] = c.input(0).data<const float>()[i] + 1;
});
// Sets its flag and waits for the other's, ten seconds at most. Two of them give x + 1 if they run at the same time, and one
// gives x if they do not. The flags are pinned memory of the CPU.
__global__ void gg_meet_kernel(const float* x, float* y, long n, long mine, long other) {
  *(volatile int*)mine = 1;
  __threadfence_system();
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  while (!*(const volatile int*)other && now - begin < 10000000000ull);
  const float met = *(const volatile int*)other;
  TARSIA_GRID_LOOP(i, n) y[i] = x[i] + met;
}
TARSIA_OP(gg_meet).attribute("mine", int64_t(0)).attribute("other", int64_t(0)).forward("gpu", [](tarsia::Context& c) {
  gg_meet_kernel<<<1, 256, 0, c.stream()>>>(c.input(0).data<const float>(), c.output(0).data<float>(), c.output(0).numel(),
                                            c.attribute<int64_t>("mine"), c.attribute<int64_t>("other"));
});
// Adds the input to a state, and gives the sum.
__global__ void gg_collect_kernel(const float* x, float* state, float* y, long n) { TARSIA_GRID_LOOP(i, n) y[i] = state[i] += x[i]; }
TARSIA_OP(gg_collect).input("x").mutable_input("state").infer([](tarsia::BindInfo& i) {
  i.output(0) = i.input(0);
}).forward("gpu", [](tarsia::Context& c) {
  gg_collect_kernel<<<8, 256, 0, c.stream()>>>(c.input(0).data<const float>(), c.input(1).data<float>(), c.output(0).data<float>(),
                                               c.output(0).numel());
});
// With scratch that it has announced.
TARSIA_OP(gg_scratch).forward("gpu", [](tarsia::Context& c) {
  const long n = c.output(0).numel();
  float* between = c.scratch<float>(n);
  gg_slow_kernel<<<1, 256, 0, c.stream()>>>(c.input(0).data<const float>(), between, n, 0);
  gg_slow_kernel<<<1, 256, 0, c.stream()>>>(between, c.output(0).data<float>(), n, 0);
}).workspace([](const tarsia::BindInfo& i) {
  int64_t n = 4;
  for (int64_t extent : i.input(0).shape()) n *= extent;
  return n;
});
"""


def meet(devices):
    """What two branches give that wait for each other, each on its device: 4 if they run at the same time."""
    flags = torch.ones(2, dtype=torch.int32, pin_memory=True)
    addresses = [flags.data_ptr(), flags.data_ptr() + 4]
    g = tarsia.Graph()
    x = g.input("x")
    first, second = (g.gg_meet(x, mine=addresses[i], other=addresses[1 - i], device=devices[i]) for i in range(2))
    g.output(g.gg_product(g.gg_slow(first), g.gg_slow(second)))
    a = torch.zeros(1 << 10, device="cuda:0")
    bound = g.bind(x=a)
    bound(x=a)  # loads the code, which would wait for what runs; the flags are set
    torch.cuda.synchronize(0)
    flags.zero_()
    got = bound(x=a)
    torch.cuda.synchronize(0)
    return got
