// Headers whose names are nearly those that a text includes.
#pragma once

#include <string>

#include "jit/compile.h"
#include "llvm/ADT/StringRef.h"

namespace tarsia::jit {

/// How to include the header that is meant where `name` was not found: "<vector>" for "vectro", "\"util.h\""
/// for "utils.h". Of the request's folders, the files below the same subfolder are looked at. Empty: none is
/// near.
std::string near_header(llvm::StringRef name, const CompileRequest& request);

}  // namespace tarsia::jit
