// The cache as C and C++ programs ask about it. Nothing is compiled: the texts are not in the cache, and a
// request that may only take from it is a miss.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <tarsia/tarsia.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>

#include "tests/unit/base/temporary_dir.h"

namespace {

using testing::HasSubstr;

struct CacheFace : testing::Test {
  void SetUp() override { ::setenv("TARSIA_CACHE_DIR", (dir / "cache").c_str(), 1); }
  void TearDown() override { ::unsetenv("TARSIA_CACHE_DIR"); }

  /// Asks for a text that nobody compiled, of a cache that may not compile.
  static void miss() {
    const tarsia_file file{"a.cc", "int f();", 8};
    tarsia_options options;
    tarsia_options_init(&options);
    options.cached_only = 1;
    tarsia_library* library = nullptr;
    EXPECT_NE(tarsia_load_inline(&file, 1, &options, &library), 0);
  }
  template <class Call>
  static nlohmann::json asked(Call call) {
    char* text = nullptr;
    EXPECT_EQ(call(&text), 0) << tarsia_last_error()->message;
    nlohmann::json json = nlohmann::json::parse(text);
    tarsia_free(text);
    return json;
  }

  tarsia::TemporaryDir dir;
};

TEST_F(CacheFace, counters_are_those_of_the_folder_that_the_environment_names) {
  EXPECT_EQ(tarsia::cache_counters().misses_absent, 0u);
  miss();
  miss();
  EXPECT_EQ(tarsia::cache_counters().misses_absent, 2u);
  EXPECT_EQ(tarsia::cache_counters().compiles, 0u);
  ::setenv("TARSIA_CACHE_DIR", (dir / "other").c_str(), 1);
  EXPECT_EQ(tarsia::cache_counters().misses_absent, 0u);
}

TEST_F(CacheFace, prometheus_text_has_the_counters_of_all_processes) {
  miss();
  char* text = nullptr;
  ASSERT_EQ(tarsia_cache_prometheus(&text), 0);
  const std::string told = tarsia::detail::take_text(text);
  EXPECT_NE(told.find("tarsia_cache_misses_total{reason=\"absent\"} 1\n"), told.npos) << told;
  EXPECT_NE(told.find("tarsia_cache_compile_seconds_bucket{le=\"+Inf\"} 0\n"), told.npos) << told;
  EXPECT_NE(told.find("tarsia_cache_entries 0\n"), told.npos) << told;
}

TEST_F(CacheFace, counters_are_filled_in_as_far_as_the_caller_knows_them) {
  miss();
  tarsia_cache_counters counters;
  std::memset(&counters, 0x5a, sizeof(counters));
  counters.size = offsetof(tarsia_cache_counters, misses_changed);
  ASSERT_EQ(tarsia_cache_get_counters(&counters), 0);
  EXPECT_EQ(counters.size, offsetof(tarsia_cache_counters, misses_changed));
  EXPECT_EQ(counters.misses_absent, 1u);
  EXPECT_EQ(counters.misses_changed, 0x5a5a5a5a5a5a5a5au);
}

TEST_F(CacheFace, statistics_have_what_every_process_counted) {
  miss();
  const nlohmann::json report = asked(&tarsia_cache_stats);
  EXPECT_EQ(report.at("misses").at("absent"), 1);
  EXPECT_EQ(report.at("hits").at("disk"), 0);
  EXPECT_EQ(report.at("entries"), 0);
  EXPECT_EQ(report.at("folder"), dir / "cache");
  EXPECT_GT(report.at("since"), 0);
  EXPECT_TRUE(asked(&tarsia_cache_list).empty());
  EXPECT_EQ(asked([](char** text) { return tarsia_cache_verify(0, text); }).at("whole"), 0);
  EXPECT_EQ(asked([](char** text) { return tarsia_cache_prune(0, text); }).at("bytes"), 0);
}

TEST_F(CacheFace, an_explanation_compiles_nothing) {
  const tarsia_file file{"a.cc", "int f();", 8};
  const nlohmann::json told =
      asked([&](char** text) { return tarsia_cache_explain(&file, 1, nullptr, text); });
  EXPECT_EQ(told.at("hit"), false);
  EXPECT_EQ(told.at("reason"), "absent");
  EXPECT_TRUE(told.at("nearest").is_null());
  EXPECT_EQ(tarsia::cache_counters().misses_absent, 0u);
}

TEST_F(CacheFace, within_no_compile_a_miss_is_an_error_of_its_own) {
  EXPECT_EQ(tarsia_no_compile_depth(), 0u);
  {
    const tarsia::NoCompile outer;
    {
      const tarsia::NoCompile inner;
    }
    EXPECT_EQ(tarsia_no_compile_depth(), 1u);
    try {
      (void)tarsia::load_inline("int f();", {.name = "asked"});
      FAIL();
    } catch (const tarsia::CompileForbidden& error) {
      EXPECT_THAT(error.what(), HasSubstr("asked ["));
      EXPECT_THAT(error.what(), HasSubstr("(nothing is kept under this key)"));
    }
    EXPECT_EQ(tarsia_last_error()->code, TARSIA_COMPILE_FORBIDDEN);
    std::thread([] { EXPECT_EQ(tarsia_no_compile_depth(), 0u); }).join();
  }
  EXPECT_EQ(tarsia_no_compile_depth(), 0u);
  EXPECT_EQ(tarsia::cache_counters().forbidden, 1u);
  EXPECT_EQ(tarsia_no_compile_leave(), TARSIA_ERROR);
}

TEST_F(CacheFace, options_bring_the_ban_of_another_thread) {
  for (const auto& [given, told] :
       {std::pair(1, "within no_compile()"), std::pair(2, "captures a CUDA graph")}) {
    const tarsia_file file{"a.cc", "int f();", 8};
    tarsia_options options;
    tarsia_options_init(&options);
    options.cached_only = given;
    tarsia_library* library = nullptr;
    EXPECT_EQ(tarsia_load_inline(&file, 1, &options, &library), TARSIA_COMPILE_FORBIDDEN);
    EXPECT_THAT(tarsia_last_error()->message, HasSubstr(told));
  }
}

TEST_F(CacheFace, what_is_not_there_and_what_is_not_used_are_errors) {
  char* text = nullptr;
  EXPECT_EQ(tarsia_cache_show("12", &text), TARSIA_NOT_FOUND);
  EXPECT_THAT(tarsia_last_error()->message, HasSubstr("tarsia cache ls"));
  ::setenv("TARSIA_CACHE_DIR", (dir / "open").c_str(), 1);
  ASSERT_EQ(::mkdir((dir / "open").c_str(), 0700), 0);
  ASSERT_EQ(::chmod((dir / "open").c_str(), 0777), 0);
  EXPECT_EQ(tarsia_cache_list(&text), TARSIA_ERROR);
  EXPECT_THAT(tarsia_last_error()->message, HasSubstr("others may write to it"));
  EXPECT_EQ(text, nullptr);
}

}  // namespace
