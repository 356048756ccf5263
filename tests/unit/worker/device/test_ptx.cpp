// Functions and variables that a kernel reaches in PTX.
#include "jit/worker/device/ptx.h"

#include <gmock/gmock.h>

#include "nvrtc_for_tests.h"

namespace tarsia::jit {
namespace {

using testing::Contains;
using testing::Not;

class Ptx : public NvrtcTest {
 protected:
  std::string ptx_of(std::string text) {
    DeviceRequest asked = request(std::move(text));
    asked.ptx = true;
    for (FatbinEntry& image : compile(asked).images)
      if (image.arch.starts_with("compute_")) return image.bytes;
    ADD_FAILURE() << "there is no PTX";
    return {};
  }
};

TEST_F(Ptx, a_kernel_reaches_what_its_functions_name_and_nothing_else) {
  const std::string ptx = ptx_of(
      "__device__ int near_by, far_off, other;\n"
      "__device__ __noinline__ int inner() { return atomicAdd(&far_off, 1); }\n"
      "__device__ __noinline__ int outer(int x) { return inner() + x; }\n"
      "extern \"C\" __global__ void __launch_bounds__(64) first(int *x) { *x = outer(near_by); }\n"
      "extern \"C\" __global__ void second(int *x) { *x = other; }\n");
  const std::set<std::string> reached = names_reached(ptx, {"first"});
  EXPECT_THAT(reached, Contains("near_by"));
  EXPECT_THAT(reached, Contains("far_off"));
  EXPECT_THAT(reached, Not(Contains("other")));
  EXPECT_THAT(names_reached(ptx, {"second"}), Contains("other"));
  EXPECT_THAT(names_reached(ptx, {"second"}), Not(Contains("far_off")));
  EXPECT_TRUE(names_reached(ptx, {"third"}).empty());
}

TEST_F(Ptx, a_kernel_reaches_what_the_functions_of_a_table_name) {
  const std::string ptx = ptx_of(
      "__device__ int counter, other;\n"
      "__device__ int counted(int x) { return atomicAdd(&counter, x); }\n"
      "__device__ int twice(int x) { return 2 * x; }\n"
      "__device__ int unused(int x) { return atomicAdd(&other, x); }\n"
      "typedef int (*Function)(int);\n"
      "__device__ Function table[2] = {twice, counted}, elsewhere[1] = {unused};\n"
      "struct Shape { __device__ virtual int area() { return counter; } };\n"
      "__device__ Function single = counted;\n"
      "extern \"C\" __global__ void by_table(int *x) { *x = table[*x](1); }\n"
      "extern \"C\" __global__ void by_pointer(int *x) { *x = single(1); }\n"
      "extern \"C\" __global__ void virtually(Shape *shapes, int *x) { Shape made; (*x ? &made : "
      "shapes)->area(); "
      "shapes[0] = made; *x = shapes[0].area(); }\n"
      "extern \"C\" __global__ void plain(int *x) { *x = twice(1); }\n");
  for (const char* kernel : {"by_table", "by_pointer", "virtually"}) {
    EXPECT_THAT(names_reached(ptx, {kernel}), Contains("counter")) << kernel << "\n" << ptx;
    EXPECT_THAT(names_reached(ptx, {kernel}), Not(Contains("other"))) << kernel;
  }
  EXPECT_THAT(names_reached(ptx, {"plain"}), Not(Contains("counter")));
}

TEST(PtxText, damaged_text_is_read_within_its_bounds) {
  const std::string text =
      ".visible .entry k(\n.param .u64 p\n)\n{ // a comment }\n ld.global.u32 %r1, [counter+4]; }\n"
      ".global .align 8 .u64 t[2] = {f, k};\n.func (.param .b32 r) f(.param .b32 x); \"open";
  EXPECT_THAT(names_reached(text, {"k"}), Contains("counter"));
  for (size_t size = 0; size < text.size(); ++size) names_reached(text.substr(0, size), {"k", "f"});
}

}  // namespace
}  // namespace tarsia::jit
