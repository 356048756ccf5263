// Which __device__ is a lambda's.
#include "jit/worker/source/device_lambdas.h"

#include <gtest/gtest.h>

namespace tarsia::jit {
namespace {

std::string marked(std::string text) {
  mark_device_lambdas(text);
  return text;
}

TEST(DeviceLambdas, the_attribute_behind_captures_is_renamed) {
  EXPECT_EQ(marked("f([=] __device__ (int i) {});"), "f([=] __tarsiaL_ (int i) {});");
  EXPECT_EQ(marked("f([]__device__{});"), "f([]__tarsiaL_{});");
  EXPECT_EQ(marked("f([a = b[0], c] /* x */ __device__ (int i) {});"),
            "f([a = b[0], c] /* x */ __tarsiaL_ (int i) {});");
  EXPECT_EQ(marked("auto g = []<class T> __device__ (T i) {};"), "auto g = []<class T> __tarsiaL_ (T i) {};");
}

TEST(DeviceLambdas, others_stay) {
  for (const char* text :
       {"__device__ int f();", "[[nodiscard]] __device__ int f();", "f([=] __host__ __device__ (int i) {});",
        "f([=] __device__ __host__ (int i) {});", "// [] __device__ ()\nint a;",
        "const char* s = \"[] __device__ ()\";", "[[deprecated(\"x\"), nodiscard]] __device__ int g();"})
    EXPECT_EQ(marked(text), text);
}

}  // namespace
}  // namespace tarsia::jit
