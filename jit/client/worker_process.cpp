// A worker's start, its standard error, and its end.
#include "jit/client/worker_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>

#include "base/error.h"
#include "base/log.h"
#include "jit/client/spawn.h"
#include "jit/scratch.h"

namespace tarsia::jit {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t k_tail = 16 << 10;

/// How many processes the kernel has killed for want of memory; 0 if it does not say.
std::uint64_t oom_kills() {
  std::string text;
  if (read_file("/proc/vmstat", text, 1 << 20) != 0) return 0;
  const std::size_t at = text.find("\noom_kill ");
  std::uint64_t count = 0;
  if (at != std::string::npos) std::from_chars(text.data() + at + 10, text.data() + text.size(), count);
  return count;
}

bool speaks_of_memory(const std::string& words) {
  for (const char* sign : {"out of memory", "bad_alloc", "Out of memory", "Cannot allocate memory"}) {
    if (words.find(sign) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

WorkerProcess::WorkerProcess(UniqueFd socket, UniqueFd standard_error, ChildProcess child,
                             std::uint64_t memory_bytes)
    : m_channel(std::move(socket)),
      m_stderr(std::move(standard_error)),
      m_child(std::move(child)),
      m_memory_bytes(memory_bytes),
      m_oom_kills(oom_kills()) {
  m_channel.watch_beside(m_stderr.get(), [this] { return drain(); });
}

std::unique_ptr<WorkerProcess> WorkerProcess::start(const WorkerProgram& program, Deadline deadline) {
  auto [near, far] = make_socket_pair();
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) raise_errno("cannot make a pipe for the compiler", errno);
  UniqueFd words(ends[0]), words_end(ends[1]);
  if (::fcntl(words.get(), F_SETFL, O_NONBLOCK) != 0)
    throw Error(errno_message("cannot prepare a pipe", errno));

  ChildProcess child;
  if (const int error = spawn({.program = program.path,
                               .arguments = program.arguments,
                               .socket = far.get(),
                               .standard_error = words_end.get(),
                               .memory_bytes = program.memory_bytes,
                               .bare = program.isolation != Isolation::off},
                              child)) {
    const std::string what = "the compiler " + program.path + " cannot be started";
    if (error == ENOENT || error == EACCES || error == ENOEXEC) {
      throw NotFound(errno_message(what, error) +
                     ": install Tarsia again, or set TARSIA_COMPILER to its path");
    }
    raise_errno(what, error);
  }
  far.reset();
  words_end.reset();
  log().debug("started {} as process {}", program.path, child.pid());

  std::unique_ptr<WorkerProcess> worker(
      new WorkerProcess(std::move(near), std::move(words), std::move(child), program.memory_bytes));
  worker->m_isolation = program.isolation;
  if (program.isolation != Isolation::off && program.cuda) try {
      worker->m_cuda = program.cuda();
    } catch (const Error& error) {
      log().debug("CUDA's parts are not known to the compiler: {}", error.what());
    }
  Message message;
  const Channel::Status status = worker->m_channel.receive(message, deadline);
  if (status == Channel::Status::interrupted) {
    worker->kill();
    worker->bury();
    throw Interrupted("the start of the compiler was interrupted");
  }
  if (status == Channel::Status::timed_out) {
    worker->kill();
    const Death death = worker->bury();
    throw CompilerCrashed("the compiler " + program.path + " started but said nothing", death.last_words);
  }
  if (status == Channel::Status::closed) {
    const Death death = worker->bury();
    std::string what = "the compiler " + program.path + " " + death.how + " as it started";
    constexpr std::uint64_t k_little = std::uint64_t{512} << 20;
    if (program.memory_bytes != 0 && program.memory_bytes < k_little)
      what += ", with the " + std::to_string(program.memory_bytes >> 20) +
              " MiB that TARSIA_COMPILER_MEMORY_MB allows it";
    if (death.end == End::out_of_memory) throw ResourceLimit(what, death.last_words);
    throw CompilerCrashed(what + (death.last_words.empty() ? "" : ": " + death.last_words), death.last_words);
  }
  if (message.type != MessageType::hello) throw Unsupported(program.path + " is no Tarsia compiler");
  worker->m_hello = decode_hello(message.payload);
  if (worker->m_hello.protocol != k_protocol_version || worker->m_hello.build_id != program.build_id) {
    throw Unsupported(
        "the compiler " + program.path +
        " belongs to another build of Tarsia: install both from one package, or correct TARSIA_COMPILER");
  }
  return worker;
}

std::unique_ptr<WorkerProcess> WorkerProcess::borrowed(UniqueFd socket, Channel service,
                                                       const LeasedWorker& lent, Isolation isolation) {
  std::unique_ptr<WorkerProcess> worker(
      new WorkerProcess(std::move(socket), UniqueFd(), ChildProcess(), lent.memory_bytes));
  worker->m_service.emplace(std::move(service));
  worker->m_lent_pid = static_cast<pid_t>(lent.pid);
  worker->m_isolation = isolation;
  worker->set_confined(lent.confined, lent.cuda);
  return worker;
}

void WorkerProcess::set_confined(bool confined, CudaParts cuda) {
  m_confined = confined;
  m_cuda = std::move(cuda);
}

void WorkerProcess::give_back() {
  const LeasedWorker state{.confined = m_confined, .cuda = m_cuda};
  static_cast<void>(m_service->send(frame_type(ServiceMessage::give_back), encode(state)));
  m_service.reset();
}

void WorkerProcess::kill() {
  if (m_service)
    static_cast<void>(m_service->send(frame_type(ServiceMessage::end_worker), {}));
  else
    m_child.kill();
}

void WorkerProcess::end_connection() {
  // A process that was forked meanwhile may have the socket, too. Closing it would then tell the service
  // nothing.
  ::shutdown(m_service->fd(), SHUT_RDWR);
  m_service.reset();
}

WorkerProcess::Death WorkerProcess::end_borrowed() {
  Message answer;
  WorkerEnd last{static_cast<int>(End::withdrawn), "was withdrawn by its service", {}};
  try {
    kill();
    if (m_service->receive(answer, Clock::now() + 5s) == Channel::Status::ok &&
        answer.type == frame_type(ServiceMessage::worker_ended))
      last = decode_worker_end(answer.payload);
  } catch (const Error& error) {
    log().debug("the service does not tell how a worker ended: {}", error.what());
  }
  end_connection();
  return {static_cast<End>(last.end), last.how, last.last_words};
}

Channel::Status WorkerProcess::confine(const CompileRequest& request, Deadline deadline) {
  if (m_confined || m_isolation == Isolation::off) return Channel::Status::ok;
  m_confined = true;
  if (request.cuda) m_cuda = request.cuda_parts;
  Channel::Status status = m_channel.send(MessageType::confine, encode(m_cuda), {}, deadline);
  Message message;
  if (status == Channel::Status::ok) status = m_channel.receive(message, deadline);
  if (status != Channel::Status::ok) return status;
  if (message.type != MessageType::confined) throw Error("unexpected message");
  tell_of_lacking_isolation(m_isolation, decode_strings(message.payload));
  return status;
}

bool WorkerProcess::suits(const CompileRequest* request) const {
  if (!m_confined) return true;
  if (request == nullptr) return false;
  const CudaParts& wanted = request->cuda_parts;
  return !request->cuda || (wanted.nvrtc == m_cuda.nvrtc && wanted.nvjitlink == m_cuda.nvjitlink &&
                            wanted.libdevice == m_cuda.libdevice);
}

WorkerProcess::~WorkerProcess() {
  if (m_service) end_connection();
  if (!m_child) return;
  // Closing the socket would suffice, but the signal also ends a worker that is busy, at once.
  kill();
  bury();
}

void WorkerProcess::abandon() {
  m_child.abandon();
  m_service.reset();
  m_channel = Channel(UniqueFd());
  m_stderr.reset();
}

bool WorkerProcess::idle() const {
  pollfd watched{m_channel.fd(), POLLIN | POLLRDHUP, 0};
  return ::poll(&watched, 1, 0) == 0;
}

std::uint64_t WorkerProcess::resident_bytes() const {
  std::string text;
  if (read_file("/proc/" + std::to_string(pid()) + "/statm", text, 4096) != 0) return 0;
  const std::size_t space = text.find(' ');
  std::uint64_t pages = 0;
  if (space != std::string::npos) std::from_chars(text.data() + space + 1, text.data() + text.size(), pages);
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

bool WorkerProcess::drain() {
  char chunk[4096];
  for (;;) {
    const ssize_t n = ::read(m_stderr.get(), chunk, sizeof chunk);
    if (n > 0) {
      m_tail.append(chunk, static_cast<std::size_t>(n));
      if (m_tail.size() > 2 * k_tail) m_tail.erase(0, m_tail.size() - k_tail);
    } else if (n == 0) {
      return false;
    } else if (errno != EINTR) {
      return errno == EAGAIN;
    }
  }
}

ChildProcess::End WorkerProcess::await_end() {
  ChildProcess::End end;
  // A worker may close its socket and live on. It gets a moment to leave by itself. One that cannot even be
  // killed (a file system hangs) is left to the kernel.
  const Deadline patience = Clock::now() + 2s, end_of_patience = patience + 10s;
  int words = m_stderr.get();
  for (auto pause = 1ms; !m_child.reap(end); pause = std::min(2 * pause, 10ms)) {
    const Deadline now = Clock::now();
    if (now >= patience) kill();
    if (now >= end_of_patience) {
      m_child.abandon();
      break;
    }
    // Without a pidfd nothing reports the end, so it is polled.
    const auto step =
        m_child.fd() < 0 ? pause : std::clamp(ceil<std::chrono::milliseconds>(patience - now), 1ms, 2000ms);
    pollfd watched[] = {{m_child.fd(), POLLIN, 0}, {words, POLLIN, 0}};
    if (::poll(watched, 2, static_cast<int>(step.count())) > 0 && watched[1].revents != 0 && !drain())
      words = -1;
  }
  return end;
}

WorkerProcess::Death WorkerProcess::bury() {
  if (m_service) return end_borrowed();
  const pid_t gone = pid();
  const ChildProcess::End end = await_end();
  if (m_confined) remove_scratch(gone);
  drain();
  if (m_tail.size() > k_tail) m_tail.erase(0, m_tail.size() - k_tail);
  while (!m_tail.empty() && m_tail.back() == '\n') m_tail.pop_back();

  // A program that waits for all its children, or ignores SIGCHLD, takes the exit state away from us.
  if (end.how == ChildProcess::End::How::unknown) {
    return {speaks_of_memory(m_tail) ? End::out_of_memory : End::crashed, "ended for a reason unknown",
            m_tail};
  }
  if (end.how == ChildProcess::End::How::exited) {
    if (end.number == 0) return {End::left, "left", m_tail};
    if (end.number == k_exit_out_of_memory) return {End::out_of_memory, "ran out of memory", m_tail};
    return {speaks_of_memory(m_tail) ? End::out_of_memory : End::crashed,
            "ended with code " + std::to_string(end.number), m_tail};
  }
  const char* name = ::sigdescr_np(end.number);
  const std::string how =
      "was killed by signal " + std::to_string(end.number) + " (" + (name ? name : "?") + ")";
  // Work-around: NVRTC dies by SIGSEGV when an allocation fails.
  // Trigger: device code that takes more memory than the worker may have. Symptom: it looks like a crash of
  // the compiler; nearly all of the limit was in use then. Removal: NVRTC reports that it is out of memory.
  const bool near_limit = m_memory_bytes != 0 && end.peak_bytes >= m_memory_bytes / 4 * 3;
  const bool by_kernel = end.number == SIGKILL && oom_kills() > m_oom_kills;
  const bool memory = by_kernel || (end.number != SIGKILL && (near_limit || speaks_of_memory(m_tail)));
  return {memory ? End::out_of_memory : End::crashed, how, m_tail};
}

}  // namespace tarsia::jit
