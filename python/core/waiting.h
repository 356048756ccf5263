// Waits for compiles: their line of progress, and what ends them early.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "python/core/py.h"

namespace tarsia::python {

/// Ends the compiles of its StopScopes within 50 ms: they fail as interrupted. Any thread may call it.
class Stop {
 public:
  void set() { m_set = true; }
  bool is_set() const { return m_set; }

 private:
  std::atomic<bool> m_set = false;
};

/// While it lives, the compiles of this thread obey `stop`, which must live as long.
class StopScope {
 public:
  explicit StopScope(const Stop& stop);
  ~StopScope();
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

 private:
  const Stop* m_outer;
};

/// One wait for a compile. Once it takes long, a line on the terminal names the compile; tarsia._progress
/// decides whether. Made and ended with the GIL held, on one thread.
class Wait {
 public:
  explicit Wait(const char* name) : m_name(name) {}
  ~Wait();
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;

  /// tarsia_options::interrupted, with a Wait as its context, called without the GIL: moves the line, and
  /// runs Python's signal handlers, so that Ctrl-C ends the compile. A Stop ends it too.
  static int32_t interrupted(void* wait);

 private:
  void tick();

  const char* m_name;
  std::chrono::steady_clock::time_point m_began = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point m_last = m_began;  ///< when it was asked last
  bool m_ticked = false;
};

/// Makes a call that may wait for a compile: without the GIL, and Ctrl-C ends the wait. Returns its code;
/// raise_interruption() tells whether a signal's handler raised.
int32_t wait_for(const char* name, int32_t (*call)(void* user), void* user);
template <class F>
int32_t wait_for(const char* name, const F& call) {
  return wait_for(name, [](void* user) { return (*static_cast<const F*>(user))(); }, const_cast<F*>(&call));
}

/// Raises again the exception that a signal's handler raised during this thread's last wait. Returns
/// whether there was one.
bool raise_interruption();

}  // namespace tarsia::python
