// Prints errors and warnings on standard error.
#include "tools/report.h"

#include <tarsia/options.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

namespace tarsia::tools {
namespace {

/// The message, with options that its hints name spelled as the command takes them: std="c++23" is
/// --std=c++23.
std::string in_commands_spelling(std::string message) {
  std::size_t hint = message.find("; ");
  if (hint == std::string::npos) return message;
  Options known;
  for_each_option(known, [&](const OptionRow& row, auto&) {
    const std::size_t dashes = row.command.find("--");
    if (dashes == std::string_view::npos) return;
    const std::string_view name = row.command.substr(dashes, row.command.find(' ', dashes) - dashes);
    const std::string python = " " + std::string(row.name) + "=\"";
    for (std::size_t at = hint; (at = message.find(python, at)) != std::string::npos;) {
      const std::size_t begin = at + python.size(), end = message.find('"', begin);
      if (end == std::string::npos) return;
      const std::string value = message.substr(begin, end - begin);
      message.replace(at, end + 1 - at, " " + std::string(name) + "=" + value);
      ++at;
    }
  });
  return message;
}

void print(const tarsia_diagnostic& d, const Sources& sources) {
  std::string place = *d.file ? sources.shown(d.file) : "tarsia";
  if (*d.file && d.line > 0) {
    place += ':' + std::to_string(d.line);
    if (d.column > 0) place += ':' + std::to_string(d.column);
  }
  std::fprintf(stderr, "%s: %s: %s\n", place.c_str(), d.severity, in_commands_spelling(d.message).c_str());
  if (!*d.file || d.line <= 0) return;
  if (const auto line = sources.line(d.file, d.line)) print_excerpt(*line, d.line, d.column);
}

}  // namespace

// The line of the caret keeps tabs and skips all but the first byte of a UTF-8 character, so that the caret
// stands below its character.
void print_excerpt(const std::string& line, int number, int column) {
  std::fprintf(stderr, "%5d | %s\n", number, line.c_str());
  if (column <= 0) return;
  std::string blanks;
  for (const char c : line.substr(0, column - 1))
    if (c == '\t' || (static_cast<unsigned char>(c) & 0xC0) != 0x80) blanks += c == '\t' ? '\t' : ' ';
  std::fprintf(stderr, "      | %s^\n", blanks.c_str());
}

void print_error(const std::string& message) {
  std::fprintf(stderr, "tarsia: error: %s\n", message.c_str());
}

void print_diagnostics(std::span<const tarsia_diagnostic> diagnostics, const Sources& sources) {
  for (const tarsia_diagnostic& d : diagnostics) print(d, sources);
}

Exit report_last_error(const Sources* sources) {
  const tarsia_error* error = tarsia_last_error();
  if (sources && error->n_diagnostics) {
    print_diagnostics({error->diagnostics, error->n_diagnostics}, *sources);
    int errors = 0;
    for (uint64_t i = 0; i < error->n_diagnostics; ++i)
      errors += std::strstr(error->diagnostics[i].severity, "error") != nullptr;
    // The first line of the message is the headline. The others repeat the diagnostics.
    const std::string headline(error->message, std::strcspn(error->message, "\n"));
    std::fprintf(stderr, "tarsia: %s (%d error%s)\n", headline.c_str(), errors, errors == 1 ? "" : "s");
    return k_failed;
  }
  print_error(error->message);
  if (*error->log && !std::strstr(error->message, error->log)) std::fprintf(stderr, "%s\n", error->log);
  const bool by_options = error->code == TARSIA_ARGUMENT_TYPE || error->code == TARSIA_ARGUMENT_VALUE;
  return by_options ? k_usage : k_failed;
}

}  // namespace tarsia::tools
