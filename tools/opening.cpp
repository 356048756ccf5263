// Opens files, and filters warnings as -W asks.
#include "tools/opening.h"

#include <tarsia/cache/c_cache.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/report.h"

namespace tarsia::tools {
namespace {

/// Returns the -W name at the end of a message, as in "return-type"; "" if there is none.
std::string_view flag_of(std::string_view message) {
  const std::size_t at = message.rfind(" [-W");
  return at == std::string_view::npos || !message.ends_with(']')
             ? ""
             : message.substr(at + 4, message.size() - at - 5);
}

nlohmann::json stats() {
  char* text = nullptr;
  if (tarsia_stats(&text) != 0) return {};
  nlohmann::json all = nlohmann::json::parse(text, nullptr, false);
  tarsia_free(text);
  return all;
}

/// A warning with its notes, which follow it, as a text to compare.
std::string text_of(std::span<const tarsia_diagnostic> all, std::size_t i) {
  std::string text;
  for (std::size_t k = i; k == i || (k < all.size() && std::string_view(all[k].severity) == "note"); ++k)
    text += nlohmann::json{all[k].file, all[k].line, all[k].column, all[k].severity, all[k].message}.dump();
  return text;
}

bool has_errors_of_warnings(const CompileOptions& options) {
  return std::ranges::any_of(options.warnings,
                             [](std::string_view name) { return name.starts_with("error"); });
}

/// Whether -Werror makes an error of the warnings of a name, which may be "". As for gcc, what is said of a
/// name outweighs what is said of all, and the last word counts.
bool is_made_error(const CompileOptions& options, std::string_view flag) {
  bool all = false;
  std::optional<bool> own;
  for (std::string_view name : options.warnings) {
    const bool off = name.starts_with("no-error");
    if (off) name.remove_prefix(3);
    if (name == "error") all = !off;
    if (flag.empty() || !name.starts_with("error=")) continue;
    name.remove_prefix(6);
    // "unused" is the group of "unused-variable".
    if (flag.starts_with(name) && (flag.size() == name.size() || flag[name.size()] == '-')) own = !off;
  }
  return own.value_or(all);
}

}  // namespace

// The names are Clang's, which the worker alone knows. A source without text asks it: the answer is in the
// cache from then on.
bool knows_warnings(const CompileOptions& given, const Options& compiled, int& exit) {
  Options options;
  options.name = compiled.name;
  for (const std::string& name : given.warnings) {
    const std::string flag = "-W" + name;
    if (name != "error" && name != "no-error" &&
        std::ranges::find(compiled.cflags, flag) == compiled.cflags.end())
      options.cflags.push_back(flag);
  }
  if (options.cflags.empty()) return true;
  const detail::CompileRequest request(options, {{"warnings.cc", "", 0}});
  const int32_t code = tarsia_cache_fill(request.files(), request.n_files(), request.options());
  // If no compiler answers, the command's own compile says why, or does without.
  if (code != TARSIA_COMPILE_ERROR) return true;
  const Sources none{std::vector<std::string>()};
  exit = report_last_error(&none);
  return false;
}

bool print_warnings(std::span<const tarsia_diagnostic> warnings, const CompileOptions& options,
                    const Sources& sources, std::set<std::string>* shown_before) {
  const auto asked = [&](const std::string& what) {
    return std::ranges::find(options.warnings, what) != options.warnings.end();
  };
  std::vector<tarsia_diagnostic> shown;
  std::set<std::string> errors;  // their names
  bool fine = true, follow = true;
  for (std::size_t i = 0; i < warnings.size(); ++i) {
    const tarsia_diagnostic& one = warnings[i];
    const bool is_note = std::string_view(one.severity) == "note";
    if (!is_note) {
      const std::string flag(flag_of(one.message));
      follow = !options.no_warnings && (flag.empty() || !asked("no-" + flag));
      if (follow && std::string_view(one.severity) == "warning" && is_made_error(options, flag)) {
        fine = false;
        if (!flag.empty()) errors.insert(flag);
      }
      follow = follow && (!shown_before || shown_before->insert(text_of(warnings, i)).second);
    }
    if (follow) shown.push_back(one);
  }
  print_diagnostics(shown, sources);
  std::string list;
  for (const std::string& flag : errors) list += (list.empty() ? ": [-W" : ", [-W") + flag + "]";
  if (!fine) print_error("-Werror makes errors of warnings" + list);
  return fine;
}

bool print_last_warnings(const CompileOptions& options, const Sources& sources,
                         std::set<std::string>* shown) {
  const nlohmann::json rows = stats().value("last_warnings", nlohmann::json::array());
  std::vector<tarsia_diagnostic> warnings;
  for (const auto& row : rows)
    warnings.push_back({row.at(0).get_ref<const std::string&>().c_str(), row.at(1).get<int32_t>(),
                        row.at(2).get<int32_t>(), row.at(3).get_ref<const std::string&>().c_str(),
                        row.at(4).get_ref<const std::string&>().c_str()});
  return print_warnings(warnings, options, sources, shown);
}

void print_steps() {
  const auto steps = stats().value("last_compile", nlohmann::json::array());
  for (const auto& step : steps)
    std::fprintf(stderr, "tarsia: %9.1f ms  %s\n", step.at(1).get<double>(),
                 step.at(0).get_ref<const std::string&>().c_str());
}

tarsia_library* open_library(const std::string& file, const CompileOptions& given, const Sources& sources,
                             int& exit) {
  tarsia_library* library = nullptr;
  const Clock clock;
  int32_t code = 0;
  std::set<std::string> shown;
  std::string origin;
  if (is_library(file)) {
    code = tarsia_load(file.c_str(), &library);
  } else {
    const Options options = options_for(sources, given, file);
    if (!knows_warnings(given, options, exit)) return nullptr;
    const detail::CompileRequest request(options, sources.files());
    // What may count as an error is looked at before static initialisers run.
    if (has_errors_of_warnings(given)) {
      code = tarsia_cache_fill(request.files(), request.n_files(), request.options());
      if (given.verbose) {
        origin = stats().value("last_origin", "");
        print_steps();
      }
      if (code == 0 && !print_last_warnings(given, sources, &shown)) {
        exit = k_failed;
        return nullptr;
      }
    }
    if (code == 0) code = tarsia_load_inline(request.files(), request.n_files(), request.options(), &library);
  }
  if (code != 0) {
    exit = report_last_error(&sources);
    return nullptr;
  }
  if (given.verbose) {
    std::fprintf(stderr, "tarsia: %s: %s, ready in %.1f ms\n", file.c_str(),
                 origin.empty() ? tarsia_library_origin(library) : origin.c_str(), clock.ms());
    print_steps();
  }
  // The cache keeps them with the module, so that a source has the same warnings each time.
  uint64_t n = 0;
  const tarsia_diagnostic* warnings = tarsia_library_warnings(library, &n);
  if (!print_warnings({warnings, n}, given, sources, &shown)) {
    exit = k_failed;
    return nullptr;
  }
  return library;
}

}  // namespace tarsia::tools
