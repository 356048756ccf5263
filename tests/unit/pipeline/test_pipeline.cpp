// The pipeline with a worker that speaks the protocol and counts: what is compiled, how often, and what is
// left.
#include "pipeline/pipeline.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/cuda/cuda_parts.h"
#include "base/error.h"
#include "tests/unit/base/waiting.h"
#include "tests/unit/pipeline/pipeline_fixture.h"

namespace tarsia::pipeline {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

TEST_F(Pipe, compiles_once_then_memory_then_disk) {
  Pipeline first(test_settings());
  const Module made = first.compile(source("compile a"));
  EXPECT_EQ(made.origin, Origin::compiled);
  EXPECT_TRUE(
      bytes_of(made).starts_with("\x7f"
                                 "ELF op compile a"));
  const Module again = first.compile(source("compile a"));
  EXPECT_EQ(again.origin, Origin::memory);
  EXPECT_EQ(again.key, made.key);
  Pipeline second(test_settings());
  const Module found = second.compile(source("compile a"));
  EXPECT_EQ(found.origin, Origin::disk);
  EXPECT_EQ(found.key, made.key);
  EXPECT_EQ(second.workers_started(), 0u);
  EXPECT_EQ(compiles().size(), 1u);
  EXPECT_NE(second.compile(source("compile b")).key, made.key);
}

TEST_F(Pipe, a_cell_is_in_memory_at_once_and_then_on_disk) {
  Source cell = source("compile a");
  cell.options.cell = "op.cc";
  {
    Pipeline pipeline(test_settings());
    const Module made = pipeline.compile(cell);
    EXPECT_EQ(made.origin, Origin::compiled);
    EXPECT_EQ(made.path, "");
    EXPECT_GT(pipeline.counters().stores, 0u);  // waits until nothing is about to be written
    EXPECT_EQ(entries().size(), 1u);
    EXPECT_EQ(entries("inputs").size(), 1u);
    EXPECT_EQ(pipeline.compile(cell).path, entries().at(0));
  }
  for (int i = 0; i < 20; ++i) {
    cell.files[0].text = "compile " + std::to_string(i);
    Pipeline pipeline(test_settings());
    pipeline.compile(cell);
  }
  EXPECT_EQ(entries().size(), 21u);
  Pipeline other(test_settings());
  EXPECT_EQ(other.compile(cell).origin, Origin::disk);
  EXPECT_EQ(compiles().size(), 21u);
}

TEST_F(Pipe, the_name_is_not_in_the_key) {
  Pipeline pipeline(test_settings());
  Source named = source("compile a");
  pipeline.compile(named);
  named.name = "another";
  EXPECT_EQ(pipeline.compile(named).origin, Origin::memory);
}

TEST_F(Pipe, warnings_come_from_the_cache_as_well) {
  for (int i = 0; i < 2; ++i) {
    Pipeline pipeline(test_settings());
    const Module module = pipeline.compile(source("warn"));
    ASSERT_EQ(module.warnings.size(), 1u);
    EXPECT_EQ(format(module.warnings[0]), "op.cc:3:4: warning: careful");
  }
  EXPECT_EQ(compiles().size(), 1u);
}

TEST_F(Pipe, failed_compile_leaves_no_entry_and_is_remembered) {
  Settings settings = test_settings();
  settings.failures_last = 1h;
  Pipeline pipeline(settings);
  for (int i = 0; i < 5; ++i) {
    try {
      pipeline.compile(source("fail"));
      FAIL();
    } catch (const CompileError& error) {
      EXPECT_EQ(error.stage(), Stage::host);
      EXPECT_STREQ(error.what(), "op does not compile\nop.cc:1:2: error: no");
    }
  }
  EXPECT_EQ(compiles().size(), 1u);
  EXPECT_TRUE(entries().empty());
}

TEST_F(Pipe, a_failure_is_forgotten_after_a_moment) {
  Settings settings = test_settings();
  settings.failures_last = 20ms;
  Pipeline pipeline(settings);
  wait_until([&] {
    EXPECT_THROW(pipeline.compile(source("fail")), CompileError);
    return compiles().size() > 1;
  });
}

TEST_F(Pipe, a_failure_ends_when_a_file_it_read_changes) {
  Pipeline pipeline(test_settings());
  write_file(dir / "h", "one");
  const std::string text = "fail-on " + (dir / "h") + " one";
  EXPECT_THROW(pipeline.compile(source(text)), CompileError);
  EXPECT_THROW(pipeline.compile(source(text)), CompileError);
  EXPECT_EQ(compiles().size(), 1u);
  write_file(dir / "h", "two");
  EXPECT_EQ(pipeline.compile(source(text)).origin, Origin::compiled);
}

TEST_F(Pipe, headers_on_disk_decide_which_module) {
  write_file(dir / "h", "one");
  const std::string text = "read " + (dir / "h");
  Pipeline pipeline(test_settings());
  const Module one = pipeline.compile(source(text));
  EXPECT_EQ(pipeline.compile(source(text)).origin, Origin::memory);
  write_file(dir / "h", "two");
  const Module two = pipeline.compile(source(text));
  EXPECT_EQ(two.origin, Origin::compiled);
  EXPECT_NE(one.key, two.key);
  EXPECT_TRUE(
      bytes_of(two).starts_with("\x7f"
                                "ELF two"));
  write_file(dir / "h", "one");
  const Module back = Pipeline(test_settings()).compile(source(text));
  EXPECT_EQ(back.origin, Origin::disk);
  EXPECT_EQ(back.key, one.key);
  EXPECT_TRUE(
      bytes_of(back).starts_with("\x7f"
                                 "ELF one"));
  fs::remove(dir / "h");
  EXPECT_EQ(pipeline.compile(source(text)).origin, Origin::compiled);
}

TEST_F(Pipe, time_outs_and_crashes_are_not_remembered) {
  Pipeline pipeline(test_settings());
  Source slow = source("spin");
  slow.timeout = 100ms;
  for (int i = 0; i < 2; ++i) EXPECT_THROW(pipeline.compile(slow), CompileTimeout);
  for (int i = 0; i < 2; ++i) EXPECT_THROW(pipeline.compile(source("crash")), CompilerCrashed);
  EXPECT_EQ(compiles().size(), 4u);
  EXPECT_TRUE(entries().empty());
  EXPECT_EQ(pipeline.compile(source("compile")).origin, Origin::compiled);
}

TEST_F(Pipe, what_is_no_module_is_not_cached) {
  Pipeline pipeline(test_settings());
  for (int i = 0; i < 2; ++i) EXPECT_THROW(pipeline.compile(source("foreign")), CompilerCrashed);
  EXPECT_TRUE(entries().empty());
  const Module one = pipeline.compile(source("uncacheable"));
  const Module two = pipeline.compile(source("uncacheable"));
  EXPECT_EQ(one.origin, Origin::compiled);
  EXPECT_EQ(two.origin, Origin::compiled);
  EXPECT_TRUE(entries().empty());
}

TEST_F(Pipe, a_header_that_is_no_text_makes_the_source_invalid) {
  Pipeline pipeline(test_settings());
  try {
    pipeline.compile(source("invalid"));
    FAIL() << "no exception";
  } catch (const InvalidSource& error) {
    ASSERT_EQ(error.diagnostics().size(), 1u);
    EXPECT_EQ(format(error.diagnostics()[0]), "x.h:3:4: fatal error: NUL");
  }
}

TEST_F(Pipe, a_module_that_is_too_large_is_a_limit_that_was_reached) {
  Pipeline pipeline(test_settings());
  EXPECT_THROW(pipeline.compile(source("narrow 1048576")), ResourceLimit);
  EXPECT_TRUE(entries().empty());
}

TEST_F(Pipe, bad_input_starts_no_worker_and_makes_no_folder) {
  Pipeline pipeline(test_settings());
  EXPECT_THROW(pipeline.compile(source(std::string("a\0b", 3))), InvalidSource);
  Source bad = source("compile");
  bad.options.std = "c++2b";
  EXPECT_THROW(pipeline.compile(bad), ArgumentError);
  EXPECT_EQ(pipeline.workers_started(), 0u);
  EXPECT_FALSE(fs::exists(dir / "cache"));
}

TEST_F(Pipe, damaged_entries_are_compiled_again) {
  const std::string good = bytes_of(Pipeline(test_settings()).compile(source("compile a")));
  const std::string path = entries().at(0);
  std::size_t rounds = 0;
  const auto expect_recompile = [&](const std::string& damaged) {
    write_file(path, damaged);
    Pipeline pipeline(test_settings());
    const Module module = pipeline.compile(source("compile a"));
    EXPECT_EQ(module.origin, Origin::compiled) << rounds;
    EXPECT_EQ(bytes_of(module), good);
    ++rounds;
  };
  for (std::size_t size = 0; size < good.size(); size += 13) expect_recompile(good.substr(0, size));
  for (std::size_t bit = 0; bit < 8 * good.size(); bit += 97) {
    std::string flipped = good;
    flipped[bit / 8] ^= static_cast<char>(1 << bit % 8);
    expect_recompile(flipped);
  }
  EXPECT_EQ(compiles().size(), rounds + 1);
}

TEST_F(Pipe, without_a_usable_folder_modules_live_in_memory_and_the_user_is_told) {
  fs::create_directory(dir / "cache");
  ASSERT_EQ(::chmod((dir / "cache").c_str(), 0777), 0);
  Pipeline pipeline(test_settings());
  const Module made = pipeline.compile(source("compile a"));
  EXPECT_EQ(made.origin, Origin::compiled);
  ASSERT_EQ(made.warnings.size(), 1u);
  EXPECT_NE(made.warnings[0].message.find("chmod go-w"), std::string::npos);
  EXPECT_EQ(pipeline.compile(source("compile a")).origin, Origin::memory);
  EXPECT_TRUE(fs::is_empty(dir / "cache"));
  // Parts as well.
  EXPECT_TRUE(bytes_of(pipeline.compile(source("parts")))
                  .starts_with("\x7f"
                               "ELF parts are right"));
}

TEST_F(Pipe, parts_are_kept_on_disk) {
  Pipeline first(test_settings());
  EXPECT_TRUE(bytes_of(first.compile(source("parts")))
                  .starts_with("\x7f"
                               "ELF parts are right"));
  EXPECT_EQ(entries("prelude").size() + entries("device").size() + entries("host").size(), 6u);
}

TEST_F(Pipe, the_folder_may_change_between_calls) {
  Pipeline pipeline(test_settings());
  pipeline.compile(source("compile a"));
  ::setenv("TARSIA_CACHE_DIR", (dir / "other").c_str(), 1);
  EXPECT_EQ(pipeline.compile(source("compile a")).origin, Origin::compiled);
  ::setenv("TARSIA_CACHE_DIR", (dir / "cache").c_str(), 1);
  EXPECT_EQ(pipeline.compile(source("compile a")).origin, Origin::memory);
}

TEST_F(Pipe, a_module_in_use_survives_eviction) {
  ::setenv("TARSIA_CACHE_SIZE_MB", "1", 1);
  Pipeline pipeline(test_settings());
  const Module mine = pipeline.compile(source("compile a"));
  const std::string before = bytes_of(mine);
  const std::string filler(200'000, 'x');
  for (int i = 0; i < 12; ++i) pipeline.compile(source("compile " + std::to_string(i) + filler));
  EXPECT_GT(pipeline.counters().evictions, 0u);
  EXPECT_EQ(bytes_of(mine), before);
  struct stat status;
  ASSERT_EQ(::fstat(mine.file.get(), &status), 0);
  EXPECT_EQ(status.st_nlink, 1u);
  ::unsetenv("TARSIA_CACHE_SIZE_MB");
}

TEST_F(Pipe, cuda_is_told_and_resolved) {
  Pipeline pipeline(test_settings());
  const Module host = pipeline.compile({.files = {{"op", "compile host"}}});
  EXPECT_FALSE(host.cuda);
  if (const std::string missing = cuda_findings()->missing; !missing.empty()) GTEST_SKIP() << missing;
  Source kernel{.files = {{"op", "compile __global__ void k();"}}};
  const Module cuda = pipeline.compile(kernel);
  EXPECT_TRUE(cuda.cuda);
  // The default is named in the key as if the caller had named it.
  ::setenv("CUDA_VISIBLE_DEVICES", "", 1);
  const std::string by_default = pipeline.compile(kernel).key;
  kernel.options.archs = {k_default_arch};
  EXPECT_EQ(pipeline.compile(kernel).key, by_default);
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  kernel.options.archs = {"sm_80"};
  EXPECT_NE(pipeline.compile(kernel).key, by_default);
}

TEST_F(Pipe, a_compiler_of_another_build_is_refused) {
  Settings settings = test_settings();
  settings.program = [](const std::string&) { return jit::stand_in_worker({"stranger"}); };
  Pipeline pipeline(settings);
  EXPECT_THROW(pipeline.compile(source("compile")), Unsupported);
}

}  // namespace
}  // namespace tarsia::pipeline
