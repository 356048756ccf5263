// A few threads that wait for loops, started with the first loop that is worth it. They end with the
// process or with the library. A forked child starts its own.
#include "registry/resources/parallel.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/fork.h"
#include "base/number_setting.h"

namespace tarsia::registry {

namespace {

constexpr int k_most_threads = 64;

thread_local bool t_inside = false;  ///< a loop's body runs on this thread

struct Loop {
  std::int64_t n, grain;
  void (*body)(void*, std::int64_t, std::int64_t);
  void* with;
  std::atomic<std::int64_t> next{0};  ///< the first index that nobody has taken
  std::mutex mutex{};
  std::exception_ptr error{};
  // Of the pool, under its mutex.
  int wanted = 0, working = 0;  ///< threads that may still begin, and those that have
  Loop *before = nullptr, *behind = nullptr;

  void work() {
    const bool outer = std::exchange(t_inside, true);
    take_pieces();
    t_inside = outer;
  }

  void take_pieces() {
    for (;;) {
      const std::int64_t begin = next.fetch_add(grain);
      if (begin >= n) return;
      try {
        body(with, begin, std::min(n, begin + grain));
      } catch (...) {
        next = n;
        std::lock_guard lock(mutex);
        if (!error) error = std::current_exception();
      }
    }
  }
};

class Pool final : public ForkAware {
 public:
  /// Never destroyed. Its threads end with the process or the library: their code must not be unmapped under
  /// them.
  static Pool& instance() {
    static std::atomic<Pool*> s_pool{nullptr};
    static std::atomic<bool> s_ends{false};
    Pool& pool = made_once(s_pool, [] { return Pool(); });
    if (!s_ends.load(std::memory_order_acquire)) {  // two threads may both come here: stop() may run twice
      std::atexit([] { s_pool.load()->stop(); });
      s_ends = true;
    }
    return pool;
  }
  ~Pool() { forget_forks(); }  // of one that another thread was quicker than

  /// Returns false, having done nothing, once the process ends.
  bool run(Loop& loop) {
    {
      std::lock_guard lock(m_mutex);
      if (m_stopped) return false;
      start();
      const std::int64_t pieces = (loop.n + loop.grain - 1) / loop.grain;
      loop.wanted =
          static_cast<int>(std::min<std::int64_t>(pieces - 1, static_cast<std::int64_t>(m_threads.size())));
      add(loop);
    }
    m_wake.notify_all();
    loop.work();
    std::unique_lock lock(m_mutex);
    loop.wanted = 0;  // threads that have not begun by now need not
    remove(loop);
    m_done.wait(lock, [&] { return loop.working == 0; });
    return true;
  }

 private:
  Pool() { watch_forks(); }

  // A fork beside a loop of another thread leaves the child without that thread.
  void before_fork() override { m_mutex.lock(); }
  void after_fork_in_parent() override { m_mutex.unlock(); }
  void after_fork_in_child() override {
    for (std::thread& thread : m_threads) new std::thread(std::move(thread));  // neither joined nor destroyed
    m_threads.clear();
    // Of these, at most one is this thread's, which goes on with it alone.
    while (Loop* loop = m_first) {
      remove(*loop);
      loop->wanted = loop->working = 0;
    }
    new (&m_wake) std::condition_variable();
    new (&m_done) std::condition_variable();
    m_mutex.unlock();
  }

  void start() {
    const int n = parallel_threads() - 1;
    while (static_cast<int>(m_threads.size()) < n) m_threads.emplace_back([this] { serve(); });
  }

  void stop() {
    std::vector<std::thread> threads;
    {
      std::lock_guard lock(m_mutex);
      m_stopped = true;
      threads.swap(m_threads);
    }
    m_wake.notify_all();
    for (std::thread& thread : threads) thread.join();
  }

  void add(Loop& loop) {
    loop.behind = m_first;
    if (m_first) m_first->before = &loop;
    m_first = &loop;
  }
  void remove(Loop& loop) {
    if (loop.before)
      loop.before->behind = loop.behind;
    else if (m_first == &loop)
      m_first = loop.behind;
    if (loop.behind) loop.behind->before = loop.before;
    loop.before = loop.behind = nullptr;
  }
  /// Of the loops that want threads, the one with the fewest.
  Loop* neediest() const {
    Loop* found = nullptr;
    for (Loop* loop = m_first; loop; loop = loop->behind)
      if (loop->wanted && (!found || loop->working < found->working)) found = loop;
    return found;
  }

  void serve() {
    std::unique_lock lock(m_mutex);
    for (;;) {
      Loop* loop = nullptr;
      m_wake.wait(lock, [&] { return m_stopped || (loop = neediest()); });
      if (m_stopped) return;
      --loop->wanted;
      ++loop->working;
      lock.unlock();
      loop->work();
      lock.lock();
      if (--loop->working == 0) m_done.notify_all();
    }
  }

  std::mutex m_mutex;
  std::condition_variable m_wake, m_done;
  std::vector<std::thread> m_threads;
  Loop* m_first = nullptr;  ///< of the loops that run
  bool m_stopped = false;
};

/// TARSIA_NUM_THREADS; 0 if it is unset or empty.
int threads_set() {
  return static_cast<int>(number_setting({.variable = "TARSIA_NUM_THREADS",
                                          .otherwise = 0,
                                          .least = 1,
                                          .most = std::numeric_limits<int>::max(),
                                          .what = "number of threads",
                                          .wanted = "a whole number above 0"}));
}

}  // namespace

int parallel_threads() {
  static std::atomic<int> s_threads{0};  // 0: nobody has asked
  if (const int known = s_threads.load(std::memory_order_relaxed)) return known;
  int wanted = threads_set();
  // Its value may be a list, for regions within regions.
  if (const char* text = std::getenv("OMP_NUM_THREADS"); text && wanted < 1) wanted = std::atoi(text);
  cpu_set_t cores;
  if (wanted < 1 && sched_getaffinity(0, sizeof cores, &cores) == 0) wanted = CPU_COUNT(&cores);
  int none = 0;
  const int ours = std::clamp(wanted, 1, k_most_threads);
  return s_threads.compare_exchange_strong(none, ours) ? ours : none;
}

void parallel(std::int64_t n, std::int64_t grain, void (*body)(void*, std::int64_t, std::int64_t),
              void* with) {
  if (n <= 0) return;
  Loop loop{n, std::max<std::int64_t>(grain, 1), body, with};
  const bool alone = n <= loop.grain || t_inside || parallel_threads() == 1;
  if (alone || !Pool::instance().run(loop)) loop.work();
  if (loop.error) std::rethrow_exception(loop.error);
}

}  // namespace tarsia::registry
