// A message of a compiler, or of a check before it, about the user's text.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tarsia {

enum class Severity { note, warning, error, fatal };

struct Diagnostic {
  std::string file;  ///< the user's name of it
  int line = 0;      ///< from 1; 0: no place
  int column = 0;    ///< from 1, in bytes; 0: unknown
  Severity severity = Severity::error;
  std::string message;
};

/// Of a text that the user has to mend.
inline constexpr char k_nul_byte[] = "NUL byte in the text: remove it, compilers stop there";

/// The step at which something failed.
enum class Stage { source, host, split, device, link, worker, load, call };

/// "note", "warning", "error", "fatal error".
std::string_view severity_name(Severity severity);
/// The enumerator's name.
std::string_view stage_name(Stage stage);
/// The stage of that name; Stage::load for others.
Stage stage_named(std::string_view name);
/// "relu.cu:12:3: error: message". Unknown parts of the place are left out.
std::string format(const Diagnostic& diagnostic);
/// One line a diagnostic, each ended by a newline.
std::string format(std::span<const Diagnostic> diagnostics);
/// Errors before warnings, each with the notes that follow it; otherwise in their order.
std::vector<Diagnostic> errors_first(std::vector<Diagnostic> diagnostics);
/// What a text about a failure has: neither warnings about headers on disk nor their notes, if there is an
/// error.
std::vector<Diagnostic> of_failure(std::span<const Diagnostic> diagnostics);

}  // namespace tarsia
