// What tests of the pipeline share: sources, and a pipeline whose worker speaks the protocol and counts, with
// a cache of its own.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "pipeline/pipeline.h"
#include "tests/unit/base/temporary_dir.h"
#include "tests/unit/jit/stand_in_worker/stand_in_worker.h"

namespace tarsia::pipeline {

inline Settings test_settings() {
  return {.program = [](const std::string&) { return jit::stand_in_worker(); }, .max_workers = 4};
}

inline Source source(const std::string& text, Ban ban = Ban::none) {
  return {.name = "op", .files = {{"op.cc", text}}, .ban = ban};
}

/// The module and what the cache wrote behind it.
inline std::string bytes_of(const Module& module) {
  return read_descriptor(module.file.get(), std::uint64_t{1} << 30);
}

struct Pipe : ::testing::Test {
  void SetUp() override {
    ::setenv("TARSIA_CACHE_DIR", (dir / "cache").c_str(), 1);
    ::setenv("TEST_WORKER_LOG", (dir / "log").c_str(), 1);
  }
  void TearDown() override {
    ::unsetenv("TARSIA_CACHE_DIR");
    ::unsetenv("TEST_WORKER_LOG");
  }

  /// How many compiles reached a worker, and what they were.
  std::vector<std::string> compiles() const {
    std::ifstream log(dir / "log");
    std::vector<std::string> verbs;
    std::string pid, verb;
    while (log >> pid >> verb) verbs.push_back(verb);
    return verbs;
  }
  std::vector<std::filesystem::path> entries(const std::string& kind = "module") const {
    std::vector<std::filesystem::path> files;
    std::error_code none;
    for (const auto& item : std::filesystem::recursive_directory_iterator(dir / ("cache/1/" + kind), none)) {
      if (!item.is_directory()) files.push_back(item.path());
    }
    return files;
  }

  /// A source whose compile lasts until the gate is opened.
  Source until_gate() const { return source("until " + (dir / "gate")); }
  void open_gate() const { write_file(dir / "gate", ""); }

  TemporaryDir dir;
};

}  // namespace tarsia::pipeline
