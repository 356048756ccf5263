// Diagnostics as text.
#include "base/diagnostic.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tarsia {

std::string_view severity_name(Severity severity) {
  switch (severity) {
    case Severity::note:
      return "note";
    case Severity::warning:
      return "warning";
    case Severity::error:
      return "error";
    case Severity::fatal:
      return "fatal error";
  }
  return "error";
}

std::string_view stage_name(Stage stage) {
  switch (stage) {
    case Stage::source:
      return "source";
    case Stage::host:
      return "host";
    case Stage::split:
      return "split";
    case Stage::device:
      return "device";
    case Stage::link:
      return "link";
    case Stage::worker:
      return "worker";
    case Stage::load:
      return "load";
    case Stage::call:
      return "call";
  }
  return "worker";
}

Stage stage_named(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(Stage::call); ++i)
    if (stage_name(static_cast<Stage>(i)) == name) return static_cast<Stage>(i);
  return Stage::load;
}

std::string format(const Diagnostic& diagnostic) {
  std::string text;
  if (!diagnostic.file.empty()) {
    text += diagnostic.file;
    if (diagnostic.line > 0) {
      text += ':' + std::to_string(diagnostic.line);
      if (diagnostic.column > 0) text += ':' + std::to_string(diagnostic.column);
    }
    text += ": ";
  }
  text += severity_name(diagnostic.severity);
  return text += ": " + diagnostic.message;
}

std::string format(std::span<const Diagnostic> diagnostics) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics) text += format(diagnostic) + '\n';
  return text;
}

std::vector<Diagnostic> errors_first(std::vector<Diagnostic> diagnostics) {
  std::vector<Diagnostic> errors, others;
  bool of_error = true;  // notes before all stay before all
  for (Diagnostic& one : diagnostics) {
    if (one.severity != Severity::note) of_error = one.severity >= Severity::error;
    (of_error ? errors : others).push_back(std::move(one));
  }
  std::ranges::move(others, std::back_inserter(errors));
  return errors;
}

std::vector<Diagnostic> of_failure(std::span<const Diagnostic> diagnostics) {
  const bool failed =
      std::ranges::any_of(diagnostics, [](const Diagnostic& one) { return one.severity >= Severity::error; });
  std::vector<Diagnostic> shown;
  bool left_out = false;
  for (const Diagnostic& one : diagnostics) {
    // The user's own texts have no absolute names.
    if (one.severity != Severity::note)
      left_out = failed && one.severity == Severity::warning && one.file.starts_with('/');
    if (!left_out) shown.push_back(one);
  }
  return shown;
}

}  // namespace tarsia
