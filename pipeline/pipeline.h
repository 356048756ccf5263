// From a source to a module that can be loaded.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/fork.h"
#include "base/lock.h"
#include "base/origin.h"
#include "cache/later.h"
#include "cache/module_cache.h"
#include "cache/remote/remote_cache.h"
#include "cache/single_flight.h"
#include "jit/client/worker_pool.h"
#include "pipeline/archs.h"
#include "pipeline/explain.h"
#include "pipeline/failures.h"
#include "pipeline/packs/packs.h"
#include "pipeline/packs/recorder.h"
#include "pipeline/part_store.h"
#include "pipeline/source.h"

namespace tarsia::pipeline {

/// A module. `file` is a shared library as a whole (the bytes behind its ELF image are the cache's own).
struct Module {
  std::string path;  ///< where `file` lies now; empty: in memory
  UniqueFd file;     ///< read-only and final. It is not evicted while it is open
  std::string key;   ///< 64 digits: names the content
  Origin origin = Origin::compiled;
  bool fetched = false;  ///< from a shared store, now or earlier
  bool cuda = false;     ///< whether it was compiled as CUDA
  std::vector<Diagnostic> warnings;
  std::vector<std::string> library_dirs = {};  ///< where the libraries lie that it needs, for its loader
  std::vector<std::pair<std::string, double>> timings;  ///< step, milliseconds; empty unless compiled
};

/// tarsia-compiler beside the library, as the environment wants it; `cache_dir` may hold an unpacked one.
/// Throws NotFound, and ArgumentError for an environment variable's value.
jit::WorkerProgram own_compiler(const std::string& cache_dir);

/// Settings that tests change. The defaults are those of the library.
struct Settings {
  /// The worker's program, given the cache's folder. Empty: tarsia-compiler beside the library.
  std::function<jit::WorkerProgram(const std::string& cache_dir)> program;
  unsigned max_workers = 0;
  /// The longest wait for another process's compile of the same source. It is long: only a stopped holder
  /// needs it, and not every rank of a job should compile a source that takes a minute.
  std::chrono::milliseconds patience = std::chrono::seconds(120);
  std::chrono::milliseconds failures_last = std::chrono::seconds(2);
};

/// Thread-safe, and safe across fork. Each call reads the environment: TARSIA_CACHE_DIR,
/// TARSIA_CACHE_SIZE_MB, TARSIA_COMPILER, TARSIA_COMPILER_MEMORY_MB, TARSIA_ISOLATION, TARSIA_SERVICE,
/// CUDA_VISIBLE_DEVICES, and what names shared stores (cache/remote/settings.h).
class Pipeline final : public ForkAware {
 public:
  explicit Pipeline(Settings settings = {});
  ~Pipeline();

  /// The module of a source. Throws InvalidSource and ArgumentError (check.h), CompileError, CompileTimeout,
  /// CompilerCrashed, ResourceLimit, NotFound, Unsupported. A failure leaves nothing in the cache.
  Module compile(Source source);

  /// For a module that came from a shared store and does not load here: it is removed, and this process does
  /// not fetch it again. Returns false for any other one, which stays.
  bool reject(const Module& module);

  /// What may stand at a place of the header options.cell, which counts from 1. Nothing is compiled, and the
  /// cache keeps preludes alone. Throws as compile() does, but no CompileError.
  struct Completed {
    std::string typed;  ///< of the name, before the place
    std::vector<jit::Completion> completions;
  };
  Completed complete(Source source, int line, int column);

  /// A fact about this machine that the cache keeps, and keeping one. Errors are misses.
  std::optional<std::string> find_fact(const cache::Key& key);
  void keep_fact(const cache::Key& key, const std::string& text);

  /// This process's counts of the store that the environment names now.
  cache::Counters counters() { return settled_stores().disk.counters(); }
  /// What became of this process's requests to that store.
  cache::Counts counts() { return stores().tally.of_process(); }
  /// The reason why the cache's folder is not used; or empty.
  std::string cache_refusal() { return stores().disk.refusal(); }
  /// The store that the environment names now, and the counts of all processes there. `tally` has what this
  /// process counted.
  cache::DiskStore& disk() { return settled_stores().disk; }
  cache::Tally& tally() { return settled_stores().tally; }
  /// Why a source would hit or miss now. Compiles nothing, and throws as compile() does before it looks.
  Explanation explain(Source source);
  /// What the run uses, and what it takes from packs.
  Recorder& recorder() { return m_recorder; }
  Packs& packs() { return m_packs; }
  /// Compiles what a recording has noted of CUDA for further architectures, one each, several at once. Throws
  /// as compile() does, the first error; ArgumentError for what is no architecture.
  void add_archs(Recorder::Id recording, const std::vector<std::string>& archs);
  /// Waits until what this process has compiled lies in the cache's folders, half a second at most.
  void settle();
  /// The number of workers started so far.
  unsigned workers_started() const { return m_pool.started(); }

  /// The pipeline of this process.
  static Pipeline& instance();

 private:
  /// All that belongs to one cache folder.
  struct Stores {
    explicit Stores(const std::string& folder)
        : disk(folder, cache::cache_size_limit()), tally(disk), modules(disk), parts(disk) {}
    cache::DiskStore disk;
    cache::Tally tally;
    cache::ModuleCache modules;
    DiskPartStore parts;
    cache::Later later;
    /// By the settings that they were made of, guarded by Pipeline's mutex. Null: none. They stay: a thread
    /// of theirs may be sending.
    std::map<std::string, std::unique_ptr<cache::RemoteCache>> remotes;
  };

  Stores& stores();
  /// The same, when nothing is about to be written there.
  Stores& settled_stores();
  void finish();
  /// The shared stores that the environment names; null: none. Throws ArgumentError if that makes no sense.
  cache::RemoteCache* remote(Stores& stores);
  /// `lacks` becomes what this machine lacks of CUDA for a source that holds some; null: then throws
  /// NotFound.
  jit::CompileRequest resolve(Source source, Stores& stores, std::string* lacks = nullptr);
  Module serve(jit::CompileRequest request, const std::string& lacks, Ban given_ban, Stores& stores,
               cache::RemoteCache* remote);
  [[noreturn]] void refuse(const jit::CompileRequest& request, const cache::Key& key, const std::string& why,
                           Ban ban, Stores& stores);
  void note_use(const jit::CompileRequest& request, const cache::Key& key, const cache::CachedModule& module,
                Stores& stores);
  /// `seen`: what has been read of other places' entries.
  Module compile_once(const jit::CompileRequest& request, const cache::Request& asked, FileStamp seen,
                      const cache::Missing& why, Stores& stores, cache::RemoteCache* remote);
  /// `turn`, which may be null, ends when the folder has what the store brings.
  std::optional<Module> fetch(const jit::CompileRequest& request, const cache::Request& asked,
                              std::shared_ptr<FileLock> turn, Stores& stores, cache::RemoteCache& remote,
                              bool again = false);
  jit::CompileResult compile_in_worker(const jit::CompileRequest& request, Stores& stores);
  Module compile_now(const jit::CompileRequest& request, const cache::Request& asked,
                     std::shared_ptr<FileLock> turn, Stores& stores, cache::RemoteCache* remote);
  void before_fork() override { m_mutex.lock(); }
  void after_fork_in_parent() override { m_mutex.unlock(); }
  void after_fork_in_child() override { m_mutex.unlock(); }

  const Settings m_settings;
  std::mutex m_mutex;  ///< of m_stores
  std::map<std::string, std::unique_ptr<Stores>> m_stores;
  jit::WorkerPool m_pool;
  cache::Flights m_flights;
  Failures m_failures;
  Archs m_archs;
  Recorder m_recorder;
  Packs m_packs;
};

}  // namespace tarsia::pipeline
