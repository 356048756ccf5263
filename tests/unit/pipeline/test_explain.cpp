// Why a source misses: each input is told that differs.
#include "pipeline/explain.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "cache/sweep.h"
#include "pipeline/entries.h"
#include "tests/unit/pipeline/pipeline_fixture.h"

namespace tarsia::pipeline {
namespace {

namespace fs = std::filesystem;

struct Explain : ::testing::Test {
  void SetUp() override { ::setenv("TARSIA_CACHE_DIR", (dir / "cache").c_str(), 1); }
  void TearDown() override { ::unsetenv("TARSIA_CACHE_DIR"); }

  /// "input: how" of each difference.
  std::vector<std::string> differences(const Source& of) {
    told = pipeline.explain(of);
    std::vector<std::string> list;
    for (const Difference& one : told.differences) list.push_back(one.input + ": " + one.how);
    return list;
  }
  using Texts = std::vector<std::string>;

  TemporaryDir dir;
  Pipeline pipeline{test_settings()};
  Explanation told;
};

TEST_F(Explain, a_hit_names_its_entry_and_what_nobody_compiled_has_none) {
  EXPECT_EQ(differences(source("compile a")), Texts{});
  EXPECT_FALSE(told.hit);
  EXPECT_EQ(told.reason, "absent");
  EXPECT_FALSE(told.nearest);
  const Module made = pipeline.compile(source("compile a"));
  EXPECT_EQ(differences(source("compile a")), Texts{});
  EXPECT_TRUE(told.hit);
  ASSERT_TRUE(told.nearest);
  EXPECT_EQ(hex(told.nearest->module_key), made.key);
  EXPECT_EQ(told.nearest->inputs->library, "op");
}

TEST_F(Explain, a_file_that_changed_appeared_or_went_is_named) {
  const std::string h = dir / "h";
  write_file(h, "one");
  pipeline.compile(source("read " + h));
  EXPECT_EQ(differences(source("read " + h)), Texts{});
  EXPECT_TRUE(told.hit);
  EXPECT_EQ(told.n_files, 2u);  // the stand-in looks for another in vain
  write_file(h, "three");
  EXPECT_EQ(differences(source("read " + h)), Texts{h + ": its content changed (5 bytes)"});
  EXPECT_EQ(told.reason, "changed");
  fs::remove(h);
  EXPECT_EQ(differences(source("read " + h)), Texts{h + ": it is gone"});
  fs::create_directory(h);
  EXPECT_EQ(differences(source("read " + h)), Texts{h + ": it is no regular file any more"});
  fs::remove(h);
  const std::string k = dir / "k";
  pipeline.compile(source("read " + k));
  write_file(k, "x");
  EXPECT_EQ(differences(source("read " + k)),
            Texts{k + ": it appeared: the compiler had looked for it in vain"});
}

TEST_F(Explain, an_option_a_text_and_a_new_header_are_told) {
  Source first = source("compile a");
  first.options.opt = 2;
  pipeline.compile(first);
  Source other = first;
  other.options.opt = 3;
  other.options.defines = {{"N", "4"}};
  EXPECT_EQ(differences(other),
            (Texts{"option defines: it was empty, and is N=4", "option opt: it was 2, and is 3"}));
  EXPECT_EQ(told.reason, "absent");
  EXPECT_EQ(differences(source("compile abc")),
            Texts{"file op.cc: its text changed (9 bytes then, 11 bytes now)"});
  Source with_header = first;
  with_header.headers = {{"h.h", "x"}};
  EXPECT_EQ(differences(with_header), Texts{"header h.h: it is new"});
  // Of several, the nearest.
  pipeline.compile(other);
  other.options.defines = {{"N", "5"}};
  EXPECT_EQ(differences(other), Texts{"option defines: it was N=4, and is N=5"});
  // A source with nothing in common has none.
  EXPECT_EQ(differences({.name = "op", .files = {{"far.cc", "compile far"}}}), Texts{});
  EXPECT_FALSE(told.nearest);
}

TEST_F(Explain, another_order_of_the_same_files_is_told) {
  Source first{.name = "op", .files = {{"a.cc", "compile a"}, {"b.cc", "compile b"}}};
  pipeline.compile(first);
  std::swap(first.files[0], first.files[1]);
  EXPECT_EQ(differences(first), Texts{"the order of the files: it was a.cc, b.cc, and is b.cc, a.cc"});
}

TEST_F(Explain, what_reads_the_same_is_not_told_beside_what_does_not) {
  Source first = source("compile a");
  first.options.include_dirs = {dir / ""};
  pipeline.compile(first);
  Source other = first;
  other.options.lineinfo = true;  // then the paths of folders count
  for (const std::string& one : differences(other))
    EXPECT_FALSE(one.starts_with("option include_dirs")) << one;
  EXPECT_FALSE(told.differences.empty());
}

TEST_F(Explain, what_belongs_to_the_machine_is_told) {
  pipeline.compile(source("compile a"));
  // The entry of another machine: its inputs lie under another key.
  cache::DiskStore& store = pipeline.disk();
  const cache::Key key = pipeline.explain(source("compile a")).request_key;
  cache::Hit hit;
  ASSERT_EQ(store.find(cache::Kind::inputs, key, true, hit), cache::Lookup::hit);
  Inputs theirs = Inputs::parse(hit.entry.payload).value();
  hit = {};
  for (Input& input : theirs.inputs) {
    if (input.name != "the CPU" && input.name != "the build of the compiler") continue;
    input.shown = "another";
    input.digest = hash_bytes("another");
  }
  cache::prune(store.root(), store.size_lock(), 0);
  store.keep(cache::Kind::inputs, hash_bytes("other"), theirs.serialise(), {});
  const Texts told_now = differences(source("compile a"));
  ASSERT_EQ(told_now.size(), 2u);
  EXPECT_TRUE(told_now[0].starts_with("the build of the compiler: it was another, and is ")) << told_now[0];
  EXPECT_TRUE(told_now[1].starts_with("the CPU: it was another, and is x86-64")) << told_now[1];
}

TEST_F(Explain, a_module_that_went_or_was_never_kept_is_told) {
  const Module made = pipeline.compile(source("compile a"));
  fs::remove(made.path);
  EXPECT_EQ(differences(source("compile a")),
            Texts{"the module " + made.key.substr(0, 12) + ": it was swept, pruned or cleared"});
  EXPECT_EQ(told.reason, "gone");
  pipeline.compile(source("uncacheable"));
  EXPECT_EQ(differences(source("uncacheable")).size(), 1u);
  EXPECT_EQ(told.reason, "not kept");
}

TEST_F(Explain, asking_changes_nothing) {
  const std::string h = dir / "h";
  write_file(h, "one");
  const Module made = pipeline.compile(source("read " + h));
  const auto long_ago = fs::file_time_type::clock::now() - std::chrono::hours(5);
  std::vector<std::string> entries;
  for (const auto& item : fs::recursive_directory_iterator(pipeline.disk().root()))
    if (item.is_regular_file()) entries.push_back(item.path());
  for (const std::string& path : entries) fs::last_write_time(path, long_ago);
  differences(source("read " + h));
  EXPECT_TRUE(told.hit);
  EXPECT_EQ(list_entries(pipeline.disk()).size(), 1u);
  for (const std::string& path : entries) EXPECT_EQ(fs::last_write_time(path), long_ago) << path;
  write_file(made.path, "damaged", 0600);
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(differences(source("read " + h)),
              Texts{"the module " + made.key.substr(0, 12) + ": it is damaged"});
  EXPECT_EQ(told.reason, "damaged");
  EXPECT_TRUE(fs::exists(made.path));
  EXPECT_EQ(pipeline.counters().corrupt, 0u);
  EXPECT_EQ(pipeline.counts()[cache::Count::miss_damaged], 0u);
}

TEST_F(Explain, requests_are_counted_by_tier_and_reason) {
  const std::string h = dir / "h";
  write_file(h, "one");
  const Source reads = source("read " + h);
  const auto now = [&] { return pipeline.counts(); };
  pipeline.compile(reads);
  EXPECT_EQ(now()[cache::Count::miss_absent], 1u);
  EXPECT_EQ(now()[cache::Count::compiled], 1u);
  pipeline.compile(reads);
  EXPECT_EQ(now()[cache::Count::hit_memory], 1u);
  {
    Pipeline second(test_settings());
    second.compile(reads);
    EXPECT_EQ(second.counts()[cache::Count::hit_disk], 1u);
    EXPECT_TRUE(second.tally().merge());
  }
  write_file(h, "another");
  pipeline.compile(reads);
  EXPECT_EQ(now()[cache::Count::miss_changed], 1u);
  const std::string path = pipeline.compile(reads).path;
  write_file(path, "damaged", 0600);
  pipeline.compile(reads);
  EXPECT_EQ(now()[cache::Count::miss_damaged], 1u);
  fs::remove(pipeline.compile(reads).path);
  pipeline.compile(reads);
  EXPECT_EQ(now()[cache::Count::miss_gone], 1u);
  EXPECT_THROW(pipeline.compile(source("fail")), CompileError);
  EXPECT_EQ(now()[cache::Count::compile_failed], 1u);
  EXPECT_EQ(now()[cache::Count::compiled], 4u);
  // All processes' counts have both pipelines'.
  EXPECT_TRUE(pipeline.tally().merge());
  EXPECT_EQ(pipeline.tally().of_all()[cache::Count::hit_disk], 1u);
  EXPECT_EQ(pipeline.tally().of_all()[cache::Count::compiled], 4u);
}

TEST_F(Explain, entries_are_listed_with_what_led_to_them) {
  const std::string h = dir / "h";
  write_file(h, "one");
  const Module one = pipeline.compile(source("read " + h));
  const Module two = pipeline.compile({.name = "second", .files = {{"b.cc", "compile b"}}});
  const std::vector<StoredEntry> entries = list_entries(pipeline.disk());
  ASSERT_EQ(entries.size(), 2u);
  for (const StoredEntry& entry : entries) {
    ASSERT_TRUE(entry.inputs);
    ASSERT_TRUE(entry.request);
    const bool first = hex(entry.module_key) == one.key;
    EXPECT_EQ(entry.inputs->library, first ? "op" : "second");
    EXPECT_EQ(entry.files.size(), first ? 2u : 0u);
    EXPECT_EQ(entry.path, first ? one.path : two.path);
    EXPECT_GT(entry.bytes, 0u);
  }
  EXPECT_TRUE(verify_entries(pipeline.disk(), false).damaged.empty());
  pipeline.disk().keep(cache::Kind::inputs, hash_bytes("x"), {"\1\0\0\0no inputs", 13}, {});
  pipeline.disk().keep(cache::Kind::inputs, hash_bytes("y"), {"\7\0\0\0of a later Tarsia", 21}, {});
  EXPECT_EQ(verify_entries(pipeline.disk(), true).damaged.size(), 1u);
  EXPECT_TRUE(verify_entries(pipeline.disk(), false).damaged.empty());
}

}  // namespace
}  // namespace tarsia::pipeline
