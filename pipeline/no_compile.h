// Where compiles are forbidden: within scopes that a thread is in, and while it captures a CUDA graph.
#pragma once

#include <string>

namespace tarsia::pipeline {

/// Who forbids the compile of a source that is not in the cache.
enum class Ban : int {
  none = 0,
  caller = 1,     ///< takes it from the cache alone
  capturing = 2,  ///< a CUDA graph is being captured
};

/// Enters a scope on this thread. Scopes nest.
void enter_no_compile() noexcept;
/// Leaves the innermost. Returns false if the thread is in none.
bool leave_no_compile() noexcept;
/// How many scopes this thread is in.
unsigned no_compile_depth() noexcept;

/// Who forbids this thread a compile now. Asks the CUDA driver only where something in this process uses
/// CUDA.
Ban current_ban() noexcept;

/// What to tell whoever is forbidden one, and what to do about it.
std::string ban_text(Ban ban);

}  // namespace tarsia::pipeline
