// Two events of a CUDA context, and the host's clock around them.
#include "session/bench_clock.h"

#include <chrono>

#include "base/cuda/cuda_driver.h"

namespace tarsia::session {
namespace {

using Clock = std::chrono::steady_clock;

constexpr CuStream k_default_stream = nullptr;

/// Begin and end, in one context.
class Events {
 public:
  explicit Events(CuContext context) : m_context(context) {
    const CudaDriver& driver = *find_cuda_driver();
    m_are_good = !driver.cuEventCreate(&m_begin, 0) && !driver.cuEventCreate(&m_end, 0) &&
                 !driver.cuEventRecord(m_begin, k_default_stream) &&
                 !driver.cuStreamSynchronize(k_default_stream);
  }
  ~Events() {
    for (CuEvent event : {m_begin, m_end})
      if (event) find_cuda_driver()->cuEventDestroy(event);
  }
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;

  void record_end(CuContext context) {
    m_are_good =
        m_are_good && context == m_context && !find_cuda_driver()->cuEventRecord(m_end, k_default_stream);
  }
  /// Once both are reached. None where CUDA could not record them: the stream was captured, or another GPU
  /// is now current.
  std::optional<double> nanoseconds() const {
    float milliseconds = 0;
    if (!m_are_good || find_cuda_driver()->cuEventElapsedTime(&milliseconds, m_begin, m_end))
      return std::nullopt;
    return 1e6 * double(milliseconds);
  }

 private:
  CuContext m_context;
  CuEvent m_begin = nullptr, m_end = nullptr;
  bool m_are_good = false;
};

thread_local std::optional<Events> t_events;
thread_local Clock::time_point t_begin;

/// The thread's context; null if it uses no GPU.
CuContext current_context() {
  CuContext context = nullptr;
  return is_cuda_in_use() && !find_cuda_driver()->cuCtxGetCurrent(&context) ? context : nullptr;
}

void wait_for_gpu() {
  check_cuda(find_cuda_driver()->cuCtxSynchronize(), "cuCtxSynchronize");
}

}  // namespace

void begin_bench() {
  t_events.reset();
  if (const CuContext context = current_context()) {
    wait_for_gpu();
    t_events.emplace(context);
  }
  t_begin = Clock::now();
}

BenchTime end_bench() {
  constexpr CuResult k_not_ready = 600;
  BenchTime time;
  const CuContext context = current_context();
  if (context) {
    time.is_ahead = find_cuda_driver()->cuStreamQuery(k_default_stream) == k_not_ready;
    if (t_events) t_events->record_end(context);
    wait_for_gpu();
  }
  time.host_ns = std::chrono::duration<double, std::nano>(Clock::now() - t_begin).count();
  if (t_events) time.gpu_ns = t_events->nanoseconds();
  t_events.reset();
  return time;
}

}  // namespace tarsia::session
