// Reading cubins: the names of variables, and the resources of kernels.
#include "base/cuda/cubin.h"

#include <gtest/gtest.h>

#include "nvrtc_for_tests.h"

namespace tarsia::jit {
namespace {

std::vector<CubinSymbol> variables(std::initializer_list<const char*> names) {
  std::vector<CubinSymbol> symbols;
  for (const char* name : names) symbols.push_back({CubinSymbol::Kind::variable, name, false, 4});
  return symbols;
}

TEST(Cubin, variables_are_found_by_their_qualified_names) {
  auto symbols =
      variables({"a", "_ZN2ns1cE", "_ZN34_INTERNAL_00000000_5_mg_cu__Z3funi2ns1dE", "_ZN2nsL1lE", "_ZL1s",
                 "_ZN34_INTERNAL_00000000_5_mg_cu__Z3funi2ns36_GLOBAL__N__00000000_5_mg_cu__Z3funi1eE"});
  EXPECT_EQ(find_variable(symbols, "a"), "a");
  EXPECT_EQ(find_variable(symbols, "ns::c"), "_ZN2ns1cE");
  EXPECT_EQ(find_variable(symbols, "::ns::c"), "_ZN2ns1cE");
  EXPECT_EQ(find_variable(symbols, "ns::d"), symbols[2].name);
  EXPECT_EQ(find_variable(symbols, "ns::l"), "_ZN2nsL1lE");
  EXPECT_EQ(find_variable(symbols, "s"), "_ZL1s");
  EXPECT_EQ(find_variable(symbols, "ns::(anonymous namespace)::e"), symbols[5].name);
  EXPECT_EQ(find_variable(symbols, "c"), "");
  EXPECT_EQ(find_variable(symbols, "ns"), "");
}

TEST(Cubin, broken_names_are_passed_over) {
  EXPECT_EQ(find_variable(variables({"_Z", "_ZN", "_ZN99aE", "_ZN99999999999999999999999aE", "_ZNx"}), "a"),
            "");
}

TEST(Cubin, what_is_no_cubin_has_no_symbols) {
  for (std::string bytes : {std::string(),
                            std::string("\x7f"
                                        "ELF"),
                            std::string(4096, '\0'), std::string("PTX")}) {
    EXPECT_FALSE(is_cubin(bytes));
    EXPECT_TRUE(cubin_symbols(bytes).empty());
    EXPECT_EQ(cubin_section(bytes, ".text"), "");
  }
}

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
