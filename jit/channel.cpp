// Frames over a stream socket: u32 length, u8 type, payload. Descriptors travel with the frame's first
// byte.
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/little_endian.h"
#include "jit/protocol.h"
#include "jit/service_protocol.h"

namespace tarsia::jit {
namespace {

constexpr std::size_t k_header = 5;
constexpr std::size_t k_max_descriptors = 4;
constexpr auto k_last_type = static_cast<std::uint8_t>(ServiceMessage::worker_ended);

bool is_end(int error) {
  return error == EPIPE || error == ECONNRESET;
}

void take_descriptors(msghdr& header, std::vector<UniqueFd>& descriptors) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof fd);
      descriptors.emplace_back(fd);
    }
  }
}

}  // namespace

std::pair<UniqueFd, UniqueFd> make_socket_pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    raise_errno("cannot make a socket pair", errno);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

void Channel::watch_beside(int fd, std::function<bool()> readable) {
  m_beside_fd = fd;
  m_beside = std::move(readable);
}

Channel::Status Channel::wait(short events, Deadline deadline) {
  for (;;) {
    int timeout = -1;
    if (deadline != k_no_deadline) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
      if (left <= 0) return Status::timed_out;
      timeout = static_cast<int>(std::min<long long>(left, INT_MAX));
    }
    if (may_be_interrupted()) {
      constexpr int k_step = k_ask_every / std::chrono::milliseconds(1);
      if (is_interrupted()) return Status::interrupted;
      timeout = timeout < 0 ? k_step : std::min(timeout, k_step);
    }
    // poll ignores a descriptor of -1.
    pollfd watched[] = {{m_socket.get(), events, 0}, {m_beside_fd, POLLIN, 0}};
    const int ready = ::poll(watched, 2, timeout);
    if (ready > 0 && watched[1].revents != 0 && !m_beside()) m_beside_fd = -1;
    if (ready > 0 && watched[0].revents != 0) return Status::ok;
    if (ready < 0 && errno != EINTR) raise_errno("cannot wait for the compiler's socket", errno);
  }
}

Channel::Status Channel::send(MessageType type, std::string_view payload, std::span<const int> descriptors,
                              Deadline deadline) {
  if (payload.size() > k_max_frame || descriptors.size() > k_max_descriptors) {
    throw Error("a message to or from the compiler is too large: " + std::to_string(payload.size()) +
                " bytes");
  }
  std::array<char, k_header> head;
  const auto length = little_endian(static_cast<std::uint32_t>(payload.size()));
  std::copy(length.begin(), length.end(), head.begin());
  head[4] = static_cast<char>(type);

  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * k_max_descriptors)] = {};
  std::size_t sent = 0;
  const std::size_t total = k_header + payload.size();
  while (sent < total) {
    iovec pieces[2];
    int n_pieces = 0;
    if (sent < k_header) pieces[n_pieces++] = {head.data() + sent, k_header - sent};
    const std::size_t offset = sent < k_header ? 0 : sent - k_header;
    if (offset < payload.size()) {
      pieces[n_pieces++] = {const_cast<char*>(payload.data()) + offset, payload.size() - offset};
    }
    msghdr header{};
    header.msg_iov = pieces;
    header.msg_iovlen = static_cast<std::size_t>(n_pieces);
    if (sent == 0 && !descriptors.empty()) {
      header.msg_control = control;
      header.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
      cmsghdr* part = CMSG_FIRSTHDR(&header);
      part->cmsg_level = SOL_SOCKET;
      part->cmsg_type = SCM_RIGHTS;
      part->cmsg_len = CMSG_LEN(descriptors.size_bytes());
      std::memcpy(CMSG_DATA(part), descriptors.data(), descriptors.size_bytes());
    }
    const ssize_t n = ::sendmsg(m_socket.get(), &header, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) {
      sent += static_cast<std::size_t>(n);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (const Status status = wait(POLLOUT, deadline); status != Status::ok) return status;
    } else if (is_end(errno)) {
      return Status::closed;
    } else if (errno != EINTR) {
      raise_errno("cannot send to the other side of the compiler's socket", errno);
    }
  }
  return Status::ok;
}

Channel::Status Channel::receive_bytes(char* bytes, std::size_t size, Message& message, Deadline deadline) {
  std::size_t have = 0;
  while (have < size) {
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * k_max_descriptors)];
    iovec piece{bytes + have, size - have};
    msghdr header{};
    header.msg_iov = &piece;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    const ssize_t n = ::recvmsg(m_socket.get(), &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (n > 0) {
      take_descriptors(header, message.descriptors);
      // The rest of the message arrives all the same, and is read, so that the stream stays in order.
      if (header.msg_flags & MSG_CTRUNC) message.descriptors_lost = true;
      have += static_cast<std::size_t>(n);
    } else if (n == 0) {
      return Status::closed;
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (const Status status = wait(POLLIN, deadline); status != Status::ok) return status;
    } else if (is_end(errno)) {
      return Status::closed;
    } else if (errno != EINTR) {
      raise_errno("cannot receive from the other side of the compiler's socket", errno);
    }
  }
  return Status::ok;
}

Channel::Status Channel::receive(Message& message, Deadline deadline) {
  message.descriptors.clear();
  message.descriptors_lost = false;
  message.payload.clear();
  std::array<char, k_header> head;
  Status status = receive_bytes(head.data(), head.size(), message, deadline);
  if (status != Status::ok) return status;
  const auto length = LittleReader({head.data(), 4}).number<std::uint32_t>();
  const auto type = static_cast<std::uint8_t>(head[4]);
  if (length > k_max_frame || type < 1 || type > k_last_type) {
    throw Error("the other side of the compiler's socket does not speak its protocol");
  }
  message.type = static_cast<MessageType>(type);
  // In steps: a false length must not make us allocate it.
  constexpr std::size_t k_step = std::size_t{4} << 20;
  while (message.payload.size() < length) {
    const std::size_t have = message.payload.size();
    const std::size_t step = std::min<std::size_t>(std::max(k_step, have), length - have);
    message.payload.resize(have + step);
    status = receive_bytes(message.payload.data() + have, step, message, deadline);
    if (status != Status::ok) return status;
  }
  return Status::ok;
}

}  // namespace tarsia::jit
