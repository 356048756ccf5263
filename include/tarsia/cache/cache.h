// The cache of compiled modules, for programs: what became of their requests, and where none may be compiled.
#pragma once

#include <tarsia/c_api.h>
#include <tarsia/errors.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tarsia {

/// What became of this process's requests for modules: hits by tier, misses by reason.
using CacheCounters = tarsia_cache_counters;

namespace detail {

/// The text that libtarsia allocated.
inline std::string take_text(char* text) {
  const std::unique_ptr<char, void (*)(void*)> owned(text, tarsia_free);
  return owned.get();
}

}  // namespace detail

/// Returns the counters of the folder that the environment names now.
inline CacheCounters cache_counters() {
  CacheCounters counters{};
  counters.size = sizeof(counters);
  detail::check(tarsia_cache_get_counters(&counters));
  return counters;
}

/// While it lives, a source or kernel that this thread asks for and that is not in the cache is a
/// CompileForbidden at once, which says why it is not there. Scopes nest. Ends on the thread that it began
/// on.
class NoCompile {
 public:
  /// Begins it on this thread.
  NoCompile() { tarsia_no_compile_enter(); }
  ~NoCompile() { (void)tarsia_no_compile_leave(); }
  NoCompile(const NoCompile&) = delete;
  NoCompile& operator=(const NoCompile&) = delete;
};

/// Notes every module that this process asks for while it lives, from all threads, for a pack. A program that
/// replays the pack then finds them.
class Recording {
 public:
  /// Begins it. `path` is the pack to write; its folder has to be there. Throws Error if nothing can be
  /// written there.
  explicit Recording(const std::string& path) {
    detail::check(tarsia_record_begin(path.c_str(), &m_recording));
  }
  /// Writes nothing unless write() did.
  ~Recording() { tarsia_record_drop(m_recording); }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  /// Writes the pack and ends the recording. Returns a report as JSON: `modules`, `bytes`, `written`,
  /// `left_out` (see tarsia_record_end). Throws Error if it cannot be written; then the recording goes on.
  std::string write() {
    char* json = nullptr;
    detail::check(tarsia_record_end(m_recording, &json));
    return detail::take_text(json);
  }

 private:
  uint64_t m_recording = 0;
};

/// Takes the modules of a pack into this process's memory: from now on they are found before any other. A
/// pack is code: replay those alone whose author you trust. Makes all GPUs ready for them. Returns a report
/// as JSON (see tarsia_replay). Throws Error or LoadError, which name the file; nothing of it is then used.
inline std::string replay(const std::string& path) {
  char* json = nullptr;
  detail::check(tarsia_replay(path.c_str(), nullptr, 0, &json));
  return detail::take_text(json);
}

/// The same with these GPUs; none: CUDA is not initialised, so that the process may be forked.
inline std::string replay(const std::string& path, const std::vector<int32_t>& devices) {
  char* json = nullptr;
  const int32_t none = 0;
  detail::check(tarsia_replay(path.c_str(), devices.empty() ? &none : devices.data(), devices.size(), &json));
  return detail::take_text(json);
}

}  // namespace tarsia
