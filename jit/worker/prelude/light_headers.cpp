// Small headers of a source's author, which are edited like the source itself.
#include "jit/worker/prelude/light_headers.h"

#include <sys/stat.h>

#include <algorithm>

#include "base/file.h"
#include "jit/worker/prelude/header_names.h"
#include "jit/worker/prelude/leading_directives.h"

namespace tarsia::jit {
namespace {

constexpr int k_forwarding_levels = 4;  // levels of headers that only include others

/// The first bytes of a file, at most so many; empty if it cannot be read.
std::string beginning_of(const std::string& path, std::size_t most) {
  UniqueFd file;
  struct stat status;
  if (open_regular(path, file, status, Links::follow) != 0) return {};
  std::string text(std::min(most, static_cast<std::size_t>(status.st_size)), '\0');
  return read_at(file.get(), text.data(), text.size(), 0) == 0 ? text : std::string();
}

/// Whether a text has `#pragma once` behind nothing but comments and conditions, none of which asks for a
/// compiler: `#if !defined(STABLE_ONLY)` before it decides whether the header may be included at all.
bool has_late_guard(llvm::StringRef text) {
  LeadingDirectives at(text);
  while (at.next()) {
    const llvm::StringRef line = at.consume_line();
    if (is_pragma_once(line)) return true;
    if (!line.drop_front().ltrim(" \t").starts_with("if") || line.contains("_MSC_VER") ||
        line.contains("_WIN32"))
      return false;
  }
  return false;
}

bool is_repeatable(const CompileRequest& request, std::string_view name, int nesting) {
  const std::string folder = folder_with(request, name);
  if (folder.empty()) return true;  // the system's, CUDA's or Tarsia's
  const std::string text = beginning_of(folder + "/" + std::string(name), k_heavy_text);
  if (has_late_guard(text)) return true;
  LeadingDirectives at(text);
  for (bool begins = true; at.next(); begins = false) {
    if (begins && at.consume_guard(request.options)) return true;
    const std::string include = at.consume_include();
    if (include.empty() || nesting == 0) return false;
    const std::string_view inner = name_of(include);
    const std::string near = beside(name, inner);
    const bool is_near = include[0] == '"' && !folder_with(request, near).empty();
    const bool is_found = is_near || include[0] == '<' || is_known_quoted(inner);
    if (!is_found || own_file(request, inner) || !is_repeatable(request, is_near ? near : inner, nesting - 1))
      return false;
  }
  return at.is_at_end() && text.size() < k_heavy_text;
}

}  // namespace

bool may_be_light(std::string_view include) {
  return include.starts_with('"') && name_of(include).find('/') == std::string_view::npos;
}

std::optional<std::string> light_text(const CompileRequest& request, std::string_view name) {
  const std::string folder = folder_with(request, name);
  if (folder.empty()) return std::nullopt;
  std::string text = beginning_of(folder + "/" + std::string(name), k_heavy_text + 1);
  if (text.size() > k_heavy_text) return std::nullopt;
  return text;
}

bool is_repeatable(const CompileRequest& request, std::string_view name) {
  return is_repeatable(request, name, k_forwarding_levels);
}

}  // namespace tarsia::jit
