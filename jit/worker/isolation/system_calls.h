// What this process may still ask of the kernel: a seccomp filter.
#pragma once

#include <string>

namespace tarsia::jit {

/// Takes from this thread, and from all threads and processes that it will start, the system calls that no
/// compile needs: sockets, other programs, other processes' memory, limits and priorities, rights and owners
/// of files, namespaces, mounts, keys, and the kernel's own set-up. They fail with EPERM. Needs
/// PR_SET_NO_NEW_PRIVS. Returns what is lacking, for people; empty if nothing is. Cannot be undone.
std::string restrict_system_calls();

}  // namespace tarsia::jit
