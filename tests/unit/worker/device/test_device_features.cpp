// Uses of CUDA that are refused before any compile.
#include "jit/worker/device/device_features.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tarsia::jit {
namespace {

std::vector<Diagnostic> refused(std::string text) {
  return refused_features({{"a.cu", std::move(text)}});
}

TEST(DeviceFeatures, thrust_is_refused_where_it_is_included) {
  auto got = refused("#include <vector>\n  #include <thrust/device_vector.h>\n");
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].line, 2);
  EXPECT_EQ(got[0].column, 12);
  EXPECT_EQ(got[0].severity, Severity::error);
  EXPECT_THAT(got[0].message, testing::HasSubstr("Thrust"));
  EXPECT_THAT(got[0].message, testing::HasSubstr("device_compiler='auto'"));
  EXPECT_THAT(refused("#include <thrust/complex.h>\n").at(0).message, testing::HasSubstr("std::complex"));
}

TEST(DeviceFeatures, device_wide_algorithms_of_cub_are_refused) {
  EXPECT_EQ(refused("#include <cub/device/device_reduce.cuh>\n").size(), 1u);
  auto got = refused("#include <cub/cub.cuh>\nvoid f() {\n  cub::DeviceReduce::Sum(a, b, c, d, e);\n}\n");
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].line, 3);
  EXPECT_EQ(got[0].column, 8);
}

TEST(DeviceFeatures, primitives_plain_types_and_comments_are_fine) {
  EXPECT_TRUE(
      refused("#include <cub/cub.cuh>\n#include <thrust/pair.h>\n// #include <thrust/sort.h>\n"
              "/* cub::DeviceScan */ struct DeviceInfo {};\n__device__ cub::BlockReduce<int, 32> *p;\n")
          .empty());
}

TEST(DeviceFeatures, device_lambdas_are_refused) {
  auto got = refused("void f() { run([=] __device__ (int i) { return i; }); }");
  ASSERT_EQ(got.size(), 1u);
  EXPECT_THAT(got[0].message, testing::HasSubstr("operator()"));
  EXPECT_EQ(refused("auto g = [] __host__ __device__ (int i) { return i; };").size(), 1u);
}

}  // namespace
}  // namespace tarsia::jit
