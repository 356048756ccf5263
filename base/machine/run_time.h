// The C and C++ libraries that modules of this machine need at least.
#pragma once

#include <string>

namespace tarsia {

/// "glibc 2.36, libstdc++ 6.0.30". A module is linked against the machine's libraries, and asks for the
/// newest versions of symbols that they have: on a machine with older ones it may not load. Thread-safe.
const std::string& run_time_identity();

}  // namespace tarsia
