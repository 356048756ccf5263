// What one process records, another replays, without a worker and with nothing in its cache.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "base/error.h"
#include "tests/unit/pipeline/pipeline_fixture.h"

namespace tarsia::pipeline {
namespace {

using testing::HasSubstr;

Settings without_worker() {
  return {.program = [](const std::string&) -> jit::WorkerProgram {
    throw NotFound("there is no compiler in this image");
  }};
}

struct Replays : ::testing::Test {
  void SetUp() override { use_folder("builder"); }
  void TearDown() override { ::unsetenv("TARSIA_CACHE_DIR"); }
  void use_folder(const std::string& name) { ::setenv("TARSIA_CACHE_DIR", (dir / name).c_str(), 1); }
  /// Whether a process with nothing in its cache and no compiler has the module.
  bool replays(const std::string& text) {
    use_folder("server");
    Pipeline server(without_worker());
    server.packs().replay(pack);
    bool is_there = true;
    try {
      const Module module = server.compile(source(text));
      EXPECT_EQ(module.origin, Origin::memory);
      EXPECT_TRUE(read_descriptor(module.file.get(), 1 << 20)
                      .starts_with("\x7f"
                                   "ELF"));
    } catch (const NotFound&) {
      is_there = false;
    }
    EXPECT_EQ(server.counts()[is_there ? cache::Count::hit_memory : cache::Count::miss_absent], 1u);
    use_folder("builder");
    return is_there;
  }

  TemporaryDir dir;
  const std::string pack = dir / "ops.pack";
  Pipeline builder{test_settings()};
};

TEST_F(Replays, compiles_and_hits_of_both_tiers_are_recorded) {
  builder.compile(source("compile disk"));
  Pipeline later{test_settings()};  // as the next process on that machine
  later.compile(source("compile memory"));
  const Recorder::Id id = later.recorder().begin(pack);
  EXPECT_EQ(later.compile(source("compile disk")).origin, Origin::disk);
  EXPECT_EQ(later.compile(source("compile memory")).origin, Origin::memory);
  EXPECT_EQ(later.compile(source("compile now")).origin, Origin::compiled);
  EXPECT_EQ(later.recorder().write(id).packed.modules, 3u);
  later.compile(source("compile after"));
  for (const char* text : {"compile disk", "compile memory", "compile now"})
    EXPECT_TRUE(replays(text)) << text;
  EXPECT_FALSE(replays("compile after"));
}

TEST_F(Replays, a_swept_cache_and_an_unusable_folder_lose_nothing) {
  const Recorder::Id id = builder.recorder().begin(pack);
  builder.compile(source("compile kept"));
  std::filesystem::remove_all(dir / "builder");
  write_file(dir / "file", "no folder");
  use_folder("file");
  builder.compile(source("compile in memory"));
  EXPECT_EQ(builder.recorder().write(id).packed.modules, 2u);
  EXPECT_TRUE(replays("compile kept"));
  EXPECT_TRUE(replays("compile in memory"));
}

TEST_F(Replays, files_that_were_read_count) {
  write_file(dir / "part",
             "\x7f"
             "ELF one");
  const std::string text = "read " + (dir / "part");
  const Recorder::Id id = builder.recorder().begin(pack);
  builder.compile(source(text));
  builder.recorder().write(id);
  EXPECT_TRUE(replays(text));
  write_file(dir / "part",
             "\x7f"
             "ELF two");
  use_folder("server");
  Pipeline server(without_worker());
  server.packs().replay(pack);
  try {
    server.compile(source(text, Ban::caller));
    FAIL();
  } catch (const CompileForbidden& error) {
    EXPECT_THAT(error.what(), HasSubstr("op ["));
    EXPECT_THAT(error.what(),
                HasSubstr((dir / "part") + " is not as it was when the pack's module was compiled"));
  }
}

TEST_F(Replays, a_miss_names_the_source_and_what_differs) {
  const Recorder::Id id = builder.recorder().begin(pack);
  builder.compile(source("compile a"));
  builder.recorder().write(id);
  use_folder("server");
  Pipeline server(without_worker());
  server.packs().replay(pack);
  Source other = source("compile a", Ban::caller);
  other.options.opt = 3;
  try {
    server.compile(std::move(other));
    FAIL();
  } catch (const CompileForbidden& error) {
    EXPECT_THAT(error.what(), testing::ContainsRegex("op \\[[0-9a-f]{12}\\] is not in the cache"));
    EXPECT_THAT(error.what(),
                HasSubstr("nor in a pack that is replayed (what differs from the nearest of these: "
                          "option opt: it was 2, and is 3)"));
  }
}

TEST_F(Replays, a_recording_of_a_replayed_run_is_the_same_pack) {
  write_file(dir / "part",
             "\x7f"
             "ELF one");
  const std::string text = "read " + (dir / "part");
  Recorder::Id id = builder.recorder().begin(pack);
  builder.compile(source(text));
  builder.compile(source("compile a"));
  builder.recorder().write(id);
  use_folder("server");
  Pipeline server(without_worker());
  server.packs().replay(pack);
  id = server.recorder().begin(dir / "again.pack");
  server.compile(source("compile a"));
  server.compile(source(text));
  EXPECT_EQ(server.recorder().write(id).packed.modules, 2u);
  use_folder("builder");
  std::filesystem::copy_file(dir / "again.pack", pack, std::filesystem::copy_options::overwrite_existing);
  EXPECT_TRUE(replays("compile a"));
  EXPECT_TRUE(replays(text));
}

TEST_F(Replays, threads_compile_while_packs_are_replayed) {
  const Recorder::Id id = builder.recorder().begin(pack);
  for (int i = 0; i < 8; ++i) builder.compile(source("compile " + std::to_string(i)));
  builder.recorder().write(id);
  use_folder("server");
  Pipeline server(test_settings());
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 3; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 8; ++i) server.compile(source("compile " + std::to_string(i)));
      });
    for (int i = 0; i < 4; ++i) server.packs().replay(pack);
  }
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(server.compile(source("compile " + std::to_string(i), Ban::caller)).origin, Origin::memory);
}

}  // namespace
}  // namespace tarsia::pipeline
