// Recordings: what they note, when they end, and what a forked process has of them.
#include "pipeline/packs/recorder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "pipeline/packs/made_with.h"
#include "tests/unit/base/temporary_dir.h"

namespace tarsia::pipeline {
namespace {

UsedModule used(const std::string& request, const std::string& module = "") {
  UsedModule one{.request_key = hash_bytes(request),
                 .module_key = hash_bytes(module.empty() ? request : module),
                 .payload = "bytes of " + request + module,
                 .inputs = "inputs",
                 .made_with = MadeWith{.build = "build"}.serialise()};
  if (!module.empty()) {
    one.dependencies = {{.path = "/h", .content = hash_bytes(module)}};
    one.dependencies[0].stamp.size = 3;
  }
  return one;
}

struct Recordings : ::testing::Test {
  std::vector<std::string> modules(const std::string& path) {
    std::vector<std::string> found;
    for (const cache::PackEntry& entry : cache::open_pack(path).entries)
      if (entry.kind == cache::Kind::module) found.emplace_back(entry.payload);
    return found;
  }
  TemporaryDir dir;
  const std::string pack = dir / "ops.pack";
  Recorder recorder;
};

TEST_F(Recordings, a_module_is_noted_once_by_each_recording_that_is_on) {
  EXPECT_FALSE(recorder.is_on());
  recorder.note(used("before"));
  const Recorder::Id outer = recorder.begin(pack);
  recorder.note(used("a"));
  const Recorder::Id inner = recorder.begin(dir / "inner.pack");
  EXPECT_TRUE(recorder.wants(hash_bytes("a"), hash_bytes("a")));  // the inner one lacks it
  recorder.note(used("a"));
  recorder.note(used("b"));
  EXPECT_FALSE(recorder.wants(hash_bytes("b"), hash_bytes("b")));
  EXPECT_EQ(recorder.write(inner).packed.modules, 2u);
  recorder.note(used("c"));
  const Recorder::Written written = recorder.write(outer);
  EXPECT_TRUE(written.is_there);
  EXPECT_EQ(written.packed.modules, 3u);
  EXPECT_EQ(modules(pack).size(), 3u);
  EXPECT_EQ(modules(dir / "inner.pack").size(), 2u);
  EXPECT_FALSE(recorder.is_on());
  EXPECT_THROW(recorder.write(outer), Error);
}

TEST_F(Recordings, the_same_run_gives_the_same_bytes_and_no_stamps) {
  const auto record = [&](const std::string& path, bool turned) {
    const Recorder::Id id = recorder.begin(path);
    recorder.note(used(turned ? "b" : "a", turned ? "with b" : "with a"));
    recorder.note(used(turned ? "a" : "b", turned ? "with a" : "with b"));
    recorder.write(id);
  };
  record(pack, false);
  record(dir / "turned.pack", true);
  EXPECT_EQ(read_file(pack), read_file(dir / "turned.pack"));
  const cache::OpenPack open = cache::open_pack(pack);
  ASSERT_EQ(open.manifests.size(), 2u);
  EXPECT_EQ(open.manifests[0].manifest.sets()[0].dependencies[0].stamp, FileStamp{});
}

TEST_F(Recordings, what_is_not_in_the_pack_is_told) {
  const Recorder::Id id = recorder.begin(pack);
  recorder.leave_out("clock", "it asks for the time");
  recorder.leave_out("clock", "it asks for the time");
  const jit::CompileRequest request{.name = "slow"};
  const Recorder::Request under_way(recorder, request);
  const Recorder::Written written = recorder.write(id);
  ASSERT_EQ(written.left_out.size(), 2u);
  EXPECT_EQ(written.left_out[0].name, "clock");
  EXPECT_EQ(written.left_out[1].name, "slow");
  EXPECT_EQ(written.packed.modules, 0u);
}

TEST_F(Recordings, a_pack_that_cannot_be_written_is_told_at_once) {
  for (const std::string& path : {std::string(), dir / "no/such/ops.pack", dir.path(), dir / ""})
    EXPECT_THROW(recorder.begin(path), Error) << path;
  EXPECT_FALSE(recorder.is_on());
}

TEST_F(Recordings, a_recording_goes_on_if_its_pack_cannot_be_written) {
  const Recorder::Id id = recorder.begin(pack);
  recorder.note(used("a"));
  ASSERT_EQ(::mkdir(pack.c_str(), 0700), 0);
  EXPECT_THROW(recorder.write(id), Error);
  ASSERT_EQ(::rmdir(pack.c_str()), 0);
  EXPECT_EQ(recorder.write(id).packed.modules, 1u);
}

TEST_F(Recordings, a_forked_child_records_nothing_and_writes_nothing) {
  const Recorder::Id id = recorder.begin(pack);
  recorder.note(used("a"));
  const pid_t child = ::fork();
  if (child == 0) {
    recorder.note(used("of the child"));
    const bool wrong = recorder.is_on() || recorder.write(id).is_there || ::access(pack.c_str(), F_OK) == 0;
    ::_exit(wrong);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(recorder.write(id).packed.modules, 1u);
}

TEST_F(Recordings, all_threads_are_noted) {
  const Recorder::Id id = recorder.begin(pack);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        for (int i = 0; i < 100; ++i) recorder.note(used(std::to_string(i % 50 + 50 * (t % 2))));
      });
  }
  EXPECT_EQ(recorder.write(id).packed.modules, 100u);
}

}  // namespace
}  // namespace tarsia::pipeline
