// Headers that were not found: those of nearly that name, and those that a wheel has.
#pragma once

#include <string>

#include "jit/compile.h"
#include "llvm/ADT/StringRef.h"

namespace tarsia::jit {

/// The remedy for a header that was not found. Of NVIDIA's libraries, such as <cublas_v2.h>: the wheel that
/// has it. Else what is meant: <vector> by "vectro", "util.h" by "utils.h"; of the request's folders, the
/// files below the same subfolder are looked at. Empty: it is of none, and none is near.
std::string header_remedy(llvm::StringRef name, const CompileRequest& request);

}  // namespace tarsia::jit
