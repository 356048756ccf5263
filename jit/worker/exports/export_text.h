// The text that describes a translation unit's functions, parsed at its end.
#pragma once

#include <string>

#include "jit/worker/exports/exports.h"

namespace tarsia::jit {

/// C++ for <tarsia/detail/adapter_light.h> if every function is C-style, else for
/// <tarsia/detail/adapter.h>, which costs a dozen milliseconds more. `cuda`: the source holds CUDA, in this
/// file or another. With `places`, the text names no line. The places of the functions go there instead,
/// and the device tables define them (place_symbol).
std::string export_text(const Exports& exports, clang::ASTContext& context, bool cuda, int unit,
                        std::vector<std::string>* places);

/// The hidden symbol of a string: the i-th of a unit's places.
std::string place_symbol(int unit, size_t i);

/// The same for a unit in C: a C++ unit of its own that declares the functions. Empty if it has no
/// functions.
std::string export_text_of_c(const Exports& exports, clang::ASTContext& context, bool cuda);

}  // namespace tarsia::jit
