// Modules of packs in memory: found by their requests, whatever happens to files and to other packs.
#include "cache/pack_store.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "base/file.h"
#include "tests/unit/base/forked_child.h"
#include "tests/unit/base/temporary_dir.h"

namespace tarsia::cache {
namespace {

Key key_of(const std::string& name) {
  return hash_bytes(name);
}

struct PackStores : ::testing::Test {
  /// A pack as it lies on disk: modules under their own keys, and requests that read files.
  OpenPack pack(const std::vector<std::string>& modules,
                const std::vector<std::pair<std::string, DependencySet>>& requests = {}) {
    std::vector<PackEntry> entries;
    std::vector<std::string> texts(modules.size()), manifests;
    manifests.reserve(requests.size());
    for (std::size_t i = 0; i < modules.size(); ++i) {
      texts[i] = "bytes of " + modules[i];
      entries.push_back({Kind::module, key_of(modules[i]), texts[i], "meta"});
      entries.push_back({Kind::inputs, key_of(modules[i]), modules[i], {}});
    }
    for (const auto& [request, set] : requests) {
      Manifest manifest;
      manifest.add(set);
      manifests.push_back(manifest.serialise());
      entries.push_back({Kind::manifest, key_of(request), manifests.back(), {}});
    }
    write_pack_file(entries, dir / "ops.pack");
    return open_pack(dir / "ops.pack");
  }
  DependencySet reads_header(const std::string& module) {
    return {key_of(module), {{.path = dir / "h", .content = hash_bytes(read_file(dir / "h"))}}};
  }
  std::string found(const std::string& request) {
    changed.clear();
    const auto module = store.find(key_of(request), changed);
    return module ? read_file(module->path) + '|' + module->meta : "";
  }

  TemporaryDir dir;
  PackStore store;
  std::string changed;
};

TEST_F(PackStores, modules_are_found_by_their_requests) {
  EXPECT_TRUE(store.is_empty());
  EXPECT_EQ(found("a"), "");
  const Packed added = store.add(pack({"a", "b"}));
  EXPECT_EQ(added.modules, 2u);
  EXPECT_EQ(added.known, 0u);
  EXPECT_FALSE(store.is_empty());
  EXPECT_EQ(found("a"), "bytes of a|meta");
  EXPECT_EQ(found("b"), "bytes of b|meta");
  EXPECT_EQ(found("c"), "");
  EXPECT_EQ(store.inputs().size(), 2u);
  ASSERT_TRUE(store.dependencies_of(key_of("a"), key_of("a")));
  EXPECT_TRUE(store.dependencies_of(key_of("a"), key_of("a"))->empty());
  EXPECT_FALSE(store.dependencies_of(key_of("c"), key_of("c")));
}

TEST_F(PackStores, the_file_of_a_pack_may_go_and_a_second_replay_changes_nothing) {
  store.add(pack({"a"}));
  write_file(dir / "ops.pack", "another file");
  EXPECT_EQ(found("a"), "bytes of a|meta");
  const Packed again = store.add(pack({"a", "b"}));
  EXPECT_EQ(again.modules, 2u);
  EXPECT_EQ(again.known, 1u);
  EXPECT_EQ(found("a"), "bytes of a|meta");
  EXPECT_EQ(found("b"), "bytes of b|meta");
}

TEST_F(PackStores, files_count_by_their_content) {
  write_file(dir / "h", "one");
  store.add(pack({"module"}, {{"request", reads_header("module")}}));
  EXPECT_EQ(found("request"), "bytes of module|meta");
  EXPECT_EQ(found("request"), "bytes of module|meta");  // by the stamp
  ASSERT_TRUE(store.dependencies_of(key_of("request"), key_of("module")));
  EXPECT_EQ(store.dependencies_of(key_of("request"), key_of("module"))->size(), 1u);
  write_file(dir / "h", "another");
  EXPECT_EQ(found("request"), "");
  EXPECT_EQ(changed, dir / "h");
}

TEST_F(PackStores, a_pack_that_was_made_again_adds_its_sets_of_files) {
  write_file(dir / "h", "one");
  store.add(pack({"old"}, {{"request", reads_header("old")}}));
  write_file(dir / "h", "another");
  store.add(pack({"new"}, {{"request", reads_header("new")}}));
  EXPECT_EQ(found("request"), "bytes of new|meta");
  write_file(dir / "h", "one");
  EXPECT_EQ(found("request"), "bytes of old|meta");
}

TEST_F(PackStores, threads_look_while_packs_are_added) {
  write_file(dir / "h", "one");
  store.add(pack({"a"}, {{"request", reads_header("a")}}));
  std::vector<OpenPack> packs;
  for (int i = 0; i < 50; ++i)
    packs.push_back(pack({"m" + std::to_string(i)}, {{"request", reads_header("a")}}));
  std::atomic<bool> wrong{false};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 200; ++i) {
          std::string text;
          const auto module = store.find(key_of("request"), text);
          if (!module || read_file(module->path) != "bytes of a") wrong = true;
        }
      });
    for (const OpenPack& one : packs) store.add(one);
  }
  EXPECT_FALSE(wrong);
  EXPECT_EQ(found("m49"), "bytes of m49|meta");
}

TEST_F(PackStores, a_forked_child_has_what_its_parent_replayed) {
  const OpenPack one = pack({"a"});
  store.add(one);
  expect_children_to_go_on([&](int) { store.add(one); },
                           [&] {
                             if (found("a") != "bytes of a|meta") std::abort();
                           });
}

}  // namespace
}  // namespace tarsia::cache
