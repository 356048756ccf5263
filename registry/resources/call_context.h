// The surroundings of a call into a module: the thread's current context, its scratch and results, its
// streams.
#pragma once

#include <tarsia/abi.h>
#include <tarsia/c_api.h>

#include <cstddef>
#include <cstdint>

#include "base/cuda/cuda_driver.h"

namespace tarsia::registry {

/// The slot for this thread's current context; null outside of calls. Crashes of the thread are reported from
/// its first use on.
tarsia_call_context** call_slot() noexcept;

/// Whether who made the call under way wants it to end: see tarsia_call_context::interrupted. Asks every 20
/// ms at most; otherwise, and outside of calls, the answer is no. The thread's last error then says so.
bool is_call_interrupted() noexcept;

/// Whether the thread is in a parallel region of one of the OpenMP run-time libraries that are loaded. Slow:
/// it looks for them.
bool runs_in_parallel() noexcept;

/// Makes a context current while it lives, and frees the context's resources at its end.
class CallFrame {
 public:
  explicit CallFrame(tarsia_device device) noexcept;
  /// With the stream that is current for `device` within.
  CallFrame(tarsia_device device, void* stream) noexcept;
  /// Says that an op runs.
  CallFrame(tarsia_device device, const tarsia_op& op, const tarsia_op_context& call) noexcept;
  /// The same with the stream that is current for `device` within.
  CallFrame(tarsia_device device, void* stream, const tarsia_op& op, const tarsia_op_context& call) noexcept;
  ~CallFrame();
  CallFrame(const CallFrame&) = delete;
  CallFrame& operator=(const CallFrame&) = delete;
  tarsia_call_context& context() { return m_context; }

 private:
  void enter(tarsia_device device, const tarsia_op* op, const tarsia_op_context* call) noexcept;
  void give(void* stream) noexcept;
  static void* stream_of(void* self, std::int32_t device);

  tarsia_call_context** m_slot;
  tarsia_call_context m_context;
  void* m_stream = nullptr;
};

/// The device of the innermost call, else the CPU.
tarsia_device call_device() noexcept;

/// The current stream for a GPU. It is that of the innermost context with streams, else the one set for
/// this thread, else CUDA's default. -1 stands for the call's GPU, else CUDA's current one, else 0.
void* current_stream(std::int32_t device);

/// Sets, and gets, this thread's stream for calls whose context has none.
void set_thread_stream(std::int32_t device, void* stream);
void* thread_stream(std::int32_t device) noexcept;

/// See tarsia_host.share. Throws ArgumentError if the call's caller cannot share its tensors; null if it
/// fails to, with the last error set.
tarsia_storage* share_argument(const tarsia_tensor* argument);

/// See tarsia_host.resize. Throws ArgumentError if the call's caller cannot resize its tensors; another code
/// than 0 if it fails to, with the last error set.
std::int32_t resize_argument(const tarsia_tensor* argument, const std::int64_t* shape, std::int32_t ndim);

/// Each piece of a call's scratch begins at a multiple of this, in bytes.
inline constexpr std::uint64_t k_scratch_alignment = 256;
/// The bytes that a piece of scratch takes up.
constexpr std::uint64_t scratch_piece(std::uint64_t bytes) {
  return (bytes + k_scratch_alignment - 1) / k_scratch_alignment * k_scratch_alignment;
}

/// Where a thread's scratch comes from, in place of memory of its calls.
class ScratchSource {
 public:
  /// Memory for the call under way, aligned to 256 bytes.
  virtual void* take(std::uint64_t bytes, tarsia_device device) = 0;

 protected:
  ~ScratchSource() = default;
};
/// Lets the calling thread's scratch come from a source while it lives; null: from memory of its calls.
class ScratchScope {
 public:
  explicit ScratchScope(ScratchSource* source) noexcept;
  ~ScratchScope();
  ScratchScope(const ScratchScope&) = delete;
  ScratchScope& operator=(const ScratchScope&) = delete;

 private:
  ScratchSource* m_before;
};

/// Memory of the innermost call, aligned to 256 bytes. Throws Error outside of calls, and CudaError.
void* call_scratch(std::uint64_t bytes, tarsia_device device);
/// The same on the CPU, aligned to 16 bytes; for results.
void* call_memory(std::uint64_t bytes);

/// A resource that a call holds until it ends. `give_back` gets it then.
struct Loan {
  void* what = nullptr;
  void (*give_back)(void* what) noexcept = nullptr;
};
/// A new loan of the innermost call, for the caller to fill in. Valid until the next one. Throws Error
/// outside of calls.
Loan& new_loan();
/// The first loan of this thread's calls that fits, the innermost call first; null if none does.
const Loan* find_loan(bool (*fits)(const Loan& loan, bool is_innermost, const void* wanted),
                      const void* wanted) noexcept;

/// Frees the rest of a call's resources: see tarsia_free_resources.
void free_resources(tarsia_call_context& context) noexcept;

}  // namespace tarsia::registry
