// Starts a program from a handler of signals, under sanitizers too.
#pragma once

#include <sys/types.h>

namespace tarsia::registry {

/// What the process becomes. Signals do what they do by default there, save those that are ignored.
struct BareProgram {
  const char* path;
  char* const* arguments;    ///< with a null at the end
  char* const* environment;  ///< likewise
  int input, output;         ///< descriptors of the caller's, the program's 0 and 1
};

/// Runs the program in a process of its own, and returns when it has begun. The process ends with 127 if it
/// cannot. Its number; -1: there is none. One call at a time. It runs no handlers of fork, and calls nothing
/// that a sanitizer may have put in the C library's place.
pid_t start_bare(const BareProgram& program) noexcept;

}  // namespace tarsia::registry
