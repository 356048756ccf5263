// `tarsia run` calls a source's main; `tarsia compile` writes a source's shared library.
#include <cstdio>

#include "tools/commands.h"
#include "tools/library.h"
#include "tools/opening.h"
#include "tools/report.h"

namespace tarsia::tools {
int run(const RunCommand& command) {
  const Sources sources = sources_for(command.file, command.with);
  int exit = k_done;
  // The library is never released: the program's exit handlers run when the process ends, as in a program of
  // its own.
  const tarsia_library* library = open_library(command.file, command.options, sources, exit);
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
  sources.check_output(command.output);
  const Clock clock;
  const Options options = options_for(sources, command.options, command.files.front());
  if (int exit = k_done; !knows_warnings(command.options, options, exit)) return exit;
  const detail::CompileRequest request(options, sources.files());
  if (tarsia_compile(request.files(), request.n_files(), request.options(), command.output.c_str()) != 0)
    return report_last_error(&sources);
  if (!print_last_warnings(command.options, sources)) {
    std::remove(command.output.c_str());
    return k_failed;
  }
  if (command.options.verbose) {
    std::fprintf(stderr, "tarsia: %s written after %.1f ms\n", command.output.c_str(), clock.ms());
    print_steps();
  }
  return k_done;
}

}  // namespace tarsia::tools
