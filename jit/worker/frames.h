// Explains the frames of a program that crashed: functions, files and lines, by its modules' debug
// information.
#pragma once

#include <iosfwd>

namespace tarsia::jit {

/// Reads what base/frame_format.h says from a descriptor, and writes a line for each frame of the modules'
/// own code, and of the libraries that it called, as "  #0 inner(float*) at source:3". Frames of Tarsia's own
/// headers, and those outside of the outermost module, are left out. False: what came is damaged.
bool explain_frames(int from, std::ostream& to);

/// Answers as LLVM's symbolizer does, until the input ends: to a line `CODE "module.so" 0x1234` with the
/// function and "file:line:column" of each inlined frame, to `DATA …` with nothing known, each answer ended
/// by an empty line (https://llvm.org/docs/CommandGuide/llvm-symbolizer.html).
void answer_as_symbolizer(std::istream& from, std::ostream& to);

}  // namespace tarsia::jit
