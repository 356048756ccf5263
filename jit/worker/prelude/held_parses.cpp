// Holds parses in forked processes.
//
// A worker and its held parse share a socket pair. The worker sends a request, the held parse answers
// `started` and forks. The child sends `result` when it has answered the client. If the child ends otherwise,
// the held parse sends `ended` with its status, and the worker ends in the same way, so that the client sees
// what it would see of a compile in the worker itself.
#include "jit/worker/prelude/held_parses.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>

#include "base/error.h"
#include "base/file.h"

namespace tarsia::jit {
namespace {

constexpr std::size_t k_most_held = 2;
constexpr int k_refused = 88;  // a child's exit code
#ifndef SYS_pidfd_open         // a name that older C libraries lack
#define SYS_pidfd_open 434
#endif

/// The number behind a name in one of /proc's tables, in KiB; 0 if it is not there.
std::uint64_t kib_of(const char* table, std::string_view name) {
  std::string text;
  if (read_file(table, text, std::uint64_t{1} << 20) != 0) return 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (!line.starts_with(name)) continue;
    const std::size_t digits = line.find_first_of("0123456789");
    std::uint64_t number = 0;
    if (digits != line.npos) std::from_chars(line.data() + digits, line.data() + line.size(), number);
    return number;
  }
  return 0;
}

/// A held parse may take a quarter of the memory that is left. So all workers together leave some.
bool is_affordable() {
  const std::uint64_t own = kib_of("/proc/self/status", "VmRSS:");
  return own != 0 && own <= kib_of("/proc/meminfo", "MemAvailable:") / 4;
}

/// Ends this process as its child ended.
[[noreturn]] void end_like(int status) {
  if (WIFSIGNALED(status)) {
    ::signal(WTERMSIG(status), SIG_DFL);
    ::kill(::getpid(), WTERMSIG(status));
  }
  ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

/// Dies with its parent.
void follow(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(0);
}

}  // namespace

HeldParses::Held::~Held() {
  if (pid <= 0) return;
  ::kill(pid, SIGKILL);
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

bool HeldParses::answer(const Digest& key, std::string_view request) {
  if (!is_on()) return false;
  const auto found = std::ranges::find_if(m_held, [&](const auto& held) { return held->key == key; });
  if (found == m_held.end()) return false;
  m_held.splice(m_held.begin(), m_held, found);
  Channel& channel = m_held.front()->channel;
  Message message;
  // If it has been killed, nothing has been sent to the client.
  if (channel.send(MessageType::compile, request) != Channel::Status::ok ||
      channel.receive(message) != Channel::Status::ok || message.type != MessageType::started) {
    m_held.pop_front();
    return false;
  }
  if (channel.receive(message) != Channel::Status::ok) end_like(SIGKILL);
  if (message.type == MessageType::result) return true;
  int status = 0;
  std::from_chars(message.payload.data(), message.payload.data() + message.payload.size(), status);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != k_refused) end_like(status);
  m_held.pop_front();
  return false;
}

std::optional<std::string> HeldParses::hold(const Digest& key) {
  if (!is_on() || !is_affordable()) return std::nullopt;
  while (m_held.size() >= k_most_held) m_held.pop_back();
  auto [mine, its] = make_socket_pair();
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return std::nullopt;
  if (child > 0) {
    m_held.push_front(std::unique_ptr<Held>(new Held{key, child, Channel(std::move(mine))}));
    return std::nullopt;
  }
  follow(parent);
  m_child = true;
  mine.reset();
  for (const auto& held : m_held) held->pid = -1;  // the parent's, which are not this process's to end
  m_held.clear();
  m_worker = std::make_unique<Channel>(std::move(its));
  try {
    return wait_for_requests(*m_worker);
  } catch (const std::exception&) {
    ::_exit(1);
  }
}

// In the held parse; returns in its children.
std::optional<std::string> HeldParses::wait_for_requests(Channel& channel) {
  pid_t child = -1;
  const auto reap = [&]() -> bool {
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    child = -1;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return false;
    static_cast<void>(channel.send(MessageType::ended, std::to_string(status)));
    return false;
  };
  for (UniqueFd ended;;) {
    Message message;
    if (channel.receive(message) != Channel::Status::ok || message.type != MessageType::compile) ::_exit(0);
    if (child > 0) reap();  // it has answered, and is about to leave
    if (channel.send(MessageType::started, {}) != Channel::Status::ok) ::_exit(0);
    const pid_t parent = ::getpid();
    child = ::fork();
    if (child == 0) {
      follow(parent);
      channel.watch_beside(-1, {});
      return std::move(message.payload);
    }
    if (child < 0) {
      static_cast<void>(channel.send(MessageType::ended, std::to_string(k_refused << 8)));
      continue;
    }
    ended = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, child, 0u)));
    if (ended)
      channel.watch_beside(ended.get(), reap);
    else
      reap();
  }
}

void HeldParses::refuse() {
  ::_exit(k_refused);
}

void HeldParses::leave() {
  if (!m_child) return;
  static_cast<void>(m_worker->send(MessageType::result, {}));
  ::_exit(0);
}

}  // namespace tarsia::jit
