// Reads ptxas' log.
#include "jit/worker/device/ptxas_log.h"

#include <algorithm>
#include <charconv>

#include "base/demangle.h"

namespace tarsia::jit {
namespace {

/// The number before these words in a line; 0 if they are not there.
long number_before(std::string_view line, std::string_view words) {
  const size_t at = line.find(words);
  if (at == line.npos || at == 0) return 0;
  size_t begin = at;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  long number = 0;
  std::from_chars(line.data() + begin, line.data() + at, number);
  return number;
}

}  // namespace

std::vector<Diagnostic> spills_of(std::string_view log, const std::string& file, const std::string& arch) {
  std::vector<Diagnostic> spills;
  std::string function;
  while (!log.empty()) {
    const size_t end = std::min(log.find('\n'), log.size());
    const std::string_view line = log.substr(0, end);
    log.remove_prefix(std::min(end + 1, log.size()));
    constexpr std::string_view k_properties = "Function properties for ";
    if (const size_t at = line.find(k_properties); at != line.npos) {
      function = line.substr(at + k_properties.size());
      while (!function.empty() && (function.back() == ' ' || function.back() == '\r')) function.pop_back();
    }
    const long stores = number_before(line, " bytes spill stores"),
               loads = number_before(line, " bytes spill loads");
    if (stores == 0 && loads == 0) continue;
    spills.push_back({.file = file,
                      .severity = Severity::warning,
                      .message = readable_symbol(function) + " lacks registers on " + arch + ": it stores " +
                                 std::to_string(stores) + " and loads " + std::to_string(loads) +
                                 " bytes of them in memory; smaller blocks (__launch_bounds__), a larger "
                                 "maxrregcount or fewer live values help"});
  }
  return spills;
}

std::string without_figures(std::string_view log) {
  std::string rest;
  while (!log.empty()) {
    const size_t end = std::min(log.find('\n'), log.size() - 1) + 1;
    std::string_view line = log.substr(0, end);
    log.remove_prefix(end);
    line.remove_prefix(std::min(line.find_first_not_of('\0'), line.size()));  // one may stand between logs
    if (!line.starts_with("ptxas info ") && !line.starts_with("ptxas         .")) rest += line;
  }
  return rest;
}

}  // namespace tarsia::jit
