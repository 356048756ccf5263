// `tarsia repl`, `tarsia jupyter` and scripts of `tarsia pack`, which the Python package runs.
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "tools/commands.h"
#include "tools/report.h"

namespace tarsia::tools {

int run_in_python(const std::string& command, const std::vector<std::string>& words) {
  const char* const named = std::getenv("TARSIA_COMMAND_PYTHON");
  const std::string python = named && *named ? named : "python3";
  std::vector<std::string> all = {python, "-m", "tarsia", command};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> arguments;
  for (std::string& word : all) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execvp(python.c_str(), arguments.data());
  print_error("tarsia " + command + " needs Python with the package tarsia, and " + python +
              " cannot be run: " + std::strerror(errno));
  return k_usage;
}

}  // namespace tarsia::tools
