// Leases of workers, the exchange of a compile, and how a worker's end is reported to the caller.
#include "jit/client/worker_pool.h"

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/number_setting.h"
#include "jit/client/readable_files.h"
#include "jit/client/service_client.h"

namespace tarsia::jit {

struct WorkerPool::State {
  std::mutex mutex;
  std::condition_variable freed;
  unsigned count = 0;                                ///< workers, idle or leased, and those being started
  std::vector<std::unique_ptr<WorkerProcess>> idle;  ///< the last is the one used last: its memory is warm
  std::vector<WorkerProcess*> leased;
};

/// A leased worker. It is ended unless it is given back.
class WorkerPool::Lease {
 public:
  explicit Lease(WorkerPool& pool) : m_pool(&pool), m_state(pool.m_state.get()) {}
  Lease(Lease&& other) noexcept
      : m_pool(other.m_pool),
        m_state(std::exchange(other.m_state, nullptr)),
        m_worker(std::move(other.m_worker)) {}
  Lease& operator=(Lease&&) = delete;
  ~Lease() {
    if (m_state == nullptr) return;
    forget();
    m_worker.reset();
    {
      const std::lock_guard lock(m_state->mutex);
      --m_state->count;
    }
    m_state->freed.notify_one();
  }

  void take(std::unique_ptr<WorkerProcess> worker) {
    const std::lock_guard lock(m_state->mutex);
    m_worker = std::move(worker);
    m_state->leased.push_back(m_worker.get());
  }
  /// Keeps the slot and ends the worker.
  void end_worker() {
    forget();
    m_worker.reset();
  }
  void give_back() {
    if (m_worker->is_borrowed()) return m_worker->give_back();  // the slot is free as this ends
    if (m_worker->resident_bytes() > m_pool->m_settings.max_resident_bytes) return;
    State* state = std::exchange(m_state, nullptr);
    {
      const std::lock_guard lock(state->mutex);
      std::erase(state->leased, m_worker.get());
      state->idle.push_back(std::move(m_worker));
    }
    state->freed.notify_one();
  }
  bool has_worker() const { return m_worker != nullptr; }
  WorkerProcess& worker() { return *m_worker; }

 private:
  void forget() {
    const std::lock_guard lock(m_state->mutex);
    std::erase(m_state->leased, m_worker.get());
  }

  WorkerPool* m_pool;
  State* m_state;
  std::unique_ptr<WorkerProcess> m_worker;
};

WorkerPool::WorkerPool(PoolSettings settings)
    : m_settings([&] {
        if (settings.max_workers == 0)
          settings.max_workers = std::max(1u, std::thread::hardware_concurrency());
        return std::move(settings);
      }()),
      m_state(std::make_unique<State>()) {
  watch_forks();
}

WorkerPool::~WorkerPool() {
  forget_forks();
}

WorkerPool::Lease WorkerPool::acquire(const std::string& what) {
  std::unique_ptr<WorkerProcess> worker;
  {
    State& state = *m_state;
    std::unique_lock lock(state.mutex);
    const auto ready = [&] { return !state.idle.empty() || state.count < m_settings.max_workers; };
    if (!wait_or_interrupt(lock, state.freed, ready))
      throw Interrupted(what + " was interrupted while it waited for a free compiler");
    if (state.idle.empty()) {
      ++state.count;
    } else {
      worker = std::move(state.idle.back());
      state.idle.pop_back();
    }
  }
  Lease lease(*this);
  if (!worker) return lease;
  lease.take(std::move(worker));
  if (lease.worker().idle()) return lease;
  log().debug("worker {} had left", lease.worker().pid());
  lease.end_worker();
  return lease;
}

void WorkerPool::start_worker(Lease& lease) {
  ++m_started;
  lease.take(WorkerProcess::start(m_settings.program(), Clock::now() + m_settings.start_timeout));
}

namespace {

std::string seconds(std::chrono::milliseconds span) {
  std::string text = std::to_string(span.count() / 1000.0);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text + " s";
}

[[noreturn]] void raise_death(const std::string& what, const WorkerProcess::Death& death,
                              std::uint64_t memory_bytes) {
  if (death.end == WorkerProcess::End::out_of_memory) {
    std::string message = "the compiler ran out of memory during " + what;
    if (memory_bytes != 0) {
      message += " (its limit is " + std::to_string(memory_bytes >> 20) +
                 " MiB): raise TARSIA_COMPILER_MEMORY_MB, or split the source";
    }
    throw ResourceLimit(message, death.last_words);
  }
  std::string message = "the compiler " + death.how + " during " + what +
                        "; the next compile gets a new one. Please report the source that did it";
  if (!death.last_words.empty()) message += ". Its last words:\n" + death.last_words;
  throw CompilerCrashed(message, death.last_words);
}

[[noreturn]] void raise_death_before(const std::string& what, const WorkerProcess::Death& death) {
  const std::string message = "the compiler " + death.how + " before it began with " + what +
                              ", and so did another one: something on this machine ends them";
  if (death.end == WorkerProcess::End::out_of_memory) throw ResourceLimit(message, death.last_words);
  throw CompilerCrashed(message, death.last_words);
}

/// Sends a request and waits until the worker has begun with it.
Channel::Status begin(WorkerProcess& worker, const CompileRequest* request, std::string_view payload,
                      Deadline deadline) {
  Channel& channel = worker.channel();
  const MessageType type = request == nullptr ? MessageType::query_archs : MessageType::compile;
  Channel::Status status = request == nullptr ? Channel::Status::ok : worker.confine(*request, deadline);
  if (status == Channel::Status::ok) status = channel.send(type, payload, {}, deadline);
  Message message;
  if (status == Channel::Status::ok) status = channel.receive(message, deadline);
  if (status == Channel::Status::ok && message.type != MessageType::started)
    throw Error("unexpected message");
  return status;
}

/// How long an idle worker may take to begin with a request of that size.
std::chrono::milliseconds patience_for(std::chrono::milliseconds least, std::size_t bytes) {
  constexpr std::size_t k_bytes_per_ms = 20'000;  // slower than any machine copies
  return least + std::chrono::milliseconds(bytes / k_bytes_per_ms);
}

}  // namespace

template <typename Talk>
void WorkerPool::exchange(const std::string& what, std::chrono::milliseconds limit,
                          const CompileRequest* request, std::string_view payload, Talk talk) {
  const std::optional<Isolation> isolation =
      request != nullptr && m_settings.isolation ? std::optional(m_settings.isolation()) : std::nullopt;
  Lease lease = acquire(what);
  if (lease.has_worker() &&
      (!lease.worker().suits(request) || (isolation && lease.worker().isolation() != *isolation)))
    lease.end_worker();
  if (!lease.has_worker() && request != nullptr)
    if (const WorkerProgram program = m_settings.program(); !program.service.empty())
      if (auto lent = borrow_worker(program.service, program, *request)) lease.take(std::move(lent));
  // An idle worker may have been stopped or killed, or may leave just as it is asked. As long as it has not
  // begun, its end says nothing about the request. A new worker is then asked, once.
  for (bool first = true;;) {
    const bool was_idle = lease.has_worker();
    if (!was_idle) start_worker(lease);
    WorkerProcess& worker = lease.worker();
    const Deadline deadline = Clock::now() + limit;
    const Deadline begin_by =
        was_idle ? std::min(deadline, Clock::now() + patience_for(m_settings.begin_timeout, payload.size()))
                 : deadline;
    bool begun = false;
    Channel::Status status;
    try {
      status = begin(worker, request, payload, begin_by);
      begun = status == Channel::Status::ok;
      if (begun) status = talk(worker.channel(), deadline);
    } catch (const ResourceLimit&) {
      throw;  // of this process
    } catch (const Unsupported&) {
      throw;  // of this machine
    } catch (const Error& error) {
      throw CompilerCrashed("the compiler answered out of turn during " + what + ": " + error.what());
    }
    if (status == Channel::Status::ok) {
      lease.give_back();
      return;
    }
    if (status == Channel::Status::interrupted) {
      worker.kill();
      throw Interrupted(what + " was interrupted");
    }
    if (status == Channel::Status::timed_out) {
      worker.kill();
      if (was_idle && !begun && begin_by < deadline) {
        log().info("worker {} did not begin with {}; a new one takes its place", worker.pid(), what);
        lease.end_worker();
        first = false;
        continue;
      }
      throw CompileTimeout(
          what + " took longer than " + seconds(limit) +
          " and was stopped: raise the timeout, or look for templates or macros that explode");
    }
    const WorkerProcess::Death death = worker.bury();
    if (death.end == WorkerProcess::End::withdrawn) {
      log().info("a worker {} during {}; this process starts its own", death.how, what);
      lease.end_worker();
      continue;
    }
    if (begun) raise_death(what, death, compiler_memory_limit());
    if (!first) raise_death_before(what, death);
    log().info("a worker {} before it began with {}; a new one takes its place", death.how, what);
    lease.end_worker();
    first = false;
  }
}

namespace {

Channel::Status answer_find(Channel& channel, const Message& message, PartFileStore& parts,
                            Deadline deadline) {
  const FindPart wanted = decode_find_part(message.payload);
  std::optional<PartFile> found;
  try {
    found = parts.find(wanted.kind, wanted.key);
  } catch (const std::exception& error) {
    log().warn("a part could not be looked up: {}", error.what());
  }
  if (!found) return channel.send(MessageType::part, encode(Part{}), {}, deadline);
  const int fd = found->fd.get();
  return channel.send(MessageType::part, encode(Part{true, found->offset, found->size}), {&fd, 1}, deadline);
}

Channel::Status answer_open(Channel& channel, const Message& message, const ReadableFiles& readable,
                            Deadline deadline) {
  const OpenFile asked = decode_open_file(message.payload);
  const UniqueFd file = readable.open(asked);
  log().debug("the compiler asks for {}: {}", asked.path, file ? "opened" : "refused");
  const int fd = file.get();
  return channel.send(MessageType::file, {}, {&fd, file ? std::size_t{1} : 0}, deadline);
}

void take_part(const Message& message, PartFileStore& parts) {
  const KeepPart made = decode_keep_part(message.payload);
  if (message.descriptors_lost) {
    log().warn("{}", errno_message("a part could not be kept", EMFILE));
    return;
  }
  if (message.descriptors.size() != 1) throw Error("a part came without its descriptor");
  try {
    const Mapping bytes(message.descriptors[0].get());
    parts.keep(made.kind, made.key, bytes.bytes());
  } catch (const std::exception& error) {
    log().warn("a part could not be kept: {}", error.what());
  }
}

CompileResult take_result(const Message& message) {
  CompileResult result = decode_result(message.payload);
  if (!result.ok) return result;
  if (message.descriptors.size() != 1) throw Error("a module came without its descriptor");
  result.module = read_descriptor(message.descriptors[0].get(), k_max_blob);
  return result;
}

}  // namespace

CompileResult WorkerPool::compile(const CompileRequest& request, PartFileStore& parts) {
  const std::chrono::milliseconds limit =
      request.timeout_ms != 0 ? std::chrono::milliseconds(request.timeout_ms) : m_settings.timeout;
  const std::string what = "the compile of " + (request.name.empty() ? "a source" : request.name);
  CompileResult result;
  bool lost = false;
  const ReadableFiles readable(request);
  exchange(what, limit, &request, encode(request), [&](Channel& channel, Deadline deadline) {
    Channel::Status status = Channel::Status::ok;
    Message message;
    while (status == Channel::Status::ok &&
           (status = channel.receive(message, deadline)) == Channel::Status::ok) {
      switch (message.type) {
        case MessageType::find_part:
          status = answer_find(channel, message, parts, deadline);
          break;
        case MessageType::open_file:
          status = answer_open(channel, message, readable, deadline);
          break;
        case MessageType::keep_part:
          take_part(message, parts);
          break;
        case MessageType::result:
          // The worker has done its part and stays.
          lost = message.descriptors_lost;
          if (!lost) result = take_result(message);
          return status;
        default:
          throw Error("unexpected message");
      }
    }
    return status;
  });
  if (lost) raise_errno("the module of " + what + " cannot be taken", EMFILE);
  return result;
}

std::vector<std::string> WorkerPool::archs() {
  std::vector<std::string> archs;
  exchange("the query of the GPUs' architectures", m_settings.start_timeout, nullptr, {},
           [&](Channel& channel, Deadline deadline) {
             Message message;
             const Channel::Status status = channel.receive(message, deadline);
             if (status != Channel::Status::ok) return status;
             if (message.type != MessageType::archs) throw Error("unexpected message");
             archs = decode_strings(message.payload);
             return status;
           });
  return archs;
}

std::vector<pid_t> WorkerPool::idle_pids() {
  const std::lock_guard lock(m_state->mutex);
  std::vector<pid_t> pids;
  for (const auto& worker : m_state->idle) pids.push_back(worker->pid());
  return pids;
}

void WorkerPool::before_fork() {
  m_state->mutex.lock();
}

void WorkerPool::after_fork_in_parent() {
  m_state->mutex.unlock();
}

void WorkerPool::after_fork_in_child() {
  // The old state is abandoned with its mutex locked: threads of the parent may have been waiting for it.
  State* old = m_state.release();
  for (const auto& worker : old->idle) worker->abandon();
  for (WorkerProcess* worker : old->leased) worker->abandon();
  m_state = std::make_unique<State>();
}

std::uint64_t compiler_memory_limit() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return 0;  // the sanitizers' shadow memory is terabytes of data
#endif
  return size_setting("TARSIA_COMPILER_MEMORY_MB", 8192);
}

}  // namespace tarsia::jit
