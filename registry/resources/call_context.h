// What surrounds a call into a module: the thread's current context, its scratch and results, its streams.
#pragma once

#include <tarsia/abi.h>
#include <tarsia/c_api.h>

#include <cstddef>
#include <cstdint>

#include "base/cuda_driver.h"

namespace tarsia::registry {

/// Where this thread keeps its current context; null outside of calls.
tarsia_call_context** call_slot() noexcept;

/// Makes a context current while it lives, and frees its resources then.
class CallFrame {
 public:
  explicit CallFrame(tarsia_device device) noexcept;
  /// The stream that is current for `device` within.
  CallFrame(tarsia_device device, void* stream) noexcept;
  ~CallFrame();
  CallFrame(const CallFrame&) = delete;
  CallFrame& operator=(const CallFrame&) = delete;
  tarsia_call_context& context() { return m_context; }

 private:
  static void* stream_of(void* self, std::int32_t device);

  tarsia_call_context** m_slot;
  tarsia_call_context m_context{};
  void* m_stream = nullptr;
};

/// The device of the innermost call, else the CPU.
tarsia_device call_device() noexcept;

/// The stream that is current for a GPU: the innermost context's that has streams, else the one set for this
/// thread, else CUDA's default. -1 stands for the call's GPU, else CUDA's current one, else 0.
void* current_stream(std::int32_t device);

/// Sets and gives this thread's stream for calls whose context has none.
void set_thread_stream(std::int32_t device, void* stream);
void* thread_stream(std::int32_t device) noexcept;

/// Memory of the innermost call, aligned to 256 bytes. Throws Error outside of calls, CudaError.
void* call_scratch(std::uint64_t bytes, tarsia_device device);
/// The same on the CPU, aligned to 16 bytes; for results.
void* call_memory(std::uint64_t bytes);

/// Something that a call holds until it ends, when `give_back` gets it.
struct Loan {
  void* what = nullptr;
  void (*give_back)(void* what) noexcept = nullptr;
};
/// A loan of the innermost call, to be filled in; valid until the next one. Throws Error outside of calls.
Loan& new_loan();
/// The first loan that fits of this thread's calls, the innermost first; null if none does.
const Loan* find_loan(bool (*fits)(const Loan& loan, bool is_innermost, const void* wanted),
                      const void* wanted) noexcept;

/// Frees what the call left: see tarsia_free_resources.
void free_resources(tarsia_call_context& context) noexcept;

}  // namespace tarsia::registry
