// A folder for the temporary files of one worker: a confined one may write nowhere else.
#pragma once

#include <sys/types.h>

#include <string>

namespace tarsia::jit {

/// Makes an empty folder of this process in TMPDIR/tarsia-UID-NAMESPACE, which others cannot enter, and
/// removes those of processes that are gone. Returns its path; empty if there can be none.
std::string make_scratch();

/// Removes the folder that this process has made, as it ends; a child of it removes nothing.
void remove_own_scratch();

/// Removes what a process, which has ended, has left of its folder.
void remove_scratch(pid_t pid);

}  // namespace tarsia::jit
