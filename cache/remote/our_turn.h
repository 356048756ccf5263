// Of the hosts that lack a module, one compiles it.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "cache/remote/remote_cache.h"

namespace tarsia::cache {

/// This host's turn, which ends with this once all is sent that was queued before. It is advice: where no
/// store keeps leases, or none answers, every host has its turn at once.
class OurTurn {
 public:
  /// Waits until it has come, until `appeared()` says that another host has sent the module, or for `budget`.
  /// `remote` may be null. Throws Interrupted.
  OurTurn(RemoteCache* remote, const Request& request, const std::string& what,
          std::chrono::milliseconds budget, const std::function<bool()>& appeared);
  ~OurTurn();
  OurTurn(const OurTurn&) = delete;
  OurTurn& operator=(const OurTurn&) = delete;

 private:
  /// So that the destructor ends the turn also where the wait throws.
  OurTurn(RemoteCache* remote, const Request& request) : m_remote(remote), m_request(request) {}

  RemoteCache* m_remote;
  const Request& m_request;
  bool m_ours = false;
};

}  // namespace tarsia::cache
