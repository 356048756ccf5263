// Packs that are replayed: whose they are, and requests of CUDA on machines without NVRTC.
#include "pipeline/packs/packs.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "base/file.h"
#include "jit/build_id.h"
#include "tests/unit/base/temporary_dir.h"

namespace tarsia::pipeline {
namespace {

using testing::HasSubstr;

/// Keys of what matters here: the one for all places does not have the folders.
cache::Request keys_of(const jit::CompileRequest& request) {
  const std::string without = request.name + request.cuda_parts.nvrtc_identity +
                              request.cuda_parts.clang_identity + std::to_string(request.cuda_parts.major);
  std::string with = without;
  std::vector<cache::Root> roots;
  for (const std::string& folder : request.options.include_dirs) {
    with += folder;
    roots.push_back({"include_dirs " + std::to_string(roots.size()), folder});
  }
  for (const std::string& folder : request.cuda_parts.include_dirs) roots.push_back({"cuda", folder});
  cache::Request keys(hash_bytes(with));
  keys.shared = hash_bytes("anywhere " + without);
  keys.place = cache::Place(std::move(roots));
  return keys;
}

MadeWith made_here(const std::string& nvrtc = "NVRTC of the builder", std::vector<std::string> folders = {}) {
  return {.build = std::string(jit::build_id()),
          .nvrtc_identity = nvrtc,
          .clang_identity = "clang",
          .major = 13,
          .folders = std::move(folders)};
}

struct ReplayedPacks : ::testing::Test {
  /// A pack with one module, of a CUDA request of this name that read these files.
  std::string write(const std::string& name, const std::string& fact, const MadeWith& made,
                    const std::vector<Dependency>& dependencies = {}) {
    jit::CompileRequest request = asked(name);
    made.lend_to(request);
    const cache::Key key = keys_of(request).key, module = hash_bytes("module of " + name);
    cache::Manifest manifest;
    manifest.add({module, dependencies});
    const std::string text = manifest.serialise();
    cache::write_pack_file({{cache::Kind::module, module, "bytes", "meta"},
                            {cache::Kind::manifest, key, text, {}},
                            {cache::Kind::fact, hash_bytes(fact), fact, {}}},
                           pack);
    return pack;
  }
  static jit::CompileRequest asked(const std::string& name, bool cuda = true) {
    return {.name = name, .cuda = cuda};
  }
  bool finds(jit::CompileRequest request) {
    cache::Key key = keys_of(request).key;
    changed.clear();
    return packs.find(request, key, &keys_of, changed).has_value();
  }
  std::string refusal(const std::string& path) {
    try {
      packs.replay(path);
      return {};
    } catch (const Error& error) {
      return error.what();
    }
  }

  TemporaryDir dir;
  const std::string pack = dir / "ops.pack";
  Packs packs;
  std::string changed;
};

TEST_F(ReplayedPacks, what_modules_were_made_with_is_read_as_it_was_written) {
  const MadeWith made = made_here("nvrtc", {"/usr/local/cuda/include", "/opt"});
  const std::string bytes = made.serialise();
  EXPECT_EQ(MadeWith::parse(bytes), made);
  for (std::size_t i = 0; i < bytes.size(); ++i) EXPECT_FALSE(MadeWith::parse(bytes.substr(0, i))) << i;
  EXPECT_FALSE(MadeWith::parse(bytes + "x"));
}

TEST_F(ReplayedPacks, a_request_without_nvrtc_is_found_under_the_key_of_the_builders) {
  const MadeWith made = made_here();
  packs.replay(write("op", made.serialise(), made));
  EXPECT_TRUE(finds(asked("op")));
  EXPECT_FALSE(finds(asked("another")));
  EXPECT_FALSE(finds(asked("op", false)));  // a source without CUDA has a key of its own
  jit::CompileRequest request = asked("op");
  cache::Key key = keys_of(request).key;
  ASSERT_TRUE(packs.find(request, key, &keys_of, changed));
  EXPECT_EQ(request.cuda_parts.nvrtc_identity, made.nvrtc_identity);
  EXPECT_EQ(key, keys_of(request).key);
}

TEST_F(ReplayedPacks, headers_of_cuda_may_be_gone_and_no_other_files) {
  const std::string cuda = dir / "cuda", own = dir / "own";
  const MadeWith made = made_here("nvrtc", {cuda});
  const Dependency header{.path = cuda + "/runtime.h", .content = hash_bytes("runtime")};
  const Dependency near{.path = own + "/near.h", .content = hash_bytes("near")};
  const Dependency vain{.path = cuda + "/vain.h", .absent = true};
  make_directories(own);
  write_file(near.path, "near");
  packs.replay(write("op", made.serialise(), made, {header, near, vain}));
  EXPECT_TRUE(finds(asked("op")));
  write_file(near.path, "changed");
  EXPECT_FALSE(finds(asked("op")));
  EXPECT_EQ(changed, near.path);

  Packs other;  // as another process whose machine has CUDA, of another version
  make_directories(cuda);
  write_file(near.path, "near");
  write_file(header.path, "runtime of another version");
  other.replay(pack);
  jit::CompileRequest request = asked("op");
  cache::Key key = keys_of(request).key;
  EXPECT_FALSE(other.find(request, key, &keys_of, changed));
  EXPECT_EQ(changed, header.path);
}

TEST_F(ReplayedPacks, files_may_lie_elsewhere_than_where_they_were_recorded) {
  const std::string there = dir / "there", here = dir / "here", cuda = dir / "cuda", gone = dir / "gone";
  for (const std::string& folder : {there, here, cuda}) make_directories(folder);
  const MadeWith made = made_here("nvrtc", {gone});
  jit::CompileRequest built = asked("op");
  built.options.include_dirs = {there};
  made.lend_to(built);
  const std::vector<Dependency> files = {{.path = there + "/near.h", .content = hash_bytes("near")},
                                         {.path = gone + "/runtime.h", .content = hash_bytes("runtime")},
                                         {.path = gone + "/vain.h", .absent = true}};
  const cache::Request request = keys_of(built);
  const cache::Key module =
      cache::module_key(*request.shared, cache::named_set(request.place, files).dependencies);
  const auto everywhere = cache::set_for_all_places(request, module, files, "bytes", "meta");
  ASSERT_TRUE(everywhere);
  EXPECT_FALSE(cache::set_for_all_places(request, hash_bytes("of one place"), files, "bytes", "meta"));
  cache::Manifest list;
  list.add(everywhere->set);
  const std::string text = list.serialise(), fact = made.serialise();
  cache::write_pack_file({{cache::Kind::module, module, "bytes", "meta"},
                          {cache::Kind::shared, everywhere->key, text, {}},
                          {cache::Kind::fact, hash_bytes(fact), fact, {}}},
                         pack);
  packs.replay(pack);

  // A machine without the builder's NVRTC and CUDA's headers.
  jit::CompileRequest mine = asked("op");
  mine.options.include_dirs = {here};
  EXPECT_FALSE(finds(mine));
  EXPECT_EQ(changed, here + "/near.h");
  write_file(here + "/near.h", "near");
  EXPECT_TRUE(finds(mine));
  write_file(here + "/near.h", "changed");
  EXPECT_FALSE(finds(mine));
  // One that has them, elsewhere.
  write_file(here + "/near.h", "near");
  made.lend_to(mine);
  mine.cuda_parts.include_dirs = {cuda};
  Packs other;
  other.replay(pack);
  cache::Key key = keys_of(mine).key;
  EXPECT_FALSE(other.find(mine, key, &keys_of, changed));
  write_file(cuda + "/runtime.h", "runtime");
  const auto found = other.find(mine, key, &keys_of, changed);
  ASSERT_TRUE(found);
  EXPECT_EQ(read_file(found->path), "bytes");
  EXPECT_EQ(mine.cuda_parts.include_dirs, std::vector{cuda});
  ASSERT_TRUE(other.store().dependencies_of(key, module));
  EXPECT_EQ(other.store().dependencies_of(key, module)->size(), 3u);
}

TEST_F(ReplayedPacks, a_pack_that_is_not_whole_or_of_another_build_is_refused) {
  MadeWith foreign = made_here();
  foreign.build = "another build";
  EXPECT_THAT(refusal(write("op", foreign.serialise(), foreign)),
              testing::AllOf(HasSubstr(pack + " is not replayed"), HasSubstr("another build of Tarsia"),
                             HasSubstr("make it again")));
  EXPECT_THAT(refusal(write("op", "no such fact", made_here())), HasSubstr("another build"));
  const std::string whole = read_file(write("op", made_here().serialise(), made_here()));
  for (const std::string& wrong :
       {whole.substr(0, whole.size() - 1), whole.substr(0, 40), std::string("x")}) {
    write_file(pack, wrong);
    EXPECT_THAT(refusal(pack), HasSubstr(pack + " is not replayed: it is no whole pack of Tarsia's"));
  }
  EXPECT_THAT(refusal(dir / "missing"), HasSubstr("cannot read the pack " + (dir / "missing")));
  EXPECT_TRUE(packs.is_empty());
  EXPECT_FALSE(finds(asked("op")));
}

TEST_F(ReplayedPacks, a_pack_of_an_exported_cache_says_nothing_about_its_build) {
  cache::write_pack_file({{cache::Kind::module, keys_of(asked("op")).key, "bytes", {}}}, pack);
  EXPECT_EQ(packs.replay(pack).modules, 1u);
  EXPECT_TRUE(finds(asked("op")));
}

}  // namespace
}  // namespace tarsia::pipeline
