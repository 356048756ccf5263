// `tarsia run` and `tarsia compile`.
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "tools/commands.h"
#include "tools/library.h"
#include "tools/report.h"

namespace tarsia::tools {
namespace {

class Clock {
 public:
  double ms() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - m_start).count();
  }

 private:
  std::chrono::steady_clock::time_point m_start = std::chrono::steady_clock::now();
};

void print_steps() {
  char* text = nullptr;
  if (tarsia_statistics(&text) != 0) return;
  const auto steps =
      nlohmann::json::parse(text, nullptr, false).value("last_compile", nlohmann::json::array());
  tarsia_free(text);
  for (const auto& step : steps)
    std::fprintf(stderr, "tarsia: %9.1f ms  %s\n", step.at(1).get<double>(),
                 step.at(0).get_ref<const std::string&>().c_str());
}

/// Null after the error was printed; `exit` then has the code.
tarsia_library* open(const RunCommand& command, const Sources& sources, int& exit) {
  tarsia_library* library = nullptr;
  const Clock clock;
  int32_t code = 0;
  if (is_library(command.file)) {
    code = tarsia_load(command.file.c_str(), &library);
  } else {
    const Options options = options_for(sources, command.options, command.file);
    const detail::Request request(options, sources.files());
    code = tarsia_load_inline(request.files(), request.n_files(), request.options(), &library);
  }
  if (code != 0) {
    exit = report_last_error(&sources);
    return nullptr;
  }
  const std::string origin = tarsia_library_origin(library);
  if (command.options.verbose) {
    std::fprintf(stderr, "tarsia: %s: %s, ready in %.1f ms\n", command.file.c_str(), origin.c_str(),
                 clock.ms());
    print_steps();
  }
  if (command.options.verbose || origin == "compiled") {
    uint64_t n = 0;
    const tarsia_diagnostic* warnings = tarsia_library_warnings(library, &n);
    print_diagnostics({warnings, n}, sources);
  }
  return library;
}

}  // namespace

int run(const RunCommand& command) {
  std::vector<std::string> files;
  if (!is_library(command.file)) {
    files.push_back(command.file);
    files.insert(files.end(), command.with.begin(), command.with.end());
  }
  const Sources sources(files);
  int exit = k_done;
  // Never released: a program's own exit handlers run when the process ends, as they would in the program
  // itself.
  const tarsia_library* library = open(command, sources, exit);
  if (!library) return exit;
  const tarsia_function* main = find_main(library);
  if (!main) {
    print_listing(library, command.file, sources);
    if (command.arguments.empty()) return k_done;
    print_error(command.file + " has no main to take arguments");
    return k_usage;
  }
  std::vector<std::string> arguments{command.file};
  arguments.insert(arguments.end(), command.arguments.begin(), command.arguments.end());
  const Clock clock;
  exit = call_main(main, arguments);
  if (command.options.verbose) std::fprintf(stderr, "tarsia: main gave %d after %.1f ms\n", exit, clock.ms());
  return exit;
}

int compile(const CompileCommand& command) {
  const Sources sources(command.files);
  const Clock clock;
  const Options options = options_for(sources, command.options, command.files.front());
  const detail::Request request(options, sources.files());
  if (tarsia_compile(request.files(), request.n_files(), request.options(), command.output.c_str()) != 0)
    return report_last_error(&sources);
  if (command.options.verbose) {
    std::fprintf(stderr, "tarsia: %s written after %.1f ms\n", command.output.c_str(), clock.ms());
    print_steps();
  }
  return k_done;
}

}  // namespace tarsia::tools
