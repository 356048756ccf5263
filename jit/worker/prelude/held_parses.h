// Parses that stand still behind the includes with which a source begins, each in a process of its own.
//
// The worker that reads such includes forks behind them. The child, a held parse, waits. When the worker gets
// another source that begins with the same includes, under the same options, the held parse forks in its
// turn, and this child compiles the source to its end: it has all that the includes made, in memory, as the
// first compile had. It answers the worker's client through the worker's own socket, and leaves.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "jit/protocol.h"

namespace tarsia::jit {

/// The held parses of one worker. Used by the thread that compiles; other threads must stand still while it
/// forks, or do nothing that a child waits for.
class HeldParses {
 public:
  /// Off until a worker that serves a client turns it on: a child must have someone to answer.
  void turn_on() { m_on = true; }
  bool is_on() const { return m_on && !m_child; }
  bool has_any() const { return !m_held.empty() && !m_child; }

  /// Lets the parse that is held under this key answer the client. False if there is none, or if it stands
  /// for files that have changed; nothing was then sent. If the child crashes, so does this process.
  bool answer(const Digest& key, std::string_view request);

  /// Holds the parse that this thread is in. Returns nothing in this process, which goes on. In each child
  /// that is to compile another source it returns that source's request. Does nothing if the process takes
  /// too much of the machine's memory.
  std::optional<std::string> hold(const Digest& key);

  /// In a child, before anything is sent: the parse does not stand for this request.
  [[noreturn]] static void refuse();
  /// In a child: the client has its answer. Ends this process. Does nothing elsewhere.
  void leave();

 private:
  struct Held {
    Digest key{};
    pid_t pid = -1;
    Channel channel;
    ~Held();
  };
  std::optional<std::string> wait_for_requests(Channel& channel);

  bool m_on = false;
  bool m_child = false;
  std::list<std::unique_ptr<Held>> m_held;  ///< the one used last is the first
  std::unique_ptr<Channel> m_worker;        ///< of a child
};

}  // namespace tarsia::jit
