// Entries by HTTP, in the layout of Bazel's remote cache: bazel-remote, nginx, gateways to object stores.
//
//   URL/ac/KEY      an ActionResult (action_result.h) that names, and if it is small also holds, …
//   URL/cas/HASH    … the envelope, by its SHA-256
//   URL/ac/LEASE    an ActionResult of one text, who compiles KEY just now: "tarsia lease 1" owner count time
//
// LEASE is a hash of KEY. `owner` is a process, `count` goes up each time it renews the lease, `time` is in
// milliseconds of the clock of Unix; the text is "tarsia lease 1 free" once it has ended. HTTP has no change
// that depends on what was there: who takes a lease writes it and looks whether it stayed. Two that write at
// the same time may both have it, and both compile. A lease has ended, too, where it was not renewed as long
// as it lives: by the reader's own clock, from when he saw it first, or by `time` if that is long ago.
//
// An entry is its own witness (envelope.h), so the server need not be trusted; TLS is verified all the same.
// Redirects are not followed. A user and a password in the URL are sent and never shown.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/fork.h"
#include "cache/remote/store.h"

namespace tarsia::cache {

class HttpStore final : public RemoteStore, public ForkAware {
 public:
  explicit HttpStore(const std::string& url);
  ~HttpStore() override;

  const std::string& name() const override { return m_name; }
  void open_libraries() override;
  Answer get(const Key& key, Deadline deadline, std::string& envelope, std::string& why) override;
  Answer put(const Key& key, std::string_view envelope, Deadline deadline, std::string& why) override;
  Lease take_lease(const Key& key, std::chrono::milliseconds life, Deadline deadline) override;
  void renew_lease(const Key& key, std::chrono::milliseconds life, Deadline deadline) override;

 private:
  struct Reply;
  /// A lease of another process, as it was seen first.
  struct SeenLease {
    std::string text;
    std::chrono::steady_clock::time_point since;
  };
  /// Whether another process has the lease that was read.
  bool is_held(const Key& key, const std::string& text, std::chrono::milliseconds life);
  std::string own_lease();
  Answer fetch(const std::string& path, std::uint64_t limit, Deadline deadline, std::string& body,
               std::string& why);
  Answer send(const std::string& path, std::string_view body, Deadline deadline, std::string& why);
  Answer perform(void* handle, const std::string& path, Deadline deadline, Reply& reply, std::string& why);
  Answer take_handle(void*& handle, std::string& why);
  void give_handle(void* handle);
  void before_fork() override { m_mutex.lock(); }
  void after_fork_in_parent() override { m_mutex.unlock(); }
  void after_fork_in_child() override;

  std::string m_url;    ///< without a slash at its end
  std::string m_name;   ///< the same without a password
  std::string m_owner;  ///< of leases, with the number of the process
  std::mutex m_mutex;
  std::vector<void*> m_idle;  ///< handles of curl, each with its connection
  std::map<Key, SeenLease> m_seen;
  std::uint64_t m_renewals = 0;
};

}  // namespace tarsia::cache
