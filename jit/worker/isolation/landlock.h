// What this process may still open: Linux's Landlock.
#pragma once

#include <string>
#include <vector>

namespace tarsia::jit {

/// Paths that stay open to this process. A folder stands for all that lies below it. Paths that do not exist
/// are left out.
struct OpenPaths {
  std::vector<std::string> read;   ///< files, and folders whose files may be read and listed
  std::vector<std::string> list;   ///< folders whose names alone may be read
  std::vector<std::string> write;  ///< files that may be read and written
  std::string scratch;  ///< a folder in which files may be made, written and removed, and that may be removed
};

/// Takes from this thread, and from all threads and processes that it will start, the rights to open, make,
/// change, remove and execute files, save those named. It also takes TCP, signals to processes outside and
/// abstract sockets, as far as the kernel knows how. Descriptors that are open stay so, files in memory and
/// pipes can be opened again, and stat() still answers. Needs PR_SET_NO_NEW_PRIVS. Returns what is lacking,
/// for people; empty if nothing is. Cannot be undone.
std::string restrict_files(const OpenPaths& paths);

}  // namespace tarsia::jit
