// Recordings and replays as C and C++ programs ask for them. Nothing is compiled: what a recording notes of
// compiles is tested from Python and in tests/unit/pipeline.
#include <gmock/gmock.h>
#include <tarsia/tarsia.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/unit/base/temporary_dir.h"

namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

struct PackFace : testing::Test {
  void SetUp() override { ::setenv("TARSIA_CACHE_DIR", (dir / "cache").c_str(), 1); }
  void TearDown() override { ::unsetenv("TARSIA_CACHE_DIR"); }

  tarsia::TemporaryDir dir;
  const std::string pack = dir / "ops.pack";
};

TEST_F(PackFace, a_recording_is_written_once) {
  tarsia::Recording recording(pack);
  const nlohmann::json report = nlohmann::json::parse(recording.write());
  EXPECT_EQ(report.at("modules"), 0);
  EXPECT_EQ(report.at("bytes"), fs::file_size(pack));
  EXPECT_EQ(report.at("written"), true);
  EXPECT_TRUE(report.at("left_out").empty());
  EXPECT_THROW(recording.write(), tarsia::Error);
}

TEST_F(PackFace, a_recording_that_nobody_writes_leaves_nothing) {
  {
    const tarsia::Recording recording(pack);
  }
  EXPECT_FALSE(fs::exists(pack));
  EXPECT_THROW(tarsia::Recording(dir / "nowhere/ops.pack"), tarsia::Error);
  tarsia_record_drop(12345);  // has ended, or never was
}

TEST_F(PackFace, a_pack_is_replayed_with_and_without_gpus) {
  tarsia::Recording(pack).write();
  for (const std::string& told : {tarsia::replay(pack), tarsia::replay(pack, {})}) {
    const nlohmann::json report = nlohmann::json::parse(told);
    EXPECT_EQ(report.at("modules"), 0);
    EXPECT_EQ(report.at("known"), 0);
    EXPECT_EQ(report.at("bytes"), fs::file_size(pack));
    EXPECT_TRUE(report.at("gpus").empty());  // no module has device code
  }
  EXPECT_THROW(tarsia::replay(pack, {1000}), tarsia::CudaError);
}

TEST_F(PackFace, what_is_no_pack_is_refused_by_its_name) {
  std::ofstream(pack) << "no pack";
  try {
    tarsia::replay(pack);
    FAIL();
  } catch (const tarsia::LoadError& error) {
    EXPECT_THAT(error.what(), HasSubstr(pack + " is not replayed: it is no whole pack of Tarsia's"));
  }
  EXPECT_THROW(tarsia::replay(dir / "missing"), tarsia::Error);
}

TEST_F(PackFace, architectures_are_checked_and_a_recording_without_cuda_needs_none) {
  uint64_t recording = 0;
  ASSERT_EQ(tarsia_record_begin(pack.c_str(), &recording), 0);
  const char* const good[] = {"sm_80", "sm_90"};
  const char* const bad[] = {"sm_80", "gpu"};
  EXPECT_EQ(tarsia_record_add_archs(recording, good, 2), 0);
  EXPECT_EQ(tarsia_record_add_archs(recording, bad, 2), TARSIA_ARGUMENT_VALUE);
  tarsia_record_drop(recording);
  EXPECT_EQ(tarsia_record_add_archs(recording, good, 2), TARSIA_ERROR);
}

TEST_F(PackFace, filling_the_cache_is_forbidden_where_compiles_are) {
  const tarsia_file file{"a.cc", "int f();", 8};
  tarsia_options options;
  tarsia_options_init(&options);
  const tarsia::NoCompile scope;
  EXPECT_EQ(tarsia_cache_fill(&file, 1, &options), TARSIA_COMPILE_FORBIDDEN);
}

}  // namespace
