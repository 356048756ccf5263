// Remedies for names that newcomers meet first: those of other libraries' tutorials, and of newer standards.
#pragma once

#include <string>

#include "llvm/ADT/StringRef.h"

namespace tarsia::jit {

/// The remedy for a name that is well known, and not what its header alone gives: torch::Tensor, PyObject,
/// Tensor, dim3, or a name of namespace std that stands there without `std::`. `text` is the source's. Empty:
/// none of these.
std::string newcomer_remedy(llvm::StringRef name, llvm::StringRef text);

/// The remedy for a header of this kind that was not found, such as <torch/extension.h>; or empty.
std::string newcomer_header_remedy(llvm::StringRef header);

/// Whether a text includes a header, by itself.
bool includes(llvm::StringRef text, llvm::StringRef header);

/// The standard that has a name of namespace std and that an earlier one lacks, such as "c++23" for
/// "expected"; or empty. For a member it is asked by its class too: "string::contains".
llvm::StringRef standard_of(llvm::StringRef name);

/// Whether `standard`, such as "c++23", is newer than `present`, as in 20. Empty is not.
bool is_newer(llvm::StringRef standard, int present);

/// The remedy for an error about what the language has in a newer standard than `present`, such as a concept
/// in C++17; or empty. `place`: the source's text from the error on.
std::string newer_language_remedy(llvm::StringRef message, llvm::StringRef place, int present);

}  // namespace tarsia::jit
