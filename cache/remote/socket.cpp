// Connects, sends and receives without ever waiting longer than it may.
#include "cache/remote/socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "cache/later.h"

namespace tarsia::cache {
namespace {

using Clock = std::chrono::steady_clock;
using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

constexpr const char* k_late = "it did not answer in time";

/// Waits for an event. False: the time is over.
bool wait_for(int socket, short event, Deadline deadline) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd one{.fd = socket, .events = event, .revents = 0};
    const int n = ::poll(&one, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
    if (n > 0) return true;
    if (n == 0 || errno != EINTR) return false;
  }
}

addrinfo* look_up(const std::string& host, const std::string& port, int flags, int& error) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  error = ::getaddrinfo(host.c_str(), port.c_str(), &wanted, &found);
  return error == 0 ? found : nullptr;
}

/// What a name server tells, asked by a thread of its own: the C library knows no deadline, and nobody waits
/// for that thread.
struct Question {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  int error = 0;
  Addresses found{nullptr, &::freeaddrinfo};
};

Addresses resolve(const std::string& host, const std::string& port, Deadline deadline, std::string& why) {
  int error = 0;
  if (addrinfo* found = look_up(host, port, AI_NUMERICHOST, error)) return {found, &::freeaddrinfo};
  const auto question = std::make_shared<Question>();
  try {
    start_quietly([question, host, port] {
      int failed = 0;
      addrinfo* found = look_up(host, port, 0, failed);
      const std::lock_guard lock(question->mutex);
      question->found.reset(found);
      question->error = failed;
      question->done = true;
      question->changed.notify_all();
    }).detach();
  } catch (const std::exception& e) {
    why = e.what();
    return {nullptr, &::freeaddrinfo};
  }
  std::unique_lock lock(question->mutex);
  if (!question->changed.wait_until(lock, deadline, [&] { return question->done; }))
    why = "no name server answered in time";
  else if (!question->found)
    why = host + " is unknown: " + ::gai_strerror(question->error);
  return std::move(question->found);
}

}  // namespace

std::string connect_to(const std::string& host, const std::string& port, Deadline deadline,
                       UniqueFd& socket) {
  deadline = std::min(deadline, Clock::now() + k_connect);
  std::string why;
  const Addresses addresses = resolve(host, port, deadline, why);
  for (const addrinfo* one = addresses.get(); one; one = one->ai_next) {
    socket.reset(::socket(one->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket) {
      why = errno_message("no socket", errno);
      continue;
    }
    if (::connect(socket.get(), one->ai_addr, one->ai_addrlen) != 0) {
      int error = errno;
      if (error == EINPROGRESS) {
        if (!wait_for(socket.get(), POLLOUT, deadline)) {
          why = "it took no connection in time";
          continue;
        }
        socklen_t size = sizeof error;
        ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
      }
      if (error != 0) {
        why = errno_message("it took no connection", error);
        continue;
      }
    }
    const int on = 1;
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return {};
  }
  socket.reset();
  return why.empty() ? "it has no address" : why;
}

std::string send_all(int socket, std::string_view bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno == EAGAIN) {
      if (!wait_for(socket, POLLOUT, deadline)) return k_late;
    } else if (errno != EINTR) {
      return errno_message("it cannot be sent to", errno);
    }
    if (Clock::now() >= deadline) return k_late;
  }
  return {};
}

std::string receive(int socket, char* bytes, std::size_t size, Deadline deadline, std::size_t& n) {
  for (;;) {
    if (!wait_for(socket, POLLIN, deadline)) return k_late;
    const ssize_t got = ::recv(socket, bytes, size, 0);
    if (got >= 0) {
      n = static_cast<std::size_t>(got);
      return {};
    }
    if (errno != EINTR && errno != EAGAIN) return errno_message("it broke off", errno);
  }
}

}  // namespace tarsia::cache
