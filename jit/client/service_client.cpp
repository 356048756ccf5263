// The client's side of jit/service/.
#include "jit/client/service_client.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <mutex>

#include "base/error.h"
#include "base/fork.h"
#include "base/log.h"
#include "jit/service_protocol.h"
#include "jit/unix_address.h"

namespace tarsia::jit {
namespace {

using namespace std::chrono_literals;

// A service that lives says at once that it has the request.
constexpr auto k_answer_time = 500ms;
// Longer than this in its queue, and a worker of one's own is sooner there.
constexpr auto k_queue_time = 60s;
constexpr auto k_left_alone = 5s;

/// The service that failed last.
struct Failed {
  ForkSafeMutex mutex;
  std::string socket;
  Clock::time_point until{};
};
std::atomic<Failed*> s_failed{nullptr};
Failed& failed() {
  return made_once(s_failed, [] { return Failed(); });
}

/// Ends a request that gets no worker. A process that was forked meanwhile may have the socket, too. Closing
/// it would then tell the service nothing.
struct EndsRequest {
  int fd;
  bool ends = true;
  ~EndsRequest() {
    if (ends) ::shutdown(fd, SHUT_RDWR);
  }
};

bool is_left_alone(const std::string& socket) {
  const std::lock_guard lock(failed().mutex);
  return failed().socket == socket && Clock::now() < failed().until;
}

void leave_alone(const std::string& socket, const std::string& why) {
  {
    const std::lock_guard lock(failed().mutex);
    failed().socket = socket;
    failed().until = Clock::now() + k_left_alone;
  }
  log().warn("the service at {} lends no compiler: {}; this process starts its own", socket, why);
}

/// Empty, and why, if it cannot be reached.
UniqueFd connect_to(const std::string& path, std::string& why) {
  if (path.size() > UnixAddress::k_longest) return why = "its path is too long for a socket", UniqueFd();
  const UnixAddress address(path);
  // Where its own queue of connections is full, it is not to be waited for.
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket || ::connect(socket.get(), address.get(), UnixAddress::size()) != 0)
    return why = errno_message("it cannot be reached", errno), UniqueFd();
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
      (peer.uid != ::geteuid() && peer.uid != 0))
    return why = "it is another user's", UniqueFd();
  return socket;
}

}  // namespace

std::unique_ptr<WorkerProcess> borrow_worker(const std::string& path, const WorkerProgram& program,
                                             const CompileRequest& request) {
  if (is_left_alone(path)) return nullptr;
  // Another client may have confined the worker, and heard what the kernel lacks.
  if (program.isolation == Isolation::required && !isolation_here().complete) return nullptr;
  std::string why;
  UniqueFd socket = connect_to(path, why);
  if (!socket) return leave_alone(path, why), nullptr;
  Channel service(std::move(socket));
  EndsRequest request_end{service.fd()};
  Message answer;
  const auto interrupted = [] {
    throw Interrupted("a compile was interrupted while it waited for the service");
  };
  try {
    const LeaseRequest wanted{program.build_id, program.isolation != Isolation::off, request.cuda,
                              request.cuda_parts};
    const Deadline soon = Clock::now() + k_answer_time;
    Channel::Status status = service.send(frame_type(ServiceMessage::lease), encode(wanted), {}, soon);
    if (status == Channel::Status::ok) status = service.receive(answer, soon);
    const bool queued = status == Channel::Status::ok && answer.type == frame_type(ServiceMessage::queued);
    if (queued) status = service.receive(answer, Clock::now() + k_queue_time);
    if (status == Channel::Status::interrupted) interrupted();
    if (queued && status == Channel::Status::timed_out)
      return leave_alone(path, "none became free within a minute"), nullptr;
    if (status == Channel::Status::closed) return leave_alone(path, "it ended the request"), nullptr;
    if (status != Channel::Status::ok) return leave_alone(path, "it does not answer"), nullptr;
    if (answer.type == frame_type(ServiceMessage::busy)) {
      log().info("the service at {} lends no compiler: {}", path, answer.payload);
      return nullptr;
    }
    if (answer.type != frame_type(ServiceMessage::leased) || answer.descriptors.size() != 1)
      return leave_alone(path, "it answers out of turn"), nullptr;
    request_end.ends = false;
    return WorkerProcess::borrowed(std::move(answer.descriptors[0]), std::move(service),
                                   decode_leased_worker(answer.payload), program.isolation);
  } catch (const Interrupted&) {
    throw;
  } catch (const Error& error) {
    return leave_alone(path, error.what()), nullptr;
  }
}

}  // namespace tarsia::jit
