// The shared store of a fleet, behind the store on disk: modules that others compiled, and modules for others.
//
// A request's files are found by its list for all places (Kind::shared), and that list names the module. Both
// come in signed envelopes. What was fetched is published on disk, and from then on is found there. Only names
// below roots, or in the machine's folders of headers, count in a list that came from elsewhere.
//
// What was compiled is sent by a thread of its own. When the program ends, what is pending has k_last_wait.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/fork.h"
#include "cache/disk_store.h"
#include "cache/module_cache.h"
#include "cache/remote/breaker.h"
#include "cache/remote/keys.h"
#include "cache/remote/store.h"

namespace tarsia::cache {

struct RemoteSettings {
  std::vector<std::string> urls;   ///< TARSIA_REMOTE, in the order of the search
  std::string sign_key;            ///< TARSIA_SIGN_KEY: a file; empty: nothing is sent
  std::vector<std::string> trust;  ///< TARSIA_TRUST: files
  bool unsigned_ = false;          ///< TARSIA_TRUST=unsafe-unsigned

  static RemoteSettings of_environment();
  bool operator==(const RemoteSettings&) const = default;
};

/// Counts of this process.
struct RemoteCounters {
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  std::uint64_t failures = 0;  ///< a store did not answer, or answered that it cannot
  std::uint64_t refused = 0;   ///< an entry was none, or was not signed as it must be
  std::uint64_t skipped = 0;   ///< a store was left alone, since it had failed shortly before
  std::uint64_t sent = 0;
  std::uint64_t not_sent = 0;
};

/// Thread-safe. A forked child sends nothing that its parent queued.
class RemoteCache final : public ForkAware {
 public:
  static constexpr std::chrono::milliseconds k_look_up{500}, k_last_wait{500};

  /// Reads the keys. Throws ArgumentError if the settings do not make sense, NotFound without a library that
  /// a URL needs.
  RemoteCache(RemoteSettings settings, DiskStore& disk);
  ~RemoteCache();

  /// Brings a module that fits the request's files, and publishes it with its list on disk. Whether
  /// find_elsewhere() will find something now. Never throws for the sake of a store; ends within k_look_up.
  bool fetch(const Request& request);
  /// Queues the request's list and a module for the stores. Both are read from the disk when their turn comes.
  void send(const Request& request, const Key& module_key);
  /// A module that came from a store and is of no use here: it is removed from the disk, and not fetched again
  /// by this process.
  void reject(const Key& module_key);
  /// Waits until nothing is pending, or so long. Returns whether nothing is.
  bool flush(std::chrono::milliseconds most);

  RemoteCounters counters() const;

 private:
  struct Tier {
    std::unique_ptr<RemoteStore> store;
    std::unique_ptr<Breaker> breaker;
  };
  struct Job {
    Key shared, module;
  };
  bool get(Tier& tier, Kind kind, const Key& key, Deadline deadline, Entry& entry, KeyId& signer);
  bool fetch_from(Tier& tier, const Request& request, Deadline deadline);
  void put(Tier& tier, const Job& job);
  void drop_revoked();
  void work();
  void start_thread();
  void before_fork() override { m_mutex.lock(); }
  void after_fork_in_parent() override { m_mutex.unlock(); }
  void after_fork_in_child() override;

  const RemoteSettings m_settings;
  DiskStore& m_disk;
  std::optional<SigningKey> m_signing;
  Trust m_trust;
  std::vector<Tier> m_tiers;

  std::mutex m_mutex;  ///< of what follows
  std::set<Key> m_rejected;
  std::deque<Job> m_jobs;
  bool m_busy = false, m_ends = false, m_runs = false;
  std::unique_ptr<std::thread> m_thread;
  /// New in a forked child, where nobody waits.
  std::unique_ptr<std::condition_variable> m_changed = std::make_unique<std::condition_variable>();

  std::atomic<std::uint64_t> m_hits{0}, m_misses{0}, m_failures{0}, m_refused{0}, m_skipped{0}, m_sent{0},
      m_not_sent{0};
};

}  // namespace tarsia::cache
