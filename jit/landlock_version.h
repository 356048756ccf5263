// What the kernel's Landlock knows: the worker restricts itself by it, and its client tells of it.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <string>

namespace tarsia::jit {

// From linux/landlock.h, which the headers of the oldest supported systems do not have.
inline constexpr long k_landlock_create_ruleset = 444;
inline constexpr unsigned k_landlock_ask_version = 1;

/// Landlock's version in this kernel; below 1 and errno, if there is none.
inline long landlock_version() {
  return ::syscall(k_landlock_create_ruleset, nullptr, std::size_t{0}, k_landlock_ask_version);
}

/// What a version that is there lacks; empty: nothing that Tarsia uses.
inline std::string lacks_of_landlock(long version) {
  constexpr long k_first_with_signals = 6;
  return version < k_first_with_signals ? "cannot keep it from signals to other processes" : "";
}

}  // namespace tarsia::jit
