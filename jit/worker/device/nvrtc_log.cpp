// The log's grammar, as NVRTC 12 and 13 print it:
//
//     FILE(LINE): error: TEXT                 or "error #N-D:", "warning #N-D:", "catastrophic error:", "note
//     #N-D:"
//                 MORE TEXT                   twelve blanks: the message goes on
//       THE SOURCE LINE                       two blanks
//            ^
//               detected during instantiation of "WHAT" at line N of FILE
//               detected during:              ten blanks; the list below has twelve
//                 instantiation of "WHAT" at line N
//     warning: TEXT                           without a place, perhaps after "At end of source: " or "nvrtc:
//     " ptxas application ptx input, line N; error   : TEXT ptxas error   : TEXT
#include "jit/worker/device/nvrtc_log.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "base/demangle.h"

namespace tarsia::jit {
namespace {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

int number_at(std::string_view text) {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// "error", "error #20-D", "catastrophic error", … up to its colon.
std::optional<Severity> severity_of(std::string_view word) {
  if (const size_t number = word.find(" #"); number != word.npos) word = word.substr(0, number);
  word = trimmed(word);
  if (word == "error" || word == "Error") return Severity::error;
  if (word == "catastrophic error" || word == "Catastrophic error" || word == "internal error" ||
      word == "fatal")
    return Severity::fatal;
  if (word == "warning" || word == "Warning") return Severity::warning;
  if (word == "note" || word == "remark" || word == "info") return Severity::note;
  return std::nullopt;
}

/// " [#177-D]" for "warning #177-D": by this number `#pragma nv_diag_suppress 177` names it. "" for others.
std::string name_of_warning(std::string_view word) {
  const size_t number = word.find(" #");
  if (number == word.npos || severity_of(word) != Severity::warning) return {};
  return " [" + std::string(trimmed(word.substr(number + 1))) + "]";
}

/// Replaces 'mangled' names in ptxas's messages with those that people know.
std::string demangled(std::string text) {
  for (size_t at = 0; (at = text.find("'_Z", at)) != std::string::npos;) {
    const size_t end = text.find('\'', at + 1);
    if (end == std::string::npos) break;
    text.replace(at + 1, end - at - 1, readable_symbol(text.substr(at + 1, end - at - 1)));
    at = text.find('\'', at + 1) + 1;
  }
  return text;
}

/// The first line of a message, if the line begins one.
std::optional<Diagnostic> head(std::string_view line) {
  Diagnostic diagnostic;
  if (line.empty() || line[0] == ' ') return std::nullopt;
  if (line.starts_with("ptxas ")) {
    const size_t colon = line.find(": ");
    if (colon == line.npos) return std::nullopt;
    std::string_view before = trimmed(line.substr(6, colon - 6));
    const size_t word = before.rfind(' ') == before.npos ? 0 : before.rfind(' ') + 1;
    std::optional<Severity> severity = severity_of(before.substr(word));
    if (!severity) return std::nullopt;
    diagnostic.severity = *severity;
    diagnostic.message = "ptxas: " + std::string(trimmed(line.substr(colon + 2)));
    if (before.starts_with("application ptx input, line "))
      diagnostic.message = "ptxas, line " + std::to_string(number_at(before.substr(28))) +
                           " of the PTX: " + std::string(trimmed(line.substr(colon + 2)));
    diagnostic.message = demangled(std::move(diagnostic.message));
    return diagnostic;
  }
  // FILE(LINE): WORD: TEXT; a file name may hold parentheses and colons of its own.
  for (size_t at = line.find("): "); at != line.npos; at = line.find("): ", at + 1)) {
    const size_t open = line.rfind('(', at);
    const size_t colon = line.find(": ", at + 3);
    if (open == line.npos || colon == line.npos) continue;
    const std::string_view digits = line.substr(open + 1, at - open - 1);
    if (digits.empty() || digits.find_first_not_of("0123456789") != digits.npos) continue;
    std::optional<Severity> severity = severity_of(line.substr(at + 3, colon - at - 3));
    if (!severity) continue;
    diagnostic.file = line.substr(0, open);
    diagnostic.line = number_at(digits);
    diagnostic.severity = *severity;
    diagnostic.message = trimmed(line.substr(colon + 2));
    diagnostic.message += name_of_warning(line.substr(at + 3, colon - at - 3));
    return diagnostic;
  }
  // [nvrtc: ]WORD: TEXT, or "Warning #20282-D: TEXT", or " warning: TEXT".
  std::string_view rest = line;
  for (std::string_view prefix : {"nvrtc: ", "At end of source: "})
    if (rest.starts_with(prefix)) rest.remove_prefix(prefix.size());
  const size_t colon = rest.find(": ");
  if (colon == rest.npos) return std::nullopt;
  std::optional<Severity> severity = severity_of(rest.substr(0, colon));
  if (!severity) return std::nullopt;
  diagnostic.severity = *severity;
  diagnostic.message = trimmed(rest.substr(colon + 2));
  diagnostic.message += name_of_warning(rest.substr(0, colon));
  return diagnostic;
}

bool is_noise(std::string_view line) {
  return line.starts_with("Remark: ") || line == "Compilation terminated." ||
         line.ends_with("Ptx assembly aborted due to errors") ||
         line.find(" detected in the compilation of ") != line.npos ||
         line.find("precompiled header file") != line.npos;
}

bool is_caret(std::string_view line) {
  return trimmed(line) == "^" && line.size() >= 3;
}

/// "detected during instantiation of "f" at line 4 of x.cuh", or one line of such a list.
std::optional<Diagnostic> instantiation(std::string_view line, const Diagnostic& cause) {
  line = trimmed(line);
  if (line.starts_with("detected during")) line = trimmed(line.substr(15));
  if (line.empty() || line == ":") return std::nullopt;
  Diagnostic note{.file = cause.file, .severity = Severity::note};
  const size_t at = line.rfind(" at line ");
  if (at != line.npos) {
    const std::string_view place = line.substr(at + 9);
    note.line = number_at(place);
    if (const size_t of = place.find(" of "); of != place.npos) note.file = place.substr(of + 4);
    line = line.substr(0, at);
  }
  note.message = "in " + std::string(line);
  return note;
}

}  // namespace

std::vector<Diagnostic> parse_nvrtc_log(std::string_view log) {
  std::vector<Diagnostic> diagnostics;
  const std::vector<std::string_view> lines = lines_of(log);
  for (size_t i = 0; i < lines.size();) {
    std::optional<Diagnostic> diagnostic = is_noise(lines[i]) ? std::nullopt : head(lines[i]);
    if (!diagnostic) {
      ++i;
      continue;
    }
    size_t end = ++i;
    while (end < lines.size() && !head(lines[end]) && !is_noise(lines[end])) ++end;
    size_t caret = i;
    while (caret < end && !is_caret(lines[caret])) ++caret;
    const size_t source = caret < end && caret > i ? caret - 1 : end;
    for (; i < source && i < end; ++i)
      if (std::string_view more = trimmed(lines[i]); !more.empty())
        diagnostic->message += "\n" + std::string(more);
    if (caret < end) diagnostic->column = std::max(static_cast<int>(lines[caret].find('^')) - 1, 1);
    const size_t first = diagnostics.size();
    diagnostics.push_back(std::move(*diagnostic));
    for (i = std::min(caret + 1, end); i < end; ++i)
      if (std::optional<Diagnostic> note = instantiation(lines[i], diagnostics[first]))
        diagnostics.push_back(std::move(*note));
  }
  return diagnostics;
}

std::vector<PtxasMessage> ptxas_lines(const std::vector<Diagnostic>& diagnostics) {
  constexpr std::string_view k_head = "ptxas, line ";
  std::vector<PtxasMessage> messages;
  for (size_t i = 0; i < diagnostics.size(); ++i)
    if (diagnostics[i].message.starts_with(k_head))
      messages.push_back({number_at(std::string_view(diagnostics[i].message).substr(k_head.size())), i});
  return messages;
}

Diagnostic source_of_ptx_line(std::string_view ptx, int line) {
  // .loc FILE LINE COLUMN[, …] and, anywhere, .file NUMBER "NAME"[, …]
  Diagnostic place;
  int file = 0, number = 0;
  std::map<int, std::string> files;
  for (std::string_view text : lines_of(ptx)) {
    text = trimmed(text);
    ++number;
    if (text.starts_with(".loc") && number <= line) {
      file = number_at(trimmed(text.substr(4)));
      text = trimmed(text.substr(4));
      text = trimmed(text.substr(std::min(text.find_first_of(" \t"), text.size())));
      place.line = number_at(text);
      text = trimmed(text.substr(std::min(text.find_first_of(" \t"), text.size())));
      place.column = number_at(text);
    } else if (text.starts_with(".file")) {
      const size_t open = text.find('"'), close = text.find('"', open + 1);
      if (close != text.npos)
        files[number_at(trimmed(text.substr(5)))] = text.substr(open + 1, close - open - 1);
    }
  }
  place.file = files[file];
  return place;
}

}  // namespace tarsia::jit
