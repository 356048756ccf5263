// Starts the program by vfork, which runs no handlers of fork, and sends it what base/frame_format.h says.
#include "registry/crash/symbolizer.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/frame_format.h"
#include "registry/crash/module_range.h"
#include "registry/crash/signal_text.h"

extern char** environ;

namespace tarsia::registry {
namespace {

std::atomic<const char*> g_program{nullptr};

constexpr int k_patience_ms = 10'000;

struct Symbolizer {
  pid_t process = -1;
  int socket = -1;
};

/// The program, with one end of a socket as its standard input. A process of -1: it did not start.
Symbolizer start() {
  int ends[2];
  if (!g_program || ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return {};
  const char* const program = g_program;
  char* arguments[] = {const_cast<char*>(program), const_cast<char*>(k_frames_option), nullptr};
  const int report = report_descriptor();
  const pid_t child = ::vfork();
  if (child == 0) {
    // These are calls of the kernel, which leave the parent's memory alone.
    // NOLINTBEGIN(clang-analyzer-unix.Vfork)
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    if (::dup2(ends[1], STDIN_FILENO) == STDIN_FILENO && ::dup2(report, STDOUT_FILENO) == STDOUT_FILENO)
      ::execve(program, arguments, environ);
    ::_exit(127);
    // NOLINTEND(clang-analyzer-unix.Vfork)
  }
  ::close(ends[1]);
  if (child > 0) return {child, ends[0]};
  ::close(ends[0]);
  return {};
}

/// Sends all of it. False: the other end is gone, or too slow.
bool send(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(n));
      continue;
    }
    if (n < 0 && errno == EINTR) continue;
    pollfd wait{socket, POLLOUT, 0};
    if (n == 0 || errno != EAGAIN || ::poll(&wait, 1, k_patience_ms) <= 0) return false;
  }
  return true;
}

bool send_value(int socket, const FrameItem& item) {
  return send(socket, {reinterpret_cast<const char*>(&item), sizeof item});
}

bool send_module(int socket, FrameItem::Kind kind, std::uint64_t number, std::string_view name,
                 std::string_view bytes) {
  return send_value(socket, {kind, 0, number, name.size(), bytes.size()}) && send(socket, name) &&
         send(socket, bytes);
}

bool send_origins(int socket, std::span<const TextOrigin> origins) {
  for (const TextOrigin& origin : origins) {
    const std::string_view lines(reinterpret_cast<const char*>(origin.lines.data()),
                                 origin.lines.size() * sizeof(origin.lines[0]));
    const std::size_t n_file = origin.file.size() + 1;  // with the zero
    if (!send_value(socket, {FrameItem::origin, 0, 0, origin.name.size(), n_file + lines.size()}) ||
        !send(socket, origin.name) || !send(socket, {origin.file.c_str(), n_file}) || !send(socket, lines))
      return false;
  }
  return true;
}

template <class F>
void for_each_frame(const SignalFrames& frames, F&& f) {
  for (std::size_t i = 0; i < frames.n_inner; ++i) f(frames.inner[i]);
  for (std::size_t i = 0; i < frames.n_outer_kept(); ++i) f(frames.outer_kept(i));
}

/// Every module that has one of the frames, once.
bool send_modules(int socket, const SignalFrames& frames, const LoadingModule* loading) {
  constexpr std::size_t k_most = 16;
  const ModuleRecord* sent[k_most];
  std::size_t n = 0;
  bool ok = true;
  for_each_frame(frames, [&](const SignalFrame& frame) {
    const ModuleRecord* module = find_module(frame.pc);
    if (!module || !ok || n == k_most) return;
    for (std::size_t i = 0; i < n; ++i)
      if (sent[i] == module) return;
    sent[n++] = module;
    ok = send_module(socket, FrameItem::module, module->begin, module->name, module->bytes) &&
         send_origins(socket, module->origins);
  });
  // Where it is mapped is not known yet.
  for (; loading && ok; loading = loading->outer)
    ok = loading->is_leaving ||
         (send_module(socket, FrameItem::loading, loading->inode, loading->name, loading->bytes) &&
          send_origins(socket, loading->origins));
  return ok;
}

bool send_mappings(int socket) {
  static char s_block[4096];  // one report at a time
  const int file = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (file < 0) return true;
  bool ok = true;
  for (ssize_t n; ok && (n = ::read(file, s_block, sizeof s_block)) > 0;)
    ok = send_value(socket, {FrameItem::mappings, 0, 0, 0, static_cast<std::uint64_t>(n)}) &&
         send(socket, {s_block, static_cast<std::size_t>(n)});
  ::close(file);
  return ok;
}

bool send_frames(int socket, const SignalFrames& frames) {
  bool ok = true;
  const auto send_frame = [&](const SignalFrame& frame) {
    ok = ok && send_value(socket, {FrameItem::frame, frame.is_exact, frame.pc, 0, 0});
  };
  for (std::size_t i = 0; i < frames.n_inner; ++i) send_frame(frames.inner[i]);
  if (frames.left_out()) ok = ok && send_value(socket, {FrameItem::left_out, 0, frames.left_out(), 0, 0});
  for (std::size_t i = 0; i < frames.n_outer_kept(); ++i) send_frame(frames.outer_kept(i));
  return ok;
}

/// Waits for the end of the program. Whether it did what it should.
bool finish(const Symbolizer& symbolizer) {
  ::shutdown(symbolizer.socket, SHUT_WR);
  pollfd wait{symbolizer.socket, POLLIN, 0};
  int n;
  do n = ::poll(&wait, 1, k_patience_ms);
  while (n < 0 && errno == EINTR);
  if (n <= 0) ::kill(symbolizer.process, SIGKILL);
  ::close(symbolizer.socket);
  int state = 0;
  pid_t ended;
  do ended = ::waitpid(symbolizer.process, &state, 0);
  while (ended < 0 && errno == EINTR);
  // Programs that ignore SIGCHLD learn no state.
  return n > 0 && (ended < 0 || (WIFEXITED(state) && WEXITSTATUS(state) == 0));
}

void write_addresses(const SignalFrames& frames) {
  SignalText text(report_descriptor());
  int number = 0;
  for_each_frame(frames, [&](const SignalFrame& frame) {
    text.add("  #").number(number++).add(" ");
    if (const ModuleRecord* module = find_module(frame.pc))
      text.add(module->name).add("+").hex(frame.pc - module->begin).add("\n");
    else
      text.hex(frame.pc).add("\n");
  });
}

}  // namespace

void set_symbolizer(const std::string& program) {
  if (g_program || program.empty()) return;
  char* kept = ::strdup(program.c_str());
  const char* none = nullptr;
  if (!g_program.compare_exchange_strong(none, kept)) ::free(kept);
}

bool has_symbolizer() noexcept {
  return g_program != nullptr;
}

void write_frames(const SignalFrames& frames, const LoadingModule* loading) noexcept {
  const Symbolizer symbolizer = start();
  if (symbolizer.process > 0) {
    const bool sent = send_modules(symbolizer.socket, frames, loading) && send_mappings(symbolizer.socket) &&
                      send_frames(symbolizer.socket, frames);
    if (finish(symbolizer) && sent) return;
  }
  write_addresses(frames);
}

}  // namespace tarsia::registry
