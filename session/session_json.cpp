// Results of cells as JSON, for the C API.
#include <nlohmann/json.hpp>
#include <string>

#include "base/hash.h"
#include "session/session.h"

namespace tarsia::session {

std::string to_json(const Completed& completed) {
  nlohmann::json matches = nlohmann::json::array(), details = nlohmann::json::array();
  for (const jit::Completion& one : completed.completions) {
    matches.push_back(one.text);
    details.push_back(one.detail);
  }
  return nlohmann::json{{"start", completed.begin}, {"matches", matches}, {"details", details}}.dump(
      -1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string to_json(const CellResult& result) {
  nlohmann::json diagnostics = nlohmann::json::array();
  for (const Diagnostic& one : result.diagnostics)
    diagnostics.push_back({{"file", one.file},
                           {"line", one.line},
                           {"column", one.column},
                           {"severity", severity_name(one.severity)},
                           {"message", one.message}});
  nlohmann::json json = {{"ok", result.ok},
                         {"number", result.number},
                         {"stdout", result.output},
                         {"diagnostics", std::move(diagnostics)},
                         {"undone", result.undone},
                         {"notes", result.notes},
                         {"lost_gpu", result.lost_gpu},
                         {"compile_ms", result.compile_ms},
                         {"run_ms", result.run_ms}};
  json["origin"] = result.origin ? nlohmann::json(origin_name(*result.origin)) : nlohmann::json();
  json["image"] = result.image.empty() ? nlohmann::json() : nlohmann::json(base64(result.image));
  json["value"] = result.has_value ? nlohmann::json(result.value) : nlohmann::json();
  json["error"] = result.error.empty() ? nlohmann::json() : nlohmann::json(result.error);
  json["error_class"] = result.error.empty() ? nlohmann::json() : nlohmann::json(result.error_class);
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace tarsia::session
