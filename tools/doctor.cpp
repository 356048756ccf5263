// The command `tarsia doctor`: what works on this machine, and what is missing.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "tools/commands.h"
#include "tools/report.h"

namespace tarsia::tools {
namespace {

/// The column at which details begin.
constexpr int k_column = 33;

/// Prints details: the first line after the part's name, the others below it.
std::string indented(std::string text, int columns) {
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; ++at)
    text.insert(at + 1, static_cast<std::size_t>(columns), ' ');
  return text;
}

void print(const nlohmann::json& report) {
  std::printf("Tarsia %s\n\n", report.at("version").get<std::string>().c_str());
  for (const auto& line : report.at("lines")) {
    const std::string path = line.at("path"), detail = line.at("detail");
    const char* state = line.at("found").get<bool>() ? "ok" : path.empty() ? "MISSING" : "FAILS";
    std::printf("  %-7s  %-20s  %s\n", state, line.at("part").get<std::string>().c_str(),
                indented(detail, k_column).c_str());
    if (!path.empty()) std::printf("%*s%s\n", k_column, "", path.c_str());
  }
  const auto& works = report.at("works");
  const auto tell = [&](const char* what, const char* does, const char* does_not) {
    return works.value(what, false) ? does : does_not;
  };
  std::printf("\nHost code %s. CUDA sources %s. Kernels %s.\n", tell("host", "compiles", "does NOT compile"),
              tell("cuda", "compile", "do not compile"), tell("gpu", "run", "cannot be launched"));
}

}  // namespace

int doctor(bool as_json) {
  char* text = nullptr;
  if (tarsia_doctor(&text) != 0) return report_last_error(nullptr);
  const nlohmann::json report = nlohmann::json::parse(text);
  tarsia_free(text);
  if (as_json) {
    std::printf("%s\n", report.dump(2).c_str());
  } else {
    print(report);
  }
  return report.at("works").value("host", false) ? k_done : k_failed;
}

}  // namespace tarsia::tools
