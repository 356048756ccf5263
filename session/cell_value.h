// The value that the running cell shows, and the functions of <tarsia/repl.h> that libtarsia defines.
#pragma once

#include <string>

namespace tarsia::session {

/// Takes what cells of this thread have written as their value since the last time, and forgets it.
std::string take_cell_value();

/// The address behind which the last exception of a cell was thrown on this thread; null if none was.
void* take_throw_address();

}  // namespace tarsia::session
