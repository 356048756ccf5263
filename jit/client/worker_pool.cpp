// Leases of workers, the exchange of a compile, and what a worker's end means to the caller.
#include "jit/client/worker_pool.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "base/log.h"
#include "base/size_setting.h"

namespace tarsia::jit {

struct WorkerPool::State {
  std::mutex mutex;
  std::condition_variable freed;
  unsigned count = 0;                                ///< workers, idle or leased, and those being started
  std::vector<std::unique_ptr<WorkerProcess>> idle;  ///< the last is the one used last: its memory is warm
  std::vector<WorkerProcess*> leased;
};

/// A worker that is ours for the moment. Unless given back it is ended.
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
    if (m_worker->resident_bytes() > m_pool->m_settings.max_resident_bytes) return;
    State* state = std::exchange(m_state, nullptr);
    {
      const std::lock_guard lock(state->mutex);
      std::erase(state->leased, m_worker.get());
      state->idle.push_back(std::move(m_worker));
    }
    state->freed.notify_one();
  }
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

WorkerPool::Lease WorkerPool::acquire() {
  std::unique_ptr<WorkerProcess> worker;
  {
    State& state = *m_state;
    std::unique_lock lock(state.mutex);
    state.freed.wait(lock, [&] { return !state.idle.empty() || state.count < m_settings.max_workers; });
    if (state.idle.empty()) {
      ++state.count;
    } else {
      worker = std::move(state.idle.back());
      state.idle.pop_back();
    }
  }
  Lease lease(*this);
  if (worker) {
    lease.take(std::move(worker));
    if (lease.worker().idle()) return lease;
    log().debug("worker {} had left", lease.worker().pid());
    lease.end_worker();
  }
  ++m_started;
  lease.take(WorkerProcess::start(m_settings.program(), Clock::now() + m_settings.start_timeout));
  return lease;
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

}  // namespace

template <typename Talk>
void WorkerPool::exchange(const std::string& what, std::chrono::milliseconds limit, Talk talk) {
  for (int attempt = 0;; ++attempt) {
    Lease lease = acquire();
    WorkerProcess& worker = lease.worker();
    bool heard = false;
    Channel::Status status;
    try {
      status = talk(worker, Clock::now() + limit, heard);
    } catch (const Error& error) {
      throw CompilerCrashed("the compiler answered out of turn during " + what + ": " + error.what());
    }
    if (status == Channel::Status::ok) {
      lease.give_back();
      return;
    }
    if (status == Channel::Status::timed_out) {
      worker.kill();
      throw CompileTimeout(
          what + " took longer than " + seconds(limit) +
          " and was stopped: raise the timeout, or look for templates or macros that explode");
    }
    if (status == Channel::Status::interrupted) {
      worker.kill();
      throw Interrupted(what + " was interrupted");
    }
    const WorkerProcess::Death death = worker.bury();
    // An idle worker may leave just as it is asked; then nothing was begun and another can be asked.
    if (death.end == WorkerProcess::End::left && !heard && attempt == 0) continue;
    raise_death(what, death, compiler_memory_limit());
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

void take_part(const Message& message, PartFileStore& parts) {
  const KeepPart made = decode_keep_part(message.payload);
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
  const std::string payload = encode(request);
  CompileResult result;
  exchange(what, limit, [&](WorkerProcess& worker, Deadline deadline, bool& heard) {
    Channel& channel = worker.channel();
    Channel::Status status = channel.send(MessageType::compile, payload, {}, deadline);
    Message message;
    while (status == Channel::Status::ok &&
           (status = channel.receive(message, deadline)) == Channel::Status::ok) {
      heard = true;
      switch (message.type) {
        case MessageType::find_part:
          status = answer_find(channel, message, parts, deadline);
          break;
        case MessageType::keep_part:
          take_part(message, parts);
          break;
        case MessageType::result:
          result = take_result(message);
          return status;
        default:
          throw Error("unexpected message");
      }
    }
    return status;
  });
  return result;
}

std::vector<std::string> WorkerPool::archs() {
  std::vector<std::string> archs;
  exchange("the query of the GPUs' architectures", m_settings.start_timeout,
           [&](WorkerProcess& worker, Deadline deadline, bool& heard) {
             Channel::Status status = worker.channel().send(MessageType::query_archs, {}, {}, deadline);
             Message message;
             if (status == Channel::Status::ok) status = worker.channel().receive(message, deadline);
             if (status != Channel::Status::ok) return status;
             heard = true;
             if (message.type != MessageType::archs) throw Error("unexpected message");
             archs = decode_archs(message.payload);
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
  // The old state is left behind with its locked mutex: threads of the parent may have been waiting in it.
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
