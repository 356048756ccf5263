// Other programs that the command runs.
#pragma once

#include <string>
#include <vector>

namespace tarsia::tools {

/// Returns the path of a program, looked up in the folders and then on PATH; "" if there is none.
std::string find_program(const std::string& name, std::vector<std::string> folders);

/// Returns the folders in which NVIDIA's toolkits and wheels keep programs.
std::vector<std::string> cuda_folders();

/// Returns the path of this program.
std::string own_program();

enum class Output { as_it_is, to_standard_error };

/// Runs a program and returns its exit code, or 128 + signal if a signal ended it. `more_environment` holds
/// NAME=VALUE, which come before those of this process. Throws if it cannot be started.
int run_program(const std::vector<std::string>& words, const std::vector<std::string>& more_environment,
                Output output = Output::as_it_is);

}  // namespace tarsia::tools
