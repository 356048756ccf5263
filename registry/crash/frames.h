// The frames of the code that a signal interrupted.
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <cstdint>

namespace tarsia::registry {

struct SignalFrame {
  std::uintptr_t pc;
  bool is_exact;  ///< the address of the instruction itself; otherwise that behind a call
};

/// The innermost frames and the outermost ones; between them some may be left out. Too large for a stack that
/// has overflowed: static.
struct SignalFrames {
  static constexpr std::size_t k_inner = 40, k_outer = 12;
  SignalFrame inner[k_inner];
  std::size_t n_inner = 0;
  SignalFrame outer[k_outer];  ///< a ring
  std::size_t n_outer = 0;     ///< that came; the last k_outer of them are kept

  void clear() { n_inner = n_outer = 0; }
  void add(SignalFrame frame);
  std::size_t left_out() const { return n_outer > k_outer ? n_outer - k_outer : 0; }
  std::size_t n_outer_kept() const { return n_outer - left_out(); }
  const SignalFrame& outer_kept(std::size_t i) const { return outer[(left_out() + i) % k_outer]; }
};

/// Fills `frames`, called by a handler of signals with the context that it got. If other handlers ran before
/// it, they are left out: the frames are those of the signal that came first. A call of a bad address counts
/// as if the signal had come in the caller.
void collect_frames(ucontext_t& context, SignalFrames& frames) noexcept;

}  // namespace tarsia::registry
