// The shared store of a fleet, behind the store on disk: modules that others compiled, and modules for
// others.
//
// A request's files are found by its list for all places (Kind::shared), and that list names the module. Both
// come in signed envelopes, a small module in that of its list (listing.h). Only names below roots, or in the
// machine's folders of headers, count in a list that came from elsewhere.
//
// What was compiled is sent by a thread of its own. When the program ends, what is pending has k_last_wait.
//
// Of the hosts that lack a module, one compiles it, where a store keeps leases: advice, and no lock. The
// thread renews a lease until the module was sent. That of a host that died ends after k_lease.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/fork.h"
#include "cache/disk_store.h"
#include "cache/keys.h"
#include "cache/module_cache.h"
#include "cache/remote/breaker.h"
#include "cache/remote/settings.h"
#include "cache/remote/store.h"
#include "cache/tally.h"

namespace tarsia::cache {

/// Thread-safe. A forked child sends nothing that its parent queued.
class RemoteCache final : public ForkAware {
 public:
  /// A look-up costs half a second at most, with what comes on top: a thread that wakes up, a breaker's file.
  static constexpr std::chrono::milliseconds k_look_up{480};
  static constexpr std::chrono::milliseconds k_last_wait{500}, k_lease{10'000};

  /// Reads the keys, and removes modules from the disk whose signer's key is revoked. Connects to nothing.
  /// Throws ArgumentError if the settings do not make sense.
  RemoteCache(RemoteSettings settings, DiskStore& disk, Tally& tally);
  ~RemoteCache();

  /// Brings a module that fits the request's files. Never throws for the sake of a store; ends within
  /// k_look_up. Counts what the stores did, but not the hit.
  /// `again`: a look that does not count as a miss.
  std::optional<NewModule> fetch(const Request& request, bool again = false);
  /// Whether this host is to compile what was not found. Whoever gets `ours` calls end_turn() afterwards.
  Lease take_turn(const Request& request);
  /// Lets others have their turn, once all is sent that was queued before.
  void end_turn(const Request& request);
  bool reads() const { return m_reads; }
  const std::set<KeyId>& revoked() const { return m_trust.revoked(); }
  /// Queues the request's list and a module for the stores. Both are read from the disk when their turn
  /// comes. Returns whether this is the first that was queued. Whoever gets that calls flush() when the
  /// program ends, before the libraries of the connections end: they are open now.
  bool send(const Request& request, const Key& module_key);
  /// A module that came from a store and is of no use here is not fetched again by this process.
  void reject(const Key& module_key);
  /// Waits until nothing is pending, or so long. Returns whether nothing is.
  bool flush(std::chrono::milliseconds most);
  /// What this machine lacks to ask one of the stores; or "". Known after the first fetch.
  std::string lacks();

 private:
  struct Tier {
    std::unique_ptr<RemoteStore> store;
    std::unique_ptr<Breaker> reads, writes;
    std::string lacks;  ///< belongs to m_mutex
  };
  struct Job {
    Key shared, module;
    bool ends_turn = false;  ///< instead of sending
  };
  class Sending;
  void drop_revoked();
  void open_tiers();
  bool can_ask(Tier& tier, bool writes);
  void note_lack(Tier& tier, const std::string& why);
  void note_no_write(Tier& tier, const std::string& why);
  bool get(Tier& tier, Kind kind, const Key& key, Deadline deadline, Entry& entry, KeyId& signer);
  std::optional<NewModule> fetch_from(Tier& tier, const Request& request, Deadline deadline);
  bool put(Tier& tier, const Job& job);
  void renew(const std::map<Key, Tier*>& leases, std::chrono::milliseconds life);
  void run(const Job& job);
  void work();
  /// The caller holds m_mutex.
  bool start_thread();
  void before_fork() override { m_mutex.lock(); }
  void after_fork_in_parent() override { m_mutex.unlock(); }
  void after_fork_in_child() override;

  const RemoteSettings m_settings;
  DiskStore& m_disk;
  Tally& m_tally;
  std::optional<SigningKey> m_signing;
  Trust m_trust;
  bool m_reads = false, m_writes = false;
  std::vector<Tier> m_tiers;

  std::mutex m_mutex;  ///< of what follows
  std::set<Key> m_rejected;
  std::deque<Job> m_jobs;
  std::map<Key, Tier*> m_leases;
  bool m_busy = false, m_ends = false, m_runs = false, m_has_sent = false;
  Tier* m_sending = nullptr;  ///< that takes an entry just now, since then
  Deadline m_sending_since;
  std::unique_ptr<std::thread> m_thread;
  /// New in a forked child, where nobody waits.
  std::unique_ptr<std::condition_variable> m_changed = std::make_unique<std::condition_variable>();
};

/// Removes the modules of a store on disk that one of these keys signed. Returns how many.
std::size_t drop_signed_by(DiskStore& disk, const std::set<KeyId>& revoked);

}  // namespace tarsia::cache
