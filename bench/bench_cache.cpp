// Measures a source that is in the cache, from its text to a module that can be opened. A round of `disk`
// does what a new process does. The worker only fills the cache (tests/unit/jit/stand_in_worker).
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/error.h"
#include "base/paths.h"
#include "cache/tally.h"
#include "jit/build_id.h"
#include "pipeline/key.h"
#include "pipeline/pipeline.h"

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
  return {.program = [](const std::string&) {
    return jit::WorkerProgram{.path = library_dir() + "/stand_in_worker",
                              .build_id = std::string(jit::build_id())};
  }};
}

/// Makes a source of about 4 KiB whose first line is a command to the test's worker.
pipeline::Source source(const std::string& order) {
  std::string text = order + "\n";
  while (text.size() < 4096)
    text += "float relu(const float* x, float* y, int n); // a line like any other\n";
  return {.files = {{"source", text}}};
}

void disk(benchmark::State& state, const std::string& order) {
  const Folder folder;
  const pipeline::Source asked = source(order);
  pipeline::Pipeline(settings()).compile(asked);
  for (auto _ : state) {
    pipeline::Pipeline fresh(settings());
    const pipeline::Module module = fresh.compile(asked);
    if (module.origin != Origin::disk) state.SkipWithError("not from disk");
  }
}

void disk_module(benchmark::State& state) {
  disk(state, "size " + std::to_string(state.range(0)));
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
  disk(state, "read-all " + headers.path());
}
BENCHMARK(disk_headers)->Name("disk/headers")->Arg(1)->Arg(300)->Unit(benchmark::kMicrosecond);

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
