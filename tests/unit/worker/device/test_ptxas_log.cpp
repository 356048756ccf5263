// Spilled registers in ptxas' log.
#include "jit/worker/device/ptxas_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tarsia::jit {
namespace {

constexpr char k_log[] =
    "ptxas info    : 0 bytes gmem\n"
    "ptxas info    : Compiling entry function '_Z4busyPf' for 'sm_90'\n"
    "ptxas info    : Function properties for _Z4busyPf\n"
    "ptxas         .     296 bytes stack frame, 16 bytes spill stores, 24 bytes spill loads\n"
    "ptxas info    : Function properties for calm\n"
    "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
    "ptxas warning : something else\n";

TEST(PtxasLog, spills_are_warnings_with_the_kernels_name) {
  const std::vector<Diagnostic> spills = spills_of(k_log, "a.cu", "sm_90");
  ASSERT_EQ(spills.size(), 1u);
  EXPECT_EQ(spills[0].severity, Severity::warning);
  EXPECT_EQ(spills[0].file, "a.cu");
  EXPECT_THAT(spills[0].message,
              testing::StartsWith("busy(float*) lacks registers on sm_90: it stores 16 and loads 24 bytes"));
}

TEST(PtxasLog, figures_are_left_out) {
  EXPECT_EQ(without_figures(k_log), "ptxas warning : something else\n");
  EXPECT_EQ(without_figures(std::string_view("ptxas info    : x\n\0ptxas error : y\n", 35)),
            "ptxas error : y\n");
  EXPECT_EQ(without_figures("no newline"), "no newline");
  EXPECT_EQ(without_figures(""), "");
}

}  // namespace
}  // namespace tarsia::jit
