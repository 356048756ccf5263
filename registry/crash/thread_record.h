// What a handler of signals may ask about the thread that it interrupts, without thread-local storage, locks
// or memory.
#pragma once

#include <pthread.h>
#include <tarsia/c_api.h>
#include <tarsia/op_abi.h>

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
  bool is_leaving = false;     ///< it is unmapped: its destructors and exit handlers run
};

/// A function of an op's declaration that a thread runs just now, outside of the op's passes.
struct OpStep {
  const tarsia_op* op;
  const char* name;                 ///< of the function: "inference", "state"
  const tarsia_bind_info* info;     ///< what it asks about; null: nothing is known yet, or any more
  const tarsia_call_context* call;  ///< the thread's innermost call when the step began
  const LoadingModule* loading;     ///< and the module that it mapped
  OpStep* outer;                    ///< inference may bind ops
  std::uint64_t interrupt_ns = 0;   ///< as tarsia_call_context::interrupt_ns
};

/// A thread that has called, or loaded, code of a library.
struct ThreadRecord {
  std::atomic<pthread_t> thread{};  ///< 0: free
  tarsia_call_context** slot = nullptr;
  std::atomic<const LoadingModule*> loading{nullptr};
  std::atomic<OpStep*> step{nullptr};
  std::uintptr_t stack_low = 0;  ///< the lowest address of its stack; 0: not known
  void* alternate_stack = nullptr;
  ThreadRecord* next = nullptr;
};

/// The calling thread's record, made at first use and given back when the thread ends. `slot` is where the
/// thread keeps its current call. Null if there is no memory, and while the thread's last destructors run. If
/// crashes are reported, handlers of signals get a stack of their own here, unless the thread has one.
ThreadRecord* watch_thread(tarsia_call_context** slot) noexcept;

/// The calling thread's record; null: it has none. For handlers of signals.
ThreadRecord* find_thread_record() noexcept;

/// Says that the calling thread maps a module, or unmaps it, while it lives.
class LoadingScope {
 public:
  /// `slot`: as for watch_thread(). `name`, `bytes`, those of the open file, and `origins` must live as long.
  LoadingScope(tarsia_call_context** slot, std::string_view name, std::string_view bytes,
               std::span<const TextOrigin> origins, int file) noexcept;
  /// A module that is unmapped has its place in find_module().
  LoadingScope(tarsia_call_context** slot, std::string_view name) noexcept;
  ~LoadingScope();
  LoadingScope(const LoadingScope&) = delete;
  LoadingScope& operator=(const LoadingScope&) = delete;

 private:
  void enter() noexcept;

  ThreadRecord* m_record;
  LoadingModule m_loading;
};

/// Says that the calling thread runs a function of an op's declaration while it lives.
class OpStepScope {
 public:
  /// `slot`: as for watch_thread(). The others must live as long.
  OpStepScope(tarsia_call_context** slot, const tarsia_op& op, const char* name,
              const tarsia_bind_info* info) noexcept;
  ~OpStepScope();
  OpStepScope(const OpStepScope&) = delete;
  OpStepScope& operator=(const OpStepScope&) = delete;

 private:
  ThreadRecord* m_record;
  OpStep m_step;
};

}  // namespace tarsia::registry
