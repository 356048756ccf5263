// Frames become functions and lines in a process of their own: the compiler's, which reads debug information.
#pragma once

#include <string>
#include <string_view>

#include "registry/crash/frames.h"
#include "registry/crash/thread_record.h"

namespace tarsia::registry {

/// Names the program that explains frames, `tarsia-compiler --frames`. Kept for the life of the process; the
/// first name that is not empty counts. Without one, frames are addresses in modules.
void set_symbolizer(const std::string& program);
bool has_symbolizer() noexcept;

/// Writes the frames to standard error, from a handler of signals. `loading`: the module that is being
/// mapped, or null. Waits ten seconds at most.
void write_frames(const SignalFrames& frames, const LoadingModule* loading) noexcept;

}  // namespace tarsia::registry
