// Starts the program and sends it what base/frame_format.h says.
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
#include <memory>
#include <vector>

#include "base/frame_format.h"
#include "registry/crash/bare_process.h"
#include "registry/crash/module_range.h"
#include "registry/crash/signal_text.h"

namespace tarsia::registry {
namespace {

// What is started. It is made ready long before: what overflows a stack may reach the process's own
// environment, which lies behind it.
class Program {
 public:
  explicit Program(const std::string& path) : m_path(path) {
    // A sanitizer that is preloaded watches this process, not that one.
    for (const char* name :
         {"LD_LIBRARY_PATH", "ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"})
      if (const char* value = std::getenv(name)) m_variables.push_back(std::string(name) + "=" + value);
    for (std::string& variable : m_variables) m_environment.push_back(variable.data());
    m_environment.push_back(nullptr);
  }
  pid_t start(int input) const {
    char* const arguments[] = {const_cast<char*>(m_path.c_str()), const_cast<char*>(k_frames_option),
                               nullptr};
    return start_bare({m_path.c_str(), arguments, m_environment.data(), input, report_descriptor()});
  }

 private:
  std::string m_path;
  std::vector<std::string> m_variables;
  std::vector<char*> m_environment;
};
std::atomic<const Program*> g_program{nullptr};  // never destroyed

constexpr int k_patience_ms = 10'000;

struct Symbolizer {
  pid_t process = -1;
  int socket = -1;
};

/// The program, with one end of a socket as its standard input. A process of -1: it did not start.
Symbolizer start() {
  int ends[2];
  if (!g_program || ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return {};
  const pid_t child = g_program.load()->start(ends[1]);
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
  auto made = std::make_unique<const Program>(program);
  const Program* none = nullptr;
  if (g_program.compare_exchange_strong(none, made.get())) static_cast<void>(made.release());
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
