// Notes what a run uses of modules, to write it into a pack.
//
// A recording notes the bytes at once: until it ends, a sweep may take the module from the cache. Recordings
// may overlap, and each notes what every thread of the process asks for. They are their process's: a forked
// child has none.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/dependency.h"
#include "base/fork.h"
#include "cache/key.h"
#include "cache/module_cache.h"
#include "cache/pack.h"
#include "jit/compile.h"

namespace tarsia::pipeline {

/// A module that was used, and what leads to it.
struct UsedModule {
  cache::Key request_key{}, module_key{};
  std::string payload, meta;
  std::string inputs;     ///< serialised
  std::string made_with;  ///< serialised
  std::vector<Dependency> dependencies;
  std::optional<cache::SetForAllPlaces> everywhere;
  std::shared_ptr<const jit::CompileRequest> request;  ///< of a CUDA source; null of others
};

/// A module that a recording could not note.
struct LeftOut {
  std::string name, why;
};

struct Recorded {
  std::string path;  ///< absolute
  std::vector<std::shared_ptr<const UsedModule>> used;
  std::vector<LeftOut> left_out;
};

/// Thread-safe.
class Recorder final : public ForkAware {
 public:
  using Id = std::uint64_t;

  Recorder() { watch_forks(); }
  ~Recorder() { forget_forks(); }

  /// Begins a recording for a pack at this path. Throws Error if nothing can be written there.
  Id begin(const std::string& path);
  /// What a recording has noted; it goes on. Throws Error if it has ended. Without a path: it was begun
  /// before this process was forked, and has nothing.
  Recorded so_far(Id id);
  /// Writes a recording's pack and ends it. Throws as cache::write_pack_file does; it then goes on.
  struct Written;
  Written write(Id id);
  /// Ends a recording; unknown ones, too.
  void end(Id id);

  /// Whether there is a recording. Costs nothing.
  bool is_on() const { return m_n_on.load(std::memory_order_acquire) != 0; }
  /// Whether a recording lacks this module.
  bool wants(const cache::Key& request_key, const cache::Key& module_key);
  void note(UsedModule used);
  void leave_out(const std::string& name, const std::string& why);

  /// A request that is being served. A recording that ends before it leaves it out.
  class Request {
   public:
    Request(Recorder& recorder, const jit::CompileRequest& request);
    ~Request();
    Request(const Request&) = delete;
    Request& operator=(const Request&) = delete;

   private:
    Recorder& m_recorder;
    std::uint64_t m_number = 0;  ///< 0: nobody records
  };

 private:
  struct Recording {
    std::set<std::pair<cache::Key, cache::Key>> known;
    Recorded recorded;
    std::map<std::uint64_t, std::string> under_way;  ///< names of requests
  };
  void before_fork() override { m_mutex.lock(); }
  void after_fork_in_parent() override { m_mutex.unlock(); }
  void after_fork_in_child() override;

  std::atomic<std::size_t> m_n_on{0};
  std::mutex m_mutex;
  std::map<Id, Recording> m_recordings;
  std::set<Id> m_parents;  ///< those that the process was forked within
  std::uint64_t m_next = 1;
};

struct Recorder::Written {
  bool is_there = false;  ///< false in a process that was forked meanwhile
  cache::Packed packed;
  std::vector<LeftOut> left_out;
};

}  // namespace tarsia::pipeline
