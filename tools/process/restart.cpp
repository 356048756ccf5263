// The environment comes from libtarsia; a variable of our own tells the second start from the first.
#include "tools/process/restart.h"

#include <tarsia/c_api.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tarsia::tools {
namespace {

constexpr const char* k_again = "TARSIA_STARTED_AGAIN";

}  // namespace

void start_again_for_sanitizer(const CompileOptions& options, char** arguments) {
  const detail::CompileRequest request(options.options, std::string_view());
  char* text = nullptr;
  if (tarsia_environment_for_options(request.options(), &text) != 0)
    throw std::runtime_error(tarsia_last_error()->message);
  std::istringstream lines(text);
  tarsia_free(text);
  if (lines.str().empty()) {
    ::unsetenv(k_again);
    return;
  }
  if (std::getenv(k_again))
    throw std::runtime_error(
        "the sanitizer that the options ask for cannot be preloaded into this process: " + lines.str());
  for (std::string line; std::getline(lines, line);) {
    const std::size_t equals = line.find('=');
    ::setenv(line.substr(0, equals).c_str(), line.c_str() + equals + 1, 1);
  }
  ::setenv(k_again, "1", 1);
  ::execv("/proc/self/exe", arguments);
  throw std::runtime_error(std::string("cannot start again: ") + std::strerror(errno));
}

}  // namespace tarsia::tools
