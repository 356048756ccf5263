// A queue and its thread.
#include "cache/later.h"

#include <pthread.h>

#include <algorithm>
#include <csignal>
#include <iterator>
#include <utility>

#include "base/log.h"

namespace tarsia::cache {
namespace {

constexpr std::size_t k_most_pending = 64;  // what waits holds modules in memory

void run(const std::function<void()>& job) {
  try {
    job();
  } catch (const std::exception& error) {
    log().warn("the cache's folder lacks what belongs to a module: {}", error.what());
  }
}

}  // namespace

std::thread start_quietly(std::function<void()> body) {
  struct Blocked {
    sigset_t all, before;
    Blocked() {
      sigfillset(&all);
      ::pthread_sigmask(SIG_SETMASK, &all, &before);
    }
    ~Blocked() { ::pthread_sigmask(SIG_SETMASK, &before, nullptr); }
  };
  const Blocked blocked;  // a new thread has the mask of the one that starts it
  return std::thread(std::move(body));
}

Later::Later() {
  watch_forks();
}

Later::~Later() {
  forget_forks();
  {
    const std::lock_guard lock(m_mutex);
    m_ends = true;
  }
  m_changed->notify_all();
  if (m_thread && m_thread->joinable()) m_thread->join();
}

// The thread is the parent's, and so are the jobs. What these hold may need what no fork handler has freed
// yet.
void Later::after_fork_in_child() {
  std::move(m_jobs.begin(), m_jobs.end(), std::back_inserter(m_dropped));
  m_jobs.clear();
  m_busy = false;
  static_cast<void>(m_thread.release());
  static_cast<void>(m_changed.release());
  m_changed = std::make_unique<std::condition_variable>();
  m_mutex.unlock();
}

bool Later::start_thread() {
  if (m_thread) return true;
  try {
    m_thread = std::make_unique<std::thread>(start_quietly([this] { work(); }));
  } catch (const std::exception&) {  // what is to be done later is done at once
    return false;
  }
  return true;
}

void Later::add(std::function<void()> job) {
  std::deque<std::function<void()>> dropped;
  {
    const std::lock_guard lock(m_mutex);
    dropped.swap(m_dropped);
    if (m_jobs.size() < k_most_pending && start_thread()) m_jobs.push_back(std::exchange(job, nullptr));
  }
  if (job)
    run(job);
  else
    m_changed->notify_all();
}

void Later::work() {
  std::unique_lock lock(m_mutex);
  for (;;) {
    m_changed->wait(lock, [&] { return m_ends || !m_jobs.empty(); });
    if (m_jobs.empty()) return;
    std::function<void()> job = std::move(m_jobs.front());
    m_jobs.pop_front();
    m_busy = true;
    lock.unlock();
    run(job);
    job = nullptr;  // what it holds goes before anybody hears that it is done
    lock.lock();
    m_busy = false;
    m_changed->notify_all();
  }
}

bool Later::flush(std::chrono::milliseconds most) {
  const auto end = std::chrono::steady_clock::now() + most;
  std::unique_lock lock(m_mutex, std::defer_lock);
  // A thread that was stopped at the program's end may hold it for ever.
  while (!lock.try_lock()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::yield();
  }
  return m_changed->wait_until(lock, end, [&] { return m_jobs.empty() && !m_busy; });
}

}  // namespace tarsia::cache
