// Entries in Redis or Valkey: GET and SET of `tarsia:KEY`, whose value is the envelope; and leases, which are
// values `tarsia:lease:KEY` that expire.
//
//   redis://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE]        port 6379, database 0; %xx in user and password
//
// Plain TCP to one server: no TLS, no cluster. An entry is its own witness (envelope.h); a password and
// what is compiled here are open to whoever listens. hiredis writes the commands and reads the replies; the
// socket is ours, so that every wait has a deadline and every reply a limit.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/fork.h"
#include "cache/remote/store.h"

namespace tarsia::cache {

class RedisStore final : public RemoteStore, public ForkAware {
 public:
  /// Throws ArgumentError if the URL is none.
  explicit RedisStore(const std::string& url);
  ~RedisStore() override;

  const std::string& name() const override { return m_name; }
  Answer get(const Key& key, Deadline deadline, std::string& envelope, std::string& why) override;
  Answer put(const Key& key, std::string_view envelope, Deadline deadline, std::string& why) override;
  Lease take_lease(const Key& key, std::chrono::milliseconds life, Deadline deadline) override;
  void renew_lease(const Key& key, std::chrono::milliseconds life, Deadline deadline) override;

 private:
  struct Connection;
  struct Reply;
  using Command = std::vector<std::string_view>;
  std::unique_ptr<Connection> open(Deadline deadline, std::string& why);
  /// Sends a command over an idle connection, or over a new one.
  Answer ask(const Command& command, std::uint64_t limit, Deadline deadline, Reply& reply, std::string& why);
  void before_fork() override { m_mutex.lock(); }
  void after_fork_in_parent() override { m_mutex.unlock(); }
  void after_fork_in_child() override;

  std::string m_name;  ///< the URL without a password
  std::string m_host, m_port = "6379", m_user, m_password, m_database = "0";
  std::mutex m_mutex;
  std::vector<std::unique_ptr<Connection>> m_idle;
};

}  // namespace tarsia::cache
