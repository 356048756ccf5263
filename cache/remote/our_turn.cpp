// Asks for the lease, again and again.
#include "cache/remote/our_turn.h"

#include <thread>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/log.h"

namespace tarsia::cache {

OurTurn::OurTurn(RemoteCache* remote, const Request& request, const std::string& what,
                 std::chrono::milliseconds budget, const std::function<bool()>& appeared)
    : OurTurn(remote, request) {
  using namespace std::chrono_literals;
  if (!remote) return;
  const auto end = std::chrono::steady_clock::now() + budget;
  bool waited = false;
  for (;;) {
    const Lease lease = remote->take_turn(request);
    m_ours = lease == Lease::ours;
    if (lease != Lease::others) break;
    if (std::chrono::steady_clock::now() >= end) {
      log().info("waited {} ms for another host's compile of {}; compiling as well", budget.count(), what);
      break;
    }
    if (!waited) log().info("{}: another host compiles it", what);
    waited = true;
    if (is_interrupted())
      throw Interrupted("the wait for another host's compile of " + what + " was interrupted");
    std::this_thread::sleep_for(50ms);
    if (appeared()) return;
  }
  // Another host sends the module before its turn ends, which may have been after we looked and before we
  // asked.
  if (waited || m_ours) static_cast<void>(appeared());
}

OurTurn::~OurTurn() {
  if (m_ours) m_remote->end_turn(m_request);
}

}  // namespace tarsia::cache
