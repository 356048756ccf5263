// Looks whether the folders are there.
#include "pipeline/missing_folders.h"

#include <sys/stat.h>

#include <algorithm>
#include <string>

namespace tarsia::pipeline {

std::vector<Diagnostic> warn_of_missing_folders(const jit::CompileOptions& options) {
  std::vector<Diagnostic> warnings;
  for (const std::string& flag : options.cflags)
    if (flag == "-w" || flag == "-Wno-missing-include-dirs") return warnings;
  const auto look = [&](const char* option, const std::vector<std::string>& folders) {
    for (const std::string& folder : folders) {
      struct stat status;
      const bool is_there = ::stat(folder.c_str(), &status) == 0;
      if (is_there && S_ISDIR(status.st_mode)) continue;
      warnings.push_back({.severity = Severity::warning,
                          .message = std::string(option) + ": '" + folder + "' is no folder" +
                                     (is_there ? "" : ": it does not exist") + " [-Wmissing-include-dirs]"});
    }
  };
  look("include_dirs", options.include_dirs);
  look("library_dirs", options.library_dirs);
  return warnings;
}

}  // namespace tarsia::pipeline
