// What both device compilers do with their lists of diagnostics.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "jit/compile.h"

namespace tarsia::jit {

inline bool is_error(const Diagnostic& one) {
  return one.severity >= Severity::error;
}

inline bool has_errors(const std::vector<Diagnostic>& diagnostics) {
  return std::ranges::any_of(diagnostics, is_error);
}

/// An error about a text as a whole.
inline Diagnostic error_of(const SourceFile& file, std::string message) {
  return {.file = file.name, .severity = Severity::error, .message = std::move(message)};
}

/// Appends those that are not in the list: compiles for several architectures say the same.
inline void append_new(std::vector<Diagnostic>& into, std::vector<Diagnostic> more) {
  for (Diagnostic& diagnostic : more) {
    const bool known = std::ranges::any_of(into, [&](const Diagnostic& d) {
      return d.file == diagnostic.file && d.line == diagnostic.line && d.column == diagnostic.column &&
             d.message == diagnostic.message;
    });
    if (!known) into.push_back(std::move(diagnostic));
  }
}

}  // namespace tarsia::jit
