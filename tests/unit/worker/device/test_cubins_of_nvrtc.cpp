// Reading cubins that NVRTC has made: the resources of kernels, and what damage does.
#include "base/cuda/cubin.h"

#include <gtest/gtest.h>

#include "nvrtc_for_tests.h"

namespace tarsia::jit {
namespace {

using CubinOfNvrtc = NvrtcTest;

TEST_F(CubinOfNvrtc, it_says_what_a_kernel_needs) {
  DeviceResult got = compile(
      "__constant__ float table[32];\n"
      "__global__ void __launch_bounds__(96, 1) bounded(float *x) {\n"
      "  __shared__ float tile[250];\n"
      "  tile[threadIdx.x] = x[threadIdx.x] + table[3];\n"
      "  __syncthreads();\n"
      "  x[threadIdx.x] = tile[95 - threadIdx.x];\n"
      "}\n"
      "__global__ void large(int *x, int n) {\n"
      "  int own[300];\n"
      "  for (int i = 0; i < 300; ++i) own[i] = x[i];\n"
      "  for (int i = 0; i < n; ++i) own[x[i] % 300] += own[i % 300];\n"
      "  for (int i = 0; i < 300; ++i) x[i] = own[i];\n"
      "}\n");
  ASSERT_TRUE(got.ok);
  const std::string& code = got.images[0].bytes;
  const auto bounded = kernel_resources(code, "_Z7boundedPf");
  ASSERT_TRUE(bounded);
  EXPECT_EQ(bounded->shared_bytes, 1000);
  EXPECT_EQ(bounded->local_bytes, 0);
  EXPECT_EQ(bounded->max_threads, 96);
  EXPECT_EQ(bounded->constant_bytes, 128);
  EXPECT_GT(bounded->registers, 3);
  EXPECT_LE(bounded->registers, 64);
  const auto large = kernel_resources(code, "_Z5largePii");
  ASSERT_TRUE(large);
  EXPECT_EQ(large->shared_bytes, 0);
  EXPECT_GE(large->local_bytes, 1200);
  EXPECT_EQ(large->max_threads, 0);
  EXPECT_FALSE(kernel_resources(code, "_Z5large"));
  EXPECT_FALSE(kernel_resources("no cubin", "_Z5largePii"));
}

TEST_F(CubinOfNvrtc, a_damaged_one_is_read_within_its_bytes) {
  DeviceResult got = compile("__constant__ int c[4]; __global__ void k(int *x) { *x = c[1]; }\n");
  ASSERT_TRUE(got.ok);
  const std::string whole = got.images[0].bytes;
  ASSERT_FALSE(cubin_symbols(whole).empty());
  for (size_t size = 0; size < whole.size(); size += 7) cubin_symbols(whole.substr(0, size));
  for (size_t at = 0; at < whole.size(); at += 3) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0xff);
    cubin_symbols(damaged);
    cubin_section(damaged, ".nv.compat");
    kernel_resources(damaged, "_Z1kPi");
  }
}

}  // namespace
}  // namespace tarsia::jit
