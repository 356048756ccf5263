// What a handler of signals may ask about the thread that it interrupts, without thread-local storage, locks
// or memory.
#pragma once

#include <pthread.h>
#include <tarsia/c_api.h>

#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/text_origin.h"

namespace tarsia::registry {

/// A module that a thread maps just now: its own code already runs.
struct LoadingModule {
  std::string_view name;
  std::string_view bytes;
  std::span<const TextOrigin> origins;
  std::uint64_t inode;         ///< of its file
  const LoadingModule* outer;  ///< modules may load modules
};

/// A thread that has called, or loaded, code of a library.
struct ThreadRecord {
  std::atomic<pthread_t> thread{};  ///< 0: free
  tarsia_call_context** slot = nullptr;
  std::atomic<const LoadingModule*> loading{nullptr};
  std::uintptr_t stack_low = 0;  ///< the lowest address of its stack; 0: not known
  void* alternate_stack = nullptr;
  ThreadRecord* next = nullptr;
};

/// The calling thread's record, made at first use and given back when the thread ends. `slot` is where the
/// thread keeps its current call. Null only if there is no memory. If crashes are reported, handlers of
/// signals get a stack of their own here, unless the thread has one.
ThreadRecord* watch_thread(tarsia_call_context** slot) noexcept;

/// The calling thread's record; null: it has none. For handlers of signals.
ThreadRecord* find_thread_record() noexcept;

/// Says that the calling thread maps a module while it lives.
class LoadingScope {
 public:
  /// `slot`: as for watch_thread(). `name`, `bytes`, those of the open file, and `origins` must live as long.
  LoadingScope(tarsia_call_context** slot, std::string_view name, std::string_view bytes,
               std::span<const TextOrigin> origins, int file) noexcept;
  ~LoadingScope();
  LoadingScope(const LoadingScope&) = delete;
  LoadingScope& operator=(const LoadingScope&) = delete;

 private:
  ThreadRecord* m_record;
  LoadingModule m_loading;
};

}  // namespace tarsia::registry
