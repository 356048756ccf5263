// Ranges on the timeline of a profiler that is attached to this process, such as Nsight Systems.
#pragma once

#include <atomic>
#include <string_view>

namespace tarsia {

namespace detail {
enum class Profiler : int { unknown, none, attached };
extern std::atomic<Profiler> g_profiler;
/// Whether one is attached; looks for it, the first time.
bool find_profiler();
bool begin_range(const char* what, std::string_view name);
void end_range();
}  // namespace detail

/// Whether a profiler is attached that takes NVTX's ranges: the environment's NVTX_INJECTION64_PATH named its
/// library at the first call, and the library wants them. Thread-safe. Without a profiler this is one load.
inline bool has_profiler() {
  const detail::Profiler known = detail::g_profiler.load(std::memory_order_relaxed);
  if (known == detail::Profiler::none) [[likely]]
    return false;
  return detail::find_profiler();
}

/// A range "WHAT NAME" of this thread, in NVTX's domain "Tarsia", for as long as it lives. Ranges of a thread
/// nest. Without a profiler it costs a load, and nothing is loaded.
class ProfilerRange {
 public:
  explicit ProfilerRange(const char* what, const char* name = "")
      : m_open(has_profiler() && detail::begin_range(what, name)) {}
  ~ProfilerRange() {
    if (m_open) [[unlikely]]
      detail::end_range();
  }
  ProfilerRange(const ProfilerRange&) = delete;
  ProfilerRange& operator=(const ProfilerRange&) = delete;

 private:
  bool m_open;
};

}  // namespace tarsia
