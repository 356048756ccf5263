// The program that explains the frames of a crash.
#pragma once

namespace tarsia::api {

/// Tells the registry where the compiler is, once there is one that can be run as it is. Called before a
/// library is loaded: a handler of signals cannot search.
void name_symbolizer() noexcept;

}  // namespace tarsia::api
