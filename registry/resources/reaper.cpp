// Runs work once GPUs have finished. One thread, started when it is first needed, records an event over
// each GPU's context and polls it. The thread records the event soon after the request. If the event covers
// later work too, that does no harm.
#include "registry/resources/reaper.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "base/cuda/cuda_driver.h"
#include "base/error.h"
#include "base/fork.h"
#include "base/log.h"

namespace tarsia::registry {

namespace {

using namespace std::chrono_literals;

constexpr int k_not_ready = 600;      // CUDA_ERROR_NOT_READY
constexpr int k_not_initialised = 3;  // CUDA_ERROR_NOT_INITIALIZED
constexpr int k_capture_relaxed = 2;  // CU_STREAM_CAPTURE_MODE_RELAXED

struct Task {
  int device;
  std::function<void()> then;
  std::vector<std::pair<int, CuEvent>> events;  ///< by device
  bool recorded = false;
};

class Reaper final : public ForkAware {
 public:
  /// Never destroyed. Its thread ends with the process: it must not run foreign code beside static
  /// destructors.
  static Reaper& instance() {
    static std::atomic<Reaper*> s_reaper{nullptr};
    static std::atomic<bool> s_ends{false};
    Reaper& reaper = made_once(s_reaper, [] { return Reaper(); });
    if (!s_ends.load(std::memory_order_acquire)) {  // two threads may both come here: stop() may run twice
      std::atexit([] { s_reaper.load()->stop(); });
      s_ends = true;
    }
    return reaper;
  }
  ~Reaper() { forget_forks(); }  // of one that another thread was quicker than

  void add(int device, std::function<void()> then) {
    std::lock_guard lock(m_mutex);
    if (m_stopped) return;
    m_incoming.push_back({device, std::move(then), {}, false});
    ++m_pending;
    if (!m_thread) m_thread = std::make_unique<std::thread>([this] { run(); });
    m_wake.notify_all();
  }

  bool drain(int milliseconds) {
    std::unique_lock lock(m_mutex);
    return m_idle.wait_for(lock, milliseconds * 1ms, [this] { return m_pending == 0; });
  }

 private:
  Reaper() { watch_forks(); }

  void before_fork() override { m_mutex.lock(); }
  void after_fork_in_parent() override { m_mutex.unlock(); }
  void after_fork_in_child() override {
    // The thread exists in the parent alone, and CUDA cannot be used here. Pending libraries stay mapped.
    if (m_thread) m_thread.release();  // NOLINT: joining or destroying it would end the process
    m_incoming.clear();
    m_pending = 0;
    // A condition variable that the parent's thread waited on never wakes anybody here: it counts a waiter
    // that is gone.
    new (&m_wake) std::condition_variable();
    new (&m_idle) std::condition_variable();
    m_mutex.unlock();
  }

  void stop() {
    std::unique_ptr<std::thread> thread;
    {
      std::lock_guard lock(m_mutex);
      m_stopped = true;
      thread = std::move(m_thread);
      m_wake.notify_all();
    }
    if (thread) thread->join();
  }

  void run() {
    std::vector<Task> tasks;
    auto pause = 1ms;
    for (;;) {
      {
        std::unique_lock lock(m_mutex);
        if (tasks.empty())
          m_wake.wait(lock, [this] { return m_stopped || !m_incoming.empty(); });
        else
          m_wake.wait_for(lock, pause, [this] { return m_stopped || !m_incoming.empty(); });
        if (m_stopped) return;
        if (!m_incoming.empty()) pause = 1ms;
        while (!m_incoming.empty()) {
          tasks.push_back(std::move(m_incoming.front()));
          m_incoming.pop_front();
        }
      }
      size_t done = 0;
      for (Task& task : tasks) {
        if (!is_done(task)) continue;
        task.then();
        task.then = nullptr;
        ++done;
      }
      std::erase_if(tasks, [](const Task& task) { return !task.then; });
      pause = std::min(pause * 2, 50ms);
      std::lock_guard lock(m_mutex);
      m_pending -= done;
      if (m_pending == 0) m_idle.notify_all();
    }
  }

  static bool is_done(Task& task) {
    // If nobody has initialised CUDA, no work is under way. This thread must not initialise it.
    const CudaDriver* found = find_cuda_driver();
    int count = 0;
    if (!found || found->cuDeviceGetCount(&count) == k_not_initialised) return true;
    try {
      const CudaDriver& driver = cuda_driver();
      int mode = k_capture_relaxed;  // the queries below must not spoil a capture in another thread
      driver.cuThreadExchangeStreamCaptureMode(&mode);
      if (!task.recorded && !record(driver, task)) return false;
      std::erase_if(task.events, [&](auto& entry) {
        CudaDeviceScope scope(entry.first);
        if (driver.cuEventQuery(entry.second) == k_not_ready) return false;
        driver.cuEventDestroy(entry.second);
        return true;
      });
      return task.events.empty();
    } catch (const Error& e) {
      log().debug("a GPU cannot be asked whether it is idle: {}", e.what());
      return true;  // no CUDA in this process: nothing of ours is under way
    }
  }

  /// Returns false while a stream is being captured, when no event can be recorded.
  static bool record(const CudaDriver& driver, Task& task) {
    const int count = cuda_device_count();
    for (int device = 0; device < count; ++device) {
      if (task.device >= 0 && task.device != device) continue;
      unsigned flags = 0;
      int active = 0;
      if (driver.cuDevicePrimaryCtxGetState(device, &flags, &active) || !active) continue;
      if (std::any_of(task.events.begin(), task.events.end(), [&](auto& e) { return e.first == device; }))
        continue;
      CudaDeviceScope scope(device);
      if (!driver.optional.cuCtxRecordEvent) {
        if (driver.cuCtxSynchronize()) return false;
        continue;
      }
      CuEvent event = nullptr;
      check_cuda(driver.cuEventCreate(&event, k_event_disable_timing), "cuEventCreate");
      if (driver.optional.cuCtxRecordEvent(cuda_primary_context(device), event)) {
        driver.cuEventDestroy(event);
        return false;
      }
      task.events.emplace_back(device, event);
    }
    task.recorded = true;
    return true;
  }

  std::mutex m_mutex;
  std::condition_variable m_wake, m_idle;
  std::deque<Task> m_incoming;
  size_t m_pending = 0;
  std::unique_ptr<std::thread> m_thread;
  bool m_stopped = false;
};

}  // namespace

void when_idle(int device, std::function<void()> then) {
  Reaper::instance().add(device, std::move(then));
}

bool drain_reaper(int milliseconds) {
  return Reaper::instance().drain(milliseconds);
}

}  // namespace tarsia::registry
