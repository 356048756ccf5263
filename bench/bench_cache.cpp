// Measures a source that is in the cache, from its text to a module that can be opened. A round of `disk`
// does what a new process does. The worker only fills the cache (tests/unit/jit/stand_in_worker).
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>

#include "base/error.h"
#include "cache/entry.h"
#include "cache/tally.h"
#include "pipeline/key.h"
#include "pipeline/pipeline.h"
#include "tests/unit/jit/stand_in_worker/stand_in_worker.h"

namespace {

using namespace tarsia;
namespace fs = std::filesystem;

/// A cache of its own for one benchmark.
class Folder {
 public:
  Folder() {
    if (::mkdtemp(m_path.data()) == nullptr) std::abort();
    ::setenv("TARSIA_CACHE_DIR", m_path.c_str(), 1);
  }
  ~Folder() { fs::remove_all(m_path); }
  const std::string& path() const { return m_path; }

 private:
  std::string m_path = (fs::temp_directory_path() / "tarsia-bench-XXXXXX").string();
};

pipeline::Settings settings() {
  return {.program = [](const std::string&) { return jit::stand_in_worker(); }};
}

/// Makes a source of about 4 KiB whose first line is a command to the test's worker.
pipeline::Source source(const std::string& order) {
  std::string text = order + "\n";
  while (text.size() < 4096)
    text += "float relu(const float* x, float* y, int n); // a line like any other\n";
  return {.files = {{"source", text}}};
}

void disk(benchmark::State& state, const std::string& order, const Folder& folder) {
  ::setenv("TARSIA_CACHE_DIR", folder.path().c_str(), 1);
  const pipeline::Source asked = source(order);
  pipeline::Pipeline(settings()).compile(asked);
  for (auto _ : state) {
    pipeline::Pipeline fresh(settings());
    const pipeline::Module module = fresh.compile(asked);
    if (module.origin != Origin::disk) state.SkipWithError("not from disk");
  }
}

void disk_module(benchmark::State& state) {
  disk(state, "size " + std::to_string(state.range(0)), Folder());
}
BENCHMARK(disk_module)
    ->Name("disk/module_bytes")
    ->Arg(16 << 10)
    ->Arg(64 << 10)
    ->Arg(1 << 20)
    ->Unit(benchmark::kMicrosecond);

/// Measures a source with headers. Their stamps are old enough that the cache compares them and reads no
/// header.
void disk_headers(benchmark::State& state) {
  const Folder headers;
  for (int i = 0; i < state.range(0); ++i) {
    write_file(headers.path() + "/header_of_ordinary_length_" + std::to_string(i) + ".h",
               std::string(5000, 'h'));
  }
  ::sleep(4);
  disk(state, "read-all " + headers.path(), Folder());
}
BENCHMARK(disk_headers)->Name("disk/headers")->Arg(1)->Arg(300)->Unit(benchmark::kMicrosecond);

/// A folder with so many other entries. It lives as long as the program: to fill it takes a while.
const Folder& folder_with(std::int64_t entries) {
  static std::map<std::int64_t, Folder> s_folders;
  const auto [found, is_new] = s_folders.try_emplace(entries);
  if (is_new) {
    cache::DiskStore store(found->second.path(), 0);
    for (std::int64_t i = 0; i < entries; ++i)
      store.keep(cache::Kind::module, hash_bytes("entry " + std::to_string(i)), "bytes", "");
    ::sync();  // or it is written while others are measured
  }
  return found->second;
}

/// Measures a module of 64 KiB beside others.
void disk_entries(benchmark::State& state) {
  disk(state, "size 65536", folder_with(state.range(0)));
}
BENCHMARK(disk_entries)->Name("disk/entries")->Arg(0)->Arg(100000)->Unit(benchmark::kMicrosecond);

/// Measures the checksum of a module of 64 KiB, which is most of what finding it costs.
void checksum(benchmark::State& state) {
  const std::string bytes(64 << 10, 'm');
  const Digest key = hash_bytes("key");
  for (auto _ : state) benchmark::DoNotOptimize(cache::make_footer(cache::Kind::module, key, bytes, {}));
}
BENCHMARK(checksum)->Name("checksum/64KiB")->Unit(benchmark::kMicrosecond);

/// Measures the store's part of it: a module of 64 KiB is found, locked against eviction and verified.
void find_entries(benchmark::State& state) {
  cache::DiskStore store(folder_with(state.range(0)).path(), 0);
  const Digest key = hash_bytes("found");
  store.keep(cache::Kind::module, key, std::string(64 << 10, 'm'), "");
  for (auto _ : state) {
    cache::Hit hit;
    if (store.find(cache::Kind::module, key, false, hit) != cache::Lookup::hit) state.SkipWithError("no hit");
  }
}
BENCHMARK(find_entries)->Name("find/entries")->Arg(0)->Arg(100000)->Unit(benchmark::kMicrosecond);

void store_entries(benchmark::State& state) {
  cache::DiskStore store(folder_with(state.range(0)).path(), 0);
  const std::string bytes(64 << 10, 'm');
  static int s_n = 0;
  for (auto _ : state)
    store.keep(cache::Kind::module, hash_bytes("one more " + std::to_string(s_n++)), bytes, "");
}
BENCHMARK(store_entries)
    ->Name("store/entries")
    ->Arg(0)
    ->Arg(100000)
    ->Iterations(20)
    ->Unit(benchmark::kMicrosecond);

void memory(benchmark::State& state) {
  const Folder folder;
  const pipeline::Source asked = source("size 65536");
  pipeline::Pipeline pipeline(settings());
  pipeline.compile(asked);
  for (auto _ : state) {
    const pipeline::Module module = pipeline.compile(asked);
    if (module.origin != Origin::memory) state.SkipWithError("not from memory");
  }
}
BENCHMARK(memory)->Unit(benchmark::kMicrosecond);

void key(benchmark::State& state) {
  jit::CompileRequest request;
  request.files = source("key").files;
  for (auto _ : state) benchmark::DoNotOptimize(pipeline::request_key(request));
}
BENCHMARK(key)->Unit(benchmark::kMicrosecond);

void store(benchmark::State& state) {
  const Folder folder;
  cache::DiskStore store(folder.path(), 0);
  const std::string bytes(64 << 10, 'm');
  int n = 0;
  for (auto _ : state) store.keep(cache::Kind::module, hash_bytes(std::to_string(n++)), bytes, "");
}
BENCHMARK(store)->Name("store/64KiB")->Iterations(2000)->Unit(benchmark::kMicrosecond);

/// What a hit pays for its number.
void count(benchmark::State& state) {
  const Folder folder;
  const cache::DiskStore store(folder.path(), 0);
  cache::Tally tally(store);
  for (auto _ : state) tally.add(cache::Count::hit_memory);
}
BENCHMARK(count)->Name("count/hit");

/// What a process pays for adding its numbers to those of all processes.
void merge_counts(benchmark::State& state) {
  const Folder folder;
  const cache::DiskStore store(folder.path(), 0);
  cache::Tally tally(store);
  for (auto _ : state) {
    tally.add(cache::Count::hit_memory);
    if (!tally.merge()) state.SkipWithError("not merged");
  }
}
BENCHMARK(merge_counts)->Name("count/merge")->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
