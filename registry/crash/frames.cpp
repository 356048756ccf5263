// The C++ runtime's unwinder walks the stack; it allocates nothing.
#include "registry/crash/frames.h"

#include <sys/uio.h>
#include <unistd.h>
#include <unwind.h>

#include "registry/crash/module_range.h"

namespace tarsia::registry {
namespace {

_Unwind_Reason_Code add_frame(_Unwind_Context* unwound, void* to) {
  auto& frames = *static_cast<SignalFrames*>(to);
  int is_exact = 0;
  const std::uintptr_t pc = _Unwind_GetIPInfo(unwound, &is_exact);
  if (is_exact)
    frames.clear();  // what came before are handlers of the signal
  else if (!pc)
    return _URC_END_OF_STACK;
  frames.add({pc, is_exact != 0});
  constexpr std::size_t k_most = 1'000'000;
  return frames.n_outer < k_most ? _URC_NO_REASON : _URC_END_OF_STACK;
}

/// Whether a word of the process's memory can be read.
bool is_readable(std::uintptr_t address) {
  std::uintptr_t word = 0;
  const iovec here{&word, sizeof(word)}, there{reinterpret_cast<void*>(address), sizeof(word)};
  return ::process_vm_readv(::getpid(), &here, 1, &there, 1, 0) == static_cast<ssize_t>(sizeof(word));
}

}  // namespace

void SignalFrames::add(SignalFrame frame) {
  if (n_inner < k_inner)
    inner[n_inner++] = frame;
  else
    outer[n_outer++ % k_outer] = frame;
}

void collect_frames(ucontext_t& context, SignalFrames& frames) noexcept {
  frames.clear();
  const auto at = static_cast<std::uintptr_t>(context.uc_mcontext.gregs[REG_RIP]);
  if (is_readable(at)) {
    _Unwind_Backtrace(add_frame, &frames);
    if (frames.n_inner > 1) return;
  } else {
    frames.add({at, true});  // the unwinder would read there
  }
  // Nothing is known of the code at this address. If it was called, the address to return to lies on top of
  // the stack, and the unwinder can go on from there.
  auto* const registers = context.uc_mcontext.gregs;
  const auto stack = static_cast<std::uintptr_t>(registers[REG_RSP]);
  const greg_t pc = registers[REG_RIP];
  if (stack % sizeof(void*) != 0 || !is_readable(stack)) return;
  const std::uintptr_t caller = *reinterpret_cast<const std::uintptr_t*>(stack);
  if (!find_module(caller)) return;
  registers[REG_RIP] = static_cast<greg_t>(caller - 1);
  registers[REG_RSP] += sizeof(void*);
  _Unwind_Backtrace(add_frame, &frames);
  registers[REG_RIP] = pc;
  registers[REG_RSP] = static_cast<greg_t>(stack);
}

}  // namespace tarsia::registry
