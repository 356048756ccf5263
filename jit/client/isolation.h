// How far workers are kept from what compiles do not need (docs/isolation.md).
#pragma once

#include <string>
#include <vector>

namespace tarsia::jit {

/// on: as far as the kernel knows how. required: a compile fails if it lacks some of it.
enum class Isolation { off, on, required };

/// TARSIA_ISOLATION, or `on` if that is not set. Throws ArgumentError if its value is none of the three.
Isolation wanted_isolation();

/// Reports what a worker found lacking. Throws Unsupported if isolation is required; else logs a warning,
/// once in this process. Does nothing if `lacks` is empty. Thread-safe.
void tell_of_lacking_isolation(Isolation wanted, const std::vector<std::string>& lacks);

/// What the kernel gives, for people: "files: Landlock 7; system calls: seccomp". Restricts nothing.
struct IsolationFinding {
  bool complete = false;
  std::string text;
};
IsolationFinding isolation_here();

}  // namespace tarsia::jit
