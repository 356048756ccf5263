// Layers that were made here: when the files that they were made of change.
#include "jit/worker/prelude/prelude_layer.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "tests/unit/base/temporary_dir.h"

namespace tarsia::jit {
namespace {

/// A layer of one header, which a SourceFileSystem read.
PreludeLayer layer_of(const std::string& folder, const std::string& header) {
  SourceFileSystem files(std::make_shared<const SysrootPack>(TARSIA_TEST_SYSROOT));
  files.allow_root(folder);
  EXPECT_TRUE(files.openFileForRead(header));
  PreludeLayer layer;
  layer.dependencies = files.dependencies();
  return layer;
}

TEST(PreludeLayer, holds_as_long_as_its_headers_do) {
  const TemporaryDir dir;
  write_file(dir / "a.h", "int a;");
  KeptLayer kept(layer_of(dir.path(), dir / "a.h"), "pch");
  EXPECT_TRUE(kept.still_holds());
  write_file(dir / "a.h", "int b;");
  EXPECT_FALSE(kept.still_holds());
  write_file(dir / "a.h", "int a;");
  EXPECT_TRUE(kept.still_holds());
}

TEST(PreludeLayer, a_header_that_changed_while_the_layer_was_made_is_noticed) {
  const TemporaryDir dir;
  write_file(dir / "a.h", "int a;");
  PreludeLayer layer = layer_of(dir.path(), dir / "a.h");
  write_file(dir / "a.h", "int b;");
  KeptLayer kept(std::move(layer), "pch");
  EXPECT_FALSE(kept.still_holds());
  const auto parsed = KeptLayer::parse(kept.serialize(), {});
  ASSERT_NE(parsed, nullptr);
  EXPECT_FALSE(parsed->still_holds());
}

TEST(PreludeLayer, a_header_that_has_just_changed_is_not_vouched_for) {
  const TemporaryDir dir;
  write_file(dir / "a.h", "int a;");
  KeptLayer kept(layer_of(dir.path(), dir / "a.h"), "pch");
  ASSERT_EQ(kept.layer().dependencies.size(), 1u);
  EXPECT_EQ(kept.layer().dependencies[0].stamp, FileStamp{});
  EXPECT_TRUE(kept.still_holds());
  EXPECT_EQ(kept.layer().dependencies[0].stamp, FileStamp{});
}

TEST(PreludeLayer, stamps_are_kept_with_the_bytes) {
  PreludeLayer layer;
  layer.names = {"a.h"};
  layer.dependencies = {{"/a.h", hash_bytes("a"), false, {1, 2, 3, -4, 5}}, {.path = "/b.h", .absent = true}};
  const auto parsed = KeptLayer::parse(KeptLayer(layer, "pch").serialize(), {});
  ASSERT_NE(parsed, nullptr);
  EXPECT_EQ(parsed->layer().pch, "pch");
  EXPECT_EQ(parsed->layer().dependencies.at(0).stamp, layer.dependencies[0].stamp);
  EXPECT_TRUE(parsed->layer().dependencies.at(1).absent);
}

}  // namespace
}  // namespace tarsia::jit
